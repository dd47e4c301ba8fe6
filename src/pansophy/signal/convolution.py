"""Convolution and correlation in any number of dimensions, and filters on images.

    (x * w)(t) = sum_a x(a) w(t - a)               convolution                   (1)
    (x . w)(t) = sum_a x(t + a) w(a)               correlation                   (2)
    (f * g)(t) = integral of f(a) g(t - a) da      convolution of functions      (3)

(2) is (1) with w turned round in every dimension; they agree only where w is its own
mirror image. "full" gives every t with an overlap (n + m - 1 of them), "valid" those
where w lies inside x (n - m + 1), "same" the n in the middle. By the convolution
theorem (1) is a product of transforms, O(n log n) after both are padded with zeros.
(3) is a Gauss-Legendre sum for each t, cut where f or g has a corner or a jump.

Shapes    x (n, ...)   w (m, ...)
"""

import numpy as np
import scipy.fft

from ..params import check_count
from .fourier import evaluate_at, quadrature_nodes

MODES = ("full", "same", "valid")
EDGE_RULES = {"nearest": "edge", "reflect": "symmetric", "wrap": "wrap"}
SMOOTHING = ("blur", "gaussian")
NAMED_KERNELS = {
    "identity": [[0, 0, 0], [0, 1, 0], [0, 0, 0]],
    "sharpen": [[0, -1, 0], [-1, 5, -1], [0, -1, 0]],
    "edges": [[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]],
    "laplacian": [[0, 1, 0], [1, -4, 1], [0, 1, 0]],
    "sobel_x": [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
    "sobel_y": [[-1, -2, -1], [0, 0, 0], [1, 2, 1]],
    "prewitt_x": [[-1, 0, 1], [-1, 0, 1], [-1, 0, 1]],
    "prewitt_y": [[-1, -1, -1], [0, 0, 0], [1, 1, 1]],
    "emboss": [[-2, -1, 0], [-1, 1, 1], [0, 1, 2]],
}


def _check_operands(x, w, mode):
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
    x, w = _check_operands(x, w, mode)
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
    x, w = _check_operands(x, w, mode)
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
    transform, back = (
        (scipy.fft.rfft, scipy.fft.irfft) if real else (scipy.fft.fft, scipy.fft.ifft)
    )
    convolved = back(
        transform(x, size, axis=axis) * transform(w, size, axis=axis), size, axis=axis
    )
    return np.take(convolved, np.arange(n), axis=axis)


def continuous_convolution(f, g, t, *, bounds=(-50.0, 50.0), breaks=(), g_breaks=()):
    """(f * g)(t), eq. (3), of two functions.

    Parameters
    ----------
    f, g : functions
        Each is called with an array of places.
    t : float or array
    bounds : (low, high), default=(-50, 50)
        Outside of them f is taken to be 0.
    breaks, g_breaks : lists of float
        Places where f, or g, has a corner or a jump, for exact integrals.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.signal import continuous_convolution
    >>> box = lambda t: np.where(np.abs(t) <= 0.5, 1.0, 0.0)
    >>> continuous_convolution(  # a triangle
    ...     box, box, [0, 0.25, 1], bounds=(-0.5, 0.5), g_breaks=[-0.5, 0.5]
    ... ).round(6)
    array([1.  , 0.75, 0.  ])
    """
    low, high = bounds
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"bounds must be finite, the lower first, got {bounds!r}.")
    t = np.asarray(t, dtype=float)
    values = []
    for moment in t.ravel():
        cuts = [*breaks, *(moment - np.asarray(g_breaks, dtype=float))]
        x, w = quadrature_nodes(low, high, cuts, waves=high - low)
        values.append(np.sum(w * evaluate_at(f, x) * evaluate_at(g, moment - x)))
    return np.array(values).reshape(t.shape)[()]


def image_kernel(name, size=3, sigma=None) -> np.ndarray:
    """A filter by its name, for `filter_image`.

    Parameters
    ----------
    name : str
        "identity"; "blur" (mean of a square), "gaussian" and "sharpen", whose entries
        sum to 1; "edges", "laplacian", "sobel_x", "sobel_y", "prewitt_x" and
        "prewitt_y" (derivatives), whose entries sum to 0; "emboss".
    size : odd int, default=3
        Rows and columns of "blur" and "gaussian"; the others have 3.
    sigma : float, optional
        Standard deviation of "gaussian"; None is size / 6.

    Examples
    --------
    >>> from pansophy.signal import image_kernel
    >>> image_kernel("sharpen").tolist()
    [[0.0, -1.0, 0.0], [-1.0, 5.0, -1.0], [0.0, -1.0, 0.0]]
    """
    size = check_count("size", size)
    if name in NAMED_KERNELS:
        if size != 3 or sigma is not None:
            raise ValueError(f"{name!r} has size 3 and no sigma.")
        return np.array(NAMED_KERNELS[name], dtype=float)
    if name not in SMOOTHING:
        known = ", ".join([*SMOOTHING, *NAMED_KERNELS])
        raise ValueError(f"there is no filter named {name!r}; there are {known}.")
    if size % 2 == 0:
        raise ValueError(
            f"size must be odd, so that a filter has a middle, got {size}."
        )
    if name == "blur":
        if sigma is not None:
            raise ValueError('sigma is for "gaussian", not for "blur".')
        return np.full((size, size), 1 / size**2)
    sigma = size / 6 if sigma is None else sigma
    if not 0 < sigma < np.inf:
        raise ValueError(f"sigma must be a positive number, got {sigma!r}.")
    x = np.exp(-0.5 * ((np.arange(size) - size // 2) / sigma) ** 2)
    return np.outer(x, x) / x.sum() ** 2


def filter_image(image, kernel, *, stride=1, padding="valid"):
    """Response of a filter at each place of an image, eq. (2).

    Parameters
    ----------
    image : array of shape (h, w) or (h, w, channels)
        The channels of an image are filtered alike.
    kernel : array of shape (kh, kw), or str
        A filter, or the name of one of `image_kernel`.
    stride : int, default=1
        Rows and columns between places.
    padding : {"valid", "same", "nearest", "reflect", "wrap"}, default="valid"
        "valid" takes only places where the filter lies inside the image. The others
        keep its size at stride 1; beyond the edge are zeros ("same"), the pixel at the
        edge ("nearest"), the image mirrored ("reflect") or repeated ("wrap"). With the
        last three a filter whose entries sum to 1 keeps a constant image as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.signal import filter_image
    >>> filter_image(np.eye(3), [[1, 0], [0, 1]])
    array([[2., 0.],
           [0., 2.]])
    """
    kernel = image_kernel(kernel) if isinstance(kernel, str) else np.asarray(kernel)
    image = np.asarray(image)
    if padding not in ("valid", "same", *EDGE_RULES):
        raise ValueError(
            'padding must be "valid", "same", "nearest", "reflect" or "wrap", got '
            f"{padding!r}."
        )
    stride = check_count("stride", stride)
    if image.ndim == 3:
        layers = [
            filter_image(image[:, :, c], kernel, stride=stride, padding=padding)
            for c in range(image.shape[2])
        ]
        return np.stack(layers, axis=2)
    if padding in EDGE_RULES and image.ndim == kernel.ndim == 2 and image.size:
        widths = [(k // 2, (k - 1) // 2) for k in kernel.shape]
        image, padding = np.pad(image, widths, mode=EDGE_RULES[padding]), "valid"
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
