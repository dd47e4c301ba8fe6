"""Markov chain: the next state depends on the last p states only.

With contexts c = (x_t-p, ..., x_t-1) of p states, a sequence x_1, ..., x_n has

    P(x) = s(x_1, ..., x_p) prod_t P(c_t, x_t) [P(c_n+1, stop)]                  (1)

and the likeliest parameters are relative frequencies; pseudo-counts a make them

    P(c, j) = (N_cj + a) / sum_l (N_cl + a)                                      (2)

with N_cj the number of times j came after c, which is the posterior mean under a
Dirichlet(a) prior and, with a = 1, never calls anything impossible that was not seen.
Stopping is one more symbol l in (2) where sequences have an end.

What a fitted matrix tells is in `chains`, counting in `histories`.

Cost      O(n) to count, memory O(k^(p+1))
Shapes    transmat (k,) * p + (k,)   startprob (k,) * p   stopprob (k,) * p
Refs      [Billingsley1961]
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..core.numerics import safe_divide, safe_log
from ..core.random import make_rng
from ..distributions.categorical import checked_probabilities
from ..params import Count, Flag, NonNegative, check_params
from ..typing import Seed
from . import chains
from .histories import (
    MOST_CELLS,
    MarkovTest,
    coded,
    contexts,
    count,
    fit_table,
    labels,
    listed,
    more_history,
)


@dataclass(eq=False, repr=False)
class MarkovChain(Estimator):
    """Markov chain over any labels, learned by counting.

    Parameters
    ----------
    order : int, default=1
        Number of earlier states that the next one depends on, p.
    alpha : float, default=0
        Pseudo-count a of every transition and start. 0 gives the likeliest chain, 1
        a uniform prior.
    stop : bool, default=False
        Whether the end of a sequence is an event with a probability of its own.
    random_state : int, RandomState, Generator or None, default=None
        Seed of `sample`.

    Attributes
    ----------
    states_ : array of shape (k,)
        The labels, sorted.
    transmat_ : array of shape (k,) * order + (k,)
        Probability of the next state after the last ones, the latest last.
    startprob_ : array of shape (k,) * order
        Probabilities of the first states of a sequence.
    stopprob_ : array of shape (k,) * order
        Probability of stopping, 0 unless `stop`.

    Examples
    --------
    >>> from pansophy.state_space import MarkovChain
    >>> chain = MarkovChain(alpha=1).fit("AABAB")
    >>> chain.transmat_.round(3)
    array([[0.4  , 0.6  ],
           [0.667, 0.333]])
    >>> chain.stationary().round(3)
    array([0.526, 0.474])
    >>> "".join(chain.sample(8, random_state=0))
    'AAAABBAB'
    """

    order: Count = 1
    _: KW_ONLY
    alpha: NonNegative = 0.0
    stop: Flag = False
    random_state: Seed = None

    @classmethod
    def from_matrix(cls, transmat, *, start=None, states=None, stop=None, **params):
        """A chain with given probabilities.

        Parameters
        ----------
        transmat : array of shape (k,) * p + (k,)
            With stopping probabilities, its rows sum to 1 together with them.
        start : array of shape (k,) * p, optional
            None starts anywhere alike.
        states : list of k labels, sorted, optional
            None calls them 0 to k - 1.
        stop : array of shape (k,) * p, optional
        """
        P = np.asarray(transmat, dtype=float)
        if P.ndim < 2 or len(set(P.shape)) != 1:
            raise ValueError(f"transmat must have equal sides, got shape {P.shape}.")
        k, p = len(P), P.ndim - 1
        self = cls(p, stop=stop is not None, **params)
        check_params(self)
        self.states_ = np.arange(k) if states is None else np.asarray(states)
        if self.states_.shape != (k,) or len(np.unique(self.states_)) != k:
            raise ValueError(f"states must be {k} different labels.")
        if not (np.unique(self.states_) == self.states_).all():
            raise ValueError("states must be sorted, as the sides of transmat are.")
        as_given = lambda v, default: np.asarray(default if v is None else v, float)
        self.startprob_ = as_given(start, np.full((k,) * p, float(k) ** -p))
        self.stopprob_ = as_given(stop, np.zeros((k,) * p))
        self.transmat_ = P
        self._given()
        return self

    def _given(self):
        """The probabilities as they stand, checked: (c, k), (c,), (c,)."""
        check_is_fitted(self, "transmat_")
        k, p = len(self.states_), self.order
        P = np.asarray(self.transmat_, dtype=float).reshape(-1, k)
        stop = np.asarray(self.stopprob_, dtype=float).reshape(-1)
        start = checked_probabilities(
            np.asarray(self.startprob_, dtype=float).reshape(-1), "start"
        )
        if not len(P) == len(stop) == len(start) == k**p:
            raise ValueError(f"start and stop must have shape {(k,) * p}.")
        whole = np.column_stack([P, stop])
        bad = ~((whole >= 0).all(axis=1) & (np.abs(whole.sum(axis=1) - 1) <= 1e-6))
        if bad.any():
            c = int(bad.argmax())
            after = ", ".join(
                str(self.states_[i]) for i in np.unravel_index(c, (k,) * p)
            )
            raise ValueError(
                f"the probabilities after {after} must not be negative and sum to 1, "
                f"got {whole[c, : k + self.stop].tolist()}."
            )
        return P, start, stop

    def fit(self, X, lengths=None, y=None):
        """Count.

        Parameters
        ----------
        X : sequence of labels, list of sequences, or grouped dataframe
            A missing state (None or NaN) is not counted, nor what stands beside it.
        lengths : array of int, optional
            Lengths of the sequences in X; None for a single one.
        y : None
            Ignored, there for scikit-learn's sake.

        Returns
        -------
        self : object
        """
        check_params(self)
        x, ends = listed(X, lengths)
        codes, states = coded(x)
        k, p, a = len(states), self.order, self.alpha
        if k == 0:
            raise ValueError("every state of X is missing.")
        if float(k) ** (p + 1) > MOST_CELLS:
            raise ValueError(
                f"{k} states and order {p} make a table of {k}^{p + 1} cells: take a "
                "lower order."
            )
        self.states_, N = states, count(codes, ends, p, k)
        P, stop = fit_table(N.next, N.last, a, self.stop)
        first = N.first + a
        start = safe_divide(first, first.sum() + 0 * first, 1 / len(first))
        sides = (k,) * p
        self.transmat_, self.stopprob_ = P.reshape(*sides, k), stop.reshape(sides)
        self.startprob_ = start.reshape(sides)
        self.n_transitions_ = int(N.next.sum())
        return self

    def log_prob(self, X, lengths=None):
        """Log-probability of each sequence, eq. (1); missing states are left out."""
        P, start, stop = self._given()
        x, ends = listed(X, lengths)
        codes, _ = coded(x, self.states_)
        k, p = len(self.states_), self.order
        begins = np.r_[0, ends[:-1]]
        owner = np.repeat(np.arange(len(ends)), ends - begins)
        c = contexts(codes, np.arange(len(codes)), begins[owner], p, k)
        ok = (c >= 0) & (codes >= 0)
        steps = safe_log(P[c[ok], codes[ok]])
        out = np.bincount(owner[ok], steps, minlength=len(ends)).astype(float)
        first = contexts(codes, np.minimum(begins + p, ends), begins, p, k)
        out += np.where(first >= 0, safe_log(start[first]), 0.0)
        if self.stop:
            last = contexts(codes, ends, begins, p, k)
            out += np.where(last >= 0, safe_log(stop[last]), 0.0)
        return out

    def score(self, X, lengths=None):
        """Total log-probability."""
        return float(self.log_prob(X, lengths).sum())

    def sample(self, n=None, start=None, random_state=None):
        """A path of n states, or up to the stop if n is None.

        start : label, or sequence of `order` labels, that stands before the path; None
        draws the first states too.
        """
        from ._walk import walk

        P, first, _ = self._given()
        if n is None and not self.stop:
            raise ValueError("n is needed: this chain does not stop by itself.")
        seed = self.random_state if random_state is None else random_state
        rng, k, p = make_rng(seed), len(self.states_), self.order
        edges = np.cumsum(P, axis=1)
        if not self.stop:
            edges[:, -1] = np.inf  # rounding must not stop a chain that does not
        if start is None:
            here = int(rng.choice(len(first), p=first / first.sum()))
            path = list(np.unravel_index(here, (k,) * p))
        else:
            given = labels([start] if np.isscalar(start) else start)
            codes, _ = coded(given, self.states_)
            if len(codes) != p or (codes < 0).any():
                raise ValueError(f"start must be {p} of the chain's states.")
            here, path = int(contexts(codes, np.array([p]), np.array([0]), p, k)[0]), []
        path = [np.array(path, np.int64)]
        left = np.inf if n is None else n - len(path[0])
        while left > 0:
            room = np.empty(int(min(left, 1 << 16)), np.int64)
            taken = walk(edges, here, k, rng.random(len(room)), room)
            path.append(room[:taken])
            if taken < len(room):
                break
            for j in room[-p:]:
                here = (here * k + int(j)) % k**p
            left -= taken
        return self.states_[np.concatenate(path)[: n if n is not None else None]]

    def matrix(self):
        """The chain over contexts, P (k^p, k^p); order 1 has it as it is."""
        P, _, _ = self._given()
        if self.stop:
            raise ValueError(
                "a chain that stops has no law in the long run: see `mean_length`."
            )
        k, p = len(self.states_), self.order
        if p == 1:
            return P
        big = np.zeros((k**p, k**p))
        c = np.arange(k**p)
        for j in range(k):
            big[c, (c * k + j) % k**p] = P[:, j]
        return big

    def n_step(self, n, start=None):
        """P^n, or the law after n steps from a distribution `start`."""
        P = np.linalg.matrix_power(self.matrix(), n)
        return P if start is None else np.asarray(start, dtype=float) @ P

    def stationary(self):
        """The law that a step leaves as it is; one row a recurrent class."""
        return chains.stationary(self.matrix())

    def mixing_time(self, eps=0.25):
        """Fewest steps after which any start is within eps of `stationary`."""
        return chains.mixing_time(self.matrix(), eps)

    def convergence(self, n, start=None):
        """Distance from `stationary` after 0..n steps, in total variation."""
        return chains.convergence(self.matrix(), n, start)

    def classify(self):
        """Which states reach each other, which are left for good, periods."""
        return chains.classify(self.matrix())

    def reverse(self):
        """The chain seen backwards."""
        Q = chains.reverse(self.matrix())
        pi = chains.only_stationary(self.matrix())
        if self.order > 1:
            raise ValueError("reverse is for chains of order 1.")
        return type(self).from_matrix(Q, start=pi, states=self.states_)

    @property
    def is_reversible(self) -> bool:
        """Whether the chain looks the same run backwards."""
        return chains.is_reversible(self.matrix())

    def hitting_times(self, targets):
        """Mean steps from each state until one of some states is reached."""
        wanted = labels([targets] if np.isscalar(targets) else targets)
        if self.order > 1:
            raise ValueError("hitting_times is for chains of order 1.")
        return chains.hitting_times(self.matrix(), coded(wanted, self.states_)[0])

    def mean_length(self):
        """Mean number of steps, stop included, that follow each context."""
        P, _, stop = self._given()
        k, p = len(self.states_), self.order
        m = k**p
        big = np.zeros((m + 1, m + 1))
        c = np.arange(m)
        for j in range(k):
            big[c, (c * k + j) % m] = P[:, j]
        big[:m, m], big[m, m] = stop, 1.0
        return chains.hitting_times(big, m)[:m].reshape(self.stopprob_.shape)

    def check_markov(self, X, lengths=None) -> MarkovTest:
        """Test on sequences whether `order` earlier states are enough."""
        check_params(self)
        x, ends = listed(X, lengths)
        codes, states = coded(x)
        if float(len(states)) ** (self.order + 2) > MOST_CELLS:
            raise ValueError(f"{len(states)} states are too many for this test.")
        return more_history(codes, ends, self.order, len(states))

    @property
    def n_parameters(self) -> int:
        """Free numbers of transitions and stops."""
        k, p = len(self.states_), self.order
        return k**p * (k - 1 + self.stop)
