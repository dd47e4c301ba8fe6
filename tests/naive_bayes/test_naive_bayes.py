"""Naive Bayes: what all models share, and GaussianNB."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import naive_bayes as peers
from sklearn.base import clone

from pansophy.core.loops.threads import limit_threads
from pansophy.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    NaiveBayes,
)
from pansophy.params import ParameterError

MODELS = [
    (GaussianNB(), peers.GaussianNB(), "X"),
    (GaussianNB(priors=[0.2, 0.3, 0.5]), peers.GaussianNB(priors=[0.2, 0.3, 0.5]), "X"),
    (BernoulliNB(binarize=1.0), peers.BernoulliNB(binarize=1.0), "X"),
    (BernoulliNB(alpha=0.3), peers.BernoulliNB(alpha=0.3), "C"),
    (MultinomialNB(), peers.MultinomialNB(), "C"),
    (
        MultinomialNB(alpha=np.arange(1, 6) / 5, fit_prior=False),
        peers.MultinomialNB(alpha=np.arange(1, 6) / 5, fit_prior=False),
        "C",
    ),
    (
        MultinomialNB(class_prior=[0.5, 0.25, 0.25]),
        peers.MultinomialNB(class_prior=[0.5, 0.25, 0.25]),
        "C",
    ),
    (ComplementNB(), peers.ComplementNB(), "C"),
    (ComplementNB(norm=True, alpha=0.1), peers.ComplementNB(norm=True, alpha=0.1), "C"),
    (CategoricalNB(), peers.CategoricalNB(), "C"),
    (
        CategoricalNB(min_categories=20, alpha=0.2),
        peers.CategoricalNB(min_categories=20, alpha=0.2),
        "C",
    ),
]


OURS = [
    *((model, kind) for model, _, kind in MODELS),
    (GaussianNB(shared_variance=True), "X"),
    (NaiveBayes("poisson"), "C"),
    (
        MixedNB(["gaussian", "poisson", "categorical", "multinomial", "multinomial"]),
        "C",
    ),
]


each = pytest.mark.parametrize(("model", "kind"), OURS)


def pick(tables, kind):
    X, C, y, w = tables
    return (X if kind == "X" else C), y, w


def close(a, b, tol=1e-10):
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("model", "peer", "kind"), MODELS)
def test_equals_scikit_learn(model, peer, kind, weighted, tables):
    X, y, w = pick(tables, kind)
    w = w if weighted else None
    ours, theirs = clone(model).fit(X, y, w), clone(peer).fit(X, y, w)
    # scikit-learn adds a share of the variance without weights to the variances
    tol = 1e-7 if weighted and isinstance(model, GaussianNB) else 1e-11
    for method in ("predict_joint_log_proba", "predict_proba", "predict_log_proba"):
        close(getattr(ours, method)(X), getattr(theirs, method)(X), tol)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    names = [n for n in vars(theirs) if n.endswith("_") and not n.startswith("_")]
    for name in set(names) - {"n_features_in_"}:
        one, other = getattr(ours, name), getattr(theirs, name)
        if isinstance(other, list):
            for a, b in zip(one, other, strict=True):
                close(a, b, tol)
        elif not (name == "epsilon_" and weighted):
            close(one, other, tol)


@each
def test_weights_are_repetitions(model, kind, tables):
    X, y, w = pick(tables, kind)
    w[::5] = 0
    a = clone(model).fit(X, y, w)
    b = clone(model).fit(np.repeat(X, w.astype(int), 0), np.repeat(y, w.astype(int)))
    close(a.predict_joint_log_proba(X[w > 0]), b.predict_joint_log_proba(X[w > 0]))


@each
@pytest.mark.parametrize("holes", [False, True])
def test_stream_equals_batch(model, kind, holes, tables, rng):
    X, y, w = pick(tables, kind)
    if holes:
        X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    batch, stream = clone(model).fit(X, y, w), clone(model)
    if isinstance(model, MixedNB):
        stream.set_params(columns=model.columns)
    for a in range(0, 240, 50):
        cut = slice(a, a + 50)
        stream.partial_fit(X[cut], y[cut], classes=[0, 1, 2], sample_weight=w[cut])
    close(stream.predict_joint_log_proba(X), batch.predict_joint_log_proba(X), 1e-9)
    close(stream.class_count_, batch.class_count_)


def test_stream_says_what_is_wrong(tables):
    X, _, y, _ = tables
    with pytest.raises(ValueError, match="classes must be passed"):
        GaussianNB().partial_fit(X, y)
    model = GaussianNB().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="not the same"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="do not exist"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)


@each
def test_sparse_equals_dense(model, kind, tables):
    X, y, w = pick(tables, kind)
    if isinstance(model, (CategoricalNB, MixedNB)):
        with pytest.raises(TypeError, match=r"(?i)sparse"):
            clone(model).fit(sp.csr_array(X), y)
        return
    if isinstance(model, BernoulliNB):
        X = np.abs(X)
    S = sp.csr_array(X)
    a, b = clone(model).fit(X, y, w), clone(model).fit(S, y, w)
    close(b.predict_joint_log_proba(S), a.predict_joint_log_proba(X))


@each
def test_float32_and_files(model, kind, tables, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    X, y, w = pick(tables, kind)
    full = clone(model).fit(X, y, w)
    small = clone(model).fit(X.astype(np.float32), y, w.astype(np.float32))
    close(small.predict_proba(X.astype(np.float32)), full.predict_proba(X), 1e-5)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(X.shape[1])}), path)
    filed = clone(model).fit(str(path), y, w)
    close(filed.predict_proba(str(path)), full.predict_proba(X), 1e-12)


@each
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.filterwarnings("ignore:You are comparing")
def test_tensors(model, kind, library, tables):
    xp = pytest.importorskip(library)
    X, y, w = pick(tables, kind)
    full = clone(model).fit(X, y, w)
    T, t = xp.asarray(X), xp.asarray(y)
    there = clone(model).fit(T, t, xp.asarray(w))
    out = there.predict_proba(T)
    assert type(out) is type(T)
    close(np.asarray(out), full.predict_proba(X))
    np.testing.assert_array_equal(np.asarray(there.predict(T)), full.predict(X))


@each
def test_threads_change_nothing(model, kind, tables):
    X, y, w = pick(tables, kind)
    X, y, w = (np.concatenate([a] * 40) for a in (X, y, w))
    many = clone(model).fit(X, y, w).predict_joint_log_proba(X)
    with limit_threads(1):
        one = clone(model).fit(X, y, w).predict_joint_log_proba(X)
    np.testing.assert_array_equal(many, one)


@each
def test_missing_values_drop_out(model, kind, tables, rng):
    X, y, _ = pick(tables, kind)
    m = clone(model).fit(X, y)
    H = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    H[0], H[1] = np.nan, X[1]
    out = m.predict_proba(H)
    close(out[1], m.predict_proba(X)[1], 1e-14)  # complete rows are unaffected
    if not isinstance(model, ComplementNB):
        close(out[0], np.exp(m.class_log_prior_))  # nothing seen: the prior
    close(out.sum(axis=1), 1)
    holed = clone(model).fit(H, y)
    assert np.isfinite(holed.predict_proba(H)).all()
    close(holed.class_count_, m.class_count_)


def test_missing_column_equals_model_without_it(tables):
    X, C, y, _ = tables
    for model, A in [
        (GaussianNB(), X),
        (BernoulliNB(), C),
        (CategoricalNB(), C),
        (NaiveBayes("poisson", alpha=0), C),
    ]:
        H = A.copy()
        H[:, 2] = np.nan
        whole = clone(model).fit(A, y).predict_proba(H)
        rest = clone(model).fit(np.delete(A, 2, 1), y)
        close(whole, rest.predict_proba(np.delete(A, 2, 1)), 1e-6)
    H = C.copy()
    H[:, 2] = np.nan  # the words that are left, of a vocabulary without the third
    whole = MultinomialNB(alpha=0).fit(C, y).predict_proba(H)
    rest = MultinomialNB(alpha=0).fit(np.delete(C, 2, 1), y)
    close(whole, rest.predict_proba(np.delete(C, 2, 1)))


def test_fit_counts_what_was_seen(tables, rng):
    X, _, y, w = tables
    H = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    model = GaussianNB(var_smoothing=0).fit(H, y, w)
    for c in range(3):
        for j in range(5):
            rows = (y == c) & ~np.isnan(H[:, j])
            mean = np.average(H[rows, j], weights=w[rows])
            close(model.theta_[c, j], mean)
            var = np.average((H[rows, j] - mean) ** 2, weights=w[rows])
            close(model.var_[c, j], var)


def test_gaussian_boundaries():
    X, y = np.array([[1.0], [2], [3], [5], [7], [9]]), [-1] * 3 + [1] * 3
    shared = GaussianNB(shared_variance=True, var_smoothing=0).fit(X, y)
    f = lambda model, x: np.diff(model.predict_log_proba(x))[:, 0]
    points = np.array([[0.0], [1.0], [4.5], [10.0]])
    np.testing.assert_allclose(f(shared, points), 3 * points[:, 0] - 13.5, atol=1e-9)
    own = GaussianNB(var_smoothing=0).fit(X, y)
    np.testing.assert_allclose(own.var_.ravel(), [2 / 3, 8 / 3])
    np.testing.assert_allclose(
        f(own, np.array([[-3.1799803], [3.8466470]])), 0, atol=1e-6
    )


def test_duplicated_feature_doubles_its_log_odds(tables):
    _, C, y, _ = tables
    y = (y > 0).astype(int)
    odds = lambda model, A: np.diff(model.fit(A, y).predict_joint_log_proba(A))[:, 0]
    for model in (GaussianNB(), CategoricalNB(), NaiveBayes("poisson")):
        prior = np.diff(np.log(np.bincount(y)))
        once = odds(clone(model), C[:, :1]) - prior
        close(odds(clone(model), C[:, [0, 0]]) - prior, 2 * once)


@each
def test_sample_and_refit(model, kind, tables):
    X, y, _ = pick(tables, kind)
    m = clone(model).fit(X, y)
    if isinstance(model, ComplementNB):
        assert not hasattr(m, "sample")
        return
    S, z = m.sample(3000, random_state=0)
    assert S.shape == (3000, 5) and set(z) <= {0, 1, 2}
    again = clone(model)
    if isinstance(model, BernoulliNB):
        again.set_params(binarize=0.5)
    p = again.fit(S, z)
    prior = np.exp(m.class_log_prior_)
    if getattr(model, "fit_prior", True) and model.get_params().get("priors") is None:
        np.testing.assert_allclose(
            p.class_count_ / 3000, prior, atol=4 * np.sqrt(0.25 / 3000)
        )
    if hasattr(m, "theta_"):
        np.testing.assert_allclose(p.theta_, m.theta_, atol=0.25)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_order_of_rows_columns_and_names_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 40)), int(rng.integers(1, 6))
    X, y = rng.poisson(2.0, (n, d)).astype(float), np.arange(n) % 3
    rows, cols = rng.permutation(n), rng.permutation(d)
    names = np.array(["c", "a", "b"])
    for model in (GaussianNB(), MultinomialNB(), CategoricalNB(), BernoulliNB()):
        p = clone(model).fit(X, y).predict_proba(X)
        close(clone(model).fit(X[rows], y[rows]).predict_proba(X), p, 1e-8)
        close(clone(model).fit(X[:, cols], y).predict_proba(X[:, cols]), p, 1e-8)
        other = clone(model).fit(X, names[y])
        close(other.predict_proba(X)[:, np.argsort(np.argsort(names))], p, 1e-8)


def test_gaussian_is_exact_far_from_zero(rng):
    X = rng.standard_normal((4000, 3))
    y = np.arange(4000) % 2
    near, far = GaussianNB().fit(X, y), GaussianNB().fit(X + 1e8, y)
    np.testing.assert_allclose(far.var_, near.var_, rtol=1e-6)


def test_clear_errors(tables):
    X, _, y, _ = tables
    with pytest.raises(ValueError, match="Negative"):
        MultinomialNB().fit(X, y)
    with pytest.raises(ValueError, match="0 and 1"):
        BernoulliNB(binarize=None).fit(X, y)
    with pytest.raises(ParameterError, match="Number of priors"):
        GaussianNB(priors=[0.5, 0.5]).fit(X, y)
    with pytest.raises(ParameterError, match="sum of the priors"):
        GaussianNB(priors=[0.5, 0.2, 0.2]).fit(X, y)
    with pytest.raises(ParameterError, match="n_features"):
        MultinomialNB(alpha=[1.0, 2.0]).fit(np.abs(X), y)
    with pytest.raises(ValueError, match=r"column 0 .*var_smoothing"):
        GaussianNB(var_smoothing=0).fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    with pytest.raises(ParameterError, match="priors of GaussianNB must be"):
        GaussianNB(priors=["a", "b", "c"]).fit(X, y)
    for columns in ({}, (1,), [["gaussian"]]):
        with pytest.raises(ParameterError, match="columns of MixedNB must be"):
            MixedNB(columns=columns).fit(X, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logarithms_of_posteriors_near_one_keep_their_digits(dtype):
    X = np.array([[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]], dtype)
    model = GaussianNB().fit(X, [1, 1, 1, 2, 2, 2])
    J = model.predict_joint_log_proba(X).astype(float)
    gap = np.abs(J[:, 1] - J[:, 0])
    best = model.predict_log_proba(X).max(axis=1)
    np.testing.assert_allclose(best, -np.log1p(np.exp(-gap)), rtol=1e-4)
    assert (best < 0).all()
    P = np.exp(model.predict_log_proba(X))
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)


def test_tensors_with_text_labels():
    torch = pytest.importorskip("torch")
    X = np.array([[-2.0, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]])
    y = np.array(list("aaabbb"))
    plain = GaussianNB().fit(X, y)
    for dtype in (torch.float64, torch.float32):
        A = torch.asarray(X, dtype=dtype)
        model = GaussianNB().fit(A, y)
        np.testing.assert_array_equal(model.predict(A), plain.predict(X))
        assert model.theta_.dtype == dtype
        part = GaussianNB().partial_fit(A[:4], y[:4], classes=["a", "b"])
        part.partial_fit(A[4:], y[4:])
        np.testing.assert_allclose(part.theta_, plain.theta_, rtol=1e-6)
    with pytest.raises(ValueError, match="NaN or None"):
        GaussianNB().fit(A, np.array(["a", None, "a", "b", "b", "b"], object))
