"""The pages: tables, uploads, runs, files, answers; nothing outside the folder."""

import json
import os
import time

import pytest

from pansophy.studio import application
from pansophy.studio.application import (
    numbered_tables,
    run_address,
    safe_name,
    static_file,
)
from tests.cli.commands import call
from tests.studio.small_folder import METHODS, write_sales

RUN = "/runs/survey-pansophy"


def test_the_first_page_lists_tables_and_runs(visitor):
    (visitor.root / "notes.md").write_text("no table")
    page = visitor.get("/").text
    assert "survey.csv" in page and RUN in page and "notes.md" not in page
    assert "logistic regression" in page or "dummy" in page


def test_pages_are_in_the_language_of_the_visitor(visitor):
    page = visitor.get("/", headers={"accept-language": "de-AT, en;q=0.5"}).text
    assert '<html lang="de">' in page and "Welche Tabelle?" in page
    answer = visitor.change("/language", json={"language": "de"})
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "Welche Tabelle?" in visitor.get("/").text
    assert visitor.change("/language", json={"language": "xx"}).status_code == 400


def test_a_table_is_kept_under_a_free_name(visitor):
    body = b"a,b\n1,2\n3,4\n"
    first = visitor.change("/files?name=new.csv", content=body).json()["file"]
    assert first == "new.csv" and (visitor.root / first).read_bytes() == body
    assert visitor.change("/files?name=new.csv", content=body).json()["file"] == first
    other = visitor.change("/files?name=new.csv", content=b"a\n1\n").json()["file"]
    assert other == "new-2.csv" and (visitor.root / first).read_bytes() == body
    assert [p.name for p in visitor.root.iterdir() if "draft" in p.name] == []


@pytest.mark.parametrize(
    ("name", "body", "status", "says"),
    [
        ("new.csv", b"", 400, "empty"),
        ("model.pkl", b"x", 415, "does not look like a table"),
        ("run.py", b"import os", 415, "does not look like a table"),
        ("..", b"x", 415, "does not look like a table"),
        ("big.csv", b"a,b\n" + b"1,2\n" * 30_000, 413, "larger than"),
    ],
)
def test_uploads_that_are_refused(visitor, name, body, status, says):
    before = sorted(os.listdir(visitor.root))
    answer = visitor.change(f"/files?name={name}", content=body)
    assert answer.status_code == status and says in answer.json()["error"]
    assert sorted(os.listdir(visitor.root)) == before


def test_an_upload_of_unknown_length_ends_at_the_limit(visitor):
    def parts():
        for _ in range(50):
            yield b"1,2\n" * 1_000

    answer = visitor.change("/files?name=big.csv", content=parts())
    assert answer.status_code == 413 and not (visitor.root / "big.csv").exists()


def test_names_of_uploads_lead_nowhere_else():
    assert safe_name("../../etc/passwd.csv") == "passwd.csv"
    assert safe_name("C:\\tables\\a.csv") == "a.csv"
    assert safe_name("--out=x.csv") == "out=x.csv" and safe_name("...") == ""
    assert safe_name("a\x00\x1b[31mb.csv") == "a b.csv"


def test_numbers_of_packed_tables_stand_before_the_ending(tmp_path):
    names = numbered_tables(tmp_path / "a.csv.gz")
    assert [next(names).name for _ in range(2)] == ["a.csv.gz", "a-2.csv.gz"]


@pytest.mark.parametrize(
    "path",
    [
        "/table?file=../secret.csv",
        "/table?file=/etc/hostname",
        "/table?file=link.csv",
        "/table?file=none.csv",
        "/table?file=survey-pansophy/model.pansophy",
        "/runs/%2e%2e",
        "/runs/link",
        "/runs/survey-pansophy%2fpredictions",
        f"{RUN}/files/plan.json",
        f"{RUN}/files/..%2f..%2fsecret.csv",
        f"{RUN}/files/predictions-..%2f..%2fsecret.csv",
        f"{RUN}/files/predictions-link.csv",
    ],
)
def test_nothing_outside_the_folder_is_read(visitor, path):
    outside = visitor.root.parent / "secret.csv"
    outside.write_text("secret\n1\n")
    (visitor.root / "link.csv").symlink_to(outside)
    (visitor.root / "link").symlink_to(visitor.root.parent)
    run = visitor.root / "survey-pansophy"
    (run / "predictions-link.csv").symlink_to(outside)
    answer = visitor.get(path)
    assert answer.status_code in (400, 404, 405) and "secret\n" not in answer.text


def test_a_run_shows_its_answer_and_its_files(visitor):
    page = visitor.get(RUN).text
    results = json.loads((visitor.root / RUN[6:] / "results.json").read_text())
    assert f"Keep {results['winner']}." in page or "Keep no model" in page
    assert "pansophy compare survey.csv --target bought" in page
    assert "--role age=number" in page and "pansophy.compare(" in page
    answer = visitor.get(f"{RUN}/files/model.pansophy?save=1")
    assert "attachment" in answer.headers["content-disposition"]


def test_the_terminal_goes_on_with_a_run_and_repeats_it(visitor, monkeypatch):
    """By the words that the studio shows: nothing is left to fit, nothing differs."""
    from pansophy.cli import compare_commands

    written = []
    monkeypatch.setattr(
        compare_commands, "print_and_write", lambda result, *_: written.append(result)
    )
    monkeypatch.setenv("PANSOPHY_WORKERS", "0")
    monkeypatch.chdir(visitor.root)
    studio = visitor.app.state.studio
    lines = (visitor.root / RUN[6:] / "results.jsonl").read_bytes()
    words = studio.recorded_words(studio.runs.open(RUN[6:]))
    done = call(*words, "--resume", "--quiet", "--workers", "0")
    assert done.exit_code == 0, done.output
    assert (visitor.root / RUN[6:] / "results.jsonl").read_bytes() == lines
    assert {r.method for r in written[0].leaderboard} == {"dummy", *METHODS}
    again = call("rerun", RUN[6:], "--table", "survey.csv", "--quiet")
    assert again.exit_code == 0 and "bit for bit" in again.output


def test_a_report_stands_in_a_sandbox(visitor):
    assert "<iframe" in visitor.get(f"{RUN}/report").text
    answer = visitor.get(f"{RUN}/files/report.html")
    policy = answer.headers["content-security-policy"]
    assert "sandbox" in policy and "script-src 'sha256-" in policy
    assert "allow-same-origin" not in policy and "connect-src" not in policy


def test_what_if_has_a_control_for_each_column(visitor):
    page = visitor.get(f"{RUN}/what-if").text
    for name in ("age", "income", "sex"):
        assert f'name="{name}"' in page
    row = {"age": "40", "income": "70", "sex": "f"}
    rich = visitor.change(f"{RUN}/answer", json=row).text
    poor = visitor.change(f"{RUN}/answer", json={**row, "income": "20"}).text
    assert rich != poor and "yes" in rich and "no" in poor
    answer = visitor.change(f"{RUN}/answer", json={**row, "age": "old"})
    assert answer.status_code == 400
    assert "'age' should be a number" in answer.json()["error"]


def test_a_column_that_mixes_numbers_and_words_is_asked_about(visitor):
    page = visitor.get("/table?file=survey.csv&target=bought").text
    assert "Does “age” hold numbers?" in page and "“3a”" in page
    assert 'name="role.age" value="number" required' in page
    chosen = visitor.get("/table?file=survey.csv&target=bought&role.age=number").text
    assert "--role age=number" in chosen


def test_names_of_columns_are_escaped(visitor):
    evil = '<img src=x onerror="alert(1)">'
    (visitor.root / "evil.csv").write_text(f"'{evil}',y\n1,2\n3,4\n5,6\n")
    page = visitor.get("/table?file=evil.csv").text
    assert "<img" not in page and "&lt;img" in page


def test_a_broken_table_is_a_sentence(visitor):
    (visitor.root / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    (visitor.root / "none.csv").write_text("a,b\n")
    for name in ("broken.parquet", "none.csv"):
        answer = visitor.get(f"/table?file={name}")
        assert answer.status_code == 400 and "Traceback" not in answer.text
        assert 'class="lead"' in answer.text


def test_runs_begin_with_the_command_that_is_shown(visitor, monkeypatch):
    begun = []

    def start(words, folder):
        begun.append((words, folder.name))

    studio = visitor.app.state.studio
    monkeypatch.setattr(studio.processes, "start", start)
    write_sales(visitor.root / "sales.csv")
    given = {"file": "survey.csv", "target": "bought", "role.age": "number"}
    answer = visitor.change("/runs", json={**given, "goal": "compare"}).json()
    assert answer["location"] == run_address("survey-pansophy-2")
    words = ["compare", "survey.csv", "--target", "bought", "--role", "age=number"]
    assert begun.pop()[0] == [*words, "--out", "survey-pansophy-2"]
    given = {"file": "sales.csv", "goal": "forecast", "target": "sales", "horizon": "6"}
    given |= {"time": "month", "series.shop": "1"}
    visitor.change("/runs", json=given)
    words, folder = begun.pop()
    assert folder == "sales-forecast" and "--series=shop" in words
    visitor.change("/runs", json={"file": "survey.csv", "goal": "explore"})
    assert begun.pop()[0] == ["explore", "survey.csv", "--out", "survey-explored"]


@pytest.mark.parametrize(
    "given",
    [
        {"file": "survey.csv", "goal": "compare"},
        {"file": "survey.csv", "goal": "compare", "target": "bought", "minutes": "x"},
        {"file": "survey.csv", "goal": "forecast", "target": "x", "time": "y"},
        {"file": "none.csv", "goal": "explore"},
        {"file": "survey.csv", "goal": "rm"},
        {"file": "survey.csv", "goal": "explore", "other": "../x.csv"},
    ],
)
def test_what_cannot_begin_leaves_no_folder(visitor, given):
    before = sorted(os.listdir(visitor.root))
    answer = visitor.change("/runs", json=given)
    assert answer.status_code in (400, 404) and answer.json()["error"]
    assert sorted(os.listdir(visitor.root)) == before


def test_a_finished_run_cannot_be_stopped(visitor):
    assert visitor.change(f"{RUN}/stop", json={}).status_code == 409
    assert visitor.change(f"{RUN}/resume", json={}).status_code == 409


def test_a_stream_ends_with_its_run(visitor):
    answer = visitor.get(f"{RUN}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = (visitor.root / RUN[6:] / "results.jsonl").read_bytes().count(b"\n")
    kinds = [k for k in answer.text.splitlines() if k.startswith("event: ")]
    assert kinds == ["event: board", "event: end"]
    assert f"id: {lines}\n" in answer.text


def test_what_has_no_body_of_json_is_refused(visitor):
    for body in (b"[1]", b"{", b'"' + b"x" * application.MAX_BODY + b'"'):
        answer = visitor.change(f"{RUN}/answer", content=body)
        assert answer.status_code in (400, 413) and answer.json()["error"]


def test_assets_are_small_and_complete():
    size = sum(len(static_file(name)) for name in application.STATIC)
    assert size < 150_000
    assert b"--blue" in static_file("studio.css")
    for name in application.STATIC:
        assert b"http://" not in static_file(name).replace(b"http://www.w3.org", b"")


def test_two_runs_stand_side_by_side(visitor):
    names = ["survey-pansophy"] * 2
    page = visitor.get("/compare", params={"run": names}).text
    assert "their scores can be compared" in page and "decision tree" in page
    assert visitor.get("/compare?run=survey-pansophy").status_code == 400


def test_pages_are_answered_at_once(visitor):
    visitor.get(RUN)
    begun = time.process_time()
    for _ in range(20):
        visitor.get(RUN)
    assert (time.process_time() - begun) / 20 < 0.3
