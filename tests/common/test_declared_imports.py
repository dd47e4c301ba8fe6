"""Every distribution that the package imports is declared in pyproject.toml."""

import ast
import sys
import tomllib
from pathlib import Path

import pytest

import pansophy
from tools.bounds import declared_requirements, name_of, pinned

ROOT = Path(pansophy.__file__).parent
PROJECT = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text("utf-8"))
DISTRIBUTIONS = {"PIL": "pillow", "sklearn": "scikit-learn"}  # others: as imported

# imported only where it is installed already, by whoever needs it
OPTIONAL = {
    "pandas": "results in the kind of frame that was given",
    "polars": "results in the kind of frame that was given",
    "catboost": "joins a comparison if it is there",
    "lightgbm": "joins a comparison if it is there",
    "xgboost": "joins a comparison if it is there",
    "triton": "comes with torch where there is a GPU",
}


def imports_of(path) -> set[str]:
    """Names of the packages that a file imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"pansophy"}


def imported_at_once(path) -> set[str]:
    """Names of the packages that a file imports as soon as it is imported itself."""
    tree = ast.parse(path.read_text("utf-8"))
    tree.body = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    return {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name).split(".")[0]
        for node in tree.body
        for alias in node.names
        if not getattr(node, "level", 0)
    } - set(sys.stdlib_module_names)


def declared(*extras) -> set[str]:
    groups = PROJECT["project"]["optional-dependencies"]
    lines = PROJECT["project"]["dependencies"] + [
        line for extra in extras for line in groups[extra]
    ]
    return {name_of(line) for line in lines}


def distributions(names) -> set[str]:
    return {name_of(DISTRIBUTIONS.get(name, name)) for name in names}


def test_every_imported_distribution_is_declared():
    extras = set(PROJECT["project"]["optional-dependencies"])
    extras -= {"bench", "oracles", "all", "dev"}
    imported = set().union(*map(imports_of, ROOT.rglob("*.py")))
    missing = distributions(imported) - declared(*extras) - set(OPTIONAL)
    assert not missing, f"add to pyproject.toml: {sorted(missing)}"


@pytest.mark.parametrize("package", ["core", "linear_model", "tree", "compare", "cli"])
def test_packages_for_everybody_need_no_extra(package):
    files = (ROOT / package).rglob("*.py")
    missing = distributions(set().union(*map(imported_at_once, files))) - declared()
    assert missing <= {"pansophy"}


def test_lower_bounds_can_be_tried():
    """Each declared requirement gives exactly one version to install."""
    lowest = [pinned(line, newest=False) for line in declared_requirements()]
    assert "numba==0.66" in lowest
    assert all(line.count("==") == 1 for line in lowest)
    assert "torch==2.13.0" in lowest  # whatever is declared: others bring CUDA
