"""SubsetSelector: greedy searches and branch and bound against all subsets."""

import itertools

import numpy as np
import pytest

from pansophy.feature_selection import (
    SubsetSelector,
)
from pansophy.feature_selection.subset import centred_cross_products, search_subsets


def problem(rng, n=80, d=8, rho=0.6):
    X = rng.normal(size=(n, d)) + rho * rng.normal(size=(n, 1))
    w = np.where(np.arange(d) % 3 == 0, rng.normal(size=d) * 2, 0.0)
    return X, X @ w + 1 + rng.normal(size=n)


def rss(X, y, columns):
    A = np.column_stack([np.ones(len(X)), X[:, list(columns)]])
    r = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return float(r @ r)


def all_best(X, y):
    """The best subset of every size by trying all."""
    d = X.shape[1]
    return [
        min(rss(X, y, s) for s in itertools.combinations(range(d), k))
        for k in range(d + 1)
    ]


class TestSubsets:
    @pytest.mark.parametrize("seed", range(6))
    def test_branches_find_what_trying_all_finds(self, seed):
        X, y = problem(np.random.default_rng(seed))
        found = SubsetSelector().fit(X, y)
        np.testing.assert_allclose(found.rss_path_, all_best(X, y), rtol=1e-9)
        for k, mask in enumerate(found.subsets_):
            assert rss(X, y, np.flatnonzero(mask)) == pytest.approx(
                found.rss_path_[k], rel=1e-9
            )
        assert np.all(np.diff(found.rss_path_) <= 1e-9)

    def test_branches_leave_most_sets_alone(self, rng):
        X, y = problem(rng, n=400, d=20)
        found = SubsetSelector().fit(X, y)
        assert found.n_nodes_ < 2**20 / 20

    @pytest.mark.parametrize("method", ["forward", "backward"])
    def test_greedy_steps_are_the_best_single_ones(self, method, rng):
        X, y = problem(rng)
        found = SubsetSelector(method).fit(X, y)
        masks = found.subsets_ if method == "forward" else found.subsets_[::-1]
        for now, then in itertools.pairwise(masks):
            free = np.flatnonzero(now == (method == "backward"))
            tries = []
            for j in free:
                new = now.copy()
                new[j] = not new[j]
                tries.append(rss(X, y, np.flatnonzero(new)))
            assert rss(X, y, np.flatnonzero(then)) == pytest.approx(min(tries))

    @pytest.mark.parametrize(("criterion", "price"), [("aic", 2.0), ("bic", None)])
    def test_criterion(self, criterion, price, rng):
        X, y = problem(rng)
        n = len(X)
        found = SubsetSelector(criterion=criterion).fit(X, y)
        price = np.log(n) if price is None else price
        want = [n * np.log(r / n) + price * k for k, r in enumerate(all_best(X, y))]
        np.testing.assert_allclose(found.criterion_path_, want, rtol=1e-9)
        assert found.support_.sum() == np.argmin(want)
        dear = SubsetSelector(criterion=1e6).fit(X, y)
        assert not dear.support_.any()

    def test_stepwise_reaches_a_local_optimum(self, rng):
        X, y = problem(rng, d=12)
        found = SubsetSelector("stepwise", criterion="bic").fit(X, y)
        n, price = len(X), np.log(len(X))
        cost = lambda m: n * np.log(rss(X, y, np.flatnonzero(m)) / n) + price * m.sum()
        for j in range(12):
            new = found.support_.copy()
            new[j] = not new[j]
            assert cost(new) >= cost(found.support_) - 1e-9
        assert np.all(np.diff(found.criterion_path_) < 0)

    def test_held_out_folds_choose_the_size(self, rng):
        X = rng.normal(size=(200, 10))
        y = 3 * X[:, 2] - 3 * X[:, 5] + rng.normal(size=200)
        found = SubsetSelector(criterion="cv").fit(X, y)
        assert {2, 5} <= set(found.get_support(indices=True))
        assert found.support_.sum() <= 5

    def test_weights_are_repetition(self, rng):
        X, y = problem(rng, n=40)
        w = rng.integers(0, 4, size=40)
        a = SubsetSelector().fit(X, y, sample_weight=w)
        b = SubsetSelector().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(a.rss_path_, b.rss_path_, rtol=1e-9)

    def test_dependent_and_constant_columns(self, rng):
        X, y = problem(rng, d=4)
        X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(X), 7.0)])
        found = SubsetSelector().fit(X, y)
        want = all_best(X[:, :5], y)
        np.testing.assert_allclose(found.rss_path_[:6], want, rtol=1e-6)
        assert np.isinf(found.rss_path_[6])
        assert found.support_.sum() <= 4
        assert not found.support_[5]

    def test_refusals(self, rng):
        X, y = problem(rng, n=100, d=50)
        with pytest.raises(ValueError, match="at most 40 columns"):
            SubsetSelector().fit(X, y)
        with pytest.raises(ValueError, match="stops by a price"):
            SubsetSelector("stepwise", criterion="cv").fit(X, y)
        few = SubsetSelector("forward", n_features_to_select=3).fit(X, y)
        assert few.support_.sum() == 3

    def test_more_columns_than_rows(self, rng):
        X, y = rng.normal(size=(12, 30)), rng.normal(size=12)
        found = search_subsets(centred_cross_products(X, y)[0], "forward", 10)
        assert np.isfinite(found.rss).all()
