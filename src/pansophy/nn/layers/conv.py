"""Convolution layers in one, two and three dimensions, and the sizes they give.

For an input x with C channels and a kernel w of shape (F, C, k), along each dimension

    z_f(t) = b_f + sum_c sum_a x_c(s t + d a - p) w_fc(a),   a = 0, ..., k - 1     (1)

with stride s, dilation d and p zeros before the edge: a correlation (the kernel is not
turned round; `signal.convolve` turns it). The number of places t is

    m = floor((n + p + p' - d (k - 1) - 1) / s) + 1                                (2)

p' being the zeros after the edge. Padding "same" makes m = ceil(n / s) by

    p + p' = max((m - 1) s + d (k - 1) + 1 - n, 0),   p = floor((p + p') / 2)      (3)

so that an odd zero is added after the edge, as in torch and TensorFlow. The transposed
convolution is the adjoint of (1): <conv(x), y> = <x, transposed(y)>, its size

    n = (m - 1) s - p - p' + d (k - 1) + 1 + o                                     (4)

where o of the s sizes that (2) floors to the same m are added at the end. Shifting x by
s places shifts z by one (equivariance), and weights are as many as the kernels hold,
whatever the size of the image.

Cost      O(rows * places * F C k_1 ... k_D)
Shapes    x (rows, C, n_1, ..., n_D)   w (F, C / groups, k_1, ..., k_D)   b (F,)
Refs      [LeCun1998]; [Dumoulin2016] sizes; [He2015] initial weights
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...params import check_count

CONVOLUTIONS = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
TRANSPOSED = {
    1: functional.conv_transpose1d,
    2: functional.conv_transpose2d,
    3: functional.conv_transpose3d,
}
Sizes = int | Sequence[int]
Padding = Sizes | Literal["same", "valid"]


def per_dimension(name, value: Sizes, ndim: int, minimum=1) -> tuple[int, ...]:
    """One whole number for each dimension, from a number or a sequence.

    Examples
    --------
    >>> from pansophy.nn.layers.conv import per_dimension
    >>> per_dimension("stride", 2, 3), per_dimension("stride", (1, 2), 2)
    ((2, 2, 2), (1, 2))
    """
    values = (value,) * ndim if not isinstance(value, (tuple, list)) else tuple(value)
    if len(values) != ndim:
        raise ValueError(f"{name} must have {ndim} numbers, got {len(values)}.")
    return tuple(check_count(name, v, minimum) for v in values)


def same_padding(n: int, kernel: int, stride=1, dilation=1) -> tuple[int, int]:
    """Zeros before and after an edge for padding "same", eq. (3).

    Examples
    --------
    >>> from pansophy.nn.layers.conv import same_padding
    >>> same_padding(8, 3), same_padding(8, 4), same_padding(7, 2, stride=2)
    ((1, 1), (1, 2), (0, 1))
    """
    m = -(-n // stride)
    total = max((m - 1) * stride + dilation * (kernel - 1) + 1 - n, 0)
    return total // 2, total - total // 2


def padding_pairs(padding: Padding, sizes, kernel, stride, dilation):
    """Zeros (before, after) each edge of an input of these sizes."""
    if padding == "valid":
        return [(0, 0)] * len(sizes)
    if padding == "same":
        return [
            same_padding(*sizes_of_axis)
            for sizes_of_axis in zip(sizes, kernel, stride, dilation)
        ]
    if isinstance(padding, str):
        raise ValueError(
            f'padding must be "same", "valid" or whole numbers, got {padding!r}.'
        )
    return [(p, p) for p in per_dimension("padding", padding, len(sizes), 0)]


def conv_output_size(
    input_size, kernel_size, stride=1, padding: Padding = 0, dilation=1
) -> Any:
    """Size of what a convolution or pooling layer gives, eq. (2).

    Parameters
    ----------
    input_size : int or sequence of int
        The size of each dimension, without rows and channels.
    kernel_size, stride, dilation : int or sequence of int
    padding : int, sequence of int, "same" or "valid"
        Zeros added at both ends of each dimension.

    Returns
    -------
    int, or a tuple for a sequence

    Examples
    --------
    >>> from pansophy.nn import conv_output_size
    >>> conv_output_size(32, 5), conv_output_size((227, 7), (11, 3), (4, 2), (0, 1))
    (28, (55, 4))
    """
    single = not isinstance(input_size, (tuple, list))
    ndim = 1 if single else len(input_size)
    sizes = per_dimension("input_size", input_size, ndim)
    kernel = per_dimension("kernel_size", kernel_size, ndim)
    stride = per_dimension("stride", stride, ndim)
    dilation = per_dimension("dilation", dilation, ndim)
    pads = padding_pairs(padding, sizes, kernel, stride, dilation)
    results = []
    for n, k, s, d, (zeros_before, zeros_after) in zip(
        sizes, kernel, stride, dilation, pads
    ):
        room = n + zeros_before + zeros_after - d * (k - 1) - 1
        if room < 0:
            raise ValueError(
                f"a kernel of size {k} (dilation {d}) does not fit into {n} places "
                f"with {zeros_before} and {zeros_after} zeros around them: lower "
                "kernel_size, or "
                'take padding "same".'
            )
        results.append(room // s + 1)
    return results[0] if single else tuple(results)


def transposed_output_size(
    input_size, kernel_size, stride=1, padding=0, dilation=1, output_padding=0
):
    """Size of what a transposed convolution gives, eq. (4).

    Examples
    --------
    >>> from pansophy.nn import transposed_output_size
    >>> transposed_output_size(14, 2, stride=2)
    28
    """
    single = not isinstance(input_size, (tuple, list))
    ndim = 1 if single else len(input_size)
    sizes = per_dimension("input_size", input_size, ndim)
    kernel = per_dimension("kernel_size", kernel_size, ndim)
    stride = per_dimension("stride", stride, ndim)
    pads = per_dimension("padding", padding, ndim, 0)
    dilation = per_dimension("dilation", dilation, ndim)
    extra = per_dimension("output_padding", output_padding, ndim, 0)
    result = tuple(
        (m - 1) * s - 2 * p + d * (k - 1) + 1 + o
        for m, k, s, p, d, o in zip(sizes, kernel, stride, pads, dilation, extra)
    )
    return result[0] if single else result


class Conv(nn.Module):
    """Convolution layer, eq. (1), in one, two or three dimensions.

    Parameters
    ----------
    in_channels, out_channels : int
        C and F.
    kernel_size : int or sequence of int
    ndim : {1, 2, 3}, default=2
        Dimensions along which the kernel moves.
    stride, dilation : int or sequence of int, default=1
    padding : int, sequence of int, "same" or "valid", default=0
        Zeros at both ends; "same" keeps ceil(n / stride) places, also for even kernels.
    groups : int, default=1
        Parts into which the channels are cut, each with kernels of its own.
    bias : bool, default=True

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import Conv
    >>> layer = Conv(3, 6, 5)
    >>> layer(torch.zeros(1, 3, 32, 32)).shape
    torch.Size([1, 6, 28, 28])
    """

    def __init__(
        self, in_channels, out_channels, kernel_size, *, ndim=2, stride=1, padding=0,
        dilation=1, groups=1, bias=True,
    ):  # fmt: skip
        super().__init__()
        if ndim not in CONVOLUTIONS:
            raise ValueError(f"ndim must be 1, 2 or 3, got {ndim!r}.")
        C = check_count("in_channels", in_channels)
        F = check_count("out_channels", out_channels)
        groups = check_count("groups", groups)
        if C % groups or F % groups:
            raise ValueError(
                f"groups must divide in_channels {C} and out_channels {F}, got "
                f"{groups}."
            )
        self.in_channels, self.out_channels = C, F
        self.ndim, self.groups = ndim, groups
        self.kernel_size = per_dimension("kernel_size", kernel_size, ndim)
        self.stride = per_dimension("stride", stride, ndim)
        self.dilation = per_dimension("dilation", dilation, ndim)
        ones = (1,) * ndim
        padding_pairs(padding, ones, ones, ones, ones)  # refuse what is no padding
        self.padding = tuple(padding) if isinstance(padding, list) else padding
        self.weight = nn.Parameter(torch.empty(F, C // groups, *self.kernel_size))
        self.bias = nn.Parameter(torch.zeros(F)) if bias else None
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def output_size(self, sizes):
        """Eq. (2) for an input of these sizes."""
        return conv_output_size(
            tuple(sizes), self.kernel_size, self.stride, self.padding, self.dilation
        )

    def forward(self, x: Tensor) -> Tensor:
        return self._conv_forward(x, self.weight, self.bias)

    def _conv_forward(self, x, weight, bias):
        """The layer with another weight; torch's convolutions call it so, too."""
        return convolve_channels(
            x, weight, bias, stride=self.stride, padding=self.padding,
            dilation=self.dilation, groups=self.groups,
        )  # fmt: skip

    def extra_repr(self):
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, padding={self.padding!r}, dilation={self.dilation}"
        )


def convolve_channels(x, w, b=None, *, stride=1, padding=0, dilation=1, groups=1):
    """Eq. (1) for tensors: rows and channels first, kernels (F, C / groups, k).

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import convolve_channels
    >>> x = torch.arange(4.0).reshape(1, 1, 4)
    >>> convolve_channels(x, torch.ones(1, 1, 2), padding="same").tolist()
    [[[1.0, 3.0, 5.0, 3.0]]]
    """
    ndim = w.ndim - 2
    if x.ndim != ndim + 2 or x.shape[1] != w.shape[1] * groups:
        raise ValueError(
            f"an input of shape (rows, {w.shape[1] * groups}, {ndim} sizes) is "
            f"expected, got {tuple(x.shape)}."
        )
    sizes, kernel = tuple(x.shape[2:]), tuple(w.shape[2:])
    added_zeros, layer_zeros = _zeros_around(sizes, kernel, stride, padding, dilation)
    if added_zeros:
        x = functional.pad(x, added_zeros)
    return CONVOLUTIONS[ndim](x, w, b, stride, layer_zeros, dilation, groups)


@lru_cache(1024)
def _zeros_around(sizes, kernel, stride, padding, dilation):
    """Zeros to add to an input of these sizes before, and while, it is convolved.

    What has as many zeros before as after is left to the convolution itself.
    """
    ndim = len(sizes)
    conv_output_size(sizes, kernel, stride, padding, dilation)  # or refuse
    stride = per_dimension("stride", stride, ndim)
    dilation = per_dimension("dilation", dilation, ndim)
    pads = padding_pairs(padding, sizes, kernel, stride, dilation)
    if any(low != high for low, high in pads):
        added = [p for pair in reversed(pads) for p in pair]  # torch: last one first
        return added, (0,) * ndim
    return None, tuple(low for low, _ in pads)


class ConvTranspose(nn.Module):
    """Transposed convolution, the adjoint of `Conv`, in one, two or three dimensions.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size : int or sequence of int
    ndim : {1, 2, 3}, default=2
    stride, dilation : int or sequence of int, default=1
    padding : int or sequence of int, default=0
        Places cut off at both ends: the padding of the convolution it is adjoint to.
    output_padding : int or sequence of int, default=0
        o of eq. (4), below the stride or the dilation.
    bias : bool, default=True

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import ConvTranspose
    >>> ConvTranspose(8, 1, 2, stride=2)(torch.zeros(1, 8, 14, 14)).shape
    torch.Size([1, 1, 28, 28])
    """

    def __init__(
        self, in_channels, out_channels, kernel_size, *, ndim=2, stride=1, padding=0,
        dilation=1, output_padding=0, bias=True,
    ):  # fmt: skip
        super().__init__()
        if ndim not in TRANSPOSED:
            raise ValueError(f"ndim must be 1, 2 or 3, got {ndim!r}.")
        self.in_channels = check_count("in_channels", in_channels)
        self.out_channels = check_count("out_channels", out_channels)
        self.ndim = ndim
        self.kernel_size = per_dimension("kernel_size", kernel_size, ndim)
        self.stride = per_dimension("stride", stride, ndim)
        self.dilation = per_dimension("dilation", dilation, ndim)
        self.padding = per_dimension("padding", padding, ndim, 0)
        self.output_padding = per_dimension("output_padding", output_padding, ndim, 0)
        shape = (self.in_channels, self.out_channels, *self.kernel_size)
        self.weight = nn.Parameter(torch.empty(shape))
        self.bias = nn.Parameter(torch.zeros(self.out_channels)) if bias else None
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def output_size(self, sizes):
        """Eq. (4) for an input of these sizes."""
        return transposed_output_size(
            tuple(sizes), self.kernel_size, self.stride, self.padding, self.dilation,
            self.output_padding,
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return TRANSPOSED[self.ndim](
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding,
            1, self.dilation,
        )  # fmt: skip

    def extra_repr(self):
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, padding={self.padding}"
        )
