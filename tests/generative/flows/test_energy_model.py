"""Energy models: the likelihood gradient, contrastive divergence on normal data."""

import numpy as np
import pytest
import torch
from scipy import stats

from pansophy.base import InterruptedFitWarning
from pansophy.generative import EnergyModel
from pansophy.generative.flows.energy_model import EnergyNet

MEAN = np.array([2.0, 0.0])
COV = np.array([[1.0, 0.5], [0.5, 1.0]])


def rows(n=600, seed=0):
    return np.random.default_rng(seed).multivariate_normal(MEAN, COV, size=n)


def test_gradient_vanishes_where_model_and_data_agree():
    """The two phases cancel if both are rows of the model."""
    torch.manual_seed(0)
    net = EnergyNet(1, ()).double()
    data = torch.randn(200_000, 1, dtype=torch.float64)
    model = torch.randn(200_000, 1, dtype=torch.float64)
    gap = net(data).mean() - net(model).mean()
    for g in torch.autograd.grad(gap, list(net.parameters())):
        assert g.abs().max() < 0.02
    shifted = net(3 * data).mean() - net(model).mean()
    slopes = torch.autograd.grad(shifted, list(net.parameters()))
    assert max(float(g.abs().max()) for g in slopes) > 1.0


def test_a_constant_in_the_energy_changes_nothing():
    torch.manual_seed(0)
    net = EnergyNet(2, (8,), n_steps=2)
    x = torch.randn(20, 2)
    before = net.score(x)

    def loss():
        torch.manual_seed(1)
        return net.losses({"X": x})["loss"].detach()

    one = loss()
    net.layers.layers[-1].bias.data.add_(7.0)
    torch.testing.assert_close(loss(), one, rtol=0, atol=1e-4)
    torch.testing.assert_close(net.score(x), before)


@pytest.mark.parametrize("persistent", [True, False])
def test_contrastive_divergence_recovers_a_normal_density(persistent):
    X = rows()
    model = EnergyModel(
        (), persistent=persistent, n_steps=6, alpha=0.0, n_epochs=20,
        learning_rate_init=0.03, random_state=0, device="cpu",
    ).fit(X)  # fmt: skip
    s = model.score_function(np.r_[[MEAN], [MEAN + [1, 0]], [MEAN + [0, 1]]])
    P = -(s[1:] - s[0])
    np.testing.assert_allclose(P, np.linalg.inv(np.cov(X.T)), atol=0.2)
    truth = stats.multivariate_normal(X.mean(0), np.cov(X.T)).logpdf(X)
    assert model.score_samples(X).mean() == pytest.approx(truth.mean(), abs=0.05)
    made = model.sample(1000, random_state=0)
    np.testing.assert_allclose(made.mean(0), MEAN, atol=0.2)
    np.testing.assert_allclose(np.cov(made.T), COV, atol=0.25)


def test_the_partition_function_of_a_known_energy():
    X = rows(40)
    model = EnergyModel((), n_epochs=1, n_steps=1, random_state=0, device="cpu").fit(X)
    P = (model.net_.root @ model.net_.root.T).detach().numpy()
    truth = np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(P)[1]
    error = model.log_partition_error_
    assert 0 < error < 0.05
    assert abs(model.log_partition_ - truth) < 4 * error


def test_energies_of_a_net_rank_rows():
    X = rows()
    model = EnergyModel(
        (16,), n_steps=5, n_epochs=15, random_state=0, device="cpu"
    ).fit(X)
    far = np.array([[20.0, -20.0]])
    assert model.energy(far)[0] > model.energy(X).max()
    np.testing.assert_allclose(
        model.score_samples(X) + model.energy(X),
        -model.log_partition_ - np.log(model.scale_).sum(),
    )
    assert np.isfinite(model.sample(5, random_state=0)).all()


def test_an_interrupt_within_the_chains_ends_training():
    """Ctrl-C mostly comes while chains move: it stops the run, which leaves a model."""
    calls = []
    model = EnergyModel((8,), n_steps=3, n_epochs=50, random_state=0, device="cpu")
    score = EnergyNet.score

    def interrupted_score(self, x):
        calls.append(1)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return score(self, x)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EnergyNet, "score", interrupted_score)
        with pytest.warns(InterruptedFitWarning) as told:
            model.fit(rows(100))
    assert len(told) == 1 and model.interrupted_
    assert np.isfinite(model.sample(3, random_state=0)).all()
    assert np.isfinite(model.score_samples(rows(5))).all()
