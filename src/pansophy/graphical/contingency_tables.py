"""Contingency tables of coded data: the one pass over the rows that learning needs.

    N(a, b, ...) = sum_i w_i [x_ia = a, x_ib = b, ...]                            (1)

Scores, tests, tables of a network and mutual informations are all made of (1), and a
search asks for very many of them that share most of their variables: all N(y, P, z)
for one y and P and every z. Two ways are at hand:

Bits      each state of each variable is a row of n bits. The rows of the states of
          (y, P) are ANDed once, and N(y, P, z) counts the ones of ANDs with z, 64 rows
          an instruction or 512 where the machine has it. Reads n q m_z / 8 bytes from
          cache for q states of (y, P); nothing is looked up.
Index     q states of (y, P) too many for that, or rows with weights: the state of
          (y, P) of each row is computed once, and each z adds to a histogram. Reads
          n (8 + 1) bytes. States beyond 4 n are renumbered by those that occur.

Rows in which a variable of a table is missing are left out of that table.

Cost      bits: n q m_z / 64 words; index: n; memory n sum_j m_j / 8 bytes
Shapes    codes (n, d)   bits (sum_j m_j, n / 64)   weights (n,)
"""

import math

import numpy as np

from ..core import threads
from . import _contingency_tables as loops

MAX_PACKED_STATES = 32  # most states of a variable that is kept as bits
MAX_BIT_STATES = 400  # AND-and-count beats a histogram up to about so many states
MAX_BIT_CELLS = 1024  # the same for one table alone
CACHE_WORDS = 1 << 15  # words of joint bits that stay near a core
MIN_PARALLEL_WORDS = 1 << 21  # word operations from which threads pay
MAX_CELLS = 1 << 26  # most cells of a table that is made whole
MAX_SERIAL_WORK = 1 << 22  # rows times tables below which tasks are done one after another


def for_each_item(function, items, work: float):
    """function of each item, on threads if the work (rows times tables) is worth it."""
    if work < MAX_SERIAL_WORK:
        for item in items:
            function(item)
        return
    for _ in threads.run([lambda item=item: function(item) for item in items]):
        pass


def check_codes(codes, sizes) -> np.ndarray:
    """Codes (n, d) that name a state of each column, or -1; the loops rely on it."""
    codes = np.asarray(codes)
    if codes.ndim != 2 or codes.shape[1] != len(sizes):
        raise ValueError(
            f"codes need a column for each of {len(sizes)} variables, got shape "
            f"{codes.shape}."
        )
    if codes.dtype.kind not in "iub" and not (codes == np.floor(codes)).all():
        raise ValueError("codes must be whole numbers, -1 where missing.")
    if len(codes):
        low, high = codes.min(axis=0), codes.max(axis=0)
        bad = np.flatnonzero((low < -1) | (high >= np.asarray(sizes)))
        if len(bad):
            j = int(bad[0])
            raise ValueError(
                f"codes of column {j} must be from -1 (missing) to {sizes[j] - 1}, got "
                f"{low[j]} to {high[j]}."
            )
    return codes


class ContingencyTables:
    """Tables of counts of coded rows, eq. (1).

    Parameters
    ----------
    codes : array of shape (n, d)
        Whole numbers, -1 where missing; see `coding`.
    sizes : sequence of int
        Number of states of each column.
    weights : array of shape (n,), optional
        A weight of 3 counts as three copies of the row.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical.contingency_tables import ContingencyTables
    >>> ContingencyTables(np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 0]]), (2, 2)).table((0, 1))
    array([[1., 1.], [2., 1.]])
    """

    def __init__(self, codes, sizes, weights=None):
        codes = check_codes(codes, sizes)
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

    def ready(self) -> "Counts":
        """Make the bits now, before threads ask for them."""
        if not self.weighted:
            _ = self.bits
        return self

    @property
    def bits(self):
        """Bits of each state of the variables that have few, and where they start."""
        if self._bits is None:
            kept = np.where(self.sizes <= MAX_PACKED_STATES, self.sizes, 0)
            start = np.concatenate([[0], np.cumsum(kept)])
            bits = np.zeros((int(start[-1]), -(-self.n // 512) * 8), np.uint64)
            few = np.flatnonzero(kept).tolist()
            own = lambda j: bits[start[j] : start[j + 1]]
            for_each_item(lambda j: loops.pack_states(self.columns[j], own(j)), few, self.n * self.d)
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
                f"than {MAX_CELLS:.3g}: use fewer parents, or columns with fewer states."
            )
        if self._bits is not None and max(shape) <= MAX_PACKED_STATES and cells <= MAX_BIT_CELLS:
            return self._ones(variables, shape)
        index, m = self._index(base), shape[-1]
        out = np.zeros(cells)
        loops.add_joint_counts(index, self.columns[last], m, self.w, self.weighted, out)
        return out.reshape(shape)

    def _ones(self, variables, shape):
        """The same from bits that are at hand."""
        bits, start = self.bits
        q, none = int(np.prod(shape)), np.empty(0, np.int64)
        joint = np.empty((q, max(32, min(512, CACHE_WORDS // q))), np.uint64)
        base, totals = np.array(variables, np.int64), np.zeros(q, np.int64)
        loops.count_by_bits(bits, start, base, none, none, q, True, joint, totals, none)
        return totals.astype(np.float64).reshape(shape)

    def _index(self, base):
        """The joint state of the base variables in each row, (n,)."""
        index = np.zeros(self.n, np.int64)
        for b in base:
            loops.extend_joint_state(index, self.columns[b], int(self.sizes[b]))
        return index

    def compact(self, base):
        """The same and the number of states; renumbered where they are very many."""
        index, states = np.zeros(self.n, np.int64), 1
        for b in base:
            loops.extend_joint_state(index, self.columns[b], int(self.sizes[b]))
            states *= int(self.sizes[b])
            if states > max(4 * self.n, 1 << 16):
                seen, index = np.unique(index, return_inverse=True)
                gone = int(len(seen) > 0 and seen[0] < 0)
                index, states = index - gone, max(len(seen) - gone, 1)
        return index, states

    def cells(self, y: int, given):
        """Counts of the cells of (given, y) that occur, and of their given states."""
        index, _ = self.compact(given)
        loops.extend_joint_state(index, self.columns[y], int(self.sizes[y]))
        kept = index >= 0
        w = self.w[kept] if self.weighted else None
        seen, which = np.unique(index[kept], return_inverse=True)
        N = np.bincount(which, w, len(seen)).astype(np.float64)
        _, group = np.unique(seen // self.sizes[y], return_inverse=True)
        return N, np.bincount(group, N)

    def beside(self, y: int, given, others):
        """N(given, y, z) for each z of the others, flat and one after another.

        Returns
        -------
        tables : array
            Table k, of shape (q, m_y, m_z), begins at offset[k].
        offset : array of shape (len(others),)
        q : int
            States of `given`: all of them, or those that occur if they are very many.
        """
        others = np.asarray(others, np.int64)
        r = self.sizes[others]
        m = int(self.sizes[y])
        states = int(np.prod(self.sizes[list(given)].astype(float)))
        few = bool((self.sizes[[y, *given]] <= MAX_PACKED_STATES).all() and (r <= MAX_PACKED_STATES).all())
        top = int(r.max(initial=1))
        if not self.weighted and few and states * m * max(top - 1, 1) <= MAX_BIT_STATES:
            return self._by_bits(y, given, others, states * m)
        return self._by_index(y, given, others)

    def _by_bits(self, y, given, others, q):
        bits, start = self.bits
        base = np.array([*given, y], np.int64)
        r = self.sizes[others]
        offset = np.concatenate([[0], np.cumsum(r * q)])
        out = np.zeros(int(offset[-1]), np.int64)
        width = max(32, min(512, CACHE_WORDS // q))
        work = int(((r - 1) * q).sum()) * bits.shape[1]
        parts = threads.free() if work >= MIN_PARALLEL_WORDS else 1

        def some(k):
            mine = slice(k * len(others) // parts, (k + 1) * len(others) // parts)
            joint = np.empty((q, width), np.uint64)
            totals = np.zeros(q, np.int64)
            at, z = offset[:-1][mine], others[mine]
            loops.count_by_bits(
                bits, start, base, z, at, q, self.missing, joint, totals, out
            )

        for_each_item(some, range(parts), MAX_SERIAL_WORK if parts > 1 else 0)
        return out.astype(np.float64), offset[:-1], q // int(self.sizes[y])

    def _by_index(self, y, given, others):
        index, states = self.compact(given)
        m, r = int(self.sizes[y]), self.sizes[others]
        most = states * m * float(r.max(initial=1))
        if most > MAX_CELLS:
            raise ValueError(
                f"a table of {most:.3g} cells would be needed: a column of numbers "
                "with so many values is better cut into bins."
            )
        loops.extend_joint_state(index, self.columns[y], m)
        offset = np.concatenate([[0], np.cumsum(r * states * m)])
        out = np.zeros(int(offset[-1]))

        def one(k):
            part = out[offset[k] : offset[k + 1]]
            z = int(others[k])
            column = self.columns[z]
            loops.add_joint_counts(index, column, int(r[k]), self.w, self.weighted, part)

        for_each_item(one, range(len(others)), self.n * len(others))
        return out, offset[:-1], states


def g_statistics(counts: ContingencyTables, y: int, given, others):
    """G = 2 n I(y; z | given) for each z of the others, and degrees of freedom."""
    tables, offset, q = counts.beside(y, given, others)
    sizes = counts.sizes[np.asarray(others, np.int64)]
    G, free = np.empty(len(sizes)), np.empty(len(sizes), np.int64)
    loops.g_statistics_of_tables(tables, offset, q, int(counts.sizes[y]), sizes, G, free)
    return G, free
