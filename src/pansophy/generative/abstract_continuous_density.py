"""Densities of continuous values for tables that also have discrete columns.

A density of discrete values does not exist: where values repeat, a model can raise it
without bound by narrowing around them. A column is discrete if its values lie on a grid
o + k D, k = 0, 1, ..., or if they repeat. It gets uniform noise in training,

    x + D (u - 1/2),   u uniform on (0, 1)                                       (1)

and its samples are rounded to the grid, within the values that were seen. Then p D
approximates the probability of a value, and the bits of a value are

    -(log p + sum_j log D_j) / (d ln 2)                                          (2)

Diffusions round by default, but add no noise ("round"): they see values with normal
noise of all widths in any case, and would have to learn the edges of (1) exactly for a
pixel to stay at 0. Their densities are then those of the last level of noise, and (2)
does not hold.

Pixels of images share one grid: a pixel that happens to show two values only has the
same D as the others. Rounding is exact for the density that (1) makes, and it is what
a user wants of a count or a grey level; without it any classifier tells samples from
rows by their decimals.

Cost      sorting the columns
Shapes    X (n, d)   D, o (d,)
Refs      [Theis2016]
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from .abstract_generator import AbstractGenerator

REPEATED_SHARE = 0.5  # of the rows; columns with fewer distinct values are discrete
MOST_PLACES = 1 << 16  # of a grid of discrete values
OFF_GRID = 1e-3  # of a step: what rounding may do to values on a grid

Dequantization = Literal["auto", "round", "none"]


def value_steps(X) -> np.ndarray:
    """Least distance between values of each discrete column, else 0: (d,).

    A column is discrete if its values are multiples of their least distance from one
    another, or if they repeat; rows that occur several times count once. A constant
    column has the step 1.
    """
    columns = [np.unique(x) for x in X.T]
    steps = np.array([grid_step(values) for values in columns])
    if (steps == 0).any():
        n = len(np.unique(X, axis=0))
        for j in np.flatnonzero(steps == 0):
            if len(columns[j]) <= REPEATED_SHARE * n:
                steps[j] = np.diff(columns[j].astype(float)).min()
    return steps


def grid_step(values) -> float:
    """The step of the grid on which ascending values lie; 0 if there is none."""
    if len(values) == 1:
        return 1.0
    places = values.astype(float) - float(values[0])
    step = float(np.diff(places).min())
    if places[-1] > MOST_PLACES * step:
        return 0.0
    remainders = np.abs(places - step * np.round(places / step))
    return step if np.all(remainders <= OFF_GRID * step) else 0.0


def with_uniform_noise(x: Tensor, widths: Tensor) -> Tensor:
    """Rows with the noise of eq. (1); `widths` (d,) or empty: none."""
    if not len(widths):
        return x
    return x + widths.to(x) * (torch.rand_like(x) - 0.5)


@dataclass(eq=False, repr=False)
class AbstractContinuousDensity(AbstractGenerator):
    """A generator whose net knows continuous values only.

    Its net adds the noise of eq. (1) to the rows it learns from
    (`with_uniform_noise`), with the widths of `_noise_widths()`.

    Parameters
    ----------
    dequantize : {"auto", "round", "none"}
        "auto" adds uniform noise to columns of discrete values in training, and rounds
        samples to those values; "round" does the second only.

    Attributes
    ----------
    step_ : array of shape (d,)
        Distance between the values of discrete columns, 0 for others.
    value_range_ : array of shape (2, d)
        Least and largest value of each column.
    """

    _: KW_ONLY
    dequantize: Dequantization = "auto"

    def _learn_scaling(self, X, w):
        d = X.shape[1]
        pixels = self._pixels or self.image_shape_ is not None
        self.value_range_ = np.stack([X.min(axis=0), X.max(axis=0)]).astype(float)
        if self.dequantize == "none":
            self.step_ = np.zeros(d)
        elif pixels:
            self.step_ = np.full(d, grid_step(np.unique(X)))
            self.value_range_[:] = [[float(X.min())], [float(X.max())]]
        else:
            self.step_ = value_steps(X)
        return super()._learn_scaling(X, w)

    def _noise_widths(self):
        """Widths (d,) of the noise in standardised units; None where there is none."""
        if self.dequantize != "auto" or not self.step_.any():
            return None
        return torch.as_tensor(self.step_ / np.asarray(self.scale_, float))

    def _finish_samples(self, X):
        discrete = self.step_ > 0
        if not discrete.any():
            return X
        flat = X.reshape(len(X), -1)
        step = np.where(discrete, self.step_, 1.0)
        low, high = self.value_range_
        values = np.clip(low + np.round((flat - low) / step) * step, low, high)
        return np.where(discrete, values, flat).astype(X.dtype).reshape(X.shape)

    def bits_per_dimension(self, X, y=None):
        """Mean bits that a value of X takes, for rows of discrete columns, eq. (2)."""
        if self.dequantize != "auto":
            raise ValueError(
                'bits per dimension need the noise of dequantize="auto", not '
                f"{self.dequantize!r}."
            )
        if not (self.step_ > 0).all():
            column = int(np.flatnonzero(self.step_ == 0)[0])
            raise ValueError(
                "bits per dimension are of discrete values, but those of column "
                f"{column} are not."
            )
        log_p = self.score_samples(X, y) + np.log(self.step_).sum()
        return float(-log_p.mean() / (len(self.step_) * math.log(2)))
