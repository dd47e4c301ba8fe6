"""Networks written down by hand: tables by name, read and checked.

A key "C | A, B" holds P(C | A, B) with axes A, B, C, its last axis summing to 1. A
compact table leaves out the last state, which is what the others lack to 1: the own
axis is one shorter, or absent if C has two states. A node that is not a table is a
`LinearGaussian` or `ConditionalLinear`.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..distributions.tables import split_key
from ..graphs.directed import topological_order
from .variables import VariableSpace, check_states, suggest_name
from .conditional_distributions import ConditionalLinearGaussian, LinearGaussian, Node, ConditionalTable, as_conditional

PROBABILITY_TOL = 1e-6  # how far from 1 the sum of a row may be


class NetworkDefinition(NamedTuple):
    """A checked network: names and states, parents, nodes."""

    space: VariableSpace
    parents: tuple[tuple[int, ...], ...]
    nodes: tuple[Node, ...]


def parse_definition(tables: Mapping[str, Any], states=None) -> NetworkDefinition:
    """A network from tables by name; see the module text."""
    parsed = {}
    for key, value in tables.items():
        own, given = split_key(str(key))
        if own in parsed:
            raise ValueError(f"{own!r} has two tables.")
        if len(set(given)) < len(given):
            raise ValueError(f"{own!r} has the same parent twice: {key!r}.")
        parsed[own] = given, value
    names = tuple(parsed)
    place = {v: i for i, v in enumerate(names)}
    for own, (given, _) in parsed.items():
        for g in given:
            if g not in place:
                hint = suggest_name(g, names, "variables")
                raise ValueError(f"parent {g!r} of {own!r} has no table{hint}.")
    parents = tuple(tuple(place[g] for g in given) for given, _ in parsed.values())
    order = topological_order(parents, names)
    for v in states or {}:
        if v not in place:
            hint = suggest_name(v, names, "variables")
            raise ValueError(f"states names {v!r}, which has no table{hint}.")
    labels: list[tuple] = [()] * len(names)
    nodes: list[Any] = [None] * len(names)
    for i in order:
        told = (states or {}).get(names[i])
        told = None if told is None else check_states(told, names[i])
        above = [len(labels[p]) for p in parents[i]]
        value = parsed[names[i]][1]
        given = [names[p] for p in parents[i]]
        if isinstance(value, (LinearGaussian, ConditionalLinearGaussian)):
            nodes[i] = check_gaussian_node(value, names[i], given, above)
            continue
        value = value.prob if isinstance(value, ConditionalTable) else value
        nodes[i], labels[i] = complete_table(value, names[i], given, above, told)
    space = VariableSpace(names, tuple(labels))
    for i, node in enumerate(nodes):
        if isinstance(node, ConditionalTable):
            check_probability_rows(node.prob, i, parents, space)
    return NetworkDefinition(space, parents, tuple(nodes))


def check_network_parts(space: VariableSpace, parents, nodes) -> NetworkDefinition:
    """A network of parts made elsewhere, if they fit; the loops rely on it."""
    names, known = space.names, set(range(len(space.names)))
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(f"two variables are called {name!r}: rename one of them.")
    parents = tuple(tuple(int(p) for p in above) for above in parents)
    nodes = tuple(as_conditional(value) for value in nodes)
    whole = len(names) == len(parents) == len(nodes)
    if not whole or not all(known.issuperset(above) for above in parents):
        raise ValueError(
            f"{len(names)} variables need as many tuples of parents, by number, and as "
            f"many nodes, got {len(parents)} and {len(nodes)}."
        )
    topological_order(parents, names)
    for i, node in enumerate(nodes):
        above = [space.sizes[p] for p in parents[i]]
        given = [names[p] for p in parents[i]]
        if space.is_discrete(i):
            value = node.prob if isinstance(node, ConditionalTable) else node
            complete_table(value, names[i], given, above, space.states[i], compact=False)
            check_probability_rows(value, i, parents, space)
        else:
            check_gaussian_node(node, names[i], given, above)
    return NetworkDefinition(space, parents, nodes)


def complete_table(value, name, given, above, told, *, compact=True):
    """A table with its own axis completed, and the states of the variable."""
    if 0 in above:
        continuous = given[above.index(0)]
        raise ValueError(
            f"discrete {name!r} cannot have the continuous parent {continuous!r}."
        )
    try:
        prob = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"the table of {name!r} must be an array of numbers, got {value!r}."
        ) from None
    if compact and prob.ndim == len(above):  # with two states
        prob = prob[..., None]
        size = 2 if told is None else len(told)
    else:
        size = prob.shape[-1] if told is None and prob.ndim else len(told or ())
    if compact and prob.shape == (*above, size - 1):
        prob = np.concatenate([prob, 1 - prob.sum(axis=-1, keepdims=True)], axis=-1)
    if prob.shape != (*above, size):
        shown = f"{name!r} given {', '.join(map(repr, given))}" if given else repr(name)
        raise ValueError(
            f"the table of {shown} needs shape {(*above, size)}, got {np.shape(value)}."
        )
    return ConditionalTable(prob), tuple(range(size)) if told is None else told


def check_probability_rows(prob, i, parents, space: VariableSpace) -> None:
    """Raise a sentence about the first row that is no distribution."""
    name, above = space.names[i], parents[i]
    total = prob.sum(axis=-1)
    bad = ~(np.abs(total - 1) <= PROBABILITY_TOL) | ~(prob >= -PROBABILITY_TOL).all(axis=-1)
    if not bad.any():
        return
    at = tuple(int(k[0]) for k in np.nonzero(np.atleast_1d(bad)))[: len(above)]
    row = ", ".join(
        f"{space.names[p]}={space.states[p][c]!r}"
        for p, c in zip(above, at, strict=True)
    )
    where = f" in row {row}" if row else ""
    if (prob[at] < -PROBABILITY_TOL).any():
        raise ValueError(f"the table of {name!r} has a negative probability{where}.")
    raise ValueError(f"the table of {name!r} sums to {total[at]:.6g}{where}, not to 1.")


def check_gaussian_node(node, name, given, above):
    """A continuous node whose shape fits its parents."""
    if not isinstance(node, (LinearGaussian, ConditionalLinearGaussian)):
        raise ValueError(
            f"{name!r} has no states and needs a LinearGaussian or ConditionalLinear, "
            f"got a {type(node).__name__}."
        )
    places = tuple(j for j, r in enumerate(above) if r > 0)
    if isinstance(node, LinearGaussian):
        if places:
            raise ValueError(
                f"{name!r} has the discrete parent {given[places[0]]!r}: it needs a "
                "ConditionalLinear."
            )
        fits = len(node.coef) == len(above)
        variance = np.asarray(node.variance)
    else:
        sizes = tuple(above[j] for j in places)
        wide = len(above) - len(places)
        fits = node.discrete == places and node.coef.shape == (*sizes, wide)
        variance = node.variance
    if not fits:
        raise ValueError(
            f"the node of {name!r} does not fit its {len(above)} parents: a "
            "coefficient for each continuous one, an axis for each discrete one."
        )
    if not (variance >= 0).all():
        raise ValueError(f"the variance of {name!r} is negative.")
    return node


def table_key(i, parents, space: VariableSpace) -> str:
    """ "C | A, B" for node i."""
    given = ", ".join(str(space.names[p]) for p in parents[i])
    return f"{space.names[i]} | {given}" if given else str(space.names[i])


def format_table(prob, i, parents, space: VariableSpace, limit: int = 24) -> str:
    """A table as lines of text, a row for each configuration of the parents."""
    above = parents[i]
    head = "  ".join(f"{s!s:>8}" for s in space.states[i])
    rows = math.prod(prob.shape[:-1])
    lines = [table_key(i, parents, space), f"  {'':<20} {head}"]
    for z in range(min(rows, limit)):
        at = np.unravel_index(z, prob.shape[:-1]) if above else ()
        row = ", ".join(str(space.states[p][c]) for p, c in zip(above, at, strict=True))
        lines.append(f"  {row:<20} " + "  ".join(f"{p:8.4f}" for p in prob[at]))
    return "\n".join([*lines, "  ..."] if rows > limit else lines)


def describe_network(model) -> str:
    """Every node of a network as lines of text."""
    told = []
    for i, node in enumerate(model.nodes):
        if isinstance(node, ConditionalTable):
            told.append(format_table(node.prob, i, model.parents, model.space))
        else:
            told.append(f"{table_key(i, model.parents, model.space)}: {node}")
    return "\n".join(told)
