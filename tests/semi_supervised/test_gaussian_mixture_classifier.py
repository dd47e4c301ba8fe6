"""GaussianMixtureClassifier: worked numbers, Gaussian Bayes, labels that stay."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB

from pansophy.mixture import GaussianMixture, MixtureClassifier
from pansophy.params import ParameterError
from pansophy.semi_supervised import GaussianMixtureClassifier

SHAPES = ["full", "tied", "diag", "spherical"]


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def blobs(rng, n=300, gap=4.0):
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 2)) + gap * y[:, None], y


def hide(y, rng, share=0.9):
    return np.where(rng.random(len(y)) < share, -1, y)


def test_w36_of_001():
    """Worked example: row 1 is labelled as of the second component, the others not."""
    X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), [-1, 2, -1, -1]
    model = GaussianMixtureClassifier(
        classes=[1, 2],
        weights_init=[0.5, 0.5],
        means_init=[[0.0], [5.0]],
        precisions_init=np.ones((2, 1, 1)),
        reg_covar=0.0,
        max_iter=1,
    )
    fit(model, X, y)
    assert np.allclose(model.weights_, [0.2501382, 0.7498618], atol=1e-7)
    assert np.allclose(model.means_[:, 0], [0.0022285, 3.3332043], atol=1e-7)
    assert np.allclose(model.covariances_[:, 0, 0], [0.0089277, 2.8893497], atol=1e-7)
    assert model.transduction_.tolist() == [1, 2, 2, 2]


@pytest.mark.parametrize("shape", ["full", "tied", "diag"])
def test_all_labelled_is_gaussian_bayes(shape, rng):
    """The first iteration is the Gaussian Bayes classifier of maximum likelihood."""
    X, y = blobs(rng, gap=2.0)
    model = GaussianMixtureClassifier(covariance_type=shape, reg_covar=0.0).fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 2
    peers = {
        "full": MixtureClassifier(GaussianMixture(reg_covar=0.0)),
        "tied": LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True),
        "diag": GaussianNB(var_smoothing=0.0),
    }
    peer = peers[shape].fit(X, y)
    assert np.allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)


def test_no_labels_but_names_is_a_mixture(rng):
    X, _ = blobs(rng)
    how = {"means_init": X[:2], "weights_init": [0.5, 0.5],
           "precisions_init": np.stack([np.eye(2)] * 2), "max_iter": 7,
           "tol": 0.0}  # fmt: skip
    a = fit(GaussianMixtureClassifier(classes=["a", "b"], **how), X, np.full(300, -1))
    b = fit(GaussianMixture(2, **how), X)
    assert np.allclose(a.means_, b.means_)
    assert np.array_equal(a.predict(X), np.array(["a", "b"])[b.predict(X)])


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000),
    shape=st.sampled_from(SHAPES),
    each=st.integers(1, 2),
    hard=st.booleans(),
    missing=st.booleans(),
)
def test_likelihood_never_falls(seed, shape, each, hard, missing):
    rng = np.random.default_rng(seed)
    X, y = blobs(rng, n=80, gap=2.0)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    model = GaussianMixtureClassifier(
        each, covariance_type=shape, reg_covar=0.0, hard=hard, tol=0.0, max_iter=8,
        random_state=0,
    )  # fmt: skip
    fit(model, X, hide(y, rng, 0.5))
    trace = -model.history_["objective"]
    assert np.all(np.diff(trace) >= -1e-9 * np.abs(trace[1:]))


def test_rows_without_labels_help(rng):
    X, y = blobs(rng, n=1000, gap=3.0)
    few = np.full(1000, -1)
    for c in (0, 1):
        few[np.flatnonzero(y == c)[:2]] = c
    model = fit(GaussianMixtureClassifier(), X, few)
    some = few >= 0
    alone = GaussianNB(var_smoothing=0.1).fit(X[some], few[some])
    assert model.score(X, y) > 0.97
    assert model.score(X, y) >= alone.score(X, y)
    assert np.array_equal(model.transduction_[some], y[some])
    draws, labels = model.sample(2000)
    assert (model.predict(draws) == labels).mean() > 0.95


def test_several_components_and_odd_names(rng):
    z = rng.integers(4, size=800)
    X = np.array([[0.0, 0], [6, 6], [0, 6], [6, 0]])[z] + rng.normal(size=(800, 2))
    y = np.where(z < 2, 10, 3)
    labels = np.where(rng.random(800) < 0.7, -1, y)
    model = fit(GaussianMixtureClassifier(2, n_init=3, random_state=0), X, labels)
    assert model.score(X, y) > 0.97
    assert model.classes_.tolist() == [3, 10]
    assert model.component_class_.tolist() == [0, 0, 1, 1]
    L = model.predict_joint_log_proba(X)
    assert np.allclose(np.exp(L).sum(1), np.exp(model.score_samples(X)))
    swapped = fit(
        GaussianMixtureClassifier(2, n_init=3, random_state=0, classes=[10, 3]),
        X,
        labels,
    )
    assert swapped.score(X, y) > 0.97


def test_weights_are_repetitions_and_other_rows(rng, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    torch = pytest.importorskip("torch")
    X, y = blobs(rng)
    y, w = hide(y, rng, 0.7), rng.integers(1, 4, 300)
    a = fit(GaussianMixtureClassifier(), X, y, sample_weight=w)
    b = fit(GaussianMixtureClassifier(), np.repeat(X, w, axis=0), np.repeat(y, w))
    assert np.allclose(a.means_, b.means_)
    assert np.allclose(a.covariances_, b.covariances_)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(2)}), path)
    whole = fit(GaussianMixtureClassifier(), X, y)
    disk = fit(GaussianMixtureClassifier(), path, y)
    tensor = fit(GaussianMixtureClassifier(), torch.asarray(X), torch.asarray(y))
    assert np.allclose(whole.means_, disk.means_)
    assert np.allclose(whole.means_, tensor.means_)
    assert np.array_equal(whole.predict(X), disk.predict(path))
    assert np.array_equal(whole.predict(X), tensor.predict(torch.asarray(X)))


def test_bad_labels_are_named(rng):
    X, y = blobs(rng, n=30)
    with pytest.raises(ValueError, match="every label is missing"):
        GaussianMixtureClassifier().fit(X, np.full(30, -1))
    with pytest.raises(ParameterError, match="classes must differ"):
        GaussianMixtureClassifier(classes=[1, 1]).fit(X, y)
    with pytest.raises(ValueError, match="2 classes"):
        GaussianMixtureClassifier().fit(X, np.zeros(30))


def test_empty_text_is_no_label(rng):
    X, y = blobs(rng)
    few = hide(y, rng, 0.8)
    names = np.array(["a", "b", ""])  # -1 takes the last
    number, text = GaussianMixtureClassifier(), GaussianMixtureClassifier()
    fit(number, X, few)
    fit(text, X, names[few])
    assert text.classes_.tolist() == ["a", "b"]
    assert np.array_equal(names[number.transduction_], text.transduction_)
