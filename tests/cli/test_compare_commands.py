"""The commands compare, rerun, explore: what they print and write."""

import json

from tests.cli.commands import call


def test_compare_writes_report_results_and_model(folder):
    names = {p.name for p in folder.iterdir() if not p.name.startswith(".")}
    assert names == {
        "model.pansophy",
        "plan.json",
        "predictions",
        "progress.json",
        "report.html",
        "results.json",
        "results.jsonl",
        "schema.toml",
    }
    told = json.loads((folder / "results.json").read_text())
    assert told["winner"] == "logistic regression"
    assert told["settings"]["folds"] == 3


def test_compare_prints_json(table):
    words = "--json --repeats 1 --folds 3 --methods decision-tree --metric accuracy"
    words += " --workers 0"
    out = table.parent / "json"
    done = call("compare", table, "-t", "y", *words.split(), "--seed", 3, "-o", out)
    told = json.loads(done.stdout)
    assert told["settings"]["metric"] == "accuracy" and told["settings"]["seed"] == 3
    assert str(out / "report.html") in done.stderr


def test_without_a_folder_a_new_one_is_made_here(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = "--repeats 1 --folds 2 --methods naive-Bayes --workers 0"
    for name in ("t-pansophy", "t-pansophy-2"):
        done = call("compare", table, "-t", "y", *words.split())
        assert done.exit_code == 0, done.output
        assert (tmp_path / name / "report.html").exists()
    done = call("compare", table, "-t", "y", *words.split(), "--resume")
    assert done.exit_code == 0 and not (tmp_path / "t-pansophy-3").exists()


def test_rerun_is_the_same_bit_for_bit(folder):
    done = call("rerun", folder)
    assert done.exit_code == 0, done.output
    assert "The same, bit for bit: all scores of 6 fits." in done.stdout


def test_rerun_says_what_differs(folder, table, tmp_path):
    other = tmp_path / "t.csv"
    lines = table.read_text().splitlines()
    other.write_text("\n".join([*lines[:-1], "9.5,u,yes"]) + "\n")
    done = call("rerun", folder, "--table", other, "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 1 and not told["same"]
    assert any("the rows of the table" in d for d in told["differences"])


def test_explore_looks_and_writes_a_schema(table, tmp_path):
    done = call("explore", table, "--target", "y", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "80 rows" in done.stdout
    assert (tmp_path / "explore.html").stat().st_size > 5_000
    told = json.loads(call("explore", table, "--json").stdout)
    assert {"findings", "overview"} <= set(told)
    more = ["--task", "classification", "--ignore", "c", "--group", "c"]
    assert call("explore", table, "-t", "y", *more).exit_code == 0
    done = call("explore", table, "--ignore", "cc")
    assert done.exit_code == 2 and "did you mean 'c'" in done.stderr
    words = "--repeats 1 --folds 2 --methods naive-Bayes --workers 0"
    schema = tmp_path / "schema.toml"
    again = ("--schema", schema, "--out", tmp_path / "run", *words.split())
    done = call("compare", table, "-t", "y", *again)
    assert done.exit_code == 0, done.output


def test_progress_is_told_without_a_terminal_unless_quiet(table):
    words = ["-t", "y", "--repeats", "1", "--folds", "2", "--methods", "decision-tree"]
    words += ["--workers", "0"]
    out = table.parent
    done = call("compare", table, *words, "--out", out / "loud")
    assert done.exit_code == 0 and "4 fits of 2 methods" in done.stderr
    assert "decision tree: done, log loss" in done.stderr
    assert "of 4 fits, " in done.stderr and "fits" not in done.stdout.split("\n")[0]
    quiet = call("compare", table, *words, "--out", out / "quiet", "-q")
    assert quiet.exit_code == 0 and quiet.stderr == ""
    assert "fitting decision tree on all rows ..." in done.stderr
    assert "drawing the figures of the report" in done.stderr


def test_a_misspelt_metric_is_told_the_nearest(table):
    done = call("compare", table, "-t", "y", "--metric", "accuracey", "--workers", "0")
    assert done.exit_code == 2 and "did you mean 'accuracy'?" in done.stderr


def test_rerun_of_nothing_says_what_is_missing(tmp_path):
    done = call("rerun", tmp_path / "nothing")
    assert done.exit_code == 2 and "There is no folder" in done.stderr
    done = call("rerun", tmp_path)
    assert done.exit_code == 2 and "is not the folder of a comparison" in done.stderr
