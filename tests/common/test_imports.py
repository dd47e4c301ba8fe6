"""Imports point down, are cheap, and loops obey the rules that keep them cached."""

import ast
import functools
import importlib
import io
import re
import subprocess
import sys
import textwrap
import tokenize
from pathlib import Path
from typing import NamedTuple

import pytest

import pansophy
from pansophy.catalogue import resolve_name

ROOT = Path(pansophy.__file__).parent

# Each module may import from layers above it in this list (lower layers), and from
# its own layer only where EXCEPTIONS says so.
LAYERS = [
    {"scikit_learn"},
    {"params", "typing", "catalogue"},
    {"course"},
    {"core"},
    {"base"},
    {"persist"},
    {"losses", "penalties", "links", "kernels", "distances", "distributions", "graphs",
     "metrics"},
    {"optim", "sampling", "nn"},
    {"predictors"},
    {
        "linear_model", "svm", "discriminant_analysis", "naive_bayes",
        "feature_extraction", "feature_selection", "tree", "cluster", "mixture",
        "state_space", "neural_network", "rl", "ensemble", "decomposition", "manifold",
        "neighbors", "covariance", "semi_supervised", "active", "recommend",
        "graphical", "signal", "multiclass", "kernel_ridge", "kernel_model",
        "kernel_approximation", "gaussian_process", "text", "generative",
        "prior_fitted",
    },
    {"datasets"},
    {"tables"},
    {"diagnose"},
    {"teaching"},
    {"plot"},
    {"compare"},
    {"model_selection"},
    {"interchange"},
    {"forecasting"},
    {"play"},
    {"serve", "assistant"},
    {"studio"},
    {"testing"},
    {"accelerate"},
    {"cli"},
    {"__main__"},
]  # fmt: skip
RANK = {name: i for i, layer in enumerate(LAYERS) for name in layer}

# importer -> imported, within a layer or upwards, with the reason
EXCEPTIONS = {
    ("typing", "params"): "rules are part of types",
    ("losses", "links"): "a loss knows its link",
    ("distributions", "distances"): "transport moves mass over distances",
    ("kernels", "distances"): "stationary kernels are functions of distance",
    ("graphs", "distances"): "edges are read off a neighbour search",
    ("mixture", "cluster"): "mixtures start from k-means",
    ("mixture", "linear_model"): "the classifier beside an outlier flag",
    ("svm", "linear_model"): "a linear machine is a linear model",
    ("feature_extraction", "text"): "scikit-learn keeps its vectorizers there",
    ("feature_selection", "linear_model"): "subsets are compared by least squares",
    ("semi_supervised", "cluster"): "k-means with some labels known",
    ("semi_supervised", "mixture"): "a mixture with some memberships known",
    ("semi_supervised", "svm"): "a transductive machine is a machine",
    ("semi_supervised", "linear_model"): "the default learner",
    ("semi_supervised", "decomposition"): "features from all rows",
    ("state_space", "signal"): "a linear system is a convolution",
    ("graphical", "naive_bayes"): "a tree beside naive Bayes",
    ("text", "decomposition"): "latent semantic analysis is a truncated SVD",
    ("text", "graphical"): "a CRF tagger is a chain CRF over words",
    ("text", "neural_network"): "language models and taggers are trained as its nets",
    ("sampling", "optim"): "variational bounds are climbed, modes are searched",
    ("gaussian_process", "state_space"): "a Matern process of one column is a chain",
    ("generative", "ensemble"): "a forest tells samples from rows",
    ("generative", "linear_model"): "a linear model is the default victim",
    ("generative", "neighbors"): "precision and recall count balls of neighbours",
    ("generative", "mixture"): "clusters of codes start from a mixture",
    ("ensemble", "tree"): "forests and boosters grow trees",
    ("neural_network", "tree"): "nets for tables read categories as trees do",
    ("neural_network", "prior_fitted"): "estimators on its network and weights",
    ("ensemble", "linear_model"): "gates and final estimators are linear models",
}

TORCH_ALLOWED = {
    "nn",
    "neural_network",
    "rl",
    "text",
    "generative",
    "prior_fitted",
    "teaching",
}


@functools.cache
def modules():
    return sorted(ROOT.rglob("*.py"))


def part_of(path):
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


class Contents(NamedTuple):
    """What the rules below ask of a module; its syntax tree is not kept."""

    imported: list[tuple[str, int]]  # (module, line) of every import
    docstrings: list[str]
    taken: list[tuple[str, str, str]]  # (last part of a module, name, its name here)
    dotted: set[tuple[str, str]]  # (name, attribute) of `name.attribute`
    inner_loops: set[str]  # loops that only loops may call


@functools.cache
def contents_of(path):
    """Parses a module once for all rules."""
    package = ("pansophy", *path.relative_to(ROOT).parts[:-1])
    found = Contents([], [], [], set(), set())
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.imported.extend((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name):
                found.dotted.add((node.value.id, node.attr))
        elif isinstance(node, ast.ImportFrom):
            last = (node.module or "").split(".")[-1]
            found.taken.extend((last, a.name, a.asname or a.name) for a in node.names)
            if node.level == 0:
                found.imported.append((node.module, node.lineno))
                continue
            base = package[: len(package) - node.level + 1]
            stem = ".".join((*base, *filter(None, [node.module])))
            for alias in node.names:
                name = stem if node.module else f"{stem}.{alias.name}"
                found.imported.append((name, node.lineno))
        elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            found.docstrings.append(ast.get_docstring(node) or "")
            if any(asks_for_inner(d) for d in getattr(node, "decorator_list", [])):
                found.inner_loops.add(node.name)
    return found


def asks_for_inner(decorator):
    keywords = getattr(decorator, "keywords", [])
    return any(k.arg == "inner" for k in keywords)


def imported(path):
    """(module, line) of every import, ours by their full names."""
    return contents_of(path).imported


def test_every_part_has_a_layer():
    parts = {part_of(p) for p in modules()} - {"__init__"}
    assert parts <= set(RANK), f"add to LAYERS: {sorted(parts - set(RANK))}"


def test_imports_point_down():
    wrong = []
    for path in modules():
        part = part_of(path)
        if part == "__init__":
            continue
        for name, line in imported(path):
            if not name.startswith("pansophy."):
                continue
            target = name.split(".")[1]
            if target not in RANK or target == part or (part, target) in EXCEPTIONS:
                continue
            if RANK[target] >= RANK[part]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {target}")
    assert not wrong, "\n".join(wrong)


def test_no_exception_is_unused():
    used = {
        (part_of(path), name.split(".")[1])
        for path in modules()
        for name, _ in imported(path)
        if name.startswith("pansophy.")
    }
    unused = sorted(pair for pair in EXCEPTIONS if pair not in used)
    allowed = sorted(
        (part, target)
        for part, target in EXCEPTIONS
        if RANK[target] < RANK[part]  # a lower layer needs no exception
    )
    assert not unused, f"remove from EXCEPTIONS: {unused}"
    assert not allowed, f"no exception is needed for: {allowed}"


# References to our own files and names in texts: `core/arrays/rows.py`,
# `core.arrays.rows.Rows`, `pansophy.core.arrays.rows`.
HOME = ROOT.parents[1]
TEXTS = [*modules(), *sorted((HOME / "docs").rglob("*.md")), HOME / "README.md"]
PATH = re.compile(r"`([\w./]*\w\.py)`|(?<![\w/.])((?:src|tests|[a-z_]+)/[\w/]+\.py)")
DOTTED = re.compile(
    r"\bpansophy((?:\.[A-Za-z_]\w*)+)|"
    rf"`((?:{'|'.join(sorted(RANK))})(?:\.[A-Za-z_]\w*)+)`"
)


def file_exists(name, path):
    """Whether a file of this name is beside the text, or under a root of ours."""
    roots = [path.parent, path.parent.parent, ROOT, HOME, HOME / "src"]
    roots += [HOME / "tests", HOME / "benchmarks", HOME / "tools", HOME / "docs"]
    inside = "/" in name and any(str(p).endswith(f"/{name}") for p in modules())
    return inside or any((root / name).exists() for root in roots)


def is_shared(parts):
    """Whether a dotted name below the package is scikit-learn's."""
    try:
        return resolve_name(".".join(("sklearn", *parts))) is not None
    except (ImportError, AttributeError):
        return False


def is_defined(parts, path):
    """Whether a dotted name below the package leads to a module or a name in it."""
    at = ROOT
    for i, part in enumerate(parts):
        if (at / part).is_dir():
            at = at / part
            continue
        module = at / f"{part}.py"
        if module.exists():
            at, rest = module, parts[i + 1 :]
        else:
            at, rest = at / "__init__.py", parts[i:]
        text = at.read_text("utf-8")
        if rest and re.search(rf"\b{re.escape(rest[0])}\b", text) is None:
            return is_shared(parts)
        return True
    return True


def prose_of(path):
    """The docstrings and comments of a module, or a whole page."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":  # links by role are those of tests/common/test_course.py
        return re.sub(r"\{(src|api|chapter|guide|example)\}`[^`]+`", "", text)
    comments = []
    if "#" in text:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        comments = [t.string for t in tokens if t.type == tokenize.COMMENT]
    return "\n".join(contents_of(path).docstrings + comments)


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: str(p.relative_to(HOME)))
def test_references_to_our_files_and_names_exist(path):
    text = prose_of(path)
    files = {a or b for a, b in PATH.findall(text)}
    names = {(a or b).strip(".") for a, b in DOTTED.findall(text)}
    names = {n for n in names if not n.endswith(("_", ".py", ".csv", ".toml"))}
    missing = [f for f in sorted(files) if not file_exists(f, path)]
    missing += [n for n in sorted(names) if not is_defined(n.split("."), path)]
    assert not missing, f"no such file or name: {missing}"


# The comparison is a package of packages: the same rule inside it.
COMPARE = [
    {"option_types", "metric_names"},
    {"options", "resource_limits", "metrics", "splits", "samples"},
    {"evaluation"},
    {"methods"},
    {"execution"},
    {"model"},
    {"report"},
    {
        "loading",
        "holdout",
        "comparison",
        "run_comparison",
        "saved_runs",
        "shuffled_rows",
    },
]
DRIVERS = COMPARE[-1]  # may import one another


def test_imports_point_down_inside_the_comparison():
    rank = {name: i for i, layer in enumerate(COMPARE) for name in layer}
    home, wrong = ROOT / "compare", []
    assert {p.stem for p in home.iterdir() if p.name[0] != "_"} == set(rank)
    for path in sorted(home.rglob("*.py")):
        part = path.relative_to(home).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        for name, line in imported(path):
            if not name.startswith("pansophy.compare."):
                continue
            target = name.split(".")[2]
            if target == part or {part, target} <= DRIVERS:
                continue
            if rank[target] >= rank[part]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {target}")
    assert not wrong, "\n".join(wrong)


def test_torch_is_imported_where_allowed_only():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in modules()
        for name, line in imported(path)
        if name.split(".")[0] == "torch"
        and part_of(path) not in TORCH_ALLOWED
        and not path.stem.endswith("_triton")  # imported where tensors are on a device
        and path.name not in ("device_survey.py", "stand_in_device.py")
        # inside a function, behind a check that a tensor is there, is allowed
        and not indented(path, line)
    ]
    assert not wrong, wrong


def indented(path, line):
    return path.read_text("utf-8").splitlines()[line - 1].startswith(" ")


def test_every_listed_name_loads_without_the_extras():
    """In a process without torch and Gymnasium; packages that need them say so."""
    code = """
        import importlib.util, sys
        class Without:
            def __init__(self, finder):
                self.finder = finder
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in {"torch", "gymnasium"}:
                    return None
                return self.finder.find_spec(name, path, target)
            def __getattr__(self, name):
                return getattr(self.finder, name)
        sys.meta_path[:] = [Without(f) for f in sys.meta_path]
        import pansophy
        from pansophy.testing import all_estimators
        assert len(all_estimators()) > 190
        for part in dir(pansophy):
            try:
                package = getattr(pansophy, part)
            except ImportError as error:
                assert "pip install 'pansophy[" in str(error), (part, error)
                continue
            for name in dir(package):
                getattr(package, name)
        try:
            pansophy.rl.PPO
        except ImportError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = "PPO needs torch, which is not installed: pip install 'pansophy[deep]'."
    assert done.stdout.strip() == told


def test_plain_import_is_light_and_quick():
    code = (
        "import time; t = time.process_time(); import pansophy, sys;"
        "s = time.process_time() - t;"  # what others do at the time is not meant
        "print(s, sorted({'torch','numba','matplotlib','sklearn'} & set(sys.modules)))"
    )
    best = 9.0
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        seconds, loaded = done.stdout.split(maxsplit=1)
        assert loaded.strip() == "[]"
        best = min(best, float(seconds))
    assert best < 0.2


LOOPS = [
    p
    for p in modules()
    if p.name.startswith("_")
    and p.name != "__init__.py"
    and not p.name.endswith("_triton.py")  # Triton has a cache of its own
]


def spelled_out(keywords, path):
    """Keywords as name -> text, those of a `**TABLE` of the module included."""
    words = {}
    for k in keywords:
        if k.arg is not None:
            words[k.arg] = ast.unparse(k.value)
            continue
        parts = path.relative_to(ROOT).with_suffix("").parts
        module = importlib.import_module(".".join(("pansophy", *parts)))
        table = eval(ast.unparse(k.value), vars(module))
        words |= {name: repr(value) for name, value in table.items()}
    return words


@pytest.mark.parametrize("path", LOOPS, ids=lambda p: str(p.relative_to(ROOT)))
def test_loops_are_cached_plain_functions(path):
    """Compiled functions: cache=True, no parallel, no signature, no jitclass."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for mark in node.decorator_list:
                text = ast.unparse(mark)
                if "jit" not in text:
                    continue
                assert "jitclass" not in text
                where = f"{path.name}:{node.lineno}"
                assert isinstance(mark, ast.Call), f"{where}: needs cache=True"
                words = spelled_out(mark.keywords, path)
                assert not mark.args, f"{where}: no signatures"
                # what only other loops can call is kept in the cache of these
                inner = words.get("no_cpython_wrapper") == "True"
                cached = inner or words.get("cache") == "True"
                assert cached, f"{where}: needs cache=True"
                assert "parallel" not in words, f"{where}: threads come from core"


def test_inner_loops_are_called_by_loops_only():
    """They have no entry from Python: such a call would crash the process."""
    inner = {p.stem: contents_of(p).inner_loops for p in LOOPS}
    assert sum(map(bool, inner.values())) > 10
    wrong = []
    for path in modules():
        if path.name.startswith("_"):
            continue
        contents = contents_of(path)
        modules_here = {here: name for _, name, here in contents.taken}
        for module, name, _ in contents.taken:
            if name in inner.get(module, ()):
                wrong.append(f"{path.name} imports {name}")
        for name, attribute in contents.dotted:
            if attribute in inner.get(modules_here.get(name, ""), ()):
                wrong.append(f"{path.name} uses {modules_here[name]}.{attribute}")
    assert not wrong, f"take `inner=True` from their decorators: {wrong}"
