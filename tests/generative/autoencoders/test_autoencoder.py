"""Autoencoders: the linear one is PCA, codes round-trip, options do what they say."""

import numpy as np
import pytest
import torch
from scipy.linalg import subspace_angles

from pansophy.decomposition import PCA
from pansophy.generative import Autoencoder

CONVERGED = {
    "dtype": "float64",
    "batch_size": 1000,
    "learning_rate_init": 0.2,
    "random_state": 0,
    "device": "cpu",
}


def plane_with_noise(n=120, d=5, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [3, 2] @ rng.normal(size=(2, d))
    return X + 0.5 * rng.normal(size=(n, d)) + np.arange(d)


def error(X, Y):
    return np.square(X - Y).sum(axis=1).mean()


@pytest.mark.parametrize("tied", [False, True])
def test_linear_autoencoder_reaches_the_pca_error_and_its_subspace(tied):
    X = plane_with_noise()
    model = Autoencoder(
        2, hidden_layer_sizes=(), tied_weights=tied, scaling=None, n_epochs=1000,
        **CONVERGED,
    ).fit(X)  # fmt: skip
    pca = PCA(2).fit(X)
    best = error(X, pca.inverse_transform(pca.transform(X)))
    found = error(X, model.reconstruct(X))
    assert best - 1e-9 <= found <= best * (1.000001 if tied else 1.03)
    layer = model.net_.encoder.layers[0] if tied else model.net_.decoder.layers[0]
    W = layer.weight.detach().numpy()
    W = W.T if tied else W
    assert subspace_angles(W, pca.components_.T).max() < (1e-3 if tied else 0.2)


def curved_sheet(n=300, seed=0):
    """A parabolic sheet in three dimensions."""
    u = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return np.column_stack([u, 2 * (u**2).sum(axis=1)])


def test_deep_autoencoder_beats_pca_on_a_curved_sheet():
    X = curved_sheet()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    pca = PCA(2).fit(Z)
    plane = np.square(Z - pca.inverse_transform(pca.transform(Z))).mean()
    model = Autoencoder(2, n_epochs=80, random_state=0, device="cpu").fit(X)
    assert model.reconstruction_error(X).mean() < plane / 5


def test_reconstruction_is_decode_of_encode_and_scores_are_minus_errors():
    X = plane_with_noise()
    model = Autoencoder(2, n_epochs=3, random_state=0, device="cpu").fit(X)
    codes = model.encode(X)
    assert codes.shape == (len(X), 2)
    np.testing.assert_array_equal(model.decode(codes), model.reconstruct(X))
    np.testing.assert_array_equal(model.transform(X), codes)
    np.testing.assert_array_equal(model.inverse_transform(codes), model.reconstruct(X))
    by_hand = np.square((X - model.reconstruct(X)) / model.scale_).mean(axis=1)
    np.testing.assert_allclose(model.reconstruction_error(X), by_hand)
    np.testing.assert_allclose(model.score(X), -by_hand.mean())
    assert list(model.get_feature_names_out()) == ["autoencoder0", "autoencoder1"]


def test_images_keep_their_shape():
    images = np.random.default_rng(0).random((40, 4, 5, 3))
    model = Autoencoder(2, n_epochs=2, random_state=0, device="cpu").fit(images)
    assert model.reconstruct(images).shape == images.shape
    assert model.sample(3).shape == (3, 4, 5, 3)
    assert len(np.unique(model.scale_)) == 1, "one scale for all pixels"
    with pytest.raises(ValueError, match=r"shape \(5, 4, 3\).*expecting \(4, 5, 3\)"):
        model.encode(images.transpose(0, 2, 1, 3))


def test_samples_have_the_covariance_of_a_linear_model():
    X = plane_with_noise(400)
    model = Autoencoder(
        2, hidden_layer_sizes=(), scaling=None, n_epochs=300, **CONVERGED
    ).fit(X)
    made = model.sample(20_000, random_state=0)
    wanted = np.cov(model.reconstruct(X).T)
    np.testing.assert_allclose(np.cov(made.T), wanted, atol=0.04 * wanted.max())
    np.testing.assert_allclose(made.mean(axis=0), X.mean(axis=0), atol=0.25)


def test_weights_are_repeated_rows():
    X = plane_with_noise(30)
    w = np.arange(30) % 3
    options = {**CONVERGED, "n_epochs": 20}
    a = Autoencoder(2, **options).fit(X, sample_weight=w)
    b = Autoencoder(2, **options).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.encode(X), b.encode(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        a.sample(4, random_state=0), b.sample(4, random_state=0), rtol=1e-6
    )


def test_contraction_flattens_codes():
    X = curved_sheet(100)
    options = {"n_epochs": 40, "random_state": 0, "device": "cpu", "dtype": "float64"}

    def slopes(model):
        Z = torch.as_tensor((X - model.mean_) / model.scale_)
        return float(model.net_.squared_slopes(Z).mean())

    plain = Autoencoder(2, **options).fit(X)
    contractive = Autoencoder(2, contraction=0.1, **options).fit(X)
    assert slopes(contractive) < slopes(plain) / 1.5
    assert contractive.history_["contraction"][-1] == pytest.approx(
        0.1 * slopes(contractive), rel=0.2
    )


def test_slopes_are_the_jacobian_of_the_code():
    X = plane_with_noise(6)
    model = Autoencoder(2, n_epochs=1, random_state=0, device="cpu").fit(X)
    net = model.net_.double()
    Z = torch.as_tensor(X)
    J = torch.autograd.functional.jacobian(lambda z: net.encode(z[None])[0], Z[0])
    assert float(net.squared_slopes(Z)[0]) == pytest.approx(float(J.square().sum()))


@pytest.mark.parametrize("corruption", ["gaussian", "masking"])
def test_denoising_learns_to_remove_noise(corruption):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1)) @ np.ones((1, 8))
    options = {"n_epochs": 40, "random_state": 0, "device": "cpu"}
    seen = X + 1.0 * rng.normal(size=X.shape)
    if corruption == "masking":
        seen = X * (rng.random(X.shape) > 0.5)
    noise = 0.5 if corruption == "masking" else 1.0
    model = Autoencoder(2, noise=noise, corruption=corruption, **options).fit(X)
    plain = Autoencoder(2, **options).fit(X)
    assert error(X, model.reconstruct(seen)) < 0.7 * error(X, plain.reconstruct(seen))


def test_clear_errors():
    X = plane_with_noise()
    with pytest.raises(ValueError, match="noise must be below 1"):
        Autoencoder(noise=1.5, corruption="masking").fit(X)
    model = Autoencoder(2, n_epochs=1, random_state=0, device="cpu").fit(X)
    with pytest.raises(ValueError, match=r"codes have 3 numbers.*Autoencoder have 2"):
        model.decode(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="n_samples must be a whole number"):
        model.sample(0)
    with pytest.raises(ValueError, match="fitted without labels"):
        model.sample(2, y=1)


def test_resumed_training_is_one_run(tmp_path):
    X = plane_with_noise()
    options = {"random_state": 0, "device": "cpu", "learning_rate": "constant"}
    whole = Autoencoder(2, n_epochs=6, **options).fit(X)
    path = tmp_path / "run.safetensors"
    first = Autoencoder(2, n_epochs=6, checkpoint=path, **options).fit(X)
    again = Autoencoder(2, n_epochs=6, checkpoint=path, resume=True, **options).fit(X)
    np.testing.assert_array_equal(whole.encode(X), first.encode(X))
    np.testing.assert_array_equal(whole.encode(X), again.encode(X))
