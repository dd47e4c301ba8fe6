"""Greedy walks over directed acyclic graphs: moves, their gains, what they change.

A move adds an edge x -> y, takes one away or turns one round. With s(y, P) the score
of a family, its gain needs at most two families,

    add       g+ = s(y, P_y + x) - s(y, P_y)                                     (1)
    remove    g- = s(y, P_y - x) - s(y, P_y)                                     (2)
    reverse   g- of x -> y, and g+ of y -> x                                     (3)

so a matrix of g+ and one of g- hold all gains, and a move makes one column of them (two
for a reversal) stale. Entries are computed when a legal move first needs them. With R
saying which nodes reach which, adding x -> y is legal if y does not reach x, and
reversing it if x reaches y in no other way. Moves whose gains differ by rounding only
are taken in a fixed order.

A tabu walk takes the best move even if it loses, except back to one of the last graphs
(known by the XOR of random words of their edges), and ends after `patience` moves
without a new best.

Cost      a move: d tables of counts for each changed node, O(d^2) for the masks
Shapes    A, R, F, Q (d, d): edges, reachable, forbidden, required, from row to column
Refs      [Chickering2002]; [Glover1986] tabu
"""

from typing import NamedTuple

import numpy as np

from ..core.iterate import Result, iterate
from ..core.progress import SILENT, Task
from ..graphs.directed import topological_order
from .contingency_tables import for_each_item


class EdgeConstraints(NamedTuple):
    """What a graph may be."""

    forbidden: np.ndarray  # F
    required: np.ndarray  # Q
    max_parents: int


class SearchState(NamedTuple):
    """Where a walk stands, and the best graph it has met."""

    parents: tuple
    score: float
    best: tuple
    objective: float  # minus the score of the best
    stalled: int = 0  # moves since then
    settled: bool = False


def adjacency_matrix(parents) -> np.ndarray:
    """A of the parents of each node."""
    A = np.zeros((len(parents), len(parents)), dtype=bool)
    for y, above in enumerate(parents):
        A[list(above), y] = True
    return A


def parents_from_adjacency(A) -> tuple:
    return tuple(tuple(np.flatnonzero(column).tolist()) for column in A.T)


def reachability_matrix(A) -> np.ndarray:
    """R[x, y]: there is a directed path of at least one edge from x to y."""
    R, parents = A.copy(), parents_from_adjacency(A)
    for y in reversed(topological_order(parents)):
        for x in parents[y]:
            R[x] |= R[y]
    return R


class MoveTable:
    """A graph, its reachable pairs and the gains of moves from it."""

    def __init__(self, families, rules: EdgeConstraints, parents):
        self.families, self.rules = families, rules
        self.A = adjacency_matrix(parents)
        self.up = list(parents_from_adjacency(self.A))
        self.R = reachability_matrix(self.A)
        d = len(parents)
        self.base = np.array([families.score(y, parents[y]) for y in range(d)])
        self.add = np.full((d, d), np.nan)
        self.remove = np.full((d, d), np.nan)

    @property
    def score(self) -> float:
        return float(self.base.sum())

    def moves(self):
        """Legal moves: pairs (x, y) of added, removed and reversed edges."""
        A, R, (F, Q, most) = self.A, self.R, self.rules
        free = A.sum(axis=0) < most
        added = ~(A | R.T | F) & free
        np.fill_diagonal(added, False)
        x, y = np.nonzero(A & ~Q)
        other = (A[x] & R[:, y].T).any(axis=1)  # a second way from x to y
        turn = ~other & ~F[y, x] & free[x]
        return np.nonzero(added), (x, y), (x[turn], y[turn])

    def gains(self, moves):
        """Eqs. (1) to (3) for all moves, in their order."""
        (ax, ay), (rx, ry), (tx, ty) = moves
        self._fill(np.concatenate([ax, ty]), np.concatenate([ay, tx]))
        for x, y in zip(rx, ry, strict=True):
            if np.isnan(self.remove[x, y]):
                rest = tuple(p for p in self.up[y] if p != x)
                self.remove[x, y] = self.families.score(int(y), rest) - self.base[y]
        turned = self.remove[tx, ty] + self.add[ty, tx]
        return np.concatenate([self.add[ax, ay], self.remove[rx, ry], turned])

    def _fill(self, x, y):
        """Gains of adding edges that are not known yet, a node at a time."""
        new = np.isnan(self.add[x, y])
        x, y = x[new], y[new]
        nodes = np.unique(y)

        def one(node):
            z = x[y == node]
            found = self.families.adds(int(node), self.up[node], z.tolist())
            self.add[z, node] = found - self.base[node]

        for_each_item(one, nodes.tolist(), self.families.n * len(x))

    def make(self, kind, x, y):
        """Do a move (0 add, 1 remove, 2 reverse)."""
        self.A[x, y] = kind == 0
        if kind == 0:  # all that reach x now reach all that y does
            above, below = self.R[:, x].copy(), self.R[y].copy()
            above[x] = below[y] = True
            self.R |= np.outer(above, below)
        else:
            self.A[y, x] = kind == 2
            self.R = reachability_matrix(self.A)
        for node in (y, x) if kind == 2 else (y,):
            self.up[node] = tuple(np.flatnonzero(self.A[:, node]).tolist())
            self.base[node] = self.families.score(int(node), self.up[node])
            self.add[:, node] = self.remove[:, node] = np.nan


def decode_move(moves, i):
    """Kind and ends of the i-th of all moves."""
    for kind, (x, y) in enumerate(moves):
        if i < len(x):
            return kind, int(x[i]), int(y[i])
        i -= len(x)
    raise IndexError(i)


def first_largest_gain(gains, scale) -> int:
    """The first gain that is the largest but for rounding."""
    return int(np.argmax(gains >= gains.max() - 1e-11 * abs(scale)))


class TabuList:
    """The last graphs met, as XORs of a random word for each edge."""

    def __init__(self, A, length):
        rng = np.random.default_rng(0)
        self.words = rng.integers(1, 1 << 62, A.shape)
        self.now = np.bitwise_xor.reduce(self.words[A], initial=0)
        self.length, self.last = length, [self.now]

    def after(self, moves):
        """The words of the graphs that the moves lead to."""
        (ax, ay), (rx, ry), (tx, ty) = moves
        turned = self.words[tx, ty] ^ self.words[ty, tx]
        parts = [self.words[ax, ay], self.words[rx, ry], turned]
        return self.now ^ np.concatenate(parts)

    def met(self, moves):
        return np.isin(self.after(moves), self.last)

    def note(self, word):
        self.now = word
        self.last = [*self.last, word][-self.length :]


def hill_climb(
    families, rules: EdgeConstraints, start, *, epsilon: float = 1e-4, tabu_length: int = 0,
    patience: int = 0, max_iter: int = 1_000_000, task: Task = SILENT,
) -> Result:  # fmt: skip
    """Climb from a graph to one that no single move makes better by epsilon."""
    board = MoveTable(families, rules, start)
    tabu = TabuList(board.A, tabu_length) if tabu_length else None

    def step(state: SearchState) -> SearchState:
        moves = board.moves()
        gains = board.gains(moves)
        words = None
        if tabu is not None and len(gains):
            words = tabu.after(moves)
            gains = np.where(np.isin(words, tabu.last), -np.inf, gains)
        top = gains.max(initial=-np.inf)
        if top == -np.inf or (tabu is None and top < epsilon):
            return state._replace(settled=True)
        i = first_largest_gain(gains, board.score)
        board.make(*decode_move(moves, i))
        if tabu is not None and words is not None:
            tabu.note(words[i])
        return next_search_state(state, board, epsilon, patience)

    first = tuple(board.up)
    state = SearchState(first, board.score, first, -board.score)
    settled = lambda old, new: 0.0 if new.settled else 1.0
    return iterate(
        step, state, max_iter=max_iter, tol=0.0, change=settled, watch=("score",),
        task=task,
    )  # fmt: skip


def next_search_state(state: SearchState, board: MoveTable, epsilon, patience) -> SearchState:
    """The state after a move."""
    parents, score = tuple(board.up), board.score
    if score >= epsilon - state.objective:
        return SearchState(parents, score, parents, -score)
    stalled = state.stalled + 1
    return state._replace(
        parents=parents, score=score, stalled=stalled, settled=stalled > patience
    )


def random_neighbor(families, rules: EdgeConstraints, parents, k: int, rng) -> tuple:
    """A graph k random legal moves away."""
    board = MoveTable(families, rules, parents)
    for _ in range(k):
        moves = board.moves()
        n = sum(len(x) for x, _ in moves)
        if n == 0:
            break
        board.make(*decode_move(moves, int(rng.integers(n))))
    return tuple(board.up)
