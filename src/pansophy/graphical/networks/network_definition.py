"""Definition of a Bayesian network by named tables: parsing, checking and printing.

A key "C | A, B" holds P(C | A, B) with axes A, B, C, whose last axis sums to 1. A
compact table leaves out the last state: the own axis is one shorter, or absent if C has
two states. A continuous node is a `LinearGaussian` or `ConditionalLinearGaussian`.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...distributions.joint_table import split_key
from ...graphs.directed import topological_order
from .conditional_distributions import (
    ConditionalLinearGaussian,
    ConditionalTable,
    LinearGaussian,
    Node,
    as_conditional,
)
from .variables import VariableSpace, check_states, suggest_name

PROBABILITY_TOL = 1e-6  # allowed deviation of the sum of a row from 1


class NetworkDefinition(NamedTuple):
    """The parts of a checked network: variables, parents and nodes."""

    space: VariableSpace
    parents: tuple[tuple[int, ...], ...]
    nodes: tuple[Node, ...]


def parse_definition(tables: Mapping[str, Any], states=None) -> NetworkDefinition:
    """The parts of a network from tables by name; see the module text."""
    parsed = {}
    for key, value in tables.items():
        node_name, parent_names = split_key(str(key))
        if node_name in parsed:
            raise ValueError(f"{node_name!r} has two tables.")
        if len(set(parent_names)) < len(parent_names):
            raise ValueError(f"{node_name!r} has the same parent twice: {key!r}.")
        parsed[node_name] = parent_names, value
    names = tuple(parsed)
    number = {v: i for i, v in enumerate(names)}
    for node_name, (parent_names, _) in parsed.items():
        for g in parent_names:
            if g not in number:
                hint = suggest_name(g, names, "variables")
                raise ValueError(f"parent {g!r} of {node_name!r} has no table{hint}.")
    parents = tuple(
        tuple(number[g] for g in parent_names) for parent_names, _ in parsed.values()
    )
    order = topological_order(parents, names)
    for v in states or {}:
        if v not in number:
            hint = suggest_name(v, names, "variables")
            raise ValueError(f"states names {v!r}, which has no table{hint}.")
    labels: list[tuple] = [()] * len(names)
    nodes: list[Any] = [None] * len(names)
    for i in order:
        own_states = (states or {}).get(names[i])
        own_states = None if own_states is None else check_states(own_states, names[i])
        parent_sizes = [len(labels[p]) for p in parents[i]]
        value = parsed[names[i]][1]
        parent_names = [names[p] for p in parents[i]]
        if isinstance(value, (LinearGaussian, ConditionalLinearGaussian)):
            nodes[i] = _check_gaussian_node(value, names[i], parent_names, parent_sizes)
            continue
        value = value.prob if isinstance(value, ConditionalTable) else value
        nodes[i], labels[i] = _complete_table(
            value, names[i], parent_names, parent_sizes, own_states
        )
    space = VariableSpace(names, tuple(labels))
    for i, node in enumerate(nodes):
        if isinstance(node, ConditionalTable):
            _check_probability_rows(node.prob, i, parents, space)
    return NetworkDefinition(space, parents, tuple(nodes))


def check_network_parts(space: VariableSpace, parents, nodes) -> NetworkDefinition:
    """The parts of a network if they fit together; the compiled loops rely on it."""
    names = space.names
    numbers = set(range(len(space.names)))
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(f"two variables are called {name!r}: rename one of them.")
    parents = tuple(tuple(int(p) for p in parent_sizes) for parent_sizes in parents)
    nodes = tuple(as_conditional(value) for value in nodes)
    complete = len(names) == len(parents) == len(nodes)
    if not complete or not all(
        numbers.issuperset(parent_sizes) for parent_sizes in parents
    ):
        raise ValueError(
            f"{len(names)} variables need as many tuples of parents, by number, and as "
            f"many nodes, got {len(parents)} and {len(nodes)}."
        )
    topological_order(parents, names)
    for i, node in enumerate(nodes):
        parent_sizes = [space.sizes[p] for p in parents[i]]
        parent_names = [names[p] for p in parents[i]]
        if space.is_discrete(i):
            value = node.prob if isinstance(node, ConditionalTable) else node
            _complete_table(
                value,
                names[i],
                parent_names,
                parent_sizes,
                space.states[i],
                compact=False,
            )
            _check_probability_rows(value, i, parents, space)
        else:
            _check_gaussian_node(node, names[i], parent_names, parent_sizes)
    return NetworkDefinition(space, parents, nodes)


def _complete_table(value, name, parent_names, parent_sizes, states, *, compact=True):
    """A table with the last state filled in, and the states of the variable."""
    if 0 in parent_sizes:
        continuous = parent_names[parent_sizes.index(0)]
        raise ValueError(
            f"discrete {name!r} cannot have the continuous parent {continuous!r}."
        )
    try:
        prob = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"the table of {name!r} must be an array of numbers, got {value!r}."
        ) from None
    if compact and prob.ndim == len(parent_sizes):  # with two states
        prob = prob[..., None]
        size = 2 if states is None else len(states)
    else:
        size = prob.shape[-1] if states is None and prob.ndim else len(states or ())
        if compact and size == 1 and states is None and not (prob == 1).all():
            size = 2  # a column without that of the second state
    if compact and prob.shape == (*parent_sizes, size - 1):
        prob = np.concatenate([prob, 1 - prob.sum(axis=-1, keepdims=True)], axis=-1)
    if prob.shape != (*parent_sizes, size):
        shown = (
            f"{name!r} given {', '.join(map(repr, parent_names))}"
            if parent_names
            else repr(name)
        )
        raise ValueError(
            f"the table of {shown} needs shape {(*parent_sizes, size)}, got "
            f"{np.shape(value)}."
        )
    return ConditionalTable(prob), tuple(range(size)) if states is None else states


def _check_probability_rows(prob, i, parents, space: VariableSpace) -> None:
    """Raise an error about the first row that is not a distribution."""
    name, node_parents = space.names[i], parents[i]
    total = prob.sum(axis=-1)
    invalid = ~(np.abs(total - 1) <= PROBABILITY_TOL) | ~(prob >= -PROBABILITY_TOL).all(
        axis=-1
    )
    if not invalid.any():
        return
    bad_row = tuple(int(k[0]) for k in np.nonzero(np.atleast_1d(invalid)))[
        : len(node_parents)
    ]
    configuration = ", ".join(
        f"{space.names[p]}={space.states[p][c]!r}"
        for p, c in zip(node_parents, bad_row, strict=True)
    )
    location = f" in row {configuration}" if configuration else ""
    if (prob[bad_row] < -PROBABILITY_TOL).any():
        raise ValueError(f"the table of {name!r} has a negative probability{location}.")
    raise ValueError(
        f"the table of {name!r} sums to {total[bad_row]:.6g}{location}, not to 1."
    )


def _check_gaussian_node(node, name, parent_names, parent_sizes):
    """A continuous node, if its shape fits its parents."""
    if not isinstance(node, (LinearGaussian, ConditionalLinearGaussian)):
        raise ValueError(
            f"{name!r} has no states and needs a LinearGaussian or ConditionalLinear, "
            f"got a {type(node).__name__}."
        )
    discrete = tuple(j for j, r in enumerate(parent_sizes) if r > 0)
    if isinstance(node, LinearGaussian):
        if discrete:
            raise ValueError(
                f"{name!r} has the discrete parent {parent_names[discrete[0]]!r}: it "
                "needs a ConditionalLinear."
            )
        fits = len(node.coef) == len(parent_sizes)
        variance = np.asarray(node.variance)
    else:
        sizes = tuple(parent_sizes[j] for j in discrete)
        n_continuous = len(parent_sizes) - len(discrete)
        fits = node.discrete == discrete and node.coef.shape == (*sizes, n_continuous)
        variance = node.variance
    if not fits:
        raise ValueError(
            f"the node of {name!r} does not fit its {len(parent_sizes)} parents: a "
            "coefficient for each continuous one, an axis for each discrete one."
        )
    if not (variance >= 0).all():
        raise ValueError(f"the variance of {name!r} is negative.")
    return node


def _table_key(i, parents, space: VariableSpace) -> str:
    """The key "C | A, B" of node i."""
    parent_names = ", ".join(str(space.names[p]) for p in parents[i])
    return f"{space.names[i]} | {parent_names}" if parent_names else str(space.names[i])


def _format_table(prob, i, parents, space: VariableSpace, limit: int = 24) -> str:
    """A table as text, a row for each configuration of the parents."""
    node_parents = parents[i]
    head = "  ".join(f"{s!s:>8}" for s in space.states[i])
    rows = math.prod(prob.shape[:-1])
    lines = [_table_key(i, parents, space), f"  {'':<20} {head}"]
    for z in range(min(rows, limit)):
        cell = np.unravel_index(z, prob.shape[:-1]) if node_parents else ()
        row = ", ".join(
            str(space.states[p][c]) for p, c in zip(node_parents, cell, strict=True)
        )
        lines.append(f"  {row:<20} " + "  ".join(f"{p:8.4f}" for p in prob[cell]))
    return "\n".join([*lines, "  ..."] if rows > limit else lines)


def describe_network(model) -> str:
    """All nodes of a network as text."""
    texts = []
    for i, node in enumerate(model.nodes):
        if isinstance(node, ConditionalTable):
            texts.append(_format_table(node.prob, i, model.parents, model.space))
        else:
            texts.append(f"{_table_key(i, model.parents, model.space)}: {node}")
    return "\n".join(texts)
