"""Hill climbing and tabu search over directed acyclic graphs by single-edge moves.

A move adds an edge x -> y, removes one or reverses one. With s(y, P) the score of a
family, its gain needs at most two families,

    add       g+ = s(y, P_y + x) - s(y, P_y)                                     (1)
    remove    g- = s(y, P_y - x) - s(y, P_y)                                     (2)
    reverse   g- of x -> y, and g+ of y -> x                                     (3)

so a matrix of g+ and one of g- hold all gains, and a move invalidates one column of
them (two for a reversal). Entries are computed when a legal move first needs them. With
R the reachability matrix, adding x -> y is legal if y does not reach x, and reversing
it if x reaches y by no other path. Among moves whose gains differ by rounding only the
first is taken.

Tabu search takes the best move even if it lowers the score, except to one of the last
graphs (identified by the XOR of random words of their edges), and stops after
`patience` moves without improvement.

Cost      a move: d tables of counts for each changed node, O(d^2) for the masks
Shapes    A, R, F, Q (d, d): edges, reachable, forbidden, required, from row to column
Refs      [Chickering2002]; [Glover1986] tabu
"""

from typing import NamedTuple

import numpy as np

from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT, FitTask
from ..networks.dags import (
    adjacency_matrix,
    parents_from_adjacency,
    reachability_matrix,
)
from .contingency_tables import for_each_item


class EdgeConstraints(NamedTuple):
    """Edges that a graph must or must not have, and the largest number of parents."""

    forbidden: np.ndarray  # F
    required: np.ndarray  # Q
    max_parents: int


class SearchState(NamedTuple):
    """The current graph of a search and the best one so far."""

    parents: tuple
    score: float
    best: tuple
    objective: float  # minus the score of the best
    stalled: int = 0  # moves since the best
    converged: bool = False


class MoveTable:
    """A graph, its reachability matrix and the gains of all moves from it."""

    def __init__(self, families, constraints: EdgeConstraints, parents):
        self.families = families
        self.constraints = constraints
        self.A = adjacency_matrix(parents)
        self.parents = list(parents_from_adjacency(self.A))
        self.R = reachability_matrix(self.A)
        d = len(parents)
        self.base = np.array([families.score(y, parents[y]) for y in range(d)])
        self.add = np.full((d, d), np.nan)
        self.remove = np.full((d, d), np.nan)

    @property
    def score(self) -> float:
        return float(self.base.sum())

    def moves(self):
        """Legal moves: arrays x, y of the edges to add, to remove and to reverse."""
        A, R, (F, Q, max_parents) = self.A, self.R, self.constraints
        has_room = A.sum(axis=0) < max_parents
        added = ~(A | R.T | F) & has_room
        np.fill_diagonal(added, False)
        x, y = np.nonzero(A & ~Q)
        has_other_path = (A[x] & R[:, y].T).any(axis=1)  # a second path from x to y
        reversible = ~has_other_path & ~F[y, x] & has_room[x]
        return np.nonzero(added), (x, y), (x[reversible], y[reversible])

    def gains(self, moves):
        """Eqs. (1) to (3) for all moves, in their order."""
        (ax, ay), (rx, ry), (tx, ty) = moves
        self._fill(np.concatenate([ax, ty]), np.concatenate([ay, tx]))
        for x, y in zip(rx, ry, strict=True):
            if np.isnan(self.remove[x, y]):
                rest = tuple(p for p in self.parents[y] if p != x)
                self.remove[x, y] = self.families.score(int(y), rest) - self.base[y]
        turned = self.remove[tx, ty] + self.add[ty, tx]
        return np.concatenate([self.add[ax, ay], self.remove[rx, ry], turned])

    def _fill(self, x, y):
        """Compute the unknown gains of adding edges, one node at a time."""
        unknown = np.isnan(self.add[x, y])
        x, y = x[unknown], y[unknown]
        nodes = np.unique(y)

        def score_node(node):
            z = x[y == node]
            scores = self.families.adds(int(node), self.parents[node], z.tolist())
            self.add[z, node] = scores - self.base[node]

        for_each_item(score_node, nodes.tolist(), self.families.n * len(x))

    def apply(self, kind, x, y):
        """Apply a move (0 add, 1 remove, 2 reverse)."""
        self.A[x, y] = kind == 0
        if kind == 0:  # ancestors of x now reach all descendants of y
            ancestors = self.R[:, x].copy()
            descendants = self.R[y].copy()
            ancestors[x] = descendants[y] = True
            self.R |= np.outer(ancestors, descendants)
        else:
            self.A[y, x] = kind == 2
            self.R = reachability_matrix(self.A)
        for node in (y, x) if kind == 2 else (y,):
            self.parents[node] = tuple(np.flatnonzero(self.A[:, node]).tolist())
            self.base[node] = self.families.score(int(node), self.parents[node])
            self.add[:, node] = self.remove[:, node] = np.nan


def decode_move(moves, i):
    """Kind and edge (x, y) of the i-th of all moves."""
    for kind, (x, y) in enumerate(moves):
        if i < len(x):
            return kind, int(x[i]), int(y[i])
        i -= len(x)
    raise IndexError(i)


def _first_largest_gain(gains, scale) -> int:
    """Index of the first gain that is the largest up to rounding."""
    return int(np.argmax(gains >= gains.max() - 1e-11 * abs(scale)))


class TabuList:
    """The last visited graphs, as XORs of a random word for each edge."""

    def __init__(self, adjacency, length):
        rng = np.random.default_rng(0)
        self.words = rng.integers(1, 1 << 62, adjacency.shape)
        self.now = np.bitwise_xor.reduce(self.words[adjacency], initial=0)
        self.length = length
        self.last = [self.now]

    def hashes_after(self, moves):
        """Hashes of the graphs that the moves lead to."""
        (ax, ay), (rx, ry), (tx, ty) = moves
        turned = self.words[tx, ty] ^ self.words[ty, tx]
        parts = [self.words[ax, ay], self.words[rx, ry], turned]
        return self.now ^ np.concatenate(parts)

    def add(self, word):
        """Remember the hash of the new current graph."""
        self.now = word
        self.last = [*self.last, word][-self.length :]


def hill_climb(
    families,
    constraints: EdgeConstraints,
    start,
    *,
    epsilon: float = 1e-4,
    tabu_length: int = 0,
    patience: int = 0,
    max_iter: int = 1_000_000,
    task: FitTask = SILENT,
) -> Result:
    """Improve a graph by single-edge moves until none gains epsilon (or tabu stops)."""
    table = MoveTable(families, constraints, start)
    tabu = TabuList(table.A, tabu_length) if tabu_length else None

    def step(state: SearchState) -> SearchState:
        moves = table.moves()
        gains = table.gains(moves)
        hashes = None
        if tabu is not None and len(gains):
            hashes = tabu.hashes_after(moves)
            gains = np.where(np.isin(hashes, tabu.last), -np.inf, gains)
        best_gain = gains.max(initial=-np.inf)
        if best_gain == -np.inf or (tabu is None and best_gain < epsilon):
            return state._replace(converged=True)
        i = _first_largest_gain(gains, table.score)
        table.apply(*decode_move(moves, i))
        if tabu is not None and hashes is not None:
            tabu.add(hashes[i])
        return _next_search_state(state, table, epsilon, patience)

    first = tuple(table.parents)
    state = SearchState(first, table.score, first, -table.score)
    change = lambda old, new: 0.0 if new.converged else 1.0
    return iterate(
        step,
        state,
        max_iter=max_iter,
        tol=0.0,
        change=change,
        watch=("score",),
        task=task,
    )


def _next_search_state(
    state: SearchState, table: MoveTable, epsilon, patience
) -> SearchState:
    """The state of the search after a move."""
    parents = tuple(table.parents)
    score = table.score
    if score >= epsilon - state.objective:
        return SearchState(parents, score, parents, -score)
    stalled = state.stalled + 1
    return state._replace(
        parents=parents, score=score, stalled=stalled, converged=stalled > patience
    )


def random_neighbor(
    families, constraints: EdgeConstraints, parents, k: int, rng
) -> tuple:
    """The graph after k random legal moves."""
    table = MoveTable(families, constraints, parents)
    for _ in range(k):
        moves = table.moves()
        n = sum(len(x) for x, _ in moves)
        if n == 0:
            break
        table.apply(*decode_move(moves, int(rng.integers(n))))
    return tuple(table.parents)
