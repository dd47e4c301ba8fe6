"""A client of the package `mcp` drives the tools, inside the folder and not outside."""

import asyncio
import csv
import json

import numpy as np
import pytest

from pansophy.assistant import make_server

mcp = pytest.importorskip("mcp")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    y = np.where(x + 0.5 * rng.normal(size=80) > 0, "yes", "no")
    with open(place / "t.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["x", "z", "y"])
        out.writerows(zip(x.round(3), rng.normal(size=80).round(3), y, strict=True))
    return place


def calls(folder, *wanted):
    """The results of calls (tool, arguments) through one client, and the progress."""
    progress = []

    async def report(done, total, message):
        progress.append((done, total, message))

    async def run():
        async with mcp.Client(make_server(folder)) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {"explore", "compare", "predict", "methods", "ask"}
            return [
                await client.call_tool(name, given, progress_callback=report)
                for name, given in wanted
            ]

    return asyncio.run(run()), progress


def data_of(result):
    assert not result.is_error, result
    return json.loads(result.content[0].text)


def test_a_whole_comparison_and_its_predictions(folder):
    given = {"table": "t.csv", "target": "y"}
    quick = {"methods": ["logistic-regression"], "repeats": 1}
    results, progress = calls(
        folder,
        ("explore", given),
        ("compare", {**given, **quick, "out": "run"}),
        ("predict", {"model": "run", "table": "t.csv", "out": "answers.csv"}),
        ("methods", {"query": "which model for counts"}),
    )
    explored, compared, predicted, found = map(data_of, results)
    assert "findings" in explored
    assert compared["kept"] == "logistic regression" and compared["format"] == 1
    assert (folder / compared["report"]).is_file()
    assert predicted["rows"] == 80 and predicted["written"] == "answers.csv"
    assert (folder / "answers.csv").stat().st_size > 500
    assert found["topics"]
    assert progress and progress[-1][0] == progress[-1][1]


def test_what_is_outside_is_refused(folder, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("a,y\n1,2\n")
    (folder / "link.csv").symlink_to(secret)
    (folder / "out").symlink_to(tmp_path)
    table = {"target": "y"}
    results, _ = calls(
        folder,
        ("explore", {"table": str(secret)}),
        ("explore", {"table": "../secret.csv"}),
        ("explore", {"table": "link.csv"}),
        ("compare", {**table, "table": "t.csv", "out": "out/run"}),
        ("compare", {**table, "table": "t.csv", "out": "."}),
        ("predict", {"model": "run", "table": "t.csv", "out": "/tmp/answers.csv"}),
        ("explore", {"table": "--help"}),
    )
    assert all(result.is_error for result in results)
    said = [result.content[0].text for result in results]
    assert all("leads out of the folder" in text for text in said[:4])
    assert "folder of their own" in said[4]
    assert "There is no file '--help'" in said[6]
    assert list(tmp_path.iterdir()) == [secret]


def test_a_command_that_fails_gives_its_sentence(folder):
    results, _ = calls(folder, ("explore", {"table": "t.csv", "target": "nope"}))
    assert results[0].is_error
    assert "There is no column 'nope'" in results[0].content[0].text
