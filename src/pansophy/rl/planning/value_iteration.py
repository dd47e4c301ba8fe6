"""Value iteration: the best values of a Markov decision process, with a certificate.

One sweep replaces V by the value of the best action one step ahead,

    (B V)(s) = max_a r(s, a) + gamma sum_s' T_a(s, s') V(s')                    (1)

a contraction by gamma in the greatest difference, so V tends to the V* = B V* of the
best policy. The change of one sweep, D = B V - V, bounds how far that is: with
l = min D and h = max D,

    B V + gamma l / (1 - gamma)  <=  V*  <=  B V + gamma h / (1 - gamma)        (2)

for every V, however it was found. The middle of (2) is the answer and half its width
the reported bound, so the run stops at a stated distance from V*, often hundreds of
sweeps before the change itself is small: h - l shrinks as the chain forgets its start,
h and l only with gamma. (Where a transition may end the episode the state after it
keeps value 0, so (2) is taken with l <= 0 <= h and without the shift to the middle.)

Since (2) asks nothing of V, between sweeps V is carried on with the present policy
alone, 1/A of the cost, until its D varies ten times less ("modified policy
iteration"); `n_evaluations=0` leaves that out and is plain value iteration, whose
iterates V_k = B^k V_0 are in `history["V"]` and answer a run that was cut short.

Cost of a sweep: O(nonzeros of T), on threads.

Shapes    T (A, S, S)   r (S, A)   V (S,)   policy (S,)
Refs      [Bellman1957] (1); [MacQueen1966] (2); [Puterman1978] the evaluations
"""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...core.drivers.iterate import iterate
from ...core.drivers.progress import SILENT
from ...core.loops import threads
from ...params import Count, Fraction, Natural, NonNegative, check_argument
from . import _value_iteration as loops
from .mdp import MDP, as_mdp, evaluate_policy, greedy_policy, policy_weights, q_from_v

MOST_ITERATES = 10**7  # numbers of `history["V"]`
BLOCK = 1 << 18  # nonzeros a thread takes at a time


class MDPSolution(NamedTuple):
    """Result of `value_iteration`."""

    V: np.ndarray  # (S,)
    Q: np.ndarray  # (S, A)
    policy: np.ndarray  # (S,)
    bound: float  # max |V - V*| is at most this
    n_iter: int  # sweeps over all actions
    converged: bool
    history: dict  # "objective": the bound after each sweep; "V": see `value_iteration`

    def __repr__(self):
        S, A = self.Q.shape
        state = "converged" if self.converged else "not converged"
        return (
            f"Values of {S} states and {A} actions, {state} after {self.n_iter} "
            f"sweeps: max |V - V*| <= {self.bound:.2g}"
        )


class SweepState(NamedTuple):
    """State between two sweeps."""

    V: np.ndarray  # where the next sweep starts
    BV: np.ndarray  # eq. (1) of the sweep before
    Q: np.ndarray  # (A, S)
    policy: np.ndarray
    low: float  # l of eq. (2)
    high: float  # h
    objective: float  # half the width of eq. (2), or the greatest change if gamma = 1


def value_iteration(
    P,
    R=None,
    gamma=0.99,
    tol=1e-6,
    *,
    max_iter=100_000,
    n_evaluations=100,
    V0=None,
    task=SILENT,
) -> MDPSolution:
    """Best values and policy of a finite Markov decision process.

    Parameters
    ----------
    P : array, list of sparse matrices, dict, Table, environment or MDP
        Transitions, in any form that `mdp` takes.
    R : array, list of sparse matrices or None
        Rewards, likewise; None where P has them.
    gamma : float
        Discount from 0 to 1. With 1 there is no bound: the run stops when no value
        changes by more than tol, and policies are not carried on between sweeps.
    tol : float
        Distance from the best values at which to stop.
    max_iter : int
        Greatest number of sweeps.
    n_evaluations : int
        Greatest number of sweeps with a fixed policy between two over all actions. 0 is
        the iteration of the textbooks: `history["V"]` has V_1, V_2, ... (of up to 10^7
        numbers in all), and `max_iter=k` gives V_k itself, without the correction by
        the middle of eq. (2).
    V0 : array of shape (S,) or None
        Start, such as the values of a similar process; None is 0.

    Returns
    -------
    Values
        V, Q, policy, bound, n_iter, converged, history.

    Examples
    --------
    >>> from pansophy.rl import value_iteration
    >>> P = [[[1, 0], [0, 1]], [[0.2, 0.8], [0.8, 0.2]]]  # stay, go
    >>> value_iteration(P, [[0, 0], [1, 0]], gamma=0.9).V.round(6)
    array([ 8.780488, 10. ])
    """
    model = as_mdp(P, R)
    S = model.n_states
    check_solver_arguments(gamma, tol, max_iter, n_evaluations)
    V = np.zeros(S) if V0 is None else np.array(V0, dtype=float)
    if V.shape != (S,) or not np.isfinite(V).all():
        raise ValueError(f"V0 must hold {S} finite numbers, got shape {V.shape}.")
    evaluations = n_evaluations if gamma < 1 else 0
    iterates: list[np.ndarray] = []

    def step(state):
        evaluated = _evaluate_between_sweeps(model, state, gamma, evaluations)
        improved = bellman_sweep(model, evaluated, gamma)
        if not n_evaluations and (len(iterates) + 1) * S <= MOST_ITERATES:
            iterates.append(improved.BV)
        return improved

    start = SweepState(V, V, None, None, 0.0, 0.0, np.inf)  # type: ignore[arg-type]
    change = lambda old, new: new.objective
    run = iterate(step, start, max_iter=max_iter, tol=tol, change=change, task=task)
    if not run.n_iter:
        raise ValueError(f"the run stopped before its first sweep ({run.reason}).")
    if not run.converged:
        warnings.warn(
            f"value_iteration stopped ({run.reason}) after {run.n_iter} sweeps with "
            f"bound {run.objective:.3g} > tol; raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    state = run.state
    middle = 0.0
    bound = run.objective if gamma < 1 else np.inf
    if gamma < 1 and not model.ends:
        if n_evaluations or run.converged:
            middle = gamma / (1 - gamma) * (state.low + state.high) / 2
        else:  # V_k itself, which is not in the middle of (2)
            bound = gamma / (1 - gamma) * max(-state.low, state.high)
    history = run.history | ({} if n_evaluations else {"V": np.array(iterates)})
    return MDPSolution(
        state.BV + middle,
        np.ascontiguousarray(state.Q.T) + middle,
        state.policy,
        bound,
        run.n_iter,
        run.converged,
        history,
    )


def q_iteration(
    P, R=None, gamma=0.99, tol=1e-6, *, max_iter=100_000, Q0=None
) -> MDPSolution:
    """Best action values by Q_k+1 = r + gamma T max_b Q_k, from Q_0.

    It is `value_iteration` with `n_evaluations=0`, told by action values: max_a Q_k is
    V_k at every sweep.

    Parameters
    ----------
    P, R, gamma, tol, max_iter
        As for `value_iteration`.
    Q0 : array of shape (S, A) or None
        Start; None is 0.

    Examples
    --------
    >>> from pansophy.rl import q_iteration
    >>> P = [[[1, 0], [0, 1]], [[0.2, 0.8], [0.8, 0.2]]]  # stay, go
    >>> q_iteration(P, [[0, 0], [1, 0]], gamma=0.9).Q.round(3)
    array([[ 7.902,  8.78 ],
           [10.   ,  8.122]])
    """
    model = as_mdp(P, R)
    V0 = None
    if Q0 is not None:
        Q0 = np.asarray(Q0, float)
        if Q0.shape != model.r.shape:
            raise ValueError(f"Q0 must have shape {model.r.shape}, got {Q0.shape}.")
        V0 = Q0.max(axis=1)
    return value_iteration(
        model, None, gamma, tol, max_iter=max_iter, n_evaluations=0, V0=V0
    )


def check_solver_arguments(gamma, tol, max_iter, n_evaluations):
    """One sentence about the first argument that is out of its range."""
    check_argument("gamma", gamma, Fraction)
    check_argument("tol", tol, NonNegative)
    check_argument("max_iter", max_iter, Count)
    check_argument("n_evaluations", n_evaluations, Natural)


def bellman_sweep(model: MDP, V, gamma) -> SweepState:
    """Eq. (1) and the bound (2) at V."""
    T, r, ends = model
    S, A = r.shape
    if isinstance(T, np.ndarray):
        Q = (r + gamma * (T @ V).T).T
        BV = Q.max(axis=0)
        policy = Q.argmax(axis=0)
    else:
        Q, BV, policy = np.empty((A, S)), np.empty(S), np.empty(S, np.int64)
        rows = max(1, S * BLOCK // max(1, sum(M.nnz for M in T)))

        def block(lo):
            for a, M in enumerate(T):
                loops.improve_action_values(
                    M.indptr, M.indices, M.data, r, V, gamma, a,
                    lo, min(lo + rows, S), Q, BV, policy,
                )  # fmt: skip

        for _ in threads.run_tasks(lambda lo=lo: block(lo) for lo in range(0, S, rows)):
            pass
    low, high = loops.value_change_bounds(V, BV)
    if gamma == 1:
        return SweepState(V, BV, Q, policy, low, high, max(-low, high))
    if ends:  # no shift to the middle, so the greater of the two sides counts
        half = gamma / (1 - gamma) * max(-low, high)
    else:
        half = gamma / (1 - gamma) * (high - low) / 2
    return SweepState(V, BV, Q, policy, low, high, half)


def _evaluate_between_sweeps(model, state, gamma, n):
    """V after up to n sweeps with the present policy, from the V of the last sweep."""
    V = state.BV.copy()
    if n == 0 or state.policy is None:
        return V
    policy = state.policy
    r = model.r[np.arange(len(V)), policy]
    target = 0.1 * (state.high - state.low)
    if isinstance(model.T, np.ndarray):
        T = model.T[policy, np.arange(len(V))]
        for _ in range(n):
            W = r + gamma * (T @ V)
            low, high = loops.value_change_bounds(V, W)
            V = W
            if high - low <= target:
                break
        return V
    loops.policy_sweeps(
        *_policy_rows(model.T, policy), r, V, np.empty_like(V), gamma, n, target
    )
    return V


def _policy_rows(T, policy):
    """CSR arrays of the rows that a policy takes from the actions' matrices."""
    ends = np.bincount(policy, minlength=len(T)).cumsum()
    states = np.split(np.argsort(policy, kind="stable"), ends[:-1])  # by action
    width = np.zeros(len(policy) + 1, np.int64)
    for M, chosen_states in zip(T, states, strict=True):
        loops.row_lengths(M.indptr, chosen_states, width[1:])
    begin = np.cumsum(width)
    column, p = np.empty(begin[-1], T[0].indices.dtype), np.empty(begin[-1])
    for M, chosen_states in zip(T, states, strict=True):
        loops.gather_policy_rows(
            M.indptr, M.indices, M.data, chosen_states, begin, column, p
        )
    return begin, column, p


def policy_iteration(
    P, R=None, gamma=0.99, *, policy=None, max_iter=1000
) -> MDPSolution:
    """Best values by policy iteration: solve for V of a policy, improve it, repeat.

    Parameters
    ----------
    P, R, gamma
        As for `value_iteration`; gamma below 1 unless every policy reaches an end, or
        states that are never left and pay nothing.
    policy : array of shape (S,) or (S, A), or None
        First policy, of probabilities the likeliest actions; None is action 0
        everywhere, or with gamma 1, where that may have no finite values, the policy
        that is greedy for value iteration's first sweeps.
    max_iter : int
        Greatest number of policies.

    Returns
    -------
    Values
        Exact up to rounding; `history["V"]` has the values of each policy.
    """
    model = as_mdp(P, R)
    check_solver_arguments(gamma, 0, max_iter, 0)
    pi = np.zeros(model.n_states, np.int64)
    if policy is not None:
        pi = policy_weights(policy, *model.r.shape).argmax(axis=1)
    elif gamma == 1:
        pi = _first_proper_policy(model, pi)
    history: list[np.ndarray] = []
    converged = False
    while not converged and len(history) < max_iter:
        V = evaluate_policy(model, pi, gamma=gamma)
        history.append(V)
        Q = q_from_v(model, V, gamma)
        # change an action only where that gains more than rounding: no cycles
        current_value = Q[np.arange(len(pi)), pi]
        better = Q.max(axis=1) > current_value + 1e-12 * np.abs(Q).max()
        converged = not better.any()
        pi = np.where(better, greedy_policy(Q), pi)
    V = history[-1]
    last = bellman_sweep(model, V, gamma)
    bound = value_bound(last, gamma)
    Q = np.ascontiguousarray(last.Q.T)
    return MDPSolution(
        V, Q, pi, bound, len(history), converged, {"V": np.array(history)}
    )


def _first_proper_policy(model, policy):
    """A policy whose undiscounted values are finite: the one given, or that of sweeps.

    After as many sweeps as there are states, every state from which the end can be
    reached prefers a way to it where steps cost something. If none is found, the given
    policy is returned, whose evaluation says what is wrong.
    """
    pi = policy
    V = np.zeros(len(policy))
    sweeps = 0
    wanted = 1
    while True:
        try:
            evaluate_policy(model, pi, gamma=1.0)
        except ValueError:
            if wanted > 4 * len(policy):
                return policy
        else:
            return pi
        while sweeps < wanted:
            Q = q_from_v(model, V, 1.0)
            V = Q.max(axis=1)
            pi = greedy_policy(Q)
            sweeps += 1
        wanted *= 2


def value_bound(sweep: SweepState, gamma) -> float:
    """Greatest distance from V* of the V that a sweep was made at."""
    if gamma == 1:
        return np.inf
    return max(-sweep.low, sweep.high) / (1 - gamma)


def modified_policy_iteration(
    P, R=None, gamma=0.99, tol=1e-6, *, n_evaluations=20, max_iter=100_000, V0=None
) -> MDPSolution:
    """Best values by policy iteration with the evaluation cut short.

    Each policy is evaluated by at most `n_evaluations` sweeps before it is improved:
    none is value iteration, many are policy iteration. It is `value_iteration` with
    that number set; see there for the parameters, the result and its bound.

    Examples
    --------
    >>> from pansophy.rl import modified_policy_iteration
    >>> P = [[[1, 0], [0, 1]], [[0.2, 0.8], [0.8, 0.2]]]  # stay, go
    >>> modified_policy_iteration(P, [[0, 0], [1, 0]], gamma=0.9).V.round(6)
    array([ 8.780488, 10. ])
    """
    return value_iteration(
        P, R, gamma, tol, max_iter=max_iter, n_evaluations=n_evaluations, V0=V0
    )
