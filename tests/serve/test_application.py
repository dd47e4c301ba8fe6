"""The application: what to install without the extra."""

import asyncio

import pytest

from pansophy import serve


def test_without_the_extra_it_is_said_what_to_install(dummy, monkeypatch):
    from pansophy.serve import application

    monkeypatch.setattr(
        application, "find_spec", lambda name: None if name == "uvicorn" else name
    )
    for call in (serve.app, serve.run):
        with pytest.raises(
            ImportError, match=r"uvicorn.*pip install 'pansophy\[serve\]'"
        ):
            call(dummy)


def test_the_start_page_is_the_documentation(client):
    answer = client.get("/", follow_redirects=False)
    assert answer.status_code == 307 and answer.headers["location"] == "/docs"


def test_no_redirect_names_a_host_that_the_client_made_up(client):
    answer = client.get(
        "/schema/", headers={"host": "evil.org"}, follow_redirects=False
    )
    assert answer.status_code == 404 and "location" not in answer.headers


def test_what_came_too_late_is_not_waited_for_again(model):
    waited = []

    async def asked():
        async def receive():
            waited.append(1)
            await asyncio.sleep(60)

        sent = []

        async def send(message):
            sent.append(message)

        limits = serve.ServerLimits(body_seconds=0.01)
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/predict",
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"content-length", b"100")],
            "app": None,
        }
        await serve.app(model, limits)(scope, receive, send)
        return sent

    sent = asyncio.run(asked())
    assert sent[0]["status"] == 408 and len(waited) == 1
