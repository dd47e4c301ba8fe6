"""Distributions of actions: probabilities, gradients, masks, the tanh correction."""

import numpy as np
import pytest
import torch
from scipy import stats

from pansophy.rl.deep.action_heads import (
    CategoricalHead,
    NormalHead,
    SquashedNormalHead,
)


def scores(rng, n, m):
    F = torch.tensor(rng.normal(size=(n, m)), dtype=torch.float64)
    return F.requires_grad_()


@pytest.mark.parametrize("sizes", [(4,), (3, 2, 4)])
@pytest.mark.parametrize("masked", [False, True])
def test_categorical_gradient_is_that_of_autograd(rng, sizes, masked):
    head = CategoricalHead(sizes)
    n = 7
    F = scores(rng, n, head.n_outputs)
    actions = torch.tensor(np.stack([rng.integers(k, size=n) for k in sizes], 1))
    mask = None
    if masked:
        mask = torch.tensor(rng.random((n, head.n_outputs)) < 0.5)
        mask.scatter_(1, head.columns(actions), True)
    c = torch.tensor(rng.normal(size=n))
    found = head.evaluate(F, actions, mask)
    (c @ found.log_prob + 0.3 * found.entropy.sum()).backward()
    with torch.no_grad():
        D, free = head.gradient(head.evaluate(F.detach(), actions, mask), c, 0.3)
    assert free is None
    np.testing.assert_allclose(D, F.grad, atol=1e-12)


def test_parts_are_independent(rng):
    head = CategoricalHead((3, 2))
    F = scores(rng, 5, 5)
    a = torch.tensor(np.stack([rng.integers(3, size=5), rng.integers(2, size=5)], 1))
    joint = head.evaluate(F, a)
    first = CategoricalHead((3,)).evaluate(F[:, :3], a[:, :1])
    second = CategoricalHead((2,)).evaluate(F[:, 3:], a[:, 1:])
    torch.testing.assert_close(joint.log_prob, first.log_prob + second.log_prob)
    torch.testing.assert_close(joint.entropy, first.entropy + second.entropy)


def test_masked_actions_are_never_drawn_and_count_nothing(rng):
    head = CategoricalHead((4,))
    F = np.zeros((1000, 4), np.float32)
    mask = np.array([[True, False, True, False]])
    drawn = head.draw(F, rng, np.repeat(mask, 1000, 0))
    assert set(np.unique(drawn)) == {0, 2}
    F = torch.zeros(1, 4, dtype=torch.float32)
    found = head.evaluate(F, torch.tensor([[0]]), torch.tensor(mask))
    assert float(found.entropy) == pytest.approx(np.log(2), abs=1e-6)
    assert found.parts[0][0, 1] == 0.0
    only = head.evaluate(
        F, torch.tensor([[1]]), torch.tensor([[False, True] + 2 * [False]])
    )
    assert float(only.entropy) == 0.0 and float(only.log_prob) == 0.0


def test_draws_follow_the_softmax(rng):
    head = CategoricalHead((3,))
    F = np.tile(np.array([[0.0, 1.0, 2.0]], np.float32), (40000, 1))
    share = np.bincount(head.draw(F, rng)[:, 0], minlength=3) / 40000
    np.testing.assert_allclose(share, [0.0900, 0.2447, 0.6652], atol=0.01)


def test_normal_head(rng):
    head = NormalHead(2)
    F = scores(rng, 6, 2)
    free = torch.tensor([-0.3, 0.4], dtype=torch.float64, requires_grad=True)
    a = torch.tensor(rng.normal(size=(6, 2)))
    c = torch.tensor(rng.normal(size=6))
    found = head.evaluate(F, a, free=free)
    expected = stats.norm(F.detach(), np.exp(free.detach())).logpdf(a).sum(1)
    np.testing.assert_allclose(found.log_prob.detach(), expected)
    entropy = stats.norm(0, np.exp(free.detach())).entropy().sum()
    np.testing.assert_allclose(found.entropy.detach(), entropy)
    (c @ found.log_prob + 0.3 * found.entropy.sum()).backward()
    with torch.no_grad():
        D, slope = head.gradient(head.evaluate(F, a, free=free), c, 0.3)
    np.testing.assert_allclose(D, F.grad, atol=1e-12)
    np.testing.assert_allclose(slope, free.grad, atol=1e-12)


def test_squashed_density_is_that_of_tanh(rng):
    """Integrates to 1 over (-1, 1), and equals the change of variables."""
    head = SquashedNormalHead(1)
    F = torch.tensor([[0.4, -0.2]], dtype=torch.float64)
    a = torch.linspace(-1, 1, 200001, dtype=torch.float64)[1:-1]
    log_p = head.log_prob(F.expand(len(a), 2), torch.atanh(a)[:, None])
    assert float(torch.trapezoid(log_p.exp(), a)) == pytest.approx(1.0, abs=1e-6)
    noise = torch.tensor(rng.normal(size=(5, 1)))
    action, at_sample = head.sample(F.expand(5, 2), noise)
    again = head.log_prob(F.expand(5, 2), torch.atanh(action))
    torch.testing.assert_close(at_sample, again)
    far = head.log_prob(F, torch.tensor([[40.0]], dtype=torch.float64))
    assert torch.isfinite(far).all()
