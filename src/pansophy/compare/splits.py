"""Folds: stratified, grouped, time-ordered or plain, chosen from the schema.

Every method sees the same folds. In r repeats of k folds each row is held out r times,
by models that were fitted on rows with which it shares

    nothing             plain; stratified if every fold has its share of each class
    no group            grouped: rows of one group are in one fold
    no later row        time-ordered: training rows come before the test rows; rows of
                        one moment are on one side, `gap` rows between are left out

A group is what the schema names, and on request rows with identical inputs as well,
since a copy of a training row in the test part rewards memorisation.

In a panel the same units (people, shops) come at many moments. With both a group and a
time later rows can be of the same units, predicted from all rows before them, or of new
ones: the units are dealt into parts, each of which is predicted from earlier rows of
the others. Where units come at few moments (each follows the one before) no unit is
both in training and in test rows.

Every training part holds every class. With two classes every test part does too, since
a score of one class alone says nothing. With more than two, a class with fewer rows
than folds is in as many test parts as it has rows: a loss is a mean over rows,
whichever part they are in, and scores by class are means over those that occur. A note
names the class. Where a class, group or time has too few members, there are fewer folds
and a note says so, or one sentence says why there can be none.

The ratio of test to training rows is what the corrected variance of
`evaluation.statistics` needs; time-ordered folds differ in it and the mean is used.

`inner_folds` are folds inside the training rows of a fold, of the same kind.
"""

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from ..params import ParameterError
from ..tables import TableError

MANY_GROUPS = 5000  # groups beyond which chance spreads the classes well enough
KINDS = ("auto", "plain", "stratified", "grouped", "time")
KEPT_OF_TRAINING = 0.5  # of the earlier rows, if no unit may be on both sides


@dataclass(frozen=True)
class Split:
    """The folds of a comparison.

    Attributes
    ----------
    kind : str
        "stratified", "plain", "grouped", "stratified grouped" or "time-ordered".
    why : str
        The reason, in words.
    folds : list of (train, test)
        Row numbers, repeat after repeat.
    repeats, per_repeat : int
        Cross-validations, and folds in each.
    notes : tuple of str
        What had to give way.
    units : str
        With a group and a time whether later rows are of the "same" or of "new" units.
    """

    kind: str
    why: str
    folds: list = field(repr=False)
    repeats: int = 1
    notes: tuple[str, ...] = ()
    units: str = ""

    @property
    def per_repeat(self) -> int:
        return len(self.folds) // self.repeats

    @property
    def ratio(self) -> float:
        """Test rows over training rows, in the mean of the folds."""
        return float(np.mean([len(b) / len(a) for a, b in self.folds]))

    def tested(self, n) -> np.ndarray:
        """Rows, of n, that are held out in the first repeat: all, but along time."""
        out = np.zeros(n, dtype=bool)
        for _, test in self.folds[: self.per_repeat]:
            out[test] = True
        return out

    def times(self, data) -> np.ndarray | None:
        """The times of the rows, where the folds run along them."""
        return data.time if self.kind == "time-ordered" else None

    def summary(self) -> dict:
        return {
            "kind": self.kind,
            "why": self.why,
            "folds": self.per_repeat,
            "repeats": self.repeats,
            "ratio": self.ratio,
            "notes": list(self.notes),
            **({"units": self.units} if self.units else {}),
        }

    def __str__(self):
        word = "fold" if self.per_repeat == 1 else "folds"
        repeats_text = f"{self.repeats} x " if self.repeats > 1 else ""
        text = f"{repeats_text}{self.per_repeat} {self.kind} {word}: {self.why}."
        return " ".join([text, *self.notes])


def folds_of(y, task, folds, repeats, seed):
    """[(train, test)] of stratified or plain folds, for all repeats."""
    kind = RepeatedStratifiedKFold if task == "classification" else RepeatedKFold
    cut = kind(n_splits=folds, n_repeats=repeats, random_state=seed)
    return _split_quietly(cut, np.zeros(len(y)), y)


def _split_quietly(way, *rows) -> list:
    """The folds of a splitter; that a class has few rows is told in a note."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        return list(way.split(*rows))


def make_splits(
    data,
    schema,
    *,
    folds=5,
    repeats=1,
    seed=0,
    kind="auto",
    together=False,
    gap=0,
    units=None,
) -> Split:
    """The folds for some rows.

    Parameters
    ----------
    data : Data
    schema : Schema
        Names the task, the classes, and the columns of groups and times.
    folds, repeats : int
        Along time there are no repeats.
    kind : {"auto", "plain", "stratified", "grouped", "time"}
        By default along time if there is a time column, else grouped if there are
        groups, else stratified for classes and labels, else plain.
    together : bool
        Whether rows with the very same inputs stay in one fold.
    gap : int
        Rows left out between training and test rows along time.
    units : {"same", "new"} or None
        With a group and a time whether later rows are of the same units or of new ones;
        by default of the same, where these come at many moments.
    """
    _check_split_options(data, kind, folds, repeats, gap)
    notes: list[str] = []
    copies = None
    group = data.group
    reason = f"rows of one {schema.group or 'group'} stay together"
    if kind in ("plain", "stratified"):
        group = None
    if together:
        copies = duplicate_groups(data.frame)
        if copies is not None:
            text = "rows with the same inputs stay together"
            reason = text if group is None else f"{reason}, and {text}"
            group = copies if group is None else merge_groups(group, copies)
    is_over_time = kind == "time" or (kind == "auto" and data.time is not None)
    labels = (
        _stratification_codes(data.y, schema.task, folds) if kind != "plain" else None
    )
    if is_over_time and data.group is not None and kind == "auto":
        units = units or _default_units(data, folds, gap)
        if units == "same":
            group = None if group is data.group else copies
        elif units == "new":
            return _panel_split(data, schema, folds, repeats, seed, gap, notes)
    if is_over_time:
        split = _time_ordered_split(data, schema, group, folds, repeats, gap, notes)
        return replace(split, units=units or "")
    if group is not None:
        return _grouped_split(
            data, schema, group, labels, folds, repeats, seed, reason, notes
        )
    n = len(data)
    if labels is None:
        folds = _check_row_count(n, folds)
        reason = "as asked" if kind == "plain" else "the target is a number"
        return Split(
            "plain", reason, folds_of(data.y, "", folds, repeats, seed), repeats
        )
    folds = _folds_for_rarest_class(labels, schema, folds, notes)
    _check_row_count(n, folds)
    cut = folds_of(labels, "classification", folds, repeats, seed)
    reason = "every fold has its share of each class"
    if schema.task == "multilabel":
        reason = "every fold has its share of each combination of labels"
    return Split("stratified", reason, cut, repeats, tuple(notes))


def _check_split_options(data, kind, folds, repeats, gap):
    if kind not in KINDS:
        raise ParameterError(f"split must be one of {', '.join(KINDS)}, got {kind!r}.")
    for name, value, minimum in (
        ("folds", folds, 2),
        ("repeats", repeats, 1),
        ("gap", gap, 0),
    ):
        if not isinstance(value, int | np.integer) or value < minimum:
            text = f"{name} must be a whole number of at least {minimum}"
            raise ParameterError(f"{text}, got {value!r}.")
    if kind == "grouped" and data.group is None:
        raise TableError("Grouped folds need a column of groups; name one.")
    if kind == "time" and data.time is None:
        raise TableError("Folds along time need a column of times; name one.")
    for name in ("group", "time"):
        values = getattr(data, name)
        if values is not None and values.dtype.kind == "f" and np.isnan(values).any():
            first_missing = int(np.flatnonzero(np.isnan(values))[0]) + 1
            raise TableError(f"The {name} of row {first_missing} is missing.")


def _check_row_count(n, folds) -> int:
    if n < 2 * folds:
        raise TableError(
            f"{n} rows are too few for {folds} folds; at least {2 * folds} are needed."
        )
    return folds


# --- classes -----------------------------------------------------------------------


def _stratification_codes(y, task, folds) -> np.ndarray | None:
    """Codes whose shares every fold should have."""
    if task == "classification":
        return y
    if task != "multilabel":
        return None
    _, code = np.unique(np.asarray(y), axis=0, return_inverse=True)
    code = code.ravel()
    rare = np.bincount(code)[code] < folds
    code = np.where(rare, code.max() + 1, code)  # rare combinations go as one
    _, code, counts = np.unique(code, return_inverse=True, return_counts=True)
    return np.zeros_like(code) if counts.min() < folds else code


def _class_name(schema, code) -> str:
    known = code < len(schema.classes)
    return repr(schema.classes[code] if known else int(code))


def _folds_for_rarest_class(labels, schema, folds, notes) -> int:
    """Fewer folds where one of two classes is too rare to be in each."""
    counts = np.bincount(labels)
    rare = int(np.argmin(np.where(counts > 0, counts, counts.max() + 1)))
    fewest = int(counts[rare])
    if fewest < 2:
        raise TableError(
            f"Class {_class_name(schema, rare)} has one row, which cannot be both "
            "learned from and tested on."
        )
    if schema.task == "classification" and np.count_nonzero(counts) > 2:
        folds = min(folds, int(counts.max()))
        notes += _rare_class_notes(counts, schema, folds)
        return folds
    if fewest < folds:
        notes.append(
            f"{fewest} folds, since class {_class_name(schema, rare)} has {fewest} "
            "rows."
        )
    return min(folds, fewest)


def _rare_class_notes(counts, schema, folds) -> list[str]:
    """A note about classes that are not in the test rows of every fold."""
    rare = np.flatnonzero((counts > 0) & (counts < folds))
    if len(rare) == 0:
        return []
    named = [f"{_class_name(schema, k)} ({counts[k]} rows)" for k in rare[:3]]
    named += [f"{len(rare) - 3} more"] if len(rare) > 3 else []
    plural, pronoun = ("es", "they are") if len(rare) > 1 else ("", "it is")
    return [
        f"Class{plural} {', '.join(named)} cannot be among the test rows of all "
        f"{folds} folds: {pronoun} learned in every fold, but what is said of so few "
        "rows means little; to do without, merge with another class or take the rows "
        "out of the table."
    ]


def _missing_class(cut, y, schema) -> str:
    """The class that some part of some fold lacks but needs, or nothing."""
    if schema.task != "classification":
        return ""
    labels_present = np.unique(y)
    for parts in cut:
        for rows in parts if len(labels_present) == 2 else parts[:1]:
            missing = np.setdiff1d(labels_present, y[rows])
            if len(missing):
                return _class_name(schema, int(missing[0]))
    return ""


# --- groups ------------------------------------------------------------------------


def _grouped_split(
    data, schema, group, labels, folds, repeats, seed, reason, notes
) -> Split:
    """Folds of whole groups, with like shares of the classes as far as that goes."""
    _, group = np.unique(group, return_inverse=True)
    total = int(group.max()) + 1
    requested = folds
    if total < 2:
        raise TableError("All rows are of one group, so that none can be held out.")
    y = data.y
    if schema.task == "classification":
        pairs = np.unique(np.column_stack([y, group]), axis=0)
        spread = np.bincount(pairs[:, 0].astype(int))
        thin = int(np.argmin(np.where(spread > 0, spread, spread.max() + 1)))
        if spread[thin] < 2:
            raise TableError(
                f"Class {_class_name(schema, thin)} is found in one group only, so "
                "that no fold can both learn it and test it."
            )
        has_two_classes = np.count_nonzero(spread) == 2
        folds = min(
            folds, int(spread[thin] if has_two_classes else np.bincount(y).max())
        )
    folds = min(folds, total)
    balanced = labels is not None and total <= MANY_GROUPS
    cut: list = []
    for k in range(folds, 1, -1):
        cut = _group_folds(
            len(y), labels if balanced else None, group, k, repeats, seed
        )
        if not _missing_class(cut, y, schema):
            break
    else:
        raise TableError(
            "The groups cannot be dealt so that class "
            f"{_missing_class(cut, y, schema)} is in every part; a class needs to be "
            "in several groups."
        )
    if schema.task == "classification" and len(np.unique(y)) > 2:
        notes += _rare_class_notes(np.bincount(y), schema, k)
    if k < requested:
        notes.append(f"{k} folds, since there are too few groups for {requested}.")
    kind = "stratified grouped" if balanced else "grouped"
    return Split(kind, reason, cut, repeats, tuple(notes))


def _group_folds(n, labels, group, folds, repeats, seed) -> list:
    cut = []
    for r in range(repeats):
        state = np.random.RandomState([seed, r])
        if labels is None:
            way = GroupKFold(folds, shuffle=True, random_state=state)
        else:
            way = StratifiedGroupKFold(folds, shuffle=True, random_state=state)
        cut += _split_quietly(way, np.zeros(n), labels, group)
    return cut


def duplicate_groups(frame) -> np.ndarray | None:
    """A code for each different row of inputs; None if all rows differ."""
    columns = [np.where(np.isnan(frame.values), np.inf, frame.values) + 0.0]
    for text in frame.texts:
        codes = text.dictionary_encode()
        codes = codes.combine_chunks() if hasattr(codes, "chunks") else codes
        columns.append(codes.indices.fill_null(-1).to_numpy(False)[:, None])
    rows = np.ascontiguousarray(np.column_stack(columns), dtype=float)
    row_bytes = rows.view([("", np.void, rows.shape[1] * 8)]).ravel()
    result, code = np.unique(row_bytes, return_inverse=True)
    return None if len(result) == len(rows) else code.ravel()


def merge_groups(a, b) -> np.ndarray:
    """Codes of rows that are linked by either grouping, however far around."""
    _, a = np.unique(a, return_inverse=True)
    _, b = np.unique(b, return_inverse=True)
    start = int(a.max()) + 1
    size = start + int(b.max()) + 1
    links = coo_array((np.ones(len(a)), (a, b + start)), shape=(size, size))
    _, part = connected_components(links, directed=False)
    return part[a]


# --- time --------------------------------------------------------------------------


def _time_ordered_split(data, schema, group, folds, repeats, gap, notes) -> Split:
    """Forward chaining: each part is predicted from all that came before it."""
    column = schema.time or "time"
    order = np.argsort(data.time, kind="stable")
    t = data.time[order]
    if t[0] == t[-1]:
        raise TableError(f"All rows have the same {column}; there is no order in them.")
    if repeats > 1:
        notes.append("No repeats, since time runs once.")
    _check_row_count(len(t), folds)
    cut = []
    missing = ""
    for k in range(folds, 1, -1):
        cut = _forward_folds(order, t, k, gap, group)
        missing = _missing_class(cut, data.y, schema)
        if len(cut) == k and not missing:
            break
    else:
        text = f"The rows cannot be cut along {column} into parts that can be tested"
        reason = f": class {missing} is not in all of them" if missing else ""
        raise TableError(text + reason + ".")
    if k < folds:
        gone = _missing_class(
            _forward_folds(order, t, folds, gap, group), data.y, schema
        )
        fault = f"a part without class {gone}" if gone else "too few different times"
        notes.append(f"{k} folds, since with {folds} there would be {fault}.")
    reason = (
        f"rows have an order in {column}, and later ones are predicted from earlier"
    )
    return Split("time-ordered", reason, cut, 1, tuple(notes))


def _default_units(data, folds, gap) -> str | None:
    """ "same" where hardly any earlier row is of a unit without later rows."""
    order = np.argsort(data.time, kind="stable")
    t = data.time[order]
    joint_folds = _forward_folds(order, t, folds, gap, None)
    parted = _forward_folds(order, t, folds, gap, data.group)
    kept = [len(train) for train, _ in parted] + [0] * (len(joint_folds) - len(parted))
    full = [len(train) for train, _ in joint_folds]
    lost_most = np.array(kept) < KEPT_OF_TRAINING * np.array(full)
    return "same" if lost_most.any() else None


def _panel_split(data, schema, folds, repeats, seed, gap, notes) -> Split:
    """Later rows of new units: parts along time, in each of which the units are dealt.

    Every later row is tested once, by a model of earlier rows of other units.
    """
    _, unit = np.unique(data.group, return_inverse=True)
    count = int(unit.max()) + 1
    k = min(folds, count)
    if k < 2:
        raise TableError("All rows are of one group, so that none can be held out.")
    dealt = np.random.RandomState([seed, 0]).permutation(count) % k
    part = dealt[unit.ravel()]
    joint_split = _time_ordered_split(data, schema, None, folds, repeats, gap, notes)
    cut = []
    for train, test in joint_split.folds:
        for p in range(k):
            pair = train[part[train] != p], test[part[test] == p]
            if len(pair[0]) and len(pair[1]):
                cut.append(pair)
    missing = _missing_class(cut, data.y, schema)
    if missing:
        raise TableError(
            f"Later rows of new {schema.group!r} cannot be tested: class {missing} is "
            "not in all parts."
        )
    reason = f"later rows of each {schema.group!r} are predicted from earlier of others"
    return replace(joint_split, folds=cut, why=reason, units="new")


def _forward_folds(order, t, folds, gap, group) -> list:
    """[(train, test)] along time; rows of one moment are never parted."""
    cuts = [round(i * len(t) / (folds + 1)) for i in range(1, folds + 1)]
    starts = np.unique(np.searchsorted(t, t[cuts], side="left"))
    starts = starts[starts > 0]
    ends = [*starts[1:], len(t)]
    cut = []
    for start, end in zip(starts, ends):
        test, train = order[start:end], order[: max(start - gap, 0)]
        if group is not None:
            train = train[~np.isin(group[train], group[test])]
        if len(train) and len(test):
            cut.append((np.sort(train), np.sort(test)))
    return cut


def fold_horizon(folds, time) -> int:
    """Median number of moments that a fold along time looks ahead; 0 without time."""
    if time is None:
        return 0
    return int(np.median([len(np.unique(time[test])) for _, test in folds]))


# --- inner folds -------------------------------------------------------------------


def inner_folds(y, folds=3, *, group=None, time=None, seed=0) -> list:
    """[(train, test)] inside training rows, cut as the outer folds are."""
    y = np.asarray(y)
    n = len(y)
    classes = y.ndim == 1 and y.dtype.kind in "iub"
    empty = np.zeros(n)
    if time is not None:
        time = np.asarray(time)
        order = np.argsort(time, kind="stable")
        for units in (group, None):  # none where each group comes at all moments
            cut = _forward_folds(order, time[order], min(folds, n - 1), 0, units)
            if cut:  # none if all rows are of one moment
                return cut
    fewest = int(np.bincount(y).clip(1)[np.unique(y)].min()) if classes else n
    if group is not None:
        k = min(folds, len(np.unique(group)))
        if k < 2:
            group = None
        elif classes:
            cut = StratifiedGroupKFold(
                min(k, max(2, fewest)), shuffle=True, random_state=seed
            )
            return list(cut.split(empty, y, group))
        else:
            return list(GroupKFold(k).split(empty, y, group))
    if classes and fewest >= 2:
        kind = StratifiedKFold(min(folds, fewest), shuffle=True, random_state=seed)
    else:
        kind = KFold(min(folds, n), shuffle=True, random_state=seed)
    return list(kind.split(empty, y))
