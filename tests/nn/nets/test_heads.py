"""Output heads against autograd and the losses of the package."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import losses, nn  # noqa: E402
from pansophy.nn.nets.heads import mixture_scores  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


def column(*values):
    return torch.tensor([values], dtype=torch.float64)


def test_softplus_cost_of_a_yes_or_no():
    cost = lambda t, a: float(nn.HEADS["logistic"].value(column(t), column(a)))
    assert cost(0.0, -2.0) == pytest.approx(0.126928, abs=1e-6)
    assert cost(1.0, -2.0) == pytest.approx(2.126928, abs=1e-6)
    assert cost(0.0, 0.0) == pytest.approx(0.693147, abs=1e-6)
    assert cost(0.0, 3.0) == pytest.approx(3.048587, abs=1e-6)
    assert cost(1.0, 3.0) == pytest.approx(0.048587, abs=1e-6)


def head_cases(rng):
    F = torch.as_tensor(3 * rng.normal(size=(20, 4)))
    z = torch.as_tensor(rng.integers(0, 4, 20))
    yes = torch.as_tensor(rng.integers(0, 2, (20, 4)).astype(float))
    real = torch.as_tensor(rng.normal(size=(20, 4)))
    counts = torch.as_tensor(rng.integers(0, 9, (20, 4)).astype(float))
    soft = torch.softmax(torch.as_tensor(rng.normal(size=(20, 4))), 1)
    return F, [
        ("softmax", z),
        ("softmax", soft),
        ("logistic", yes),
        ("identity", real),
        ("exp", counts),
    ]


def test_heads_give_prediction_minus_target(rng):
    F, cases = head_cases(rng)
    for name, Y in cases:
        head = nn.HEADS[name]
        G = F.clone().requires_grad_()
        value = head.value(Y, G)
        value.sum().backward()
        found, residual = head.value_and_gradient(Y, F.clone())
        torch.testing.assert_close(found, value.detach())
        torch.testing.assert_close(residual, G.grad)
        target = torch.nn.functional.one_hot(Y, 4) if Y.ndim == 1 else Y
        torch.testing.assert_close(residual, head.mean(F) - target)


def test_heads_are_the_losses_of_the_package(rng):
    F, cases = head_cases(rng)
    value = {name: nn.HEADS[name].value(Y, F) for name, Y in cases[2:]}
    columns = lambda loss, Y: sum(loss.value(Y[:, k], F[:, k]) for k in range(4))
    for _, Y in cases[:2]:
        torch.testing.assert_close(
            nn.HEADS["softmax"].value(Y, F), losses.softmax.value(Y, F)
        )
    yes, real, counts = (Y for _, Y in cases[2:])
    torch.testing.assert_close(value["logistic"], columns(losses.logistic, yes))
    torch.testing.assert_close(value["identity"], columns(losses.half_squared, real))
    free = (torch.xlogy(counts, counts) - counts).sum(1)  # of f; ours is a deviance
    torch.testing.assert_close(value["exp"] - free, columns(losses.poisson, counts))


def test_softmax_head_is_exact_for_large_scores():
    F = torch.tensor([[1e4, 0.0, -1e4]], dtype=torch.float64)
    value, D = nn.HEADS["softmax"].value_and_gradient(torch.tensor([1]), F)
    assert value.tolist() == [1e4]
    assert D.tolist() == [[1.0, -1.0, 0.0]]


@pytest.mark.parametrize("name", ["identity", "logistic", "exp", "gaussian"])
def test_a_vector_of_targets_is_one_column(name):
    """(n,) and (n, 1) must not broadcast to a matrix."""
    head = nn.HEADS[name]
    F = torch.tensor([[0.3], [-1.0], [0.8]], dtype=torch.float64)
    F = torch.cat([F, F / 2], 1) if name == "gaussian" else F
    y = torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64)
    torch.testing.assert_close(head.value(y, F), head.value(y[:, None], F))
    for ours, wanted in zip(
        head.value_and_gradient(y, F),
        head.value_and_gradient(y[:, None], F),
        strict=True,
    ):
        torch.testing.assert_close(ours, wanted)
    with pytest.raises(ValueError, match="the target has the shape"):
        head.value(y[:2], F)


@pytest.mark.parametrize("name", nn.HEADS)
def test_a_mixture_has_the_mean_of_the_predictions(rng, name):
    F = torch.as_tensor(3 * rng.normal(size=(20, 5, 4)))
    found = mixture_scores(name, F)
    assert found.shape == (20, 4)
    mean = nn.HEADS[name].mean
    expected = torch.stack([mean(F[:, i]) for i in range(5)]).mean(0)
    torch.testing.assert_close(mean(found), expected)
    # a mixture of equals is each of them
    same = F[:, :1].expand(-1, 5, -1)
    torch.testing.assert_close(mean(mixture_scores(name, same)), mean(F[:, 0]))


def test_the_variance_of_a_gaussian_mixture_is_that_of_its_draws(rng):
    m, s = np.array([-1.0, 0.5, 2.0]), np.log([0.5, 1.0, 2.0])
    F = torch.as_tensor(np.stack([m, s], axis=1))[None]
    mean, log_variance = mixture_scores("gaussian", F)[0].tolist()
    draws = rng.normal(m, np.exp(s / 2), size=(200_000, 3))
    assert mean == pytest.approx(m.mean())
    assert np.exp(log_variance) == pytest.approx(draws.var(), rel=0.02)
