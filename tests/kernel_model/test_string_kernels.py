"""Kernels of strings in every kernel model: as their precomputed matrix."""

import numpy as np
import pytest
from sklearn.base import clone

from pansophy import load, save
from pansophy.cluster import KernelKMeans
from pansophy.decomposition import KernelPCA
from pansophy.gaussian_process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
)
from pansophy.kernel_approximation import Nystroem
from pansophy.kernel_model import (
    AsymmetricLSSVM,
    KernelLogisticRegression,
    KernelPerceptron,
    LSSVMClassifier,
    LSSVMRegressor,
)
from pansophy.kernel_ridge import KernelRidge
from pansophy.kernels import Precomputed, Spectrum

rng = np.random.default_rng(0)
WORDS = ["".join(rng.choice(list("abc"), 9)) for _ in range(45)]
LABELS = np.array([word.count("ab") > 1 for word in WORDS]).astype(int)
KERNEL = Spectrum(2)
MATRIX = KERNEL(WORDS)
TRAIN, TEST = slice(30), slice(30, None)


def answers(model, rows):
    for name in ("decision_function", "predict"):
        if hasattr(model, name):
            return getattr(model, name)(rows)
    raise AssertionError(model)


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(0.1),
        KernelLogisticRegression(),
        KernelPerceptron(max_iter=5000),
        LSSVMClassifier(),
        LSSVMRegressor(),
        AsymmetricLSSVM(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_as_the_precomputed_matrix(model):
    own = clone(model).set_params(kernel=KERNEL).fit(WORDS[TRAIN], LABELS[TRAIN])
    given = clone(model).set_params(kernel="precomputed")
    given.fit(MATRIX[TRAIN, TRAIN], LABELS[TRAIN])
    found = answers(own, WORDS[TEST])
    expected = answers(given, MATRIX[TEST, TRAIN])
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("cls", [GaussianProcessRegressor, GaussianProcessClassifier])
def test_processes_as_the_precomputed_matrix(cls):
    options = {"optimizer": None}
    if cls is GaussianProcessRegressor:
        options["alpha"] = 0.1
    own = cls(KERNEL, **options).fit(WORDS[TRAIN], LABELS[TRAIN])
    numbers = np.arange(45)[:, None]
    given = cls(Precomputed(MATRIX), **options).fit(numbers[TRAIN], LABELS[TRAIN])
    name = "predict_proba" if cls is GaussianProcessClassifier else "predict"
    np.testing.assert_allclose(
        getattr(own, name)(WORDS[TEST]), getattr(given, name)(numbers[TEST]), atol=1e-9
    )


def test_nystroem_features_of_strings(tmp_path):
    model = Nystroem(KERNEL, n_components=45, random_state=0).fit(WORDS)
    phi = model.transform(WORDS)
    np.testing.assert_allclose(phi @ phi.T, MATRIX, atol=1e-9)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(WORDS), phi)


def test_kernel_pca_and_k_means_of_strings(tmp_path):
    for model in (
        KernelPCA(3, kernel=KERNEL),
        KernelKMeans(3, kernel=KERNEL, random_state=0),
    ):
        precomputed = clone(model).set_params(kernel="precomputed")
        model.fit(WORDS[TRAIN])
        precomputed.fit(MATRIX[TRAIN, TRAIN])
        ours, theirs = (
            model.transform(WORDS[TEST]),
            precomputed.transform(MATRIX[TEST, TRAIN]),
        )
        if isinstance(model, KernelKMeans):  # precomputed: squared, less k(x, x)
            theirs = np.sqrt(theirs + np.diagonal(MATRIX)[TEST][:, None])
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
        save(model, tmp_path / "model")
        back = load(tmp_path / "model").transform(WORDS[TEST])
        np.testing.assert_array_equal(back, ours)
    with pytest.raises(ValueError, match="rows of numbers"):
        KernelPCA(kernel=KERNEL, fit_inverse_transform=True).fit(WORDS)
