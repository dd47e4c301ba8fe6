"""Checks of a network's graph: feed-forward or recurrent, trainable or not.

Signals of a feed-forward network run one way: its graph has no cycle, and its units can
be computed in topological order. A cycle makes it recurrent: its outputs depend on
earlier ones, and training it means unrolling it in time. Gradients train a unit only if
its activation has a slope: the step and the sign have none.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from ..graphs.directed import find_cycle, topological_order
from ..nn.layers.activations import ACTIVATIONS, THRESHOLDS


class GraphReport(NamedTuple):
    """Result of `check_graph`."""

    kind: Literal["feed-forward", "recurrent"]
    order: tuple  # units in the order of computation; empty if recurrent
    cycle: tuple  # units along a cycle; empty if feed-forward
    untrainable: tuple  # units whose activation has no slope

    @property
    def trainable(self) -> bool:
        """Whether gradients reach through every unit."""
        return not self.untrainable

    def __str__(self):
        lines = [f"{self.kind} network"]
        if self.cycle:
            lines.append("cycle: " + " -> ".join(map(str, self.cycle)))
        else:
            lines.append("order: " + ", ".join(map(str, self.order)))
        if self.untrainable:
            names = ", ".join(map(str, self.untrainable))
            lines.append(f"no slope, so not trainable by gradients: {names}")
        return "\n".join(lines)


def check_graph(
    edges: Mapping | Sequence, activations: Mapping | None = None, *, training=True
) -> GraphReport:
    """Check the graph of a network.

    Parameters
    ----------
    edges : {unit: units it feeds}, or pairs (from, to)
    activations : {unit: name of its activation}, optional
    training : bool
        Whether the network is to be trained by gradients; then a unit whose activation
        has no slope raises ValueError.

    Examples
    --------
    >>> from pansophy import teaching
    >>> print(teaching.check_graph({"x": ["h"], "h": ["y"]}))
    feed-forward network
    order: x, h, y
    >>> print(teaching.check_graph([("x", "h"), ("h", "h"), ("h", "y")]))
    recurrent network
    cycle: h -> h
    """
    if isinstance(edges, Mapping):
        edges = [(a, b) for a, following in edges.items() for b in following]
    units = list(dict.fromkeys(unit for edge in edges for unit in edge))
    activations = activations or {}
    units += [unit for unit in activations if unit not in units]
    number = {unit: i for i, unit in enumerate(units)}
    lists: list[list[int]] = [[] for _ in units]
    for a, b in edges:
        if number[a] not in lists[number[b]]:
            lists[number[b]].append(number[a])
    parents = [tuple(parents_of_unit) for parents_of_unit in lists]
    untrainable = _untrainable_units(activations)
    if training and untrainable:
        raise ValueError(
            f"{activations[untrainable[0]]!r}, the activation of {untrainable[0]!r}, "
            "has no slope, so that gradients cannot train what is before it: take a "
            "smooth one such as 'logistic' or 'tanh'."
        )
    looped = next((a for a, b in edges if a == b), None)
    if looped is not None:
        return GraphReport("recurrent", (), (looped, looped), untrainable)
    loop = find_cycle(parents)
    if loop is not None:
        cycle = tuple(units[i] for i in loop)
        if cycle[0] != cycle[-1]:
            cycle = (*cycle, cycle[0])
        return GraphReport("recurrent", (), cycle, untrainable)
    order = tuple(units[i] for i in topological_order(parents))
    return GraphReport("feed-forward", order, (), untrainable)


def _untrainable_units(activations: Mapping) -> tuple:
    """Units whose activation has no slope."""
    known = {**ACTIVATIONS, **THRESHOLDS}
    for unit, name in activations.items():
        if name not in known:
            raise ValueError(
                f"{name!r}, the activation of {unit!r}, is not one of "
                f"{', '.join(known)}."
            )
    return tuple(u for u, name in activations.items() if not known[name].differentiable)
