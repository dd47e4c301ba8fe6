"""Pooling: the maximum or the mean of each window of a feature map.

    max      z(t) = max_a x(s t + a - p)      the gradient goes to the largest entry
    average  z(t) = mean_a x(s t + a - p)     the gradient is shared evenly          (1)

over a window of k places per dimension; sizes are those of a convolution with the same
window (`conv.conv_output_size`). There are no weights. At the edge, padded places never
win a maximum; an average is over the places that are there.

Cost      O(rows * channels * places * k_1 ... k_D)
Shapes    x (rows, channels, n_1, ..., n_D)
"""

from functools import lru_cache

from torch import Tensor, nn
from torch.nn import functional

from .conv import Sizes, conv_output_size, padding_pairs, per_dimension

MAXIMA = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}
MEANS = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}
LOWEST = float("-inf")


class Pool(nn.Module):
    """Base class of pooling layers: a window, its stride and its padding."""

    def __init__(self, window: Sizes, stride: Sizes | None = None, *, padding=0):
        super().__init__()
        as_tuple = lambda v: tuple(v) if isinstance(v, list) else v
        self.window = as_tuple(window)
        self.stride = self.window if stride is None else as_tuple(stride)
        self.padding = as_tuple(padding)

    def output_size(self, sizes):
        """Size of the pooled map."""
        return conv_output_size(tuple(sizes), self.window, self.stride, self.padding)

    def windows(self, x):
        """Window, stride and padding pairs, one for each dimension of x."""
        ndim = x.ndim - 2
        if ndim not in MAXIMA:
            raise ValueError(
                f"pooling takes (rows, channels, 1 to 3 sizes), got {tuple(x.shape)}."
            )
        return _pooling_windows(
            tuple(x.shape[2:]), self.window, self.stride, self.padding
        )

    def extra_repr(self):
        return f"window={self.window}, stride={self.stride}, padding={self.padding!r}"


@lru_cache(1024)
def _pooling_windows(sizes, window, stride, padding):
    """Window, stride and padding pairs, one for each of the sizes."""
    conv_output_size(sizes, window, stride, padding)  # or refuse
    k = per_dimension("window", window, len(sizes))
    s = per_dimension("stride", stride, len(sizes))
    return k, s, padding_pairs(padding, sizes, k, s, (1,) * len(sizes))


def _pad_edges(x, pairs, value):
    """x with places of one value around it."""
    if not any(map(any, pairs)):
        return x
    padding = [p for pair in reversed(pairs) for p in pair]
    return functional.pad(x, padding, value=value)


class MaxPool(Pool):
    """The largest entry of each window.

    Parameters
    ----------
    window : int or sequence of int
    stride : int, sequence of int or None, default=None
        None: the window, so that windows tile the map.
    padding : int, sequence of int, "same" or "valid", default=0

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import MaxPool
    >>> MaxPool(2)(torch.arange(16.0).reshape(1, 1, 4, 4)).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """

    def forward(self, x: Tensor) -> Tensor:
        k, s, pads = self.windows(x)
        return MAXIMA[x.ndim - 2](_pad_edges(x, pads, LOWEST), k, s)


class AvgPool(Pool):
    """The mean of each window.

    Parameters
    ----------
    window : int or sequence of int
    stride : int, sequence of int or None, default=None
        None: the window, so that windows tile the map.
    padding : int, sequence of int, "same" or "valid", default=0
        Places beyond the edge do not count in the mean.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import AvgPool
    >>> AvgPool(2)(torch.arange(16.0).reshape(1, 1, 4, 4)).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """

    def forward(self, x: Tensor) -> Tensor:
        k, s, pads = self.windows(x)
        pool = MEANS[x.ndim - 2]
        if not any(map(any, pads)):
            return pool(x, k, s)
        coverage = _pad_edges(x.new_ones((1, 1, *x.shape[2:])), pads, 0.0)
        return pool(_pad_edges(x, pads, 0.0), k, s) / pool(coverage, k, s)
