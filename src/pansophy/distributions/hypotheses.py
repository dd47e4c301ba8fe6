"""Bayesian inference over a finite set of hypotheses, and Bayesian model averaging.

    P(h | D) = P(D | h) P(h) / sum_g P(D | g) P(g)                 posterior     (1)
    h_MAP = argmax P(D | h) P(h),      h_ML = argmax P(D | h)                    (2)
    P(v | x, D) = sum_h P(v | x, h) P(h | D)                       Bayes optimal (3)

A hypothesis is a classifier (`predict_proba`, or `predict`, or a function of rows that
gives labels), or a distribution of rows (`log_prob`). One that gives labels alone is
taken to be right with probability 1 - `noise`, and otherwise to hit any other class;
with noise 0 its likelihood is 1 if it is consistent (no error on D) and 0 if not.
(3) has the highest expected accuracy of all rules under the prior, and need not agree
with the MAP. With equal priors MAP and ML are the same. Likelihoods multiply over
rows, so data may come in parts.

Shapes    X (n, d)   y (n,)   posterior (r,)   votes (r, n, k)
Refs      [Mitchell1997] ch. 6
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..core.arrays import arrays
from ..core.numerics import safe_log, softmax
from .information.information import as_probabilities


def bayes_optimal(posterior, votes):
    """Eq. (3) for votes (r, n, k) = P(v | x, h): (n, k).

    Examples
    --------
    >>> from pansophy.distributions import bayes_optimal
    >>> bayes_optimal([0.4, 0.3, 0.3], [[[1, 0]], [[0, 1]], [[0, 1]]])
    array([[0.4, 0.6]])
    """
    posterior = as_probabilities(posterior, -1, "posterior")
    votes = votes if arrays.is_foreign(votes) else np.asarray(votes)
    votes = arrays.asarray(votes, like=posterior)
    return arrays.namespace(votes).tensordot(posterior, votes, axes=((0,), (0,)))


@dataclass(eq=False, repr=False)
class HypothesisSet:
    """Finitely many hypotheses with a prior.

    Parameters
    ----------
    hypotheses : sequence
        Fitted classifiers, functions from rows to labels, or distributions.
    prior : array of shape (r,), optional
        Probability of each before data; equal ones if not given.
    noise : float, default=0.0
        Probability that a label differs from what a hypothesis without probabilities
        says.

    Attributes
    ----------
    classes_ : array of shape (k,)
        Labels seen in data and predicted.
    log_likelihood_ : array of shape (r,)
        log P(D | h).
    posterior_ : array of shape (r,)
        Eq. (1); the prior before any data.
    map_, ml_ : int
        Which hypothesis is likeliest after, and by, the data; eq. (2).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import HypothesisSet
    >>> yes, no = (lambda X: np.full(len(X), "+")), (lambda X: np.full(len(X), "-"))
    >>> rules = HypothesisSet([yes, no, no], prior=[0.4, 0.3, 0.3])
    >>> rules.predict_map([[0.0]]), rules.predict([[0.0]])
    (array(['+'], dtype='<U1'), array(['-'], dtype='<U1'))
    >>> rules.predict_proba([[0.0]])  # of + and -
    array([[0.4, 0.6]])
    """

    hypotheses: Sequence[Any]
    _: KW_ONLY
    prior: Any = None
    noise: float = 0.0

    def __post_init__(self):
        r = len(self.hypotheses)
        if r == 0:
            raise ValueError("give at least one hypothesis.")
        if not 0 <= self.noise < 1:
            raise ValueError(f"noise must be from 0 to below 1, got {self.noise}.")
        prior = np.full(r, 1 / r) if self.prior is None else self.prior
        self.prior_ = arrays.to_numpy(as_probabilities(prior, -1, "prior"))
        if self.prior_.shape != (r,):
            raise ValueError(f"{r} hypotheses have a prior of {self.prior_.shape}.")
        self._forget()

    def _forget(self):
        self.classes_ = np.array([])
        self._set_posterior(np.zeros(len(self.hypotheses)))

    def __repr__(self):
        p = ", ".join(f"{v:.3g}" for v in self.posterior_)
        return f"HypothesisSet({len(self.hypotheses)} hypotheses, posterior [{p}])"

    def fit(self, X, y=None) -> "HypothesisSet":
        """The posterior after rows X (and labels y), eq. (1), from the prior."""
        self._forget()
        return self.partial_fit(X, y)

    def partial_fit(self, X, y=None) -> "HypothesisSet":
        """The posterior after more data, from the present one."""
        X = X if arrays.is_foreign(X) else np.asarray(X)
        if y is not None:
            y = arrays.to_numpy(y)
            if len(y) != X.shape[0]:
                raise ValueError(
                    f"X has {X.shape[0]} rows, but y has {len(y)} entries."
                )
            self._meet(X, y)
        extra = [self._log_likelihood(h, X, y) for h in self.hypotheses]
        return self._set_posterior(self.log_likelihood_ + np.array(extra))

    def _set_posterior(self, log_likelihood):
        score = log_likelihood + safe_log(self.prior_)
        if not np.isfinite(score).any():
            raise ValueError("the data are impossible under every hypothesis.")
        self.log_likelihood_ = log_likelihood
        self.posterior_ = softmax(score)
        self.map_, self.ml_ = int(np.argmax(score)), int(np.argmax(log_likelihood))
        return self

    def _meet(self, X, y=None):
        """Extend the classes by those in y and those that hypotheses predict."""
        results = [] if y is None else [np.asarray(y)]
        for h in self.hypotheses:
            if hasattr(h, "predict_proba"):
                results.append(arrays.to_numpy(h.classes_))
            elif not hasattr(h, "log_prob"):
                results.append(_hypothesis_labels(h, X))
        if len(self.classes_):
            results.append(self.classes_)
        self.classes_ = np.unique(np.concatenate(results)) if results else self.classes_

    def _log_likelihood(self, h, X, y):
        """log P(D | h)."""
        if hasattr(h, "log_prob"):
            return float(np.sum(arrays.to_numpy(h.log_prob(X))))
        if y is None:
            raise ValueError("hypotheses that predict labels need y.")
        class_index = np.searchsorted(self.classes_, y)
        return float(np.sum(safe_log(self._vote(h, X)[np.arange(len(y)), class_index])))

    def _vote(self, h, X):
        """P(v | x, h): (n, k)."""
        k = len(self.classes_)
        if hasattr(h, "predict_proba"):
            out = np.zeros((X.shape[0], k))
            class_index = np.searchsorted(self.classes_, arrays.to_numpy(h.classes_))
            out[:, class_index] = arrays.to_numpy(h.predict_proba(X))
            return out
        hot = _hypothesis_labels(h, X)[:, None] == self.classes_
        other_share = self.noise / (k - 1) if k > 1 else 0.0
        return np.where(hot, 1 - self.noise if k > 1 else 1.0, other_share)

    def votes(self, X):
        """P(v | x, h) of every hypothesis: (r, n, k)."""
        X = X if arrays.is_foreign(X) else np.asarray(X)
        if any(hasattr(h, "log_prob") for h in self.hypotheses):
            raise TypeError("a distribution of rows predicts no labels.")
        self._meet(X)
        return np.stack([self._vote(h, X) for h in self.hypotheses])

    def predict_proba(self, X):
        """Eq. (3): (n, k)."""
        return bayes_optimal(self.posterior_, self.votes(X))

    def predict(self, X):
        """The Bayes-optimal class of each row."""
        class_index = self.predict_proba(X).argmax(axis=1)
        return self.classes_[class_index]

    def predict_map(self, X):
        """The prediction of the hypothesis of highest posterior probability (MAP)."""
        class_index = self.votes(X)[self.map_].argmax(axis=1)
        return self.classes_[class_index]

    def predict_ml(self, X):
        """The prediction of the hypothesis of highest likelihood."""
        class_index = self.votes(X)[self.ml_].argmax(axis=1)
        return self.classes_[class_index]

    def errors(self, X, y):
        """The share of rows each hypothesis gets wrong: (r,)."""
        y = arrays.to_numpy(y)
        predicted = self.votes(X).argmax(axis=2)
        return np.mean(self.classes_[predicted] != y, axis=1)

    def consistent(self, X, y):
        """Mask of the hypotheses that make no error on the data: (r,)."""
        return self.errors(X, y) == 0


def _hypothesis_labels(h, X):
    """The labels that a hypothesis without probabilities predicts: (n,)."""
    labels = h.predict(X) if hasattr(h, "predict") else h(X)
    labels = arrays.to_numpy(labels)
    if labels.shape != (X.shape[0],):
        raise ValueError(
            f"a hypothesis gave labels of shape {labels.shape} for {X.shape[0]} rows."
        )
    return labels
