"""Exclusive or by two relu units."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn, teaching  # noqa: E402
from pansophy.teaching.xor import XOR_INPUTS, XOR_TARGETS  # noqa: E402

torch.set_num_threads(1)


def test_exact_weights_answer_exactly():
    F = teaching.xor_network()(torch.as_tensor(XOR_INPUTS)).detach().numpy()
    assert np.array_equal(F, XOR_TARGETS)


def test_the_best_linear_fit_is_one_half():
    A = np.column_stack([np.ones(4), XOR_INPUTS])
    coef, *_ = np.linalg.lstsq(A, XOR_TARGETS, rcond=None)
    assert coef.ravel() == pytest.approx([0.5, 0, 0], abs=1e-12)
    assert np.mean((A @ coef - XOR_TARGETS) ** 2) == pytest.approx(0.25)


def trained_error(seed, optimiser):
    """The mean squared error after 1,500 steps on all four rows."""
    net = teaching.xor_network(seed)
    nn.train(
        net, (XOR_INPUTS, XOR_TARGETS), epochs=1, batch_size=4, steps_per_epoch=1500,
        optimiser=optimiser, device="cpu", seed=0,
    )  # fmt: skip
    F = net(torch.as_tensor(XOR_INPUTS)).detach().numpy()
    return np.mean((F - XOR_TARGETS) ** 2)


@pytest.mark.parametrize("seed", [6, 13, 14, 18])
@pytest.mark.parametrize("optimiser", [nn.Adam(0.05), nn.SGD(0.1)], ids=["adam", "sgd"])
def test_training_reaches_zero_from_a_good_start(seed, optimiser):
    assert trained_error(seed, optimiser) < 2e-3


@pytest.mark.parametrize(("seed", "error"), [(0, 1 / 8), (1, 1 / 6), (3, 1 / 4)])
def test_other_starts_end_in_local_minima(seed, error):
    assert trained_error(seed, nn.SGD(0.1)) == pytest.approx(error, abs=0.005)
