"""The commands: help, mistakes, interrupts, what they import."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pansophy
from pansophy.cli.app import split_names
from tests.cli.commands import call

ROOT = Path(__file__).parents[2]
COMPILING = "pansophy: compiling"  # said where nothing is shipped and nothing is kept


def test_the_package_runs_as_a_module():
    words = [sys.executable, "-m", "pansophy", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pansophy ")


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
            "no metric 'odd'; there are",
        ),
        (lambda f, t, p: ("compare", t, "-t", "y", "--folds", "1"), "folds must be"),
        (lambda f, t, p: ("compare", t, "-t", "y", "--methods", "odd"), "no method"),
        (lambda f, t, p: bad("x\n1\n", f, p), "lacks the column 'c'"),
        (lambda f, t, p: bad("x,c\none,u\n", f, p), "should hold numbers"),
        (lambda f, t, p: ("predict", p / "no", t), "There is no file"),
        (lambda f, t, p: ("predict", t, t), "not a model that pansophy has saved"),
        (lambda f, t, p: ("methods", "--family", "odd"), "There is no family 'odd'"),
    ],
)
def test_mistakes_get_one_sentence_and_code_2(words, says, folder, table, tmp_path):
    done = call(*words(folder, table, tmp_path))
    assert done.exit_code == 2
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert says in done.stderr and done.stderr.startswith("pansophy: ")


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


def test_escape_sequences_do_not_reach_the_terminal(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,\x1b[31mb\x1b[0m\n1,2\n3,4\n")
    done = call("compare", path, "-t", "\x1b]0;title\x07y")
    assert done.exit_code == 2 and done.stderr.startswith("pansophy: ")
    assert "\x1b" not in done.stderr and "\x07" not in done.stderr
    done = call("explore", path)
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    "words", [("compare", "t.csv", "left"), ("explore", "t.csv", "left")]
)
def test_a_word_that_may_be_the_target_gets_a_question(words):
    done = call(*words)
    said = " ".join(done.stderr.split())
    assert done.exit_code == 2 and "Unexpected 'left': --target left?" in said
    spaced = call("compare", "t.csv", "my column", "--folds", "3")
    assert "--target 'my column'?" in " ".join(spaced.stderr.split())


def test_other_mistakes_on_the_command_line_are_told_as_before():
    for words, says in (
        (("compare", "t.csv"), "Missing option '--target'"),
        (("compare", "t.csv", "-t", "y", "left"), "unexpected extra argument"),
        (("compare", "t.csv", "left", "--fold", "3"), "No such option"),
    ):
        done = call(*words)
        assert done.exit_code == 2 and says in " ".join(done.stderr.split())


def test_help_is_a_command_too():
    for words in (("help",), ("help", "compare")):
        done = call(*words)
        assert done.exit_code == 0 and "Usage: pansophy" in done.stdout
    assert "--target" in done.stdout
