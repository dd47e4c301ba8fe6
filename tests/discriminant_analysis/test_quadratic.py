"""Quadratic discriminant analysis."""

import numpy as np
import pytest
from sklearn import discriminant_analysis as peers
from sklearn.base import clone
from sklearn.covariance import OAS

from pansophy.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from pansophy.distributions import Normal
from pansophy.naive_bayes import GaussianNB
from tests.discriminant_analysis.labelled_rows import (
    close,
    labelled_rows,
    rows_of_moments,
)

ONE = [[1, 2], [2, 3], [3, 3], [2, 1]]
TWO = [[6, 5], [7, 8], [8, 6], [7, 7], [9, 8]]
X2 = np.array(ONE + TWO, dtype=float)
Y2 = np.array([1] * 4 + [0] * 5)


def test_own_covariances_by_hand():
    X = np.vstack(
        [
            rows_of_moments([-1, 1], np.diag([1.0, 4.0])),
            rows_of_moments([2, 0], [[2, 1], [1, 2]]),
        ]
    )
    y = np.repeat([-1, 1], len(X) // 2)
    model = QuadraticDiscriminantAnalysis(priors=[0.7, 0.3]).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function([[1, 1]]), [0.2965432], atol=1e-7
    )


PRIORS = {2: [0.3, 0.7], 3: [0.2, 0.3, 0.5]}


QUADRATIC = [
    {},
    {"priors": "given"},
    {"reg_param": 0.3, "store_covariance": True},
    {"solver": "eigen"},
    {"solver": "eigen", "shrinkage": "auto", "store_covariance": True},
    {"solver": "eigen", "shrinkage": 0.2},
    {"solver": "eigen", "covariance_estimator": OAS()},
]


def settled(options, k):
    priors = {"priors": PRIORS[k]} if "priors" in options else {}
    return {**options, **priors}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("options", QUADRATIC, ids=str)
def test_quadratic_equals_scikit_learn(options, k, rng):
    X, y = labelled_rows(rng, k)
    options = settled(options, k)
    a = QuadraticDiscriminantAnalysis(**options).fit(X, y)
    b = peers.QuadraticDiscriminantAnalysis(**options).fit(X, y)
    close(a.decision_function(X), b.decision_function(X))
    close(a.predict_proba(X), b.predict_proba(X))
    close(a.predict_log_proba(X), b.predict_log_proba(X))
    close(a.means_, b.means_)
    close(a.priors_, b.priors_)
    for u, v in zip(a.scalings_, b.scalings_, strict=True):
        close(u, v)
    for u, v in zip(a.rotations_, b.rotations_, strict=True):
        close(np.abs(np.sum(u * v, axis=0)), 1)
    if options.get("store_covariance"):
        for u, v in zip(a.covariance_, b.covariance_, strict=True):
            close(u, v)


@pytest.mark.parametrize("k", [2, 3])
def test_tied_quadratic_is_linear(k, rng):
    X, y = labelled_rows(rng, k)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    tied = QuadraticDiscriminantAnalysis(covariance_type="tied").fit(X, y)
    close(tied.predict_proba(X), lda.predict_proba(X))
    S = np.array([[2.0, 0.5], [0.5, 1.0]])
    A = np.vstack(
        [
            rows_of_moments([0, 0], S),
            rows_of_moments([3, 1], S),
            rows_of_moments([0, 4], S),
        ]
    )
    z = np.repeat([0, 1, 2], len(A) // 3)  # the same covariance in every class
    close(
        QuadraticDiscriminantAnalysis().fit(A, z).predict_proba(A),
        LinearDiscriminantAnalysis().fit(A, z).predict_proba(A),
    )


def test_diagonal_is_gaussian_naive_bayes(rng):
    X, y = labelled_rows(rng)
    diag = QuadraticDiscriminantAnalysis(covariance_type="diag").fit(X, y)
    nb = GaussianNB(var_smoothing=0).fit(X, y)
    close(diag.predict_proba(X), nb.predict_proba(X))
    shared = GaussianNB(var_smoothing=0, shared_variance=True).fit(X, y)
    f = np.diff(shared.predict_joint_log_proba(X))
    A = np.column_stack([X, np.ones(len(X))])
    for column in f.T:  # linear in x, without remainder
        assert np.linalg.lstsq(A, column)[1][0] < 1e-15 * len(X) * np.abs(f).max() ** 2


def test_spherical_goes_by_distance(rng):
    X, y = labelled_rows(rng)
    model = QuadraticDiscriminantAnalysis(covariance_type="spherical").fit(X, y)
    for c in range(3):
        own = X[y == c]
        close(model.distribution_.cov[c], np.mean((own - own.mean(axis=0)) ** 2))
    assert [s.shape for s in model.scalings_] == [(5,)] * 3


@pytest.mark.parametrize(
    ("shape", "free"), [("full", 3 * 15), ("tied", 15), ("diag", 15), ("spherical", 3)]
)
def test_parameters_and_samples(shape, free, rng):
    X, y = labelled_rows(rng, n=3000)
    model = QuadraticDiscriminantAnalysis(covariance_type=shape).fit(X, y)
    assert isinstance(model.distribution_, Normal)
    assert model.distribution_.free == 3 * 5 + free
    S, z = model.sample(6000, random_state=0)
    again = clone(model).fit(S, z)
    spread = np.sqrt(model.distribution_.variance.max())
    np.testing.assert_allclose(again.means_, model.means_, atol=0.15 * spread)
    close(model.score_samples(X[:5]), np.log(
        np.exp(model.predict_joint_log_proba(X[:5])).sum(axis=1)
    ))  # fmt: skip


def test_far_from_zero(rng):
    X, y = labelled_rows(rng, offset=0.0)
    near = QuadraticDiscriminantAnalysis().fit(X, y)
    far = QuadraticDiscriminantAnalysis().fit(X + 1e7, y)
    np.testing.assert_allclose(
        far.predict_proba(X + 1e7), near.predict_proba(X), atol=1e-5
    )


def test_singular_classes_are_refused_in_one_sentence(rng):
    X, y = labelled_rows(rng)
    A = np.column_stack([X, X[:, 0]])
    with pytest.raises(np.linalg.LinAlgError, match="class 0 is not full rank"):
        QuadraticDiscriminantAnalysis().fit(A, y)
    assert QuadraticDiscriminantAnalysis(reg_param=0.1).fit(A, y).score(A, y) > 0.3
    with pytest.raises(np.linalg.LinAlgError, match="solver='eigen' with shrinkage"):
        QuadraticDiscriminantAnalysis().fit(X[:9], np.arange(9) % 3)
    with pytest.raises(ValueError, match="only 1 sample in class"):
        QuadraticDiscriminantAnalysis().fit(X[:5], [0, 0, 0, 0, 1])


def flat_tables(X, y):
    """Tables with a class that does not vary in some direction, by what is flat."""
    yield "column 5", np.column_stack([X, np.full(len(X), 0.1)])
    yield "column 5", np.column_stack([X, np.full(len(X), 5.0)])
    yield "column 5", np.column_stack([X, 0.1 + 0.2 * y])
    yield "column 5", np.column_stack([X, np.where(y == 0, 1 / 3, X[:, 0] ** 2)])
    yield "Increase", np.column_stack([X, X[:, 1] - 2 * X[:, 2]])
    yield "Increase", 1e-6 * X
    yield "column 0", np.ones_like(X)


@pytest.mark.parametrize("solver", ["svd", "eigen"])
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag"])
def test_a_class_that_does_not_vary_is_refused(solver, covariance_type, rng):
    X, y = labelled_rows(rng)
    for says, A in flat_tables(X, y):
        model = QuadraticDiscriminantAnalysis(
            solver=solver, covariance_type=covariance_type
        )
        diagonal_varies = says == "Increase" and A.shape[1] == 6
        if covariance_type == "diag" and diagonal_varies:
            model.fit(A, y)  # no variance is 0, and only those count
            continue
        if covariance_type == "tied" and np.ptp(A[y == 1, -1]) and says == "column 5":
            model.fit(A, y)  # the other classes vary
            continue
        with pytest.raises(np.linalg.LinAlgError, match=f"not full rank. .*{says}"):
            model.fit(A, y)
        assert not hasattr(model, "means_")
    A = np.column_stack([X, np.full(len(X), 0.1)])
    if solver == "svd":
        cured = QuadraticDiscriminantAnalysis(reg_param=0.1)
    else:
        cured = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1)
    peer = peers.QuadraticDiscriminantAnalysis(**cured_options(cured)).fit(A, y)
    close(cured.fit(A, y).predict_proba(A), peer.predict_proba(A))


def cured_options(model):
    return {name: getattr(model, name) for name in ("solver", "shrinkage", "reg_param")}


def test_a_constant_column_is_named(rng):
    pd = pytest.importorskip("pandas")
    X, y = labelled_rows(rng)
    A = pd.DataFrame(X, columns=list("abcde")).assign(f=1.0)
    with pytest.raises(np.linalg.LinAlgError, match="in column 'f'"):
        QuadraticDiscriminantAnalysis().fit(A, y)
