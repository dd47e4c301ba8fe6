"""Wrong edits: which are made, which are left alone, and that tests tell them."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools import mutants  # noqa: E402
from tools.import_graph import ImportGraph  # noqa: E402

SOURCE = '''"""Text with - 1 and a < b."""
import numpy as np

LIMIT: int = 3


def mean(x, w: float = None, n=2):
    """A mean, at most 5 of it."""
    if w is None and n > 1:
        raise ValueError(f"w is {n - 1}, not {2}")
    warn("never < 4")
    return -np.sum(x * w) / np.average(x, weights=w)


def __repr__(self):
    return 1 + 1


def plot_mean(ax):
    return ax + 1
'''


@pytest.fixture
def root(tmp_path):
    package = tmp_path / "src" / "pansophy" / "stats"
    package.mkdir(parents=True)
    (package / "means.py").write_text(SOURCE)
    return tmp_path


FILE = "src/pansophy/stats/means.py"


def edited_lines(edits):
    text = SOURCE.encode()
    return {edit.describe(text).split("  ->  ")[1] for edit in edits}


def test_every_kind_of_edit_and_nothing_in_texts(root):
    edits = [e for e in mutants.edits_of(FILE, root) if mutants.is_sound(e, root)]
    ratio = "return -np.sum(x * w) / np.average(x, weights=w)"
    assert edited_lines(edits) == {
        "LIMIT: int = 4",
        "def mean(x, w: float = None, n=3):",
        "if not (w is None and n > 1):",
        "if w is None or n > 1:",
        "if w is None and n >= 1:",
        "if w is None and n > 2:",
        ratio.replace("-np", "(np").replace("w) /", "w)) /"),
        ratio.replace("x * w", "x / w"),
        ratio.replace("x * w", "(x)"),
        ratio.replace(" / ", " * "),
        ratio.replace("weights=w", "weights=None"),
    }
    assert {e.inside for e in edits} == {(), ("mean",)}


def test_a_seed_gives_the_same_edits_and_no_edit_twice():
    draw = lambda seed: list(itertools.islice(mutants.draw_edits(seed, "links.py"), 6))
    assert draw(3) == draw(3)
    assert draw(3) != draw(4)
    assert len(set(draw(3))) == 6
    assert not any(name in mutants.packages() for name in mutants.LEFT_ALONE)


TESTS = {
    "pyproject.toml": (
        '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n'
        'pythonpath = ["."]\nmarkers = ["slow: minutes", "gpu: a device"]\n'
    ),
    "src/pansophy/__init__.py": "",
    "src/pansophy/part.py": "def double(x):\n    return 2 * x\n",
    "src/pansophy/user.py": (
        "from .part import double\n\n\ndef four(x):\n    return double(double(x))\n"
    ),
    "tests/test_part.py": (
        "from pansophy.part import double\n\n\n"
        "def test_double():\n    assert double(0) == 0\n"
    ),
    "tests/test_user.py": (
        "from pansophy.user import four\n\n\n"
        "def test_four():\n    assert four(2) == 8\n"
    ),
}


def test_an_edit_is_killed_by_a_neighbour_and_survives_without_it(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # a second each
    root = tmp_path / "root"
    for file, text in TESTS.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    (root / "tools").symlink_to(ROOT / "tools")
    subprocess.run(["git", "init"], cwd=root, check=True, capture_output=True)
    kinds = {e.kind: e for e in mutants.edits_of("src/pansophy/part.py", root)}
    copy = mutants.Copy(tmp_path / "copy", root)
    (copy.folder / "tools").unlink(missing_ok=True)
    (copy.folder / "tools").symlink_to(ROOT / "tools")
    result = copy.judge(kinds["constant"], ImportGraph(root), 60, 60)
    assert (result.verdict, result.stage) == ("killed", "near")
    assert result.killer == "tests/test_user.py::test_four"
    assert (copy.folder / "src/pansophy/part.py").read_text() == TESTS[
        "src/pansophy/part.py"
    ]
    assert copy.failing_anyway([result]) == set()
    (root / "tests/test_user.py").unlink()
    result = copy.judge(kinds["constant"], ImportGraph(root), 60, 60)
    assert result.verdict == "survived"
