"""d-separation by the Bayes ball algorithm: independences that the graph implies.

A path is open given Z if each of its inner nodes is open. For three nodes:

    chain     a -> b -> c    open unless b is in Z                               (1)
    fork      a <- b -> c    open unless b is in Z                               (2)
    collider  a -> b <- c    open only if b or a descendant of b is in Z         (3)

X and Y are d-separated by Z if no path between them is open; they are then
independent given Z for every choice of tables, and for almost every choice dependent
otherwise. A ball that starts at X and moves through open nodes, remembering whether it
came from a child or from a parent, reaches exactly the connected nodes; its steps are
kept, so that an open path can be shown.

Cost      O(nodes + edges)
Refs      [Pearl1988] ch. 3; [Shachter1998] Bayes ball
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from ...graphs.directed import ancestors, children_of, moral_graph, topological_order
from .variables import suggest_name

UP = 0  # the ball came from a child, or starts
DOWN = 1  # the ball came from a parent


@dataclass(frozen=True, eq=False)
class DSeparation:
    """Whether the graph makes x and y independent; truthy if it does.

    Attributes
    ----------
    separated : bool
    path : tuple
        Names along a shortest open path, empty if separated.
    text : str
        The result in one line, with the path.
    """

    separated: bool
    path: tuple
    text: str

    def __bool__(self):
        return self.separated

    def __repr__(self):
        return self.text


@dataclass(frozen=True, eq=False)
class PathGate:
    """The type of a path of three nodes, and whether it is open."""

    kind: str  # "chain", "fork" or "collider"
    open: bool

    def __bool__(self):
        return self.open


def named_graph(model):
    """Names and parents of a network, or of a list of edges (parent, child)."""
    if hasattr(model, "space") and hasattr(model, "parents"):
        return tuple(model.space.names), list(model.parents)
    edges = [tuple(e) for e in model]
    malformed = [e for e in edges if len(e) != 2]
    if malformed:
        raise ValueError(f"an edge is a pair (parent, child), got {malformed[0]!r}.")
    names = tuple(dict.fromkeys(v for e in edges for v in e))
    place = {v: i for i, v in enumerate(names)}
    parents: list[tuple[int, ...]] = [() for _ in names]
    for a, b in dict.fromkeys(edges):
        parents[place[b]] += (place[a],)
    topological_order(parents, names)
    return names, parents


def _node_indices(names, wanted) -> list[int]:
    """Positions of one or several names; an unknown name raises."""
    is_single = isinstance(wanted, str) or not isinstance(wanted, Iterable)
    place = {v: i for i, v in enumerate(names)}
    indices = []
    for v in [wanted] if is_single else wanted:
        if v not in place:
            hint = suggest_name(v, names, "variables")
            raise ValueError(f"no variable is called {v!r}{hint}.")
        indices.append(place[v])
    return indices


def d_separated(model, x, y, given=()) -> DSeparation:
    """Whether x and y are d-separated by the variables in `given`.

    Parameters
    ----------
    model : BayesianNetwork, or list of pairs (parent, child)
    x, y : name, or sequence of names
    given : name or sequence of names
        The observed variables Z.

    Examples
    --------
    >>> from pansophy.graphical import d_separated
    >>> edges = [(1, 2), (1, 3), (2, 4), (3, 4), (3, 5), (4, 5)]
    >>> d_separated(edges, 2, 3, [1])
    2 and 3 are d-separated given 1
    >>> d_separated(edges, 2, 3, [1, 4])
    2 and 3 are connected given 1, 4: 2 -> [4] <- 3
    """
    names, parents = named_graph(model)
    start, goal = _node_indices(names, x), _node_indices(names, y)
    observed = _node_indices(names, given)
    overlap = set(start) & set(goal)
    path: list[int] | None = [min(overlap)] if overlap - set(observed) else None
    if path is None:
        path = _open_path(parents, set(start), set(goal), set(observed))
    join_names = lambda nodes: ", ".join(str(names[i]) for i in nodes)
    condition = f" given {join_names(observed)}" if observed else ""
    if path is None:
        text = f"{join_names(start)} and {join_names(goal)} are d-separated{condition}"
        return DSeparation(True, (), text)
    drawn = _draw_path(path, parents, set(observed), names)
    text = (
        f"{join_names(start)} and {join_names(goal)} are connected{condition}: {drawn}"
    )
    return DSeparation(False, tuple(names[i] for i in path), text)


def _open_path(parents, start, goal, observed) -> list[int] | None:
    """A shortest open path between two sets, by Bayes ball; None if there is none."""
    opens_colliders = observed | ancestors(parents, observed)  # opens colliders, (3)
    children = children_of(parents)
    sources = sorted(start - observed)
    came_from: dict = {(i, UP): None for i in sources}
    queue = deque(came_from)
    while queue:
        ball = queue.popleft()
        i, direction = ball
        if i in goal and i not in observed:
            return _trace_path(came_from, ball)
        successors = []
        if direction == UP and i not in observed:  # from a child: (1) upwards, (2)
            successors = [(p, UP) for p in parents[i]] + [
                (c, DOWN) for c in children[i]
            ]
        elif direction == DOWN:  # from a parent: (1) downwards, (3) back up
            if i not in observed:
                successors = [(c, DOWN) for c in children[i]]
            if i in opens_colliders:
                successors += [(p, UP) for p in parents[i]]
        for step in successors:
            if step not in came_from:
                came_from[step] = ball
                queue.append(step)
    return None


def _trace_path(came_from, ball):
    """The nodes on the path to a state of the ball."""
    path = []
    while ball is not None:
        path.append(ball[0])
        ball = came_from[ball]
    return path[::-1]


def _draw_path(path, parents, observed, names) -> str:
    """A path with arrows as text; observed nodes are in brackets."""
    label = lambda i: f"[{names[i]}]" if i in observed else str(names[i])
    text = label(path[0])
    for a, b in pairwise(path):
        text += f" {'->' if a in parents[b] else '<-'} {label(b)}"
    return text


def path_gate(model, a, b, c, given=()) -> PathGate:
    """Whether the path a - b - c is open at b, eq. (1) to (3).

    Examples
    --------
    >>> from pansophy.graphical import path_gate
    >>> path_gate([("a", "b"), ("c", "b")], "a", "b", "c", given="b")
    PathGate(kind='collider', open=True)
    """
    names, parents = named_graph(model)
    i, j, k = _node_indices(names, [a, b, c])
    observed = set(_node_indices(names, given))
    n_incoming = (i in parents[j]) + (k in parents[j])
    if n_incoming + (j in parents[i]) + (j in parents[k]) != 2:
        raise ValueError(f"{a!r} - {b!r} - {c!r} is not a path of the graph.")
    if n_incoming == 2:
        return PathGate("collider", j in observed | ancestors(parents, observed))
    return PathGate("chain" if n_incoming == 1 else "fork", j not in observed)


def markov_blanket(model, variable) -> set:
    """Parents, children and the other parents of the children, by name.

    Examples
    --------
    >>> from pansophy.graphical import markov_blanket
    >>> sorted(markov_blanket([(1, 2), (1, 3), (2, 4), (3, 4), (3, 5), (4, 5)], 3))
    [1, 2, 4, 5]
    """
    names, parents = named_graph(model)
    (i,) = _node_indices(names, variable)
    return {names[j] for j in moral_graph(parents)[i]}
