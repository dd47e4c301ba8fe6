"""Explaining away: causes of one effect compete once the effect is seen.

Two independent causes a and b become dependent given their common effect e, or a
descendant of it: with a fixed state of a,

    P(a),   P(a | e),   P(a | e, b = each state)                                 (1)

observing the effect raises the probability of a cause, and observing the second cause,
which accounts for the effect, lowers it again. The result has the probabilities (1) and
the d-separations of the graph.

Refs      [Pearl1988] ch. 2; [Wellman1993]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graphical.networks.d_separation import d_separated

PROBABILITY_GAP = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class ExplainingAway:
    """The probabilities of eq. (1); truthy if the other cause explains the first away.

    Attributes
    ----------
    cause, other : str
    state : label
        The state of the cause.
    prior, given_effect : float
        P(a) and P(a | e).
    given_both : dict
        P(a | e, b) by state of the other cause (nan where impossible).
    independent_before : bool
        Whether the graph separates the causes without the effect.
    connected_after : bool
        Whether it connects them given the effect.
    explained_away : bool
        Whether some state of the other cause lowers the probability that the effect
        had raised.
    """

    cause: str
    other: str
    state: Any
    effect: dict
    prior: float
    given_effect: float
    given_both: dict
    independent_before: bool
    connected_after: bool

    @property
    def explained_away(self) -> bool:
        seen = [p for p in self.given_both.values() if not np.isnan(p)]
        raised = self.given_effect > self.prior + PROBABILITY_GAP
        return raised and min(seen, default=1.0) < self.given_effect - PROBABILITY_GAP

    def __bool__(self):
        return self.explained_away

    def __repr__(self):
        effect = ", ".join(f"{k}={v!r}" for k, v in self.effect.items())
        event = f"{self.cause}={self.state!r}"
        lines = [
            f"P({event}) = {self.prior:.6f}",
            f"P({event} | {effect}) = {self.given_effect:.6f}",
        ]
        for state, p in self.given_both.items():
            lines.append(f"P({event} | {effect}, {self.other}={state!r}) = {p:.6f}")
        state_before = "independent" if self.independent_before else "connected"
        state_after = "connected" if self.connected_after else "independent"
        lines.append(
            f"by the graph the causes are {state_before} before, {state_after} after"
        )
        return "\n".join(lines)


def explaining_away(
    network, cause, other_cause, effect, *, state=None
) -> ExplainingAway:
    """Explaining away: how a second cause changes the probability of a first.

    Parameters
    ----------
    network : BayesianNetwork
    cause, other_cause : name
        Two discrete variables.
    effect : dict or name
        Observed states by name: an effect of both, or a descendant of it. A name alone
        means its last state.
    state : label, optional
        State of the cause; its last one by default.

    Examples
    --------
    >>> from pansophy.graphical import alarm_network
    >>> from pansophy.teaching import explaining_away
    >>> explaining_away(alarm_network(), "burglary", "earthquake", {"alarm": True})
    P(burglary=True) = 0.001000
    P(burglary=True | alarm=True) = 0.373551
    P(burglary=True | alarm=True, earthquake=False) = 0.484786
    P(burglary=True | alarm=True, earthquake=True) = 0.003268
    by the graph the causes are independent before, connected after
    """
    space = network.space
    i, j = space.number(cause), space.number(other_cause)
    state = space.states[i][-1] if state is None else state
    space.code(cause, state)
    if not isinstance(effect, Mapping):
        effect = {effect: space.states[space.number(effect)][-1]}
    effect = dict(effect)
    given_both = {}
    for s in space.states[j]:
        evidence = {**effect, space.names[j]: s}
        possible = network.log_prob(evidence) > -np.inf
        given_both[s] = (
            network.query(cause, evidence)[state] if possible else float("nan")
        )
    a, b = space.names[i], space.names[j]
    return ExplainingAway(
        a,
        b,
        state,
        effect,
        network.query(cause)[state],
        network.query(cause, effect)[state],
        given_both,
        bool(d_separated(network, a, b)),
        not d_separated(network, a, b, list(effect)),
    )
