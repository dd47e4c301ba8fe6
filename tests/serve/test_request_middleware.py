"""Who is served: tokens and host names; ids of requests; no trace to the client."""

import asyncio
import json
import logging
from types import SimpleNamespace

import pytest

from pansophy.serve import request_middleware
from pansophy.serve.request_middleware import (
    AccessRule,
    RequestMiddleware,
    host_name,
    request_id,
)


def scope(path="/predict", **headers):
    pairs = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    return {"type": "http", "method": "GET", "path": path, "headers": pairs}


def test_tokens():
    rule = AccessRule.of("secret", None)
    assert rule.refusal(scope(authorization="Bearer secret")) is None
    assert rule.refusal(scope("/health")) is None
    for sent in ({}, {"authorization": "Bearer other"}, {"authorization": "secret"}):
        status, _, headers = rule.refusal(scope(**sent))
        assert status == 401 and headers[0][0] == b"www-authenticate"
    for wrong in ("", "two words", "schlüssel"):
        with pytest.raises(ValueError, match="token must be one word"):
            AccessRule.of(wrong, None)


def test_names_that_the_server_answers_to():
    rule = AccessRule.of(None, ["Example.org", "[::1]"])
    assert rule.refusal(scope(host="example.ORG:8000")) is None
    assert rule.refusal(scope(host="[::1]:8000")) is None
    assert rule.refusal(scope(host="evil.org"))[0] == 421
    assert rule.refusal(scope())[0] == 400
    assert AccessRule.of(None, ["*"]).refusal(scope()) is None
    assert host_name("example.org.") == "example.org" and host_name("::1") == "::1"


def test_ids_of_clients_are_taken_if_they_are_plain():
    assert request_id(scope(x_request_id="abc-1")) == "abc-1"
    made = request_id(scope(x_request_id="a b\n"))
    assert made != "a b\n" and len(made) == 16


def test_a_failure_is_a_sentence_with_an_id():
    async def fails(scope, receive, send):
        raise RuntimeError("secret detail")

    sent = []

    async def send(message):
        sent.append(message)

    asked = scope(x_request_id="r1")
    asyncio.run(RequestMiddleware(fails)(asked, None, send))
    head, body = sent
    assert head["status"] == 500 and (b"x-request-id", b"r1") in head["headers"]
    told = json.loads(body["body"])
    assert told["request_id"] == "r1" and "secret" not in told["error"]


def test_the_log_says_how_many_milliseconds_an_answer_took(monkeypatch, caplog):
    clock = iter([10.0, 10.25])
    fake = SimpleNamespace(perf_counter=lambda: next(clock))
    monkeypatch.setattr(request_middleware, "time", fake)

    async def answers(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        pass

    log = logging.Logger("a log of its own", level=logging.INFO)
    log.addHandler(caplog.handler)
    monkeypatch.setattr(request_middleware, "LOG", log)
    asked = scope(x_request_id="r1")
    asyncio.run(RequestMiddleware(answers)(asked, None, send))
    assert caplog.messages == ["r1 GET /predict 200 250.0 ms"]


def test_a_client_that_leaves_is_one_line_in_the_log(caplog):
    from starlette.requests import ClientDisconnect

    async def leaves(scope, receive, send):
        raise ClientDisconnect

    async def send(message):
        raise AssertionError("nobody is there")

    caplog.set_level("INFO", logger="pansophy.serve")
    asyncio.run(RequestMiddleware(leaves)(scope(x_request_id="r1"), None, send))
    (line,) = caplog.records
    assert line.levelname == "INFO" and line.exc_info is None
    assert "r1 GET /predict 499" in line.getMessage()


def test_only_http_and_the_life_of_the_server_reach_the_application():
    reached, sent = [], []

    async def answers(scope, receive, send):
        reached.append(scope["type"])

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    rule = AccessRule.of("secret", ["localhost"])
    middleware = RequestMiddleware(answers, rule)
    for kind in ("lifespan", "websocket", "webtransport"):
        asyncio.run(middleware({"type": kind, "headers": []}, receive, send))
    assert reached == ["lifespan"]
    assert sent == [{"type": "websocket.close", "code": 4403}]
