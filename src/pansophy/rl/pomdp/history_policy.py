"""History policies: an action for every sequence of observations.

A policy need not know of beliefs: a table from all that was seen, o_1, ..., o_t, to the
next action will do, since the actions in between follow from the table itself. The
best such table for H steps comes from the alpha vectors for 1, ..., H steps to go
(`belief_value_iteration`): walk along every sequence that can occur and take the action
that is best at its belief. It has

    1 + O + O^2 + ... + O^(H-1)                                                      (1)

entries, which is why beliefs are used instead.
"""

import itertools

import numpy as np

from .belief_value_iteration import finite_horizon_vectors
from .pomdp import POMDP, belief_update, observation_probabilities


class HistoryPolicy:
    """An agent that acts by a table of what was seen.

    Parameters
    ----------
    table : dict
        From tuples of observations, the first after the first action, to actions. A
        sequence that is not in it goes by its longest end that is.

    Examples
    --------
    >>> from pansophy.rl import HistoryPolicy, tiger_problem
    >>> policy = HistoryPolicy.solve(tiger_problem(), horizon=3)
    >>> policy.table[()], policy.table[(0, 0)], len(policy.table)
    (0, 2, 7)
    """

    def __init__(self, table):
        if () not in table:
            raise ValueError("the table needs an action for the empty history ().")
        self.table = dict(table)
        self.seen: list[int] | None = None

    @classmethod
    def solve(cls, model: POMDP, horizon, *, gamma=1.0) -> "HistoryPolicy":
        """The best table for `horizon` steps from the first belief."""
        vectors = finite_horizon_vectors(model, horizon, gamma=gamma)
        table: dict[tuple[int, ...], int] = {}
        level = {(): model.start}
        for left in range(horizon, 0, -1):
            next_level = {}
            for history, belief in level.items():
                a = vectors[left - 1].action(belief)
                table[history] = a
                p = observation_probabilities(model, belief, a)
                for o in np.flatnonzero(p > 0).tolist():
                    next_level[(*history, o)] = belief_update(model, belief, a, o)
            level = next_level
        return cls(table)

    @staticmethod
    def size(n_observations, horizon) -> int:
        """Entries of a full table, eq. (1)."""
        return sum(n_observations**t for t in range(horizon))

    def value(self, model: POMDP, *, gamma=1.0) -> float:
        """Expected return of the table from the first belief until its histories end.

        The sum over all histories of their probability times the reward.
        """
        level = {(): (1.0, model.start)}
        total = 0.0
        for t in itertools.count():
            next_level = {}
            for history, (p, belief) in level.items():
                if history not in self.table:
                    continue
                a = self.table[history]
                total += gamma**t * p * float(belief @ model.r[:, a])
                seen = observation_probabilities(model, belief, a)
                for o in np.flatnonzero(seen > 0).tolist():
                    b = belief_update(model, belief, a, o)
                    next_level[(*history, o)] = p * seen[o], b
            if not next_level:
                return total
            level = next_level
        raise AssertionError  # not reached

    def begin(self, observation):
        self.seen = None

    def act(self, observation, rng) -> int:
        # the observation of a reset is no part of the history
        self.seen = [] if self.seen is None else [*self.seen, int(observation)]
        history = tuple(self.seen)
        while history not in self.table:
            history = history[1:]
        return self.table[history]

    def update(self, transition) -> None:
        """A policy stays as it is."""
