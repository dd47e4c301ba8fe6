"""Duplicate rows: exact copies, near copies, and copies with conflicting targets.

Rows are equal if all their columns except ids are. They are nearly equal if texts agree
after folding case and spaces and numbers differ by at most t times the spread of their
column (t = 0.001). Exact copies share a 64-bit hash. Near copies are searched for in
blocks: a block hashes a few columns, numbers cut into cells of 32 t with a random
offset, and neighbours within a cell are compared in full. With eight blocks a pair
that differs by t is missed about once in a thousand, and no false pair is reported.

In a table of few or coarse columns rows agree by chance. Two criteria distinguish such
pairs from copies. For exact ones, the number expected if columns were independent,

    E = n (n - 1) / 2  prod_j sum_v p_jv^2.                                      (1)

For near ones, chance puts at least three times as many pairs between t and 4 t as
below t, whatever the number of columns (a density that is flat there grows at least
as the distance); edited copies lie only below t.                                (2)

Cost      n d for exact copies, 8 n d for near ones; memory n beyond the table
"""

from dataclasses import dataclass

import numpy as np

from ...core.random import make_rng
from ..findings import Finding, make_finding
from .columns import TableView, robust_scale, table_view

TOLERANCE = 1e-3
BLOCKS = 8
PER_BLOCK = 6
AHEAD = 3
WIDE = 4.0  # eq. (2)
NAMING = 0.9  # share of different values from which an id is no part of a row
ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Duplicates:
    """Counts and groups of duplicate rows; equal rows have equal `groups` codes.

    `exact` and `near` count the rows that could be dropped. `crossing` has for each
    fold how many of its test rows have an exact or near copy in its training part.
    """

    rows: int
    exact: int
    near: int
    by_chance: float  # exact copies to be expected, eq. (1)
    conflicting: int  # rows whose inputs are those of a row with another target
    ceiling: float | None  # accuracy that no model can exceed because of them
    crossing: tuple[tuple[int, int], ...]  # (test rows with a copy, test rows)
    groups: np.ndarray  # (n,)
    examples: tuple[tuple[int, ...], ...]  # rows of some groups

    @property
    def findings(self) -> list[Finding]:
        return list(_duplicate_findings(self))

    def __str__(self):
        return "\n".join(f.text for f in self.findings) or "No row repeats another."


def duplicates(
    table, target=None, *, splits=None, ignore=(), tolerance=TOLERANCE, random_state=0
) -> Duplicates:
    """Exact, near and conflicting copies of rows, within a table and across folds.

    Parameters
    ----------
    table : path, dataframe, Arrow table, dict of columns or array
    target : str or list of str, optional
        Not part of the inputs; where equal rows have different targets they conflict.
    splits : list of (training rows, test rows), optional
        Copies that a fold has on both sides are counted.
    ignore : names of columns
        Ids, which differ between copies. Columns that number the rows are left out
        anyhow.
    tolerance : float
        Of near copies; 0 looks for exact ones alone.
    random_state : seed

    Examples
    --------
    >>> from pansophy.diagnose import duplicates
    >>> print(duplicates({"a": [1.5, 2.25, 3.0, 1.5], "b": ["x", "y", "z", "x"]}))
    1 of 4 rows repeats another row exactly, for example rows 1 and 4.
    """
    view = table_view(table)
    target_names = [target] if isinstance(target, str) else list(target or ())
    targets = [view[t] for t in target_names]
    inputs = view.without({*ignore, *target_names, *_row_number_columns(view)})
    if not inputs.columns:
        inputs = view.without(target_names)
    keys = row_keys(inputs)
    input_groups = np.unique(keys, return_inverse=True)[1]
    answers = row_keys(TableView(view.n, tuple(targets))) if targets else None
    row_groups = input_groups
    if targets:
        row_groups = np.unique(keys + mix_hash(answers), return_inverse=True)[1]
    exact = view.n - int(row_groups.max(initial=-1)) - 1
    groups = row_groups
    near = 0
    if tolerance > 0 and len(inputs.columns) > 1:
        pairs = _near_pairs(inputs, input_groups, tolerance, make_rng(random_state))
        groups, near = _join_near_copies(
            row_groups, input_groups, pairs, targets, tolerance
        )
    conflicting, ceiling = (
        _conflicting_targets(input_groups, targets) if inputs.columns else (0, None)
    )
    return Duplicates(
        view.n,
        exact,
        near,
        _expected_duplicates(TableView(view.n, (*inputs.columns, *targets))),
        conflicting,
        ceiling,
        _copies_across_folds(groups, splits),
        groups,
        _examples_of(groups),
    )


def _row_number_columns(view) -> set[str]:
    """Names of id columns that have a different value in nearly every row."""
    ids = [c for c in view.columns if c.role == "id"]
    return {c.name for c in ids if len(np.unique(column_bits(c))) >= NAMING * view.n}


def mix_hash(h):
    """A well-mixed hash of 64-bit words."""
    with np.errstate(over="ignore"):
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def row_keys(view) -> np.ndarray:
    """A 64-bit hash of each row."""
    return _hash_rows([column_bits(c) for c in view.columns], view.n)


def _hash_rows(words, n) -> np.ndarray:
    h = np.zeros(n, np.uint64)
    with np.errstate(over="ignore"):
        for w in words:
            h = mix_hash(h * ODD + w + ODD)
    return h


def column_bits(c) -> np.ndarray:
    if c.numbers is None:
        return c.codes.astype(np.int64).view(np.uint64)
    x = c.numbers + 0.0  # no negative zero
    x[np.isnan(x)] = np.nan  # one kind of missing
    return x.view(np.uint64)


def _case_folded_codes(c) -> np.ndarray:
    """Codes of texts after folding case and spaces."""
    place: dict = {}
    new = [
        place.setdefault(" ".join(v.split()).casefold(), len(place)) for v in c.levels
    ]
    return np.array([*new, -1])[c.codes]


def _near_pairs(inputs, exact, t, rng):
    """Pairs (i, j, distance / t) of distinct rows nearer than WIDE t."""
    first = np.sort(np.unique(exact, return_index=True)[1])  # one of each group
    texts = [_case_folded_codes(c)[first] for c in inputs.columns if c.categorical]
    plain = [c.numbers[first] for c in inputs.columns if not c.categorical]
    sizes = [t * robust_scale(x[~np.isnan(x)]) for x in plain]
    by_levels = sorted(range(len(plain)), key=lambda j: -_count_distinct(plain[j]))
    result = {}
    for _ in range(BLOCKS if plain else 1):
        sampled = rng.permutation(by_levels[: 3 * PER_BLOCK])[:PER_BLOCK]
        words = [w.view(np.uint64) for w in texts]
        for j in sampled:
            wide = 8 * WIDE * sizes[j] or 1.0
            cell = np.floor(plain[j] / wide + rng.random())
            words.append(np.where(np.isnan(cell), np.inf, cell).view(np.uint64))
        keys = _hash_rows(words, len(first))
        order = np.argsort(keys, kind="stable")
        for ahead in range(1, AHEAD + 1):
            a, b = order[:-ahead], order[ahead:]
            is_equal = keys[a] == keys[b]
            a, b = a[is_equal], b[is_equal]
            far = _row_difference(a, b, texts, plain, sizes)
            for i in np.flatnonzero(far <= WIDE):
                result[min(a[i], b[i]), max(a[i], b[i])] = far[i]
            if not is_equal.any():
                break
    pairs = np.array([(*p, d) for p, d in result.items()]).reshape(-1, 3)
    return first[pairs[:, 0].astype(int)], first[pairs[:, 1].astype(int)], pairs[:, 2]


def _count_distinct(x) -> int:
    return len(np.unique(x[:5000]))


def _row_difference(a, b, texts, plain, sizes):
    """Largest difference of rows a and b in units of t; infinite if texts differ."""
    far = np.zeros(len(a))
    for codes in texts:
        far[codes[a] != codes[b]] = np.inf
    for x, size in zip(plain, sizes, strict=True):
        left = np.flatnonzero(far <= WIDE)
        if not len(left):
            break
        gap = np.abs(x[a[left]] - x[b[left]])
        gap[np.isnan(x[a[left]]) & np.isnan(x[b[left]])] = 0.0
        difference = np.divide(
            gap, size, out=np.where(gap == 0, 0, np.inf), where=size > 0
        )
        far[left] = np.maximum(
            far[left], np.where(np.isnan(difference), np.inf, difference)
        )
    return far


def _join_near_copies(whole, alone, pairs, targets, t):
    """Groups after joining near copies, and the number of near copies."""
    i, j, far = pairs
    close = far <= 1.0
    if close.sum() <= np.sum(~close):  # eq. (2): chance
        return whole, 0
    i, j = i[close], j[close]
    agree = np.ones(len(i), bool)
    for g in targets:  # a copy with another answer is a conflict, not a repetition
        if g.numbers is None:
            agree &= g.codes[i] == g.codes[j]
        else:
            size = t * robust_scale(g.numbers[~np.isnan(g.numbers)])
            agree &= ~(np.abs(g.numbers[i] - g.numbers[j]) > size)
    i, j = i[agree], j[agree]
    if not len(i):
        return whole, 0
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    k = int(whole.max()) + 1
    links = coo_array((np.ones(len(i)), (whole[i], whole[j])), shape=(k, k))
    count, label = connected_components(links, directed=False)
    return label[whole], k - count


def _expected_duplicates(view) -> float:
    """Expected number of rows that repeat another by chance, eq. (1)."""
    if not view.columns:
        return 0.0
    agree = 1.0
    for c in view.columns:
        share = np.unique(c.labelled(), return_counts=True)[1] / max(view.n, 1)
        agree *= max(float(share @ share) - 1 / view.n, 0.0)
        if agree * view.n**2 < 1e-6:
            return 0.0
    return min(view.n * (view.n - 1) / 2 * agree, float(view.n))


def _conflicting_targets(alone, targets):
    """Number of rows with equal inputs but different targets, and the best accuracy.

    The accuracy is None for targets with many distinct numbers.
    """
    if not targets or not len(alone):
        return 0, None
    known = np.logical_and.reduce([~g.missing for g in targets])
    y = np.unique(row_keys(TableView(len(known), tuple(targets))), return_inverse=True)[
        1
    ]
    known_groups = alone[known]
    y = y[known]
    pairs, counts = np.unique(
        np.column_stack([known_groups, y]), axis=0, return_counts=True
    )
    answers = np.bincount(pairs[:, 0], minlength=1)
    rows = int(np.sum(answers[known_groups] > 1)) if len(known_groups) else 0
    best = np.zeros(len(answers))
    np.maximum.at(best, pairs[:, 0], counts)
    if any(not g.categorical and _count_distinct(g.numbers) > 20 for g in targets):
        return rows, None
    return rows, float(best.sum() / max(len(y), 1))


def _copies_across_folds(groups, splits):
    """For each fold: number of test rows with a copy in training, and of test rows."""
    counts = []
    for train, test in splits or ():
        in_training = np.zeros(int(groups.max(initial=0)) + 1, bool)
        in_training[groups[np.asarray(train)]] = True
        test = np.asarray(test)
        count = int(test.sum()) if test.dtype == bool else len(test)
        counts.append((int(in_training[groups[test]].sum()), count))
    return tuple(counts)


def _examples_of(groups, most=5):
    """Rows of the first few groups of duplicates."""
    counts = np.bincount(groups, minlength=1)
    repeated = np.flatnonzero(counts[groups] > 1)
    first = list(dict.fromkeys(groups[repeated[:1000]].tolist()))[:most]
    return tuple(
        tuple(int(i) for i in repeated[groups[repeated] == g][:5]) for g in first
    )


def _duplicate_findings(d):
    """Findings about duplicate rows."""
    example_text = ""
    if d.examples:
        rows = " and ".join(str(i + 1) for i in d.examples[0][:2])
        example_text = f", for example rows {rows}"
    chance = d.exact > 0 and d.by_chance > 0.2 * d.exact
    if d.exact:
        word = "repeats" if d.exact == 1 else "repeat"
        text = f"{d.exact} of {d.rows} rows {word} another row exactly{example_text}."
        if chance:
            text += " With so few different values this can be chance."
        is_rare = d.exact <= max(2, 0.002 * d.rows)
        yield make_finding(
            "duplicates",
            "note" if chance or is_rare else "warning",
            text,
            rows=d.rows,
            exact=d.exact,
            near=d.near,
            expected=d.by_chance,
        )
    if d.near:
        word = "repeats" if d.near == 1 else "repeat"
        text = (
            f"{d.near} of {d.rows} rows {word} another row but for a tiny change of "
            f"numbers or of the case of texts{'' if d.exact else example_text}."
        )
        yield make_finding(
            "near duplicates",
            "warning",
            text,
            rows=d.rows,
            exact=d.exact,
            near=d.near,
        )
    if d.crossing and sum(c for c, _ in d.crossing):
        yield _crossing_finding(d, chance)
    if d.conflicting:
        text = f"{d.conflicting} rows have the same inputs as a row with another target"
        if d.ceiling is not None and d.ceiling < 0.9995:
            text += f"; no model can be right in more than {d.ceiling:.1%} of the rows"
        is_rare = d.conflicting <= max(2, 0.002 * d.rows)  # as of `duplicates`
        yield make_finding(
            "conflicting duplicates",
            "note" if chance or is_rare else "warning",
            text + ".",
            rows=d.conflicting,
            ceiling=d.ceiling,
        )


def _crossing_finding(d, chance):
    copies, tests = (sum(v) for v in zip(*d.crossing, strict=True))
    share = copies / max(tests, 1)
    text = (
        f"{copies} of {tests} test rows ({share:.1%}) have a copy in the training part "
        "of their fold"
    )
    if chance:
        text += ": no harm if these are different cases that happen to look alike."
    else:
        text += (
            ", so scores look better than they are; keep copies together by a group "
            "or drop them."
        )
    severity = "alarm" if share >= 0.02 else "warning" if share >= 0.005 else "note"
    severity = "note" if chance or d.exact + d.near <= 2 else severity
    return make_finding(
        "duplicates across folds",
        severity,
        text,
        copies=copies,
        tests=tests,
        share=share,
    )
