"""Diversity of an ensemble: how much its members differ, and what averaging gains.

For numbers, with weights w_m that sum to 1 and the average f = sum_m w_m f_m,

    (f - y)^2 = sum_m w_m (f_m - y)^2  -  sum_m w_m (f_m - f)^2                  (1)
     ensemble      mean of members             ambiguity

for every row: the ensemble is better than its members on average by exactly their
ambiguity. For classes and members i, j, with the counts a (both right), b and c (one of
them), d (both wrong) over the rows,

    disagreement   share of rows on which the classes differ                     (2)
    Q              (a d - b c) / (a d + b c), 1 if right and wrong together      (3)
    kappa          (agreement - chance) / (1 - chance), chance from their shares (4)
    entropy        of the votes in a row, over log(min(M, K)), mean over rows    (5)

All but Q and kappa are 0, and kappa is 1, when all members agree.

Shapes    outputs (n, M)   pairs (M, M)
Refs      [KroghVedelsby1995] (1); [KunchevaWhitaker2003] (2) to (5)
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays.labels import class_codes
from ..distributions import entropy
from .voting import mean_of_members, vote_shares


class Diversity(NamedTuple):
    """Measures of diversity; prints as a few lines. NaN if they need y."""

    members: int
    kind: str  # "numbers" or "classes"
    disagreement: np.ndarray  # (M, M): shares of rows, or mean squared differences
    ambiguity: float  # deviation of the outputs from the combined one
    ensemble_error: float
    member_error: float  # weighted mean over members
    q_statistic: np.ndarray  # (M, M), of classes
    kappa: np.ndarray  # (M, M), of classes
    entropy: float  # of classes, 0 to 1

    @property
    def mean_disagreement(self) -> float:
        """Mean over pairs of members."""
        return mean_off_diagonal(self.disagreement)

    def __str__(self):
        lines = [f"{self.members} members, {self.kind}"]
        unit = "share of rows" if self.kind == "classes" else "mean squared difference"
        lines.append(f"pairwise disagreement {self.mean_disagreement:.4g} ({unit})")
        if self.kind == "classes":
            q, k = mean_off_diagonal(self.q_statistic), mean_off_diagonal(self.kappa)
            lines.append(f"kappa {k:.4g}, Q {q:.4g}, entropy {self.entropy:.4g}")
        if not np.isnan(self.ensemble_error):
            lines.append(
                f"error {self.ensemble_error:.4g}, of members {self.member_error:.4g}, "
                f"ambiguity {self.ambiguity:.4g}"
            )
        else:
            lines.append(f"ambiguity {self.ambiguity:.4g}")
        return "\n".join(lines)


def mean_off_diagonal(A) -> float:
    """Mean of the entries of pairs of different members; 0 for one member."""
    M = len(A)
    if M < 2:
        return 0.0
    return float(A[~np.eye(M, dtype=bool)].mean())


def mean_ambiguity(pairs, w) -> float:
    """Last term of eq. (1), mean over rows, from mean squared differences (M, M).

    sum_m w_m (f_m - f)^2 is 1/2 sum_ml w_m w_l (f_m - f_l)^2: exactly 0 where all
    members agree.
    """
    return float(0.5 * w @ pairs @ w)


def pairwise_q_statistic(right, rows):
    """Eq. (3) of pairs of columns of right (n, M); 0 where it is not defined."""
    R = right.astype(float)
    both, neither = R.T @ (rows[:, None] * R), (1 - R).T @ (rows[:, None] * (1 - R))
    one = R.T @ (rows[:, None] * (1 - R))
    top, bottom = both * neither - one * one.T, both * neither + one * one.T
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def pairwise_kappa(agreement, shares):
    """Eq. (4) from the shares of rows (M, M) and of classes (M, K)."""
    chance = shares @ shares.T
    same = chance >= 1 - 1e-12  # both name one class throughout: they agree
    top = agreement - chance
    return np.where(same, 1.0, top / np.where(same, 1.0, 1.0 - chance))


def vote_entropy(shares, M):
    """Eq. (5) by row, from shares of votes (n, K)."""
    n_values = min(M, shares.shape[1])
    if n_values < 2:
        return np.zeros(len(shares))
    return entropy(shares, axis=1) / np.log(n_values)


def diversity(
    outputs, y=None, *, weights=None, sample_weight=None, kind=None
) -> Diversity:
    """Pairwise and overall measures of how members of an ensemble differ.

    Parameters
    ----------
    outputs : array of shape (n, M)
        Prediction of each of M members for each row: `VotingRegressor.transform`, or
        stacked predictions. Numbers or class labels.
    y : array of shape (n,), default=None
        The truth, for errors and the Q statistic.
    weights : array of shape (M,), default=None
        Weights of the members.
    sample_weight : array of shape (n,), default=None
    kind : {"numbers", "classes"} or None, default=None
        None takes floating-point outputs for numbers and the rest for classes.

    Returns
    -------
    Diversity

    Examples
    --------
    >>> from pansophy.ensemble import diversity
    >>> print(diversity([[1.0, 3.0], [2.0, 2.0]], [2.0, 3.0]))
    2 members, numbers
    pairwise disagreement 2 (mean squared difference)
    error 0.5, of members 1, ambiguity 0.5
    """
    F = np.asarray(outputs)
    if F.ndim != 2 or 0 in F.shape:
        raise ValueError(f"outputs must be filled and of shape (n, M), got {F.shape}.")
    n, M = F.shape
    kind = kind or ("numbers" if F.dtype.kind == "f" else "classes")
    if kind not in ("numbers", "classes"):
        raise ValueError(f"kind must be 'numbers', 'classes' or None, got {kind!r}.")
    w = normalized_weights(weights, M, "weights")
    rows = normalized_weights(sample_weight, n, "sample_weight")
    truth = None if y is None else np.asarray(y).ravel()
    if truth is not None and len(truth) != n:
        raise ValueError(f"outputs has {n} rows, but y has {len(truth)} entries.")
    measure = diversity_of_numbers if kind == "numbers" else diversity_of_classes
    return measure(F, truth, w, rows)


def normalized_weights(values, size, name):
    """Weights that sum to 1."""
    v = np.ones(size) if values is None else np.asarray(values, float).ravel()
    if len(v) != size or not np.all(v >= 0) or not v.sum() > 0:
        raise ValueError(
            f"{name} must hold {size} numbers of at least 0 with a positive sum."
        )
    return v / v.sum()


def diversity_of_numbers(F, y, w, rows) -> Diversity:
    """Eq. (1)."""
    F = F.astype(float)
    M = F.shape[1]
    none = np.full((M, M), np.nan)
    pairs = np.stack([rows @ (F - F[:, [m]]) ** 2 for m in range(M)])
    ensemble_error = member_error = np.nan
    if y is not None:
        ensemble_error = float(rows @ (mean_of_members(F, w) - y) ** 2)
        member_error = float(rows @ (mean_of_members((F - y[:, None]) ** 2, w)))
    ambiguity = mean_ambiguity(pairs, w)
    return Diversity(
        M,
        "numbers",
        pairs,
        ambiguity,
        ensemble_error,
        member_error,
        none,
        none,
        np.nan,
    )


def diversity_of_classes(F, y, w, rows) -> Diversity:
    """Eqs. (2) to (5); ambiguity is the share of votes against the majority."""
    n, M = F.shape
    classes, codes = class_codes(F.ravel())
    codes = codes.reshape(n, M)
    differ = lambda a, b: float(rows @ (a != b))
    apart = np.array([[differ(a, b) for b in codes.T] for a in codes.T])
    class_shares = np.stack([np.bincount(c, rows, len(classes)) for c in codes.T])
    votes = vote_shares(codes, w, len(classes))
    best = votes.argmax(axis=1)
    ensemble_error = member_error = np.nan
    q = np.full((M, M), np.nan)
    if y is not None:
        right = y[:, None] == F
        ensemble_error = float(rows @ (classes[best] != y))
        member_error = float(rows @ mean_of_members(~right, w))
        q = pairwise_q_statistic(right, rows)
    equal = vote_shares(codes, np.ones(M), len(classes))
    return Diversity(
        M,
        "classes",
        apart,
        float(rows @ (1.0 - votes.max(axis=1))),
        ensemble_error,
        member_error,
        q,
        pairwise_kappa(1.0 - apart, class_shares),
        float(rows @ vote_entropy(equal, M)),
    )
