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


def test_functions_are_convolved_by_an_integral():
    box = lambda t: np.where(np.abs(t) <= 0.5, 1.0, 0.0)
    t = np.linspace(-1.2, 1.2, 25)
    edges = {"bounds": (-0.5, 0.5), "g_breaks": [-0.5, 0.5]}
    np.testing.assert_allclose(
        signal.continuous_convolution(box, box, t, **edges),
        np.maximum(0, 1 - np.abs(t)),
        atol=1e-12,
    )
    normal = lambda v: lambda t: np.exp(-t * t / (2 * v)) / np.sqrt(2 * np.pi * v)
    mine = signal.continuous_convolution(normal(1.0), normal(3.0), t)
    np.testing.assert_allclose(mine, normal(4.0)(t), rtol=1e-10)
    decay = lambda t: np.where(t >= 0, np.exp(-np.abs(t)), 0.0)
    mine = signal.continuous_convolution(decay, decay, 2.0, breaks=[0], g_breaks=[0])
    assert mine == pytest.approx(2 * np.exp(-2.0), rel=1e-10)  # t e^-t
    # the box from 0 to 1 averages: its corners lie at t and t - 1
    step = lambda t: np.where((t >= 0) & (t <= 1), 1.0, 0.0)
    edges = {"bounds": (-3.0, 3.0), "g_breaks": [0.0, 1.0]}
    mine = signal.continuous_convolution(np.square, step, [0.7, -1.6], **edges)
    np.testing.assert_allclose(mine, [(0.7**3 + 0.3**3) / 3, (2.6**3 - 1.6**3) / 3])
    # commutative, and a narrow pulse of area 1 is nearly the unit
    swapped = signal.continuous_convolution(normal(3.0), normal(1.0), t)
    np.testing.assert_allclose(swapped, normal(4.0)(t), rtol=1e-10)
    pulse = signal.continuous_convolution(normal(1e-6), np.cos, t, bounds=(-0.01, 0.01))
    np.testing.assert_allclose(pulse, np.cos(t), atol=1e-6)
    with pytest.raises(ValueError, match="bounds"):
        signal.continuous_convolution(box, box, 0.0, bounds=(1, 0))


SUM_TO_ONE = ["identity", "blur", "gaussian", "sharpen"]
DERIVATIVES = ["edges", "laplacian", "sobel_x", "sobel_y", "prewitt_x", "prewitt_y"]


@pytest.mark.parametrize("edge", ["nearest", "reflect", "wrap"])
def test_a_constant_image_stays_constant(edge):
    image = np.full((6, 5, 2), 7.0)
    for name in SUM_TO_ONE:
        assert signal.image_kernel(name).sum() == pytest.approx(1.0)
        np.testing.assert_allclose(
            signal.filter_image(image, name, padding=edge), image
        )
    for name in DERIVATIVES:
        assert signal.image_kernel(name).sum() == 0
        np.testing.assert_allclose(
            signal.filter_image(image, name, padding=edge), 0 * image, atol=1e-12
        )


@pytest.mark.parametrize("edge", ["nearest", "reflect", "wrap"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (1, 7)])
def test_edge_rules_are_those_of_scipy(edge, shape, rng):
    image, kernel = rng.random((8, 9)), rng.random(shape)
    np.testing.assert_allclose(
        signal.filter_image(image, kernel, padding=edge),
        scipy.ndimage.correlate(image, kernel, mode=edge),
    )


def test_named_filters():
    image = np.zeros((7, 7))
    image[:, 3:] = 1.0
    inside = {"padding": "nearest"}
    np.testing.assert_array_equal(
        signal.filter_image(image, "sobel_x", **inside)[3], [0, 0, 4, 4, 0, 0, 0]
    )
    assert not signal.filter_image(image, "sobel_y", **inside).any()
    np.testing.assert_array_equal(
        signal.filter_image(image, "identity", **inside), image
    )
    wide = signal.image_kernel("gaussian", 9, 1.5)
    assert wide.shape == (9, 9) and wide.argmax() == 40
    with pytest.raises(ValueError, match="there is no filter named 'other'"):
        signal.filter_image(image, "other")
    with pytest.raises(ValueError, match="odd"):
        signal.image_kernel("blur", 4)
    with pytest.raises(ValueError, match="size 3"):
        signal.image_kernel("sobel_x", 5)
    with pytest.raises(ValueError, match="padding must be"):
        signal.filter_image(image, "blur", padding="other")
