"""Approximation of a sine by nets of growing size, and by a kernel machine."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import teaching  # noqa: E402

torch.set_num_threads(1)


def test_error_falls_with_units_on_a_clean_sine():
    curve = teaching.approximation_curve(steps=1200)
    one, fifty, deep = curve.errors.values()
    assert list(curve.errors) == ["1 unit", "50 units", "50 + 50 units"]
    assert one > 10 * fifty > 0 and deep < fifty
    assert str(curve).count("\n") == 2


def test_a_wide_kernel_wins_on_a_noisy_sine():
    from sklearn.svm import SVR

    curve = teaching.approximation_curve(
        hidden_sizes=[(50, 50)], noise=0.4, n=60, steps=4000,
        others={"wide kernel": SVR(C=1.0, gamma=0.1, epsilon=0.1)},
    )  # fmt: skip
    net, kernel = curve.fits
    assert net.training_error < kernel.training_error  # it follows the noise
    assert kernel.error < net.error


def test_any_function_on_any_interval():
    curve = teaching.approximation_curve(np.abs, [8], interval=(-1, 1), steps=600)
    assert curve.fits[0].hidden_sizes == (8,) and curve.grid[0] == -1
    assert curve.errors["8 units"] < 0.005
