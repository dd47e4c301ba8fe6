"""Expert systems: a network from rules that a person writes down.

    "fever | flu": 0.9            P(fever | flu) where flu is true
    "fever": 0.05                 otherwise (a rule with fewer conditions)
    "grade=A | easy, not tired": 0.7

Each configuration of the parents (all variables that rules about a head mention)
takes the rule with most conditions that hold in it. Or, with combine="noisy_or",
every rule that holds is a cause which by itself fails with probability 1 - p, and a
rule without conditions is a leak:

    P(head false | u) = prod_{rules that hold in u} (1 - p)                      (1)

Refs      [Pearl1988] ch. 4
"""

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .bayesian_network import BayesianNetwork

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
    """A network from rules.

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
    >>> from pansophy.graphical import from_rules
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
    parsed = [parse_rule(text, prob, known) for text, prob in rules.items()]
    heads: dict[str, list[ProbabilityRule]] = {}
    for rule in parsed:
        heads.setdefault(rule.head, []).append(rule)
    own = lambda name: known.get(name, TRUTH_VALUES)
    for rule in parsed:
        for name in rule.conditions:
            if name not in heads:
                raise ValueError(
                    f"{name!r} in rule {rule.text!r} has no rule of its own."
                )
    tables = {}
    for head, mine in heads.items():
        above = list(dict.fromkeys(name for r in mine for name in r.conditions))
        make = most_specific_table if combine == "specific" else noisy_or_table
        key = f"{head} | {', '.join(above)}" if above else head
        tables[key] = make(head, mine, above, own)
    return BayesianNetwork.from_tables(tables, {h: own(h) for h in heads}, **params)


def parse_rule(text, prob, known) -> ProbabilityRule:
    """One rule, checked."""
    left, _, right = str(text).partition("|")
    head, state = parse_term(left, known, text)
    pieces = [p for p in re.split(r",|\band\b", right) if p.strip()]
    terms = [parse_term(p, known, text) for p in pieces]
    conditions = dict(terms)
    if any(conditions[name] != state for name, state in terms):
        raise ValueError(f"rule {text!r} asks for two states of one variable.")
    if not isinstance(prob, (int, float)) or not 0 <= prob <= 1:
        raise ValueError(
            f"rule {text!r} needs a probability from 0 to 1, got {prob!r}."
        )
    return ProbabilityRule(head, state, conditions, float(prob), str(text))


def parse_term(text, known, rule):
    """ "a", "not a" or "a=state" as a name and a state."""
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


def parent_configurations(above, own):
    """Index and states of every configuration of the parents."""
    sizes = [len(own(name)) for name in above]
    for flat in range(math.prod(sizes)):
        at = tuple(int(k) for k in np.unravel_index(flat, sizes)) if sizes else ()
        yield at, {n: own(n)[k] for n, k in zip(above, at, strict=True)}


def most_specific_table(head, rules, above, own):
    """The table of a head where the rule with most conditions wins."""
    labels = own(head)
    table = np.full([*(len(own(n)) for n in above), len(labels)], np.nan)
    for at, u in parent_configurations(above, own):
        told = ", ".join(f"{n}={s!r}" for n, s in u.items()) or "no conditions"
        for k, state in enumerate(labels):
            mine = [r for r in rules if r.state == state and rule_holds(r, u)]
            if not mine:
                continue
            most = max(len(r.conditions) for r in mine)
            best = {r.prob for r in mine if len(r.conditions) == most}
            if len(best) > 1:
                raise ValueError(f"rules about {head!r} disagree where {told}.")
            table[(*at, k)] = best.pop()
        row = table[at]
        open_ = np.isnan(row)
        if open_.all() or open_.sum() > 1:
            raise ValueError(f"no rule says what {head!r} is where {told}.")
        row[open_] = 1 - np.nansum(row)
    return table


def noisy_or_table(head, rules, above, own):
    """The table of a head by eq. (1)."""
    if own(head) != TRUTH_VALUES or any(r.state is not True for r in rules):
        raise ValueError(f"noisy_or needs rules that make {head!r} true.")
    table = np.empty([*(len(own(n)) for n in above), 2])
    for at, u in parent_configurations(above, own):
        fails = math.prod(1 - r.prob for r in rules if rule_holds(r, u))
        table[at] = fails, 1 - fails
    return table


def rule_holds(rule, u) -> bool:
    return all(u[name] == state for name, state in rule.conditions.items())
