"""Query strategies of active learning: a score per row, larger is more useful.

With P(k | x) from a classifier fitted to the labels so far,

    least confidence   1 - max_k P(k | x)      (two classes: smallest |1/2 - P|)    (1)
    margin             P(second | x) - P(first | x)                                 (2)
    entropy            -sum_k P(k | x) log P(k | x)                                 (3)

query what the classifier is least certain of. A committee of classifiers fitted to
resampled labels queries what its members disagree about,

    vote entropy       -sum_k V_k log V_k,    V_k the share of votes for k          (4)
    divergence         mean over members m of KL(P_m(. | x), mean P)                (5)

Expected reduction queries the row whose label would help most elsewhere: for each
candidate x and each label k, fit again with (x, k), and average over the labels the
uncertainty that is left in the pool,

    U(x) = sum_k P(k | x) mean_pool u(x'; with (x, k))                              (6)

u being the entropy (3) or the error (1). In each case rows in dense regions can be
weighted more than isolated ones, by their information density:

    score(x) (mean_pool k(x, x'))^beta                                              (7)

Rows chosen in one of these ways are no random sample: the share of a class among them
is not its share in the pool, and an error measured on them is not the error.

Cost      (1) to (3) one prediction of the pool; (4), (5) M fits and predictions;
          (6) candidates times K fits; (7) O(pool^2 d) in blocks
Refs      [Lewis1994] (1); [Settles2009] all; [Seung1992] (4); [McCallum1998] (5), (7);
          [Roy2001] (6)
"""

from dataclasses import KW_ONLY, dataclass, field, fields
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from ..core.arrays.rows import Rows
from ..distributions import entropy
from ..kernels import RBF
from ..kernels.lookup import kernel_for_rows
from ..params import Count, NonNegative, check_params
from ..typing import Fittable


def least_confidence(P):
    """Eq. (1)."""
    return 1 - P.max(axis=1)


def margin(P):
    """Eq. (2); 0 is a tie, -1 is certain."""
    if P.shape[1] < 2:
        return np.full(len(P), -1.0)
    top = np.partition(P, -2, axis=1)
    return top[:, -2] - top[:, -1]


def predictive_entropy(P):
    """Eq. (3); rows are scaled to sum 1, which rounding may have missed."""
    P = np.asarray(P, float)
    return entropy(P / P.sum(axis=1, keepdims=True), axis=1)


UNCERTAINTY_MEASURES = {
    "least_confidence": least_confidence,
    "margin": margin,
    "entropy": predictive_entropy,
}


def information_density(X, kernel=None):
    """Mean similarity of each row to all, the factor of eq. (7)."""
    is_sparse = sp.issparse(X)
    X = X.tocsr() if is_sparse else np.asarray(X, float)
    if kernel is None:
        m = np.asarray(X.mean(axis=0)).ravel()
        var = X.multiply(X).mean(axis=0) - m**2 if is_sparse else np.var(X, axis=0)
        gamma = 1 / (2 * X.shape[1] * (float(np.mean(var)) or 1.0))
        kernel = partial(rbf_kernel, gamma=gamma) if is_sparse else RBF(gamma=gamma)
    elif not callable(kernel) or isinstance(kernel, str):
        kernel = kernel_for_rows(kernel, X)
    step = max(1, (1 << 22) // max(X.shape[0], 1))
    return Rows(X, block=step).map(lambda x: np.asarray(kernel(x, X)).mean(axis=1))


class QueryStrategy:
    """Scores the rows of a pool; `query` returns the best unlabelled ones."""

    @classmethod
    def _get_param_names(cls):
        return [f.name for f in fields(cls) if f.init]  # type: ignore[arg-type]

    def score(self, model, X, labelled, y, rng):
        """Score of every row of X; y holds the labels where `labelled`."""
        raise TypeError(f"{type(self).__name__} does not define scores of rows.")

    def query(self, model, X, labelled, y, rng, k=1):
        """Numbers of the k rows of highest score, none of `labelled`.

        Ties at the last place (votes are often equal) are broken at random: the first
        rows would often be of one class, in a pool sorted by class.
        """
        check_params(self)
        free = np.flatnonzero(~np.asarray(labelled))
        s = np.asarray(self.score(model, X, labelled, y, rng), float)[free]
        order = np.argsort(-s, kind="stable")
        k = min(k, len(free))
        if 0 < k < len(free) and s[order[k - 1]] == s[order[k]]:
            ties = np.flatnonzero(s[order] == s[order[k]])
            order[ties] = rng.permutation(order[ties])
        return free[order[:k]]


@dataclass
class RandomSampler(QueryStrategy):
    """Random rows: the baseline of every other strategy.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.active import RandomSampler
    >>> rng = np.random.default_rng(0)
    >>> RandomSampler().query(None, np.eye(3), [True, False, True], None, rng)
    array([1])
    """

    def score(self, model, X, labelled, y, rng):
        """Random scores."""
        return rng.random(len(labelled))


@dataclass
class UncertaintySampler(QueryStrategy):
    """Rows that the classifier is least certain of, eqs. (1) to (3) and (7).

    Parameters
    ----------
    measure : {"least_confidence", "margin", "entropy"}, default="least_confidence"
        All three choose alike between two classes.
    beta : float, default=0
        Power of the information density of eq. (7); 0 leaves it out.
    kernel : kernel, its name, function of two sets of rows, or None
        Likeness of eq. (7); None is Gaussian, as wide as the rows are spread.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.active import UncertaintySampler
    >>> from pansophy.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.2], [4.0]]), np.array([0, -1, -1, 1])
    >>> known = y >= 0
    >>> model = LogisticRegression().fit(X[known], y[known])
    >>> UncertaintySampler().query(model, X, known, y, np.random.default_rng(0))
    array([2])
    """

    measure: Literal["least_confidence", "margin", "entropy"] = "least_confidence"
    _: KW_ONLY
    beta: NonNegative = 0.0
    kernel: Any = None
    _kept: tuple | None = field(default=None, init=False, repr=False, compare=False)

    def score(self, model, X, labelled, y, rng):
        """Uncertainty, times information density."""
        s = UNCERTAINTY_MEASURES[self.measure](np.asarray(model.predict_proba(X)))
        if self.measure == "margin":
            s = s + 1.0  # from 0, so that it can be multiplied
        if self.beta == 0:
            return s
        if self._kept is None or self._kept[0] is not X:
            self._kept = X, information_density(X, self.kernel)
        return s * self._kept[1] ** self.beta


@dataclass
class QueryByCommittee(QueryStrategy):
    """Rows that classifiers fitted to resampled labels disagree about.

    Parameters
    ----------
    size : int, default=8
        Members of the committee.
    measure : {"vote_entropy", "divergence"}, default="vote_entropy"
        Eq. (4) or eq. (5).
    estimator : classifier or None
        Fitted to resampled labels; None is the one that learns.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.active import QueryByCommittee
    >>> from pansophy.linear_model import LogisticRegression
    >>> X = np.array([[0.0], [1.0], [2.5], [4.0], [5.0]])
    >>> y = np.array([0, 0, -1, 1, 1])
    >>> model = LogisticRegression().fit(X[y >= 0], y[y >= 0])
    >>> QueryByCommittee().query(model, X, y >= 0, y, np.random.default_rng(0))
    array([2])
    """

    size: Count = 8
    _: KW_ONLY
    measure: Literal["vote_entropy", "divergence"] = "vote_entropy"
    estimator: Fittable | None = None

    def score(self, model, X, labelled, y, rng):
        """Disagreement of the members."""
        rows = np.flatnonzero(labelled)
        base = model if self.estimator is None else self.estimator
        classes = np.unique(y[rows])
        answers = []
        for _ in range(self.size):
            member = clone(base).fit(*_resample_labelled_rows(X, y, rows, rng))
            P = np.zeros((len(labelled), len(classes)))
            P[:, np.searchsorted(classes, member.classes_)] = member.predict_proba(X)
            answers.append(P)
        A = np.stack(answers)
        if self.measure == "vote_entropy":
            votes = np.eye(len(classes))[A.argmax(axis=2)].mean(axis=0)
            return predictive_entropy(votes)
        mean = predictive_entropy(A.mean(axis=0))
        return mean - np.mean([predictive_entropy(P) for P in A], axis=0)


def _resample_labelled_rows(X, y, rows, rng):
    """Labelled rows drawn with replacement, at least one of each class."""
    first = [rng.choice(rows[y[rows] == c]) for c in np.unique(y[rows])]
    rest = rng.choice(rows, max(len(rows) - len(first), 0))
    drawn = np.concatenate((np.asarray(first, int), rest))
    return X[drawn], y[drawn]


@dataclass
class ExpectedEntropyReduction(QueryStrategy):
    """Rows whose label would leave the pool most certain, eq. (6).

    Parameters
    ----------
    measure : {"entropy", "least_confidence"}, default="entropy"
        What is summed over the pool: the entropy, or the expected error.
    candidates : int or None, default=None
        Most rows that are tried, the least certain first; None tries every one.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.active import ExpectedEntropyReduction
    >>> from pansophy.linear_model import LogisticRegression
    >>> X = np.array([[0.0], [2.0], [2.1], [2.2], [4.0]])
    >>> y = np.array([0, -1, -1, -1, 1])
    >>> model = LogisticRegression().fit(X[y >= 0], y[y >= 0])
    >>> rng = np.random.default_rng(0)
    >>> int(ExpectedEntropyReduction().query(model, X, y >= 0, y, rng)[0]) in (1, 2, 3)
    True
    """

    measure: Literal["entropy", "least_confidence"] = "entropy"
    _: KW_ONLY
    candidates: Count | None = None

    def score(self, model, X, labelled, y, rng):
        """Minus eq. (6); -inf for rows that are not tried."""
        u = UNCERTAINTY_MEASURES[self.measure]
        P = np.asarray(model.predict_proba(X))
        free = np.flatnonzero(~labelled)
        out = np.full(len(labelled), -np.inf)
        if self.candidates is not None:
            free = free[np.argsort(-u(P)[free], kind="stable")[: self.candidates]]
        rows = np.flatnonzero(labelled)
        for i in free:
            training_rows = np.append(rows, i)
            left = 0.0
            pool = np.flatnonzero(~labelled)
            pool = pool[pool != i]
            for k, label in enumerate(model.classes_):
                if P[i, k] == 0 or not len(pool):
                    continue
                labels = np.append(y[rows], label)
                refitted = clone(model).fit(X[training_rows], labels)
                left += P[i, k] * float(
                    np.mean(u(np.asarray(refitted.predict_proba(X[pool]))))
                )
            out[i] = -left
        return out
