"""Requests: levels, bodies and rows; what is refused, with which status."""

import asyncio
from types import SimpleNamespace

import pytest
from starlette.datastructures import URL, Headers, QueryParams

from pansophy.serve import ServerLimits
from pansophy.serve.request import (
    RequestRefused,
    read_body,
    refuse_parameters,
    requested_level,
    rows_in_body,
)


def request(query="", parts=(), **headers):
    async def stream():
        for part in parts:
            yield part

    names = {k.replace("_", "-"): v for k, v in headers.items()}
    return SimpleNamespace(
        url=URL(f"http://h/predict?{query}" if query else "http://h/predict"),
        query_params=QueryParams(query), headers=Headers(names), stream=stream,
    )  # fmt: skip


def status(function, *args):
    with pytest.raises(RequestRefused) as caught:
        function(*args)
    return caught.value.status


def test_levels_between_0_and_1():
    assert requested_level(request()) is None
    assert requested_level(request("level=0.9")) == 0.9
    for query in ("level=1", "level=x", "level=nan", "level=0.5&level=0.6", "other=1"):
        assert status(requested_level, request(query)) == 422
    assert status(refuse_parameters, request("a=1")) == 422


def test_bodies_are_json_and_short_enough():
    limits = ServerLimits(body_bytes=10)
    read = lambda r: asyncio.run(read_body(r, limits))
    assert read(request(parts=[b"[1,", b"2]"])) == b"[1,2]"
    assert status(read, request(content_type="text/csv")) == 415
    assert status(read, request(content_encoding="gzip")) == 415
    assert status(read, request(content_length="11")) == 413
    assert status(read, request(parts=[b"x" * 8, b"y" * 8])) == 413


def test_rows_in_three_forms():
    assert rows_in_body(b'{"a": 1}') == [{"a": 1}]
    assert rows_in_body(b'[{"a": 1}, {"a": 2}]') == [{"a": 1}, {"a": 2}]
    assert rows_in_body(b'{"rows": [{"a": "b: c"}]}') == [{"a": "b: c"}]


@pytest.mark.parametrize(("body", "code"), [
    (b"", 400), (b"{", 400), (b"[]", 422), (b'{"rows": [1], "b": 2}', 422),
    (b'{"a": 1, "a": 2}', 422), (b'{"a": {"x": 1, "x": 2}}', 422),
])  # fmt: skip
def test_bodies_without_rows_or_with_a_name_twice(body, code):
    assert status(rows_in_body, body) == code
