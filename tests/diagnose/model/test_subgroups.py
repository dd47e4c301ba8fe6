"""Weak slices: planted ones come first, noise is not reported."""

import numpy as np
import pandas as pd
import pytest

from pansophy.diagnose import subgroups


def test_weak_slices_come_first(rng):
    n = 4000
    X = pd.DataFrame({
        "age": rng.uniform(0, 100, n), "town": rng.choice(["a", "b", "c"], n),
        "kind": rng.choice(["u", "v"], n), "noise": rng.normal(size=n),
    })  # fmt: skip
    loss = rng.exponential(size=n)
    loss += 0.5 * (X.town == "b") + 3.0 * ((X.kind == "v") & (X.age > 75))
    found = subgroups(X, loss)
    names = [s.name for s in found]
    assert found[0].columns == ("age", "kind") and found[0].parts[1] == "v"
    assert "town = b" in names
    assert not any("noise" in s.columns for s in found)
    assert found[0].excess.low < 3.0 and found[0].finding().severity == "warning"
    assert str(found[0]).startswith(names[0])
    with pytest.raises(ValueError, match="'city'"):
        subgroups(X, loss, columns=["city"])
    only = subgroups(X, loss, columns=["town"], pairs=False)
    assert [s.name for s in only] == ["town = b"]
    assert only[0].loss == pytest.approx(loss[X.town == "b"].mean())
    assert only[0].rest == pytest.approx(loss[X.town != "b"].mean())
    w = rng.uniform(1, 3, n)
    (own,) = subgroups(X, loss, columns=["town"], pairs=False, weights=w)
    b = X.town == "b"
    assert own.loss == pytest.approx(np.average(loss[b], weights=w[b]))
    assert own.rows == b.sum() and own.excess.error > only[0].excess.error
    alike = subgroups(X, loss, columns=["town"], pairs=False, weights=np.full(n, 2.5))
    assert alike[0].excess == pytest.approx(only[0].excess)


def test_slices_of_noise_are_not_reported():
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        wrong += bool(subgroups(rng.normal(size=(600, 5)), rng.exponential(size=600)))
    assert wrong <= 6
    with pytest.raises(ValueError, match="losses"):
        subgroups(np.ones((3, 1)), [1, 2])
