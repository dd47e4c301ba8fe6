"""Norm, gelu and attention of NumPy arrays, against their formulas in float64."""

import numpy as np
from scipy.special import softmax
from scipy.stats import norm

from pansophy.prior_fitted.operations import (
    add_norm,
    gelu,
    linear,
    multi_head_attention,
    rms_norm,
)


def numbers(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape).astype(np.float32)


def test_gelu_is_x_times_its_normal_probability():
    x = np.r_[np.linspace(-20, 20, 4001), 0, 1e-30, -1e30, 1e30].astype(np.float32)
    expected = x * norm.cdf(x.astype(float))
    np.testing.assert_allclose(gelu(x), expected, rtol=1e-6, atol=1e-6)


def test_rms_norm_of_rows_that_are_not_contiguous():
    x = numbers(5, 7, 6)[:, 1:4]
    square = np.mean(x.astype(float) ** 2, axis=-1, keepdims=True)
    np.testing.assert_allclose(rms_norm(x), x / np.sqrt(square + 1e-6), rtol=1e-5)


def test_linear_keeps_empty_axes():
    assert linear(numbers(2, 0, 3), numbers(4, 3)).shape == (2, 0, 4)


def test_attention_is_a_softmax_over_keys():
    q, k, v = numbers(3, 5, 8), numbers(3, 7, 8, seed=1), numbers(3, 7, 8, seed=2)
    q[..., 4:] *= 30  # the second head nearly chooses one key
    expected = np.empty((3, 5, 8))
    for h in range(2):
        part = slice(4 * h, 4 * h + 4)
        scores = q[..., part] @ k[..., part].swapaxes(1, 2) / 2
        expected[..., part] = softmax(scores.astype(float), axis=-1) @ v[..., part]
    np.testing.assert_allclose(multi_head_attention(q, k, v, 2), expected, atol=1e-5)


def test_add_norm_gives_sum_and_norm():
    x, change = numbers(4, 6), numbers(4, 6, seed=1)
    total, normed = add_norm(x, change)
    np.testing.assert_allclose(total, x + change)
    np.testing.assert_allclose(normed, rms_norm(x + change))
