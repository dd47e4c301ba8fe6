"""Target encodings in the inputs: columns whose values are mean targets of groups.

An honest column x of few values has group means m_v of the target, over the c_v rows
with x = v, that scatter about any smooth line. With variance s^2 within groups,

    sum_v c_v (m_v - a - b v)^2 / s^2  ~  chi2(L - 2)   or more                  (1)

over its L values. If x was made as the mean of y over some groups the means lie on the
line exactly, so the sum is too small: a lower tail below 1e-6 is strong evidence.
Rounding and shrinkage to the overall mean leave it far too small still. The line has
to rise: where cases were matched with controls by x, the share of cases is the same at
every value by design, the sum is as small, and the slope is nothing; that is told as
what it is. Eq. (1) needs
groups of like variance. Where y does not vary at most values (it rains wherever a
column of rain is above 0), the pooled s^2 is that of a few groups and says nothing of
the others: with the shares q_v of the groups in the sum of squares within them,
1 / sum q_v^2 groups must carry it, at least a third of all (3).

Where the grouping column g is in the table, x may also be constant within levels of g
and on a line with their mean targets, or be the mean of the other rows of the level,

    x_i = (sum of y over the level - y_i) / (c - 1).                             (2)
"""

import numpy as np
import scipy.stats

from ..findings import make_finding

IMPROBABLE = 1e-6
SURE_SLOPE = 3.0  # standard errors


def target_encoding_leak(c, target):
    """Finding for a column whose values are mean targets of its groups, eq. (1)."""
    if c.categorical or c.kind != "number" or c.missing.mean() > 0.5:
        return None
    is_known = ~c.missing
    values, z = np.unique(c.numbers[is_known], return_inverse=True)
    L = len(values)
    n = len(z)
    if L < 3 or n < 3 * L:
        return None
    counts = np.bincount(z)
    for value, t in target.numbers(is_known):
        means = np.bincount(z, t) / counts
        s2 = float(((t - means[z]) ** 2).sum()) / (n - L)
        if s2 <= 1e-12 * t.var():
            continue
        exact = bool((np.abs(means - values) <= 1e-6 * np.sqrt(s2))[counts > 1].all())
        p = _improbably_close(values, means, counts, z, t, s2)
        described = target.describe(value)
        if p < IMPROBABLE and not exact and not rises(values, means, counts, s2):
            text = (
                f"Over the {L} values of {c.name!r} {described} is the same, closer "
                f"than chance allows (p = {p:.1g}): rows were matched by it. Keep "
                "those of one matched set together, and do not read its share as one "
                "of the population."
            )
            return make_finding(
                "matched design", "note", text, column=c.name, values=L, p=p
            )
        if (exact and L >= 3) or p < IMPROBABLE:
            relation = "equals it" if exact else "follows it closer than chance allows"
            evidence = "" if exact else f" (p = {p:.1g})"
            text = (
                f"Over the {L} values of {c.name!r} {described} {relation}{evidence}. "
                "A column that was made as a mean of the target looks like this: if it "
                "was, scores here are too good."
            )
            return make_finding(
                "target encoding", "alarm", text, column=c.name, values=L, p=p
            )
    return None


def _improbably_close(values, means, counts, z, t, s2) -> float:
    """The lower tail of eq. (1); 1 where few groups carry the variance, eq. (3)."""
    L = len(values)
    within_groups = np.bincount(z, (t - means[z]) ** 2, L)
    carrying = within_groups.sum() ** 2 / (within_groups**2).sum()
    if carrying < max(8, L / 3):
        return 1.0
    return float(scipy.stats.chi2.cdf(_off_line(values, means, counts) / s2, L - 2))


def rises(x, m, c, s2) -> bool:
    """Whether the regression line of means on x has a slope beyond doubt."""
    x, m = x - c @ x / c.sum(), m - c @ m / c.sum()
    return bool(abs((c * x) @ m) >= SURE_SLOPE * np.sqrt(s2 * ((c * x) @ x)))


def _off_line(x, m, c) -> float:
    """Weighted sum of squared residuals of m from its regression line on x."""
    x, m = x - c @ x / c.sum(), m - c @ m / c.sum()
    slope = (c * x) @ m / ((c * x) @ x)
    return float(c @ (m - slope * x) ** 2)


def encoded_levels(inputs, target, done):
    """Findings for columns that are mean targets by the levels of another, eq. (2)."""
    plain = [c for c in inputs.columns if c.kind == "number" and c.name not in done]
    plain = [c for c in plain if not c.missing.any() and np.ptp(c.numbers) > 0]
    if not plain:
        return
    X = np.column_stack([c.numbers for c in plain])
    X = (X - X.mean(0)) / X.std(0)
    for g in inputs.columns:
        z = g.labelled()
        L = int(z.max(initial=-1)) + 1
        if (z < 0).any() or not 8 <= L <= min(len(z) / 3, 500):
            continue
        counts = np.bincount(z)
        start = np.r_[0, np.cumsum(counts)[:-1]]
        sorted_X = X[np.argsort(z, kind="stable")]
        low = np.minimum.reduceat(sorted_X, start)
        steady = np.all(np.maximum.reduceat(sorted_X, start) - low <= 1e-9, axis=0)
        for value, t in target.numbers(slice(None)):
            total = np.bincount(z, t)
            left = (total[z] - t) / np.maximum(counts[z] - 1, 1)
            spread = left.std() or 1.0
            correlations = X.T @ (left - left.mean()) / (len(t) * spread)
            for j, c in enumerate(plain):
                if c is g or c.name in done:
                    continue
                r = _weighted_r(low[:, j], total / counts, counts) if steady[j] else 0.0
                exact = abs(correlations[j]) > 0.9999 and _within_r(
                    X[:, j], left, z, counts
                )
                if abs(r) > 0.995 or exact > 0.9999:
                    done.add(c.name)
                    yield _encoding_finding(
                        c, g, target.describe(value), r or correlations[j]
                    )


def _encoding_finding(c, g, what, r):
    text = (
        f"{c.name!r} follows {what} over {g.name!r} (r = {r:.4f}), as a column does "
        "that was made as a mean of the target: if it was, scores here are too good."
    )
    return make_finding("target encoding", "alarm", text, column=c.name, r=r, by=g.name)


def _weighted_r(a, b, w) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    cov = np.cov(a, b, aweights=w)
    return float(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))


def _within_r(x, t, z, counts) -> float:
    """Absolute correlation within groups."""
    a = x - (np.bincount(z, x) / counts)[z]
    b = t - (np.bincount(z, t) / counts)[z]
    size = np.sqrt((a @ a) * (b @ b))
    return float(abs(a @ b) / size) if size > 0 else 0.0
