"""Convolution and correlation in any number of dimensions, and filters on images.

    (x * w)(t) = sum_a x(a) w(t - a)               convolution                   (1)
    (x . w)(t) = sum_a x(t + a) w(a)               correlation                   (2)

(2) is (1) with w turned round in every dimension; they agree only where w is its own
mirror image. "full" gives every t with an overlap (n + m - 1 of them), "valid" those
where w lies inside x (n - m + 1), "same" the n in the middle. By the convolution
theorem (1) is a product of transforms, O(n log n) after both are padded with zeros.

Shapes    x (n, ...)   w (m, ...)
"""

import numpy as np
import scipy.fft

from ..params import check_count

MODES = ("full", "same", "valid")


def check_operands(x, w, mode):
    x, w = np.asarray(x), np.asarray(w)
    if mode not in MODES:
        raise ValueError(f'mode must be "full", "same" or "valid", got {mode!r}.')
    if x.ndim != w.ndim or x.ndim == 0 or 0 in (*x.shape, *w.shape):
        raise ValueError(
            f"x and w must have the same number of dimensions and not be empty, got "
            f"shapes {x.shape} and {w.shape}."
        )
    if mode == "valid" and any(m > n for n, m in zip(x.shape, w.shape, strict=True)):
        raise ValueError(f'mode "valid" needs w {w.shape} to fit into x {x.shape}.')
    return x, w


def convolve(x, w, mode="full"):
    """x * w, eq. (1), in as many dimensions as they have.

    Examples
    --------
    >>> from pansophy.signal import convolve
    >>> convolve([1, 2, 3], [0, 1, 0.5])
    array([0. , 1. , 2.5, 4. , 1.5])
    """
    x, w = check_operands(x, w, mode)
    from scipy.signal import convolve  # slow to import

    return convolve(x, w, mode=mode)


def correlate(x, w, mode="valid"):
    """x slid over by w as it is, eq. (2).

    Examples
    --------
    >>> from pansophy.signal import correlate
    >>> correlate([[1, 2, 0], [0, 1, 3], [4, 0, 1]], [[1, 0], [2, -1]])
    array([[0, 1],
           [8, 0]])
    """
    x, w = check_operands(x, w, mode)
    from scipy.signal import correlate

    return correlate(x, w, mode=mode)


def fft_convolve(x, w, axis=-1):
    """Full x * w along one axis by FFT; the other axes are matched as NumPy does.

    Examples
    --------
    >>> from pansophy.signal import fft_convolve
    >>> fft_convolve([1.0, 2.0, 3.0], [2.0, 1.0]).round(12)
    array([2., 5., 8., 3.])
    """
    x, w = np.asarray(x), np.asarray(w)
    n = x.shape[axis] + w.shape[axis] - 1
    real = not (np.iscomplexobj(x) or np.iscomplexobj(w))
    size = scipy.fft.next_fast_len(n, real=real)
    go, back = (
        (scipy.fft.rfft, scipy.fft.irfft) if real else (scipy.fft.fft, scipy.fft.ifft)
    )
    out = back(go(x, size, axis=axis) * go(w, size, axis=axis), size, axis=axis)
    return np.take(out, np.arange(n), axis=axis)


def filter_image(image, kernel, *, stride=1, padding="valid"):
    """Response of a filter at each place of an image, eq. (2).

    Parameters
    ----------
    image : array of shape (h, w) or (h, w, channels)
        The channels of an image are filtered alike.
    kernel : array of shape (kh, kw)
    stride : int, default=1
        Rows and columns between places.
    padding : {"valid", "same"}, default="valid"
        "same" puts zeros around the image, so that its size is kept at stride 1.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.signal import filter_image
    >>> filter_image(np.eye(3), [[1, 0], [0, 1]])
    array([[2., 0.],
           [0., 2.]])
    """
    image, kernel = np.asarray(image), np.asarray(kernel)
    if padding not in ("valid", "same"):
        raise ValueError(f'padding must be "valid" or "same", got {padding!r}.')
    stride = check_count("stride", stride)
    if image.ndim == 3:
        layers = [
            filter_image(image[:, :, c], kernel, stride=stride, padding=padding)
            for c in range(image.shape[2])
        ]
        return np.stack(layers, axis=2)
    return correlate(image, kernel, padding)[::stride, ::stride]


def detect_pattern(image, kernel, *, stride=1):
    """Places (rows, columns) where the response of a filter is largest, and its value.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.signal import detect_pattern
    >>> places, value = detect_pattern(np.eye(3), [[1, 0], [0, 1]])
    >>> places.tolist(), float(value)
    ([[0, 0], [1, 1]], 2.0)
    """
    response = filter_image(image, kernel, stride=stride)
    top = response.max()
    near = np.isclose(response, top, rtol=1e-9, atol=1e-12)
    return stride * np.argwhere(near), top
