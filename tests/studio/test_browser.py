"""The studio in a real browser: what only a browser can show.

Needs the package playwright and a Chromium of the system, which is driven headless; no
browser is downloaded. The server is the program itself, in a process of its own.
"""

import http.client
import os
import re
import shutil
import socket
import subprocess
import sys

import pytest

from tests.studio.small_folder import write_survey

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
playwright = pytest.importorskip("playwright.sync_api", reason="no Chromium here")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
SECONDS = 60_000  # in thousandths: a machine may be busy


class Studio:
    """A studio that runs, and the browser that was let in."""

    def __init__(self, root, port, context):
        self.root = root
        self.port = port
        self.context = context
        self.base = f"http://localhost:{port}"
        self.foreign = []
        self.faults = []

    def page(self, path="/"):
        """A new tab, whose errors are kept."""
        page = self.context.new_page()
        page.set_default_timeout(SECONDS)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self.keep_errors)
        page.goto(self.base + path)
        return page

    def keep_errors(self, message):
        if message.type == "error" and "status of 4" not in message.text:
            self.faults.append(message.text)

    def route(self, route):
        """Lets requests to the studio pass, and keeps all others."""
        if route.request.url.startswith((self.base, "data:", "blob:")):
            route.continue_()
        else:
            self.foreign.append(route.request.url)
            route.abort()


def start_server(root, port):
    """The program, and the token that it prints."""
    process = subprocess.Popen(
        [
            sys.executable,
            *("-m", "pansophy", "studio", str(root), "--port", str(port)),
            *("--no-browser", "--max-upload", "1"),
        ],
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PANSOPHY_WORKERS": "1"},
        text=True,
    )
    for line in process.stderr:
        found = re.search(r"token=(\S+)", line)
        if found:
            return process, found[1]
    raise AssertionError("The studio did not start.")


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    root = tmp_path_factory.mktemp("browser")
    write_survey(root / "survey.csv", n=200)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process, token = start_server(root, port)
    try:
        with playwright.sync_playwright() as engine:
            browser = engine.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox"]
            )
            context = browser.new_context(locale="en-GB")
            made = Studio(root, port, context)
            context.route("**/*", made.route)
            page = made.page(f"/?token={token}")
            assert "token" not in page.url
            yield made
            browser.close()
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()


def test_a_table_becomes_an_answer(studio, tmp_path):
    """Upload, question, run, two tabs, one left out, reload, stop, report."""
    dropped = tmp_path / "people.csv"
    write_survey(dropped, n=200, seed=1)
    page = studio.page()
    page.set_input_files("[data-drop] input", dropped)
    page.wait_for_url("**/table?file=people.csv")
    page.select_option("#target", "bought")
    page.get_by_text("Does “age” hold numbers?").wait_for()
    page.get_by_role("button", name="Start").click()
    assert "/table" in page.url  # the question is open
    page.get_by_label("Numbers: what is none counts as missing").check()
    page.locator(".commands summary").click()
    page.get_by_text("--role age=number").wait_for()
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/runs/people-pansophy")

    done = page.locator(".board tbody tr", has_text="logistic regression")
    done.get_by_text("done").wait_for()
    second = studio.page("/runs/people-pansophy")
    assert second.locator(".board tbody tr").count() >= 1
    name = "neural network"  # the slowest: it is not done before it is left out
    out = second.get_by_role("button", name=f"Leave out {name}")
    out.wait_for(state="attached")
    if not out.is_visible():
        second.locator("#waiting summary").click()
    out.click()
    row = page.locator(".board tbody tr", has_text=name)
    row.get_by_text("stopped on request").wait_for()  # the first tab hears of it
    page.reload()
    row.get_by_text("stopped on request").wait_for()
    assert page.locator(".board tbody tr", has_text="logistic regression").count()

    page.get_by_role("button", name="Stop here").click()
    page.get_by_role("link", name="Open the report").wait_for()
    assert (studio.root / "people-pansophy" / "ended.txt").exists()
    assert page.locator(".state").first.inner_text() == "Stopped"
    page.get_by_role("button", name="Go on").wait_for()
    second.close()

    page.get_by_role("link", name="Open the report").click()
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", name="Predicting bought").wait_for()
    page.get_by_role("link", name="What if").click()
    page.locator("#answer .large").wait_for()
    before = page.locator("#answer").inner_text()
    page.locator("[name=income]").fill("95")
    page.wait_for_function(
        "text => document.getElementById('answer').innerText !== text", arg=before
    )
    page.get_by_role("link", name="Predict a file").click()
    page.select_option("[name=file]", "survey.csv")
    page.get_by_role("button", name="Predict").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all").click()
    lines = download.value.path().read_text("utf-8").splitlines()
    assert len(lines) == 201 and "p(yes)" in lines[0]
    page.close()


def test_files_that_are_no_tables_are_told(studio, tmp_path):
    files = {
        "empty.csv": (b"", "The file is empty."),
        "broken.parquet": (b"PAR1" + bytes(range(256)), "That did not work"),
        "huge.csv": (b"a,b\n" + b"1,2\n" * 300_000, "larger than 1 MB"),
        "notes.pdf": (b"%PDF", "does not look like a table"),
    }
    page = studio.page()
    for name, (body, says) in files.items():
        (tmp_path / name).write_bytes(body)
        page.goto(studio.base)
        page.set_input_files("[data-drop] input", tmp_path / name)
        page.get_by_text(re.compile(re.escape(says), re.I)).last.wait_for()
    assert not (studio.root / "huge.csv").exists()
    page.close()


def test_the_keyboard_is_enough(studio):
    page = studio.page()

    def focus(selector, key="Tab", most=60):
        for _ in range(most):
            if page.evaluate(f"document.activeElement?.matches({selector!r}) ?? false"):
                return
            page.keyboard.press(key)
        raise AssertionError(f"{selector} is not reached")

    focus("a.card[href*='survey.csv']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/table?file=survey.csv")
    focus("#target")
    page.keyboard.type("bought")
    page.wait_for_url("**target=bought*")
    page.get_by_role("heading", name="What does one row stand for?").wait_for()
    focus("input[name='role.age']")
    page.keyboard.press("ArrowDown")
    page.wait_for_url("**role.age=*")
    focus("form#setup [type=submit]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/survey-pansophy")
    focus("#stop-all")
    page.keyboard.press("Enter")
    page.locator(".state.stopped, .state.failed").first.wait_for()
    page.close()


def test_other_programs_and_pages_get_nothing(studio):
    def answer(method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=20)
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        connection.request(method, "/runs", headers={"host": "localhost", **headers})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body

    cookies = studio.context.cookies()
    cookie = "; ".join(f"{c['name']}={c['value']}" for c in cookies)
    assert answer(host="evil.org", cookie=cookie)[0] == 421
    foreign = {"origin": "http://evil.org", "x_pansophy": "studio", "cookie": cookie}
    assert answer("POST", **foreign)[0] == 403
    upgrade = {"connection": "Upgrade", "upgrade": "websocket", "cookie": cookie}
    upgrade |= {"sec_websocket_version": "13", "sec_websocket_key": "eA=="}
    assert answer(**upgrade)[0] != 101
    page = studio.page()
    opened = page.evaluate(
        """url => new Promise(done => {
            const socket = new WebSocket(url);
            socket.onopen = () => done("open");
            socket.onerror = () => done("refused");
        })""",
        f"ws://localhost:{studio.port}/runs",
    )
    assert opened == "refused"
    studio.faults[:] = [k for k in studio.faults if "WebSocket" not in k]
    page.close()


def test_pages_fit_a_phone(studio):
    page = studio.page()
    page.set_viewport_size({"width": 320, "height": 700})  # 1280 at 400 %
    for path in (
        "/",
        "/table?file=survey.csv&target=bought",
        "/table?file=survey.csv&goal=forecast",
        "/runs/people-pansophy",
        "/runs/people-pansophy/what-if",
        "/runs/people-pansophy/predict",
        "/nothing",
    ):
        page.goto(studio.base + path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.close()


def test_nothing_left_this_machine_and_no_page_had_a_fault(studio):
    """The last one: what all the others asked for."""
    assert studio.foreign == [] and studio.faults == []
