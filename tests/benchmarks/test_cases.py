"""All cases: their shape, what judges them, what they need, and their records."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks import definition
from benchmarks.records import Records

ROOT = Path(__file__).parents[2]
CASES, FILES = program.find_cases()


def test_every_case_is_well_formed():
    assert len({case.name for case in CASES}) == len(CASES) > 10
    for case in CASES:
        assert len(case.sizes) >= 3, f"{case.name}: growth needs three sizes"
        assert case.peers


def test_no_record_is_stale():
    """After a change of a case: `python -m benchmarks CASE`, or `--drop`."""
    records = Records.load(ROOT / "benchmarks" / "results.json")
    assert records.stale(CASES) == []


def test_ratios_without_a_stamp_are_of_cases_without_a_record():
    records = Records.load(ROOT / "benchmarks" / "results.json")
    recorded = {row["case"] for row in records.rows.values()}
    assert not recorded & {entry["case"] for entry in records.unstamped}


def _ignores_result(quality):
    """Whether no function on this line reads its second argument."""
    source = definition.module_source(quality.__module__)
    nodes = source.functions[quality.__code__.co_firstlineno]
    second = quality.__code__.co_varnames[1]
    bodies = [
        n.body if isinstance(n.body, list) else [n.body]
        for n in nodes
        if getattr(n, "name", "<lambda>") == quality.__name__
    ]
    return not any(
        isinstance(inner, ast.Name) and inner.id == second
        for body in bodies
        for statement in body
        for inner in ast.walk(statement)
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_quality_looks_at_the_result(case):
    """A quality that is the same for every result cannot fail."""
    assert not _ignores_result(case.quality)


# Names under which packages are imported, where they differ from the package.
PACKAGES = {
    "baycomp": "baycomp", "celer": "celer", "faiss": "faiss-cpu", "PIL": "pillow",
    "pomdp_py": "pomdp-py", "pycrfsuite": "python-crfsuite", "sklearn": "scikit-learn",
    "sklearn_crfsuite": "sklearn-crfsuite", "sklearnex": "scikit-learn-intelex",
    "stable_baselines3": "stable-baselines3", "xgboost": "xgboost-cpu",
    "mapie": "mapie", "openTSNE": "opentsne",
}  # fmt: skip
COME_ALONG = {"threadpoolctl": "scikit-learn", "llvmlite": "numba"}


def _requirements(*extras):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"]]
    chosen = extras or project["optional-dependencies"]
    lists += [project["optional-dependencies"][extra] for extra in chosen]
    names = (re.split(r"[\[<>=;]", r)[0] for words in lists for r in words)
    return {_normal(name) for name in names} - {"pansophy"}


def _normal(name):
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def test_every_peer_is_in_an_extra():
    declared = _requirements("bench", "dev", "deep", "rl")
    wanted = {
        name
        for path in (ROOT / "benchmarks").glob("bench_*.py")
        for name in _imports(path)
        if name not in sys.stdlib_module_names and name not in COME_ALONG
    }
    packages = {_normal(PACKAGES.get(name, name)) for name in wanted - {"pansophy"}}
    assert packages <= declared


def test_every_extra_is_pinned():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {_normal(line.partition("==")[0]) for line in lines if "==" in line}
    assert _requirements() <= pinned
