"""Targets that are, to the last digit, a weighted sum or a product of columns.

A total beside its parts, a difference beside its terms, a rate beside what it was
computed from: the target is then known as soon as the columns are,

    y_i = a + sum_j w_j x_ij + e_i,   |e_i| at most the rounding of y,           (1)

on nearly all rows; a few may have been corrected by hand. Least squares alone would be
bent by those, so the weights are found by concentration steps: fit, keep the nine
tenths of the rows with the smallest residuals, fit again, until the rows stay the same
(least trimmed squares). Of the columns the fewest are kept, largest first, that still
do it.
A product or a ratio is a sum of logarithms,

    y_i = c prod_j x_ij^e_j,   e_j whole or half numbers,                        (2)

for columns without zeros: the exponents of the trimmed fit of log |y| are rounded, and
eq. (2) is checked on y itself, signs included, within the same rounding.
The rounding of y is the last decimal place that its values use; numbers without one are
compared at a millionth of their spread.

Time O(k n d^2) for k steps.
Refs      [Rousseeuw2006] concentration steps
"""

from typing import NamedTuple

import numpy as np

from ..findings import make_finding

KEPT_ROWS = 0.9  # share of the rows that a concentration step keeps
EXACT_ROWS = 0.95  # share of the rows on which eq. (1) must hold
STEPS = 30
MOST_COLUMNS = 200
MOST_TERMS = 12  # of a sum that a person would recognise
COARSE = 0.02  # of the spread: a coarser target meets anything by rounding
MISSING = 0.2  # share of missing values beyond which a column is not looked at


class ExactCombination(NamedTuple):
    """Eq. (1): the columns, their weights, and on which share of the rows it holds."""

    columns: list[str]
    weights: list[float]
    intercept: float
    share: float


def rounding_of(y) -> float:
    """One unit of the last decimal place that numbers use."""
    scale = float(np.std(y)) or 1.0
    for places in range(-3, 7):
        unit = 10.0**-places
        rest = np.abs(y / unit - np.round(y / unit))
        if np.mean(rest <= 1e-6 * np.maximum(1, np.abs(y / unit))) >= EXACT_ROWS:
            return unit
    return 1e-6 * scale


def _trimmed_fit(A, y) -> np.ndarray:
    """Coefficients of A by concentration steps of least squares."""
    size = int(np.ceil(KEPT_ROWS * len(y)))
    kept = np.arange(len(y))
    w = np.zeros(A.shape[1])
    for _ in range(STEPS):
        w = np.linalg.lstsq(A[kept], y[kept], rcond=1e-10)[0]
        best = np.sort(np.argsort(np.abs(y - A @ w), kind="stable")[:size])
        if len(best) == len(kept) and np.array_equal(best, kept):
            break
        kept = best
    return w


def find_exact_combination(X, y, names) -> ExactCombination | None:
    """Eq. (1) for columns X (n, d) without missing values; None if there is none."""
    spread = float(np.std(y))
    unit = rounding_of(y)
    n, d = X.shape
    if spread == 0 or 1.5 * unit > COARSE * spread or n < 3 * d + 20:
        return None
    scale = X.std(0)
    use = scale > 0
    if not use.any():
        return None
    center = X.mean(0)
    A = np.column_stack([np.ones(n), (X[:, use] - center[use]) / scale[use]])
    holds = lambda w, A: float(np.mean(np.abs(y - A @ w) <= 1.5 * unit))
    w = _trimmed_fit(A, y)
    if holds(w, A) < EXACT_ROWS:
        return None
    largest = 1 + np.argsort(-np.abs(w[1:]), kind="stable")
    for k in range(1, min(len(largest), MOST_TERMS) + 1):  # as few terms as will do
        parts = largest[:k]
        without_constant = A[:, [0, *parts]]
        w = _trimmed_fit(without_constant, y)
        share = holds(w, without_constant)
        if share >= EXACT_ROWS:
            break
    else:
        return None
    if k == 1:  # a copy, which is told elsewhere
        return None
    columns = np.flatnonzero(use)[parts - 1]
    weights = w[1:] / scale[columns]
    intercept = float(w[0] - weights @ center[columns])
    order = np.argsort(-np.abs(w[1:]), kind="stable")
    return ExactCombination(
        [names[columns[k]] for k in order],
        [float(weights[k]) for k in order],
        intercept,
        share,
    )


class ExactProduct(NamedTuple):
    """Eq. (2): the columns, their exponents, and the share of the rows with it."""

    columns: list[str]
    exponents: list[float]
    factor: float
    share: float

    @property
    def formula(self) -> str:
        """`'weight' / 'height'^2`."""
        pairs = list(zip(self.columns, self.exponents, strict=True))
        power = lambda name, e: repr(name) + (f"^{e:g}" if e != 1 else "")
        numerator = [power(name, e) for name, e in pairs if e > 0]
        denominator = [power(name, -e) for name, e in pairs if e < 0]
        return " / ".join([" x ".join(numerator) or "1", *denominator])


def find_exact_product(X, y, names) -> ExactProduct | None:
    """Eq. (2) for columns X (n, d) without missing values; None if there is none.

    Columns may have signs, but no zeros.
    """
    spread = float(np.std(y))
    unit = rounding_of(y)
    usable = np.flatnonzero((X != 0).all(0) & (X.std(0) > 0))
    n, d = len(y), len(usable)
    if d < 2 or n < 3 * d + 20 or not (y != 0).all():
        return None
    if spread == 0 or 1.5 * unit > COARSE * spread:
        return None
    logs = np.log(np.abs(X[:, usable]))
    logs = logs - logs.mean(0)
    scale = logs.std(0)
    if not (scale > 0).all():
        return None
    z = np.log(np.abs(y))
    fitted = _trimmed_fit(np.column_stack([np.ones(n), logs / scale]), z)[1:] / scale
    exponents = np.round(2 * fitted) / 2
    terms = np.flatnonzero(exponents)
    if not 2 <= len(terms) <= MOST_TERMS:
        return None
    parts = X[:, usable[terms]]
    exponents = exponents[terms]
    signed = (parts < 0).any(0)
    if np.any(signed & (exponents % 1 != 0)):  # a root of a negative number
        return None
    odd = exponents % 2 == 1
    product = np.exp(np.log(np.abs(parts)) @ exponents)
    product = product * np.prod(np.where(odd, np.sign(parts), 1.0), axis=1)
    factor = float(np.median(y / product))
    error = np.abs(y - factor * product)
    share = float(np.mean(error <= 1.5 * unit + 1e-9 * np.abs(y)))
    if share < EXACT_ROWS:
        return None
    columns = [names[usable[j]] for j in terms]
    return ExactProduct(columns, exponents.tolist(), factor, share)


def _product_leak(X, y, names, target_name):
    """Finding for a target that is a product or a ratio of columns."""
    result = find_exact_product(X, y, names)
    if result is None:
        return
    rows = "all rows" if result.share == 1 else f"{result.share:.1%} of the rows"
    text = (
        f"On {rows} the target {target_name!r} equals {result.formula} up to a factor "
        "and rounding. If these columns are known only together with the target, every "
        "score here is too good."
    )
    yield make_finding(
        "exact product",
        "alarm",
        text,
        column=result.columns[0],
        columns=result.columns,
        exponents=result.exponents,
        share=result.share,
    )


def exact_combination_leak(inputs, target, done):
    """Finding for a target that is a weighted sum or a product of columns."""
    if target.kind != "number":
        return
    plain = [
        c
        for c in inputs.columns
        if c.kind in ("number", "yes/no")
        and c.name not in done
        and c.missing.mean() <= MISSING
    ][:MOST_COLUMNS]
    if len(plain) < 2:
        return
    is_complete = ~np.any([c.missing for c in plain], axis=0)
    X = np.column_stack([np.asarray(c.numbers, float)[is_complete] for c in plain])
    names = [c.name for c in plain]
    result = find_exact_combination(X, target.y[is_complete], names)
    if result is None:
        yield from _product_leak(X, target.y[is_complete], names, target.name)
        return
    terms = " ".join(
        f"{'-' if v < 0 else '+'} {abs(v):.6g} x {name!r}"
        for name, v in zip(result.columns[:6], result.weights)
    ).removeprefix("+ ")
    ellipsis = " ..." if len(result.columns) > 6 else ""
    rows = "all rows" if result.share == 1 else f"{result.share:.1%} of the rows"
    text = (
        f"On {rows} the target {target.name!r} equals {terms}{ellipsis} up to a "
        "constant and rounding. If these columns are known only together with the "
        "target, every score here is too good."
    )
    yield make_finding(
        "linear combination",
        "alarm",
        text,
        column=result.columns[0],
        columns=result.columns,
        weights=result.weights,
        share=result.share,
    )
