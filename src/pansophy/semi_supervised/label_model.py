"""Label model: combines the votes of unreliable labellers by their estimated accuracy.

Labeller j votes L_ij for row i, one of K classes, or abstains. With a hidden class y_i,
votes independent given it, and abstention independent of it,

    P(L_i, y) = p_y prod_{j votes} C_j[y, L_ij]                                  (1)

    E   r_iy ~ P(L_i, y)                                                         (2)
    M   p_y ~ sum_i r_iy,   C_j[y, k] ~ sum_{i: L_ij = k} r_iy + a               (3)

is EM, and never lowers the likelihood (with a, Dirichlet counts, its product with the
prior). No true label is needed: labellers that agree more often than by chance are
more accurate. With confusion="accuracy" a labeller is right with probability
a_j whatever the class and errs evenly, K - 1 times fewer numbers to learn:

    C_j[y, k] = a_j if k = y else (1 - a_j) / (K - 1)                            (4)

The model cannot tell labellers that are mostly right from ones that are mostly wrong;
the initialisation is the majority vote, which assumes that they are right more often
than not. Perfect labellers are found to be so, and r is then their vote.

Cost      O(n m K) an iteration; memory O(n K) of a block
Shapes    L (n, m)   r (n, K)   C (m, K, K)   p (K,)
Refs      [Dawid1979]; [Ratner2016] labelling functions
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np

from ..base import Density, Estimator
from ..core.arrays.rows import Rows
from ..core.drivers.em import em
from ..core.numerics import logsumexp, softmax
from ..params import Natural, NonNegative, Positive, Verbosity
from ..persist.saved_state import AnyArray, saved_state

ABSTAIN = -1
MIN_PROBABILITY = 1e-300  # least probability whose logarithm is taken


class LabelModelParams(NamedTuple):
    """theta: class proportions, and the confusion matrix of each labeller."""

    p: np.ndarray
    C: np.ndarray


class VoteCounts(NamedTuple):
    """Expected counts: of classes, and of votes by labeller, class and vote."""

    classes: np.ndarray
    votes: np.ndarray


def _log_joint_of_votes(V, theta):
    """Eq. (1) in logarithms: (n, K); V holds codes, -1 where a labeller abstains."""
    L = np.tile(np.log(np.maximum(theta.p, MIN_PROBABILITY)), (len(V), 1))
    C = np.log(np.maximum(theta.C, MIN_PROBABILITY))
    for j in range(V.shape[1]):
        voted = V[:, j] >= 0
        L[voted] += C[j][:, V[voted, j]].T
    return L


def _expected_vote_counts(V, w, r) -> VoteCounts:
    """Sums of eq. (3) over some rows."""
    m, K = V.shape[1], r.shape[1]
    r = r if w is None else r * w[:, None]
    votes = np.zeros((m, K, K))
    for j in range(m):
        voted = V[:, j] >= 0
        for y in range(K):
            votes[j, y] = np.bincount(V[voted, j], r[voted, y], K)
    return VoteCounts(r.sum(axis=0), votes)


def _estimate_confusion(stats: VoteCounts, a, tied) -> LabelModelParams:
    """Eq. (3), or (4) if `tied`."""
    K = len(stats.classes)
    p = stats.classes / stats.classes.sum()
    if not tied:
        C = stats.votes + a
        total = C.sum(axis=2, keepdims=True)
        seen = total > 0  # with a = 0 a labeller may never have met a class
        return LabelModelParams(p, np.where(seen, C, 1 / K) / np.where(seen, total, 1))
    right = np.trace(stats.votes, axis1=1, axis2=2) + a
    total = stats.votes.sum(axis=(1, 2)) + K * a
    acc = np.where(total > 0, right, 1 / K) / np.where(total > 0, total, 1)
    wrong_share = (1 - acc) / max(K - 1, 1)
    C = wrong_share[:, None, None] + (acc - wrong_share)[:, None, None] * np.eye(K)
    return LabelModelParams(p, C)


def _log_dirichlet_prior(theta: LabelModelParams, a, tied):
    """Log-density of the Dirichlet prior of eq. (3), added to the log-likelihood."""
    if a == 0:
        return 0.0
    L = np.log(np.maximum(theta.C, MIN_PROBABILITY))
    if not tied:
        return a * L.sum()
    K = len(theta.p)
    right = np.trace(L, axis1=1, axis2=2) / K
    wrong = L[:, 0, 1] if K > 1 else 0.0
    return a * float(np.sum(right + (K - 1) * wrong))


def _vote_fractions(V, K):
    """Shares of the votes of each row; even where nobody votes: (n, K)."""
    r = np.zeros((len(V), K))
    for j in range(V.shape[1]):
        voted = np.flatnonzero(V[:, j] >= 0)
        r[voted, V[voted, j]] += 1
    total = r.sum(axis=1, keepdims=True)
    return np.where(total > 0, r / np.maximum(total, 1), 1 / K)


@saved_state(classes_=AnyArray("classes"))
@dataclass(eq=False, repr=False)
class LabelModel(Density, Estimator):
    """Combines the votes of unreliable labellers by EM, without true labels.

    Parameters
    ----------
    confusion : {"full", "accuracy"}, default="full"
        Eq. (3): each labeller has a table of its errors; or eq. (4): one accuracy.
    prior : float, default=1.0
        a, the pseudo-count of each entry of the confusion matrices.
    tol : float, default=1e-6
        Stop when an iteration changes the mean log-likelihood by no more than this.
    max_iter : int, default=200
        Most iterations.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The votes that there are, less -1.
    class_prior_ : array of shape (K,)
        p.
    confusion_ : array of shape (m, K, K)
        C: row by true class, column by vote.
    accuracies_ : array of shape (m,)
        How often each labeller is right when it votes.
    coverage_ : array of shape (m,)
        How often each labeller votes.
    n_iter_, history_, converged_
        How the iterations went.

    Examples
    --------
    >>> from pansophy.semi_supervised import LabelModel
    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, -1], [1, 1, 0], [0, 0, 0], [1, 1, 1]]
    >>> model = LabelModel(prior=0.1).fit(votes)
    >>> model.predict(votes), model.accuracies_.round(1)
    (array([0, 1, 0, 1, 0, 1]), array([1. , 1. , 0.6]))
    """

    confusion: Literal["full", "accuracy"] = "full"
    _: KW_ONLY
    prior: NonNegative = 1.0
    tol: Positive = 1e-6
    max_iter: Natural = 200
    verbose: Verbosity = 0

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Learn how reliable the labellers are.

        Parameters
        ----------
        X : array of shape (n, m) of whole numbers
            L: the vote of each labeller for each row, -1 where it abstains.
        y : None
            Not used.
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.
        """
        X, w = self._check_training_data(X, sample_weight=sample_weight)
        L = _check_votes(X)
        self.classes_ = np.unique(L[L != ABSTAIN])
        if len(self.classes_) == 0:
            raise ValueError("every labeller abstains on every row.")
        V = self._codes(L)
        K = len(self.classes_)
        tied = self.confusion == "accuracy"
        table = Rows(V, w)
        start = table.sum(
            lambda v, w: _expected_vote_counts(v, w, _vote_fractions(v, K))
        )
        theta = _estimate_confusion(start, max(self.prior, 1e-3), tied)

        def expect(theta):
            def part(v, w):
                J = _log_joint_of_votes(v, theta)
                total = logsumexp(J, axis=1)
                loglik = total.sum() if w is None else w @ total
                return _expected_vote_counts(v, w, softmax(J, axis=1)), float(loglik)

            return table.sum(part)

        run = lambda task: em(
            expect,
            lambda stats: _estimate_confusion(stats, self.prior, tied),
            theta,
            n=float(len(V) if w is None else w.sum()),
            log_prior=lambda t: _log_dirichlet_prior(t, self.prior, tied),
            max_iter=self.max_iter,
            tol=self.tol,
            task=task,
        )
        theta = self._run_driver(run, total=self.max_iter, X=X).state.params
        self.class_prior_, self.confusion_ = theta
        diagonal = np.diagonal(theta.C, axis1=1, axis2=2)
        self.accuracies_ = diagonal @ theta.p
        self.coverage_ = np.average(V >= 0, axis=0, weights=w)
        return self

    def _codes(self, L):
        """Votes as places among the classes; unknown ones count as abstaining."""
        places = np.minimum(np.searchsorted(self.classes_, L), len(self.classes_) - 1)
        return np.where(self.classes_[places] == L, places, ABSTAIN)

    def _joint(self, X):
        V = self._codes(_check_votes(self._check_new_data(X)))
        theta = LabelModelParams(self.class_prior_, self.confusion_)
        return Rows(V).map(lambda v: _log_joint_of_votes(v, theta))

    def predict_proba(self, X):
        """Eq. (2): P(y | votes), (n, K)."""
        return softmax(self._joint(X), axis=1)

    def predict(self, X):
        """The most probable class of each row."""
        best = self._joint(X).argmax(axis=1)
        return self.classes_[best]

    def score_samples(self, X):
        """log P of the votes of each row."""
        return logsumexp(self._joint(X), axis=1)

    def score(self, X, y=None):
        """Mean log P of the votes."""
        return float(np.mean(self.score_samples(X)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def _check_votes(X):
    """Votes as integers; anything else is refused."""
    with np.errstate(invalid="ignore"):  # a number beyond all integers is no vote
        L = np.rint(X).astype(np.int64)
    if not np.array_equal(L, X):
        raise ValueError("votes must be whole numbers, -1 to abstain.")
    return L
