"""The commands: what they print, what they write, how they fail."""

import csv
import io
import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from typer.testing import CliRunner

import pansophy
from pansophy.catalogue import read
from pansophy.cli import app


def call(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 80
    x, c = rng.normal(size=n), rng.choice(["u", "v"], n)
    y = np.where(x + (c == "u") > 0.5, "yes", "no")
    path = tmp_path_factory.mktemp("cli") / "t.csv"
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["x", "c", "y"])
        out.writerows(zip(x.round(4), c, y))
    return path


@pytest.fixture(scope="module")
def folder(table):
    out = table.parent / "out"
    words = "--repeats 1 --folds 3 --methods logistic-regression"
    done = call("compare", table, "--target", "y", "--out", out, *words.split())
    assert done.exit_code == 0, done.output
    assert "logistic regression" in done.stdout and "dummy" in done.stdout
    assert str(out / "report.html") in done.stdout
    return out


def test_compare_writes_report_results_and_model(folder):
    assert sorted(p.name for p in folder.iterdir()) == [
        "model.pansophy",
        "report.html",
        "results.json",
    ]
    told = json.loads((folder / "results.json").read_text())
    assert told["winner"] == "logistic regression"
    assert told["settings"]["folds"] == 3


def test_compare_prints_json(table):
    words = "--json --repeats 1 --folds 3 --methods decision-tree --metric accuracy"
    done = call("compare", table, "-t", "y", *words.split(), "--seed", 3)
    told = json.loads(done.stdout)
    assert told["settings"]["metric"] == "accuracy" and told["settings"]["seed"] == 3
    assert done.stderr == ""


def test_predict_to_the_screen_and_to_a_file(folder, table, tmp_path):
    model = folder / "model.pansophy"
    done = call("predict", model, table)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 80 and set(rows[0]) == {"y", "p(no)", "p(yes)"}
    kept = pansophy.load(model)
    assert [r["y"] for r in rows] == kept.predict(table).tolist()
    new = tmp_path / "new.csv"
    new.write_text("c,extra,x\nnever,1,\nu,2,3.5\n")
    done = call("predict", model, new, "--out", tmp_path / "p.csv")
    assert done.exit_code == 0 and done.stdout == ""
    assert "Not used: extra." in done.stderr and "2 predictions" in done.stderr
    assert (tmp_path / "p.csv").read_text().splitlines()[2].startswith('"yes"')


def bad(text, folder, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    return "predict", folder / "model.pansophy", path


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (lambda f, t, p: ("compare", t, "-t", "z"), "There is no column 'z'"),
        (lambda f, t, p: ("compare", p / "no.csv", "-t", "y"), "There is no file"),
        (lambda f, t, p: ("compare", t, "-t", "y", "--task", "odd"), "task must be"),
        (
            lambda f, t, p: ("compare", t, "-t", "y", "--metric", "odd"),
            "metric must be",
        ),
        (lambda f, t, p: ("compare", t, "-t", "y", "--folds", "1"), "folds must be"),
        (lambda f, t, p: ("compare", t, "-t", "y", "--methods", "odd"), "no method"),
        (lambda f, t, p: bad("x\n1\n", f, p), "lacks the column 'c'"),
        (lambda f, t, p: bad("x,c\none,u\n", f, p), "should hold numbers"),
        (lambda f, t, p: ("predict", p / "no", t), "No such file"),
        (lambda f, t, p: ("predict", t, t), "not a whole pansophy model"),
        (lambda f, t, p: ("methods", "--family", "odd"), "There is no family 'odd'"),
    ],
)
def test_mistakes_get_one_sentence_and_code_2(words, says, folder, table, tmp_path):
    done = call(*words(folder, table, tmp_path))
    assert done.exit_code == 2
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert says in done.stderr and done.stderr.startswith("pansophy: ")


def test_other_models_are_not_for_tables(table, tmp_path):
    pansophy.save(Ridge(), tmp_path / "r.pansophy")
    done = call("predict", tmp_path / "r.pansophy", table)
    assert done.exit_code == 2 and "holds a Ridge" in done.stderr


def test_missing_option_is_code_2(table):
    assert call("compare", table).exit_code == 2


def test_interrupt_is_code_130(table, monkeypatch):
    import pansophy.compare

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(pansophy.compare, "compare", stop)
    done = call("compare", table, "-t", "y")
    assert done.exit_code == 130 and done.stderr == "Interrupted.\n"


def test_methods_lists_the_catalogue():
    entries = read()
    done = call("methods")
    assert len(done.stdout.splitlines()) == len(entries)
    family = entries[0].family
    some = json.loads(call("methods", "--family", family, "--json").stdout)
    assert {e["family"] for e in some} == {family}
    assert len(some) == sum(e.family == family for e in entries)


def test_version_and_help():
    assert call("--version").stdout == f"pansophy {pansophy.__version__}\n"
    assert all(w in call("--help").stdout for w in ("compare", "predict", "demo"))


def test_help_and_version_load_nothing_heavy():
    code = """
        import sys
        from pansophy.cli import app
        try:
            app(["--version"])
        except SystemExit:
            pass
        heavy = {"sklearn", "scipy", "numpy", "torch", "numba", "matplotlib", "pyarrow"}
        print(sorted(heavy & set(sys.modules)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_demo_needs_core_dependencies_only(tmp_path):
    """In a process where torch, pandas, polars and skops cannot be imported."""
    code = f"""
        import sys
        class Absent:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in {{"torch", "pandas", "polars", "skops"}}:
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        sys.meta_path.insert(0, Absent())
        from pansophy.cli import app
        app(["demo", "--out", {str(tmp_path / "demo")!r}])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no bar in a log
    for word in ("logistic regression", "decision tree", "dummy", "report.html"):
        assert word in done.stdout
    assert (
        "neural network (needs an extra: pip install 'pansophy[deep]')" in done.stdout
    )
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000
