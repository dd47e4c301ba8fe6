"""Selection of columns: every search against the slow one, worked cases, warnings."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.feature_selection import SequentialFeatureSelector as Peer
from sklearn.linear_model import LinearRegression as TheirLinear
from sklearn.tree import DecisionTreeClassifier

from pansophy.feature_selection import (
    CorrelationFilter,
    ExhaustiveSelector,
    FilterWarning,
    MutualInformationFilter,
    SequentialFeatureSelector,
    StabilitySelection,
    SubsetSelector,
)
from pansophy.feature_selection.filters import mutual_information_of_codes
from pansophy.feature_selection.subset import centred_cross_products, search_subsets
from pansophy.linear_model import LinearRegression, LogisticRegression


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


class TestSequential:
    @pytest.mark.parametrize("direction", ["forward", "backward"])
    @pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
    def test_agrees_with_scikit_learn(self, direction, scoring, rng):
        X, y = problem(rng)
        how = {"n_features_to_select": 3, "direction": direction, "scoring": scoring}
        ours = SequentialFeatureSelector(LinearRegression(), **how).fit(X, y)
        theirs = Peer(TheirLinear(), **how).fit(X, y)
        np.testing.assert_array_equal(ours.support_, theirs.support_)

    @pytest.mark.parametrize("direction", ["forward", "backward"])
    def test_auto_with_tol(self, direction, rng):
        X, y = problem(rng)
        how = {"tol": 0.01 if direction == "forward" else -0.01, "direction": direction}
        ours = SequentialFeatureSelector(LinearRegression(), **how).fit(X, y)
        theirs = Peer(TheirLinear(), **how).fit(X, y)
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        plain = SequentialFeatureSelector(LinearRegression(), direction=direction)
        same = Peer(TheirLinear(), direction=direction)
        X = X[:, :7]
        np.testing.assert_array_equal(plain.fit(X, y).support_, same.fit(X, y).support_)

    def test_short_way_scores_as_fits_do(self, rng):
        X, y = problem(rng, n=50, d=5)

        class Slow(TheirLinear):
            """Not the exact class, so the general way is taken."""

        how = {"n_features_to_select": 3}
        a = SequentialFeatureSelector(LinearRegression(), **how).fit(X, y)
        b = SequentialFeatureSelector(Slow(), **how).fit(X, y)
        np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-9)

    def test_forward_stops_where_backward_keeps_the_pair(self, rng):
        """x1 = t, x2 = t + y: useless alone, exact together."""
        y = np.tile([-1.0, 1.0], 50)
        t = 30 * rng.normal(size=100)
        X = np.column_stack([t, t + y, rng.normal(size=100)])
        back = SequentialFeatureSelector(
            LinearRegression(), direction="backward", tol=-1e-3
        ).fit(X, y)
        assert set(back.get_support(indices=True)) >= {0, 1}
        assert back.scores_[-1] == pytest.approx(1.0)
        one = ExhaustiveSelector(LinearRegression(), max_features=1).fit(X, y)
        assert one.score_ < 0.1
        step = SequentialFeatureSelector(
            LinearRegression(), direction="stepwise", tol=0.2
        ).fit(X, y)
        assert step.support_.sum() <= 1

    def test_any_estimator(self, rng):
        X = rng.normal(size=(120, 4))
        y = (X[:, 1] * X[:, 3] > 0).astype(int)
        tree = DecisionTreeClassifier(max_depth=4, random_state=0)
        back = SequentialFeatureSelector(
            tree, direction="backward", n_features_to_select=2
        )
        assert set(back.fit(X, y).get_support(indices=True)) == {1, 3}

    def test_evaluations_are_at_most_quadratic(self, rng):
        X, y = problem(rng, d=6)
        pick = SequentialFeatureSelector(LinearRegression(), n_features_to_select=5)
        score = pick._scores(X, y)
        pick._scores = lambda X, y: score
        pick.fit(X, y)
        assert len(score.known) <= 6 * 7 // 2


class TestExhaustive:
    def test_never_worse_than_greedy(self, rng):
        X, y = problem(rng, d=6)
        best = ExhaustiveSelector(LinearRegression()).fit(X, y)
        assert len(best.scores_) == 2**6 - 1
        for direction in ("forward", "backward"):
            greedy = SequentialFeatureSelector(
                LinearRegression(), direction=direction, n_features_to_select=3
            ).fit(X, y)
            assert best.score_ >= greedy.scores_[-1] - 1e-12

    def test_refuses_too_many(self, rng):
        X, y = rng.normal(size=(30, 20)), rng.normal(size=30)
        with pytest.raises(ValueError, match="1048575 subsets, more than limit"):
            ExhaustiveSelector().fit(X, y)

    def test_classifier(self, rng):
        X = rng.normal(size=(60, 3))
        best = ExhaustiveSelector(LogisticRegression()).fit(X, X[:, 2] > 0)
        assert best.support_[2]


class TestFilters:
    def test_unchanged_by_shift_and_scale(self, rng):
        X, y = problem(rng)
        a = CorrelationFilter(3).fit(X, y)
        b = CorrelationFilter(3).fit(5 - 3 * X, 2 * y + 1)
        np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-10)
        want = [abs(np.corrcoef(x, y)[0, 1]) for x in X.T]
        np.testing.assert_allclose(a.scores_, want, rtol=1e-10)

    def test_warns_of_copies(self, rng):
        X, y = problem(rng, d=3)
        X = np.column_stack([X[:, 0], 2 * X[:, 0] + 1, X[:, 2]])
        with pytest.warns(FilterWarning, match="kept x0 and x1"):
            CorrelationFilter(threshold=0.0).fit(X, y)

    @pytest.mark.parametrize("make", [CorrelationFilter, MutualInformationFilter])
    def test_misses_exclusive_or_and_says_so(self, make, rng):
        X = rng.choice([-1.0, 1.0], size=(400, 3))
        X[:, 2] += 0.1 * rng.normal(size=400)
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
        with pytest.warns(FilterWarning, match="dropped x0 and x1, which say nothing"):
            found = make(threshold=0.2).fit(X, y)
        assert not found.support_[:2].any()

    def test_information_sees_what_correlation_cannot(self, rng):
        x = rng.uniform(-1, 1, size=2000)
        X = np.column_stack([x, rng.normal(size=2000)])
        y = x**2 + 0.01 * rng.normal(size=2000)
        assert CorrelationFilter(1).fit(X, y).scores_[0] < 0.1
        found = MutualInformationFilter(1).fit(X, y)
        assert found.support_[0]
        assert found.scores_[1] < 0.02 < found.scores_[0]

    def test_information_of_known_tables(self):
        a = np.repeat([0, 0, 1, 1], [10, 20, 30, 40])
        b = np.repeat([0, 1, 0, 1], [10, 20, 30, 40])
        p = np.array([[0.1, 0.2], [0.3, 0.4]])
        free = np.outer(p.sum(1), p.sum(0))
        assert mutual_information_of_codes(a, b) == pytest.approx(
            np.sum(p * np.log(p / free))
        )
        assert mutual_information_of_codes(a, a) == pytest.approx(
            -(0.3 * np.log(0.3) + 0.7 * np.log(0.7))
        )

    def test_names_in_warnings(self, rng):
        import pandas as pd

        x = rng.normal(size=50)
        table = pd.DataFrame({"height": x, "metres": x / 100})
        with pytest.warns(FilterWarning, match="kept 'height' and 'metres'"):
            CorrelationFilter(threshold=0.0).fit(table, x + rng.normal(size=50))


class TestStability:
    def test_finds_the_planted_columns(self, rng):
        X = rng.normal(size=(150, 60))
        y = 2 * X[:, 3] - 2 * X[:, 30] + rng.normal(size=150)
        found = StabilitySelection(0.9, eps=0.3, random_state=0).fit(X, y)
        assert set(found.get_support(indices=True)) == {3, 30}
        assert found.stability_.shape == (10, 60)
        assert 0 < found.false_bound_ < 5

    def test_classes(self, rng):
        X = rng.normal(size=(200, 20))
        y = np.array(["a", "b", "c"])[
            np.digitize(X[:, 4] + 0.3 * rng.normal(size=200), [-0.5, 0.5])
        ]
        found = StabilitySelection(0.9, eps=0.4, random_state=0).fit(X, y)
        assert list(found.get_support(indices=True)) == [4]

    def test_same_seed_same_answer_on_any_threads(self, rng):
        X, y = problem(rng)
        runs = [
            StabilitySelection(random_state=3, n_pairs=5, n_jobs=n).fit(X, y)
            for n in (1, 2)
        ]
        np.testing.assert_array_equal(runs[0].stability_, runs[1].stability_)

    def test_orthonormal_design_keeps_what_passes_the_threshold(self, rng):
        """L1-embedded selection: |x_j y| above the penalty, and nothing else."""
        from pansophy.linear_model import Lasso

        Q = np.linalg.qr(rng.normal(size=(50, 6)))[0]
        y = Q @ np.array([3.0, -2.0, 0.5, 0.1, 0.0, 1.0]) + 0.01 * rng.normal(size=50)
        alpha = 0.7 / 50
        model = Lasso(alpha, fit_intercept=False, tol=1e-10).fit(Q, y)
        np.testing.assert_array_equal(model.coef_ != 0, np.abs(Q.T @ y) > 0.7)

    def test_plot(self, rng):
        import matplotlib

        matplotlib.use("agg")
        X, y = problem(rng)
        ax = StabilitySelection(random_state=0, n_pairs=3).fit(X, y).plot()
        assert len(ax.lines) == X.shape[1] + 1
        matplotlib.pyplot.close("all")


def test_kept_columns_are_returned(rng):
    X, y = problem(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FilterWarning)
        for pick in (
            SubsetSelector(n_features_to_select=2),
            CorrelationFilter(2),
            MutualInformationFilter(0.25),
        ):
            kept = pick.fit_transform(X, y)
            np.testing.assert_array_equal(kept, X[:, pick.support_])
            assert kept.shape[1] == 2
