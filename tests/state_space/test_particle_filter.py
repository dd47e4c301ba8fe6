"""Particle filters against a grid and the Kalman filter."""

import functools

import numpy as np
import pytest

import pansophy
from pansophy.core.filtering import bayes_filter, bayes_smoother
from pansophy.state_space import (
    ParticleFilter,
)
from pansophy.state_space.linear_gaussian import (
    GaussianBelief,
    LinearGaussianFilter,
    LinearGaussianModel,
)


def linear_model(seed, k=2, p=2):
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


def kalman(model, X, smooth):
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
    f, h = (lambda z: 0.9 * z + np.sin(z)), (lambda z: z + 0.1 * z**2)
    rng, z, x = np.random.default_rng(4), 1.0, []
    for _ in range(40):
        x.append(h(z) + 0.3 * rng.normal())
        z = f(z) + 0.3 * rng.normal()
    truth = grid_filter(x, f, 0.3, h, 0.3, np.linspace(-8, 8, 1601))
    return f, h, np.array(x), truth


def particle_chain(m=4000, **more):
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


@pytest.mark.parametrize(
    "scheme", ["systematic", "stratified", "residual", "multinomial"]
)
def test_particles_against_a_grid(scheme):
    model, x, (mean, loglik) = particle_chain(resampling=scheme)
    found = model.filter(x)
    assert np.abs(found.means[:, 0] - mean).mean() < 0.01
    assert found.loglik == pytest.approx(loglik, abs=0.5)
    assert (found.sizes <= 4000).all() and found.sizes.min() > 100
    again = particle_chain(resampling=scheme)[0].filter(x)
    np.testing.assert_array_equal(again.means, found.means)
    low, high = found.quantile(0.05), found.quantile(0.95)
    assert (low < found.means).all() and (found.means < high).all()


def test_evidence_is_unbiased():
    _, x, (_, loglik) = particle_chain()
    parts = []
    for seed in range(40):
        model, _, _ = particle_chain(200)
        model.random_state = seed
        parts.append(np.exp(model.score(x) - loglik))
    error = np.std(parts) / np.sqrt(len(parts))
    assert abs(np.mean(parts) - 1) < 3.5 * error


def test_particles_smooth_like_kalman():
    m = linear_model(3, 1, 1)
    X = np.random.default_rng(0).normal(size=(12, 1))
    X[4] = np.nan
    F, Q, H, R, c = m.F[0, 0], m.Q[0, 0], m.H[0, 0], m.R[0, 0], m.c[0]
    log_normal = lambda e, s: -0.5 * (e**2 / s + np.log(2 * np.pi * s))
    model = ParticleFilter(
        lambda rng, z, t: F * z + c + np.sqrt(Q) * rng.normal(size=z.shape),
        lambda x, z, t: log_normal(x[0] - H * z[:, 0], R),
        lambda rng, n: m.m + np.sqrt(m.P[0]) * rng.normal(size=(n, 1)),
        log_transition=lambda new, old, t: log_normal(new - F * old - c, Q)[:, 0],
        n_particles=800,
        random_state=1,
    )
    mean, cov, _ = kalman(m, X, smooth=True)
    found = model.smooth(X)
    np.testing.assert_allclose(found.means, mean, atol=0.15)
    np.testing.assert_allclose(found.covs, cov, rtol=0.35)
    guided = ParticleFilter(
        model.transition,
        model.log_likelihood,
        model.initial,
        proposal=lambda rng, z, x, t: best_move(rng, z, x, F, Q, H, R, c),
        n_particles=800,
        random_state=1,
    ).filter(X)
    blind = model.filter(X)
    assert guided.sizes.mean() > blind.sizes.mean()
    assert guided.loglik == pytest.approx(kalman(m, X, False)[2], abs=0.3)
    with pytest.raises(ValueError, match="log_transition"):
        ParticleFilter(model.transition, model.log_likelihood, model.initial).smooth(X)


def best_move(rng, z, x, F, Q, H, R, c):
    """Draw from p(z' | z, x): the weights become p(x | z)."""
    S = H * H * Q + R
    K = Q * H / S
    mean = F * z + c + K * (x - H * (F * z + c))
    var = Q - K * H * Q
    new = mean + np.sqrt(var) * rng.normal(size=z.shape)
    log = lambda e, s: (-0.5 * (e**2 / s + np.log(2 * np.pi * s)))[:, 0]
    return new, log(new - F * z - c, Q) - log(new - mean, var)


LINEAR = {
    "initial_state_mean": [0.0, 0.0],
    "initial_state_covariance": 1.0,
    "transition_covariance": 0.1,
    "observation_covariance": 0.2,
}


def linear_rows():
    F, H = np.array([[1.0, 0.1], [0.0, 0.9]]), np.array([[1.0, 0.0]])
    noise = {**LINEAR, "observation_covariance": [[0.2]]}
    exact = pansophy.state_space.KalmanFilter(F, H, **noise)
    return F, H, exact, exact.sample(50, random_state=1)[1]


def test_forecasts_of_particles_are_near_those_of_kalman():
    F, _, exact, X = linear_rows()
    model = ParticleFilter(
        lambda rng, z, t: z @ F.T + np.sqrt(0.1) * rng.normal(size=z.shape),
        lambda x, z, t: -0.5 * (x[0] - z[:, 0]) ** 2 / 0.2,
        lambda rng, m: rng.normal(size=(m, 2)),
        n_particles=5000,
        random_state=0,
    )
    want = exact.forecast(4, X)
    states = model.forecast(4, X)
    np.testing.assert_allclose(states.means, want.state_mean, atol=0.06)
    seen = model.forecast(
        4, X, observe=lambda rng, z, t: z[:, 0] + np.sqrt(0.2) * rng.normal(size=len(z))
    )
    np.testing.assert_allclose(seen.means, want.mean, atol=0.06)
    np.testing.assert_allclose(seen.interval()[1], want.high, atol=0.12)
    with pytest.raises(ValueError, match="must draw 5000 rows"):
        model.forecast(1, X, observe=lambda rng, z, t: z[:3])
