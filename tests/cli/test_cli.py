"""The commands: what they print, what they write, how they fail."""

import contextlib
import csv
import inspect
import io
import json
import os
import subprocess
import sys
import textwrap
import tomllib
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sklearn.linear_model import Ridge
from typer.testing import CliRunner

import pansophy
from pansophy.catalogue import read_catalogue
from pansophy.cli import app
from pansophy.cli.app import split_names

ROOT = Path(__file__).parents[2]
COMPILING = "pansophy: compiling"  # said where nothing is shipped and nothing is kept


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
    names = {p.name for p in folder.iterdir() if not p.name.startswith(".")}
    assert names == {
        "model.pansophy",
        "plan.json",
        "predictions",
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


def test_every_setting_of_compare_can_be_given(table, monkeypatch):
    seen = {}

    def stop(table, target, **asked):
        seen.update(asked, target=target)
        raise ValueError("seen")

    takes = set(inspect.signature(pansophy.compare.compare).parameters)
    monkeypatch.setattr(pansophy.compare, "compare", stop)
    words = ["--role", "a=b=category", "--role", "z=text", "--together", "--calibrate"]
    words += ["--gap", 3, "--ignore", '"x,1", c', "--costs", '"a, b"=2,c=1']
    done = call("compare", table, "-t", "y", "-t", "c", *words)
    assert done.exit_code == 2 and "seen" in done.stderr
    assert set(seen) == takes - {"table"} and seen["progress"] is True
    assert seen["target"] == ["y", "c"] and seen["ignore"] == ["x,1", "c"]
    assert seen["roles"] == {"a=b": "category", "z": "text"} and seen["gap"] == 3
    assert seen["costs"] == {"a, b": 2.0, "c": 1.0}
    assert seen["together"] is seen["calibrate"] is True
    for bad in (["--role", "z"], ["--costs", "yes"], ["--costs", "yes=a"]):
        done = call("compare", table, "-t", "y", *bad)
        assert done.exit_code == 2 and "must look like" in done.stderr


def test_the_package_runs_as_a_module():
    words = [sys.executable, "-m", "pansophy", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pansophy ")


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


def test_plot_writes_a_picture(folder, tmp_path):
    done = call("plot", folder, "scores", "--out", tmp_path / "s.svg")
    assert done.exit_code == 0, done.output
    assert "<svg" in (tmp_path / "s.svg").read_text()
    done = call("plot", folder, "odd")
    assert done.exit_code == 2 and "kind must be one of" in done.stderr


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
    assert (
        "'extra' was not in training" in done.stderr and "2 predictions" in done.stderr
    )
    assert (tmp_path / "p.csv").read_text().splitlines()[2].startswith('"yes"')


def bad(text, folder, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    return "predict", folder / "model.pansophy", path


def test_lists_may_be_given_in_parts():
    assert split_names('a, "b, c"') == split_names(["a", '"b, c"']) == ["a", "b, c"]
    assert split_names(None) is None and split_names([]) is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            lambda f, t, p: (
                "compare",
                t,
                "-t",
                "y",
                "--methods",
                "dummy",
                "--methods",
                "odd",
            ),
            "no method 'odd'",
        ),
        (
            lambda f, t, p: (
                "compare",
                t,
                "-t",
                "y",
                "--methods",
                "odd",
                "--methods",
                "dummy",
            ),
            "no method 'odd'",
        ),
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


def test_interrupt_while_commands_are_imported():
    code = """
        import sys
        class Interrupted:
            def find_spec(self, name, path=None, target=None):
                if name == "pansophy.cli":
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupted())
        from pansophy.__main__ import main
        main()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert done.returncode == 130 and done.stderr == "Interrupted.\n"


def test_interrupt_is_code_130(table, monkeypatch):
    import pansophy.compare

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(pansophy.compare, "compare", stop)
    done = call("compare", table, "-t", "y")
    assert done.exit_code == 130 and done.stderr == "Interrupted.\n"


BAD = {
    "empty": (b"", "is empty"),
    "header": (b"x,y\n", "no rows"),
    "one column": (b"y\n1\n2\n3\n", "one column"),
    "one row": (b"x,y\n1,2\n", "one row"),
    "no target": (b"x,z\n1,2\n2,3\n", "no column 'y'"),
    "typo": (b"x,Yy\n1,2\n2,3\n", "did you mean 'Yy'"),
    "constant": (b"x,y\n" + b"1,a\n2,a\n3,a\n" * 9, "one value"),
    "empty target": (b"x,y\n" + b"1,\n2,\n3,\n" * 9, "'y'"),
    "ids": (b"id,y\n" + b"".join(b"%d,%d\n" % (i, i % 2) for i in range(40)), "id"),
    "delimiter": (b"a:y\n1:0\n2:1\n3:0\n", "one column"),
    "binary": (bytes(range(256)) * 40, "t.csv"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_get_one_sentence_and_code_2(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    body, says = BAD[name]
    (tmp_path / "t.csv").write_bytes(body)
    done = call("compare", tmp_path / "t.csv", "-t", "y")
    assert done.exit_code == 2, done.output
    assert done.stdout == "" and done.stderr.count("\n") == 1, done.stderr
    assert says in done.stderr and done.stderr.startswith("pansophy: ")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]  # no half-made folder


def test_methods_finds_by_words():
    assert "CategoricalHMM" in call("methods", "hidden", "markov".upper()).stdout
    done = call("methods", "hidden markov")
    assert done.exit_code == 0 and "GaussianHMM" in done.stdout
    for nothing in ("zzzzzz", "?!"):
        done = call("methods", nothing)
        assert done.exit_code == 2 and "Nothing in the catalogue" in done.stderr


def test_methods_prints_wrapped_lines_without_ids(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = call("methods", "gaussian mixture", "--all").stdout.splitlines()
    assert max(len(line) for line in lines) <= 60
    assert not any(e.id in line for e in read_catalogue() for line in lines)
    few = call("methods", "gaussian mixture").stdout.splitlines()
    assert few[-1].endswith("more with --all.") and len(few) < len(lines)


def test_methods_answers_questions_with_a_guide():
    done = call("methods", "which model for counts?")
    assert done.stdout.startswith("COUNTS") and "PoissonRegressor" in done.stdout
    assert "pansophy compare" in done.stdout


def test_methods_lists_the_catalogue():
    entries = read_catalogue()
    done = " ".join(call("methods").stdout.split())
    assert all(" ".join(e.topic.split()) in done for e in entries)
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


def modules_beyond_core() -> list[str]:
    """Top-level modules installed here that no core dependency asks for."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    waiting = [Requirement(line).name for line in asked["dependencies"]]
    core = {"pansophy"}
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in core:
            continue
        core.add(name)
        with contextlib.suppress(metadata.PackageNotFoundError):
            parts = [Requirement(line) for line in metadata.requires(name) or ()]
            waiting += [
                p.name
                for p in parts
                if not p.marker or p.marker.evaluate({"extra": ""})
            ]
    owners = metadata.packages_distributions()
    return sorted(
        module
        for module, names in owners.items()
        if not core & {canonicalize_name(name) for name in names}
    )


def test_demo_needs_core_dependencies_only(tmp_path):
    """Neither the command nor its workers can import anything but core packages."""
    beyond = modules_beyond_core()
    assert "pytest" in beyond and not {"numpy", "numba", "sklearn"} & set(beyond)
    hidden = f"""
        import sys
        beyond = set({beyond!r})
        class Without:
            def __init__(self, finder):
                self.finder = finder
            def find_spec(self, name, path=None, target=None):
                absent = name.split(".")[0] in beyond
                return None if absent else self.finder.find_spec(name, path, target)
            def __getattr__(self, name):
                return getattr(self.finder, name)
        sys.meta_path[:] = [Without(f) for f in sys.meta_path]
    """
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(hidden))
    paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "pansophy", "demo", "--out", str(tmp_path / "demo")],
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.returncode == 0, done.stderr
    said = [k for k in done.stderr.splitlines() if not k.startswith(COMPILING)]
    assert said == []  # no bar in a log
    for word in ("logistic regression", "decision tree", "dummy", "report.html"):
        assert word in done.stdout
    told = json.loads((tmp_path / "demo" / "results.json").read_text())
    extra = "not installed: pip install 'pansophy[deep]'"
    assert ["neural network", extra] in told["not_run"]
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000


def plain_help(*words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    return call(*words).stdout


COMMANDS = ("compare", "rerun", "explore", "demo", "methods", "predict", "plot")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_by_one_letter_with_flags_that_take_no_value(command, monkeypatch):
    text = plain_help(command, "-h", monkeypatch=monkeypatch)
    assert "Usage:" in text and "<bool>" not in text and "list[" not in text
    assert text == plain_help(command, "--help", monkeypatch=monkeypatch)


def test_help_lists_metrics_methods_and_kinds_of_pictures(monkeypatch):
    from pansophy.compare import Comparison
    from pansophy.compare.methods.portfolio import METHODS
    from pansophy.compare.metrics import METRICS

    flat = lambda text: " ".join(text.replace("│", " ").split())
    text = flat(plain_help("compare", "-h", monkeypatch=monkeypatch))
    assert all(m.name in text for m in METRICS)
    assert all(m.name in text for m in METHODS)
    assert "Examples: pansophy compare table.csv --target y" in text
    text = flat(plain_help("plot", "-h", monkeypatch=monkeypatch))
    kinds = [k[5:].replace("_", "-") for k in dir(Comparison) if k[:5] == "plot_"]
    assert len(kinds) > 10 and all(k in text for k in kinds)
    assert "--install-completion" in plain_help("-h", monkeypatch=monkeypatch)


def test_values_can_be_completed():
    from pansophy.cli.compare_options import completion_of
    from pansophy.cli.library_command import complete_family
    from pansophy.cli.model_commands import complete_plot_kind

    assert completion_of("metric")("bri") == ["brier-score"]
    found = completion_of("methods")("lasso,random")
    assert found == ["lasso,random-forest"]
    assert completion_of("keep")("b") == ["best"] and completion_of("folds") is None
    assert complete_family("tr") == ["trees"] and "roc" in complete_plot_kind("r")


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


def test_rerun_of_nothing_says_what_is_missing(tmp_path):
    done = call("rerun", tmp_path / "nothing")
    assert done.exit_code == 2 and "There is no folder" in done.stderr
    done = call("rerun", tmp_path)
    assert done.exit_code == 2 and "is not the folder of a comparison" in done.stderr


def test_escape_sequences_do_not_reach_the_terminal(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,\x1b[31mb\x1b[0m\n1,2\n3,4\n")
    done = call("compare", path, "-t", "\x1b]0;title\x07y")
    assert done.exit_code == 2 and done.stderr.startswith("pansophy: ")
    assert "\x1b" not in done.stderr and "\x07" not in done.stderr
    done = call("explore", path)
    assert "\x1b" not in done.stdout


def test_plot_of_one_method(folder):
    out = folder.parent / "roc.svg"
    words = ("plot", folder, "roc", "--method", "Logistic-Regression", "--out", out)
    assert call(*words).exit_code == 0 and out.exists()
    done = call("plot", folder, "roc", "--method", "nobody")
    assert done.exit_code == 2 and "method must be one of" in done.stderr
    done = call("plot", folder, "scores", "--method", "dummy")
    assert done.exit_code == 2 and "picture of all methods" in done.stderr
