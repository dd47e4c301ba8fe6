"""Contingency tables of coded data: the one pass over the rows that learning needs.

    N(a, b, ...) = sum_i w_i [x_ia = a, x_ib = b, ...]                            (1)

Scores, tests, tables of a network and mutual informations are all made of (1), and a
structure search needs very many tables that share most of their variables: all
N(y, P, z) for one y and P and every z. There are two ways to count them:

Bits      each state of each variable is a row of n bits. The rows of the states of
          (y, P) are combined by AND once, and N(y, P, z) counts the ones of ANDs with
          z, 64 rows an instruction, or 512 where the machine has it. Reads n q m_z / 8
          bytes from cache for q states of (y, P).
Index     for more states of (y, P), or rows with weights: the joint state of (y, P) of
          each row is computed once, and each z adds to a histogram. Reads n (8 + 1)
          bytes. More than 4 n states are renumbered by those that occur.

Rows in which a variable of a table is missing are left out of that table.

Cost      bits: n q m_z / 64 words; index: n; memory n sum_j m_j / 8 bytes
Shapes    codes (n, d)   bits (sum_j m_j, n / 64)   weights (n,)
"""

import math

import numpy as np

from ...core.loops import threads
from . import _contingency_tables as loops

MAX_PACKED_STATES = 32  # of a variable that is kept as bits
MAX_BIT_STATES = 400  # joint states up to which bits are quicker than a histogram
MAX_BIT_CELLS = 1024  # cells up to which bits are quicker for a single table
CACHE_WORDS = 1 << 15  # words of joint bits that fit into a core's cache
MIN_PARALLEL_WORDS = 1 << 21  # word operations from which threads are quicker
MAX_CELLS = 1 << 26  # of a dense table
MAX_SERIAL_WORK = 1 << 22  # rows times tables up to which one thread is quicker


def for_each_item(function, items, work: float):
    """Call a function for each item, on threads if the work is large."""
    if work < MAX_SERIAL_WORK:
        for item in items:
            function(item)
        return
    for _ in threads.run_tasks([lambda item=item: function(item) for item in items]):
        pass


def _check_codes(codes, sizes) -> np.ndarray:
    """Codes (n, d) if each is a state of its column or -1; the loops rely on it."""
    codes = np.asarray(codes)
    if codes.ndim != 2 or codes.shape[1] != len(sizes):
        raise ValueError(
            f"codes need a column for each of {len(sizes)} variables, got shape "
            f"{codes.shape}."
        )
    if codes.dtype.kind not in "iub" and not (codes == np.floor(codes)).all():
        raise ValueError("codes must be whole numbers, -1 where missing.")
    if len(codes):
        low = codes.min(axis=0)
        high = codes.max(axis=0)
        invalid = np.flatnonzero((low < -1) | (high >= np.asarray(sizes)))
        if len(invalid):
            j = int(invalid[0])
            raise ValueError(
                f"codes of column {j} must be from -1 (missing) to {sizes[j] - 1}, got "
                f"{low[j]} to {high[j]}."
            )
    return codes


class ContingencyTables:
    """Counts of the joint states of coded rows, eq. (1).

    Parameters
    ----------
    codes : array of shape (n, d)
        Integer codes, -1 where missing; see `table_encoding`.
    sizes : sequence of int
        Number of states of each column.
    weights : array of shape (n,), optional
        A weight of 3 counts as three copies of the row.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical.structure.contingency_tables import ContingencyTables
    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 0]])
    >>> ContingencyTables(codes, (2, 2)).table((0, 1))
    array([[1., 1.], [2., 1.]])
    """

    def __init__(self, codes, sizes, weights=None):
        codes = _check_codes(codes, sizes)
        top = max(sizes, default=0)
        small = np.int8 if top <= 127 else np.int32
        self.columns = np.ascontiguousarray(codes.T, dtype=small)  # (d, n)
        self.sizes = np.asarray(sizes, np.int64)
        self.d, self.n = self.columns.shape
        self.weighted = weights is not None
        self.w = np.ones(1) if weights is None else np.asarray(weights, np.float64)
        if self.weighted and self.w.shape != (self.n,):
            raise ValueError(f"{self.n} rows need as many weights: {self.w.shape}.")
        self.total = float(self.w.sum()) if self.weighted else float(self.n)
        self.missing = bool(self.n) and bool((self.columns < 0).any())
        self._bits = None

    def pack(self) -> "ContingencyTables":
        """Pack the bits now, before threads need them."""
        if not self.weighted:
            _ = self.bits
        return self

    @property
    def bits(self):
        """Bits of each state of the variables with few states, and where they start."""
        if self._bits is None:
            n_packed = np.where(self.sizes <= MAX_PACKED_STATES, self.sizes, 0)
            start = np.concatenate([[0], np.cumsum(n_packed)])
            bits = np.zeros((int(start[-1]), -(-self.n // 512) * 8), np.uint64)
            packed = np.flatnonzero(n_packed).tolist()
            rows_of = lambda j: bits[start[j] : start[j + 1]]
            for_each_item(
                lambda j: loops.pack_states(self.columns[j], rows_of(j)),
                packed,
                self.n * self.d,
            )
            self._bits = bits, start
        return self._bits

    def table(self, variables) -> np.ndarray:
        """N with an axis for each variable, in their order."""
        *base, last = variables
        shape = tuple(int(self.sizes[v]) for v in variables)
        cells = math.prod(shape)
        if cells > MAX_CELLS:
            raise ValueError(
                f"a table of {len(shape)} variables would have {cells:.3g} cells, more "
                f"than {MAX_CELLS:.3g}: use fewer parents, or columns with fewer "
                "states."
            )
        if (
            self._bits is not None
            and max(shape) <= MAX_PACKED_STATES
            and cells <= MAX_BIT_CELLS
        ):
            return self._ones(variables, shape)
        index = self._index(base)
        m = shape[-1]
        out = np.zeros(cells)
        loops.add_joint_counts(index, self.columns[last], m, self.w, self.weighted, out)
        return out.reshape(shape)

    def _ones(self, variables, shape):
        """Contingency table from bits that are packed already."""
        bits, start = self.bits
        q = int(np.prod(shape))
        no_columns = np.empty(0, np.int64)
        joint = np.empty((q, max(32, min(512, CACHE_WORDS // q))), np.uint64)
        base = np.array(variables, np.int64)
        totals = np.zeros(q, np.int64)
        loops.count_by_bits(
            bits,
            start,
            base,
            no_columns,
            no_columns,
            q,
            True,
            joint,
            totals,
            no_columns,
        )
        return totals.astype(np.float64).reshape(shape)

    def _index(self, base):
        """The joint state of the base variables in each row, (n,)."""
        index = np.zeros(self.n, np.int64)
        for b in base:
            loops.extend_joint_state(index, self.columns[b], int(self.sizes[b]))
        return index

    def joint_states(self, base):
        """Joint state of each row and number of states, renumbered if they are many."""
        index = np.zeros(self.n, np.int64)
        states = 1
        for b in base:
            loops.extend_joint_state(index, self.columns[b], int(self.sizes[b]))
            states *= int(self.sizes[b])
            if states > max(4 * self.n, 1 << 16):
                occurring, index = np.unique(index, return_inverse=True)
                n_missing = int(len(occurring) > 0 and occurring[0] < 0)
                index = index - n_missing
                states = max(len(occurring) - n_missing, 1)
        return index, states

    def occurring_cells(self, y: int, given):
        """Counts of the cells of (given, y) that occur, and of the states of given."""
        index, _ = self.joint_states(given)
        loops.extend_joint_state(index, self.columns[y], int(self.sizes[y]))
        complete = index >= 0
        w = self.w[complete] if self.weighted else None
        cells, cell_index = np.unique(index[complete], return_inverse=True)
        N = np.bincount(cell_index, w, len(cells)).astype(np.float64)
        _, group = np.unique(cells // self.sizes[y], return_inverse=True)
        return N, np.bincount(group, N)

    def tables_with_each(self, y: int, given, others):
        """N(given, y, z) for each z of the others, flat and end to end.

        Returns
        -------
        tables : array
            Table k, of shape (q, m_y, m_z), begins at offset[k].
        offset : array of shape (len(others),)
        q : int
            Number of states of `given`: all, or those that occur if they are very many.
        """
        targets = np.asarray(others, np.int64)
        r = self.sizes[targets]
        m = int(self.sizes[y])
        states = int(np.prod(self.sizes[list(given)].astype(float)))
        all_packed = bool(
            (self.sizes[[y, *given]] <= MAX_PACKED_STATES).all()
            and (r <= MAX_PACKED_STATES).all()
        )
        top = int(r.max(initial=1))
        if (
            not self.weighted
            and all_packed
            and states * m * max(top - 1, 1) <= MAX_BIT_STATES
        ):
            return self._by_bits(y, given, targets, states * m)
        return self._by_index(y, given, targets)

    def _by_bits(self, y, given, others, q):
        bits, start = self.bits
        base = np.array([*given, y], np.int64)
        r = self.sizes[others]
        offset = np.concatenate([[0], np.cumsum(r * q)])
        out = np.zeros(int(offset[-1]), np.int64)
        width = max(32, min(512, CACHE_WORDS // q))
        work = int(((r - 1) * q).sum()) * bits.shape[1]
        parts = threads.usable_threads() if work >= MIN_PARALLEL_WORDS else 1

        def count_part(k):
            part = slice(k * len(others) // parts, (k + 1) * len(others) // parts)
            joint = np.empty((q, width), np.uint64)
            totals = np.zeros(q, np.int64)
            starts, z = offset[:-1][part], others[part]
            loops.count_by_bits(
                bits, start, base, z, starts, q, self.missing, joint, totals, out
            )

        for_each_item(count_part, range(parts), MAX_SERIAL_WORK if parts > 1 else 0)
        return out.astype(np.float64), offset[:-1], q // int(self.sizes[y])

    def _by_index(self, y, given, others):
        index, states = self.joint_states(given)
        m = int(self.sizes[y])
        r = self.sizes[others]
        n_cells = states * m * float(r.max(initial=1))
        if n_cells > MAX_CELLS:
            raise ValueError(
                f"a table of {n_cells:.3g} cells would be needed: a column of numbers "
                "with so many values is better cut into bins."
            )
        loops.extend_joint_state(index, self.columns[y], m)
        offset = np.concatenate([[0], np.cumsum(r * states * m)])
        out = np.zeros(int(offset[-1]))

        def count_table(k):
            part = out[offset[k] : offset[k + 1]]
            z = int(others[k])
            column = self.columns[z]
            loops.add_joint_counts(
                index, column, int(r[k]), self.w, self.weighted, part
            )

        for_each_item(count_table, range(len(others)), self.n * len(others))
        return out, offset[:-1], states


def g_statistics(counts: ContingencyTables, y: int, given, others):
    """G = 2 n I(y; z | given) for each z of the others, and degrees of freedom."""
    tables, offset, q = counts.tables_with_each(y, given, others)
    sizes = counts.sizes[np.asarray(others, np.int64)]
    G, free = np.empty(len(sizes)), np.empty(len(sizes), np.int64)
    loops.g_statistics_of_tables(
        tables, offset, q, int(counts.sizes[y]), sizes, G, free
    )
    return G, free
