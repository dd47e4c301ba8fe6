"""Entities: columns that name people or things of which a table has several rows.

Rows of one patient, shop or machine are not independent: folds that part them test on
rows whose siblings were learned from. No list of names tells such a column in every
language, but the rest of the table does: what belongs to the person (age, sex, place)
repeats with them. A key is a column, or a pair of columns, with K values in n rows. It
*determines* a column whose values repeat within the values of the key by more than
chance: of independent rows with shares p_k, the m rows of a value agree with
probability sum_k p_k^m, all values together with

    log10 P = sum over values of the key of log10 sum_k p_k^m                       (1)

A column counts if at least `CONSTANT` of the values agree with (1) below `CHANCE`, and
if it is neither an alias of the key (a name, which determines it in turn) nor made from
it: an age group or the logarithm of an age changes rarely along the age, or in order
with it, whereas weight and sex alternate along the numbers of people. A determined
target counts.

An entity is *certain* with two such columns where it has few rows: a patient with ten
visits, not a state with thousands of inhabitants, whose new rows may well be of states
that are known. Where one key determines another, the finer one is the entity (a pupil
rather than the school).

A key that determines nothing else may still be told by the target, whose values are
alike in its rows: with z_k the mean of the target (its rank, or whether it is the most
frequent class) or of its residuals from a linear model of the columns (pigs grow along
time, each from its own weight) over the rows of value k, s^2 the variance within values
and tau^2 that between them, both are told apart by the F test (below `CHANCE`), and
tau^2 must be `SHARED` of the whole. Ages and brands do this too. Numbers are names
rather than measurements if the mean jumps from each of them to the next, whereas it
follows an age,

    mean of d_k e_k > 3/2 tau^2 / 2,   d_k = z_k - (z_{k-1} + z_{k+1}) / 2,          (2)

d_k from every other row of a value and e_k from the rest, so that noise cancels however
it varies; the mean is 3/2 tau^2 for values without an order and about 0 for a smooth
function. So an entity with a target that is alike is certain if it is named as one
(patient, id), if (2) holds, or if it determines one column; it is likely otherwise.

Cost      n log n for each candidate, `SOME_PAIRS` rows for most other columns of each,
          n for those that repeat; pairs of at most `PAIRED` candidates
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy.stats

from ...tables.roles import CLOCKED, ID_NAME
from .related_columns import ENTITY, adjusted_correlation_ratio
from .row_order import LEVELS, linear_residuals

FEWEST_VALUES = 10  # of a key, with several rows each
FEWEST_REPEATS = 20  # rows beyond the first of their value
REPEATED = 0.05  # of the rows, at least
CONSTANT = 0.98  # of the values of a key whose rows agree
CHANCE = -10.0  # log10 of the probability that they would by chance
FEW_ROWS = 50.0  # of a value, on average
PAIRED = 8  # columns of which pairs are tried
SOME_PAIRS = 200  # of rows, looked at first
MAX_ROWS = 50_000
SHARED = 0.1  # of the variance of the target, between values of a key
SURE = 3.0  # standard errors
FEW_OF_ONE = 20.0  # rows of a value that determines a single column
YEARS = 1500, 2200  # whole numbers in a row that are years, not names


class Entity(NamedTuple):
    """People or things with several rows each."""

    columns: tuple[str, ...]  # that name them: one, or two together
    count: int  # of different ones
    rows: int  # that name one
    determined: tuple[str, ...]  # columns that are the same in all rows of one
    certain: bool
    share: float = 0.0  # of the variance of the target, between them

    @property
    def name(self) -> str:
        return " and ".join(repr(c) for c in self.columns)

    @property
    def comes(self) -> str:
        """Subject and verb: `'id' comes`, `Pairs of 'site' and 'no' come`."""
        if len(self.columns) == 1:
            return f"{self.name} comes"
        return f"Pairs of {self.name} come"


def find_entities(view, target=None, random_state=0) -> list[Entity]:
    """The entities of a table, the most telling first; none of independent rows.

    Parameters
    ----------
    view : TableView
    target : str, optional
        It is no key, but may be determined.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose.data.columns import table_view
    >>> from pansophy.diagnose.data.entities import find_entities
    >>> rng = np.random.default_rng(0)
    >>> person = np.repeat(np.arange(40), 3)
    >>> age, sex = rng.integers(20, 80, 40)[person], rng.integers(0, 2, 40)[person]
    >>> view = table_view({"no": person, "age": age, "sex": sex, "y": rng.random(120)})
    >>> [(e.columns, e.count, e.certain) for e in find_entities(view)]
    [(('no',), 40, True)]
    """
    view = view.sample(MAX_ROWS, random_state)
    coded = {}
    for c in view.columns:
        if c.kind != "empty":
            codes = np.unique(c.labelled(), return_inverse=True)[1].ravel()
            if codes.max(initial=0) > 0:
                coded[c.name] = codes
    keys = {
        (c.name,): _with_missing_apart(coded[c.name], c.missing)
        for c in view.columns
        if c.name in coded and c.name != target and _may_be_key(c)
    }
    if not coded:
        return []
    entities = _entities_of(view, keys, coded)
    if not entities:
        entities = _entities_of(view, _pair_keys(keys, view.n), coded, keys)
    return _without_coarser(sorted(entities, key=lambda e: -len(e.determined)), keys)


def entities_by_target(view, y, known=(), target=None) -> list[Entity]:
    """Keys in whose rows the target is alike beyond doubt, eq. (2).

    Parameters
    ----------
    view : TableView
    y : array (n,)
        Scores of the target, NaN where it is missing.
    known : list of Entity
        What `find_entities` found; there are no more if one of them is certain.
    target : str, optional
        It is no key.
    """
    if any(e.certain for e in known):  # what belongs to them is alike as well
        return []
    if np.isnan(y).any():
        has_target = np.flatnonzero(~np.isnan(y))
        view, y = view.take(has_target), y[has_target]
    if len(y) < FEWEST_REPEATS:
        return []
    determined = {e.columns: e.determined for e in known}
    residuals = linear_residuals(view, y)
    entities = []
    for c in view.columns:
        if c.kind == "empty" or c.name == target or not _may_be_key(c):
            continue
        if CLOCKED.search(c.name) or _are_years(c):
            continue
        codes = c.labelled()
        if (codes < 0).any():
            continue
        z = np.unique(codes, return_inverse=True)[1].ravel()
        if not _is_repeated(z):
            continue
        is_coded = c.numbers is None and len(c.levels) <= LEVELS
        rest = linear_residuals(view.without({c.name}), y) if is_coded else residuals
        shares = [adjusted_correlation_ratio(z, v) ** 2 for v in (y, rest)]
        share = max(s if np.isfinite(s) else 0.0 for s in shares)
        scores = y if shares[0] == share else rest
        if not share > SHARED or not _differs_by_key(z, scores):
            continue
        rows_of_one = view.n / (z.max() + 1)
        other_columns = determined.get((c.name,), ())
        named = bool(ENTITY.search(c.name) or ID_NAME.search(c.name))
        nominal = c.numbers is not None and _jumps_between_values(z, scores)
        has_few_rows = len(other_columns) > 0 and rows_of_one <= FEW_OF_ONE
        certain = bool((named or nominal or has_few_rows) and rows_of_one <= FEW_ROWS)
        if named or nominal or c.numbers is None:
            count = int(z.max()) + 1
            entities.append(
                Entity((c.name,), count, view.n, other_columns, certain, float(share))
            )
    return sorted(entities, key=lambda e: (not e.certain, -e.share))


def _are_years(c) -> bool:
    """Whether a column holds whole numbers in a row that look like years."""
    if c.numbers is None:
        return False
    values = np.unique(c.numbers[~c.missing])
    inside = values[0] >= YEARS[0] and values[-1] <= YEARS[1]
    return bool(inside and np.mean(np.diff(values) == 1) > 0.8)


def _differs_by_key(z, y) -> bool:
    """Whether means of y by key differ beyond doubt, by the F test."""
    k = int(z.max()) + 1
    n = len(y)
    counts = np.bincount(z)
    means = np.bincount(z, y) / counts
    within_groups = float(((y - means[z]) ** 2).sum())
    between_groups = float(counts @ (means - y.mean()) ** 2)
    if within_groups == 0:
        return between_groups > 0
    F = (between_groups / (k - 1)) / (within_groups / (n - k))
    return bool(scipy.stats.f.logsf(F, k - 1, n - k) < CHANCE * np.log(10))


def _jumps_between_values(z, y) -> bool:
    """Whether the mean of y jumps from value to value of an ordered key, eq. (2)."""
    first, second = _halves_of_values(z, y)
    if len(first) < 5:
        return False
    covariance = np.cov(first, second)[0, 1]
    d, e = (m[1:-1] - (m[:-2] + m[2:]) / 2 for m in (first, second))
    products = d * e
    error = products.std(ddof=1) / np.sqrt(len(products))
    mean = products.mean()
    return bool(mean > 0.75 * covariance > 0 and mean > SURE * error)


def _halves_of_values(z, y) -> tuple[np.ndarray, np.ndarray]:
    """Means of y over every other row of each value of a key, and over the others."""
    order = np.argsort(z, kind="stable")
    counts = np.bincount(z)
    start = np.cumsum(counts) - counts
    half = np.empty(len(z), int)
    half[order] = (np.arange(len(z)) - start[z[order]]) % 2
    is_repeated_value = counts > 1
    means = []
    for k in (0, 1):
        rows = half == k
        size = np.maximum(np.bincount(z[rows], minlength=len(counts)), 1)
        means.append(
            (np.bincount(z[rows], y[rows], len(counts)) / size)[is_repeated_value]
        )
    return means[0], means[1]


def _may_be_key(c) -> bool:
    """Whether a column may name people or things: a text, or whole numbers."""
    if c.numbers is None:
        return True
    x = c.numbers[~c.missing]
    return c.kind == "number" and len(x) > 0 and bool(np.all(x == np.floor(x)))


def _with_missing_apart(codes, missing) -> np.ndarray:
    """Codes in which every missing value is one of its own: it names nobody."""
    if not missing.any():
        return codes
    codes = codes.copy()
    codes[missing] = codes.max() + 1 + np.arange(int(missing.sum()))
    return np.unique(codes, return_inverse=True)[1].ravel()


def _is_repeated(codes) -> bool:
    """Whether enough different values come in several rows."""
    sizes = np.bincount(codes)
    repeats = len(codes) - len(sizes)
    n_repeated = np.count_nonzero(sizes > 1)
    return n_repeated >= FEWEST_VALUES and repeats >= max(
        FEWEST_REPEATS, REPEATED * len(codes)
    )


def _pair_keys(keys, n) -> dict:
    """Pairs of candidate columns as keys: persons numbered within each site."""
    coarse = [k for k, codes in keys.items() if codes.max() + 1 < n / 2][:PAIRED]
    joint_keys = {}
    for a, b in combinations(coarse, 2):
        sizes = int(keys[a].max()) + 1, int(keys[b].max()) + 1
        joint = keys[a].astype(np.int64) * sizes[1] + keys[b]
        joint = np.unique(joint, return_inverse=True)[1].ravel()
        if joint.max() + 1 > 1.5 * max(sizes):  # neither determines the other
            joint_keys[a + b] = joint
    return joint_keys


def _entities_of(view, keys, coded, parts=None) -> list[Entity]:
    """The keys among some candidates that determine columns.

    `parts` are the single columns of pairs, which must not do so alone.
    """
    entities = []
    table = np.stack(list(coded.values())).astype(np.int32)
    for names, codes in keys.items():
        if not _is_repeated(codes):
            continue
        count = int(codes.max()) + 1
        repeats = repeats_of(codes)
        likely = _often_equal(repeats, table)
        ordered = len(names) == 1 and view[names[0]].numbers is not None
        part_repeats = [repeats_of(parts[k,]) for k in names] if parts else []
        determined = tuple(
            other_name
            for (other_name, values), may_be in zip(coded.items(), likely, strict=True)
            if may_be
            and other_name not in names
            and is_determined(repeats, values)
            and not (_may_be_key(view[other_name]) and _is_alias(codes, values))
            and not (ordered and _is_made_from(codes, values))
            and not any(is_determined(r, values) for r in part_repeats)
        )
        certain = len(determined) >= 2 and view.n <= FEW_ROWS * count
        if determined:
            entities.append(Entity(names, count, view.n, determined, certain))
    return entities


class Repeats(NamedTuple):
    """Rows of the same value of a key, next to each other in its order."""

    key: np.ndarray  # (n,) codes
    first: np.ndarray  # (p,) a row, and
    second: np.ndarray  # (p,) the next one of the same value
    sizes: np.ndarray  # rows of each value


def repeats_of(key) -> Repeats:
    """The pairs of neighbouring rows with the same value of a key."""
    order = np.argsort(key, kind="stable")
    is_same_key = np.flatnonzero(key[order][1:] == key[order][:-1])
    return Repeats(key, order[is_same_key], order[is_same_key + 1], np.bincount(key))


def _often_equal(repeats, table) -> np.ndarray:
    """Mask (d,) of columns of codes (d, n) that may be determined, by some pairs."""
    pairs = len(repeats.first)
    sampled = np.linspace(0, pairs - 1, min(pairs, SOME_PAIRS)).astype(int)
    equal = table[:, repeats.first[sampled]] == table[:, repeats.second[sampled]]
    return equal.mean(1) > 1 - 10 * (1 - CONSTANT)


def is_determined(repeats, values) -> bool:
    """Whether values repeat within those of a key by more than chance, eq. (1)."""
    key, first, second, sizes = repeats
    if len(first) == 0:
        return False
    changed = np.zeros(len(sizes), bool)
    changed[key[first[values[first] != values[second]]]] = True
    is_repeated_value = sizes > 1
    agree = float(np.mean(~changed[is_repeated_value]))
    if agree < CONSTANT:
        return False
    shares = np.bincount(values) / len(values)
    m, times = np.unique(sizes[is_repeated_value], return_counts=True)
    by_chance = np.log10([np.sum(shares**k) for k in m])
    return float(agree * times @ by_chance) < CHANCE


def _is_alias(key, values) -> bool:
    """Whether the values determine the key in turn: another name of the same."""
    pairs = np.unique(np.column_stack([key, values]), axis=0)
    return len(pairs) <= 1.02 * (int(values.max()) + 1)


def _is_made_from(key, values) -> bool:
    """Whether values follow an ordered key: in order, or in few intervals of it."""
    order = np.argsort(key, kind="stable")
    in_key_order = values[order]
    count = int(values.max()) + 1
    if count > 0.5 * (int(key.max()) + 1):
        steps = np.sign(np.diff(in_key_order.astype(np.int64)))
        steps = steps[steps != 0]
        return bool(abs(steps.sum()) >= CONSTANT * len(steps))
    return int(np.count_nonzero(np.diff(in_key_order))) < 2 * count


def _without_coarser(found, keys) -> list[Entity]:
    """Without keys that a finer key determines, nor other names of the same."""
    finest: list[Entity] = []
    for e in found:
        if len(e.columns) == 1 and any(
            set(e.columns) <= set(f.determined) for f in found if f is not e
        ):
            continue
        equivalents = [
            f
            for f in finest
            if len(e.columns) == len(f.columns) == 1
            and _is_alias(keys[e.columns], keys[f.columns])
        ]
        if not equivalents:
            finest.append(e)
    return finest
