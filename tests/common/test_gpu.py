"""Methods without targets on CUDA tensors: they stay there and say the same."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from pansophy.cluster import KMeans
from pansophy.decomposition import PCA, KernelPCA
from pansophy.kernels import RBF
from pansophy.manifold import TSNE
from pansophy.mixture import GaussianMixture

X, _ = make_blobs(3000, 8, centers=5, random_state=0)
START = X[:5]
MODELS = [
    (KMeans(5, init=START), "cluster_centers_", "transform"),
    (GaussianMixture(5, means_init=START), "means_", "predict_proba"),
    (PCA(3), "components_", "transform"),
    (PCA(3, svd_solver="randomized", random_state=0), "components_", "transform"),
    (KernelPCA(3, kernel=RBF(5.0)), "eigenvalues_", "transform"),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("model", "name", "method"), MODELS, ids=lambda v: str(v)[:20])
def test_rows_stay_on_the_device(model, name, method):
    torch = pytest.importorskip("torch")
    from sklearn.base import clone

    T = torch.as_tensor(X, device="cuda")
    here, there = clone(model).fit(X), clone(model).fit(T)
    found = getattr(there, name)
    assert found.device == T.device == getattr(there, method)(T).device
    np.testing.assert_allclose(
        np.abs(found.cpu().numpy()), np.abs(getattr(here, name)), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(
        np.abs(getattr(there, method)(T).cpu().numpy()),
        np.abs(getattr(here, method)(X)),
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.gpu
def test_maps_stay_on_the_device():
    torch = pytest.importorskip("torch")
    T = torch.as_tensor(X[:600], device="cuda")
    model = TSNE(method="exact", random_state=0)
    Y = model.fit_transform(T)
    assert Y.device == T.device
    here = TSNE(method="exact", random_state=0).fit(X[:600])
    assert model.kl_divergence_ == pytest.approx(here.kl_divergence_, rel=0.1)
