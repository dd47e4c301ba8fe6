"""The loop of active learning."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from pansophy import active
from pansophy.active import (
    ExpectedEntropyReduction,
    QueryByCommittee,
    RandomSampler,
    UncertaintySampler,
    run_active_learning,
)
from pansophy.linear_model import LogisticRegression
from pansophy.naive_bayes import GaussianNB
from pansophy.params import ParameterError

SAMPLERS = [
    RandomSampler(),
    UncertaintySampler(),
    UncertaintySampler("margin"),
    UncertaintySampler("entropy", beta=1.0),
    QueryByCommittee(3),
    QueryByCommittee(3, measure="divergence"),
    ExpectedEntropyReduction(candidates=5),
    ExpectedEntropyReduction("least_confidence", candidates=5),
]


def pool(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0.3).astype(int), rng


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_no_row_is_asked_for_twice(sampler):
    X, y, _ = pool(30)
    report = run_active_learning(
        GaussianNB(), X, y, budget=25, sampler=sampler, batch=4, random_state=0
    )
    assert len(set(report.queried.tolist())) == len(report.queried) == 25
    np.testing.assert_array_equal(report.labels, y[report.queried])
    assert report.reason == "budget"
    again = run_active_learning(GaussianNB(), X, y, budget=25, sampler=sampler, batch=4,
                  random_state=0)  # fmt: skip
    np.testing.assert_array_equal(report.queried, again.queried)


def test_choosing_beats_chance():
    X, y = make_moons(400, noise=0.1, random_state=0)
    X = np.column_stack(
        (X, X[:, 0] ** 2, X[:, 0] ** 3, X[:, 1] ** 2, X[:, 0] * X[:, 1])
    )
    score = {"chosen": [], "chance": []}
    for seed in range(5):
        for name, sampler in (
            ("chosen", UncertaintySampler()),
            ("chance", RandomSampler()),
        ):
            model = LogisticRegression(C=100.0)
            report = run_active_learning(
                model,
                X,
                y,
                budget=30,
                sampler=sampler,
                test=(X, y),
                random_state=seed,
            )
            score[name].append(report.scores[-1])
    assert np.mean(score["chosen"]) > np.mean(score["chance"]) + 0.005


def test_the_start_looks_far_and_wide():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [5.0]])
    y = np.array([0, 0, 0, 1, 0])
    report = run_active_learning(LogisticRegression(), X, y, budget=3)
    # nearest to the mean (2.86), then the farthest, until two classes are known
    assert report.queried[:2].tolist() == [4, 0] or report.queried[1] == 0
    assert set(report.labels) == {0, 1}
    assert active.farthest_first(X, [0], 2).tolist() == [3, 4]


def test_one_class_only_is_said():
    X = np.arange(5.0)[:, None]
    with pytest.raises(ValueError, match="larger budget"):
        run_active_learning(LogisticRegression(), X, np.zeros(5, int), budget=3)


def test_an_oracle_that_is_asked():
    X, y, _ = pool(40)
    seen = []

    def oracle(rows):
        seen.extend(rows.tolist())
        return y[rows]

    report = run_active_learning(
        LogisticRegression(), X, oracle, budget=12, start=[0, 1, 2, 3]
    )
    assert seen == report.queried.tolist()
    assert seen[:4] == [0, 1, 2, 3]
    assert np.isnan(report.scores).all()
    assert "12 labels" in str(report)


def test_the_pool_can_run_out():
    X, y, _ = pool(10)
    report = run_active_learning(LogisticRegression(), X, y, budget=50)
    assert report.reason == "pool"
    assert sorted(report.queried.tolist()) == list(range(10))


def test_bad_input():
    X, y, _ = pool(10)
    with pytest.raises(ValueError, match="labels for 10 rows"):
        run_active_learning(LogisticRegression(), X, y[:3])
    with pytest.raises(ValueError, match="budget"):
        run_active_learning(LogisticRegression(), X, y, budget=1)
    with pytest.raises(ValueError, match="row numbers"):
        run_active_learning(LogisticRegression(), X, y, start=[0, 0])
    with pytest.raises(ParameterError, match="measure"):
        run_active_learning(
            LogisticRegression(), X, y, sampler=UncertaintySampler("loudness")
        )


def test_the_curve_is_drawn():
    from pansophy import plot

    X, y, _ = pool(30)
    reports = {
        name: run_active_learning(
            LogisticRegression(), X, y, budget=10, sampler=s, test=(X, y)
        )
        for name, s in (("unsure", UncertaintySampler()), ("chance", RandomSampler()))
    }
    ax = plot.label_curve(reports)
    assert len(ax.lines) == 2
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), reports["unsure"].n_labels)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), reports["unsure"].scores)


def test_frames_are_scored_without_complaint_and_an_empty_start_is_refused():
    import pandas as pd

    X, y, _ = pool()
    table = pd.DataFrame(X, columns=["a", "b"])
    report = run_active_learning(
        LogisticRegression(), table, y, budget=6, test=(table, y)
    )
    assert np.isfinite(report.scores).all()
    with pytest.raises(ValueError, match="start must hold"):
        run_active_learning(LogisticRegression(), X, y, start=[])


def test_a_wide_start_finds_the_third_class():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    model = LogisticRegression()
    report = run_active_learning(model, X, y, budget=12, start=6, test=(X, y))
    np.testing.assert_array_equal(report.queried[:6], active.farthest_first(X, [], 6))
    assert report.scores[-1] > 0.9
    with pytest.raises(ValueError, match="start must be from 1 to 12"):
        run_active_learning(model, X, y, budget=12, start=13)


def test_a_sparse_pool_is_asked_like_a_dense_one():
    import scipy.sparse as sp

    X, y, _ = pool(60)
    X[:, 1] *= np.abs(X[:, 1]) > 0.5
    how = {"budget": 12, "start": 3, "sampler": UncertaintySampler(beta=1.0)}
    thin = sp.coo_matrix(X)
    a = run_active_learning(LogisticRegression(), X, y, test=(X, y), **how)
    b = run_active_learning(
        LogisticRegression(), thin, y, test=(thin.tocsr(), y), **how
    )
    np.testing.assert_array_equal(a.queried, b.queried)
    np.testing.assert_allclose(a.scores, b.scores)


def test_an_oracle_that_answers_badly_is_told():
    X, y, _ = pool(20)
    with pytest.raises(ValueError, match="one label for each of the 1 rows"):
        run_active_learning(LogisticRegression(), X, lambda rows: None)
    with pytest.raises(ValueError, match=r"got shape \(0,\)"):
        run_active_learning(LogisticRegression(), X, lambda rows: y[:0])
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        run_active_learning(LogisticRegression(), X, y)
    assert "nan" not in str(run_active_learning(GaussianNB(), X[4:], y[4:], budget=3))


def test_budgets_and_batches_have_least_values():
    X, y, _ = pool(10)
    for budget, batch in ((1, 1), (1, 3), (5, 0), (2, 0)):
        with pytest.raises(ValueError, match="budget must be at least 2 and batch"):
            run_active_learning(LogisticRegression(), X, y, budget=budget, batch=batch)
    report = run_active_learning(LogisticRegression(), X, y, budget=2, start=[0, 9])
    assert len(report.queried) == 2
