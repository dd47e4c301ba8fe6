"""Every hook into Numba's compiler is there, and loops are compiled as it says.

If `test_hook_exists` fails after an upgrade of Numba, the hook that it names was moved
or removed: find its new home and change `core/loop_compiler.py` only.
"""

import importlib
import sys
from types import SimpleNamespace
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import njit
from numba.core import event
from numba.core.caching import NullCache

from pansophy.core import loop_compiler
from pansophy.core.compiled import compiled


@pytest.mark.parametrize("name", loop_compiler.HOOKS)
def test_hook_exists(name):
    parts = name.split(".")
    found = importlib.import_module(".".join(parts[:3]))
    for part in parts[3:]:
        found = getattr(found, part, None)
        assert found is not None, (
            f"Numba {numba.__version__} has no {name}: see core/loop_compiler.py"
        )


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
        assert isinstance(result.library, loop_compiler.InnerLibrary)
        assert not result.library._codegen._engine.is_symbol_defined(
            result.fndesc.llvm_func_name
        )


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
    "loop, argument",
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
    flags = loop_compiler.LoopFlags()
    flags.nrt = False
    other = loop_compiler.LoopFlags(flags)
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
