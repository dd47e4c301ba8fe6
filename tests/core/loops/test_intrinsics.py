"""Every hook into Numba and LLVM is still there and does what it says.

If `test_hook_exists` fails after an upgrade of Numba or llvmlite, the hook that it
names was moved or removed: find its new home and change `core/loops/_intrinsics.py`
only.
"""

import importlib
import re
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import carray, cfunc, njit, types

import pansophy
from pansophy.core.loops import _intrinsics as hooks

ROOT = Path(pansophy.__file__).parent


@pytest.mark.parametrize("name", hooks.HOOKS)
def test_hook_exists(name):
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
            break
        except ImportError:
            continue
    for part in parts[cut:]:
        found = getattr(found, part, None)
        assert found is not None, (
            f"Numba {numba.__version__} has no {name}: see core/loops/_intrinsics.py"
        )


@njit
def use_atomics(a):
    hooks.atomic_store(a, 0, 5)
    before = hooks.atomic_add(a, 0, 2)
    first = hooks.atomic_compare_exchange(a, 0, 7, 9)
    second = hooks.atomic_compare_exchange(a, 0, 7, 11)
    hooks.yield_thread()
    return before, first, second, hooks.atomic_load(a, 0)


def test_atomics():
    assert use_atomics(np.zeros(1, np.int64)) == (5, True, False, 9)


@njit
def use_memory(a, word):
    hooks.prefetch(a, 1)
    hooks.add_pair(a, 1, 10, 20)
    return hooks.trailing_zeros(word)


def test_memory_and_bits():
    a = np.arange(4)
    assert use_memory(a, np.uint64(40)) == 3
    assert a.tolist() == [0, 11, 22, 3]
    assert use_memory(a, np.uint64(0)) == 64


@njit
def use_vectors(X, Y, C, rows, out, v, w):
    hooks.matmul_tile(X, 0, Y, 4, rows, len(rows), 8, C, 4, -1.0, out)
    hooks.matvec_four(X, 0, 8, v, 4, w, w)
    hooks.add_scaled_four(2.0, v, 0, w, 4)
    hooks.add_two_scaled_four(1.0, v, 0, 3.0, v, 4, w, 4)
    return hooks.dot_four(v, 0, w, 0, 8)


def test_vectors_of_four():
    rng = np.random.default_rng(0)
    X, Y, C = (rng.normal(size=(8, 8)) for _ in range(3))
    v, w = rng.normal(size=(2, 8))
    rows, out, expected = np.array([1, 3, 6]), np.zeros((8, 8)), w.copy()
    dot = use_vectors(X, Y, C, rows, out, v, w)
    tile = C[:4, 4:] - X[rows, :4].T @ Y[rows, 4:]
    np.testing.assert_allclose(out[:4, 4:], tile)
    expected[:4] += X[:4, :4].T @ v[:4]
    expected[4:] += 3 * v[:4] + 3 * v[4:]
    np.testing.assert_allclose(w, expected)
    assert dot == pytest.approx(v @ w)


REALS = types.CPointer(types.float64)


@cfunc(types.float64(REALS, REALS, types.int64, types.CPointer(types.int64)))
def half_square(px, pg, d, table):
    x, g = carray(px, (d,)), carray(pg, (d,))
    a = carray(hooks.float64_pointer(table[0]), (d,))
    value = 0.0
    for i in range(d):
        g[i] = a[i] * x[i]
        value += 0.5 * g[i] * x[i]
    return value


@njit
def use_address(address, x, g, table):
    return hooks.call_density(
        address, x.ctypes.data, g.ctypes.data, len(x), table.ctypes.data
    )


def test_calls_by_address():
    x, g, a = np.array([1.0, 2.0]), np.zeros(2), np.array([3.0, 4.0])
    table = np.array([a.ctypes.data])
    assert use_address(half_square.address, x, g, table) == 9.5
    assert g.tolist() == [3.0, 8.0]


@pytest.mark.parametrize(
    ("pattern", "home"),
    [
        (r"numba\.(core|cpython|np|typed)\b", ["numba_internals.py"]),
        (r"numba\.extending\b|llvmlite import ir\b", ["_intrinsics.py"]),
        (r"llvmlite\b", ["_intrinsics.py", "loop_cache.py"]),
    ],
)
def test_no_other_module_uses_the_internals_of_numba(pattern, home):
    written = re.compile(rf"^\s*(from|import) ({pattern})", re.M)
    users = [p for p in ROOT.rglob("*.py") if written.search(p.read_text("utf-8"))]
    assert sorted(path.name for path in users) == home


@njit
def running_products(a, b, c, out):
    hooks.running_products_eight(
        a, 8, np.float32(0.5), b, 0, np.float32(2.0), c, 16, out
    )


def test_running_products_of_eight():
    rng = np.random.default_rng(0)
    a, b, c, out = rng.random((4, 24)).astype(np.float32)
    running_products(a, b, c, out)
    products = ((a[8:] + 0.5) * (b[:16] + 2) * c[:16]).reshape(2, 8)
    np.testing.assert_allclose(out[:16], products.cumsum(axis=0).ravel(), rtol=1e-5)
