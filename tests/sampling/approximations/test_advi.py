"""ADVI on Gaussians and logistic regression."""

import numpy as np
import pytest

from pansophy.sampling import (
    ADVI,
    laplace_approximate,
    logistic_density,
)

A = np.random.default_rng(3).normal(size=(4, 4))
COV = A @ A.T / 4 + 0.2 * np.eye(4)
PRECISION = np.linalg.inv(COV)
MU = np.array([1.0, -2.0, 0.5, 0.0])
normal = lambda x: -0.5 * np.sum(((x - MU) @ PRECISION) * (x - MU), axis=-1)
slope = lambda x: -(x - MU) @ PRECISION
LOG_Z = 0.5 * np.linalg.slogdet(2 * np.pi * COV)[1]


@pytest.mark.parametrize("solver", ["adam", "fixed"])
def test_advi_is_exact_on_a_gaussian(solver):
    how = {"grad": slope, "solver": solver}
    run = ADVI(normal, family="full_rank", **how).run(np.zeros(4), 0)
    np.testing.assert_allclose(run.mean, MU, atol=1e-4)
    np.testing.assert_allclose(run.normal.cov, COV, atol=1e-3)
    assert run.elbo == pytest.approx(LOG_Z, abs=1e-4) and run.se < 1e-4
    assert run.history[-1] > run.history[0]
    run = ADVI(normal, **how).run(np.zeros(4), 0)
    np.testing.assert_allclose(run.mean, MU, atol=1e-3)
    np.testing.assert_allclose(run.normal.variance, 1 / np.diag(PRECISION), rtol=0.06)
    assert run.elbo < LOG_Z
    assert run.sample(5, random_state=0).shape == (5, 4)


def test_advi_and_laplace_on_logistic_regression():
    """Near each other and near a long chain of NUTS."""
    from pansophy.sampling import NUTS, sample

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (rng.random(400) < 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.3]))).astype(float)
    density = logistic_density(X, y)
    flat = sample(NUTS(density), 1000, init=np.zeros(3), random_state=0).flat
    sd = flat.std(axis=0)
    near = laplace_approximate(density, np.zeros(3))
    assert near.converged
    np.testing.assert_allclose(near.mode, flat.mean(axis=0), atol=0.25 * sd.max())
    for solver in ("adam", "fixed"):
        run = ADVI(density, family="full_rank", solver=solver).run(np.zeros(3), 0)
        np.testing.assert_allclose(run.mean, flat.mean(axis=0), atol=0.12 * sd.max())
        np.testing.assert_allclose(np.sqrt(run.normal.variance), sd, rtol=0.1)
        assert run.elbo == pytest.approx(near.log_evidence, abs=0.2)


def test_advi_by_torch():
    torch = pytest.importorskip("torch")
    L = torch.as_tensor(PRECISION)
    mu = torch.as_tensor(MU)
    f = lambda x: -0.5 * (((x - mu) @ L) * (x - mu)).sum(-1)
    run = ADVI(f, family="full_rank", solver="fixed").run(np.zeros(4), 0)
    np.testing.assert_allclose(run.normal.cov, COV, atol=1e-3)
    with pytest.raises(TypeError, match="needs the gradient"):
        ADVI(lambda x: -np.square(x.item()), batched=False).run([0.0])
