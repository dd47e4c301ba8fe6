"""What every hidden Markov model does, whatever it emits.

The mathematics is in `hmm`, the recursions in `core.filtering`; here are sequences
in their various forms, and the methods that users call. A final class says what its
states emit: five small functions, see `categorical_hmm`.

Shapes    X (n, d) all sequences one after the other, ends (s,) where each ends
"""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Density, Estimator
from ..core import arrays
from ..core.em import em
from ..core.filtering import Chain, filtered, smooth, viterbi
from ..core.random import rng_from
from ..core.rows import is_dataset, rows
from ..distributions.categorical import pick_rows, simplex
from .hmm import Params, Priors, Stats, evidence, expect, log_prior, maximise, simulate


def sequence_ends(n: int, lengths) -> np.ndarray:
    """Where each sequence ends. Lengths must be whole, positive and sum to n.

    n whole numbers that sum to n are all 1, so any other vector of n entries is not
    lengths but the y of scikit-learn's conventions, which has no meaning here.
    """
    if lengths is None:
        return np.array([n])
    values = np.atleast_1d(np.asarray(lengths))
    if values.ndim == 1 and len(values) == n and not np.all(values == 1):
        return np.array([n])
    whole = values.dtype.kind in "iu" and values.ndim == 1 and (values > 0).all()
    if not whole or values.sum() != n:
        raise ValueError(
            f"lengths must be positive whole numbers that sum to the {n} rows of X, "
            f"got a sum of {values.sum()}."
        )
    return np.cumsum(values)


def is_list_of_arrays(X) -> bool:
    listed = isinstance(X, (list, tuple)) and len(X) > 0
    return listed and all(getattr(x, "ndim", 0) > 0 for x in X)


def column(X):
    """A vector as one column; anything else as it is."""
    return X[:, None] if hasattr(X, "ndim") and X.ndim == 1 else X


class AbstractHMM(Density, Estimator):
    """What every HMM does, whatever it emits. A final class gives the emission."""

    @abstractmethod
    def _emission(self) -> Any:
        """The fitted emission, a batch of k distributions."""

    @abstractmethod
    def _first_emission(self, X, rng) -> Any:
        """An emission to start from."""

    @abstractmethod
    def _store_emission(self, emission) -> dict:
        """The fitted attributes that say the same as the emission."""

    @abstractmethod
    def _emission_prior(self, emission) -> Any:
        """The conjugate prior of the emission, or None."""

    def fit(self, X, lengths=None, y=None):
        """Fit by Baum-Welch.

        Parameters
        ----------
        X : array of shape (n, 1) or (n,), or list of arrays
            Observations, sequences one after the other; NaN where one is missing. A
            list of arrays has one sequence each.
        lengths : array of int, optional
            Length of each sequence; None for a single one.
        y : None
            Ignored, there for scikit-learn's sake.

        Returns
        -------
        self : object
        """
        X, ends = self._sequences(X, lengths, reset=True)
        first = self._first(X)
        priors = self._priors(first)
        letters, log = self.params, self.implementation == "log"

        def counted(p):
            stats, loglik = expect(p, X, ends, log=log)
            return (stats, p), loglik  # what is not estimated stays as it is

        run = lambda task: em(
            counted,
            lambda pair: maximise(pair[0], pair[1], priors, letters),
            first,
            log_prior=lambda p: log_prior(p, priors, letters),
            max_iter=self.n_iter,
            tol=self.tol,
            task=task,
        )
        snapshot = lambda state: self._attributes(state.params)
        result = self._drive(run, total=self.n_iter, X=X, snapshot=snapshot)
        for name, value in self._attributes(result.state.params).items():
            setattr(self, name, value)
        self.log_likelihood_ = -result.objective
        return self

    def fit_labeled(self, X, states, lengths=None):
        """Fit by counting, where the states are known (n,)."""
        X, ends = self._sequences(X, lengths, reset=True)
        z = np.asarray(states)
        k = self.n_components
        if (
            z.shape != (len(X),)
            or z.dtype.kind not in "iu"
            or z.min() < 0
            or z.max() >= k
        ):
            raise ValueError(
                f"states must be {len(X)} whole numbers from 0 to {k - 1}."
            )
        old = Params(np.ones(k), np.ones((k, k)), self._first_emission(X, rng_from(0)))
        R = (z[:, None] == np.arange(k)).astype(float)
        inner = np.setdiff1d(np.arange(1, len(z)), ends)  # steps with one before them
        begins = np.concatenate([[0], ends[:-1]])
        here = ~np.isnan(X).any(axis=1)
        stats = Stats(
            R[begins].sum(0),
            R[inner - 1].T @ R[inner],
            old.emission.stats(X[here], R[here]),
        )
        p = maximise(stats, old, self._priors(old), "ste")
        for name, value in self._attributes(p).items():
            setattr(self, name, value)
        return self

    def _sequences(self, X, lengths, *, reset=False):
        """Checked X (n, d) in floating point, and where the sequences end."""
        if lengths is None and is_list_of_arrays(X):
            lengths = [x.shape[0] for x in X]
            X = np.concatenate([column(arrays.to_numpy(x)) for x in X])
        X = X if is_dataset(X) else column(X)
        check = {"ensure_all_finite": "allow-nan", "dtype": np.float64}
        if reset:
            X, _ = self._begin(X, **check)
        else:
            X = self._ready(X, **check)
        X = rows(X).take(np.arange(X.shape[0])) if is_dataset(X) else arrays.to_numpy(X)
        self._check_columns(X, reset)
        return X, sequence_ends(len(X), lengths)

    @abstractmethod
    def _check_columns(self, X, fitting):
        """Raise if X cannot be what this model emits."""

    def _first(self, X) -> Params:
        """Where Baum-Welch begins: drawn by the letters of init_params, else given."""
        rng, k = rng_from(self.random_state), self.n_components
        found = {
            "s": ("startprob_", rng.dirichlet(np.ones(k))),
            "t": ("transmat_", rng.dirichlet(np.ones(k), size=k)),
        }
        emission = self._first_emission(X, rng)
        for letter, (name, value) in found.items():
            if letter in self.init_params:
                setattr(self, name, value)
        if "e" in self.init_params:
            for name, value in self._store_emission(emission).items():
                setattr(self, name, value)
        return self._params()

    def _params(self) -> Params:
        """The parameters as they stand in the attributes, checked."""
        k, given = self.n_components, []
        for name, shape in (("startprob_", (k,)), ("transmat_", (k, k))):
            if not hasattr(self, name):
                raise ValueError(f"{name} is neither fitted nor set: see init_params.")
            value = simplex(np.asarray(getattr(self, name), dtype=float), name)
            if value.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, got {value.shape}.")
            given.append(value)
        return Params(given[0], given[1], self._emission())

    def _priors(self, p: Params) -> Priors:
        prior = self._emission_prior(p.emission)
        return Priors(self.startprob_prior, self.transmat_prior, prior)

    def _attributes(self, p: Params) -> dict:
        emission = self._store_emission(p.emission)
        return {"startprob_": p.start, "transmat_": p.trans, **emission}

    def _look(self, X, lengths):
        """Chain and evidence for given observations."""
        check_is_fitted(self, "startprob_")
        X, ends = self._sequences(X, lengths)
        p = self._params()
        return Chain(p.start, p.trans), evidence(p.emission, X, ends)

    def score_samples(self, X, lengths=None):
        """Total log-likelihood, and the posterior of the states at every step."""
        G, logliks = smooth(*self._look(X, lengths), log=self.implementation == "log")
        return float(logliks.sum()), G

    def score(self, X, lengths=None):
        """Total log-likelihood of the sequences."""
        return float(filtered(*self._look(X, lengths))[1].sum())

    def predict_proba(self, X, lengths=None):
        """Posterior of the states at every step, given whole sequences: (n, k)."""
        return self.score_samples(X, lengths)[1]

    def filter(self, X, lengths=None):
        """Belief in the states at every step, given the past only: (n, k)."""
        return filtered(*self._look(X, lengths))[0]

    def decode(self, X, lengths=None, algorithm=None):
        """Log-probability and states: the likeliest path, or with "map" the likeliest
        state of every step and the sum of their posteriors."""
        algorithm = algorithm or self.algorithm
        if algorithm == "viterbi":
            path, scores = viterbi(*self._look(X, lengths))
            return float(scores.sum()), path
        if algorithm != "map":
            raise ValueError(
                f'algorithm must be "viterbi" or "map", got {algorithm!r}.'
            )
        G = self.predict_proba(X, lengths)
        return float(G.max(axis=1).sum()), G.argmax(axis=1)

    def predict(self, X, lengths=None):
        """States of the steps, by `algorithm`."""
        return self.decode(X, lengths)[1]

    def sample(self, n_samples=1, random_state=None, currstate=None):
        """A sequence of observations (n, d) and its states (n,)."""
        check_is_fitted(self, "startprob_")
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
        seed = self.random_state if random_state is None else random_state
        p, rng = self._params(), rng_from(seed)
        first = None if currstate is None else pick_rows(p.trans, [currstate], rng)[0]
        return simulate(p, n_samples, rng, first)

    def get_stationary_distribution(self):
        """The distribution of states that the chain leaves as it is."""
        A = self._params().trans
        k = len(A)
        M = np.vstack([A.T - np.eye(k), np.ones((1, k))])
        p = np.linalg.lstsq(M, np.r_[np.zeros(k), 1.0])[0]
        return np.maximum(p, 0) / np.maximum(p, 0).sum()

    def _n_parameters(self) -> int:
        """Free numbers of the letters in `params`."""
        k, p = self.n_components, self.params
        free = {"s": k - 1, "t": k * (k - 1), "e": self._emission().free}
        return sum(n for letter, n in free.items() if letter in p)

    def bic(self, X, lengths=None):
        """Bayesian information criterion, to be minimised."""
        n = self._sequences(X, lengths)[1][-1]
        return -2 * self.score(X, lengths) + self._n_parameters() * float(np.log(n))

    def aic(self, X, lengths=None):
        """Akaike information criterion, to be minimised."""
        return -2 * self.score(X, lengths) + 2 * self._n_parameters()
