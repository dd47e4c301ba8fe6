"""Who is let into the studio: names, the token, the cookie, the origin of changes."""

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from pansophy.studio.access import StudioAccess
from pansophy.studio.application import studio_application
from tests.studio.conftest import CHANGE, PORT

HOST = f"localhost:{PORT}"


@pytest.fixture
def stranger(tmp_path):
    told = []
    access = StudioAccess(PORT, announce=told.append)
    application = studio_application(tmp_path, access)
    with TestClient(
        application, base_url=f"http://{HOST}", follow_redirects=False
    ) as client:
        client.access, client.told = access, told
        yield client


def test_nobody_is_let_in_without_the_token(stranger):
    for path in ("/", "/table?file=x.csv", "/runs/x", "/runs/x/events", "/nothing"):
        answer = stranger.get(path)
        assert answer.status_code == 401 and "pansophy studio" in answer.text
    assert stranger.post("/runs", headers=CHANGE, json={}).status_code == 401
    assert stranger.get("/static/studio.css").status_code == 200


def test_a_token_works_once_and_leaves_a_cookie(stranger):
    token = stranger.access.token
    answer = stranger.get(f"/?token={token}")
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"pansophy-studio-{PORT}=")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert stranger.get("/").status_code == 200
    stranger.cookies.clear()
    assert stranger.get(f"/?token={token}").status_code == 401
    assert stranger.get(f"/?token={stranger.told[-1]}").status_code == 303


def test_wrong_tokens_and_cookies_are_refused(stranger):
    assert stranger.get("/?token=wrong").status_code == 401
    token = stranger.access.token
    assert stranger.get(f"/?token={token}&token={token}").status_code == 401
    for cookie in ("x", "", 'a"b;;=\x01'):
        headers = {"cookie": f"pansophy-studio-{PORT}={cookie}"}
        assert stranger.get("/", headers=headers).status_code == 401


def test_other_names_of_this_machine_are_refused(stranger):
    token = stranger.access.token
    for host in ("evil.org", "localhost.evil.org", f"evil.org:{PORT}", "10.0.0.1"):
        answer = stranger.get(f"/?token={token}", headers={"host": host})
        assert answer.status_code == 421 and "set-cookie" not in answer.headers
    assert stranger.get("/static/studio.js", headers={"host": "a.b"}).status_code == 421
    assert StudioAccess(1, ["My.Tunnel:80"]).hosts >= {"my.tunnel", "localhost"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-pansophy": "studio"},
        {"origin": f"http://{HOST}"},
        {**CHANGE, "origin": "http://evil.org"},
        {**CHANGE, "origin": "null"},
        {
            **CHANGE,
            "origin": "http://localhost:8888",
        },  # another port
        {**CHANGE, "x-pansophy": "yes"},
    ],
)
def test_changes_come_from_its_own_pages(visitor, headers):
    answer = visitor.post("/runs", headers=headers, json={"file": "survey.csv"})
    assert answer.status_code == 403
    assert not (visitor.root / "survey-pansophy-2").exists()


def test_other_sites_cannot_load_parts_of_it(visitor):
    page = "/runs/survey-pansophy"
    for site in ("cross-site", "same-site"):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
        assert visitor.get(page, headers=headers).status_code == 403
    headers = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}
    assert visitor.get(page, headers=headers).status_code == 200


def test_websockets_are_closed(visitor):
    for path in ("/", "/runs/survey-pansophy/events"):
        with pytest.raises(WebSocketDisconnect) as closed:
            visitor.websocket_connect(path).__enter__()
        assert closed.value.code == 4403


def test_pages_allow_no_inline_script_or_style(visitor):
    answer = visitor.get("/runs/survey-pansophy")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    for text in ("<style", "style=", "onclick", "javascript:", "http://", "https://"):
        assert text not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
