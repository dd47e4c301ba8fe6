"""Partially observed Markov decision processes: models, beliefs, alpha vectors.

The state s is hidden. Action a in state s pays r(s, a), leads to s' with probability
T_a(s, s'), and then o is seen with probability Z_a(s', o). All that the past tells
about the present is the belief b, a distribution of the state. It is filtered like any
hidden chain (`core.chains.filtering`): predict with T_a, then weigh by what was seen,

    b'(s') = Z_a(s', o) sum_s b(s) T_a(s, s') / p(o | b, a)                          (1)

With k steps to go the best value is the upper envelope of linear functions of b,

    V(b) = max_i  alpha_i . b                                                        (2)

each alpha_i belonging to a plan that begins with one action: `AlphaVectors`. All
solvers of the family answer with them: exactly (`belief_value_iteration`), from below
at chosen beliefs (`point_based_value_iteration`), from above (`qmdp`,
`fast_informed_bound`).
`POMCP` searches from one belief instead. A process that ends has a state from which
every action leads to itself and pays nothing.

Shapes    T (A, S, S)   Z (A, S, O)   r (S, A)   b (S,)   alpha (n, S)
Refs      [Kaelbling1998]; [Smallwood1973] eq. (2)
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from ...core.chains.filtering import MarkovFilter
from ...params import ParameterRule, check_argument
from ..planning.mdp import MDP, as_mdp, check_index, rounding_of_sums


class POMDP(NamedTuple):
    """T, Z and r of the module text; made by `as_pomdp`."""

    T: np.ndarray  # (A, S, S)
    Z: np.ndarray  # (A, S, O), by the state after the action
    r: np.ndarray  # (S, A)
    start: np.ndarray  # (S,) the belief before anything was seen

    @property
    def n_states(self) -> int:
        return self.T.shape[1]

    @property
    def n_actions(self) -> int:
        return self.T.shape[0]

    @property
    def n_observations(self) -> int:
        return self.Z.shape[2]

    def mdp(self) -> MDP:
        """This process with its states seen."""
        return as_mdp(self.T, self.r)


def as_pomdp(T, Z, R, start=None) -> POMDP:
    """A checked POMDP from arrays.

    Parameters
    ----------
    T : array of shape (A, S, S)
        Transition probabilities.
    Z : array of shape (A, S, O) or (S, O)
        Probabilities of the observations in the state after the action; of two axes,
        the same for every action.
    R : array of shape (S,), (S, A) or (A, S, S)
        Rewards.
    start : array of shape (S,) or None
        The first belief; None: uniform.

    Examples
    --------
    >>> from pansophy.rl import as_pomdp
    >>> model = as_pomdp([[[1, 0], [0, 1]]], [[0.9, 0.1], [0.2, 0.8]], [0.0, 1.0])
    >>> model.n_states, model.n_actions, model.n_observations
    (2, 1, 2)
    """
    if isinstance(T, POMDP):
        return T
    if not np.issubdtype(np.asarray(T).dtype, np.number) or np.ndim(T) != 3:
        raise ValueError("T must be an array of numbers of shape (A, S, S).")
    model = as_mdp(T, R)
    T = model.T
    A, S, _ = T.shape
    allowed = rounding_of_sums(np.asarray(Z).dtype)
    Z = np.asarray(Z, dtype=float)
    if Z.ndim == 2:
        Z = np.repeat(Z[None], A, axis=0)
    if Z.ndim != 3 or Z.shape[:2] != (A, S) or not Z.shape[2]:
        raise ValueError(f"Z must have shape ({A}, {S}, O) or ({S}, O), got {Z.shape}.")
    sums = Z.sum(axis=2)
    wrong = np.argwhere(~((np.abs(sums - 1) <= allowed) & (Z.min(axis=2) >= 0)))
    if len(wrong):
        a, s = wrong[0]
        raise ValueError(
            f"Z of action {a} in state {s} must be probabilities that sum to 1, got "
            f"{sums[a, s]:g}."
        )
    start = np.full(S, 1 / S) if start is None else check_belief(start, S)
    if allowed > rounding_of_sums(float):  # of lower precision: sums of exactly 1
        Z = Z / sums[:, :, None]
    return POMDP(T, np.ascontiguousarray(Z), model.r, start)


def check_belief(belief, n_states):
    """A belief as an array; the clear error if it is none."""
    allowed = rounding_of_sums(np.asarray(belief).dtype)
    b = np.asarray(belief, dtype=float)
    if b.shape != (n_states,) or not (b >= 0).all() or abs(b.sum() - 1) > allowed:
        raise ValueError(f"a belief must hold {n_states} probabilities that sum to 1.")
    return b / b.sum() if allowed > rounding_of_sums(float) else b


def belief_update(model: POMDP, belief, action, observation) -> np.ndarray:
    """The belief after an action and what was seen, eq. (1).

    Raises an error if the observation is impossible.

    Examples
    --------
    >>> from pansophy.rl import belief_update, tiger_problem
    >>> tiger = tiger_problem()
    >>> once = belief_update(tiger, tiger.start, 0, 0)  # listen, hear it on the left
    >>> twice = belief_update(tiger, once, 0, 0)
    >>> once.round(6), twice.round(6)
    (array([0.85, 0.15]), array([0.969799, 0.030201]))
    """
    b = check_belief(belief, model.n_states)
    check_index("action", action, model.n_actions)
    check_index("observation", observation, model.n_observations)
    chain = _action_filter(model, action)
    updated, loglik = chain.update(chain.predict(b), observation)
    if loglik == -np.inf:
        raise ValueError(
            f"observation {observation} is impossible after action {action} with this "
            "belief: the model or the belief is wrong."
        )
    return updated


def _action_filter(model: POMDP, action) -> MarkovFilter:
    """The hidden chain of one action, a member of `core.chains.filtering`."""
    return MarkovFilter(model.T[action], lambda o: model.Z[action][:, o])


def observation_probabilities(model: POMDP, belief, action) -> np.ndarray:
    """p(o | b, a) of every observation."""
    b = check_belief(belief, model.n_states)
    check_index("action", action, model.n_actions)
    return b @ model.T[action] @ model.Z[action]


class AlphaVectors(NamedTuple):
    """A value function and policy of beliefs, eq. (2)."""

    vectors: np.ndarray  # (n, S)
    actions: np.ndarray  # (n,)

    def value(self, beliefs):
        """V of one belief (S,) or several (m, S)."""
        return (np.asarray(beliefs) @ self.vectors.T).max(axis=-1)

    def action(self, belief, rng=None) -> int:
        """The first action of the plan that is best at a belief."""
        return int(self.actions[np.argmax(self.vectors @ np.asarray(belief))])


class BeliefAgent:
    """An agent that keeps a belief and asks a policy of beliefs for its actions.

    Parameters
    ----------
    model : POMDP
    policy : object with `action(belief, rng)`
        `AlphaVectors`, `POMCP`, or your own.

    Examples
    --------
    >>> from pansophy.rl import BeliefAgent, qmdp, rollout, tiger_problem
    >>> from pansophy.rl.envs import Tiger
    >>> agent = BeliefAgent(tiger_problem(), qmdp(tiger_problem(), gamma=0.95))
    >>> rollout(Tiger(max_steps=50), agent, n_episodes=1, random_state=0).lengths
    array([50])
    """

    def __init__(self, model: POMDP, policy: Any):
        self.model = model
        self.policy = policy
        self.belief = model.start
        self.last = None

    def begin(self, observation):
        """Forget: the belief is that before anything was seen."""
        self.belief = self.model.start
        self.last = None

    def act(self, observation, rng) -> int:
        if self.last is not None:
            self.belief = belief_update(self.model, self.belief, self.last, observation)
        self.last = self.policy.action(self.belief, rng)
        return self.last

    def update(self, transition) -> None:
        """A planner learns nothing."""


def tiger_problem(accuracy=0.85) -> POMDP:
    """The tiger problem: behind which of two doors is it?

    Actions: 0 listens (costs 1) and hears the right side with probability `accuracy`;
    1 opens the left door, 2 the right one. The tiger costs 100, the other door pays 10,
    and then the tiger is put behind a door at random. States and observations: 0 left,
    1 right.
    """
    rule = ParameterRule("a number from 0.5 to 1", lambda v: 0.5 <= v <= 1)
    check_argument("accuracy", accuracy, Annotated[float, rule])
    listen = np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy]])
    half = np.full((2, 2), 0.5)
    R = np.array([[-1.0, -100.0, 10.0], [-1.0, 10.0, -100.0]])
    return as_pomdp([np.eye(2), half, half], [listen, half, half], R)
