"""Joint probability tables: marginals, conditionals, Bayes' rule, independence.

A table holds P(x_1, ..., x_m) with an axis for each variable. From it

    P(A) = sum over the rest,     P(A | B) = P(A, B) / P(B)                      (1)
    P(x_1, ..., x_m) = prod_j P(x_j | x_1, ..., x_{j-1})      in any order       (2)
    P(c | e_1, ..., e_r) = a P(c) prod_i P(e_i | c)      a makes the sum 1       (3)
    X and Y are independent given Z:   P(x, y | z) = P(x | z) P(y | z)           (4)

(3) holds for effects that are independent given the cause, and is computed in logs.
For (4) the largest deviation and the mutual information are reported; a table counted
from n rows is never exactly independent, so G = 2 n I(X; Y | Z) is compared with the
chi-squared distribution it has, for large n, where (4) holds.

Shapes    prob (m_1, ..., m_r)   prior (m,)
Refs      [CoverThomas2006] ch. 2; [Wilks1938] G
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from ..core.arrays import arrays
from ..core.numerics import safe_divide, safe_log, softmax
from .base import float_parameter, require_all
from .information.information import (
    as_probabilities,
    axis_numbers,
    conditional_entropy,
    joint_and_product,
    joint_entropy,
    marginal_table,
    mutual_information,
    unwrap_scalar,
)


def bayes_rule(prior, *likelihoods):
    """The posterior of causes after effects, eq. (3).

    Parameters
    ----------
    prior : array of shape (m,)
        Probability of each cause.
    *likelihoods : arrays of shape (m,) or (..., m)
        Probability of each effect that was seen, under each cause. Leading axes are
        cases of their own.

    Returns
    -------
    posterior : array of shape (m,) or (..., m)

    Examples
    --------
    >>> from pansophy.distributions import bayes_rule
    >>> bayes_rule([0.2, 0.8], [0.6, 0.1]).round(6)  # toothache under cavity, none
    array([0.6, 0.4])
    """
    prior = as_probabilities(prior, -1, "prior")
    score = safe_log(prior)
    for likelihood in likelihoods:
        value = arrays.asarray(likelihood, like=prior)
        require_all(value >= 0, "a likelihood is negative.")
        score = score + safe_log(value)
    xp = arrays.namespace(score)
    if not bool(xp.all(xp.any(xp.isfinite(score), axis=-1))):
        raise ValueError("what was seen is impossible under every cause.")
    return softmax(score, axis=-1)


@dataclass(frozen=True, eq=False)
class Independence:
    """Verdict on eq. (4); true in a condition if the variables are independent."""

    independent: bool
    deviation: float  # max |P(x, y | z) - P(x | z) P(y | z)|
    mutual_information: float  # nats
    statistic: float | None = None  # G, for a table of counts
    p_value: float | None = None
    free: int | None = None  # degrees of freedom of G

    def __bool__(self):
        return self.independent


def independent(
    table, x=0, y=1, given=(), *, tol: float = 1e-9, n=None, alpha: float = 0.05
) -> Independence:
    """Whether X and Y are independent, or so given Z: eq. (4).

    Parameters
    ----------
    table : JointTable, or array with an axis for each variable
        Probabilities or counts.
    x, y, given : name, int, or a sequence of either
        The variables; the others are summed out.
    tol : float, default=1e-9
        Largest deviation that counts as none, for a table of probabilities.
    n : float, optional
        Number of rows the table was counted from; known for tables made by
        `JointTable.from_samples`. The verdict is then that of the G test.
    alpha : float, default=0.05
        Level of that test.

    Examples
    --------
    >>> from pansophy.distributions import independent
    >>> bool(independent([[0.06, 0.14], [0.24, 0.56]]))
    True
    >>> round(independent([[0.27974, 0.22626], [0.23426, 0.25974]]).deviation, 6)
    0.019656
    """
    if isinstance(table, JointTable):
        n = table.n if n is None else n
        x, y, given = (table.axes(v) for v in (x, y, given))
        table = table.prob
    p, q = joint_and_product(table, x, y, given)
    xp = arrays.namespace(p)
    pz = xp.sum(p, axis=(0, 1), keepdims=True) + 0 * p
    gap = float(xp.max(xp.abs(safe_divide(p - q, pz))))
    info = float(mutual_information(p, 0, 1, 2))
    if n is None:
        return Independence(gap <= tol, gap, info)
    seen = lambda axis: xp.sum(xp.astype(xp.sum(p, axis=axis) > 0, xp.int64), axis=0)
    cells = (seen(1) - 1) * (seen(0) - 1)
    free = int(xp.sum(xp.where(pz[0, 0, :] > 0, cells, 0 * cells)))
    G = 2 * float(n) * info
    p_value = float(chdtrc(free, G)) if free > 0 else 1.0
    return Independence(p_value >= alpha, gap, info, G, p_value, free)


@dataclass(frozen=True, eq=False)
class JointTable:
    """The joint distribution of a few discrete variables.

    Parameters
    ----------
    prob : array with an axis for each variable
        Probabilities, or whole numbers as counts.
    names : sequence of str, optional
        Names of the axes; x0, x1, ... if not given.
    n : float, optional
        Number of rows the table was counted from.

    Examples
    --------
    >>> from pansophy.distributions import JointTable
    >>> table = JointTable.from_factors(
    ...     {"cavity": [0.8, 0.2], "tooth | cavity": [[0.9, 0.1], [0.4, 0.6]]}
    ... )
    >>> round(float(table.probability({"cavity": 1}, given={"tooth": 1})), 6)
    0.6
    >>> table.conditional("cavity", given="tooth").round(3)
    array([[0.9, 0.1], [0.4, 0.6]])
    """

    prob: Any
    names: Any = None
    n: float | None = None

    def __post_init__(self):
        prob = float_parameter(self.prob)
        names = self.names
        names = [f"x{j}" for j in range(prob.ndim)] if names is None else names
        if len(names) != prob.ndim or len(set(names)) < len(names):
            raise ValueError(
                f"a table of {prob.ndim} axes needs as many different names, got "
                f"{list(names)}."
            )
        object.__setattr__(
            self, "prob", as_probabilities(prob, None, "the joint table")
        )
        object.__setattr__(self, "names", tuple(names))

    @classmethod
    def from_samples(cls, X, weights=None, *, sizes=None, names=None) -> "JointTable":
        """Relative frequencies of rows X (n, m) of symbols 0, 1, 2, ..."""
        X = arrays.to_numpy(X)
        X = X[:, None] if X.ndim == 1 else X
        codes = X.astype(np.int64)
        require_all(
            (codes == X) & (codes >= 0), "symbols must be whole numbers from 0."
        )
        sizes = tuple(codes.max(axis=0) + 1 if sizes is None else sizes)
        require_all(codes < np.asarray(sizes), f"a symbol is outside of sizes {sizes}.")
        cell = np.ravel_multi_index(tuple(codes.T), sizes)
        count = np.bincount(cell, weights, minlength=int(np.prod(sizes)))
        total = float(count.sum())
        return cls((count / total).reshape(sizes), names, total)

    @classmethod
    def from_factors(cls, factors: Mapping[str, Any]) -> "JointTable":
        """The product of conditional tables, eq. (2) with what is independent left out.

        A key "X | Y, Z" holds P(X | Y, Z) with axes Y, Z, X: its last axis sums to 1.
        """
        parsed = [(split_key(key), table) for key, table in factors.items()]
        names = [variable for (variable, _), _ in parsed]
        joint: Any = 1.0
        known: list[str] = []
        for (variable, condition), table in parsed:
            missing = [g for g in condition if g not in known]
            if missing:
                raise ValueError(
                    f"{missing[0]} must come before {variable}, which needs it."
                )
            table = _conditional_table(table, variable, condition)
            xp = arrays.namespace(table)
            known.append(variable)
            present = [v for v in known if v in (*condition, variable)]
            table = xp.permute_dims(
                table, tuple([*condition, variable].index(v) for v in present)
            )
            shape = iter(table.shape)
            full = tuple(next(shape) if v in present else 1 for v in known)
            joint = joint[..., None] if known[1:] else joint
            joint = joint * xp.reshape(table, full)
        return cls(joint, names)

    def axes(self, variables) -> tuple[int, ...]:
        """Axis numbers of variables given by name or number."""
        if isinstance(variables, (str, int, np.integer)):
            variables = (variables,)
        wrong = [v for v in variables if isinstance(v, str) and v not in self.names]
        if wrong:
            raise ValueError(f"there is no variable {wrong[0]}; {self.names} are.")
        place = lambda v: self.names.index(v) if isinstance(v, str) else v
        return axis_numbers([place(v) for v in variables], self.prob.ndim)

    def marginal(self, *variables) -> "JointTable":
        """The table of some variables, in this order; eq. (1)."""
        axes = self.axes(variables)
        return JointTable(
            marginal_table(self.prob, axes), [self.names[a] for a in axes], self.n
        )

    def conditional(self, of, given=()):
        """P(of | given) with the axes of `given` first; 0 where P(given) is."""
        of, given = self.axes(of), self.axes(given)
        p = marginal_table(self.prob, (*given, *of))
        xp = arrays.namespace(p)
        own_axes = tuple(range(len(given), p.ndim))
        return safe_divide(p, xp.sum(p, axis=own_axes, keepdims=True) + 0 * p)

    def condition(self, **values) -> "JointTable":
        """The table of the other variables given that some have these values."""
        p = self.prob
        names = list(self.names)
        axes = {self.axes(name)[0]: int(v) for name, v in values.items()}
        index = tuple(axes.get(a, slice(None)) for a in range(p.ndim))
        p = p[index]
        total = arrays.namespace(p).sum(p)
        require_all(total > 0, f"{values} has probability 0.")
        n = None if self.n is None else self.n * float(total)
        left = [v for a, v in enumerate(names) if a not in axes]
        return JointTable(p / total, left, n)

    def probability(
        self, event: Mapping[str, int], given: Mapping[str, int] | None = None
    ):
        """P(event | given) for values of variables by name."""
        table = self.condition(**given) if given else self
        p = table.marginal(*event).prob
        return unwrap_scalar(p[tuple(int(v) for v in event.values())])

    def chain(self, *order) -> dict[str, Any]:
        """The factors of eq. (2), for `from_factors`, in an order of the variables."""
        names = [self.names[a] for a in self.axes(order or self.names)]
        factors = {}
        for j, variable in enumerate(names):
            preceding = names[:j]
            table = self.conditional(variable, preceding)
            xp = arrays.namespace(table)
            is_possible = xp.sum(table, axis=-1, keepdims=True) > 0
            uniform = xp.full_like(table, 1 / table.shape[-1])  # never reached
            key = f"{variable} | {', '.join(preceding)}" if preceding else variable
            factors[key] = xp.where(is_possible, table, uniform)
        return factors

    def independent(self, x, y, given=(), **options) -> Independence:
        """Eq. (4): see `independent`."""
        return independent(self, x, y, given, **options)

    def entropy(self, of=None, given=(), *, base=None):
        """H(of | given); of all variables if `of` is None."""
        if of is None:
            of = [a for a in range(self.prob.ndim) if a not in self.axes(given)]
        of, given = self.axes(of), self.axes(given)
        if not given:
            return joint_entropy(marginal_table(self.prob, of), base=base)
        return conditional_entropy(self.prob, of, given, base=base)

    def mutual_information(self, x, y, given=(), *, base=None):
        """I(x; y | given)."""
        x, y, given = (self.axes(v) for v in (x, y, given))
        return mutual_information(self.prob, x, y, given, base=base)

    def sample(self, n: int, rng: np.random.Generator):
        """n rows of symbols: (n, m)."""
        p = arrays.to_numpy(self.prob)
        cell = rng.choice(p.size, size=n, p=p.ravel() / p.sum())
        return np.stack(np.unravel_index(cell, p.shape), axis=1)


def split_key(key: str) -> tuple[str, list[str]]:
    """ "X | Y, Z" as ("X", ["Y", "Z"])."""
    variable, _, condition = key.partition("|")
    return variable.strip(), [g for g in re.split(r"[,\s]+", condition.strip()) if g]


def _conditional_table(table, variable, given):
    """P(variable | given), its last axis checked to sum to 1."""
    table = float_parameter(table)
    if table.ndim != len(given) + 1:
        raise ValueError(
            f"P({variable} | {', '.join(given)}) needs {len(given) + 1} axes, "
            f"got {table.ndim}."
        )
    text = f"P({variable} | {', '.join(given)})" if given else f"P({variable})"
    return as_probabilities(table, -1, text)
