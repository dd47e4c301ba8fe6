"""A model behind HTTP: right answers, clear refusals, and nothing brings it down."""

import asyncio
import json
import logging
import threading
import time

import httpx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from pansophy import save, serve
from tests.compare.table_models import fitted
from tests.serve.people_rows import INPUTS, ROW, TABLE, rows_of


def test_answers_are_those_of_the_model(client, model):
    rows = TABLE.select(INPUTS).slice(0, 40)
    for body in (rows_of(rows), {"rows": rows_of(rows)}):
        got = client.post("/predict?level=0.9", json=body)
        assert got.status_code == 200
        found = got.json()["predictions"]
        whole = model.answer(rows, level=0.9).to_pylist()
        assert [f["prediction"] for f in found] == [w["yes"] for w in whole]
        p = [f["probabilities"]["yes"] for f in found]
        assert np.allclose(p, [w["p(yes)"] for w in whole], rtol=1e-12)
        assert [f["set"] for f in found] == [w["yes set"] for w in whole]
    one = client.post("/predict", json=rows_of(rows)[0]).json()
    assert one["notes"] == []
    # a row's scores are sums whose order may differ with the size of the batch
    alone, among = one["predictions"][0], found[0]
    assert alone.keys() == among.keys() - {"set"}
    assert alone["prediction"] == among["prediction"]
    assert alone["probabilities"] == pytest.approx(among["probabilities"], rel=1e-12)


def test_numbers_have_intervals():
    model = fitted(TABLE.select(["age", "city", "score"]), "score", "linear regression")
    with TestClient(serve.app(model)) as client:
        row = {"age": 40, "city": "Bonn"}
        got = client.post("/predict?level=0.8", json=row).json()["predictions"][0]
    low, high = model.predict_interval({"age": [40.0], "city": ["Bonn"]}, 0.8)[0]
    assert got["low"] == pytest.approx(low) and got["high"] == pytest.approx(high)


def test_explanations_add_up(client, model):
    got = client.post("/explain", json=ROW).json()
    one = got["predictions"][0]
    p = one["probabilities"]
    total = one["base"] + sum(one["shares"].values())
    assert total == pytest.approx(np.log(p["yes"] / p["no"]))
    assert got["scale"] == "log odds" and list(one["shares"]) == INPUTS


REFUSED = [
    (b"{", 400, "not JSON"),
    (b"", 400, "empty"),
    (b"\xff\xfe\x00", 400, "not JSON"),
    (b"[" * 50_000, 400, "recursion"),
    (b"[]", 422, "no rows"),
    (b"3", 422, "must be a JSON object"),
    (b'[{"age": 1}, null]', 422, "Row 1: 'city' is not given"),
    (b'{"rows": [], "x": 1}', 422, "Beside 'rows'"),
    (b'{"rows": [{}], "level": 1}', 422, "'level'"),
    (b'{"age": 1, "age": 2}', 422, "'age' is given more than once"),
    (b'[{"city": "a:b"}, {"\\u0061ge": 1, "age": 1}]', 422, "'age' is given more"),
    (b'{"rows": [{}], "rows": [{}]}', 422, "'rows' is given more than once"),
    (b'{"note": "a: b", "city": {"x": 1, "x": 1}}', 422, "'x' is given more"),
    (b"9" * 200_000, 413, "longer than 100000 bytes"),
    (b'{"age": ' + b"9" * 5000 + b"}", (400, 422), ""),
    (b'{"city": ' + b"9" * 5000 + b"}", (400, 422), ""),
]


@pytest.mark.parametrize(("body", "status", "text"), REFUSED)
def test_bad_bodies_get_a_sentence(client, body, status, text):
    got = client.post("/predict", content=body)
    assert got.status_code in np.atleast_1d(status) and text in got.json()["error"]
    assert got.json()["request_id"] == got.headers["x-request-id"]


WRONG = [
    ({"age": "old"}, "Row 2: 'age' should be a number, got 'old'."),
    ({"age": [1]}, "'age' should be a number, got [1]"),
    ({"age": True}, "'age' should be a number, got True"),
    ({"age": 10**400}, "'age' should be a number"),
    ({"day": "soon"}, "'day' should be a date such as 2024-12-31, got 'soon'"),
    ({"day": 5}, "'day' should be a date"),
    ({"city": {}}, "'city' should be a level"),
    ({"note": 7}, "'note' should be a text, got 7"),
    ({"aeg": 1}, "Row 2: there is no column 'aeg'; did you mean 'age'?"),
    ({"<script>": 1}, "there is no column '<script>'"),
]


@pytest.mark.parametrize(("change", "text"), WRONG)
def test_wrong_values_are_named_by_row_and_column(client, change, text):
    got = client.post("/predict", json=[ROW, {**ROW, **change}])
    assert got.status_code == 422 and text in got.json()["error"]
    problem = got.json()["problems"][0]
    assert problem["row"] == 2 and problem["column"] in change


def test_colons_in_texts_are_no_names(client):
    row = {**ROW, "note": 'a "quoted": b, {"age": 1}'}
    got = client.post("/predict", json=[row, ROW])
    assert got.status_code == 200
    assert client.post("/predict", json={"rows": [row]}).status_code == 200


def test_nan_and_infinity_are_no_numbers(client):
    for word in ("NaN", "Infinity", "-Infinity", "1e999"):
        body = json.dumps(ROW).replace("41.5", word)
        got = client.post("/predict", content=body)
        assert got.status_code == 422 and "'age'" in got.json()["error"]


def test_missing_values_and_unknown_levels_are_told(client):
    odd = {**ROW, "age": None, "city": "Ulm", "pay": None}
    got = client.post("/predict", json=odd)
    assert got.status_code == 200
    told = " ".join(got.json()["notes"])
    assert "'age' was never missing" in told and "'Ulm' of 'city' was not" in told
    assert "'pay'" not in told
    del odd["pay"]  # was missing in training: need not be given
    assert client.post("/predict", json=odd).status_code == 200
    # the target and unused columns of training may be sent along
    assert client.post("/predict", json={**ROW, "yes": "no"}).status_code == 200


def test_limits_methods_types_and_parameters(client):
    assert client.post("/predict", json=[ROW] * 501).status_code == 413
    assert client.post("/explain", json=[ROW] * 6).status_code == 413
    for query in ("?level=0.9", "?x=1"):  # nothing is accepted and ignored
        got = client.post("/explain" + query, json=ROW)
        assert got.status_code == 422 and "takes no parameters" in got.text
    assert client.post("/predict?level=0.9&level=0.5", json=ROW).status_code == 422
    assert client.get("/predict").status_code == 405
    assert "see /docs" in client.get("/nothing").json()["error"]
    plain = {"content-type": "text/csv"}
    assert client.post("/predict", content="a", headers=plain).status_code == 415
    packed = {"content-encoding": "gzip"}
    assert client.post("/predict", content="a", headers=packed).status_code == 415
    for query in ("level=2", "level=x", "level=nan", "levle=0.9"):
        assert client.post(f"/predict?{query}", json=ROW).status_code == 422


def test_pages_tell_the_schema_and_need_nothing_else(client):
    told = client.get("/schema").json()
    assert [c["name"] for c in told["columns"]] == INPUTS
    assert told["columns"][2]["levels"] == ["=2+2", "Bonn", "Köln"]
    assert [c["required"] for c in told["columns"]] == [True, False, True, True, True]
    health = client.get("/health").json()
    assert health["status"] == "ok" and health["target"] == "yes"
    page = client.get("/docs")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http" not in page.text.replace("http-equiv", "")
    spec = client.get("/openapi.json").json()
    levels = [
        parameter["schema"]
        for page in spec["paths"].values()
        for call in page.values()
        for parameter in call.get("parameters", [])
        if parameter["name"] == "level"
    ]
    between = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    assert levels and all(level == between for level in levels)
    row = spec["components"]["schemas"]["Row"]
    assert list(row["properties"]) == INPUTS and not row["additionalProperties"]
    assert row["required"] == ["age", "city", "day", "note"]
    assert row["properties"]["city"]["examples"][0] in ("=2+2", "Bonn", "Köln")


def test_names_of_columns_do_no_harm():
    evil = "<img src=x onerror=alert(1)>"
    table = pa.table({evil: np.arange(60.0) % 7, "y": np.arange(60) * 1.3})
    with TestClient(serve.app(fitted(table, "y", "linear regression"))) as client:
        page = client.get("/docs").text
        assert evil not in page and "&lt;img" in page
        assert client.post("/predict", json={evil: 3}).status_code == 200


def test_a_failure_inside_shows_no_trace(model, caplog, monkeypatch):
    with TestClient(serve.app(model), raise_server_exceptions=False) as client:
        broken = client.app.state.service.batcher
        monkeypatch.setattr(broken, "_work", lambda batch: 1 / 0)
        log = logging.getLogger("pansophy.serve")
        monkeypatch.setattr(log, "propagate", True)
        with caplog.at_level("INFO", "pansophy.serve"):
            got = client.post("/predict", json=ROW, headers={"x-request-id": "abc-1"})
        assert got.status_code == 500 and "Traceback" not in got.text
        assert "ZeroDivision" not in got.text
        assert got.json()["request_id"] == "abc-1" == got.headers["x-request-id"]
        assert "abc-1 failed" in caplog.text and "ZeroDivisionError" in caplog.text
        assert "abc-1 POST /predict 500" in caplog.text
        monkeypatch.undo()
        assert client.post("/predict", json=ROW).status_code == 200


def test_requests_that_come_together_share_a_call(model):
    async def many():
        made = serve.app(model)
        send = httpx.ASGITransport(made)
        async with httpx.AsyncClient(transport=send, base_url="http://x") as client:
            rows = rows_of(TABLE.select(INPUTS).slice(0, 200))
            got = await asyncio.gather(*(client.post("/predict", json=r) for r in rows))
        return made.state.service.batcher, got

    batcher, got = asyncio.run(many())
    p = [g.json()["predictions"][0]["probabilities"]["yes"] for g in got]
    whole = model.predict_proba(TABLE.select(INPUTS).slice(0, 200))[:, 1]
    assert np.allclose(p, whole, rtol=1e-12)
    assert batcher.rows == 200 and batcher.calls < 100 and batcher.waiting == 0


def test_slow_work_goes_to_a_thread_and_too_much_is_refused(model):
    async def busy():
        made = serve.app(model, serve.ServerLimits(waiting=3))
        batcher = made.state.service.batcher
        batcher.cost = (1.0, 1.0)
        begun, go, plain = threading.Event(), threading.Event(), batcher._work

        def slow(batch):
            begun.set()
            go.wait(10)
            return plain(batch)

        batcher._work = slow
        send = httpx.ASGITransport(made)
        async with httpx.AsyncClient(transport=send, base_url="http://x") as client:
            first = asyncio.create_task(client.post("/predict", json=[ROW] * 2))
            while not begun.is_set():
                await asyncio.sleep(0.001)
            health = await client.get("/health")  # the loop is free meanwhile
            full = await client.post("/predict", json=[ROW] * 2)
            go.set()
            return health.json()["waiting"], full, await first

    waiting, full, first = asyncio.run(busy())
    assert waiting == 2 and first.status_code == 200
    assert full.status_code == 503 and full.headers["retry-after"] == "1"


def test_a_body_that_does_not_come_is_given_up(model):
    async def stuck():
        made = serve.app(model, serve.ServerLimits(body_seconds=0.05))
        sent = []

        async def receive():
            await asyncio.sleep(0.02)
            return {"type": "http.request", "body": b" ", "more_body": True}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/predict",
            "headers": [],
            "query_string": b"",
            "http_version": "1.1",
            "scheme": "http",
            "raw_path": b"/predict",
            "root_path": "",
            "server": ("x", 1),
            "client": ("y", 2),
        }
        await made(scope, receive, send)
        return sent

    start = asyncio.run(stuck())[0]
    assert start["status"] == 408 and (b"connection", b"close") in start["headers"]


def test_other_files_are_refused(tmp_path):
    from sklearn.linear_model import Ridge

    save(Ridge().fit([[0.0], [1.0]], [0, 1]), tmp_path / "r.pansophy")
    with pytest.raises(ValueError, match="holds a Ridge, not a model of `compare`"):
        serve.app(tmp_path / "r.pansophy")


@given(body=st.binary(max_size=200))
@settings(max_examples=50, deadline=None)
def test_random_bytes_are_answered(small, body):
    got = small[2].post("/predict", content=body)
    assert 400 <= got.status_code < 500 and got.json()["error"]


# --- who is served -----------------------------------------------------------------


def test_token_is_asked_for_everywhere_but_at_health(dummy):
    client = TestClient(serve.app(dummy, token="open-sesame"))
    for send in (
        lambda head: client.post("/predict", json=ROW, headers=head),
        lambda head: client.get("/docs", headers=head),
        lambda head: client.get("/openapi.json", headers=head),
        lambda head: client.get("/schema", headers=head),
    ):
        for wrong in (
            {},
            {"authorization": "Bearer open"},
            {"authorization": "open-sesame"},
        ):
            got = send(wrong)
            assert got.status_code == 401 and "Bearer" in got.json()["error"]
            assert got.headers["www-authenticate"].startswith("Bearer")
        assert send({"authorization": "Bearer open-sesame"}).status_code == 200
        assert send({"authorization": "bearer open-sesame"}).status_code == 200
    assert client.get("/health").status_code == 200


@pytest.mark.parametrize("token", ["", "two words", "müsli"])
def test_tokens_that_no_header_can_carry_are_refused(dummy, token):
    with pytest.raises(ValueError, match="token must be"):
        TestClient(serve.app(dummy, token=token)).get("/health")


def test_only_allowed_hosts_are_answered(dummy):
    hosts = ["localhost", "127.0.0.1", "::1", "models.example"]
    client = TestClient(serve.app(dummy, hosts=hosts))
    for name in (
        "localhost",
        "LOCALHOST:8000",
        "127.0.0.1:9",
        "[::1]:80",
        "models.example",
    ):
        assert client.get("/health", headers={"host": name}).status_code == 200, name
    for name in (
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil",
        "a:b:c",
        "",
    ):
        got = client.get("/health", headers={"host": name})
        assert got.status_code in (400, 421) and "error" in got.json(), name


def test_a_server_answers_to_this_machine_and_its_own_name():
    from pansophy.serve.server import allowed_hosts

    assert "localhost" in allowed_hosts("0.0.0.0", None)
    assert "0.0.0.0" not in allowed_hosts("0.0.0.0", None)
    assert "10.0.0.7" in allowed_hosts("10.0.0.7", None)
    assert "a.example" in allowed_hosts("::", ["a.example"])


# --- bounded work ------------------------------------------------------------------


def test_many_unknown_keys_cost_no_more_than_reading_them(dummy):
    body = json.dumps({f"unknown key number {i}": 1 for i in range(200_000)})
    client = TestClient(serve.app(dummy))
    begun = time.process_time()
    got = client.post(
        "/predict", content=body, headers={"content-type": "application/json"}
    )
    assert time.process_time() - begun < 5  # difflib took minutes
    assert got.status_code == 422 and len(got.json()["problems"]) <= 20
    assert len(got.content) < 20_000


HOSTILE_BODIES = {
    "deep list": b"[" * 100_000,
    "deep object": b'{"age":' * 50_000 + b"1" + b"}" * 50_000,
    "closed deep": b"[" * 5_000 + b"]" * 5_000,
    "long number": b'{"age": ' + b"9" * 50_000 + b"}",
    "huge exponent": b'{"age": 1e999999999}',
    "not text": b'{"age": "\xff\xfe"}',
    "surrogate": rb'{"note": "\ud800"}',
    "nul": b'{"note": "a\\u0000b"}',
    "two values": b"{} {}",
    "bare word": b"nan",
    "list of lists": b"[[[1]], [[2]]]",
    "numbers": b"[" + b"1," * 40_000 + b"1]",
    "repeated": b"{" + b'"age":1,' * 5_000 + b'"age":1}',
    "rows in rows": b'{"rows": {"rows": []}}',
    "bool": b"true",
    "empty": b"",
    "spaces": b" " * 1000,
    "long text as date": json.dumps({**ROW, "day": "1" * 60_000}).encode(),
    "long text as number": json.dumps({**ROW, "pay": "1" * 60_000}).encode(),
    "object as value": json.dumps({**ROW, "age": {"a": [1] * 9000}}).encode(),
}


@pytest.mark.parametrize("name", HOSTILE_BODIES)
@pytest.mark.parametrize("page", ["/predict", "/explain", "/predict?level=0.9"])
def test_hostile_bodies_are_answered_without_a_failure(client, name, page):
    head = {"content-type": "application/json"}
    got = client.post(page, content=HOSTILE_BODIES[name], headers=head)
    assert 400 <= got.status_code < 500 or name in ("nul", "surrogate"), got.text[:300]
    assert got.status_code < 500 and len(got.content) < 50_000
