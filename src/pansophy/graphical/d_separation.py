"""d-separation by Bayes ball: what the graph alone says about independence.

A path is open given Z if each inner node lets it pass. Three-node gates:

    chain     a -> b -> c    open unless b is in Z                               (1)
    fork      a <- b -> c    open unless b is in Z                               (2)
    collider  a -> b <- c    open only if b or a descendant of b is in Z         (3)

X and Y are d-separated by Z if no path between them is open; they are then
independent given Z for every choice of tables, and for almost every choice dependent
otherwise. A ball that starts at X and moves through open gates, remembering whether
it came from a child or from a parent, reaches exactly what is connected; its steps
are kept, so an open path can be shown.

Cost      O(nodes + edges)
Refs      [Pearl1988] ch. 3; [Shachter1998] Bayes ball
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from ..graphs.directed import ancestors, children_of, moral_graph, topological_order
from .variables import suggest_name

UP, DOWN = 0, 1  # the ball came from a child (or starts), or from a parent


@dataclass(frozen=True, eq=False)
class DSeparation:
    """Whether the graph makes x and y independent; true in a condition if so.

    Attributes
    ----------
    separated : bool
    path : tuple
        Names along a shortest open path, empty if separated.
    text : str
        The verdict in one line, with the path drawn.
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
    """A path of three nodes: its kind, and whether it is open."""

    kind: str  # "chain", "fork" or "collider"
    open: bool

    def __bool__(self):
        return self.open


def named_graph(model):
    """Names and parents of a network, or of a list of edges (parent, child)."""
    if hasattr(model, "space") and hasattr(model, "parents"):
        return tuple(model.space.names), list(model.parents)
    edges = [tuple(e) for e in model]
    wrong = [e for e in edges if len(e) != 2]
    if wrong:
        raise ValueError(f"an edge is a pair (parent, child), got {wrong[0]!r}.")
    names = tuple(dict.fromkeys(v for e in edges for v in e))
    place = {v: i for i, v in enumerate(names)}
    parents: list[tuple[int, ...]] = [() for _ in names]
    for a, b in dict.fromkeys(edges):
        parents[place[b]] += (place[a],)
    topological_order(parents, names)
    return names, parents


def node_indices(names, wanted) -> list[int]:
    """Places of one or several names; a sentence with the nearest name if unknown."""
    one = isinstance(wanted, str) or not isinstance(wanted, Iterable)
    place = {v: i for i, v in enumerate(names)}
    out = []
    for v in [wanted] if one else wanted:
        if v not in place:
            hint = suggest_name(v, names, "variables")
            raise ValueError(f"no variable is called {v!r}{hint}.")
        out.append(place[v])
    return out


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
    start, goal = node_indices(names, x), node_indices(names, y)
    seen = node_indices(names, given)
    both = set(start) & set(goal)
    path: list[int] | None = [min(both)] if both - set(seen) else None
    if path is None:
        path = open_path(parents, set(start), set(goal), set(seen))
    words = lambda nodes: ", ".join(str(names[i]) for i in nodes)
    told = f" given {words(seen)}" if seen else ""
    if path is None:
        text = f"{words(start)} and {words(goal)} are d-separated{told}"
        return DSeparation(True, (), text)
    drawn = draw_path(path, parents, set(seen), names)
    text = f"{words(start)} and {words(goal)} are connected{told}: {drawn}"
    return DSeparation(False, tuple(names[i] for i in path), text)


def open_path(parents, start, goal, seen) -> list[int] | None:
    """A shortest open path between two sets, by Bayes ball; None if there is none."""
    above = seen | ancestors(parents, seen)  # opens colliders, (3)
    children = children_of(parents)
    begin = sorted(start - seen)
    came: dict = {(i, UP): None for i in begin}
    todo = deque(came)
    while todo:
        here = todo.popleft()
        i, way = here
        if i in goal and i not in seen:
            return trace_path(came, here)
        steps = []
        if way == UP and i not in seen:  # from a child: (1) upwards, (2)
            steps = [(p, UP) for p in parents[i]] + [(c, DOWN) for c in children[i]]
        elif way == DOWN:  # from a parent: (1) downwards, (3) back up
            if i not in seen:
                steps = [(c, DOWN) for c in children[i]]
            if i in above:
                steps += [(p, UP) for p in parents[i]]
        for step in steps:
            if step not in came:
                came[step] = here
                todo.append(step)
    return None


def trace_path(came, here):
    """The nodes on the way to a state of the ball."""
    path = []
    while here is not None:
        path.append(here[0])
        here = came[here]
    return path[::-1]


def draw_path(path, parents, seen, names) -> str:
    """A path with its arrows; observed nodes stand in brackets."""
    word = lambda i: f"[{names[i]}]" if i in seen else str(names[i])
    out = word(path[0])
    for a, b in pairwise(path):
        out += f" {'->' if a in parents[b] else '<-'} {word(b)}"
    return out


def path_gate(model, a, b, c, given=()) -> PathGate:
    """The gate at b on the path a - b - c, eq. (1) to (3).

    Examples
    --------
    >>> from pansophy.graphical import path_gate
    >>> path_gate([("a", "b"), ("c", "b")], "a", "b", "c", given="b")
    Gate(kind='collider', open=True)
    """
    names, parents = named_graph(model)
    i, j, k = node_indices(names, [a, b, c])
    seen = set(node_indices(names, given))
    into = (i in parents[j]) + (k in parents[j])
    if into + (j in parents[i]) + (j in parents[k]) != 2:
        raise ValueError(f"{a!r} - {b!r} - {c!r} is not a path of the graph.")
    if into == 2:
        return PathGate("collider", j in seen | ancestors(parents, seen))
    return PathGate("chain" if into == 1 else "fork", j not in seen)


def markov_blanket(model, variable) -> set:
    """Parents, children and the children's other parents, by name.

    Examples
    --------
    >>> from pansophy.graphical import markov_blanket
    >>> sorted(markov_blanket([(1, 2), (1, 3), (2, 4), (3, 4), (3, 5), (4, 5)], 3))
    [1, 2, 4, 5]
    """
    names, parents = named_graph(model)
    (i,) = node_indices(names, variable)
    return {names[j] for j in moral_graph(parents)[i]}
