"""Small chains with known filters, which tests of nonlinear filters share."""

import functools

import numpy as np

import pansophy
from pansophy.core.chains.filtering import bayes_filter, bayes_smoother
from pansophy.state_space import (
    ParticleFilter,
)
from pansophy.state_space.kalman.linear_gaussian import (
    GaussianBelief,
    LinearGaussianFilter,
    LinearGaussianModel,
)

LINEAR = {
    "initial_state_mean": [0.0, 0.0],
    "initial_state_covariance": 1.0,
    "transition_covariance": 0.1,
    "observation_covariance": 0.2,
}


def random_linear_model(seed, k=2, p=2):
    """A linear Gaussian model of random matrices."""
    rng = np.random.default_rng(seed)
    spd = lambda d: (lambda a: a @ a.T / d + 0.2 * np.eye(d))(rng.normal(size=(d, d)))
    F = rng.normal(size=(k, k)) * 0.5
    return LinearGaussianModel(
        F,
        spd(k),
        rng.normal(size=(p, k)),
        spd(p),
        rng.normal(size=k),
        np.zeros(p),
        rng.normal(size=k),
        spd(k),
    )


def kalman_beliefs(model, X, smooth):
    """Means, covariances and log-likelihood by the exact filter or smoother."""
    member = LinearGaussianFilter(model)
    run = bayes_filter(member, GaussianBelief(model.m, model.P), X)
    found = bayes_smoother(member, run) if smooth else run.filtered
    return (
        np.array([b.mean for b in found]),
        np.array([b.cov for b in found]),
        run.loglik,
    )


def grid_filter(x, f, q, h, r, z):
    """Beliefs of a chain in one dimension on a fine grid: the slow truth."""
    normal = lambda e, s: np.exp(-0.5 * (e / s) ** 2) / s
    move = normal(z[None, :] - f(z)[:, None], q)
    move /= move.sum(axis=1, keepdims=True)
    p, means, loglik = normal(z - 1.0, 0.5), [], 0.0
    p /= p.sum()
    for t, v in enumerate(x):
        p = p @ move if t else p
        p = p * normal(v - h(z), r) / np.sqrt(2 * np.pi)
        loglik += np.log(p.sum())
        p /= p.sum()
        means.append(p @ z)
    return np.array(means), loglik


@functools.cache
def bent_chain():
    """A nonlinear chain, its rows, and its beliefs by a grid."""
    f, h = (lambda z: 0.9 * z + np.sin(z)), (lambda z: z + 0.1 * z**2)
    rng, z, x = np.random.default_rng(4), 1.0, []
    for _ in range(40):
        x.append(h(z) + 0.3 * rng.normal())
        z = f(z) + 0.3 * rng.normal()
    truth = grid_filter(x, f, 0.3, h, 0.3, np.linspace(-8, 8, 1601))
    return f, h, np.array(x), truth


def particle_chain(m=4000, **more):
    """A particle filter of the bent chain, the rows and the truth."""
    f, h, x, truth = bent_chain()
    model = ParticleFilter(
        lambda rng, z, t: f(z) + 0.3 * rng.normal(size=z.shape),
        lambda v, z, t: -0.5 * ((v - h(z[:, 0])) / 0.3) ** 2 - np.log(0.3 * 2.5066283),
        lambda rng, m: 1 + 0.5 * rng.normal(size=(m, 1)),
        n_particles=m,
        random_state=0,
        **more,
    )
    return model, x, truth


def linear_rows():
    """Matrices, the exact filter and rows of a linear chain."""
    F, H = np.array([[1.0, 0.1], [0.0, 0.9]]), np.array([[1.0, 0.0]])
    noise = {**LINEAR, "observation_covariance": [[0.2]]}
    exact = pansophy.state_space.KalmanFilter(F, H, **noise)
    return F, H, exact, exact.sample(50, random_state=1)[1]
