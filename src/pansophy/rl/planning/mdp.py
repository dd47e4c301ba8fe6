"""Markov decision processes with finitely many states and actions.

In state s action a leads to s' with probability T_a(s, s') and pays r(s, a) on
average. With discount gamma the values of the best policy solve Bellman's equations

    Q(s, a) = r(s, a) + gamma sum_s' T_a(s, s') V(s'),    V(s) = max_a Q(s, a)   (1)

`MDP` keeps r as (S, A) and T either dense, (A, S, S), or as one CSR matrix an action.
A transition that ends the episode pays its reward and leads nowhere, so rows of T may
sum to less than 1; the value after the end is 0.

Shapes    T (A, S, S)   r (S, A)   Q (S, A)   V (S,)
Refs      [Puterman1994]
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph, linalg

from ...params import (
    Count,
    Fraction,
    NonNegative,
    Number,
    ParameterRule,
    check_argument,
)
from .transition_table import TransitionTable, as_transition_table

MOST_SWEEPS = 1_000_000


class MDP(NamedTuple):
    """T and r of the module text; made by `as_mdp`."""

    T: Any  # (A, S, S) array, or list of A CSR matrices (S, S)
    r: np.ndarray  # (S, A)
    ends: bool  # whether some transition ends the episode

    @property
    def n_states(self) -> int:
        return self.r.shape[0]

    @property
    def n_actions(self) -> int:
        return self.r.shape[1]


def as_mdp(P, R=None) -> MDP:
    """An MDP from any usual description.

    Parameters
    ----------
    P : array, list of sparse matrices, sparse matrix, dict, Table, environment or MDP
        Transition probabilities: (A, S, S); one sparse (S, S) matrix an action; one
        sparse (S A, S) matrix whose row s A + a belongs to action a in state s; an
        integer array (S, A) of next states, for a world without chance; Gymnasium's
        `{s: {a: [(probability, s', reward, terminated), ...]}}`; or an environment
        that has such a `P`.
    R : array, list of sparse matrices or None
        Rewards: (S,), (S, A), (A, S, S), or one sparse (S, S) matrix an action. Left
        out where P has the rewards.

    Examples
    --------
    >>> from pansophy.rl import as_mdp
    >>> two = as_mdp([[0, 1], [0, 1]], [[0.0, 1.0], [0.0, 2.0]])  # action = next state
    >>> two.n_states, two.n_actions
    (2, 2)
    """
    tabular = isinstance(P, (dict, str, TransitionTable)) or hasattr(P, "unwrapped")
    if tabular or isinstance(P, MDP):
        if R is not None:
            raise ValueError("R must be left out: P has the rewards already.")
        return _mdp_from_table(as_transition_table(P)) if tabular else P
    if R is None:
        raise ValueError("R is needed: rewards of shape (S,), (S, A) or (A, S, S).")
    T = _check_transitions(P)
    r = _expected_rewards(R, T)
    if not np.isfinite(r).all():
        raise ValueError("R contains NaN or infinity.")
    return MDP(T, np.ascontiguousarray(r), ends=False)


def mdp_from_function(outcomes, n_states, n_actions) -> MDP:
    """An MDP from a function that tells what an action may lead to.

    Parameters
    ----------
    outcomes : function
        outcomes(s, a) gives a list of (probability, s', reward, terminated), or of
        (probability, s', reward) where nothing ends.
    n_states, n_actions : int
        S and A; states and actions are counted from 0.

    Examples
    --------
    >>> from pansophy.rl import mdp_from_function, value_iteration
    >>> ring = lambda s, a: [(1.0, (s + 2 * a - 1) % 5, float(s == 0))]
    >>> value_iteration(mdp_from_function(ring, 5, 2), gamma=0.5).V.round(4)
    array([1.3333, 0.6667, 0.3333, 0.3333, 0.6667])
    """
    check_argument("n_states", n_states, Count)
    check_argument("n_actions", n_actions, Count)
    full = lambda one: one if len(one) == 4 else (*one, False)
    P = {
        s: {a: [full(outcome) for outcome in outcomes(s, a)] for a in range(n_actions)}
        for s in range(n_states)
    }
    return _mdp_from_table(as_transition_table(P))


def _check_transitions(P):
    """T, checked: probabilities, each row summing to 1."""
    if sparse.issparse(P):
        A = P.shape[0] // max(P.shape[1], 1)
        if A < 1 or P.shape[0] != A * P.shape[1]:
            raise ValueError(
                f"a sparse P must have shape (S A, S), got {P.shape}; row s A + a "
                "belongs to action a in state s."
            )
        rows = sparse.csr_array(P)
        P = [rows[a::A] for a in range(A)]
    if isinstance(P, (list, tuple)) and len(P) and sparse.issparse(P[0]):
        allowed = max(rounding_of_sums(M.dtype) for M in P)
        T = [sparse.csr_array(M).astype(float, copy=False) for M in P]
        lows = [M.data.min(initial=0.0) for M in T]
        sums = [np.asarray(M.sum(axis=1)).ravel() for M in T]
    else:
        try:
            T = np.asarray(P)
        except ValueError:
            raise ValueError(
                "P must have shape (A, S, S), but its rows have different lengths."
            ) from None
        if T.ndim == 2 and np.issubdtype(T.dtype, np.integer):
            return _deterministic_transitions(T)
        allowed = rounding_of_sums(T.dtype)
        T = np.ascontiguousarray(T, dtype=float)
        if T.ndim != 3:
            raise ValueError(f"P must have shape (A, S, S), got {T.shape}.")
        lows = T.min(axis=(1, 2), initial=0.0)
        sums = T.sum(axis=2)
    for a, M in enumerate(T):
        if M.shape[0] != M.shape[1] or M.shape != T[0].shape or 0 in M.shape:
            raise ValueError(f"P of action {a} must be square, got shape {M.shape}.")
        wrong = np.flatnonzero(~(np.abs(sums[a] - 1) <= allowed))
        if wrong.size or not lows[a] >= 0:
            location = (
                f" (state {wrong[0]}: {sums[a][wrong[0]]:g})" if wrong.size else ""
            )
            raise ValueError(
                f"rows of P of action {a} must be probabilities that sum to "
                f"1{location}."
            )
    if allowed > rounding_of_sums(float):  # of lower precision: sums of exactly 1
        for a in range(len(T)):
            T[a] = T[a] / sums[a][:, None]
    return T


def rounding_of_sums(dtype) -> float:
    """How far from 1 probabilities of a type may sum for their rounding."""
    single = np.issubdtype(dtype, np.floating) and np.finfo(dtype).bits < 64
    return 1e3 * float(np.finfo(dtype).eps) if single else 1e-8


def _deterministic_transitions(next_state):
    """T of a world without chance, next_state (S, A)."""
    S, A = next_state.shape
    if S == 0 or A == 0 or next_state.min() < 0 or next_state.max() >= S:
        raise ValueError(f"next states in P must be whole numbers from 0 to {S - 1}.")
    ones = np.ones(S)
    starts = np.arange(S + 1)
    return [
        sparse.csr_array((ones, next_state[:, a], starts), shape=(S, S))
        for a in range(A)
    ]


def _expected_rewards(R, T):
    """r(s, a), from rewards of states, of actions or of transitions."""
    S = T[0].shape[0]
    A = len(T)
    if isinstance(R, (list, tuple)) and len(R) and sparse.issparse(R[0]):
        if len(R) != A:
            raise ValueError(f"R has {len(R)} matrices for {A} actions.")
        pairs = zip(T, R, strict=True)
        sums = [sparse.csr_array(G).multiply(M).sum(axis=1) for M, G in pairs]
        return np.column_stack([np.asarray(s).ravel() for s in sums])
    R = np.asarray(R, dtype=float)
    if R.shape == (S,):
        return np.repeat(R[:, None], A, axis=1)
    if R.shape == (S, A):
        return R
    if R.shape == (A, S, S):
        if isinstance(T, np.ndarray):
            return np.einsum("aij,aij->ia", T, R)
        return np.column_stack([M.multiply(G).sum(axis=1) for M, G in zip(T, R)])
    raise ValueError(
        f"R must have shape ({S},), ({S}, {A}) or ({A}, {S}, {S}), got {R.shape}."
    )


def _mdp_from_table(outcomes: TransitionTable) -> MDP:
    """The MDP of a table of outcomes; those that end the episode lead nowhere."""
    S, A = outcomes.n_states, outcomes.n_actions
    row = np.repeat(np.arange(S * A), np.diff(outcomes.offset))
    p = outcomes.probability()
    r = np.bincount(row, p * outcomes.reward, minlength=S * A).reshape(S, A)
    continues = ~outcomes.terminated
    T = []
    for a in range(A):
        use = continues & (row % A == a)
        indices = (row[use] // A, outcomes.next_state[use])
        T.append(sparse.coo_array((p[use], indices), shape=(S, S)).tocsr())
    return MDP(T, r, ends=bool(outcomes.terminated.any()))


def q_from_v(model, V, gamma):
    """Q of eq. (1), one step ahead of V, in any model that `as_mdp` takes."""
    check_argument("gamma", gamma, Fraction)
    T, r, _ = as_mdp(model)
    if isinstance(T, np.ndarray):
        return r + gamma * (T @ V).T
    return r + gamma * np.column_stack([M @ V for M in T])


def greedy_policy(Q):
    """The best action of each state, the first of several."""
    return np.argmax(Q, axis=1)


def greedy_path(model, policy, start) -> tuple[list[int], bool]:
    """States met by following a policy to its most likely successors.

    The model is any that `as_mdp` takes. Stops at a state from which the episode ends
    or that only leads to itself (True), or at one that was met before, which would go
    round for ever (False).
    """
    model = as_mdp(model)
    check_index("start", start, model.n_states)
    path = [int(start)]
    seen = {int(start)}
    while True:
        row = model.T[policy[path[-1]]][[path[-1]]]
        row = np.asarray(row.todense() if sparse.issparse(row) else row).ravel()
        successor = int(np.argmax(row))
        if 1 - row.sum() > row[successor]:  # the most likely outcome is the end
            return path, True
        if successor in seen:
            return path, bool(successor == path[-1] and row[successor] >= 1 - 1e-8)
        path.append(successor)
        seen.add(successor)


def check_index(name, value, n) -> None:
    """The clear error if a number is not one of 0, ..., n - 1."""
    rule = ParameterRule(
        f"a whole number from 0 to {n - 1}",
        lambda v: isinstance(v, (int, np.integer)) and 0 <= v < n,
    )
    check_argument(name, value, Annotated[int, rule])


def bellman_residual(model, Q, gamma) -> float:
    """max |Q - (r + gamma T max Q)|: 0 for the best Q, eq. (1)."""
    Q = np.asarray(Q, float)
    return float(np.abs(Q - q_from_v(model, Q.max(axis=1), gamma)).max())


def shift_rewards(model, c) -> MDP:
    """Pay c more at every step: V rises by c / (1 - gamma), policies rank as before.

    Not so where episodes end: a longer one then collects c more often.
    """
    model = as_mdp(model)
    if model.ends:
        raise ValueError(
            "rewards of a process that ends cannot be shifted: the best policy changes."
        )
    return model._replace(r=model.r + check_argument("c", c, Number))


def discounted_return(rewards, gamma) -> float:
    """r_1 + gamma r_2 + gamma^2 r_3 + ...

    Examples
    --------
    >>> from pansophy.rl import discounted_return
    >>> round(discounted_return([1, 2, 3], 0.9), 6)
    5.23
    """
    check_argument("gamma", gamma, Fraction)
    total = 0.0
    for reward in reversed(list(rewards)):
        total = float(reward) + gamma * total
    return total


def evaluate_policy(P, policy, R=None, *, gamma, method="solve", tol=1e-10):
    """V of a policy: the solution of (I - gamma T_policy) V = r_policy.

    Parameters
    ----------
    P, R
        As for `as_mdp`.
    policy : array of shape (S,) or (S, A)
        An action for each state, or probabilities of the actions.
    gamma : float
        Discount from 0 to 1. With 1 every state must reach the end, or states that
        are never left and pay nothing: their value is 0.
    method : {"solve", "sweeps"}
        "solve" factors the system; "sweeps" repeats V <- r_policy + gamma T_policy V,
        which needs no more memory than T.
    tol : float
        Distance from the exact values at which sweeps stop; with gamma 1, the change
        of the last one.

    Examples
    --------
    >>> from pansophy.rl import evaluate_policy
    >>> evaluate_policy([[0], [0]], [0, 0], [1.0, 0.0], gamma=0.9).round(9)
    array([10., 9.])
    """
    model = as_mdp(P, R)
    S, A = model.r.shape
    check_argument("gamma", gamma, Fraction)
    check_argument("tol", tol, NonNegative)
    w = policy_weights(policy, S, A)
    r = (w * model.r).sum(axis=1)
    if isinstance(model.T, np.ndarray):
        T = np.einsum("sa,ast->st", w, model.T)
    else:
        T = sparse.csr_array((S, S))
        for a in range(A):
            T = T + sparse.diags_array(w[:, a]) @ model.T[a]
    if method == "sweeps":
        return _sweep_policy(T, r, gamma, tol)
    if method != "solve":
        raise ValueError(f"method must be 'solve' or 'sweeps', got {method!r}.")
    if gamma == 1:
        return _undiscounted_values(T, r)
    if isinstance(T, np.ndarray):
        return np.linalg.solve(np.eye(S) - gamma * T, r)
    return linalg.splu((sparse.eye_array(S) - gamma * T).tocsc()).solve(r)


def _undiscounted_values(T, r) -> np.ndarray:
    """V = r + T V without a discount; states that are never left must pay nothing.

    The system is singular on a class of states that is never left. Rounding hides that
    from a factorisation, so the classes are found by the graph of T.
    """
    T = sparse.csr_array(T)
    ending = np.asarray(T.sum(axis=1)).ravel() < 1 - 1e-12
    endless = closed_classes(T, ending) >= 0
    paying = np.flatnonzero(endless & (r != 0))
    if len(paying):
        raise ValueError(
            "the values of the policy are not finite: with gamma 1 every state must "
            f"reach the end, but state {paying[0]} pays and never does."
        )
    V = np.zeros(len(r))
    rest = np.flatnonzero(~endless)
    if len(rest):
        system = sparse.eye_array(len(rest)) - T[rest][:, rest]
        V[rest] = linalg.splu(system.tocsc()).solve(r[rest])
    return V


def closed_classes(T, ending=None) -> np.ndarray:
    """For each state the number of the class that it never leaves, -1 if there is none.

    A class is a set of states that lead to each other; one with a state that is
    `ending` is left by the end of the episode.
    """
    n, label = csgraph.connected_components(T, connection="strong")
    row, column = T.nonzero()
    left = np.zeros(n, bool)
    left[label[row[label[row] != label[column]]]] = True
    if ending is not None:
        left[label[ending]] = True
    number = np.where(left, -1, np.cumsum(~left) - 1)
    return number[label]


def policy_weights(policy, S, A) -> np.ndarray:
    """Probabilities (S, A) of a policy in either form; the clear error otherwise."""
    policy = np.asarray(policy)
    if policy.shape == (S,) and policy.dtype.kind in "iu":
        if ((policy < 0) | (policy >= A)).any():
            raise ValueError(f"a policy's actions must be from 0 to {A - 1}.")
        return np.eye(A)[policy]
    if policy.shape != (S, A):
        raise ValueError(
            f"a policy must be {S} actions or probabilities of shape {(S, A)}, got "
            f"shape {policy.shape}."
        )
    w = policy.astype(float)
    if not (w >= 0).all() or not np.allclose(w.sum(axis=1), 1):
        raise ValueError("rows of a policy must be probabilities.")
    return w


def _sweep_policy(T, r, gamma, tol):
    """V <- r + gamma T V until it is within tol of its limit."""
    V = np.zeros(len(r))
    stop = tol * (1 - gamma) / gamma if 0 < gamma < 1 else tol
    change = np.inf
    for _ in range(MOST_SWEEPS):
        W = r + gamma * (T @ V)
        change = float(np.abs(W - V).max())
        V = W
        if change <= stop:
            return V
    raise ValueError(
        f"values still change by {change:.3g} after {MOST_SWEEPS} sweeps: with gamma 1 "
        "every state must reach the end."
    )
