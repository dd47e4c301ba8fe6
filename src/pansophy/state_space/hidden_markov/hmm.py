"""Hidden Markov models: Baum-Welch and the methods that all of them share.

A chain z_1, z_2, ... of k states starts in pi and moves by A; state j emits x_t from
the j-th component of a batch of distributions, b_j:

    p(x, z) = pi(z_1) b_{z_1}(x_1) prod_t A(z_t-1, z_t) b_{z_t}(x_t)              (1)

Baum-Welch is EM [Baum1970]: the E-step takes the posteriors g_t(j) = p(z_t = j | x)
and expected transitions from `core.chains.filtering`, the M-step is counting,

    pi = sum over sequences of g_1,   A_ij in proportion to expected i -> j      (2)
    b = from_stats( sum_t g_t(j) s(x_t) )                                        (3)

plus the pseudo-counts of Dirichlet priors. Nothing here depends on what b is: any
`Distribution` with stats and from_stats will do. An x_t that is NaN is missing: it
says nothing about z_t, and its likelihood is 1 in every state. Hard EM, or Viterbi
training, counts along the most likely path instead, and raises max_z log p(x, z). A
state that is never visited keeps its parameters.

Where sequences end in a state of their own accord, with probability e_j (`stopprob_`),
the last step has the factor e, a row of A and its e sum to 1, and both are counted
together: e_j in proportion to the expected number of ends in j                   (4)

A zero of A stays zero under counting, so that a topology of allowed transitions is
nothing but the zeros that a fit starts with.

`AbstractHMM` has what every HMM does: sequences in their various forms, fitting,
decoding, sampling. A final class gives the emission by a few small methods, see
`categorical_hmm`. The recursions are in `core.chains.filtering` and
`core.chains.viterbi`.

Time O(n k^2) for each iteration beyond log b. Sequences run on threads.

Shapes    X (n, d) all sequences one after the other, ends (s,)   pi (k,)   A (k, k)
Refs      [Baum1970]; [Rabiner1989]
"""

import logging
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Density, Estimator
from ...core.arrays.ragged import join_sequences, stack_sequences
from ...core.chains.filtering import (
    Chain,
    Evidence,
    Expected,
    expected_counts,
    filter_chain,
    sequence_log_likelihoods,
    smooth_chain,
    viterbi,
)
from ...core.drivers.em import em
from ...core.information_criteria import aic, bic
from ...core.numerics import safe_divide, safe_log
from ...core.random import make_rng, spawn_rngs
from ...distributions.base import SufficientStatistics
from ...distributions.categorical import Categorical, checked_probabilities, pick_rows
from ...distributions.priors import Dirichlet
from ...params import check_count
from ...persist.saved_state import FloatArray, Whole, saved_state
from .hmm_inference import (
    fixed_lag_smoother,
    k_best_paths,
    pair_marginals,
    require_possible,
)
from .transition_matrix import stationary_distribution

LOG = logging.getLogger(__name__)


class HMMParams(NamedTuple):
    """Parameters that Baum-Welch estimates."""

    start: np.ndarray  # pi
    trans: np.ndarray  # A
    emission: Any  # b, a batch of k distributions
    stop: Any = None  # e (k,), or None where sequences do not end by themselves


class HMMStats(NamedTuple):
    """Expected counts, eq. (2) and (3)."""

    start: np.ndarray
    trans: np.ndarray
    emission: Any  # statistics of the emission's own kind
    stop: Any = None  # expected ends in each state, (k,)


class HMMPriors(NamedTuple):
    """Pseudo-counts of the Dirichlet priors; 1 adds nothing."""

    start: Any = 1.0
    trans: Any = 1.0
    emission: Any = None  # a conjugate prior of the emission, or None


def emission_evidence(emission, X, ends) -> Evidence:
    """log b_j(x_t) as the loops take it: by symbol if there are any, else by step."""
    if hasattr(
        emission, "evidence"
    ):  # see `distribution_emission`: reads gaps, has a quick way
        return emission.evidence(X, ends)
    if isinstance(emission, Categorical):
        zero_row = np.zeros((1, len(emission.prob)))
        table = np.vstack([safe_log(emission.prob.T), zero_row])
        return Evidence(table, _symbol_codes(emission, X), ends)
    gone = np.isnan(X).any(axis=1)
    table = emission.log_prob(np.where(gone[:, None], 0.0, X))
    return Evidence(np.where(gone[:, None], 0.0, table), None, ends)


def _symbol_codes(emission: Categorical, X) -> np.ndarray:
    """Symbols (n,) as small whole numbers, m where one is missing; codes as they are.

    A fit makes them once and hands them to every iteration in place of X.
    """
    if X.ndim == 1:
        return X
    m, x = emission.prob.shape[1], X[:, 0]
    if np.isnan(x.min(initial=0.0)):
        x = np.where(np.isnan(x), m, x)
    return x.astype(np.int32)


def _with_stop_factor(seen: Evidence, stop) -> Evidence:
    """Evidence in which each sequence ends: the last step has the factor stop (k,)."""
    last = seen.ends - 1
    log_stop = safe_log(np.asarray(stop, dtype=float))
    if seen.index is None:
        table = np.array(seen.log_table, dtype=float)
        table[last] += log_stop
        return Evidence(table, None, seen.ends)
    index = np.array(seen.index)
    index[last] += len(seen.log_table)
    table = np.vstack([seen.log_table, seen.log_table + log_stop])
    return Evidence(table, index, seen.ends)


def _viterbi_counts(chain: Chain, seen: Evidence) -> Expected:
    """Counts along the most likely paths, and the log-probability of those: hard EM."""
    path, scores = viterbi(chain, seen)
    k, n = len(chain.start), len(path)
    begins = np.r_[0, seen.ends[:-1]]
    start = np.bincount(path[begins], minlength=k).astype(float)
    inner = np.ones(n, bool)
    inner[begins] = False
    t = np.flatnonzero(inner)
    trans = np.bincount(path[t - 1] * k + path[t], minlength=k * k).reshape(k, k)
    rows = np.arange(n) if seen.index is None else seen.index
    v = len(seen.log_table)
    counts = np.bincount(rows * k + path, minlength=v * k).reshape(v, k)
    total = float(scores.sum())
    return Expected(start, trans.astype(float), counts.astype(float), total)


def baum_welch_e_step(
    p: HMMParams, X, ends, *, log=False, hard=False
) -> tuple[HMMStats, float]:
    """E-step: expected counts under p, and log p(x).

    If `hard`, counts along the most likely paths, and log p(x, path).
    """
    seen = emission_evidence(p.emission, X, ends)
    chain = Chain(p.start, p.trans)
    stopping = seen if p.stop is None else _with_stop_factor(seen, p.stop)
    E = (
        _viterbi_counts(chain, stopping)
        if hard
        else expected_counts(chain, stopping, log=log)
    )
    stop = None
    if p.stop is not None:
        stop, E = _ends_and_counts(E, seen)
    if hasattr(p.emission, "evidence"):
        emission = p.emission.expected(X, E.counts)
    elif seen.index is not None:
        counts = np.ascontiguousarray(E.counts[:-1].T)  # without the missing
        emission = SufficientStatistics(counts.sum(1), (counts,))
    else:
        is_complete = ~np.isnan(X).any(axis=1)
        emission = p.emission.stats(X[is_complete], E.counts[is_complete])
    return HMMStats(E.start, E.trans, emission, stop), E.loglik


def _ends_and_counts(E: Expected, seen: Evidence):
    """Expected ends in each state, and E with counts of the evidence without them."""
    if seen.index is None:
        return E.counts[seen.ends - 1].sum(axis=0), E
    v = len(seen.log_table)  # the last steps have rows of their own behind these
    return E.counts[v:].sum(axis=0), E._replace(counts=E.counts[:v] + E.counts[v:])


def baum_welch_m_step(
    stats: HMMStats, old: HMMParams, priors: HMMPriors, letters: str
) -> HMMParams:
    """M-step, eq. (2) and (3), of the parameters named by letters s, t and e."""
    start, trans, emission, stop = old
    if "s" in letters:
        start = _map_probabilities(stats.start, start, priors.start)
    if "t" in letters and stop is None:
        trans = _map_probabilities(stats.trans, trans, priors.trans)
    elif "t" in letters:  # eq. (4)
        prior = np.broadcast_to(np.asarray(priors.trans, float), trans.shape)
        rows = _map_probabilities(
            np.c_[stats.trans, stats.stop],
            np.c_[trans, stop],
            np.c_[prior, np.ones(len(stop))],
        )
        trans, stop = rows[:, :-1], rows[:, -1]
    own_letters = set(letters) - set(
        "st"
    )  # letters of the emission, "e" if it has but one
    if own_letters and hasattr(emission, "learn"):
        emission = emission.learn(stats.emission, priors.emission, own_letters)
    elif own_letters:
        new = type(emission).from_stats(stats.emission, prior=priors.emission)
        emission = _keep_unseen_symbols(emission, new, stats.emission, priors.emission)
    return HMMParams(start, trans, emission, stop)


def _keep_unseen_symbols(old, new, stats, prior):
    """The new emission; symbols of a state that emits nothing keep their old one."""
    if not isinstance(new, Categorical) or prior is not None:
        return new
    empty = np.asarray(stats.weight) <= 0
    return Categorical(np.where(empty[:, None], old.prob, new.prob))


def _map_probabilities(counts, old, prior):
    """Relative frequencies with pseudo-counts; what was impossible stays so.

    A row without counts or prior keeps what it was.
    """
    prior = np.broadcast_to(np.asarray(prior, dtype=float), counts.shape)
    p = np.where(old == 0, 0.0, np.maximum(counts + prior - 1, 0.0))
    total = p.sum(axis=-1, keepdims=True)
    return np.where(total > 0, safe_divide(p, total + 0 * p), old)


def hmm_log_prior(p: HMMParams, priors: HMMPriors, letters: str) -> float:
    """The part of the objective that comes from the priors, up to a constant."""

    def dirichlet(prob, a):
        a = np.broadcast_to(np.asarray(a, dtype=float), prob.shape)
        has_term = (prob > 0) & (a != 1)
        return float(((a[has_term] - 1) * np.log(prob[has_term])).sum())

    value = dirichlet(p.start, priors.start) if "s" in letters else 0.0
    value += dirichlet(p.trans, priors.trans) if "t" in letters else 0.0
    if hasattr(p.emission, "log_prior"):
        value += p.emission.log_prior(priors.emission)
    elif "e" in letters and isinstance(priors.emission, Dirichlet):
        value += dirichlet(p.emission.prob, priors.emission.concentration)
    return value


def _simulate_hmm(p: HMMParams, n: int, rng, first=None):
    """n steps of the chain and what it emits: X (n, d), z (n,)."""
    from ._markov_chain import follow_chain

    edges = np.cumsum(p.trans, axis=1)
    edges = np.where(edges >= edges[:, -1:], 1.0, edges)  # a walk that does not end
    z = np.empty(n, np.int64)
    z[0] = (
        pick_rows(p.start[None], np.zeros(1, int), rng)[0] if first is None else first
    )
    follow_chain(edges, z[0], len(edges), rng.random(n - 1), z[1:])
    return p.emission.draw(z, rng), z


def _allowed_transitions(topology, k: int) -> np.ndarray | None:
    """Mask of the transitions that a topology allows (k, k); None for all."""
    if topology is None or (isinstance(topology, str) and topology == "ergodic"):
        return None
    if isinstance(topology, str):
        if topology != "left-right":
            raise ValueError(
                'topology must be "ergodic", "left-right" or a matrix of moves, got '
                f"{topology!r}."
            )
        return np.triu(np.ones((k, k), bool)) & ~np.triu(np.ones((k, k), bool), 2)
    mask = np.asarray(topology, dtype=bool)
    if mask.shape != (k, k) or not mask.any(axis=1).all():
        raise ValueError(
            f"a topology of {k} states must be a ({k}, {k}) matrix with a move in "
            "every row."
        )
    return mask


def _mask_transitions(p: HMMParams, mask, ordered: bool) -> HMMParams:
    """Parameters without the moves that are not allowed; zeros stay zeros."""
    if mask is None:
        return p
    trans = np.where(mask, p.trans, 0.0)
    trans = np.where(trans.sum(1, keepdims=True) > 0, trans, mask)
    start = np.eye(len(p.start))[0] if ordered else p.start
    trans = trans / trans.sum(1, keepdims=True)
    trans = trans if p.stop is None else trans * (1 - p.stop)[:, None]
    return HMMParams(start, trans, p.emission, p.stop)


class ConvergenceMonitor(NamedTuple):
    """Monitor of convergence, in the words of hmmlearn."""

    converged: bool
    iter: int
    history: list  # log-likelihood after each iteration
    tol: float = 0.0
    n_iter: int = 0
    verbose: Any = False


class MonitorWatch:
    """Tells log-likelihoods to a monitor of the user's until it has converged."""

    def __init__(self, monitor):
        self.monitor = monitor
        self.converged = False
        if monitor is not None and hasattr(monitor, "_reset"):
            monitor._reset()  # as hmmlearn begins a fit

    def report(self, loglik):
        if self.monitor is None or self.converged:
            return
        self.monitor.report(float(loglik))
        self.converged = bool(getattr(self.monitor, "converged", False))


@saved_state(
    n_components=Whole(low=1),
    startprob_=FloatArray("n_components"),
    transmat_=FloatArray("n_components", "n_components"),
)
class AbstractHMM(Density, Estimator):
    """Hidden Markov model with any emission, which a final class provides."""

    # attribute of the emission -> its letter in `params`
    _letters: ClassVar[dict[str, str]] = {"emissionprob_": "e"}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def _emission(self) -> Any:
        """The fitted emission, a batch of k distributions."""

    @abstractmethod
    def _initial_emission(self, X, rng) -> Any:
        """An emission to start from."""

    @abstractmethod
    def _emission_attributes(self, emission) -> dict:
        """The fitted attributes that say the same as the emission."""

    @abstractmethod
    def _emission_prior(self, emission) -> Any:
        """The conjugate prior of the emission, or None."""

    def fit(
        self,
        X,
        lengths=None,
        y=None,
        *,
        hard=False,
        n_init=1,
        topology=None,
        stop=None,
    ):
        """Fit by Baum-Welch.

        Parameters
        ----------
        X : array of shape (n, d) or (n,), list of arrays, or grouped dataframe
            Observations, sequences one after the other; NaN where one is missing. A
            list of arrays, or a dataframe after groupby, has one sequence each.
        lengths : array of int, optional
            Length of each sequence; None for a single one.
        y : None
            Ignored; present for compatibility with scikit-learn.
        hard : bool, default=False
            Viterbi training: count along the most likely paths, not in expectation.
        n_init : int, default=1
            Random starts, of which the best is kept.
        topology : {"ergodic", "left-right"} or matrix of shape (k, k), optional
            Moves that are allowed. "left-right" starts in the first state, and stays
            or goes to the next. Zeros of `transmat_` stay zeros anyway.
        stop : bool, optional
            Whether to learn in which states sequences end: `stopprob_` (k,) and the
            rows of `transmat_` then sum to 1 together, eq. (4). None does so if
            `stopprob_` is set; True starts from one end in the mean length of a
            sequence unless it is set and "t" is not in `init_params`.

        Returns
        -------
        self : object
        """
        X, ends = self._sequences(X, lengths, reset=True)
        n_init = check_count("n_init", n_init)
        self._initial_stop(stop, len(X) / len(ends))
        self._log_overwritten()
        rng = make_rng(self.random_state)
        rngs = [rng] if n_init == 1 else spawn_rngs(rng, n_init)
        mask = _allowed_transitions(topology, self.n_components)
        ordered = isinstance(topology, str) and topology == "left-right"
        initial = [
            _mask_transitions(self._initial_params(X, rng), mask, ordered)
            for rng in rngs
        ]
        priors = self._priors(initial[0])
        letters = self.params
        log = self.implementation == "log"
        symbols = isinstance(initial[0].emission, Categorical)
        rows = _symbol_codes(initial[0].emission, X) if symbols else X

        watch = MonitorWatch(getattr(self, "_own_monitor", None))

        def e_step(params):
            stats, loglik = baum_welch_e_step(params, rows, ends, log=log, hard=hard)
            watch.report(loglik)
            return (stats, params), loglik  # what is not estimated stays as it is

        def m_step(stats_and_params):
            stats, params = stats_and_params
            if watch.converged:  # unchanged parameters end the iteration
                return params
            return baum_welch_m_step(stats, params, priors, letters)

        if self.n_iter == 0:
            return self._keep_initial(initial, e_step)

        def run_from(i, task):
            return em(
                e_step,
                m_step,
                initial[i],
                log_prior=lambda params: hmm_log_prior(params, priors, letters),
                max_iter=self.n_iter,
                tol=self.tol,
                task=task,
            )

        result = self._run_driver(
            run_from,
            n_init=n_init,
            total=self.n_iter,
            X=X,
            snapshot=lambda state: self._attributes(state.params),
        )
        self._set_attributes(result.state.params)
        self.log_likelihood_ = -result.objective
        self._warn_of_degenerate_states(
            result.state.params.emission, result.state.stats[0], len(X)
        )
        self._finish(X, ends)
        return self

    def fit_labeled(self, X, states, lengths=None, *, stop=False):
        """Fit by counting, where the states are known (n,).

        With `stop`, where sequences end is counted too: `stopprob_` (k,) and the rows
        of `transmat_` then sum to 1 together.
        """
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
        emission = self._initial_emission(X, make_rng(0))
        old = HMMParams(np.full(k, 1 / k), np.full((k, k), 1 / k), emission)
        R = (z[:, None] == np.arange(k)).astype(float)
        inner = np.setdiff1d(np.arange(1, len(z)), ends)  # steps with one before them
        begins = np.concatenate([[0], ends[:-1]])
        is_complete = ~np.isnan(X).any(axis=1)
        stats = HMMStats(
            R[begins].sum(0),
            R[inner - 1].T @ R[inner],
            old.emission.stats(X[is_complete], R[is_complete]),
        )
        p = baum_welch_m_step(stats, old, self._priors(old), self.params)
        if hasattr(self, "stopprob_"):
            del self.stopprob_
        if stop:
            self.stopprob_ = R[ends - 1].sum(0) / np.maximum(R.sum(0), 1)
            p = p._replace(trans=p.trans * (1 - self.stopprob_)[:, None])
        self._set_attributes(p)
        self._warn_of_degenerate_states(p.emission, stats, len(X))
        self._finish(X, ends)
        return self

    def _keep_initial(self, initial, e_step):
        """`fit` without iterations: the best of the starts."""
        logliks = [e_step(params)[1] for params in initial]
        best = int(np.argmax(logliks))
        self._set_attributes(initial[best])
        self.log_likelihood_ = float(logliks[best])
        self.n_iter_ = 0
        self.history_ = {"objective": np.empty(0)}
        self.converged_ = self.interrupted_ = False
        return self

    def _is_set(self, name) -> bool:
        """Whether a fitted attribute was set, by a fit or by hand."""
        return name in vars(self) or f"_{name}" in vars(self)

    def _log_overwritten(self):
        """Tell in the log which attributes the start of a fit overwrites."""
        letters = {"startprob_": "s", "transmat_": "t", **self._letters}
        for name, letter in letters.items():
            if letter in self.init_params and self._is_set(name):
                LOG.warning(
                    "Even though the %r attribute is set, it will be overwritten "
                    "during initialization because 'init_params' contains %r",
                    name,
                    letter,
                )

    def _initial_stop(self, stop, mean_length):
        """Set or delete `stopprob_` as the argument `stop` of `fit` asks."""
        old_stop = getattr(self, "stopprob_", None)
        if stop is False and hasattr(self, "stopprob_"):
            del self.stopprob_
        elif stop and (old_stop is None or "t" in self.init_params):
            self.stopprob_ = np.full(self.n_components, 1 / (mean_length + 1))
            if hasattr(self, "transmat_") and "t" not in self.init_params:
                A = np.asarray(self.transmat_, dtype=float)
                rows = A.sum(axis=1, keepdims=True)
                self.transmat_ = A / rows * (1 - self.stopprob_)[:, None]

    def _finish(self, X, ends):
        """Store what else a final class keeps of its training data."""

    def _set_attributes(self, p: HMMParams):
        for name, value in self._attributes(p).items():
            setattr(self, name, value)

    @property
    def monitor_(self) -> ConvergenceMonitor:
        """Monitor of the fit, as hmmlearn has it; empty before a fit.

        A monitor of one's own, with `report(log_likelihood)` and `converged`, may be
        set before `fit`: it is told every log-likelihood and may end the iteration.
        """
        own_record = getattr(self, "_own_monitor", None)
        if own_record is not None:
            return own_record
        settings = (self.tol, self.n_iter, self.verbose)
        if not hasattr(self, "history_"):
            return ConvergenceMonitor(False, 0, [], *settings)
        history = [-float(v) for v in self.history_["objective"]]
        return ConvergenceMonitor(self.converged_, self.n_iter_, history, *settings)

    @monitor_.setter
    def monitor_(self, monitor):
        if not callable(getattr(monitor, "report", None)):
            raise TypeError("a monitor has a method report(log_likelihood).")
        self._own_monitor = monitor

    def _sequences(self, X, lengths, *, reset=False):
        """Checked X (n, d) in floating point, and where the sequences end."""
        X, lengths = join_sequences(X, lengths)
        check = {"ensure_all_finite": "allow-nan", "dtype": np.float64}
        if reset:
            X, _ = self._check_training_data(X, **check)
        else:
            X = self._check_new_data(X, **check)
        X, ends = stack_sequences(X, lengths)
        if reset and (gone := np.isnan(X).all(axis=0)).any():
            raise ValueError(f"column {gone.argmax()} of X has no value that is seen.")
        self._check_columns(X, reset)
        return X, ends

    @abstractmethod
    def _check_columns(self, X, fitting):
        """Raise if X cannot be what this model emits."""

    def _initial_params(self, X, rng) -> HMMParams:
        """First parameters: drawn by the letters of init_params, else given.

        What is not given is drawn too.
        """
        k = self.n_components
        stop = getattr(self, "stopprob_", None)
        result = {
            "s": ("startprob_", rng.dirichlet(np.ones(k))),
            "t": ("transmat_", rng.dirichlet(np.ones(k), size=k)),
        }
        if stop is not None:
            rows = result["t"][1] * (1 - np.asarray(stop, dtype=float))[:, None]
            result["t"] = ("transmat_", rows)
        for letter, (name, value) in result.items():
            if letter in self.init_params or not self._is_set(name):
                setattr(self, name, value)
        missing = not all(self._is_set(name) for name in self._letters)
        if set(self.init_params) - set("st") or missing:
            emission = self._initial_emission(X, rng)
            for name, value in self._emission_attributes(emission).items():
                if self._letters[name] in self.init_params or not self._is_set(name):
                    setattr(self, name, value)
        return self._params()

    def _params(self) -> HMMParams:
        """The parameters as they stand in the attributes, checked."""
        k = self.n_components
        parts = []
        stop = getattr(self, "stopprob_", None)
        for name, shape in (("startprob_", (k,)), ("transmat_", (k, k))):
            if not hasattr(self, name):
                raise ValueError(f"{name} is neither fitted nor set: see init_params.")
            value = np.asarray(getattr(self, name), dtype=float)
            if name == "transmat_" and stop is not None:
                checked_probabilities(np.c_[value, stop], "transmat_ with stopprob_")
            else:
                value = checked_probabilities(value, name)
            if value.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, got {value.shape}.")
            parts.append(value)
        stop = None if stop is None else np.asarray(stop, dtype=float)
        return HMMParams(parts[0], parts[1], self._emission(), stop)

    def _warn_of_degenerate_states(self, emission, stats, n):
        """Warn of what the last M-step met: states without rows, floors reached."""
        notes = list(getattr(emission, "notes", ()))
        visits = stats.start + stats.trans.sum(axis=0)
        if not hasattr(emission, "notes") and (visits < 1e-9 * n).any():
            empty = ", ".join(map(str, np.flatnonzero(visits < 1e-9 * n)))
            notes.append(f"no step belongs to state {empty}, which keeps what it had.")
        for note in notes:
            warnings.warn(f"{type(self).__name__}: {note}", stacklevel=3)

    def _priors(self, p: HMMParams) -> HMMPriors:
        prior = self._emission_prior(p.emission)
        return HMMPriors(self.startprob_prior, self.transmat_prior, prior)

    def _attributes(self, p: HMMParams) -> dict:
        emission = self._emission_attributes(p.emission)
        chain = {"startprob_": p.start, "transmat_": p.trans}
        if p.stop is not None:
            chain["stopprob_"] = p.stop
        return {**chain, **emission}

    def _chain_and_evidence(self, X, lengths):
        """Chain and evidence for given observations."""
        check_is_fitted(self, "startprob_")
        X, ends = self._sequences(X, lengths)
        p = self._params()
        seen = emission_evidence(p.emission, X, ends)
        stop = getattr(self, "stopprob_", None)
        seen = seen if stop is None else _with_stop_factor(seen, stop)
        return Chain(p.start, p.trans), seen

    def score_samples(self, X, lengths=None):
        """Total log-likelihood, and the posterior of the states at every step."""
        chain, seen = self._chain_and_evidence(X, lengths)
        G, logliks = smooth_chain(chain, seen, log=self.implementation == "log")
        return float(logliks.sum()), require_possible(G, seen.ends)

    def score(self, X, lengths=None):
        """Total log-likelihood of the sequences."""
        return float(
            sequence_log_likelihoods(*self._chain_and_evidence(X, lengths)).sum()
        )

    def predict_proba(self, X, lengths=None):
        """Posterior of the states at every step, given whole sequences: (n, k)."""
        return self.score_samples(X, lengths)[1]

    def filter(self, X, lengths=None):
        """Belief in the states at every step, given the past only: (n, k)."""
        chain, seen = self._chain_and_evidence(X, lengths)
        return require_possible(filter_chain(chain, seen)[0], seen.ends)

    def smooth(self, X, lengths=None, lag=None):
        """Posterior of the states at every step (n, k): given whole sequences, or
        with `lag` given the past and that many steps ahead."""
        if lag is None:
            return self.predict_proba(X, lengths)
        return fixed_lag_smoother(*self._chain_and_evidence(X, lengths), lag)

    def pair_marginals(self, X, lengths=None):
        """p(z_t, z_t+1 | x) of the steps that have a next one: (n - s, k, k)."""
        return pair_marginals(*self._chain_and_evidence(X, lengths))

    def decode(self, X, lengths=None, algorithm=None, *, method=None, k=None):
        """Log-probability and states (n,) of all sequences.

        Parameters
        ----------
        X, lengths :
            As in `fit`.
        algorithm : {"viterbi", "map"}, optional
            The most likely path, or the most likely state of every step and the sum of
            their posteriors; None takes the parameter `algorithm`.
        method : {"viterbi", "posterior"}, optional
            The same, by its other name.
        k : int, optional
            The k most likely paths of one sequence: log-probabilities (k,) and states
            (k, n), best first.
        """
        names = {"viterbi": "viterbi", "map": "map", "posterior": "map"}
        algorithm_name = method or algorithm or self.algorithm
        if algorithm_name not in names:
            raise ValueError(
                'algorithm must be "viterbi" or "map" (or "posterior"), got '
                f"{algorithm_name!r}."
            )
        if names[algorithm_name] == "map":
            G = self.predict_proba(X, lengths)
            return float(G.max(axis=1).sum()), G.argmax(axis=1)
        chain, seen = self._chain_and_evidence(X, lengths)
        if k is None:
            path, scores = viterbi(chain, seen)
            return float(require_possible(scores, seen.ends).sum()), path
        if len(seen.ends) > 1:
            raise ValueError("k is for the paths of one sequence: pass just that one.")
        L = seen.log_table if seen.index is None else seen.log_table[seen.index]
        paths, scores = k_best_paths(*chain, L, k, log=True)
        return scores, paths

    def predict(self, X, lengths=None):
        """States of the steps, by `algorithm`."""
        return self.decode(X, lengths)[1]

    def sample(self, n_samples=1, random_state=None, currstate=None):
        """A sequence of observations (n, d) and its states (n,).

        Where there are stop probabilities, of a sequence that has not stopped yet.
        """
        check_is_fitted(self, "startprob_")
        n_samples = check_count("n_samples", n_samples)
        seed = self.random_state if random_state is None else random_state
        p = self._params()
        if p.stop is not None:  # n steps that have not stopped yet
            rows = p.trans.sum(axis=1, keepdims=True)
            if (rows == 0).any():
                raise ValueError("a state that always stops cannot be sampled from.")
            p = p._replace(trans=p.trans / rows)
        rng = make_rng(seed)
        first = None if currstate is None else pick_rows(p.trans, [currstate], rng)[0]
        return _simulate_hmm(p, n_samples, rng, first)

    def fill(self, X, lengths=None):
        """X with missing values filled in: the most likely symbol, or the mean, given
        everything seen."""
        G = self.predict_proba(X, lengths)
        X, _ = self._sequences(X, lengths)
        emission = self._emission()
        for name in ("normal", "distribution"):  # emissions that wrap a distribution
            if hasattr(emission, name):
                emission = getattr(emission, name)
                break
        if isinstance(emission, Categorical):
            guess = (G @ emission.prob).argmax(axis=1)[:, None]
        elif hasattr(emission, "mean"):
            guess = G @ np.asarray(emission.mean).reshape(G.shape[1], -1)
        else:
            raise TypeError(f"{type(self).__name__} has no one mean to fill in.")
        return np.where(np.isnan(X), guess, X)

    def get_stationary_distribution(self):
        """The distribution of states that the chain leaves as it is.

        Of a chain that can end up in several sets of states, the mean over the sets.
        """
        A = self._params().trans
        pi = stationary_distribution(A / A.sum(axis=1, keepdims=True))
        return np.atleast_2d(pi).mean(axis=0)

    def _n_parameters(self) -> int:
        """Free numbers of the letters in `params`."""
        k, p = self.n_components, self.params
        emission_counts = self._emission().free
        emission_counts = (
            emission_counts
            if isinstance(emission_counts, dict)
            else {"e": emission_counts}
        )
        moves = k * (k - 1) if getattr(self, "stopprob_", None) is None else k * k
        free = {"s": k - 1, "t": moves, **emission_counts}
        return sum(n for letter, n in free.items() if letter in p)

    def bic(self, X, lengths=None):
        """Bayesian information criterion, to be minimised."""
        n = self._sequences(X, lengths)[1][-1]
        return float(bic(self.score(X, lengths), self._n_parameters(), n))

    def aic(self, X, lengths=None):
        """Akaike information criterion, to be minimised."""
        return aic(self.score(X, lengths), self._n_parameters())
