"""Histogram density."""

import numpy as np
import pytest

from pansophy.neighbors import HistogramDensity


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("joint", [False, True])
def test_histogram_mass(strategy, joint):
    X = rows(300, 2)
    model = HistogramDensity(6, strategy=strategy, joint=joint).fit(X)
    middles = [(e[1:] + e[:-1]) / 2 for e in model.edges_]
    sizes = [np.diff(e) for e in model.edges_]
    grid = np.array(np.meshgrid(*middles, indexing="ij")).reshape(2, -1).T
    area = np.outer(*sizes).ravel()
    assert np.sum(np.exp(model.score_samples(grid)) * area) == pytest.approx(1)
    assert model.score_samples([[99.0, 0.0]])[0] == -np.inf
    draws = model.sample(500, random_state=0)
    assert np.isfinite(model.score_samples(draws)).all()
    assert model.score(X) == pytest.approx(model.score_samples(X).sum())


def test_joint_counts():
    X = rows(400, 2)
    model = HistogramDensity(5, joint=True).fit(X)
    counts, _ = np.histogramdd(X, bins=model.edges_)
    at = model.cells_
    np.testing.assert_allclose(model.mass_, counts[at[:, 0], at[:, 1]] / 400)
    assert len(at) == np.sum(counts > 0)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("joint", [False, True])
def test_histogram_weights_are_copies(strategy, joint):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(60, 2)), rng.integers(0, 4, 60)
    model = HistogramDensity("sqrt", strategy=strategy, joint=joint)
    a = model.fit(X, sample_weight=w).score_samples(X)
    b = model.fit(np.repeat(X, w, axis=0)).score_samples(X)
    np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize(("rule", "bins"), [("sqrt", 10), ("sturges", 8), ("rice", 10)])
def test_rules_for_bins(rule, bins):
    model = HistogramDensity(rule).fit(rows(100, 1))
    assert len(model.edges_[0]) == bins + 1


def test_a_constant_column():
    model = HistogramDensity(4).fit([[1.0, 0.0], [1.0, 2.0]])
    assert model.edges_[0].tolist() == [0.5, 1.5]
    assert np.isfinite(model.score_samples([[1.0, 1.9]])).all()


@pytest.mark.parametrize("joint", [True, False])
def test_bins_where_few_numbers_lie_between_two_rows(joint):
    for X in (np.array([[1e16], [1e16 + 2], [1e16 + 4]]), np.full((3, 2), 1e17)):
        model = HistogramDensity(joint=joint).fit(X)
        assert np.isfinite(model.score_samples(X)).all()
