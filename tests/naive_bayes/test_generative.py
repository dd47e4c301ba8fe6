"""Generative classifiers with any density."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats as scipy_stats
from sklearn.base import clone

from pansophy.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from pansophy.distributions import (
    Binomial,
    Dirichlet,
    Normal,
    NormalInverseWishart,
)
from pansophy.naive_bayes import (
    BernoulliNB,
    ExponentialFamilyClassifier,
    GaussianNB,
    GenerativeClassifier,
    MultinomialNB,
    NaiveBayes,
)
from pansophy.params import ParameterError
from tests.oracles import generative as slow

SHAPES = ["full", "tied", "diag", "spherical"]


FAMILIES = ["bernoulli", "poisson", "multinomial", "gamma", "beta", "dirichlet"]


def normals(rng, n=300, d=3, k=3):
    y = rng.integers(0, k, n)
    mix = rng.standard_normal((k, d, d))
    X = np.einsum("nij,nj->ni", mix[y], rng.standard_normal((n, d))) + 2 * y[:, None]
    return X, y


def data_for(family, rng, n=300):
    y = rng.integers(0, 2, n)
    if family == "bernoulli":
        X = (rng.random((n, 3)) < 0.3 + 0.3 * y[:, None]).astype(float)
    elif family in ("poisson", "multinomial"):
        X = rng.poisson(1 + y[:, None] + np.arange(3), (n, 3)).astype(float)
    elif family == "gamma":
        X = rng.gamma(1 + y[:, None] + np.arange(3), 1.0, (n, 3))
    elif family == "beta":
        X = rng.beta(1 + y[:, None], 2, (n, 3))
    else:
        X = np.where(y[:, None] == 0, *(rng.dirichlet(a, n) for a in (
            [1, 2, 3], [3, 2, 1]
        )))  # fmt: skip
    return X, y


def close(a, b, tol=1e-9):
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


@pytest.mark.parametrize("shape", SHAPES)
def test_posterior_is_bayes_rule_on_numbers(shape, rng):
    X, y = normals(rng)
    model = GenerativeClassifier(covariance_type=shape, var_smoothing=0).fit(X, y)
    close(model.class_prior_, np.bincount(y) / len(y), 1e-14)  # the frequencies
    p = model.distribution_
    dense = np.broadcast_to(p.dense, (3, 3, 3))
    density = [
        [slow.normal_density(x, p.mean[c], dense[c]) for c in range(3)] for x in X[:20]
    ]
    close(model.predict_proba(X[:20]), slow.posterior(model.class_prior_, density))
    close(model.predict_proba(X).sum(axis=1), 1)
    Z = (model.class_prior_ * density).sum(axis=1)
    close(np.exp(model.score_samples(X[:20])), Z)  # the normaliser is P(x)
    close(np.exp(model.predict_joint_log_proba(X[:20])).sum(axis=1), Z)


@pytest.mark.parametrize(
    ("shape", "other"),
    [
        ("full", QuadraticDiscriminantAnalysis(tol=0)),
        ("tied", LinearDiscriminantAnalysis(tol=0)),
        ("diag", GaussianNB(var_smoothing=0)),
        ("spherical", QuadraticDiscriminantAnalysis(covariance_type="spherical")),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_normal_shapes_are_known_classifiers(shape, other, weighted, rng):
    X, y = normals(rng)
    w = rng.random(len(X)) if weighted else None
    model = GenerativeClassifier(covariance_type=shape, var_smoothing=0)
    close(
        model.fit(X, y, w).predict_proba(X),
        clone(other).fit(X, y, w).predict_proba(X),
        1e-8,
    )


def test_count_families_are_naive_bayes(rng):
    for family, other in [
        ("bernoulli", BernoulliNB(alpha=0)),
        ("poisson", NaiveBayes("poisson", alpha=0)),
        ("multinomial", MultinomialNB(alpha=0)),
    ]:
        X, y = data_for(family, rng)
        close(
            GenerativeClassifier(family).fit(X, y).predict_proba(X),
            other.fit(X, y).predict_proba(X),
        )


def test_sample_and_refit_recovers_parameters(rng):
    X, y = normals(rng, n=2000)
    model = GenerativeClassifier(priors=[0.2, 0.3, 0.5]).fit(X, y)
    S, z = model.sample(20_000, random_state=0)
    again = GenerativeClassifier().fit(S, z)
    np.testing.assert_allclose(again.class_prior_, [0.2, 0.3, 0.5], atol=0.015)
    spread = np.sqrt(model.distribution_.variance)
    gap = np.abs(again.distribution_.mean - model.distribution_.mean)
    assert np.all(gap < 0.1 * spread)
    np.testing.assert_allclose(
        again.distribution_.cov, model.distribution_.cov, atol=0.1 * spread.max() ** 2
    )
    same = model.sample(5, random_state=3)[0]
    np.testing.assert_array_equal(same, model.sample(5, random_state=3)[0])
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(0)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_fits_samples_and_weighs(family, rng):
    X, y = data_for(family, rng)
    w = rng.integers(1, 4, len(X))
    a = GenerativeClassifier(family).fit(X, y, w)
    b = GenerativeClassifier(family).fit(np.repeat(X, w, 0), np.repeat(y, w))
    close(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X), 1e-6)
    S, z = a.sample(50, random_state=1)
    assert S.shape == (50, 3) and z.shape == (50,)
    assert np.isfinite(a.predict_proba(S)).all()


def test_a_distribution_of_ones_own(rng):
    y = rng.integers(0, 2, 200)
    X = rng.binomial(5, 0.3 + 0.4 * y[:, None], (200, 2)).astype(float)
    own = GenerativeClassifier(Binomial(1, np.full(2, 0.5)))
    with pytest.raises(ValueError, match="prob must be"):
        own.fit(X, y)  # a single trial cannot count to five
    B = (X > 2).astype(float)
    close(
        own.fit(B, y).predict_proba(B),
        GenerativeClassifier("bernoulli").fit(B, y).predict_proba(B),
    )


def test_categorical_and_conjugate_priors(rng):
    y = rng.integers(0, 2, 100)
    X = rng.integers(0, 3, (100, 1))
    prior = Dirichlet(np.full(3, 2.0))
    model = GenerativeClassifier("categorical", prior=prior).fit(X, y)
    close(
        model.predict_proba(X),
        NaiveBayes("categorical", alpha=1).fit(X, y).predict_proba(X),
    )
    with pytest.raises(ValueError, match="one column"):
        model.fit(np.hstack([X, X]), y)
    Z = rng.standard_normal((6, 3))
    strong = NormalInverseWishart(np.zeros(3), 1e6, 1e6 * np.eye(3), 1e6)
    p = GenerativeClassifier(prior=strong, var_smoothing=0).fit(Z, [0, 0, 1, 1, 1, 0])
    np.testing.assert_allclose(p.distribution_.mean, 0, atol=1e-4)
    np.testing.assert_allclose(p.distribution_.cov[0], np.eye(3), atol=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_missing_values_are_integrated_out(shape, rng):
    X, y = normals(rng)
    model = GenerativeClassifier(covariance_type=shape).fit(X, y)
    H = X.copy()
    H[0], H[1, 0], H[2, 1:] = np.nan, np.nan, np.nan
    got = model.predict_proba(H)
    close(got[0], model.class_prior_, 1e-14)
    close(got[3:], model.predict_proba(X)[3:], 1e-13)
    p = model.distribution_
    S = np.broadcast_to(p.dense, (3, 3, 3))
    for i, seen in [(1, [1, 2]), (2, [0])]:
        like = [
            scipy_stats.multivariate_normal(
                p.mean[c][seen], S[c][np.ix_(seen, seen)]
            ).pdf(H[i, seen])
            for c in range(3)
        ]
        close(got[i], slow.posterior(model.class_prior_, [like])[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_normals_learn_from_incomplete_rows(shape, rng):
    X, y = normals(rng, n=3000)
    H = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    whole = GenerativeClassifier(covariance_type=shape).fit(X, y)
    holed = GenerativeClassifier(covariance_type=shape).fit(H, y)
    np.testing.assert_allclose(
        holed.distribution_.mean, whole.distribution_.mean, atol=0.12
    )
    np.testing.assert_allclose(
        holed.distribution_.cov, whole.distribution_.cov, rtol=0.08, atol=0.1
    )


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "gamma", "beta"])
def test_other_families_learn_from_incomplete_rows(family, rng):
    X, y = data_for(family, rng)
    H = X.copy()
    H[::3, 1] = np.nan
    model = GenerativeClassifier(family).fit(H, y)
    rows = ~np.isnan(H[:, 1])
    alone = GenerativeClassifier(family).fit(X[rows][:, [1]], y[rows])
    close(
        np.asarray(model.distribution_.mean)[:, 1],
        np.asarray(alone.distribution_.mean)[:, 0],
    )
    p = model.predict_proba(H)
    assert np.isfinite(p).all()
    close(model.predict_proba(np.full((1, 3), np.nan))[0], model.class_prior_)


def test_families_that_cannot_miss_a_part(rng):
    X, y = data_for("dirichlet", rng)
    H = X.copy()
    H[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        GenerativeClassifier("dirichlet").fit(H, y)
    with pytest.raises(ValueError, match="NaN"):
        GenerativeClassifier("dirichlet").fit(X, y).predict(H)


@pytest.mark.parametrize("shape", SHAPES)
def test_sparse_files_and_tensors(shape, rng, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    torch = pytest.importorskip("torch")
    X, y = normals(rng)
    model = GenerativeClassifier(covariance_type=shape)
    expected = clone(model).fit(X, y).predict_proba(X)
    S = sp.csr_array(X)
    close(clone(model).fit(S, y).predict_proba(S), expected)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(3)}), path)
    close(clone(model).fit(str(path), y).predict_proba(str(path)), expected)
    T = torch.asarray(X)
    there = clone(model).fit(T, torch.asarray(y)).predict_proba(T)
    assert isinstance(there, torch.Tensor)
    close(there.numpy(), expected)


@pytest.mark.parametrize("family", [*FAMILIES, "categorical", *SHAPES])
def test_scores_are_linear_in_statistics(family, rng):
    if family in SHAPES:
        X, y = normals(rng)
        model = ExponentialFamilyClassifier(covariance_type=family)
    elif family == "categorical":
        y = rng.integers(0, 3, 200)
        X = np.minimum(rng.poisson(1 + y), 3)[:, None]
        model = ExponentialFamilyClassifier("categorical")
    else:
        X, y = data_for(family, rng)
        model = ExponentialFamilyClassifier(family)
    model.fit(X, y)
    scores = model.statistics(X) @ model.coef_.T + model.intercept_
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    close(e / e.sum(axis=1, keepdims=True), model.predict_proba(X), 1e-8)
    F = model.decision_function(X)
    best = (F > 0).astype(int) if F.ndim == 1 else F.argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[best], model.predict(X))


def test_gaussian_member_is_lda(rng):
    X, y = normals(rng)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    model = ExponentialFamilyClassifier(var_smoothing=0).fit(X, y)
    close(model.predict_proba(X), lda.predict_proba(X))
    gap = lambda a: a - a[0]
    close(gap(model.coef_), gap(lda.coef_))
    close(gap(model.intercept_), gap(lda.intercept_), 1e-8)


def test_poisson_matches_direct_bayes(rng):
    X, y = data_for("poisson", rng)
    model = ExponentialFamilyClassifier("poisson").fit(X, y)
    rate = np.stack([X[y == c].mean(axis=0) for c in range(2)])
    like = scipy_stats.poisson.pmf(X[:, None, :], rate).prod(axis=2)
    close(model.predict_proba(X), slow.posterior(np.bincount(y) / len(y), like))


def test_bad_parameters(rng):
    X, y = normals(rng)
    with pytest.raises(ParameterError, match="distribution of"):
        GenerativeClassifier("cauchy").fit(X, y)
    with pytest.raises(ParameterError, match="covariance_type"):
        GenerativeClassifier(covariance_type="round").fit(X, y)
    assert isinstance(GenerativeClassifier().fit(X, y).distribution_, Normal)
