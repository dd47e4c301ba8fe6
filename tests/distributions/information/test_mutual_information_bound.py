"""The variational bound: below the mutual information, tight at the posterior."""

import math

import numpy as np
import pytest

from pansophy.distributions import entropy, mi_lower_bound, mutual_information


@pytest.fixture
def joint(rng):
    table = rng.random((4, 6))
    return table / table.sum()


def exact_bound(joint, Q, base=None):
    """The bound with every pair (c, x) weighted by its probability."""
    h = float(entropy(joint.sum(axis=1)))
    log_q = np.log(Q).ravel()
    return float(mi_lower_bound(log_q, h, sample_weight=joint.ravel(), base=base))


def test_tight_at_the_posterior_and_below_elsewhere(joint, rng):
    exact = float(mutual_information(joint))
    posterior = joint / joint.sum(axis=0)
    assert exact_bound(joint, posterior) == pytest.approx(exact, abs=1e-12)
    assert exact_bound(joint, posterior, base=2) == pytest.approx(exact / math.log(2))
    h = float(entropy(joint.sum(axis=1)))
    for _ in range(20):
        Q = rng.random(joint.shape) + 0.01
        Q /= Q.sum(axis=0)
        found = exact_bound(joint, Q)
        assert found < exact and found <= h
    prior = np.repeat(joint.sum(axis=1, keepdims=True), 6, axis=1)
    assert exact_bound(joint, prior) == pytest.approx(0, abs=1e-12)


def test_samples_weights_and_tensors(joint, rng):
    torch = pytest.importorskip("torch")
    posterior = joint / joint.sum(axis=0)
    cells = rng.choice(24, 40000, p=joint.ravel())
    h = float(entropy(joint.sum(axis=1)))
    log_q = np.log(posterior).ravel()[cells]
    exact = float(mutual_information(joint))
    assert float(mi_lower_bound(log_q, h)) == pytest.approx(exact, abs=0.02)
    some = log_q[:5]
    w = np.array([1, 2, 0, 3, 1])
    assert float(mi_lower_bound(some, h, sample_weight=w)) == pytest.approx(
        float(mi_lower_bound(np.repeat(some, w), h))
    )
    tensor = torch.tensor(some, requires_grad=True)
    bound = mi_lower_bound(tensor, h)
    bound.backward()
    assert float(bound.detach()) == pytest.approx(float(mi_lower_bound(some, h)))
    torch.testing.assert_close(tensor.grad, torch.full_like(tensor, 0.2))
    sure = np.array([0.0, -np.inf])
    assert float(mi_lower_bound(sure, h, sample_weight=[1, 0])) == pytest.approx(h)
    with pytest.raises(ValueError, match="shape"):
        mi_lower_bound(np.zeros((2, 2)), h)
