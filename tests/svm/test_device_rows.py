"""Kernel machines on tensors: the answers of NumPy arrays, and rows on a device."""

import numpy as np
import pytest
from sklearn.base import clone

from pansophy import kernels
from pansophy.optim.constraints.smo import (
    DualSolver,
    RowCache,
    classifier_dual,
    solve_dual,
)
from pansophy.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM, kernel_machine
from pansophy.svm.device_rows import ComputedRows, DeviceRows
from pansophy.svm.kernel_rows import KernelSpec

torch = pytest.importorskip("torch")

MACHINES = [
    SVC(C=2.0),
    SVC(kernel="poly", degree=2, coef0=1.0, class_weight="balanced"),
    SVC(kernel=kernels.Matern(2.0)),
    SVC(probability=True, random_state=0),
    NuSVC(nu=0.6, kernel="linear"),  # with smaller ones there may be no margin
    SVR(kernel="linear"),
    NuSVR(),
    OneClassSVM(nu=0.2),
]
METHODS = ("decision_function", "predict", "predict_proba", "score_samples")


def rows(n=200, k=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, 4)) + y[:, None], y


def answers(model, X):
    return {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}


@pytest.fixture(params=["host", "device"])
def place(request, monkeypatch):
    """Tensors in main memory, or such that stand for those of a device."""
    if request.param == "device":
        monkeypatch.setattr(kernel_machine, "is_on_device", torch.is_tensor)
    return request.param


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("model", MACHINES, ids=str)
def test_tensors_give_what_numpy_gives(place, model, k):
    X, y = rows(k=k)
    w = np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    w[:5] = 0.0
    here = clone(model).fit(X, y, sample_weight=w)
    tensors = [torch.asarray(a) for a in (X, y, w)]
    there = clone(model).fit(*tensors[:2], sample_weight=tensors[2])
    assert isinstance(there.support_vectors_, np.ndarray)
    for name, right in answers(here, X).items():
        for found in (
            getattr(there, name)(tensors[0]),
            getattr(here, name)(tensors[0]),
        ):
            assert torch.is_tensor(found)
            np.testing.assert_allclose(found.numpy(), right, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(getattr(there, name)(X), right, rtol=1e-7, atol=1e-9)


def test_text_labels_and_precomputed_kernels_of_tensors(place):
    X, y = rows()
    names = np.array(["no", "yes"])[y]
    model = SVC().fit(torch.asarray(X), names)
    np.testing.assert_array_equal(
        model.predict(torch.asarray(X)), SVC().fit(X, names).predict(X)
    )
    K = torch.asarray(X @ X.T)
    model = SVC(kernel="precomputed").fit(K, torch.asarray(y))
    right = SVC(kernel="linear").fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.decision_function(K).numpy(), right, atol=1e-9)


def test_float32_tensors_warm_starts_and_bad_targets(place):
    X, y = rows()
    T, t = torch.asarray(X, dtype=torch.float32), torch.asarray(y)
    model = SVC(warm_start=True).fit(T, t)
    steps = int(model.n_iter_[0])
    assert int(model.fit(T, t).n_iter_[0]) < steps
    right = SVC().fit(T.numpy().astype(float), y).decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), right, atol=1e-6)
    with pytest.raises(ValueError, match="Unknown label type"):
        SVC().fit(T, T[:, 0])
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict(T[:, :2])
    with pytest.raises(ValueError, match="contains NaN"):
        SVC().fit(T * torch.nan, t)


@pytest.mark.parametrize("k", [2, 3])
def test_rows_that_are_computed_at_each_use(monkeypatch, k):
    """The path of many rows: working sets, no matrix, the optimum of the small one."""
    monkeypatch.setattr(kernel_machine, "is_on_device", torch.is_tensor)
    monkeypatch.setattr(kernel_machine, "EXACT_ROWS", 50)
    monkeypatch.setattr("pansophy.svm.pairwise_classifier.EXACT_ROWS", 50)
    X, y = rows(300, k)
    right = SVC(C=5.0, tol=1e-8).fit(X, y)
    found = SVC(C=5.0, tol=1e-8).fit(torch.asarray(X), torch.asarray(y))
    np.testing.assert_allclose(found.dual_objective_, right.dual_objective_, rtol=1e-12)
    np.testing.assert_allclose(
        found.decision_function(X), right.decision_function(X), atol=1e-6
    )


def test_sums_of_computed_rows_are_those_of_the_matrix():
    X, y = rows(120)
    training = DeviceRows(KernelSpec("rbf", 0.3), torch.asarray(X))
    K = kernels.RBF(gamma=0.3)(X)
    members = np.arange(10, 110)
    part = K[np.ix_(members, members)]
    cache = ComputedRows(training, members)
    b = np.random.default_rng(0).normal(size=100)
    np.testing.assert_allclose(cache.products(np.arange(40), b), part[:40] @ b)
    out = cache.asarray(np.ones(100))
    cache.add_rows(np.array([3, 50]), np.array([2.0, -1.0]), out)
    np.testing.assert_allclose(out, 1 + 2 * part[3] - part[50], atol=1e-14)
    problem = classifier_dual(np.where(y[members], 1.0, -1.0), np.full(100, 3.0))
    one = solve_dual(problem, cache, tol=1e-8, working=20)
    two = solve_dual(problem, RowCache(part), tol=1e-8)
    assert one.state.objective == pytest.approx(two.state.objective, rel=1e-12)


@pytest.mark.parametrize(
    "model",
    [SVC(), SVC(kernel="poly", degree=2), NuSVC(nu=0.4), SVR(), NuSVR()],
    ids=str,
)
def test_float32_sums_are_computed_anew_before_the_last_check(monkeypatch, model):
    monkeypatch.setattr(kernel_machine, "is_on_device", torch.is_tensor)
    monkeypatch.setattr(kernel_machine, "EXACT_ROWS", 50)
    monkeypatch.setattr("pansophy.svm.device_rows.DEVICE_WORKING", 64)
    rounded = []
    plain = DualSolver.with_exact_products
    monkeypatch.setattr(
        DualSolver,
        "with_exact_products",
        lambda self, s: rounded.append(s.products) or plain(self, s),
    )
    X, y = rows(300)
    found = clone(model).fit(torch.asarray(X), torch.asarray(y))
    assert len(rounded) == 1  # the sums of the solver were float32 ones
    right = clone(model).set_params(tol=1e-9).fit(X, y)
    np.testing.assert_allclose(found.dual_objective_, right.dual_objective_, rtol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("model", [SVC(), SVR(), OneClassSVM(nu=0.1)], ids=str)
def test_machines_on_the_gpu(model):
    X, y = rows(5000)
    T = torch.as_tensor(X, device="cuda")
    here = clone(model).fit(X, y)
    there = clone(model).fit(T, torch.as_tensor(y, device="cuda"))
    np.testing.assert_allclose(there.dual_objective_, here.dual_objective_, rtol=1e-5)
    for name, right in answers(here, X).items():
        found = getattr(there, name)(T)
        assert found.device == T.device
        close = np.isclose(found.cpu().numpy(), right, atol=2e-2)
        assert close.mean() > 0.99
