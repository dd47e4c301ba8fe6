"""Worked numbers of what is taken from scikit-learn: splits, metrics, baselines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    cross_validate,
    train_test_split,
)

PREDICTED_BY_ROWS = np.array([[5, 2, 0], [3, 7, 0], [1, 0, 6]])
SCORES = [0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505]
LABELS = [1, 1, 0, 1, 1, 1, 0, 0, 1, 0]


def from_counts(table):
    """(y, predicted) from counts with predictions by rows and truth by columns."""
    said, true = np.indices(np.shape(table)).reshape(2, -1)
    k = np.ravel(table)
    return np.repeat(true, k), np.repeat(said, k)


ANIMALS = from_counts(PREDICTED_BY_ROWS)
BINARY = from_counts([[45, 10], [5, 40]])  # TN FN / FP TP
RARE = from_counts([[76, 1], [14, 9]])
NEGATIVE = (np.r_[np.zeros(990, int), np.ones(10, int)], np.zeros(1000, int))


def prf(y, p, **how):
    return sk.precision_recall_fscore_support(y, p, zero_division=0, **how)[:3]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (sk.accuracy_score(*BINARY), 0.85),
        (sk.accuracy_score(*ANIMALS), 0.75),
        (sk.accuracy_score(*NEGATIVE), 0.99),
        (sk.accuracy_score(*RARE), 0.85),
        (sk.accuracy_score(*ANIMALS) + sk.zero_one_loss(*ANIMALS), 1.0),
        (prf(*ANIMALS)[0], [0.714286, 0.7, 0.857143]),
        (prf(*ANIMALS)[1], [0.555556, 0.777778, 1.0]),
        (prf(*ANIMALS)[2], [0.625, 0.736842, 0.923077]),
        (prf(*RARE, average="binary"), [0.391304, 0.9, 0.545455]),
        (prf(*BINARY, average="binary"), [0.888889, 0.8, 0.842105]),
        (prf(*NEGATIVE, average="binary"), [0, 0, 0]),
        (sk.recall_score(*BINARY, pos_label=0), 0.9),  # specificity
        (sk.balanced_accuracy_score(*BINARY), 0.85),
        (sk.balanced_accuracy_score(*NEGATIVE), 0.5),
        (sk.roc_auc_score(LABELS, SCORES), 0.75),
        (sk.roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 0.75),
        (sk.average_precision_score(LABELS, SCORES), 0.8416667),
        (sk.root_mean_squared_error([1, -1, 3, -3], [0] * 4), 2.236068),
        (sk.mean_absolute_error([1, -1, 3, -3], [0] * 4), 2.0),
    ],
)
def test_worked_numbers(value, expected):
    assert value == pytest.approx(expected, abs=1e-6)


def test_confusion_matrix_has_an_orientation():
    table = sk.confusion_matrix(*ANIMALS)  # truth by rows
    assert np.array_equal(table.T, PREDICTED_BY_ROWS)
    assert table.sum(0).tolist() == [7, 10, 7] and table.sum(1).tolist() == [9, 9, 6]
    swapped = prf(ANIMALS[1], ANIMALS[0])
    assert np.allclose(swapped[0], prf(*ANIMALS)[1])
    false = (table.sum(0) - np.diag(table)) / (24 - table.sum(1))
    assert np.allclose(false, [2 / 15, 3 / 15, 1 / 18])


def test_roc_points():
    fpr, tpr, _ = sk.roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    assert list(zip(fpr, tpr)) == [(0, 0), (0, 0.5), (0.5, 0.5), (0.5, 1), (1, 1)]
    fpr, tpr, _ = sk.roc_curve(LABELS, SCORES, drop_intermediate=False)
    assert np.round(6 * tpr).tolist() == [0, 1, 2, 2, 3, 4, 5, 5, 5, 6, 6]
    assert np.round(4 * fpr).tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 3, 3, 4]
    precision, recall, _ = sk.precision_recall_curve(LABELS, SCORES)
    assert recall[0] == 1 and precision[0] == pytest.approx(6 / 10)


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(-9, 9)), min_size=2, max_size=30
    ).filter(lambda rows: 0 < sum(r[0] for r in rows) < len(rows))
)
def test_area_is_a_ranking_probability(rows):
    y, s = (np.array(c, dtype=float) for c in zip(*rows))
    pairs = np.sign(s[y == 1][:, None] - s[y == 0])
    area = sk.roc_auc_score(y, s)
    assert area == pytest.approx((pairs.mean() + 1) / 2)
    assert sk.roc_auc_score(y, np.exp(s)) == pytest.approx(area)
    assert sk.roc_auc_score(y, -s) == pytest.approx(1 - area)
    assert sk.average_precision_score(y, np.zeros(len(y))) == pytest.approx(y.mean())


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=20))
def test_rmse_is_at_least_mae(r):
    zero = np.zeros(len(r))
    assert sk.root_mean_squared_error(r, zero) >= sk.mean_absolute_error(r, zero) - 1e-9


def test_train_test_split():
    rows, y = np.arange(150), np.repeat([0, 1, 2], 50)
    train, test = train_test_split(rows, train_size=2 / 3, random_state=0)
    assert (len(train), len(test)) == (100, 50)
    assert sorted([*train, *test]) == rows.tolist()
    again = train_test_split(rows, train_size=2 / 3, random_state=0)
    assert np.array_equal(train, again[0])
    even = train_test_split(rows, test_size=30, stratify=y, random_state=0)[1]
    assert np.bincount(y[even]).tolist() == [10, 10, 10]


class Spy(Ridge):
    """Keeps the rows it was fitted to."""

    seen = []

    def fit(self, X, y):
        self.seen.append(X[:, 0].astype(int).tolist())
        return super().fit(X, y)


def test_folds():
    n, k = 23, 5
    parts = list(KFold(k).split(np.zeros(n)))
    assert sorted(np.concatenate([t for _, t in parts])) == list(range(n))
    assert max(len(t) for _, t in parts) - min(len(t) for _, t in parts) <= 1
    left = [t.tolist() for _, t in KFold(n).split(np.zeros(n))]
    assert left == [t.tolist() for _, t in LeaveOneOut().split(np.zeros(n))]
    for train, test in ShuffleSplit(4, test_size=0.3, random_state=0).split(
        np.zeros(n)
    ):
        assert sorted([*train, *test]) == list(range(n))
    X = np.arange(n, dtype=float)[:, None]
    Spy.seen.clear()
    cross_validate(Spy(), X, X[:, 0], cv=KFold(k))
    assert Spy.seen == [train.tolist() for train, _ in parts]  # the complement


def test_random_baseline():
    """Says yes with probability p: on the diagonal, whatever the table."""
    rng = np.random.default_rng(0)
    y = (rng.random(20_000) < 0.3).astype(int)
    model = DummyClassifier(strategy="stratified", random_state=0).fit(y[:, None], y)
    said = model.predict(y[:, None])
    rates = [said[y == 1].mean(), said[y == 0].mean(), y.mean()]
    assert np.ptp(rates) < 0.02
    assert sk.roc_auc_score(y, rng.random(20_000)) == pytest.approx(0.5, abs=0.01)
    majority = DummyClassifier(strategy="most_frequent").fit(
        NEGATIVE[0][:, None], NEGATIVE[0]
    )
    assert majority.score(NEGATIVE[0][:, None], NEGATIVE[0]) == 0.99
