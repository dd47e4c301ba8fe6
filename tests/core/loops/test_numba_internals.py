"""Numba's private interfaces are as expected, and fits work where they are not.

If `test_interface_exists` fails after an upgrade of Numba, the interface that it names
was moved or removed: find its new home and change `core/loops/numba_internals.py` only.
"""

import os
import pydoc
import subprocess
import sys
from types import SimpleNamespace
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import njit
from numba.core import event
from numba.core.caching import NullCache

from pansophy.core.loops import loop_cache, numba_internals
from pansophy.core.loops.compiled import compiled


@pytest.mark.parametrize("name", numba_internals.INTERFACES)
def test_interface_exists(name):
    assert pydoc.locate(name) is not None, (
        f"Numba {numba.__version__} has no {name}: see core/loops/numba_internals.py"
    )


def test_all_is_as_expected():
    """No fall-back to Numba's own compiler under the version of the tests."""
    assert loop_cache.UNEXPECTED == ""
    numba_internals.compile_probe()


# What may be different in another version of Numba. Each is a change made before the
# package is imported.
UNEXPECTED_NUMBAS = {
    "a module is gone": """
import numba.core.dispatcher, numba.experimental
sys.modules["numba.core.compiler_machinery"] = None
""",
    "a name is gone": """
import numba.core.event
del numba.core.event.Listener.on_end
""",
    "a class refuses": """
import numba.core.compiler_machinery
def refuse(*args, **kwargs):
    raise TypeError("no such passes any more")
numba.core.compiler_machinery.register_pass = refuse
""",
    "the compiler differs, in a version that was not tried": """
import numba.core.compiler
numba.__version__ = "99.0.0"
plain = numba.core.compiler.Compiler.__init__
def changed(self, *args):
    if type(self) is not numba.core.compiler.Compiler:
        args = args[:-1]
    plain(self, *args)
numba.core.compiler.Compiler.__init__ = changed
""",
}
# Every kind of compiled function: a loop, one that only loops call, a callback.
LOOPS = """
import numpy as np
from pansophy.core.loops import loop_cache
assert loop_cache.UNEXPECTED, "the change was not noticed"
from pansophy.core._random import random_bits, splitmix64
from pansophy.core.loops.compiled import compiled
from pansophy.core.loops.loop_cache import compiled_callback

@compiled
def draw(stream):
    return random_bits(stream)

mask = 2**64 - 1
z = 12345 + 0x9E3779B97F4A7C15 & mask
z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
assert draw(np.array([12345], np.uint64)) == z ^ z >> 31
assert splitmix64(np.uint64(12345)) == z ^ z >> 31
square = compiled_callback(lambda x: x * x, "float64(float64)")
assert square.ctypes(3.0) == 9.0
assert not list(Path(os.environ["PANSOPHY_CACHE_DIR"]).rglob("*.loop"))
print(loop_cache.UNEXPECTED)
"""
FITS = """
from pansophy.cluster import KMeans
from pansophy.linear_model import Lasso
from pansophy.naive_bayes import GaussianNB
X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)
assert GaussianNB().fit(X, y).score(X, y) > 0.9
assert KMeans(2, random_state=0).fit(X).labels_.size == 60
assert abs(Lasso(alpha=0.01).fit(X, X[:, 0]).coef_[0] - 1) < 0.1
"""
TREES = """
from pansophy.ensemble import HistGradientBoostingClassifier
from pansophy.tree import DecisionTreeClassifier
assert DecisionTreeClassifier().fit(X, y).score(X, y) == 1
assert HistGradientBoostingClassifier(max_iter=5).fit(X, y).score(X, y) > 0.9
"""


@pytest.fixture(scope="module")
def plain_cache(tmp_path_factory):
    """Folder of Numba's own cache that the following processes share."""
    return tmp_path_factory.mktemp("plain_cache")


def fit_under(change, fits, plain_cache, own_cache):
    script = "import os, sys, numba\nfrom pathlib import Path\n" + change + fits
    folders = {
        "NUMBA_CACHE_DIR": str(plain_cache),
        "PANSOPHY_CACHE_DIR": str(own_cache),
    }
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", script],
        env=dict(os.environ, **folders),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "is not as expected" in done.stdout


@pytest.mark.parametrize("change", UNEXPECTED_NUMBAS.values(), ids=UNEXPECTED_NUMBAS)
def test_loops_work_under_an_unexpected_numba(change, plain_cache, tmp_path):
    fit_under(change, LOOPS, plain_cache, tmp_path)


@pytest.mark.slow  # half a minute of compilation
@pytest.mark.parametrize("change", UNEXPECTED_NUMBAS.values(), ids=UNEXPECTED_NUMBAS)
def test_fits_work_under_an_unexpected_numba(change, plain_cache, tmp_path):
    fits = LOOPS + FITS
    fits += TREES if change == UNEXPECTED_NUMBAS["a name is gone"] else ""
    fit_under(change, fits, plain_cache, tmp_path)


def test_a_newer_numba_that_is_as_expected_is_used():
    """A version that was not tried compiles a small loop and is taken at its word."""
    script = """
import numba
numba.__version__ = "99.0.0"
from pansophy.core.loops import loop_cache
print(repr(loop_cache.UNEXPECTED))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "''"


@compiled(inner=True)
def root_of(x):
    if x < 0:
        raise ValueError("negative")
    return np.sqrt(x)


@compiled(inner=True)
def twice_root_of(x):
    return 2 * root_of(x)


@njit
def sum_of_roots(a):
    total = 0.0
    for x in a:
        total += twice_root_of(x) + root_of(x)
    return total


def test_inner_functions_become_code_of_their_callers():
    """They are linked, through each other, and are not made into machine code."""
    assert sum_of_roots(np.array([4.0, 9.0])) == 15.0
    with pytest.raises(ValueError, match="negative"):
        sum_of_roots(np.array([4.0, -9.0]))
    for inner in (root_of, twice_root_of):
        (result,) = inner.overloads.values()
        assert isinstance(result.library, numba_internals.InnerLibrary)
        assert not result.library._codegen._engine.is_symbol_defined(
            result.fndesc.llvm_func_name
        )


@compiled
def doubled(x):
    return 2.0 * x


@compiled
def doubled_sum(a):
    total = 0.0
    for x in a:
        total += doubled(x)
    return total


@compiled
def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1


def test_a_loop_that_another_calls_is_compiled_as_a_part_of_it():
    """It becomes machine code of its own only where Python calls it."""
    doubled_sum._cache.disable()
    assert doubled_sum(np.array([1.0, 2.5])) == 7.0
    assert not doubled.overloads
    assert doubled(1.5) == 3.0
    assert len(doubled.overloads) == 1
    assert factorial(5) == 120


class Pair(NamedTuple):
    a: np.ndarray
    b: np.ndarray


@compiled(refcount=False)
def add_pair_rows(pair, out):
    """Views, tuples and a column: all borrowed."""
    for i in range(pair.a.shape[0]):
        row = pair.a[i]
        flat = pair.b.reshape(-1)
        for j in range(row.size):
            out[i, j] = row[j] + flat[i * row.size + j]
    return out.size


def test_arrays_are_borrowed_without_reference_counts():
    pair, out = Pair(np.ones((3, 2)), np.arange(6.0).reshape(3, 2)), np.zeros((3, 2))
    before = [sys.getrefcount(v) for v in (*pair, out)]
    for _ in range(100):
        assert add_pair_rows(pair, out) == 6
    assert [sys.getrefcount(v) for v in (*pair, out)] == before
    np.testing.assert_array_equal(out, pair.a + pair.b)
    again = compiled(add_pair_rows.py_func, refcount=False)
    again._cache = NullCache()  # what comes from the disk cannot be inspected
    again(pair, out)
    (code,) = again.inspect_llvm().values()
    assert "NRT_incref" not in code
    assert "NRT_decref" not in code


@compiled(refcount=False)
def second_of(pair):
    return pair.b, 1


@compiled(refcount=False)
def same_array(a):
    return a


@compiled(refcount=False)
def new_array(n):
    return np.empty(n).size


@pytest.mark.parametrize(
    ("loop", "argument"),
    [(second_of, Pair(np.ones(2), np.ones(2))), (same_array, np.ones(2))],
)
def test_a_loop_that_returns_an_array_must_count(loop, argument):
    """Its caller would give up a reference that nobody took."""
    with pytest.raises(TypeError, match="must not return arrays"):
        loop(argument)


def test_a_loop_that_makes_an_array_must_count():
    with pytest.raises(numba.TypingError, match="empty"):
        new_array(3)


@compiled(inner=True)
def inner_larger_of(a, b):
    return max(a, b)


@compiled(refcount=False)
def largest_of_three(a, b, c):
    return max(inner_larger_of(a, b), c)


def test_settings_are_compared_by_what_callees_inherit():
    flags = numba_internals.LoopFlags()
    flags.nrt = False
    other = numba_internals.LoopFlags(flags)
    other.no_cpython_wrapper = True  # no callee asks for it
    assert flags == other
    assert hash(flags) == hash(other)
    other.nrt = True
    assert flags != other
    assert flags != SimpleNamespace()


def names_compiled_by(loop, *arguments) -> list[str]:
    """Names of all functions that Numba compiles for one call."""
    names = []

    class Listener(event.Listener):
        def on_start(self, began):
            names.append(began.data["dispatcher"].py_func.__qualname__)

        def on_end(self, ended):
            pass

    loop._cache.disable()
    with event.install_listener("numba:compile", Listener()):
        loop(*arguments)
    return names


def test_min_and_max_are_no_compilations_of_their_own():
    assert names_compiled_by(largest_of_three, 1.5, 2.5, -1.0) == [
        "largest_of_three",
        "inner_larger_of",
    ]
    assert largest_of_three(1.5, 2.5, -1.0) == 2.5


@compiled(inner=True, inline="always")
def clipped(x, low, high):
    return min(max(x, low), high)


@compiled
def extremes(a, k):
    low, high = np.inf, -np.inf
    for x in a:
        low, high = min(low, x), max(x, high, 0)
    return low, high, max(len(a), k), min(3, k, 7), max((k, 4))


@compiled
def clipped_difference(a, b):
    return clipped(a - b, 0, 2.5)


@pytest.mark.parametrize("k", [5, -2, 2.75])
@pytest.mark.parametrize("a", [np.array([2.0, np.nan, -1.0]), np.arange(1, 4)])
def test_min_and_max_are_those_of_python(a, k):
    assert extremes(a, k) == extremes.py_func(a, k)
    assert clipped_difference(k, 1) == min(max(k - 1, 0), 2.5)


@compiled
def squares_below(n):
    return sum([i * i for i in range(n)])


def test_comprehensions_still_compile():
    assert squares_below(4) == 14
