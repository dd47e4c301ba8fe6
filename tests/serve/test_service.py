"""The service: heavy bodies are read on a thread."""

import threading

from starlette.testclient import TestClient

from pansophy import serve
from tests.serve.people_rows import ROW


def test_heavy_bodies_are_read_on_a_thread(dummy, monkeypatch):

    from pansophy.serve import service

    seen = []
    whole = service.rows_in_body
    spy = lambda body: (seen.append(threading.current_thread().name), whole(body))[1]
    monkeypatch.setattr(service, "rows_in_body", spy)
    client = TestClient(serve.app(dummy))
    assert client.post("/predict", json=ROW).status_code == 200
    assert client.post("/predict", json=[ROW] * 2000).status_code == 200
    assert not seen[0].startswith("reader") and seen[1].startswith("reader")
