"""Sparse autoencoder: activations are pulled to rho."""

import numpy as np
import pytest

from pansophy.generative import Autoencoder, SparseAutoencoder
from pansophy.generative.autoencoders.autoencoder import dense_autoencoder

X = np.random.default_rng(0).normal(size=(200, 5)) @ np.random.default_rng(1).normal(
    size=(5, 5)
)
OPTIONS = {"n_epochs": 60, "batch_size": 50, "random_state": 0, "device": "cpu"}
FAST = {**OPTIONS, "learning_rate_init": 0.05}


def test_mean_activation_moves_to_the_target():
    activity = [
        SparseAutoencoder(10, sparsity=beta, **FAST).fit(X).encode(X).mean()
        for beta in (0.0, 0.3, 30.0)
    ]
    assert activity[0] > activity[1] > activity[2]
    assert activity[2] == pytest.approx(0.05, abs=0.03)


def test_without_penalty_it_is_the_plain_model(monkeypatch):
    """The same net, weights and steps as an autoencoder with logistic codes."""
    sparse = SparseAutoencoder(3, sparsity=0.0, **OPTIONS).fit(X)
    assert "sparsity" not in sparse.history_
    logistic = lambda self, d, _: dense_autoencoder(self, d, code_activation="logistic")
    monkeypatch.setattr(Autoencoder, "_build_net", logistic)
    plain = Autoencoder(3, hidden_layer_sizes=(), learning_rate_init=0.01, **OPTIONS)
    plain.fit(X)
    np.testing.assert_array_equal(sparse.encode(X), plain.encode(X))
    np.testing.assert_array_equal(sparse.history_["loss"], plain.history_["loss"])


def test_codes_lie_between_0_and_1_and_samples_too():
    model = SparseAutoencoder(8, **OPTIONS).fit(X)
    codes = model.encode(X)
    assert (codes > 0).all() and (codes < 1).all()
    assert model.sample(5, random_state=0).shape == (5, 5)
