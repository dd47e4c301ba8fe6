"""Partial dependence."""

import numpy as np
import pytest

from pansophy import diagnose, plot
from pansophy.linear_model import LinearRegression, LogisticRegression


def words(axis_labels):
    return [t.get_text() for t in axis_labels]


def test_partial_dependence(rng):
    import pandas as pd
    from sklearn.inspection import partial_dependence as reference
    from sklearn.linear_model import LinearRegression as Theirs

    X = rng.normal(size=(80, 2))
    model = LinearRegression().fit(X, 3 * X[:, 0] - X[:, 1])
    (d,) = diagnose.partial_dependence(model, X, [0], most=80)
    np.testing.assert_allclose(np.diff(d.mean[:, 0]), 3 * np.diff(d.values), atol=1e-9)
    theirs = reference(Theirs().fit(X, 3 * X[:, 0] - X[:, 1]), X, [0],
                       custom_values={0: np.array(d.values)})  # fmt: skip
    np.testing.assert_allclose(d.mean[:, 0], theirs["average"][0], atol=1e-9)
    ax = plot.partial_dependence(d, centre=True)
    assert ax.lines[-1].get_ydata()[0] == 0 and ax.get_xlabel() == "x0"
    table = pd.DataFrame({"town": rng.choice(["a", "b"], 80), "size": X[:, 0]})

    class Fake(LogisticRegression):
        def predict_proba(self, X):
            p = np.where(X["town"] == "b", 0.9, 0.2)
            return np.column_stack([1 - p, p])

    fake = Fake().fit(X, rng.integers(0, 2, 80))
    found = diagnose.partial_dependence(fake, table, ["town", "size"])
    assert found[0].values == ["a", "b"] and "'town'" in str(found[0])
    np.testing.assert_allclose(found[0].mean[:, 0], [0.2, 0.9])
    made = plot.partial_dependence(found)
    assert [b.get_height() for b in made[0].patches] == pytest.approx([0.2, 0.9])
    assert words(made[0].get_xticklabels()) == ["a", "b"]
    assert made[0].get_ylabel() == "prediction of 1"
    with pytest.raises(ValueError, match="axes"):
        plot.partial_dependence(found, ax=[made[0]])
