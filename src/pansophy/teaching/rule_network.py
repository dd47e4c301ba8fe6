"""Bayesian networks from probability rules, as in expert systems.

    "fever | flu": 0.9            P(fever | flu) where flu is true
    "fever": 0.05                 otherwise (a rule with fewer conditions)
    "grade=A | easy, not tired": 0.7

The parents of a head are all variables in the conditions of its rules. Each of their
configurations uses the rule with most conditions among those that hold. Or, with
combine="noisy_or", every rule that holds is a cause which by itself fails with
probability 1 - p, and a rule without conditions is a leak:

    P(head false | u) = prod_{rules that hold in u} (1 - p)                      (1)

Refs      [Pearl1988] ch. 4
"""

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..graphical.networks.bayesian_network import BayesianNetwork

TRUTH_VALUES = (False, True)


class ProbabilityRule(NamedTuple):
    """P(head = state | conditions) = prob."""

    head: str
    state: Any
    conditions: dict
    prob: float
    text: str


def from_rules(
    rules: Mapping[str, float], states=None, *, combine="specific", **params
) -> BayesianNetwork:
    """A Bayesian network from probability rules.

    Parameters
    ----------
    rules : dict
        Probabilities by rule: "head", "head | cause, not other", or with states
        "grade=A | course=easy". Variables without `states` are False or True.
    states : dict, optional
        States by name, for variables with others than False and True.
    combine : {"specific", "noisy_or"}, default="specific"
        The rule with most conditions wins, or eq. (1).
    **params
        Of `BayesianNetwork`.

    Examples
    --------
    >>> from pansophy.teaching import from_rules
    >>> network = from_rules(
    ...     {"flu": 0.1, "cold": 0.2, "fever | flu": 0.9, "fever | cold": 0.3},
    ...     combine="noisy_or",
    ... )
    >>> round(network.query("flu", {"fever": True})[True], 4)  # diagnosis
    0.6266
    >>> round(network.query("fever", {"flu": True})[True], 4)  # prediction
    0.906
    """
    if combine not in ("specific", "noisy_or"):
        raise ValueError(f"combine must be 'specific' or 'noisy_or', got {combine!r}.")
    known = {name: tuple(s) for name, s in (states or {}).items()}
    parsed = [_parse_rule(text, prob, known) for text, prob in rules.items()]
    heads: dict[str, list[ProbabilityRule]] = {}
    for rule in parsed:
        heads.setdefault(rule.head, []).append(rule)
    states_of = lambda name: known.get(name, TRUTH_VALUES)
    for rule in parsed:
        for name in rule.conditions:
            if name not in heads:
                raise ValueError(
                    f"{name!r} in rule {rule.text!r} has no rule of its own."
                )
    tables = {}
    for head, head_rules in heads.items():
        parents = list(dict.fromkeys(name for r in head_rules for name in r.conditions))
        make_table = _most_specific_table if combine == "specific" else _noisy_or_table
        key = f"{head} | {', '.join(parents)}" if parents else head
        tables[key] = make_table(head, head_rules, parents, states_of)
    return BayesianNetwork.from_tables(
        tables, {h: states_of(h) for h in heads}, **params
    )


def _parse_rule(text, prob, known) -> ProbabilityRule:
    """Parse and check one rule."""
    left, _, right = str(text).partition("|")
    head, state = _parse_term(left, known, text)
    pieces = [p for p in re.split(r",|\band\b", right) if p.strip()]
    terms = [_parse_term(p, known, text) for p in pieces]
    conditions = dict(terms)
    if any(conditions[name] != state for name, state in terms):
        raise ValueError(f"rule {text!r} asks for two states of one variable.")
    if not isinstance(prob, (int, float)) or not 0 <= prob <= 1:
        raise ValueError(
            f"rule {text!r} needs a probability from 0 to 1, got {prob!r}."
        )
    return ProbabilityRule(head, state, conditions, float(prob), str(text))


def _parse_term(text, known, rule):
    """Parse "a", "not a" or "a=state" into a name and a state."""
    name, _, label = text.partition("=")
    name = name.strip()
    negated = name.startswith("not ")
    name = name.removeprefix("not ").strip()
    if not name or (negated and label):
        raise ValueError(f"rule {rule!r} cannot be read at {text.strip()!r}.")
    if not label:
        if name in known and known[name] != TRUTH_VALUES:
            raise ValueError(
                f"rule {rule!r} must say which state of {name!r} it means."
            )
        return name, not negated
    by_text = {str(s): s for s in known.get(name, TRUTH_VALUES)}
    if label.strip() not in by_text:
        listed = ", ".join(by_text)
        raise ValueError(f"rule {rule!r}: {name!r} has the states {listed}.")
    return name, by_text[label.strip()]


def _parent_configurations(parents, states_of):
    """Index and states of every configuration of the parents."""
    sizes = [len(states_of(name)) for name in parents]
    for flat in range(math.prod(sizes)):
        configuration = (
            tuple(int(k) for k in np.unravel_index(flat, sizes)) if sizes else ()
        )
        yield (
            configuration,
            {n: states_of(n)[k] for n, k in zip(parents, configuration, strict=True)},
        )


def _most_specific_table(head, rules, parents, states_of):
    """The table of a head by the rule with most conditions for each configuration."""
    labels = states_of(head)
    table = np.full([*(len(states_of(n)) for n in parents), len(labels)], np.nan)
    for flat_index, u in _parent_configurations(parents, states_of):
        configuration = ", ".join(f"{n}={s!r}" for n, s in u.items()) or "no conditions"
        for k, state in enumerate(labels):
            matching = [r for r in rules if r.state == state and _rule_holds(r, u)]
            if not matching:
                continue
            n_conditions = max(len(r.conditions) for r in matching)
            probs = {r.prob for r in matching if len(r.conditions) == n_conditions}
            if len(probs) > 1:
                raise ValueError(
                    f"rules about {head!r} disagree where {configuration}."
                )
            table[(*flat_index, k)] = probs.pop()
        row = table[flat_index]
        unknown = np.isnan(row)
        if unknown.all() or unknown.sum() > 1:
            raise ValueError(f"no rule says what {head!r} is where {configuration}.")
        row[unknown] = 1 - np.nansum(row)
    return table


def _noisy_or_table(head, rules, parents, states_of):
    """The table of a head by noisy-or, eq. (1)."""
    if states_of(head) != TRUTH_VALUES or any(r.state is not True for r in rules):
        raise ValueError(f"noisy_or needs rules that make {head!r} true.")
    table = np.empty([*(len(states_of(n)) for n in parents), 2])
    for configuration, u in _parent_configurations(parents, states_of):
        fails = math.prod(1 - r.prob for r in rules if _rule_holds(r, u))
        table[configuration] = fails, 1 - fails
    return table


def _rule_holds(rule, u) -> bool:
    """Whether the conditions of a rule hold in a configuration u."""
    return all(u[name] == state for name, state in rule.conditions.items())
