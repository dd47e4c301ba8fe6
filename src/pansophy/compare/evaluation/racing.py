"""Racing: methods that can no longer come first stop between two cross-validations.

R cross-validations of the same n rows are to be made. After r of them method m has the
mean loss d_r more than the leader, the best of the methods before it in the order from
simple to elaborate. Its last mean is

    d_R = d_r + (R - r)/R (mean of the R - r to come - d_r),                       (1)

and as the same rows come again, all that is left to chance are folds and seeds: with
the variance s^2 of a mean over one cross-validation, given the rows,

    Var(d_R - d_r) = s^2 (R - r) / (R r).                                          (2)

m stops if d_R <= 0, by which it would come first, has too small a probability,

    P( range of M Normals / s >= sqrt(2) d_r / sqrt(Var) )  <=  alpha / (R - 1),   (3)

the studentised range over all pairs of the M methods, since the leader was picked for
its lead and several methods race. R - 1 looks share alpha, so that in at most a share
alpha = 0.05 of comparisons any method is stopped that would have come first.

s^2 is found from what folds add to the rows: e_f is the mean over the test rows of fold
f of d_ri - dbar_i, which is free of how hard the rows are. k folds make a repeat; the
mean dbar_i holds 1/r of this fold and of a fold of each other repeat, which the rows of
f share among k folds there, so that

    s^2 = r^2 / ((r - 1) (r - 1 + 1/k)) mean_f(e_f^2) / k,                         (4)

with (r - 1) k degrees of freedom.

After the first repeat rows and folds cannot be told apart; there s^2 is the whole
variance of the mean of d over the rows (or groups of rows), or over the k folds if that
is larger, as it is where single fits fail. Both hold far more than (2), for hard rows
do not come back easier: a method that stops then is worse than the leader beyond chance
for new rows as well.
A metric that is no mean over rows has the scores of its folds, with the corrected
variance of Nadeau and Bengio in place of s^2.

**What stays valid.** A stopped method is not forgotten: it has all rows of the repeats
it was in, takes its place among the M methods over which p values are adjusted, and the
repeats that it did not run are filled in (`fill_unrun_repeats`) with the leader's plus
its own differences from the leader, so that it is compared where both were measured.
The leader is simpler, so that a stopped method would not have been kept for simplicity
either. Decisions rest on the losses of whole repeats and on the order of the methods,
not on a clock or on which fit was done first: they are the same on any number of
processes and in a run that is resumed.

Refs      [Nadeau2003]; [Tukey1953] (3); [Maron1994] races; [Lan1982] stopping when the
          end can no longer change the answer
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from .paired_tests import between_fold_variance, covariance_of_means, row_units
from .statistics import corrected_standard_error, studentized_range_tail

ALPHA = 0.05  # of comparisons in which a method that would have come first is stopped


class RaceStop(NamedTuple):
    """When and why a method was stopped."""

    leader: str  # the method it was behind
    repeats: int  # cross-validations it was in
    fits: int  # those of these cross-validations
    planned: int  # all fits it would have had
    difference: float  # mean loss, or loss of score, more than that of the leader
    p: float  # eq. (3), of making that up


def stopping_p_value(difference, error, df, n_methods) -> float:
    """Eq. (3): the probability of making up a difference, over all pairs of methods."""
    if not np.isfinite(error) or difference <= 0:
        return 1.0
    if error == 0:
        return 0.0
    t = difference / error
    if n_methods < 3:
        return float(special.stdtr(df, -t))
    return studentized_range_tail(np.sqrt(2) * t, n_methods, df)


def loss_reach(differences, repeats, design) -> tuple[float, float, float]:
    """(d_r, sqrt of eq. (2), degrees of freedom) from row losses.

    `differences` (r, n) are losses of a method less those of the leader in the first r
    of `repeats` cross-validations; NaN for rows never held out.
    """
    seen = np.isfinite(differences).all(0)
    d = differences[:, seen]
    r = len(d)
    part = design.rows(seen)
    w = np.ones(d.shape[1]) if part.weight is None else np.asarray(part.weight, float)
    mean = float(np.average(d.mean(0), weights=w))
    if r == 1:
        units = row_units(d.shape[1], part.group, part.time)
        covariance, df = covariance_of_means(d.T, units, w)
        between_folds = between_fold_variance(d, part.fold_of[:1], design.folds, w)
        variance = max(float(covariance[0, 0]), float(between_folds[0, 0]))
    else:
        variance, df = fold_variance(d, part.fold_of[:r], design.folds, w)
    left = (repeats - r) / repeats if r == 1 else (repeats - r) / (repeats * r)
    return mean, float(np.sqrt(max(variance, 0.0) * left)), df


def fold_variance(differences, fold_of, folds, weights) -> tuple[float, float]:
    """Eq. (4): the variance of one repeat's mean given the rows, and its df."""
    r = len(differences)
    centered = differences - differences.mean(0)
    code = (fold_of + folds * np.arange(r)[:, None]).ravel()
    mass = np.tile(weights, r)
    total = np.bincount(code, mass * centered.ravel(), minlength=r * folds)
    size = np.bincount(code, mass, minlength=r * folds)
    e = total[size > 0] / size[size > 0]
    scale = r**2 / ((r - 1) * (r - 1 + 1 / folds))
    return scale * float((e**2).mean()) / folds, float((r - 1) * folds)


def score_reach(differences, ratio, repeats, r) -> tuple[float, float, float]:
    """(d_r, error, degrees of freedom) from scores of folds, with the sign of a loss.

    `differences` are those of a method less those of the leader.
    """
    d = np.asarray(differences, dtype=float)
    if len(d) < 2 or not np.isfinite(d).all():
        return 0.0, np.nan, 1.0
    left = np.sqrt((repeats - r) / repeats)
    return float(d.mean()), corrected_standard_error(d, ratio) * left, len(d) - 1.0


def fill_unrun_repeats(values, reference) -> np.ndarray:
    """Values of the repeats or folds that were not run, from those of a reference.

    The first axis is that of repeats or folds. What is missing has the mean difference
    from the reference where both are known, so that the mean over all differs from that
    of the reference by as much as was measured.

    Examples
    --------
    >>> from pansophy.compare.evaluation.racing import fill_unrun_repeats
    >>> fill_unrun_repeats([3.0, 5.0], [1.0, 2.0, 6.0]).tolist()
    [3.0, 5.0, 8.5]
    """
    values = np.asarray(values, dtype=float)
    reference = np.asarray(reference, dtype=float)
    known = len(values)
    shift = (values - reference[:known]).mean(0)
    return np.concatenate([values, reference[known:] + shift])
