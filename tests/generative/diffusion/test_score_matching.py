"""Scores, Fisher divergence and the losses that fit scores."""

import numpy as np
import pytest
import torch

from pansophy.distributions import Normal
from pansophy.generative import fisher_divergence, score
from pansophy.generative.diffusion.score_matching import (
    denoising_score_loss,
    implicit_score_loss,
    sliced_score_loss,
)

MEAN = np.array([1.0, -0.5])
COV = np.array([[1.0, 0.4], [0.4, 0.5]])
PRECISION = np.linalg.inv(COV)


def rows(n=4000, seed=0):
    return np.random.default_rng(seed).multivariate_normal(MEAN, COV, size=n)


def normal_log_prob(x):
    gap = x - torch.as_tensor(MEAN)
    return -0.5 * ((gap @ torch.as_tensor(PRECISION)) * gap).sum(-1)


def test_score_of_a_normal_density():
    X = rows()
    s = score(normal_log_prob, X)
    np.testing.assert_allclose(s, -(X - MEAN) @ PRECISION, atol=1e-12)
    assert np.abs(s.mean(0)).max() < 5 * s.std(0).max() / len(X) ** 0.5
    shifted = score(lambda x: normal_log_prob(x) + 1e6, X)  # free of Z
    np.testing.assert_allclose(shifted, s, atol=1e-6)


def test_score_with_a_gradient_of_the_users():
    log_prob = lambda x: -0.5 * (x**2).sum(-1)
    np.testing.assert_allclose(
        score(log_prob, [[1.0, 2.0]], grad=lambda x: -x), [[-1, -2]]
    )
    with pytest.raises(TypeError, match="gradient"):
        score(
            lambda x: -0.5 * np.square(np.asarray(x, float)).sum(-1).tolist(), [[1.0]]
        )


def test_fisher_divergence_is_zero_for_equal_scores_only():
    X = rows()
    truth = lambda x: -(x - MEAN) @ PRECISION
    assert fisher_divergence(truth, truth, X) == 0
    other = lambda x: truth(x) + 1.0
    assert fisher_divergence(truth, other, X) == pytest.approx(1.0)  # half of 1 + 1
    assert fisher_divergence(truth(X), other(X)) == pytest.approx(1.0)
    w = np.r_[np.ones(10), np.zeros(len(X) - 10)]
    half = lambda x: truth(x) / 2
    assert fisher_divergence(truth, half, X, w) == pytest.approx(
        fisher_divergence(truth, half, X[:10])
    )
    with pytest.raises(ValueError, match="one shape"):
        fisher_divergence(np.zeros((3, 2)), np.zeros((3, 1)))


def linear_score(A, b):
    return lambda x: x @ torch.as_tensor(A).T + torch.as_tensor(b)


def test_implicit_loss_is_the_divergence_up_to_a_constant():
    X = rows(200_000)
    t = torch.as_tensor(X)
    truth = lambda x: -(x - MEAN) @ PRECISION
    rng = np.random.default_rng(1)
    gaps = []
    for _ in range(3):
        A, b = rng.normal(size=(2, 2)), rng.normal(size=2)
        model = linear_score(A, b)
        loss = implicit_score_loss(model, t).mean().item()
        gaps.append(loss - fisher_divergence(truth, lambda x, A=A, b=b: x @ A.T + b, X))
    np.testing.assert_allclose(gaps, -0.5 * np.trace(PRECISION), atol=0.06)


def test_best_linear_score_is_that_of_the_sample_moments():
    """The normal model recovers mean and covariance: the gradient vanishes there."""
    X = torch.as_tensor(rows(500))
    S = torch.cov(X.T, correction=0)
    P = torch.linalg.inv(S)
    A = (-P).clone().requires_grad_()
    b = (P @ X.mean(0)).clone().requires_grad_()
    loss = implicit_score_loss(lambda x: x @ A.T + b, X).mean()
    for g in torch.autograd.grad(loss, [A, b]):
        assert g.abs().max() < 1e-10


def test_sliced_loss_is_unbiased():
    torch.manual_seed(0)
    x = torch.randn(4, 3, dtype=torch.float64)
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)
    ).double()
    exact = implicit_score_loss(net, x).detach()
    signs = torch.tensor(np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T)
    mean = torch.stack(
        [sliced_score_loss(net, x, v.expand(4, 3)).detach() for v in signs]
    )
    torch.testing.assert_close(mean.mean(0), exact)  # over all signs: exactly
    many = torch.stack([sliced_score_loss(net, x).detach() for _ in range(200)])
    assert ((many.mean(0) - exact).abs() < 5 * many.std(0) / 200**0.5 + 1e-9).all()


def test_denoising_loss_is_least_for_the_score_with_noise():
    torch.manual_seed(0)
    x = torch.randn(20_000, 1, dtype=torch.float64)
    sigma = 0.5
    losses = []
    for slope in (0.7, 0.8, 0.9):  # the score of N(0, 1.25) has slope -0.8
        torch.manual_seed(1)
        losses.append(
            float(denoising_score_loss(lambda z, a=slope: -a * z, x, sigma).mean())
        )
    assert losses[1] < losses[0] and losses[1] < losses[2]


def test_distributions_and_functions_agree():
    X = rows(5)
    compiled = lambda x: Normal(MEAN, COV).log_prob(x)
    s = score(compiled, X, grad=lambda x: -(x - MEAN) @ PRECISION)
    np.testing.assert_allclose(s, score(normal_log_prob, X))


def test_scores_of_distributions_with_numpy_parameters(rng):
    C = np.array([[2.0, 0.6], [0.6, 1.0]])
    m = np.array([1.0, -1.0])
    X = rng.standard_normal((5, 2))
    expected = -(X - m) @ np.linalg.inv(C)
    np.testing.assert_allclose(score(Normal(m, C), X), expected, atol=1e-12)
    diagonal = Normal(m, np.array([2.0, 0.5]), shape="diag")
    np.testing.assert_allclose(score(diagonal, X), -(X - m) / [2.0, 0.5], atol=1e-12)
