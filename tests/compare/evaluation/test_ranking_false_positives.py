"""The judge of the judge: on simulated tables whose truth is known, equally good
methods are declared different no oftener than promised, and intervals cover.

Learners are linear discriminants, each on columns of its own that are equally
informative, so that none is better than another. All tables, folds and learners are
fitted at once; the decisions are those of `pansophy.compare`, one table at a time.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr
from sklearn.model_selection import RepeatedStratifiedKFold

from pansophy.compare import (
    adjust_against_best,
    bayesian_correlated_t,
    corrected_interval,
    corrected_t_test,
    expected_loss_of_best,
    holm_adjust,
    row_interval,
)

TABLES = 300


def assert_share(happened, low, high):
    """A share whose probability is between `low` and `high`: false alarms 2e-9."""
    n, hits = len(happened), np.sum(happened)
    assert stats.binom.ppf(1e-9, n, low) <= hits <= stats.binom.isf(1e-9, n, high)


def discriminants(X, y, train):
    """Unit normals w (J, T, M, d) and offsets b (J, T, M) of rows (T, n, M, d)."""
    T, n, M, d = X.shape
    flat = X.transpose(1, 0, 2, 3).reshape(n, -1)
    outer = np.einsum("tnmi,tnmj->ntmij", X, X).reshape(n, -1)
    S = (train @ outer).reshape(-1, T, M, d, d)
    means = []
    for c in (0, 1):
        rows = train * (y == c)
        k = rows.sum(1)[:, None]
        mean = (rows @ flat / k).reshape(-1, T, M, d)
        S -= k[..., None, None, None] * mean[..., :, None] * mean[..., None, :]
        means.append(mean)
    w = np.linalg.solve(S, (means[1] - means[0])[..., None])[..., 0]
    w /= np.linalg.norm(w, axis=-1, keepdims=True)
    return w, -(w * (means[0] + means[1])).sum(-1) / 2


def simulate(tables, n, M, d, shift, folds, repeats, seed):
    """Accuracies (T, J, M), true ones of a fit to all rows (T, M), losses (T, n, M).

    Class means differ by `shift`, a number or (T, M), in each of d columns of unit
    variance, so that the accuracy of any w, b is known in closed form.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    cut = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    test = np.zeros((folds * repeats, n))
    for j, (_, rows) in enumerate(cut.split(y, y)):
        test[j, rows] = 1
    shift = np.broadcast_to(shift, (tables, M))[..., None]
    X = rng.normal(size=(tables, n, M, d))
    X += (y - 0.5)[:, None, None] * shift[:, None]
    w, b = discriminants(X, y, 1 - test)
    score = np.einsum("jtmi,tnmi->jtmn", w, X, optimize=True) + b[..., None]
    hit = ((score > 0) == (y == 1)) * test[:, None, None]
    accuracy = hit.sum(-1) / test.sum(1)[:, None, None]
    w, b = discriminants(X, y, np.ones((1, n)))
    along = (w[0] * shift / 2).sum(-1)
    truth = (ndtr(along + b[0]) + ndtr(along - b[0])) / 2
    return (
        accuracy.transpose(1, 0, 2),
        truth,
        1 - hit.sum(0).transpose(0, 2, 1) / repeats,
    )


@pytest.mark.parametrize(("n", "folds", "repeats"), [(100, 10, 10), (200, 5, 5)])
def test_two_equal_learners(n, folds, repeats):
    accuracy, truth, losses = simulate(TABLES, n, 2, 8, 0.35, folds, repeats, seed=0)
    ratio = 1 / (folds - 1)
    gaps = accuracy[..., 0] - accuracy[..., 1]
    assert_share([corrected_t_test(d, ratio)[1] < 0.05 for d in gaps], 0.03, 0.06)
    naive = stats.ttest_1samp(gaps, 0, axis=1).pvalue
    assert np.mean(naive < 0.05) > 0.25  # what the correction is for
    found = [corrected_interval(a[:, 0], ratio) for a in accuracy]
    covers = lambda low, high: (low <= truth[:, 0]) & (truth[:, 0] <= high)
    assert_share(covers(*np.array(found)[:, 1:3].T), 0.94, 0.97)
    rows = [row_interval(1 - one[:, 0], method="normal") for one in losses]
    assert_share(covers(*np.array(rows)[:, 1:3].T), 0.92, 0.97)  # over rows only
    error = accuracy[..., 0].std(1, ddof=1) / np.sqrt(folds * repeats)
    mean = accuracy[..., 0].mean(1)
    assert covers(mean - 1.96 * error, mean + 1.96 * error).mean() < 0.75


def test_ten_equal_learners_are_tied():
    """Holm against one named beforehand; the range against the best of them."""
    folds, repeats, M = 5, 5, 10
    accuracy, *_ = simulate(TABLES, 100, M, 4, 0.6, folds, repeats, seed=1)
    named, picked, plain = [], [], []
    for a in accuracy:
        p = [corrected_t_test(a[:, 0] - a[:, j], 1 / 4)[1] for j in range(1, M)]
        named.append(holm_adjust(p).min() < 0.05)
        plain.append(min(p) < 0.05)
        k = int(a.mean(0).argmax())
        p = [corrected_t_test(a[:, k] - a[:, j], 1 / 4)[1] for j in range(M) if j != k]
        picked.append(adjust_against_best(p, folds * repeats - 1).min() < 0.05)
    assert_share(named, 0.0, 0.05)
    assert_share(picked, 0.02, 0.06)
    assert np.mean(plain) > 0.1  # what the adjustment is for


def test_holm_alone_is_not_enough_against_the_best():
    """Twenty equal methods, scores as Normal as can be: false alarms for the best."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(500, 25, 20))
    loud, quiet = [], []
    for s in scores:
        k = s.mean(0).argmax()
        p = [corrected_t_test(s[:, k] - s[:, j], 0.0)[1] for j in range(20) if j != k]
        loud.append(holm_adjust(p).min() < 0.05)
        quiet.append(adjust_against_best([min(p), *[1.0] * 18], 24)[0] < 0.05)
    assert_share(quiet, 0.03, 0.06)
    assert np.mean(loud) > 1.5 * np.mean(quiet)


def test_bayesian_probabilities_come_true():
    """Where learners do differ, things given a probability happen that often."""
    gap = 0.45 + np.random.default_rng(5).normal(0, 0.15, size=(400, 2))
    accuracy, truth, _ = simulate(400, 200, 2, 6, gap, 5, 5, seed=3)
    rope = 0.01
    said = np.array(
        [bayesian_correlated_t(a[:, 0] - a[:, 1], 1 / 4, rope) for a in accuracy]
    )
    d = truth[:, 0] - truth[:, 1]
    happened = np.column_stack([d > rope, np.abs(d) <= rope, d < -rope])
    assert np.allclose(said.mean(0), happened.mean(0), atol=0.06)
    said, happened = said[:, [0, 2]].ravel(), happened[:, [0, 2]].ravel()
    for low, high in [(0, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 0.9), (0.9, 1.01)]:
        there = (said >= low) & (said < high)
        assert there.sum() > 50
        assert abs(said[there].mean() - happened[there].mean()) < 0.1


@pytest.mark.parametrize(("M", "lucky"), [(5, 0.737), (20, 0.760), (50, 0.771)])
def test_expected_of_best_takes_all_the_luck_off(M, lucky):
    """Equal methods of true accuracy .70 on 200 rows."""
    rng = np.random.default_rng(M)
    best, fair = [], []
    for i in range(200):
        losses = (rng.random((200, M)) < 0.3).astype(float)
        best.append(1 - losses.mean(0).min())
        fair.append(1 - expected_loss_of_best(losses, 100, random_state=i))
    assert np.mean(best) == pytest.approx(lucky, abs=0.005)
    assert np.mean(fair) == pytest.approx(0.70, abs=0.006)
