"""Threshold curves: models and classes, confidence bands, weights."""

import numpy as np
import pytest
from sklearn.metrics import (
    roc_auc_score,
)

from pansophy import plot
from pansophy.plot.classification.threshold_curves import curves_to_draw


def labels(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def words(axis_labels):
    return [t.get_text() for t in axis_labels]


def test_ranked_curves_of_models_and_classes(rng):
    y = np.array(["no", "yes"])[rng.integers(0, 2, 200)]
    s = (y == "yes") + rng.normal(size=200)
    both = {"good": s, "<b>$bad$</b>": rng.random(200)}
    for draw in (plot.roc, plot.precision_recall, plot.gain):
        assert [t.split(":")[0] for t in labels(draw(y, both))[:2]] == list(both)
    three = rng.integers(0, 3, 90)
    p = np.eye(3)[three] + rng.random((90, 3))
    assert len(curves_to_draw(three, p)) == 3  # a curve a class
    assert len(curves_to_draw(three, {"a": p, "b": p})) == 2  # a curve a model
    assert len(curves_to_draw(three, p, positive=2)) == 1
    area = roc_auc_score(three == 2, p[:, 2])
    assert labels(plot.roc(three, p, positive=2))[0].endswith(f"{area:.3f}")
    low, high = (plot.roc(y, s).collections[0].get_paths()[0].vertices[:, 1]).min(), 1
    assert 0 <= low <= high
    assert plot.roc(y, s, bands=False).collections[:] == []
    assert len(plot.roc(np.zeros(9), np.ones(9)).lines) == 1  # one class: no curve
    with pytest.raises(ValueError, match="rows of y"):
        plot.roc(y, s[:5])


def test_the_band_of_a_curve_covers(rng):
    """The true ROC curve lies inside the 95 % band at most places."""
    from scipy.stats import norm

    from pansophy.plot.classification.roc import false_and_true_positive_rates
    from pansophy.plot.classification.threshold_curves import curve_band

    grid, inside = np.array([0.2, 0.5]), []
    true = norm.cdf(norm.ppf(grid) + 1)
    for seed in range(80):
        g = np.random.default_rng(seed)
        yes = g.integers(0, 2, 150).astype(bool)
        low, high = curve_band(
            false_and_true_positive_rates, yes, yes + g.normal(size=150), grid
        )
        inside.append((low <= true) & (true <= high))
    assert 0.85 <= np.mean(inside) <= 1


def test_the_band_of_a_curve_is_not_sure_at_its_ends():
    """Where all draws agree, what is known is a share of so many rows."""
    from pansophy.plot.classification.precision_recall import recall_and_precision
    from pansophy.plot.classification.roc import false_and_true_positive_rates
    from pansophy.plot.classification.threshold_curves import (
        curve_band,
        wilson_interval,
    )

    yes, grid = np.arange(60) % 3 == 0, np.array([0.0, 0.5, 1.0])
    low, high = curve_band(
        false_and_true_positive_rates, yes, yes + 0.0, grid
    )  # told apart without a mistake
    assert high.tolist() == [1, 1, 1]
    assert low == pytest.approx(wilson_interval(1.0, 20)[0])
    assert curve_band(recall_and_precision, yes, yes + 0.0, grid)[0] == pytest.approx(
        wilson_interval(1.0, 20)[0]
    )


def test_weights_count_as_repeated_rows_do(rng):
    y, w = rng.integers(0, 2, 60), rng.integers(1, 4, 60)
    s = (y + rng.normal(size=60)).round(1)
    Y, S = np.repeat(y, w), np.repeat(s, w)
    for draw in (plot.roc, plot.precision_recall, plot.gain):
        a, b = draw(y, s, weights=w), draw(Y, S)
        assert labels(a) == labels(b)
        if draw is plot.gain:
            one, other = (ax.lines[0].get_xydata() for ax in (a, b))
            np.testing.assert_allclose(one, other, atol=1e-9)
    cells = [words(plot.confusion_matrix(y, s > 0.5, weights=w).texts),
             words(plot.confusion_matrix(Y, S > 0.5).texts)]  # fmt: skip
    assert cells[0] == cells[1]
    marks = [plot.residuals(y, s, weights=u, parts=3).lines[2].get_xydata()
             for u in (None, np.full(60, 2.0))]  # fmt: skip
    np.testing.assert_allclose(*marks)
    with pytest.raises(ValueError, match="weights must be 60 numbers"):
        plot.roc(y, s, weights=w[:5])
