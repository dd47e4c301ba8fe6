"""Programs: a clique tree with its factors, laid out flat for the compiled loops.

Everything that does not depend on the observed codes is worked out once: where each
table lies, the stride of every factor and separator along the axes of its cliques,
the order of the messages. A run then multiplies factors into their cliques at the
observed codes, sends the messages

    m_{a -> b}(x_S) = sum_{x_{a without S}} T_a(x_a),   T_b <- T_b m_{a->b} / m_S  (1)

with m_S the last message over the same separator S (1 at first), towards a clique
that holds the query; sent outwards as well, every clique holds the product of all
factors summed to its variables. Messages and tables are divided by their largest
value now and then; the logarithms add up to the log probability of the evidence.

Cost      O(cells of all cliques * (neighbours + factors)) for each row of evidence
Shapes    codes (n, e)   out (n, sum of output sizes)
Refs      [Jensen1990] (1); [KollerFriedman2009] ch. 10
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core import threads
from . import _clique_tree as loops
from .clique_tree import CliqueTree, inward_schedule, outward_schedule
from .factors import Factor

ROWS_PER_TASK = 256  # rows of evidence in one task
MIN_THREADED_CELLS = 20_000  # cells in all from which rows are spread over threads


def table_strides(scope, sizes) -> dict[int, int]:
    """The stride of each variable in a table over scope, last axis fastest."""
    out, step = {}, 1
    for v in reversed(scope):
        out[v] = step
        step *= sizes[v]
    return out


def concatenate_ragged(lists) -> tuple[np.ndarray, np.ndarray]:
    """Lists one after the other, and where each begins."""
    ends = np.cumsum([0, *map(len, lists)])
    flat = np.array([x for part in lists for x in part], dtype=np.int64)
    return flat, ends.astype(np.int64)


@dataclass(frozen=True, eq=False)
class CliqueTreeLayout:
    """A clique tree laid out flat.

    Parameters
    ----------
    tree : CliqueTree
    factors : sequence of Factor
        Their variables are in some clique, or among `seen`.
    sizes : sequence of int
    seen : tuple of int
        Observed variables: column j of the codes holds those of seen[j].
    """

    tree: CliqueTree
    factors: Sequence[Factor]
    sizes: Sequence[int]
    seen: tuple[int, ...] = ()

    @cached_property
    def geometry(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where tables begin, lengths of their axes, where those begin."""
        dims, dim_ptr = concatenate_ragged(
            [[self.sizes[v] for v in c] for c in self.tree.cliques]
        )
        cells = [math.prod(self.sizes[v] for v in c) for c in self.tree.cliques]
        return np.cumsum([0, *cells]).astype(np.int64), dims, dim_ptr

    @cached_property
    def reads(self) -> tuple[np.ndarray, ...]:
        """Factors: values, clique, start, strides, and how codes move the start."""
        column = {v: j for j, v in enumerate(self.seen)}
        homes, strides, moved, steps, start, at = [], [], [], [], [], 0
        for f in self.factors:
            own = table_strides(f.variables, self.sizes)
            free = [v for v in f.variables if v not in column]
            home = self.tree.holding(free)
            assert home is not None  # every factor's scope went into the tree
            homes.append(home)
            strides.append([own.get(v, 0) for v in self.tree.cliques[home]])
            moved.append([column[v] for v in f.variables if v in column])
            steps.append([own[v] for v in f.variables if v in column])
            start.append(at)
            at += f.values.size
        values = [np.ravel(f.values) for f in self.factors]
        flat, flat_ptr = concatenate_ragged(strides)
        seen, seen_ptr = concatenate_ragged(moved)
        return (
            np.concatenate([*values, np.ones(1)]),
            np.array(homes, dtype=np.int64),
            np.array(start, dtype=np.int64),
            flat,
            flat_ptr,
            seen_ptr,
            seen,
            concatenate_ragged(steps)[0],
        )

    @cached_property
    def links(self) -> tuple[np.ndarray, ...]:
        """Edges: ends, where separators begin, strides at both ends."""
        tree, sizes = self.tree, self.sizes
        near, far, cells = [], [], []
        for e, (a, b) in enumerate(tree.edges):
            shared = tree.separator(e)
            own = table_strides(shared, sizes)
            near.append([own.get(v, 0) for v in tree.cliques[a]])
            far.append([own.get(v, 0) for v in tree.cliques[b]])
            cells.append(math.prod(sizes[v] for v in shared))
        ends = np.array(tree.edges, dtype=np.int64).reshape(-1, 2)
        sep_ptr = np.cumsum([0, *cells]).astype(np.int64)
        return (ends, sep_ptr, *concatenate_ragged(near), *concatenate_ragged(far))

    @cached_property
    def wide(self) -> int:
        """Cells of the largest separator."""
        return int(np.diff(self.links[1]).max(initial=1))

    @cached_property
    def log_scale(self) -> float:
        """Sum of the scales that the factors carry."""
        return float(sum(f.log_scale for f in self.factors))

    @cached_property
    def base(self) -> tuple[np.ndarray, float]:
        """All tables with their factors and nothing observed; log of their scale."""
        table_ptr, dims, dim_ptr = self.geometry
        T = np.empty(table_ptr[-1])
        digit = np.zeros(len(dims) + 1, np.int64)
        got = np.zeros(len(table_ptr), np.int64)
        none = np.zeros(1, np.int64)
        scale = loops.load_factors(
            T, table_ptr, dims, dim_ptr, *self.reads, none, digit, got
        )
        return T, scale

    def send(self, T, M, plan) -> float:
        """Messages of a schedule between tables T with last messages M, in place."""
        geometry = self.geometry
        got = np.zeros(len(geometry[0]), np.int64)
        return loops.pass_messages(
            T, *geometry, M, *self.links, plan, np.empty(self.wide),
            np.zeros(len(geometry[1]) + 1, np.int64), got, np.ones(len(got), bool),
        )  # fmt: skip

    @cached_property
    def calibrated(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Marginals of all cliques and separators, and log Z, with nothing observed."""
        T, scale = self.base[0].copy(), self.base[1] + self.log_scale
        M, ptr, links = np.ones(self.links[1][-1]), self.geometry[0], self.links
        inward = inward_schedule(self.tree, 0)
        scale += self.send(T, M, inward)
        total = T[: ptr[1]].sum()
        if total == 0.0:
            raise ValueError("the factors are zero for every joint state.")
        self.send(T, M, outward_schedule(inward))
        for c in range(len(self.tree.cliques)):
            T[ptr[c] : ptr[c + 1]] /= T[ptr[c] : ptr[c + 1]].sum()
        for e in range(len(self.tree.edges)):
            at = slice(links[1][e], links[1][e + 1])
            M[at] /= M[at].sum()
        return T, M, float(scale + np.log(total))

    def output(self, targets) -> tuple[np.ndarray, ...]:
        """Cliques to read the joint tables of some tuples of variables from."""
        cliques, strides, cells = [], [], []
        for scope in targets:
            home = self.tree.holding(scope)
            if home is None:
                raise ValueError(f"no clique holds the variables {scope} together.")
            own = table_strides(scope, self.sizes)
            cliques.append(home)
            strides.append([own.get(v, 0) for v in self.tree.cliques[home]])
            cells.append(math.prod(self.sizes[v] for v in scope))
        ends = np.cumsum([0, *cells]).astype(np.int64)
        return (np.array(cliques, dtype=np.int64), ends, *concatenate_ragged(strides))

    def rows(self, codes, targets) -> tuple[np.ndarray, np.ndarray]:
        """Marginals of each target and log evidence, for rows of codes (n, e).

        With one target the messages go to its clique only; with several, out again.
        """
        output = self.output(targets or [()])
        root = int(output[0][0])
        inward = inward_schedule(self.tree, root)
        plan = inward
        if len(set(output[0].tolist())) > 1:
            plan = np.concatenate([inward, outward_schedule(inward)])
        n = len(codes)
        codes = np.ascontiguousarray(codes, dtype=np.int64).reshape(n, -1)
        out, log_z = np.empty((n, output[1][-1])), np.empty(n)

        def task(i, j):
            return lambda: loops.marginals_of_rows(
                out[i:j], log_z[i:j], codes[i:j], *self.geometry, *self.reads,
                *self.links, plan, len(inward), *output, self.wide,
            )  # fmt: skip

        step = n if n * self.tree.total < MIN_THREADED_CELLS else ROWS_PER_TASK
        for _ in threads.run([task(i, min(i + step, n)) for i in range(0, n, step)]):
            pass
        return out, log_z + self.log_scale
