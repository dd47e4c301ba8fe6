"""Factors: non-negative tables over a few numbered variables, and their algebra.

A factor phi over variables S has a value for each joint state of S. Networks and fields
are products of factors, and every exact answer is made of four operations:

    (phi psi)(x) = phi(x_S) psi(x_T)                  product                  (1)
    (sum_out)(x) = sum_{x_i, i in R} phi(x)           marginalise R            (2)
    (max_out)(x) = max_{x_i, i in R} phi(x)           maximise over R          (3)
    (condition)(x) = phi(x with x_i = e_i, i in E)    enter evidence E         (4)

A factor stands for values * exp(log_scale). Products are divided by their largest
value, whose logarithm goes into log_scale, so that a product of thousands of small
probabilities does not underflow; a factor that is zero everywhere keeps its scale.

Cost      O(cells of the result) for each operation
Shapes    values (size of variables[0], size of variables[1], ...)
Refs      [KollerFriedman2009] ch. 9
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np


class Factor(NamedTuple):
    """A table over variables with ascending numbers: values * exp(log_scale)."""

    variables: tuple[int, ...]
    values: np.ndarray  # >= 0, one axis a variable, float64
    log_scale: float = 0.0


def make_factor(variables, values, log_scale: float = 0.0) -> Factor:
    """A factor whose variables may come in any order: its axes are sorted.

    Examples
    --------
    >>> from pansophy.graphical.inference.factors import make_factor
    >>> make_factor((2, 0), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).values.shape
    (3, 2)
    """
    variables = tuple(int(v) for v in variables)
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != len(variables) or len(set(variables)) != len(variables):
        raise ValueError(
            f"a factor over variables {variables} needs one axis for each, got a "
            f"table of shape {values.shape}."
        )
    order = sorted(range(len(variables)), key=variables.__getitem__)
    ascending = tuple(variables[i] for i in order)
    return Factor(ascending, np.transpose(values, order), float(log_scale))


def broadcast_factor(f: Factor, scope: tuple[int, ...]) -> np.ndarray:
    """The values of f with an axis of length 1 for each other variable of scope."""
    size = dict(zip(f.variables, f.values.shape, strict=True))
    return f.values.reshape([size.get(v, 1) for v in scope])


def rescale_factor(f: Factor) -> Factor:
    """Scale a factor to largest value 1; a factor of zeros is returned as it is."""
    top = float(f.values.max(initial=0.0))
    if top == 0.0 or top == 1.0:
        return f
    return Factor(f.variables, f.values / top, f.log_scale + float(np.log(top)))


def factor_product(factors: Iterable[Factor]) -> Factor:
    """The product of factors, eq. (1), rescaled; 1 over no variables if none."""
    factors = list(factors)
    if not factors:
        return Factor((), np.ones(()))
    scope = tuple(sorted(set().union(*(f.variables for f in factors))))
    values = np.ones((1,) * len(scope))
    scale = 0.0
    for f in factors:
        f = rescale_factor(f)
        values = values * broadcast_factor(f, scope)
        scale += f.log_scale
    return rescale_factor(Factor(scope, values, scale))


def sum_out(f: Factor, variables: Iterable[int]) -> Factor:
    """f summed over the variables, eq. (2)."""
    return _reduce_axes(f, variables, np.sum)


def max_out(f: Factor, variables: Iterable[int]) -> Factor:
    """f maximised over the variables, eq. (3)."""
    return _reduce_axes(f, variables, np.max)


def _reduce_axes(f, variables, operation):
    """f reduced over the axes of the variables."""
    removed = {int(v) for v in variables}
    axes = tuple(k for k, v in enumerate(f.variables) if v in removed)
    kept = tuple(v for v in f.variables if v not in removed)
    values = np.asarray(operation(f.values, axis=axes)) if axes else f.values
    return Factor(kept, values, f.log_scale)


def condition_factor(f: Factor, evidence: Mapping[int, int]) -> Factor:
    """f with the observed variables fixed and their axes dropped, eq. (4)."""
    if not any(v in evidence for v in f.variables):
        return f
    index = tuple(evidence.get(v, slice(None)) for v in f.variables)
    kept = tuple(v for v in f.variables if v not in evidence)
    return Factor(kept, np.asarray(f.values[index]), f.log_scale)


def normalise_factor(f: Factor) -> tuple[Factor, float]:
    """f divided by its sum, and the logarithm of that sum (-inf if f is zero)."""
    total = float(f.values.sum())
    if total == 0.0:
        return f, -np.inf
    log_z = float(np.log(total)) + f.log_scale
    return Factor(f.variables, f.values / total, 0.0), log_z
