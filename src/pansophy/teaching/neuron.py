"""A neuron: a weighted sum of inputs, and what it makes of it.

    z = w.x + b,   output g(z)                                                  (1)

with g the step (a threshold unit), the sign (the perceptron's unit), the logistic
function (logistic regression) or the identity (a linear unit). A threshold t is a bias
of -t, and a bias is the weight of an input that is always 1:

    w.x > t   <=>   w.x - t > 0   <=>   (-t, w).(1, x) > 0                      (2)

The logistic function is 1/2 at z = 0, so a logistic unit cut at 1/2 decides as the
sign unit of the same weights does.

Refs      [Rosenblatt1958]
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..nn.layers.activations import ACTIVATIONS, THRESHOLDS

UNITS = {**ACTIVATIONS, **THRESHOLDS}


@dataclass(frozen=True)
class Neuron:
    """One unit, eq. (1), for rows of numbers.

    Parameters
    ----------
    weights : array of shape (d,)
    bias : float
    activation : str
        g: "sign", "step", or a name of `nn.ACTIVATIONS`.

    Examples
    --------
    >>> from pansophy import nn, teaching
    >>> both = teaching.Neuron([1, 1], threshold=1.5, activation="step")
    >>> both([[0, 0], [0, 1], [1, 0], [1, 1]])
    array([0., 0., 0., 1.])
    >>> teaching.Neuron([0.5, -0.5], activation="logistic")([1, 2]).round(6)
    np.float64(0.377541)
    """

    weights: Any
    bias: float = 0.0
    activation: str = "sign"
    threshold: float | None = None

    def __post_init__(self):
        if self.activation not in UNITS:
            raise ValueError(
                f"activation of Neuron must be one of {', '.join(UNITS)}, got "
                f"{self.activation!r}."
            )
        if np.ndim(self.weights) != 1:
            raise ValueError("weights of Neuron must be a row of numbers.")
        if self.threshold is not None and self.bias:
            raise ValueError("give a Neuron its bias or its threshold, not both.")

    @property
    def total_bias(self) -> float:
        """b of eq. (1): the bias, or minus the threshold."""
        return self.bias if self.threshold is None else -self.threshold

    def scores(self, X) -> np.ndarray:
        """z of every row."""
        return np.asarray(X, float) @ np.asarray(self.weights, float) + self.total_bias

    def __call__(self, X) -> np.ndarray:
        """g(z) of every row."""
        Z = np.asarray(self.scores(X))
        outputs = UNITS[self.activation].value(torch.as_tensor(Z).reshape(-1))
        return outputs.numpy().reshape(Z.shape)[()]

    def with_constant_input(self) -> np.ndarray:
        """(b, w): the weights of (1, x), eq. (2)."""
        return np.concatenate([[self.total_bias], np.asarray(self.weights, float)])
