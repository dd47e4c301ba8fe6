"""Convolution, correlation and filters on images."""

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy import signal


def test_worked_convolutions():
    found = signal.convolve([1, 2, 3], [0, 1, 0.5])
    np.testing.assert_allclose(found, [0, 1, 2.5, 4, 1.5])
    image, w = [[1, 2, 0], [0, 1, 3], [4, 0, 1]], [[1, 0], [2, -1]]
    np.testing.assert_array_equal(signal.correlate(image, w), [[0, 1], [8, 0]])
    found = signal.convolve(image, w, "valid")
    np.testing.assert_array_equal(found, [[4, 1], [2, 6]])
    with pytest.raises(ValueError, match="fit into"):
        signal.correlate([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="same number of dimensions"):
        signal.convolve([1, 2], [[1]])


@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_convolution_is_a_product(seed, d):
    rng = np.random.default_rng(seed)
    x, w, v = (rng.normal(size=rng.integers(1, 6, size=d)) for _ in range(3))
    conv = signal.convolve
    np.testing.assert_allclose(conv(x, w), conv(w, x), atol=1e-12)
    np.testing.assert_allclose(conv(conv(x, w), v), conv(x, conv(w, v)), atol=1e-11)
    turned = w[(slice(None, None, -1),) * d]
    np.testing.assert_allclose(
        signal.correlate(x, w, "full"), conv(x, turned), atol=1e-12
    )
    if d == 1:
        np.testing.assert_allclose(signal.fft_convolve(x, w), conv(x, w), atol=1e-12)


def test_filters_find_a_pattern():
    rows = ["100001", "010010", "001100", "100010", "010010", "001010"]
    image = np.array([[int(v) for v in row] for row in rows])
    w = 2 * np.eye(3, dtype=int) - 1
    response = [[3, -1, -3, -1], [-3, 1, 0, -3], [-3, -3, 0, 1], [3, -2, -2, -1]]
    np.testing.assert_array_equal(signal.filter_image(image, w), response)
    places, top = signal.detect_pattern(image, w)
    assert (places.tolist(), top) == ([[0, 0], [3, 0]], 3)
    wide = signal.filter_image(image, w, stride=3)
    np.testing.assert_array_equal(wide, [[3, -1], [3, -1]])
    delta = np.zeros((3, 3))
    delta[1, 1] = 1
    same = signal.filter_image(image, delta, padding="same")
    np.testing.assert_array_equal(same, image)
    mean = signal.filter_image(np.full((5, 5), 7.0), np.full((3, 3), 1 / 9))
    np.testing.assert_allclose(mean, 7)
    rng = np.random.default_rng(0)
    color, w = rng.normal(size=(6, 7, 3)), rng.normal(size=(3, 3))
    found = signal.filter_image(color, w, padding="same")
    peer = scipy.ndimage.correlate(color, w[:, :, None], mode="constant")
    np.testing.assert_allclose(found, peer, atol=1e-12)
