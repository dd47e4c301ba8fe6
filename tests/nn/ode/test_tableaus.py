"""Order conditions, stability and the interpolants of the tableaus."""

import numpy as np
import pytest

pytest.importorskip("torch")

from pansophy.nn.ode.tableaus import TABLEAUS


def order_conditions(table, b, order):
    a, c = table.a, table.c
    found = [b.sum() - 1]
    if order > 1:
        found += [b @ c - 1 / 2]
    if order > 2:
        found += [b @ c**2 - 1 / 3, b @ a @ c - 1 / 6]
    if order > 3:
        found += [
            b @ c**3 - 1 / 4,
            (b * c) @ a @ c - 1 / 8,
            b @ a @ c**2 - 1 / 12,
            b @ a @ a @ c - 1 / 24,
        ]
    if order > 4:
        found += [b @ c**4 - 1 / 5, b @ a @ c**3 - 1 / 20, b @ a @ a @ a @ c - 1 / 120]
    return np.abs(found).max()


@pytest.mark.parametrize("name", TABLEAUS)
def test_order_conditions(name):
    table = TABLEAUS[name]
    assert order_conditions(table, table.b, table.order) < 1e-14
    if table.adaptive:
        embedded = table.b - table.error
        assert order_conditions(table, embedded, table.error_order - 1) < 1e-14
        assert order_conditions(table, embedded, table.error_order + 1) > 1e-4


def test_dormand_prince_is_scipys():
    from scipy.integrate import RK23, RK45

    table = TABLEAUS["dopri5"]
    assert np.allclose(table.dense, RK45.P, atol=1e-15)
    assert np.allclose(np.abs(table.error), np.abs(RK45.E), atol=1e-15)
    assert np.allclose(TABLEAUS["bosh3"].dense, RK23.P, atol=1e-15)


@pytest.mark.parametrize("name", [n for n, t in TABLEAUS.items() if t.adaptive])
def test_interpolation_joins_both_ends(name):
    table = TABLEAUS[name]
    degree = np.arange(1, table.dense.shape[1] + 1)
    assert np.allclose(table.dense.sum(axis=1), table.b, atol=1e-14)  # theta = 1
    first = np.eye(len(table.b))[0]
    last = np.eye(len(table.b))[-1]
    assert np.allclose(table.dense[:, 0], first, atol=1e-14)  # slope at theta = 0
    assert np.allclose(table.dense @ degree, last, atol=1e-13)  # and at 1


def test_implicit_methods_damp_what_is_stiff():
    """The stability function at -10^8: 0 for L-stable methods, 1 for the trapezoid."""
    z = -1e8
    for name, limit in (
        ("implicit_euler", 0),
        ("tr_bdf2", 0),
        ("kencarp4", 0),
        ("trapezoid", 1),
    ):
        table = TABLEAUS[name]
        s = len(table.b)
        k = np.linalg.solve(np.eye(s) - z * table.a, np.ones(s))
        assert abs(1 + z * table.b @ k) == pytest.approx(limit, abs=1e-6)
