"""Markov chain of order p: the next state depends on the last p states only.

With contexts c = (x_t-p, ..., x_t-1) of p states, a sequence x_1, ..., x_n has

    P(x) = s(x_1, ..., x_p) prod_t P(c_t, x_t) [P(c_n+1, stop)]                  (1)

and the most likely parameters are relative frequencies; pseudo-counts a make them

    P(c, j) = (N_cj + a) / sum_l (N_cl + a)                                      (2)

with N_cj the number of times j came after c, which is the posterior mean under a
Dirichlet(a) prior and, with a = 1, never calls anything impossible that was not seen.
Stopping is one more symbol l in (2) where sequences have an end.

Labels of any kind become numbers 0..k-1, and p of them in a row a context, a number
below k^p. Whether p earlier states are enough is tested against p + 1: if they are,

    G = 2 sum N_bcj log(N_bcj N_c / (N_bc N_cj))                                 (3)

summed over the contexts c, the state b before them and the state j after, is
chi-squared in the limit, with one degree of freedom for each pair of b and j beyond
the first that is seen with c.

Analysis of a transition matrix (classes, limits, waiting times) is in
`transition_matrix`.

Cost      O(n) to count, memory O(k^(p+1))
Shapes    transmat (k,) * p + (k,)   startprob (k,) * p   stopprob (k,) * p
Refs      [Billingsley1961]
"""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.arrays.codes import as_column, codes_of_levels, missing_mask
from ...core.arrays.ragged import join_sequences, sequence_ends
from ...core.information_criteria import aic, bic
from ...core.numerics import safe_divide, safe_log
from ...core.random import make_rng
from ...distributions.categorical import checked_probabilities
from ...params import Count, Flag, NonNegative, check_params
from ...typing import Seed
from . import transition_matrix

MAX_TABLE_CELLS = 1 << 26  # of a table of transitions


class MarkovTest(NamedTuple):
    """Likelihood-ratio test of whether p earlier states are enough, eq. (3)."""

    statistic: float  # G
    degrees: int
    p_value: float
    order: int

    def __bool__(self):
        """Whether the data leave the property standing, at the 5 % level."""
        return self.p_value >= 0.05


def _label_sequences(X, lengths=None):
    """Labels one after the other (n,), and where each sequence ends.

    X is one sequence of labels (a text is one of letters), a list of sequences, all of
    them in one array with their lengths, or a grouped dataframe.
    """
    if isinstance(X, str):
        X = list(X)
    if isinstance(X, (list, tuple)) and any(isinstance(x, (list, tuple)) for x in X):
        X = [as_column(x) for x in X]
    X, lengths = join_sequences(X, lengths)
    x = as_column(X)
    x = x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
    if x.ndim != 1 or not len(x):
        raise ValueError(
            f"X must be one sequence of states or several, got shape {x.shape}."
        )
    return x, sequence_ends(len(x), lengths)


def _state_codes(x, states=None):
    """Numbers of the states (n,), -1 where one is missing, and the states."""
    is_present = ~missing_mask(x)
    held = x[is_present].tolist()
    seen = np.asarray(held)
    if seen.dtype.kind in "US" and x.dtype.kind == "O":
        other_kind = [v for v in held if isinstance(v, str) != isinstance(held[0], str)]
        if other_kind:
            raise ValueError(
                f"states must be of one kind, got {held[0]!r} and {other_kind[0]!r}."
            )
    states = np.unique(seen) if states is None else states
    known = codes_of_levels(seen, states)
    if (known < 0).any():
        raise ValueError(
            f"X holds the state {seen[known < 0][0].item()!r}, which is none of the "
            f"{len(states)} states of the chain."
        )
    codes = np.full(len(x), -1)
    codes[is_present] = known
    return codes, states


def _context_codes(codes, at, begins, p, k):
    """Number of the p states before each row `at` of sequences that begin at `begins`,
    -1 where fewer than p are there or one is missing."""
    c = np.zeros(len(at), np.int64)
    short = at - begins < p
    for lag in range(p, 0, -1):
        back = codes[np.maximum(at - lag, 0)]
        short |= back < 0
        c = c * k + back
    return np.where(short, -1, c)


class TransitionCounts(NamedTuple):
    """N and what sequences begin and end with."""

    next: np.ndarray  # (k^p, k)
    first: np.ndarray  # (k^p,)
    last: np.ndarray  # (k^p,)


def count_transitions(codes, ends, p, k) -> TransitionCounts:
    """Count the transitions from each context to each state."""
    begins = np.r_[0, ends[:-1]]
    sizes = ends - begins
    c = _context_codes(codes, np.arange(len(codes)), np.repeat(begins, sizes), p, k)
    ok = (c >= 0) & (codes >= 0)
    N = np.bincount(c[ok] * k + codes[ok], minlength=k ** (p + 1))

    def edge(at):
        result = _context_codes(codes, at, begins, p, k)
        return np.bincount(result[result >= 0], minlength=k**p).astype(float)

    first = edge(np.minimum(begins + p, ends))
    return TransitionCounts(N.reshape(-1, k).astype(float), first, edge(ends))


def _transition_frequencies(N, stops, a, learn_stop):
    """Frequencies with pseudo-counts a: transitions (c, k), stops (c,)."""
    masses = np.column_stack([N, stops]) if learn_stop else N
    masses = masses + a
    P = safe_divide(
        masses, masses.sum(1, keepdims=True) + 0 * masses, 1 / masses.shape[1]
    )
    return (P[:, :-1], P[:, -1]) if learn_stop else (P, np.zeros(len(P)))


def _markov_order_test(codes, ends, p, k) -> MarkovTest:
    """Test of p earlier states against p + 1, eq. (3)."""
    N = count_transitions(codes, ends, p + 1, k).next.reshape(k, -1, k)  # b, c, j
    pair, successor_counts, middle_counts = (
        N.sum(axis=2),
        N.sum(axis=0),
        N.sum(axis=(0, 2)),
    )
    occurs = N > 0
    expected = pair[:, :, None] * safe_divide(
        successor_counts, middle_counts[:, None] + 0 * successor_counts
    )
    G = 2 * float((N[occurs] * np.log(N[occurs] / expected[occurs])).sum())
    rows, columns = (pair > 0).sum(axis=0), (successor_counts > 0).sum(axis=1)
    degrees = int((np.maximum(rows - 1, 0) * np.maximum(columns - 1, 0)).sum())
    p_value = float(chdtrc(degrees, G)) if degrees else 1.0
    return MarkovTest(G, degrees, p_value, p)


class OrderChoice(NamedTuple):
    """Orders compared on the same transitions; the best by BIC."""

    orders: list
    log_likelihood: np.ndarray
    n_parameters: np.ndarray
    aic: np.ndarray
    bic: np.ndarray
    best: int


def choose_order(X, lengths=None, *, orders=(1, 2, 3)) -> OrderChoice:
    """Choose the order of the chain by BIC.

    All orders predict the same rows: those with as many before them as the highest
    order needs.

    Examples
    --------
    >>> from pansophy.state_space import MarkovChain, choose_order
    >>> chain = MarkovChain.from_matrix([[0.9, 0.1], [0.3, 0.7]])
    >>> choose_order(chain.sample(2000, random_state=0)).best
    1
    """
    x, ends = _label_sequences(X, lengths)
    codes, states = _state_codes(x)
    k = len(states)
    top = max(orders)
    if float(k) ** (top + 1) > MAX_TABLE_CELLS:
        raise ValueError(f"{k} states and order {top} make too large a table.")
    N = count_transitions(codes, ends, top, k).next
    n = N.sum()
    results = []
    for p in orders:
        context_counts = N.reshape(-1, k**p, k).sum(axis=0)
        P = safe_divide(
            context_counts,
            context_counts.sum(axis=1, keepdims=True) + 0 * context_counts,
        )
        results.append(
            (
                float(
                    (
                        context_counts[context_counts > 0]
                        * np.log(P[context_counts > 0])
                    ).sum()
                ),
                k**p * (k - 1),
            )
        )
    ll, free = np.array(results).T
    bics = bic(ll, free, max(n, 1))
    best = int(orders[int(bics.argmin())])
    return OrderChoice(list(orders), ll, free.astype(int), aic(ll, free), bics, best)


@dataclass(eq=False, repr=False)
class MarkovChain(Estimator):
    """Markov chain over any labels, learned by counting.

    Parameters
    ----------
    order : int, default=1
        Number of earlier states that the next one depends on, p.
    alpha : float, default=0
        Pseudo-count a of every transition and start. 0 gives the most likely chain, 1
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
        states : list of k labels, optional
            The labels of the sides of transmat, start and stop, in their order; None
            calls them 0 to k - 1. `states_` and the tables of the chain are sorted.
        stop : array of shape (k,) * p, optional
        """
        P = np.asarray(transmat, dtype=float)
        if P.ndim < 2 or len(set(P.shape)) != 1:
            raise ValueError(f"transmat must have equal sides, got shape {P.shape}.")
        k = len(P)
        p = P.ndim - 1
        self = cls(p, stop=stop is not None, **params)
        check_params(self)
        self.states_ = np.arange(k) if states is None else np.asarray(states)
        if self.states_.shape != (k,) or len(np.unique(self.states_)) != k:
            raise ValueError(f"states must be {k} different labels.")
        as_given = lambda v, default: np.asarray(default if v is None else v, float)
        self.startprob_ = as_given(start, np.full((k,) * p, float(k) ** -p))
        self.stopprob_ = as_given(stop, np.zeros((k,) * p))
        self.transmat_ = P
        self._given()
        order = np.argsort(self.states_)  # as `fit` keeps them
        self.states_ = self.states_[order]
        self.transmat_ = P[np.ix_(*[order] * P.ndim)]
        self.startprob_ = self.startprob_.reshape((k,) * p)[np.ix_(*[order] * p)]
        self.stopprob_ = self.stopprob_.reshape((k,) * p)[np.ix_(*[order] * p)]
        return self

    def _given(self):
        """The probabilities as they stand, checked: (c, k), (c,), (c,)."""
        check_is_fitted(self, "transmat_")
        k = len(self.states_)
        p = self.order
        P = np.asarray(self.transmat_, dtype=float).reshape(-1, k)
        stop = np.asarray(self.stopprob_, dtype=float).reshape(-1)
        start = checked_probabilities(
            np.asarray(self.startprob_, dtype=float).reshape(-1), "start"
        )
        if not len(P) == len(stop) == len(start) == k**p:
            raise ValueError(f"start and stop must have shape {(k,) * p}.")
        rows = np.column_stack([P, stop])
        bad = ~((rows >= 0).all(axis=1) & (np.abs(rows.sum(axis=1) - 1) <= 1e-6))
        if bad.any():
            c = int(bad.argmax())
            context_text = ", ".join(
                str(self.states_[i]) for i in np.unravel_index(c, (k,) * p)
            )
            raise ValueError(
                f"the probabilities after {context_text} must not be negative and sum "
                f"to 1, got {rows[c, : k + self.stop].tolist()}."
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
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        self : object
        """
        check_params(self)
        x, ends = _label_sequences(X, lengths)
        codes, states = _state_codes(x)
        k = len(states)
        p = self.order
        a = self.alpha
        if k == 0:
            raise ValueError("every state of X is missing.")
        if float(k) ** (p + 1) > MAX_TABLE_CELLS:
            raise ValueError(
                f"{k} states and order {p} make a table of {k}^{p + 1} cells: take a "
                "lower order."
            )
        self.states_ = states
        N = count_transitions(codes, ends, p, k)
        P, stop = _transition_frequencies(N.next, N.last, a, self.stop)
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
        x, ends = _label_sequences(X, lengths)
        codes, _ = _state_codes(x, self.states_)
        k = len(self.states_)
        p = self.order
        begins = np.r_[0, ends[:-1]]
        owner = np.repeat(np.arange(len(ends)), ends - begins)
        c = _context_codes(codes, np.arange(len(codes)), begins[owner], p, k)
        ok = (c >= 0) & (codes >= 0)
        steps = safe_log(P[c[ok], codes[ok]])
        log_p = np.bincount(owner[ok], steps, minlength=len(ends)).astype(float)
        first = _context_codes(codes, np.minimum(begins + p, ends), begins, p, k)
        log_p += np.where(first >= 0, safe_log(start[first]), 0.0)
        if self.stop:
            last = _context_codes(codes, ends, begins, p, k)
            log_p += np.where(last >= 0, safe_log(stop[last]), 0.0)
        return log_p

    def score(self, X, lengths=None):
        """Total log-probability."""
        return float(self.log_prob(X, lengths).sum())

    def sample(self, n=None, start=None, random_state=None):
        """A path of n states, or up to the stop if n is None.

        start : label, or sequence of `order` labels, that stands before the path; None
        draws the first states too.
        """
        from ._markov_chain import follow_chain

        P, first, _ = self._given()
        if n is None and not self.stop:
            raise ValueError("n is needed: this chain does not stop by itself.")
        seed = self.random_state if random_state is None else random_state
        rng = make_rng(seed)
        k = len(self.states_)
        p = self.order
        edges = np.cumsum(P, axis=1)
        if not self.stop:
            edges[:, -1] = np.inf  # rounding must not stop a chain that does not
        if start is None:
            context = int(rng.choice(len(first), p=first / first.sum()))
            path = list(np.unravel_index(context, (k,) * p))
        else:
            past = as_column([start] if np.isscalar(start) else start)
            codes, _ = _state_codes(past, self.states_)
            if len(codes) != p or (codes < 0).any():
                raise ValueError(f"start must be {p} of the chain's states.")
            context = int(_context_codes(codes, np.array([p]), np.array([0]), p, k)[0])
            path = []
        path = [np.array(path, np.int64)]
        left = np.inf if n is None else n - len(path[0])
        while left > 0:
            room = np.empty(int(min(left, 1 << 16)), np.int64)
            steps = follow_chain(edges, context, k, rng.random(len(room)), room)
            path.append(room[:steps])
            if steps < len(room):
                break
            for j in room[-p:]:
                context = (context * k + int(j)) % k**p
            left -= steps
        return self.states_[np.concatenate(path)[: n if n is not None else None]]

    def matrix(self):
        """The chain over contexts, P (k^p, k^p); order 1 has it as it is."""
        P, _, _ = self._given()
        if self.stop:
            raise ValueError(
                "a chain that stops has no law in the long run: see `mean_length`."
            )
        k = len(self.states_)
        p = self.order
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
        return transition_matrix.stationary_distribution(self.matrix())

    def mixing_time(self, eps=0.25):
        """Fewest steps after which any start is within eps of `stationary`."""
        return transition_matrix.mixing_time(self.matrix(), eps)

    def convergence(self, n, start=None):
        """Distance from `stationary` after 0..n steps, in total variation."""
        return transition_matrix.distance_to_stationary(self.matrix(), n, start)

    def classify(self):
        """Classify states: communicating classes, transient states, periods."""
        return transition_matrix.communicating_classes(self.matrix())

    def reverse(self):
        """The chain seen backwards."""
        Q = transition_matrix.time_reversal(self.matrix())
        pi = transition_matrix.unique_stationary_distribution(self.matrix())
        if self.order > 1:
            raise ValueError("reverse is for chains of order 1.")
        return type(self).from_matrix(Q, start=pi, states=self.states_)

    @property
    def is_reversible(self) -> bool:
        """Whether the chain looks the same run backwards."""
        return transition_matrix.is_reversible(self.matrix())

    def hitting_times(self, targets):
        """Mean steps from each state until one of some states is reached."""
        wanted = as_column([targets] if np.isscalar(targets) else targets)
        if self.order > 1:
            raise ValueError("hitting_times is for chains of order 1.")
        return transition_matrix.hitting_times(
            self.matrix(), _state_codes(wanted, self.states_)[0]
        )

    def mean_length(self):
        """Mean number of steps, stop included, that follow each context."""
        P, _, stop = self._given()
        k = len(self.states_)
        p = self.order
        m = k**p
        big = np.zeros((m + 1, m + 1))
        c = np.arange(m)
        for j in range(k):
            big[c, (c * k + j) % m] = P[:, j]
        big[:m, m] = stop
        big[m, m] = 1.0
        return transition_matrix.hitting_times(big, m)[:m].reshape(self.stopprob_.shape)

    def check_markov(self, X, lengths=None) -> MarkovTest:
        """Test on sequences whether `order` earlier states are enough."""
        check_params(self)
        x, ends = _label_sequences(X, lengths)
        codes, states = _state_codes(x)
        if float(len(states)) ** (self.order + 2) > MAX_TABLE_CELLS:
            raise ValueError(f"{len(states)} states are too many for this test.")
        return _markov_order_test(codes, ends, self.order, len(states))

    @property
    def n_parameters(self) -> int:
        """Free numbers of transitions and stops."""
        k = len(self.states_)
        p = self.order
        return k**p * (k - 1 + self.stop)
