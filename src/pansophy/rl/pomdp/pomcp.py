"""POMCP: Monte Carlo tree search from one belief.

A simulation draws a state from the belief and plays on. A node of the tree is a history
of actions and observations; it knows for every action a how often it was taken, N(a),
and the mean return Q(a) of the simulations that took it. In the tree the action is

    argmax_a  Q(a) + c sqrt( log N / N(a) ),     N = sum_a N(a),                   (1)

untried ones first. The first new history becomes a node, and a simple policy tells what
follows it. "qmdp" plays argmax_a sum_s b(s) Q(s, a) to the end, with Q of the process
whose state is seen (`qmdp.py`) and b filtered on the way: it acts on what was observed,
and costs O(S^2) a step. "blind" is the best of the policies that take one action for
ever, whose value in each state is known from a linear solve; "random" plays random
actions. Returns are discounted and cut off where gamma^depth falls below `precision`.

The method as published takes for Q(a) the mean return of the simulations,

    Q(a) = mean of  r + gamma (r' + gamma (r'' + ...)),                            (2)

which counts all that was tried on the way: where a mistake is dear, as with the tiger,
it stays far below the value of acting well. The default goes by the tree instead. With
V(h) of a node the Q of its most visited action, and n_o simulations seeing o after a,

    Q(a) = mean of r + gamma sum_o n_o V(h a o) / N(a).                            (3)

Both tend to the best values as simulations grow, with "blind" and "random" at a cost
that does not depend on the number of states.

With "qmdp" every node has its exact belief, and the reward of an action there is sum_s
b(s) r(s, a) instead of what the drawn state pays: the same mean without its noise.

The tree is a set of arrays: child nodes by node, action and observation, counts and
means by node and action. After each real step the belief is filtered exactly
(`pomdp.py`, eq. 1), so particles cannot run out; a new tree is grown for each decision.

Refs      [Silver2010]; [Kocsis2006] eq. (1)
"""

from typing import NamedTuple

import numpy as np

from ...core.random import make_rng
from ...params import Count, NonNegative, OpenFraction, check_argument
from . import _pomcp as loops
from .point_based import blind_policies
from .pomdp import POMDP, check_belief
from .qmdp import check_discount, qmdp


class TreeSearchResult(NamedTuple):
    """Result of a search: values and visits of the actions at a belief."""

    values: np.ndarray  # (A,) mean returns
    visits: np.ndarray  # (A,)
    n_nodes: int


class POMCP:
    """A policy of beliefs by tree search; `BeliefAgent` plays it.

    Parameters
    ----------
    model : POMDP
    gamma : float
        Discount below 1.
    n_simulations : int
        Simulations for each decision.
    exploration : float or None
        c of eq. (1); None: the range of the rewards.
    rollout : {"qmdp", "blind", "random"}
        What follows a new history; see the module text.
    backup : {"best", "mean"}
        Eq. (3) or eq. (2).
    precision : float
        A simulation ends where gamma^depth falls below this.

    Examples
    --------
    >>> from pansophy.rl import POMCP, tiger_problem
    >>> search = POMCP(tiger_problem(), gamma=0.95, n_simulations=20_000)
    >>> search.action([0.5, 0.5], 0), search.action([0.97, 0.03], 0)  # listen; open
    (0, 2)
    """

    def __init__(
        self,
        model: POMDP,
        gamma=0.95,
        *,
        n_simulations=1000,
        exploration=None,
        rollout="qmdp",
        backup="best",
        precision=0.01,
    ):
        check_discount(gamma)
        check_argument("n_simulations", n_simulations, Count)
        check_argument("precision", precision, OpenFraction)
        if exploration is None:
            exploration = float(np.ptp(model.r))
        check_argument("exploration", exploration, NonNegative)
        if rollout not in ("qmdp", "blind", "random"):
            raise ValueError(
                f"rollout must be 'qmdp', 'blind' or 'random', got {rollout!r}."
            )
        if backup not in ("best", "mean"):
            raise ValueError(f"backup must be 'best' or 'mean', got {backup!r}.")
        self.model = model
        self.backup = backup
        self.gamma = float(gamma)
        self.blind = blind_policies(model, gamma) if rollout == "blind" else None
        self.n_simulations = int(n_simulations)
        self.exploration = float(exploration)
        depth = np.log(precision) / np.log(gamma) if gamma > 0 else 1
        self.max_depth = max(1, int(np.ceil(depth)))
        vectors = np.empty((0, model.n_states))
        if rollout == "qmdp":
            vectors = qmdp(model, gamma).vectors
        self.tables = loops.SearchModel(
            cumulative_rows(model.T),
            cumulative_rows(model.Z),
            np.ascontiguousarray(model.r, float),
            self.gamma,
            np.ascontiguousarray(model.T, float),
            np.ascontiguousarray(model.Z, float),
            np.ascontiguousarray(vectors),
        )

    def search(self, belief, random_state=None) -> TreeSearchResult:
        """Simulate from a belief; values and visits of the actions there."""
        belief = check_belief(belief, self.model.n_states)
        rng = make_rng(random_state)
        A, O = self.model.n_actions, self.model.n_observations  # noqa: E741
        n = self.n_simulations + 1  # each simulation adds at most one node
        tree = loops.SearchTree(
            np.zeros((n, A, O), np.int32),
            np.zeros((n, A), np.int64),
            np.zeros((n, A)),
            np.zeros((n, A)),
            np.zeros((n, A)),
            np.zeros(n, np.int64),
            np.zeros(n),
            np.zeros((n if len(self.tables.vectors) else 0, self.model.n_states)),
        )
        tree.belief[:1] = belief
        stream = rng.integers(2**64, size=1, dtype=np.uint64)
        limits = loops.SearchLimits(
            self.n_simulations,
            self.max_depth,
            self.exploration,
            self.backup == "mean",
        )
        leaf = np.empty(0)  # the rollout is played
        if self.blind is not None:
            leaf = self.blind.vectors[np.argmax(self.blind.vectors @ belief)]
        nodes = loops.grow_search_tree(
            self.tables, tree, cumulative_rows(belief), leaf, stream, limits
        )
        return TreeSearchResult(
            tree.values[0].copy(), tree.visits[0].copy(), int(nodes)
        )

    def action(self, belief, rng=None) -> int:
        """The action of the greatest mean return."""
        search_result = self.search(belief, rng)
        return int(
            np.argmax(np.where(search_result.visits > 0, search_result.values, -np.inf))
        )


def cumulative_rows(p):
    """Cumulative probabilities along the last axis, the last one exactly 1."""
    total = np.cumsum(p, axis=-1)
    total /= total[..., -1:]
    return total
