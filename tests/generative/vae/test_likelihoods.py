"""Likelihoods are full log-probabilities: held against `pansophy.distributions`."""

import numpy as np
import pytest
import torch

from pansophy.distributions import Bernoulli, Categorical, Normal, Poisson
from pansophy.generative.vae.likelihoods import (
    BernoulliLikelihood,
    CategoricalLikelihood,
    MixedLikelihood,
    NormalLikelihood,
    PoissonLikelihood,
    check_likelihood,
)

RNG = np.random.default_rng(0)


def tensor(a):
    return torch.as_tensor(np.asarray(a, float))


@pytest.mark.parametrize("variance", ["column", "global", "predicted", 0.25])
def test_normal(variance):
    X, F = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 6))
    part = NormalLikelihood(3, variance).double()
    F = F if variance == "predicted" else F[:, :3]
    if part.log_scale is not None and variance != 0.25:
        with torch.no_grad():
            part.log_scale.copy_(tensor(RNG.normal(size=part.log_scale.shape)))
    found = part.log_prob(tensor(X), tensor(F)).sum(-1).detach().numpy()
    if variance == "predicted":
        scales = np.exp(F[:, 3:]) + 1e-3
    else:
        scales = np.broadcast_to(part.log_scale.detach().exp().numpy(), (5, 3))
    for i in range(5):
        p = Normal(F[i, :3], scales[i] ** 2, "diag")
        assert found[i] == pytest.approx(float(p.log_prob(X[i : i + 1])[0]))
    assert (part.log_scale is None) == (variance == "predicted")
    if variance == 0.25:
        assert not part.log_scale.requires_grad
        np.testing.assert_allclose(scales**2, 0.25)


def test_a_constant_column_has_a_finite_density():
    part = NormalLikelihood(1)
    with torch.no_grad():
        part.log_scale.fill_(-50.0)
    assert part.log_prob(torch.zeros(1, 1), torch.zeros(1, 1)).item() < 7


def test_bernoulli_and_poisson():
    F = RNG.normal(size=(1, 4))
    X = np.array([[0.0, 1, 1, 0]])
    found = BernoulliLikelihood(4).log_prob(tensor(X), tensor(F)).sum()
    p = Bernoulli(1 / (1 + np.exp(-F[0])))
    assert float(found) == pytest.approx(float(p.log_prob(X)[0]))
    X = np.array([[0.0, 3, 1, 7]])
    part = PoissonLikelihood([9] * 4)
    found = part.log_prob(tensor(X), tensor(F)).sum()
    rate = part.mean(tensor(F)).numpy()[0]
    assert float(found) == pytest.approx(float(Poisson(rate).log_prob(X)[0]))


def test_rates_stay_below_a_limit_above_the_largest_count():
    """1 / rate = e^-F + 1 / limit, with a limit of e times the largest count."""
    part = PoissonLikelihood([0, 9, 400])
    F = tensor(np.linspace(-20, 60, 30)[:, None] * np.ones(3))
    limit = np.e * np.array([1, 9, 400])
    expected = 1 / (np.exp(-F.numpy()) + 1 / limit)
    np.testing.assert_allclose(part.mean(F).numpy(), expected, rtol=1e-6)


def test_categorical_with_unequal_levels():
    part = CategoricalLikelihood([2, 4, 1])
    X = np.array([[0.0, 3, 0], [1, 1, 0]])
    F = RNG.normal(size=(2, 7))
    found = part.log_prob(tensor(X), tensor(F)).numpy()
    ends = np.cumsum([0, 2, 4, 1])
    for i in range(2):
        for j in range(3):
            scores = F[i, ends[j] : ends[j + 1]]
            p = Categorical(np.exp(scores) / np.exp(scores).sum())
            wanted = float(np.ravel(p.log_prob(X[i, [j]].astype(int)))[0])
            assert found[i, j] == pytest.approx(wanted, abs=1e-12)
    hot = part.features(tensor(X)).numpy()
    assert hot.tolist() == [[1, 0, 0, 0, 0, 1, 1], [0, 1, 0, 1, 0, 0, 1]]
    several = part.log_prob(tensor(X), tensor(RNG.normal(size=(3, 2, 7))))
    assert several.shape == (3, 2, 3)


PARTS = {
    "normal": (lambda: NormalLikelihood(3).double(), lambda X: X),
    "bernoulli": (lambda: BernoulliLikelihood(3), lambda X: X > 0),
    "poisson": (lambda: PoissonLikelihood([20] * 3), lambda X: np.floor(np.abs(3 * X))),
    "categorical": (
        lambda: CategoricalLikelihood([3, 3, 3]),
        lambda X: np.clip(np.floor(X + 1), 0, 2),
    ),
}


@pytest.mark.parametrize("kind", list(PARTS))
def test_draws_have_the_mean_and_start_at_the_data(kind):
    make, map_rows = PARTS[kind]
    part = make()
    X = np.asarray(map_rows(RNG.normal(size=(5000, 3))), float)
    F = tensor(part.initial_outputs(X))
    torch.manual_seed(0)
    drawn = part.draw(F.expand(20_000, -1)).detach().numpy()
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.06)
    if kind != "categorical":
        np.testing.assert_allclose(
            part.mean(F).detach().numpy(), X.mean(axis=0), atol=0.01
        )


def test_mixed_columns_and_missing_values():
    """Columns in any order; a missing number counts by its absence alone."""
    normal, levels = NormalLikelihood(1).double(), CategoricalLikelihood([3])
    absent = BernoulliLikelihood(1)
    mixed = MixedLikelihood([([1], normal), ([2], absent), ([0], levels)], {1: 2})
    X = tensor([[2, 0.7, 0], [0, 0.0, 1]])
    F = tensor(RNG.normal(size=(2, 5)))
    found = mixed.log_prob(X, F).detach()
    expected = torch.stack(
        [
            levels.log_prob(X[:, :1], F[:, 2:])[:, 0],
            normal.log_prob(X[:, 1:2], F[:, :1])[:, 0] * tensor([1, 0]),
            absent.log_prob(X[:, 2:], F[:, 1:2])[:, 0],
        ],
        1,
    ).detach()
    torch.testing.assert_close(found, expected)
    assert mixed.draw(F).shape == mixed.mean(F).shape == (2, 3)
    assert mixed.features(X).shape == (2, mixed.n_features) == (2, 5)


def test_unfit_columns_are_named():
    with pytest.raises(ValueError, match=r"'bernoulli' of VAE.*from 0 to 1.*-1 to 2"):
        check_likelihood("bernoulli", np.array([[-1.0, 2.0]]), "VAE")
    for kind in ("poisson", "categorical"):
        with pytest.raises(ValueError, match=r"column 1 of X holds 1\.5"):
            check_likelihood(kind, np.array([[0.0, 1.5]]), "VAE")
