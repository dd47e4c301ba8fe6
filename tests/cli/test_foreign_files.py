"""No command removes or overwrites what it did not make."""

import shutil

import pytest

from tests.cli.commands import call

NAMES = (
    "plan.json",
    "results.jsonl",
    "results.json",
    "report.html",
    "model.pansophy",
    "schema.toml",
    "explore.html",
    "ended.txt",
    "roc.svg",
    "settings.json",
    "notes.txt",
    "predictions/0.f64",
    "previous/notes.txt",
    "words/thesis.txt",
)
QUICK = [
    "--repeats",
    "1",
    "--folds",
    "2",
    "--methods",
    "naive-Bayes",
    "--workers",
    "0",
    "--no-blend",
]


def fill_with_foreign_files(folder):
    """Files of a stranger under all names that commands write to."""
    for name in NAMES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"a stranger's {name}")
    return {f"a stranger's {name}" for name in NAMES}


def texts_below(folder):
    texts = set()
    for path in folder.rglob("*"):
        if path.is_file():
            texts.add(path.read_bytes().decode("utf-8", "replace"))
    return texts


def written_by(command, out, table, run):
    if command == "compare":
        return call("compare", table, "-t", "y", "-o", out, *QUICK)
    if command == "resume":
        return call("compare", table, "-t", "y", "-o", out, "--resume", *QUICK)
    if command == "explore":
        return call("explore", table, "-t", "y", "-o", out)
    if command == "index":
        return call("index", table.parent, "--out", out, "--no-vectors")
    if command == "rerun":
        return call("rerun", out)
    if command == "plot":  # a run that holds a stranger's picture
        for name in ("plan.json", "results.jsonl", "schema.toml"):
            (out / name).unlink()
            shutil.copy(run / name, out / name)
        shutil.rmtree(out / "predictions")
        shutil.copytree(run / "predictions", out / "predictions")
        return call("plot", out, "roc")
    return call("predict", run / "model.pansophy", table, "-o", out / "new.csv")


COMMANDS = ("compare", "resume", "explore", "index", "rerun", "plot", "predict")


@pytest.mark.parametrize("command", COMMANDS)
def test_all_bytes_of_a_stranger_are_still_there(command, table, folder, tmp_path):
    foreign = fill_with_foreign_files(tmp_path)
    done = written_by(command, tmp_path, table, folder)
    assert done.exit_code in (0, 2), done.output
    assert "Traceback" not in done.output
    if command == "plot":  # their places were taken for this test
        names = ("plan.json", "results.jsonl", "schema.toml", "predictions/0.f64")
        foreign -= {f"a stranger's {name}" for name in names}
        assert (tmp_path / "roc-2.svg").exists()
    assert foreign <= texts_below(tmp_path)


def test_demo_leaves_a_folder_with_a_plan_alone(tmp_path, table, monkeypatch):
    import pansophy.datasets

    monkeypatch.setattr(pansophy.datasets, "path", lambda: table)
    monkeypatch.setattr(pansophy.datasets, "load", lambda: Bundled())
    foreign = fill_with_foreign_files(tmp_path)
    import pansophy.compare

    run = pansophy.compare.compare
    quick = {"repeats": 1, "folds": 2, "methods": ["naive Bayes"], "workers": 0}
    monkeypatch.setattr(
        pansophy.compare, "compare", lambda *a, **k: run(*a, **{**k, **quick})
    )
    done = call("demo", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert foreign <= texts_below(tmp_path)


class Bundled:
    about = "A small table."
    target = "y"


def test_earlier_runs_are_kept_and_the_user_is_told(table, tmp_path):
    for _ in range(3):
        done = call("compare", table, "-t", "y", "-o", tmp_path, *QUICK)
        assert done.exit_code == 0, done.output
    assert "is now in" in done.output and "previous-2" in done.output
    for name in ("previous", "previous-2"):
        assert (tmp_path / name / "plan.json").is_file()
        assert (tmp_path / name / "report.html").is_file()
