"""Exclusive or by two relu units."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.xor_network import XOR_INPUTS, XOR_TARGETS  # noqa: E402

torch.set_num_threads(1)


def test_exact_weights_answer_exactly():
    F = nn.xor_network()(torch.as_tensor(XOR_INPUTS)).detach().numpy()
    assert np.array_equal(F, XOR_TARGETS)


def test_the_best_linear_fit_is_one_half():
    A = np.column_stack([np.ones(4), XOR_INPUTS])
    coef, *_ = np.linalg.lstsq(A, XOR_TARGETS, rcond=None)
    assert coef.ravel() == pytest.approx([0.5, 0, 0], abs=1e-12)
    assert np.mean((A @ coef - XOR_TARGETS) ** 2) == pytest.approx(0.25)


@pytest.mark.parametrize("seed", [0, 6, 13])
def test_training_reaches_zero_from_a_good_start(seed):
    net = nn.xor_network(seed)
    result = nn.train(
        net, (XOR_INPUTS, XOR_TARGETS), epochs=4, batch_size=4, steps_per_epoch=250,
        optimiser=nn.Adam(0.05), device="cpu", seed=0,
    )  # fmt: skip
    assert result.history["loss"][-1] < 1e-3
    F = net(torch.as_tensor(XOR_INPUTS)).detach().numpy()
    assert np.array_equal(F > 0.5, XOR_TARGETS > 0.5)
