"""The importance-weighted bound rises with K to the truth."""

import numpy as np
import pytest

from pansophy.decomposition import ProbabilisticPCA
from pansophy.generative import IWAE, VAE


@pytest.fixture(scope="module")
def linear_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) * [3, 1.5] @ rng.normal(size=(2, 4))
    return X + 0.7 * rng.normal(size=(300, 4))


LINEAR = {
    "hidden_layer_sizes": (),
    "variance": "global",
    "scaling": "global",
    "random_state": 0,
    "device": "cpu",
}


def test_bound_rises_to_the_likelihood_of_the_linear_model(linear_rows):
    """An encoder that is a little off: the gap closes as K grows."""
    X = linear_rows
    model = IWAE(2, n_samples=5, n_epochs=60, learning_rate_init=0.02, **LINEAR).fit(X)
    net = model.net_.double()
    W = net.decoder.layers[0].weight.detach().numpy() * model.scale_[:, None]
    c = net.decoder.layers[0].bias.detach().numpy() * model.scale_ + model.mean_
    s2 = (net.likelihood.log_scale.exp().item() * model.scale_[0]) ** 2
    from pansophy.distributions import Normal

    exact = Normal(c, W @ W.T + s2 * np.eye(4)).log_prob(X).mean()
    bounds = [model.log_prob_bound(X, n_samples=k).mean() for k in (1, 4, 32, 1000)]
    assert bounds == sorted(bounds)
    assert bounds[-1] == pytest.approx(exact, abs=3e-3)
    assert exact < ProbabilisticPCA(2).fit(X).loglike_ + 1e-9


def test_one_sample_is_the_elbo(linear_rows):
    """Trap 8."""
    X = linear_rows
    options = {**LINEAR, "n_epochs": 60, "learning_rate_init": 0.02}
    one = IWAE(2, n_samples=1, **options).fit(X)
    vae = VAE(2, **options).fit(X)
    gap = one.log_prob_bound(X, n_samples=1) - vae.log_prob_bound(X, n_samples=1)
    assert abs(gap.mean()) < 0.3
    assert set(one.history_) >= {"loss", "bound"}
