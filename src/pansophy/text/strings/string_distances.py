"""Edit distances of texts and other sequences: how many changes turn one into another.

    D(i, j) = least of  D(i-1, j-1) + [a_i != b_j] s(a_i, b_j),
                        D(i-1, j) + d(a_i),   D(i, j-1) + c(b_j)                   (1)

with costs of substituting s, deleting d and inserting c; D(|a|, |b|) is the distance.

    levenshtein  s = d = c = 1
    indel        insertions and deletions only: |a| + |b| - 2 LCS(a, b)
    osa          also swaps of neighbours, none edited again; not a metric
    damerau      also swaps of neighbours, edited or not; a metric

LCS is the longest common subsequence. Jaro's similarity counts symbols in common that
stand near each other, with m of them and t out of order by pairs:

    J = (m/|a| + m/|b| + (m - t)/m) / 3;   Winkler: J + p l (1 - J), l <= 4        (2)

with l the length of the common prefix, p = 0.1. Sequences may be texts, compared by
code points, or lists of anything hashable, such as words.

Cost      O(|a| |b|); matrices of the first two O(|a| |b| / bits of a word), with a
          pattern in each lane of a vector
Refs      [Wagner1974] (1); [Myers1999], [Hyyro2003], [Hyyro2004] bit-parallel;
          [Lowrance1975] damerau; [Winkler1990] (2)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...core.loops.threads import limit_threads, run_tasks
from ...params import Number, ParameterError, check_argument, check_list
from . import _string_distances as loops

KINDS = ("levenshtein", "indel", "osa", "damerau")
LANES = 64  # patterns that take a step together
WORDS = (np.uint16, np.uint32, np.uint64)


class CodedSequences(NamedTuple):
    """Sequences as codes of their symbols; sequence i is codes[starts[i]:ends[i]]."""

    codes: np.ndarray  # int32
    starts: np.ndarray
    ends: np.ndarray
    n_symbols: int

    def of(self, i):
        """Codes of sequence i."""
        return self.codes[self.starts[i] : self.ends[i]]


def coded_sequences(*collections) -> list[CodedSequences]:
    """Collections of sequences with the same codes for the same symbols."""
    sequences = [s for collection in collections for s in collection]
    if any(isinstance(s, Mapping) for s in sequences):
        raise TypeError("edit distances need texts or sequences, not dicts.")
    if all(isinstance(s, str) for s in sequences):
        data = "".join(sequences).encode("utf-32-le", "surrogatepass")
        symbols, codes = np.unique(np.frombuffer(data, np.uint32), return_inverse=True)
        n_symbols = len(symbols)
    else:
        known: dict = {}
        try:
            numbers = [known.setdefault(x, len(known)) for s in sequences for x in s]
        except TypeError as error:
            raise TypeError(
                "edit distances need texts or sequences of hashable symbols."
            ) from error
        codes = np.asarray(numbers, dtype=np.int64)
        n_symbols = len(known)
    codes = codes.astype(np.int32)
    ends = np.cumsum([len(s) for s in sequences], dtype=np.int64)
    starts = ends - np.array([len(s) for s in sequences], dtype=np.int64)
    coded = []
    start = 0
    for collection in collections:
        cut = slice(start, start + len(collection))
        coded.append(CodedSequences(codes, starts[cut], ends[cut], max(1, n_symbols)))
        start = cut.stop
    return coded


def _check_kind(kind):
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {list(KINDS)}, got {kind!r}.")


class EditCosts(NamedTuple):
    """c, d and s of eq. (1) by codes of symbols."""

    insert: np.ndarray  # (n_symbols,)
    delete: np.ndarray  # (n_symbols,)
    substitute: np.ndarray  # (n_symbols, n_symbols)


def _edit_costs(symbols, insert, delete, substitute) -> EditCosts:
    """Costs as arrays; each may be a number or a mapping (1 for what it lacks)."""

    def of_symbols(cost, name):
        if isinstance(cost, Mapping):
            return np.array([float(cost.get(x, 1.0)) for x in symbols])
        return np.full(len(symbols), float(cost))

    n = len(symbols)
    if isinstance(substitute, Mapping):
        s = np.array(
            [[float(substitute.get((x, y), 1.0)) for y in symbols] for x in symbols]
        ).reshape(n, n)
    else:
        s = np.full((n, n), float(substitute))
    np.fill_diagonal(s, 0.0)
    costs = EditCosts(of_symbols(insert, "insert"), of_symbols(delete, "delete"), s)
    for name, values in costs._asdict().items():
        if not (values >= 0).all():
            raise ParameterError(f"costs of {name} must not be negative.")
    return costs


def edit_distance(
    a, b, kind="levenshtein", *, insert=1, delete=1, substitute=1
) -> float:
    """The least cost of turning one sequence into another, eq. (1).

    Parameters
    ----------
    a, b : str or sequence of hashable symbols
    kind : {"levenshtein", "indel", "osa", "damerau"}, default="levenshtein"
    insert, delete : float or mapping of a symbol to its cost, default=1
    substitute : float or mapping of pairs of symbols to their cost, default=1
        A mapping need not hold all pairs: the others cost 1. With kind="indel" nothing
        is substituted; a swap of kind="osa" costs 1; kind="damerau" has unit costs.

    Returns
    -------
    distance : int with unit costs, else float

    Examples
    --------
    >>> from pansophy.text import edit_distance
    >>> [edit_distance("carr", w) for w in ("cat", "car", "cart")]
    [2, 1, 1]
    >>> [edit_distance("carr", w, "indel") for w in ("cat", "car", "cart")]
    [3, 1, 2]
    >>> edit_distance("cat", "bat", substitute={("c", "b"): 0.5})
    0.5
    """
    _check_kind(kind)
    unit = all(isinstance(c, int) and c == 1 for c in (insert, delete, substitute))
    if unit and kind in ("levenshtein", "indel"):
        return int(edit_distances([a], [b], kind)[0, 0])
    if kind == "damerau":
        if not unit:
            raise ParameterError('kind="damerau" has unit costs: take kind="osa".')
        left, right = coded_sequences([a], [b])
        return int(loops.damerau_distance(left.of(0), right.of(0), left.n_symbols))
    distance = _edit_table(a, b, kind, insert, delete, substitute).D[-1, -1]
    return int(distance) if unit else float(distance)


class EditTable(NamedTuple):
    """D of eq. (1), (|a| + 1, |b| + 1), with the costs and codes it was made of."""

    D: np.ndarray
    costs: EditCosts
    a: np.ndarray  # codes
    b: np.ndarray


def _edit_table(a, b, kind, insert, delete, substitute) -> EditTable:
    """The table of eq. (1) for two sequences."""
    left, right = coded_sequences([a], [b])
    symbols: list = [None] * left.n_symbols
    for sequence, coded in ((a, left), (b, right)):
        for symbol, code in zip(sequence, coded.of(0)):
            symbols[code] = symbol
    costs = _edit_costs(symbols, insert, delete, substitute)
    if kind == "indel":
        costs.substitute[~np.eye(len(symbols), dtype=bool)] = np.inf
    D = np.empty((len(a) + 1, len(b) + 1))
    loops.fill_edit_table(
        left.of(0), right.of(0), *costs, 1.0 if kind == "osa" else -1.0, D
    )
    return EditTable(D, costs, left.of(0), right.of(0))


class Edit(NamedTuple):
    """One step of an alignment: symbols of a and of b, None where there is none."""

    operation: str  # "keep", "substitute", "delete", "insert" or "transpose"
    a: Any
    b: Any


@dataclass(frozen=True)
class StringAlignment:
    """A cheapest way from one sequence to another, and its cost.

    Printed, it shows both sequences above each other, with a mark for each edit.
    """

    edits: tuple[Edit, ...]
    cost: float

    def __str__(self):
        top = []
        marks = []
        bottom = []
        for operation, x, y in self.edits:
            x = "" if x is None else "".join(map(str, x))
            y = "" if y is None else "".join(map(str, y))
            width = max(len(x), len(y))
            top.append(x.ljust(width, "-"))
            marks.append((" " if operation == "keep" else operation[0]) * width)
            bottom.append(y.ljust(width, "-"))
        return "\n".join("".join(line) for line in (top, marks, bottom))


def edit_alignment(
    a, b, kind="levenshtein", *, insert=1, delete=1, substitute=1
) -> StringAlignment:
    """A cheapest sequence of edits that turns a into b.

    Where several are equally cheap, symbols are kept or substituted rather than
    deleted, and deleted rather than inserted, from the end.

    Parameters
    ----------
    a, b : str or sequence of hashable symbols
    kind : {"levenshtein", "indel", "osa"}, default="levenshtein"
    insert, delete, substitute
        As in `edit_distance`.

    Examples
    --------
    >>> from pansophy.text import edit_alignment
    >>> print(edit_alignment("kitten", "sitting"))
    kitten-
    s   s i
    sitting
    """
    _check_kind(kind)
    if kind == "damerau":
        raise ParameterError('alignments have kind "levenshtein", "indel" or "osa".')
    D, costs, x, y = _edit_table(a, b, kind, insert, delete, substitute)
    edits = []
    i, j = len(a), len(b)
    while i or j:
        cost = D[i, j]
        swapped = kind == "osa" and i > 1 and j > 1
        swapped = swapped and (x[i - 1], x[i - 2]) == (y[j - 2], y[j - 1])
        if i and j and cost == D[i - 1, j - 1] + costs.substitute[x[i - 1], y[j - 1]]:
            operation = "keep" if x[i - 1] == y[j - 1] else "substitute"
            edits.append(Edit(operation, a[i - 1], b[j - 1]))
            i, j = i - 1, j - 1
        elif swapped and cost == D[i - 2, j - 2] + 1:
            edits.append(Edit("transpose", a[i - 2 : i], b[j - 2 : j]))
            i, j = i - 2, j - 2
        elif i and cost == D[i - 1, j] + costs.delete[x[i - 1]]:
            edits.append(Edit("delete", a[i - 1], None))
            i -= 1
        else:
            edits.append(Edit("insert", None, b[j - 1]))
            j -= 1
    return StringAlignment(tuple(reversed(edits)), float(D[-1, -1]))


def edit_distances(A, B=None, kind="levenshtein", *, n_jobs=None):
    """Edit distances of all pairs of sequences, with unit costs.

    Parameters
    ----------
    A, B : list of str, or of sequences of hashable symbols
        B may be None: all pairs of A.
    kind : {"levenshtein", "indel", "osa", "damerau"}, default="levenshtein"
    n_jobs : int or None
        Threads.

    Returns
    -------
    D : array of shape (len(A), len(B)), int32

    Examples
    --------
    >>> from pansophy.text import edit_distances
    >>> edit_distances(["carr"], ["cat", "car", "cart", "care", "cards", "cast"])
    array([[2, 1, 1, 1, 2, 2]], dtype=int32)
    """
    _check_kind(kind)
    for collection, name in ((A, "A"), (B, "B")):
        if isinstance(collection, str):
            raise ParameterError(f"{name} must be a list of sequences, not one text.")
    A = check_list("A", A, "a list of texts or sequences")
    B = A if B is None else check_list("B", B, "a list of texts or sequences")
    left, right = coded_sequences(A, B)
    out = np.empty((len(left.starts), len(right.starts)), np.int32)
    if not out.size:
        return out
    if kind in ("osa", "damerau"):
        tasks = [partial(_fill_row, left, right, kind, i, out) for i in range(len(A))]
    else:
        tasks = [
            partial(_fill_group, left, right, kind, group, out)
            for group in _groups_of_patterns(left)
        ]
    with limit_threads(n_jobs):
        for _ in run_tasks(tasks):
            pass
    return out


def _fill_row(left, right, kind, i, out):
    """Distances of sequence i to all others, one table each."""
    n = left.n_symbols
    unit = np.ones(n)
    differ = 1.0 - np.eye(n) if kind == "osa" else np.empty((0, 0))
    a = left.of(i)
    for j in range(len(right.starts)):
        b = right.of(j)
        if kind == "damerau":
            out[i, j] = loops.damerau_distance(a, b, n)
        else:
            D = np.empty((len(a) + 1, len(b) + 1))
            loops.fill_edit_table(a, b, unit, unit, differ, 1.0, D)
            out[i, j] = D[-1, -1]


def _groups_of_patterns(left):
    """Indices of up to `LANES` sequences of similar length at a time."""
    order = np.argsort(left.ends - left.starts, kind="stable")
    return [order[start : start + LANES] for start in range(0, len(order), LANES)]


def _fill_group(left, right, kind, group, out):
    """Distances of a group of sequences to all others, a lane for each.

    A sequence longer than a word of bits is cut into blocks that pass on how the rows
    between them change.
    """
    lengths = (left.ends - left.starts)[group]
    word = next((w for w in WORDS if lengths.max() <= 8 * w(0).itemsize), None)
    part = np.empty((len(group), len(right.starts)), np.int32)
    if word is None:
        for row, i in enumerate(group):
            loops.long_distances(
                left.of(i),
                right.codes,
                right.starts,
                right.ends,
                right.n_symbols,
                kind == "indel",
                part[row],
            )
    else:
        matches = np.zeros((right.n_symbols, len(group)), word)
        last = np.zeros(len(group), word)
        for lane, i in enumerate(group):
            bits = word(1) << np.arange(lengths[lane], dtype=word)
            np.bitwise_or.at(matches[:, lane], left.of(i), bits)
            last[lane] = bits[-1] if lengths[lane] else 0
        work = np.empty((3, len(group)), word)
        loop = loops.subsequence_lanes if kind == "indel" else loops.levenshtein_lanes
        loop(matches, last, lengths, right.codes, right.starts, right.ends, work, part)
    if kind == "indel":
        part = lengths[:, None] + (right.ends - right.starts) - 2 * part
    out[group] = part


def longest_common_subsequence(a, b):
    """A longest sequence of symbols that both have in this order.

    Examples
    --------
    >>> from pansophy.text import longest_common_subsequence
    >>> longest_common_subsequence("ABCBDAB", "BDCABA")
    'BCBA'
    """
    kept = [e.a for e in edit_alignment(a, b, "indel").edits if e.operation == "keep"]
    return "".join(kept) if isinstance(a, str) else kept


def jaro_similarity(a, b) -> float:
    """Similarity of two short texts by symbols in common, eq. (2), from 0 to 1.

    Examples
    --------
    >>> from pansophy.text import jaro_similarity
    >>> round(jaro_similarity("MARTHA", "MARHTA"), 4)
    0.9444
    """
    left, right = coded_sequences([a], [b])
    if not len(a) or not len(b):
        return float(len(a) == len(b))
    m, t = loops.jaro_matches(left.of(0), right.of(0))
    return (m / len(a) + m / len(b) + (m - t) / m) / 3 if m else 0.0


def jaro_winkler_similarity(a, b, *, prefix_weight=0.1) -> float:
    """Jaro's similarity, higher for texts that begin alike, eq. (2).

    Examples
    --------
    >>> from pansophy.text import jaro_winkler_similarity
    >>> round(jaro_winkler_similarity("MARTHA", "MARHTA"), 4)
    0.9611
    """
    if not 0 <= check_argument("prefix_weight", prefix_weight, Number) <= 0.25:
        raise ParameterError(
            f"prefix_weight must be between 0 and 0.25, got {prefix_weight}."
        )
    J = jaro_similarity(a, b)
    is_equal = [x == y for x, y in zip(a[:4], b[:4])]
    length = is_equal.index(False) if False in is_equal else len(is_equal)
    return J + prefix_weight * length * (1 - J)
