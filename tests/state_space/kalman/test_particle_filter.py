"""Particle filters against a grid and the Kalman filter."""

import numpy as np
import pytest

from pansophy.state_space import (
    ParticleFilter,
)
from tests.state_space.small_chains import (
    kalman_beliefs,
    linear_rows,
    particle_chain,
    random_linear_model,
)


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
    m = random_linear_model(3, 1, 1)
    X = np.random.default_rng(0).normal(size=(12, 1))
    X[4] = np.nan
    F, Q, H, R, c = m.F[0, 0], m.Q[0, 0], m.H[0, 0], m.R[0, 0], m.c[0]
    log_normal = lambda e, s: -0.5 * (e**2 / s + np.log(2 * np.pi * s))
    model = ParticleFilter(
        lambda rng, z, t: F * z + c + np.sqrt(Q) * rng.normal(size=z.shape),
        lambda x, z, t: log_normal(x[0] - H * z[:, 0], R),
        lambda rng, n: m.m + np.sqrt(m.P[0]) * rng.normal(size=(n, 1)),
        log_transition=lambda new, old, t: log_normal(new - F * old - c, Q)[:, 0],
        n_particles=3000,
        random_state=1,
    )
    mean, cov, _ = kalman_beliefs(m, X, smooth=True)
    found = model.smooth(X)
    # four seeds gave at most 0.10 and 0.07
    np.testing.assert_allclose(found.means, mean, atol=0.2)
    np.testing.assert_allclose(found.covs, cov, rtol=0.2)
    guided = ParticleFilter(
        model.transition,
        model.log_likelihood,
        model.initial,
        proposal=lambda rng, z, x, t: best_move(rng, z, x, F, Q, H, R, c),
        n_particles=3000,
        random_state=1,
    ).filter(X)
    blind = model.filter(X)
    assert guided.sizes.mean() > blind.sizes.mean()
    assert guided.loglik == pytest.approx(kalman_beliefs(m, X, False)[2], abs=0.3)
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
