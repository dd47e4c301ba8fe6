"""Wrong names are answered before anything heavy is imported, and right ones pass."""

import subprocess
import sys

import pytest

from pansophy.cli.early_checks import (
    check_columns,
    check_method,
    check_metric,
    check_model_file,
    header_columns,
    method_names,
)
from pansophy.compare.methods.portfolio import METHODS
from pansophy.compare.metric_names import ALIASES, METRIC_NAMES
from pansophy.compare.metrics import METRICS

HEAVY = ("sklearn", "scipy", "pyarrow", "numba", "torch")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('size;"of, what";y\n1;2;yes\n')
    return path


def test_lists_of_names_are_complete():
    assert set(method_names()) == {m.name for m in METHODS}
    assert set(METRIC_NAMES) == {m.name for m in METRICS}
    assert set(ALIASES.values()) <= set(METRIC_NAMES)
    for name in (*method_names(), "Random_Forest", "calibrated naive-Bayes", "blend"):
        check_method(name)
    for name in (*METRIC_NAMES, *ALIASES, "neg_log_loss"):
        check_metric(name)


def test_nearest_name_is_asked_for(table):
    with pytest.raises(ValueError, match="no method 'lightgmb'; did you mean 'Light"):
        check_method("lightgmb")
    with pytest.raises(ValueError, match="no metric 'log los'; did you mean 'log l"):
        check_metric("log los")
    with pytest.raises(ValueError, match=r"no metric 'price'; there are .*, mae,"):
        check_metric("price")
    with pytest.raises(ValueError, match="no column 'Size'; did you mean 'size'"):
        check_columns(table, ["y", "Size"])


def test_columns_of_plain_text_tables(table, tmp_path):
    assert header_columns(table) == ["size", "of, what", "y"]
    check_columns(table, ["y", "of, what", "size,y", "row order"])
    for text in ("only\n1\n", "a,a\n1,2\n", 'a,"b\nc",d\n1,2,3\n', "a,b"):
        other = tmp_path / "u.csv"
        other.write_text(text)
        assert header_columns(other) == []  # left to the reader of tables
        check_columns(other, ["nonsense"])
    assert header_columns(tmp_path / "none.csv") == []
    assert header_columns(tmp_path / "t.parquet") == []


def test_text_is_no_model(table, tmp_path):
    with pytest.raises(ValueError, match="is not a model that pansophy has saved, but"):
        check_model_file(table)
    other = tmp_path / "m.pansophy"
    other.write_bytes((100).to_bytes(8, "little") + b"{" + b" " * 200)
    check_model_file(other)


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "T", "-t", "y", "--methods", "nonsense"],
        ["compare", "T", "-t", "y", "--metric", "nonsense"],
        ["compare", "T", "-t", "nonsense"],
        ["compare", "T", "-t", "y", "--keep", "nonsense"],
        ["explore", "T", "-t", "nonsense"],
        ["predict", "T", "T"],
    ],
    ids=" ".join,
)
def test_a_wrong_word_imports_nothing_heavy(table, words):
    words = [str(table) if w == "T" else w for w in words]
    code = (
        "import sys\n"
        "from pansophy.__main__ import main\n"
        f"sys.argv[1:] = {words!r}\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert end.code == 2\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    assert done.stderr.startswith("pansophy: ") and done.stderr.count("\n") == 1
