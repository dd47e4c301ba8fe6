"""Discrete naive Bayes: Bernoulli, multinomial, complement and categorical."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import naive_bayes as peers

from pansophy.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    MultinomialNB,
)

DOCS = np.array([[2, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1]])  # aab+, ab+, cdb-


SIGNS = np.array([1, 1, -1])


def close(a, b, tol=1e-10):
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


def test_small_alpha(tables):
    _, C, y, _ = tables
    with pytest.warns(UserWarning, match="alpha too small"):
        ours = MultinomialNB(alpha=0.0, force_alpha=False).fit(C, y)
    with pytest.warns(UserWarning, match="alpha too small"):
        theirs = peers.MultinomialNB(alpha=0.0, force_alpha=False).fit(C, y)
    close(ours.feature_log_prob_, theirs.feature_log_prob_)


def test_bernoulli_numbers():
    X = np.array([[1, 0], [1, 1], [1, 1], [0, 1], [0, 0], [1, 0]])
    y = [1, 1, 1, 0, 0, 0]
    likely = BernoulliNB(alpha=0).fit(X, y)
    p = likely.distribution_[0].prob
    close(p, [[1 / 3, 1 / 3], [1, 2 / 3]])
    smooth = BernoulliNB().fit(X, y)
    close(np.exp(smooth.feature_log_prob_), [[0.4, 0.4], [0.8, 0.6]])
    close(smooth.predict_proba([[1, 1]]), [[0.25, 0.75]])
    assert likely.predict_proba([[0, 1]])[0, 1] == 0  # never seen with class 1
    counts = BernoulliNB().fit([[1], [1], [1], [0]], [0, 0, 0, 0])
    after = counts.posterior()
    close([after.a[0, 0], after.b[0, 0]], [4, 2])
    close(after.mean, np.exp(counts.feature_log_prob_))  # add-one is that mean


def test_multinomial_numbers():
    likely = MultinomialNB(alpha=0).fit(DOCS, SIGNS)
    close(np.exp(likely.feature_log_prob_[1]), [3 / 5, 2 / 5, 0, 0])
    joint = likely.predict_joint_log_proba(DOCS)
    np.testing.assert_allclose(
        np.exp([joint[0, 1], joint[1, 1], joint[2, 0]]), [0.096, 0.16, 1 / 81]
    )
    assert abs(joint[0, 1] + joint[1, 1] + joint[2, 0] + 8.5704377) < 1e-7
    odds = lambda model, docs: np.diff(model.predict_joint_log_proba(docs))[:, 0]
    b, bb, ab = [0, 1, 0, 0], [0, 2, 0, 0], [1, 1, 0, 0]
    np.testing.assert_allclose(
        odds(likely, [b, bb, ab]), [0.8754687, 1.0577903, np.inf], atol=1e-7
    )
    smooth = MultinomialNB().fit(DOCS, SIGNS)
    np.testing.assert_allclose(
        odds(smooth, [*DOCS, b, [1, 1, 1, 0]]),
        [3.1172577, 1.9822778, -1.0416254, 0.8472979, 1.0378162],
        atol=1e-7,
    )
    close(smooth.posterior().mean, np.exp(smooth.feature_log_prob_))


def test_closed_form_is_the_maximum(rng):
    """Any other probabilities make the training documents less likely."""
    model = MultinomialNB(alpha=0).fit(DOCS, SIGNS)
    best = -8.5704377
    for _ in range(20):
        theta = rng.dirichlet(np.ones(4), size=2)
        pi = rng.dirichlet(np.ones(2))
        code = (SIGNS > 0).astype(int)
        value = np.sum(np.log(pi[code]) + np.sum(DOCS * np.log(theta[code]), axis=1))
        assert value < best
    assert model.predict(DOCS).tolist() == SIGNS.tolist()


def test_categorical_tables(tables):
    _, C, y, _ = tables
    model = CategoricalNB().fit(C, y)
    for table in model.feature_log_prob_:
        close(np.exp(table).sum(axis=1), 1)
    for before, after in zip(model.feature_log_prob_, model.posterior(), strict=True):
        close(after.mean, np.exp(before))
    B = (C > 1).astype(int)
    two, bern = CategoricalNB().fit(B, y), BernoulliNB().fit(B, y)
    close(two.predict_joint_log_proba(B), bern.predict_joint_log_proba(B))
    new = np.full((1, 5), 40)
    with pytest.raises(ValueError, match=r"column 0 .* min_categories"):
        model.predict(new)
    assert np.isfinite(
        CategoricalNB(min_categories=41).fit(C, y).predict_log_proba(new)
    ).all()


def test_fractions_as_categories_are_rounded_down(tables):
    _, C, y, _ = tables
    C = np.maximum(C, 0)
    model = CategoricalNB().fit(C, y)
    with pytest.warns(UserWarning, match="column 0 of X .* not whole"):
        rounded = CategoricalNB().fit(C + 0.5, y)
    with pytest.warns(UserWarning, match="rounded down"):
        close(rounded.predict_proba(C + 0.25), model.predict_proba(C))
    with pytest.raises(ValueError, match="Negative values"):
        CategoricalNB().fit(C - 1.0, y)
    with (
        pytest.warns(UserWarning, match="rounded down"),
        pytest.raises(ValueError, match="Negative values"),
    ):
        CategoricalNB().fit(C - 0.5, y)


def test_no_underflow_at_ten_thousand_features(rng):
    X = rng.integers(0, 2, (30, 10_000))
    y = np.arange(30) % 2
    p = BernoulliNB().fit(X, y).predict_log_proba(X)
    assert np.isfinite(p).all()
    close(np.exp(p).sum(axis=1), 1)


def test_impossible_rows_get_the_prior():
    model = CategoricalNB(alpha=0).fit([[0, 0], [1, 1], [1, 1]], [0, 1, 1])
    p = model.predict_proba([[0, 1]])[0]  # no class has ever shown this
    close(p, [1 / 3, 2 / 3])
    assert model.predict([[0, 1]])[0] == 1


def test_entries_of_a_sparse_matrix_may_be_sums(tables):
    X, _, y, _ = tables
    X = np.abs(X)
    n, d = X.shape
    halves = np.repeat(X.ravel() / 2, 2)
    places = np.repeat(np.tile(np.arange(d), n), 2)
    S = sp.csr_matrix((halves, places, np.arange(0, 2 * n * d + 1, 2 * d)), (n, d))
    ours, dense = BernoulliNB().fit(S, y), BernoulliNB().fit(X, y)
    np.testing.assert_array_equal(ours.feature_count_, dense.feature_count_)
    np.testing.assert_array_equal(ours.predict(S), dense.predict(X))
    assert S.nnz == 2 * n * d  # the caller's matrix is as it was


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_floats_of_other_lengths(dtype, rng):
    X = rng.integers(0, 3, size=(30, 2))
    y = X[:, 0] > 1
    a, b = CategoricalNB().fit(X.astype(dtype), y), CategoricalNB().fit(X, y)
    np.testing.assert_array_equal(a.predict_proba(X.astype(dtype)), b.predict_proba(X))


@pytest.mark.parametrize("cls", [MultinomialNB, ComplementNB, CategoricalNB])
def test_negative_values_are_refused_with_the_name_of_the_model(cls):
    X = np.array([[0, 1], [2, 1], [1, 0], [1, 2]])
    bad = np.array([[0, -1]])
    says = rf"Negative values in data passed to {cls.__name__} \(input X\)"
    with pytest.raises(ValueError, match=says):
        cls().fit(bad, [1])
    model = cls().fit(X, [0, 0, 1, 1])
    if cls is CategoricalNB:
        with pytest.raises(ValueError, match=says):
            model.predict(bad)
        with pytest.raises(ValueError, match="not seen in fit"):
            model.predict([[0, 9]])
