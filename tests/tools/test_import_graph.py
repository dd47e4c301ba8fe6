"""The import graph: names are followed to the module that defines them."""

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools.import_graph import ImportGraph  # noqa: E402

FILES = {
    "src/pansophy/__init__.py": "",
    "src/pansophy/core/__init__.py": "",
    "src/pansophy/core/sums.py": "def total(x): return sum(x)",
    "src/pansophy/losses/__init__.py": "from .base import Loss\nfrom .flat import flat",
    "src/pansophy/losses/base.py": "class Loss: pass",
    "src/pansophy/losses/flat.py": "from .base import Loss\nflat = Loss()",
    "src/pansophy/linear/__init__.py": "from .ridge import Ridge",
    "src/pansophy/linear/ridge.py": "from ..losses import flat\nclass Ridge: pass",
    "src/pansophy/linear/_ridge.py": "from ..core.sums import total",
    "src/pansophy/linear/paths.py": "from .. import losses\nx = losses.flat",
    "tests/linear/test_ridge.py": "from pansophy.linear import Ridge",
    "tests/linear/test_paths.py": "import pansophy\npansophy.linear.paths",
    "tests/common/test_all.py": "import pansophy.losses as L\nL.Loss()",
    "tests/oracles/slow.py": "from pansophy.core import sums",
}


@pytest.fixture
def graph(tmp_path):
    for file, text in FILES.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ImportGraph(tmp_path)


def test_names_lead_to_the_module_that_defines_them(graph):
    assert graph.imports["src/pansophy/linear/ridge.py"] == {
        "src/pansophy/losses/flat.py"
    }
    assert graph.imports["src/pansophy/linear/paths.py"] == {
        "src/pansophy/losses/flat.py"
    }
    assert graph.imports["tests/common/test_all.py"] == {"src/pansophy/losses/base.py"}
    assert graph.imports["tests/linear/test_paths.py"] == {
        "src/pansophy/linear/paths.py"
    }
    assert graph.imports["tests/oracles/slow.py"] == {"src/pansophy/core/sums.py"}


def test_tests_come_nearest_first(graph):
    near = graph.tests_near(["src/pansophy/losses/base.py"])
    assert near == [
        "tests/common/test_all.py",  # imports it
        "tests/linear/test_paths.py",  # of what imports the loss made of it
        "tests/linear/test_ridge.py",
    ]
    assert graph.own_test("src/pansophy/linear/_ridge.py") == near[-1]
    assert graph.own_test("src/pansophy/core/sums.py") is None


def test_the_graph_of_this_repository_knows_its_parts(tmp_path):
    """Of a few packages and their tests: all take ten times as long."""
    for place in ("src/pansophy", "tests"):
        (tmp_path / place).mkdir(parents=True)
        for part in ("core", "discriminant_analysis", "linear_model"):
            shutil.copytree(ROOT / place / part, tmp_path / place / part)
    shutil.copy(ROOT / "src/pansophy/__init__.py", tmp_path / "src/pansophy")
    graph = ImportGraph(tmp_path)
    users = graph.importers["src/pansophy/core/linalg/shrinkage.py"]
    assert "src/pansophy/discriminant_analysis/class_covariances.py" in users
    near = graph.tests_near(["src/pansophy/linear_model/least_squares/ridge.py"])
    assert near[0] == "tests/linear_model/least_squares/test_ridge.py"
    assert "tests/linear_model/least_squares/test_ridge_cv.py" in near
