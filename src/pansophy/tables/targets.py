"""Infers the task from the target: classes, ordered classes, numbers, counts, labels.

The rule of `detect_task`. No target: unsupervised. Two different values of any type:
classification. Texts, categories, true and false: classification, of ordered classes
("ordinal") if the category is ordered or three or more texts have a natural order (low,
medium, high). Lists: several labels. Whole numbers of integer type with at most `FEW`
different values: ordered classes if the name of the column says so (quality, rating,
stars), counts if they are distributed like counts (`_is_few_counts`), else
classification. Numbers of floating type with three to `FEW` values on an even grid,
each of them in several rows (ratings 1.0 to 5.0): ordered classes. More whole numbers
that look like counts (`_is_count`): a count. All other numbers: regression.
"""

import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..core.suggestions import unknown_column_message
from . import column_values, number_formats
from .column_values import TableError
from .ordinal_levels import order_of
from .roles import ordered_levels

FEW = 10  # whole-number targets with at most this many values are classes
COUNT_MEAN = 35  # measured whole numbers are larger in the mean than counts are
HINTED_MEAN = 1000  # whole numbers up to this mean may be counts all the same
SMALL_MEAN = 10  # counts of at most this mean may begin at 1
FEWEST_COUNTS = 4  # different values of counts; fewer may be codes of classes
FEWEST_MEAN = 0.65  # of counts with few values; below, nearly all rows are 0 or 1
SPREAD = 1.3  # variance over mean of counts of a smaller mean
LONG_TAIL = 6  # different values of counts that no count distribution fits
ERRORS = 3  # standard errors that a moment may be off
UNLIKELY = 0.001  # chance that a count would not look like one
COMMON = 9  # rows expected of a value that a count does not leave out
TAPERED = 1 / 3  # rows of the largest of few counts, in rows of the commonest
RARE = 0.02  # share of the rows that have the largest of few counts
HEAPED = 0.5  # share of multiples of 5 beyond which numbers were read off or rounded
ROWS_A_GRADE = (
    5  # rows of an ordered class, in the mean, where numbers are read as such
)
TASKS = ("classification", "ordinal", "regression", "count", "multilabel")
GRADED = re.compile(
    r"quality|rating|stars?\b|grade|likert|satisf|agree|severity|stage\b|rank\b|level\b"
    r"|score\b|opinion|health\b",
    re.IGNORECASE,
)  # names of columns whose few whole numbers are in order
SEPARATORS = ";|,"  # of labels in one text
MEANINGS = {
    "classification": "they are classes",
    "count": "they are counts",
    "regression": "they are amounts",
    "multilabel": "each is several labels",
}  # what values of a target would be in another task


class TargetTask(NamedTuple):
    """A task and the reason for it."""

    task: str
    why: str


class TaskGuess(NamedTuple):
    """A task, what of the target speaks for it, and what else it may be."""

    task: str | None  # None where there is no target, or none that can be one
    fact: str
    alternative: str = ""  # a task to ask for where the values mean something else

    @property
    def why(self) -> str:
        """The reason as a sentence, which names the alternative."""
        if not self.alternative:
            return self.fact
        meaning = MEANINGS[self.alternative]
        return f"{self.fact}; ask for task={self.alternative!r} if {meaning}"


class TargetSchema(NamedTuple):
    """Task, classes and labels of a target."""

    task: str
    why: str
    classes: tuple = ()
    labels: tuple[str, ...] = ()
    form: str = ""  # of numbers as text; of labels in one column: separator or "list"
    ordered: bool = False  # whether the classes are in order


def detect_task(y=None, name="y") -> TargetTask:
    """Infer the task from a target, by the rule of the module text.

    Parameters
    ----------
    y : array, Arrow column, list or None
    name : str
        Used in the reason.

    Examples
    --------
    >>> from pansophy.tables import detect_task
    >>> detect_task([0, 1, 1, 0]).task
    'classification'
    >>> detect_task([0.0, 1.0, 1.0, None])
    TargetTask(task='classification', why='y has two different values')
    >>> detect_task([1.0, 2.0, 3.0, 4.0, 5.0] * 5).task
    'ordinal'
    >>> detect_task().task
    'unsupervised'
    """
    guess = guess_task(y, name)
    return TargetTask(str(guess.task), guess.why)


def guess_task(y=None, name="y") -> TaskGuess:
    """The task of a target, with the fact that decided and what else it may be."""
    if y is None:
        return TaskGuess("unsupervised", "there is no target")
    column = target_as_arrow(y, name)
    kind = column.type
    t = pa.types
    if t.is_dictionary(kind):
        if kind.ordered and len(_present_levels(column)) > 2:
            return TaskGuess("ordinal", f"{name} holds ordered categories")
        return TaskGuess("classification", f"{name} holds categories")
    if column_values.is_text(kind):
        result = number_formats.find_number(pc.unique(column.drop_null()))
        if result is None or result.missing or result.form == "1.5":
            if _natural_order(column, name) is not None:
                return TaskGuess("ordinal", f"{name} holds levels in a natural order")
            example = _label_list_example(column)
            if example is None:
                return TaskGuess("classification", f"{name} holds text")
            fact = f"{name} holds text, some of it lists such as {example!r}"
            return TaskGuess("classification", fact, "multilabel")
        column = pa.chunked_array(
            [column_values.column_as_floats(column, name, result.form)]
        )
        return _numeric_task(column, result.why, name, floating=True)
    if t.is_boolean(kind):
        return TaskGuess("classification", f"{name} holds yes/no")
    if t.is_duration(kind):
        return TaskGuess("regression", f"{name} holds lengths of time, in seconds")
    if is_list(kind):
        return TaskGuess("multilabel", f"{name} holds lists")
    if not column_values.is_numeric_type(kind):
        raise TableError(f"Column {name!r} of type {kind} cannot be a target.")
    return _numeric_task(column, "numbers", name, floating=not t.is_integer(kind))


def _present_levels(column) -> list:
    """The levels of an ordered category that occur, in their order."""
    values = column_values.without_dictionary(column.drop_null())
    distinct = {str(v) for v in pc.unique(values).to_pylist()}
    return [v for v in ordered_levels(column) if v in distinct]


def _natural_order(column, name) -> list[str] | None:
    """Three or more texts in their natural order (low, medium, high), or None."""
    distinct = pc.unique(
        column_values.without_dictionary(column.drop_null())
    ).to_pylist()
    if not 3 <= len(distinct) <= FEW or not all(isinstance(v, str) for v in distinct):
        return None
    return order_of(distinct, name)


def _label_list_example(column) -> str | None:
    """A text that looks like a list of labels, such as 'a;b', where some do."""
    distinct = pc.unique(column_values.without_dictionary(column).drop_null())
    for mark in ";|":
        listed = distinct.filter(pc.match_substring(distinct, mark))
        parts = pc.unique(pc.list_flatten(pc.split_pattern(distinct, mark)))
        if len(listed) >= 2 and len(parts) < len(distinct):
            return listed[0].as_py()
    return None


def is_list(kind) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)


def target_as_arrow(y, name) -> pa.ChunkedArray:
    """A target of any kind as an Arrow column."""
    if isinstance(y, pa.ChunkedArray):
        return y
    if isinstance(y, pa.Array):
        return pa.chunked_array([y])
    if hasattr(y, "to_arrow"):
        y = y.to_arrow()
        return y if isinstance(y, pa.ChunkedArray) else pa.chunked_array([y])
    try:
        array = pa.array(y, from_pandas=True)
    except (pa.ArrowException, TypeError) as error:
        raise TableError(f"{name!r} mixes values of different types.") from error
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _numeric_task(column, what, name, floating) -> TaskGuess:
    """Task of a column of numbers."""
    x = np.asarray(column.drop_null().cast(pa.float64(), safe=False).to_numpy())
    x = x[np.abs(x) <= column_values.HUGE]  # not NaN either
    distinct = np.unique(x)
    n = len(distinct)
    if n == 0:
        return TaskGuess("regression", f"{name} holds {what}")
    if n == 2:
        return TaskGuess("classification", f"{name} has two different values")
    if not floating and n <= FEW:
        if n > 2 and GRADED.search(name):
            return TaskGuess("ordinal", f"{name} has {n} whole-number values in order")
        if _is_few_counts(x):
            fact = (
                f"{name} has whole numbers from {distinct[0]:.0f} up that become "
                "rarer, as counts do"
            )
            return TaskGuess("count", fact, "classification")
        alternative = "count" if distinct[0] == 0 and _is_count(x) else ""
        fact = f"{name} has {n} whole-number values"
        return TaskGuess("classification", fact, alternative)
    if floating and n <= FEW and _is_graded(x, distinct):
        return TaskGuess(
            "ordinal", f"{name} has {n} values on an even grid", "regression"
        )
    if floating and np.any(x != np.floor(x)):
        return TaskGuess("regression", f"{name} holds {what} with fractions")
    if n > FEW and _is_count(x):
        fact = f"{name} has whole numbers from {x.min():.0f} up, as counts are"
        return TaskGuess("count", fact, "regression")
    if floating and n <= FEW:
        fact = f"{name} holds {what} of floating type with {n} different values"
        return TaskGuess("regression", fact, "classification")
    alternative = "count" if _is_count(x, largest_mean=HINTED_MEAN) else ""
    return TaskGuess(
        "regression", f"{name} has {n} different whole numbers", alternative
    )


def _is_graded(x, distinct) -> bool:
    """Whether few values look like grades: an even grid, several rows of each."""
    if not 3 <= len(distinct) <= FEW or len(x) < ROWS_A_GRADE * len(distinct):
        return False
    step = np.diff(distinct).min()
    places = (distinct - distinct[0]) / step
    is_even_grid = np.allclose(places, np.round(places), atol=1e-6)
    return bool(is_even_grid and len(distinct) >= (places[-1] + 1) / 2)


def _is_count(x, largest_mean=COUNT_MEAN) -> bool:
    """Whether whole numbers look like counts rather than measured amounts.

    Each part of the rule asks whether a Poisson or negative binomial sample of mean and
    variance of x would show what x shows (`ERRORS` standard errors, `UNLIKELY`), so
    that another sample of the same counts gets the same answer: they vary as much as a
    Poisson count, are skewed to the right (at least half as much as negative binomial
    counts), begin as low (or at 1, if they are small) and leave out no common value.
    Their mean is at most `largest_mean`, and
    multiples of 5 are no more than half of them.
    """
    n = len(x)
    mean = x.mean()
    variance = x.var()
    if x.min() < 0 or variance == 0 or mean > largest_mean:
        return False
    if np.mean(x[x > 0] % 5 == 0) > HEAPED:
        return False
    ratio = variance / mean  # 1 of a Poisson sample, with an error of sqrt(2 / n)
    reach = ERRORS * np.sqrt(2 / n)
    if ratio < max(1 - reach, 0.5):
        return False
    skew = np.mean(((x - mean) / x.std()) ** 3)
    expected_skew = max(2 * ratio - 1, 1) / np.sqrt(max(variance, mean))
    lowest_skew = expected_skew / 2  # amounts may spread as widely, but less skewed
    if ratio <= 1 + reach:
        lowest_skew = expected_skew - ERRORS * np.sqrt(6 / n) * (1 + expected_skew)
    if skew < lowest_skew:
        return False
    expected = n * count_probabilities(mean, variance, int(x.max()) + 1)
    lowest = int(x.min())
    begins_low = lowest == 0 or (lowest == 1 and mean <= SMALL_MEAN)
    if not begins_low and expected[:lowest].sum() > -np.log(UNLIKELY):
        return False
    seen = np.bincount(x.astype(int))
    up_to_median = slice(lowest, int(np.median(x)) + 1)
    return not np.any((seen == 0)[up_to_median] & (expected[up_to_median] > COMMON))


def count_probabilities(mean, variance, size) -> np.ndarray:
    """Probabilities of 0 to size - 1: Poisson, or negative binomial if they vary more.

    Both by the recursion of Panjer, p(k + 1) = p(k) (a + b / (k + 1)).
    """
    spread = max(variance / mean - 1, 0.0)
    if spread < 1e-9:
        first = np.exp(-mean)
        a = 0.0
        b = mean
    else:
        shape = mean / spread
        a = spread / (1 + spread)
        first = (1 - a) ** shape
        b = (shape - 1) * a
    p = np.empty(size)
    p[0] = first
    for k in range(size - 1):
        p[k + 1] = p[k] * (a + b / (k + 1))
    return p


def _is_few_counts(x) -> bool:
    """Whether whole numbers of few different values are counts, not codes of classes.

    They look like counts, there are at least `FEWEST_COUNTS` of them, and they are not
    nearly all 0 and 1 (mean of `FEWEST_MEAN`, or wider spread than a Poisson count's);
    the largest is rarer than the commonest, and either their frequencies are those of a
    Poisson or negative binomial sample, by Pearson's chi-square, or they become rarer
    from 0 up to a rare largest.
    """
    distinct = np.unique(x)
    if distinct[0] > 1 or len(distinct) < FEWEST_COUNTS or not _is_count(x):
        return False
    if x.mean() < FEWEST_MEAN and x.var() < SPREAD * x.mean():
        return False
    rows = np.bincount(x.astype(int))
    if rows[-1] > TAPERED * rows.max():
        return False
    return _fits_counts(x) or _has_count_tail(x, distinct)


def _fits_counts(x) -> bool:
    """Whether Pearson's chi-square leaves room for a count of x's mean and variance."""
    from scipy.special import chdtrc

    n = len(x)
    mean = x.mean()
    variance = x.var()
    seen = np.bincount(x.astype(int)).astype(float)
    expected = n * count_probabilities(mean, variance, len(seen))
    seen, expected = np.r_[seen, 0.0], np.r_[expected, max(n - expected.sum(), 0.0)]
    while len(seen) > 3 and expected[-1] < 5:
        seen = np.r_[seen[:-2], seen[-2:].sum()]
        expected = np.r_[expected[:-2], expected[-2:].sum()]
    parameters = 2 if variance > mean else 1
    df = max(len(seen) - 1 - parameters, 1)
    distance = np.sum((seen - expected) ** 2 / np.maximum(expected, 1e-9))
    return bool(chdtrc(df, distance) > UNLIKELY)


def _has_count_tail(x, distinct) -> bool:
    """Whether whole numbers from 0 become rarer, but for chance, up to a rare largest.

    Zeros may be many more than in any negative binomial count.
    """
    if distinct[0] != 0 or len(distinct) < LONG_TAIL:
        return False
    rows = np.bincount(x.astype(int))
    tail = rows[rows.argmax() :]
    rise = tail[1:] - tail[:-1]
    falls = rise <= 2 * np.sqrt(tail[1:] + tail[:-1])
    return bool(falls.all() and rows[-1] <= RARE * len(x))


def require_columns(table, names):
    """Raises TableError if a column is not in the table."""
    for name in names:
        if name not in table.column_names:
            raise TableError(unknown_column_message(name, table.column_names))


def text_name(name) -> Any:
    """A column name as text; dataframes may have numbers as names."""
    is_integer = isinstance(name, int | np.integer) and not isinstance(name, bool)
    return str(name) if is_integer else name


def as_name_list(named) -> list[str]:
    """A name, several names or None as a list of names."""
    named = text_name(named)
    if named is None:
        return []
    return [named] if isinstance(named, str) else [text_name(n) for n in named]


def find_target(table, target, task, positive=None) -> TargetSchema:
    """Task, classes and labels of one target column, or of several.

    `positive` is the class of two that is found or missed; it comes second.
    """
    result = _find_target(table, target, task)
    if positive is not None:
        classes = with_positive(result.classes, positive, target)
        result = result._replace(classes=classes)
    return result


def with_positive(classes, positive, name) -> tuple:
    """Two classes, the positive one second."""
    if len(classes) != 2:
        problem = f"has {len(classes)} classes" if classes else "holds no classes"
        raise TableError(f"positive is one of two classes, but {name!r} {problem}.")
    named = [c for c in classes if c == positive or str(c) == str(positive)]
    if not named:
        negative, yes = map(str, classes)
        raise TableError(
            f"positive is one of the classes of {name!r}, {negative!r} or {yes!r}, got "
            f"{positive!r}."
        )
    return (*(c for c in classes if c != named[0]), named[0])


def _find_target(table, target, task) -> TargetSchema:
    """Task, classes and labels as they are found."""
    if target is None:
        return TargetSchema("unsupervised", "there is no target")
    if task not in ("auto", *TASKS):
        listed = ", ".join(("auto", *TASKS))
        raise TableError(f"task must be one of {listed}, got {task!r}.")
    if not isinstance(target, str):
        return _multilabel_target(table, tuple(target), task)
    column = table.column(target)
    if len(column.drop_null()) == 0:
        raise TableError(f"Column {target!r} is empty.")
    reason = "as asked"
    if task == "auto":
        task, reason = detect_task(column, target)
    if task == "multilabel":
        return _listed_labels(column, target, reason)
    if task in ("classification", "ordinal"):
        classes = classes_of(column, target, table.num_rows)
        in_order = task == "ordinal"
        if in_order and len(classes) == 2:
            raise TableError(
                f"Column {target!r} has two classes; ordered classes are three or more."
            )
        return TargetSchema("classification", reason, classes, ordered=in_order)
    return _numbers_target(column, target, task, reason)


def _multilabel_target(table, labels, task) -> TargetSchema:
    """Multilabel target of one yes/no column for each label."""
    if task not in ("auto", "multilabel"):
        raise TableError(f"Several targets make a multilabel task, not {task}.")
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise TableError("A list of targets needs at least two different columns.")
    for label in labels:
        result = column_values.column_as_booleans(
            table.column(label).drop_null(), label
        )
        if len(np.unique(result)) < 2:
            raise TableError(
                f"Label {label!r} has one value; there is nothing to learn."
            )
    return TargetSchema("multilabel", "several targets of yes and no", (), labels)


def _listed_labels(column, name, why="as asked") -> TargetSchema:
    """Multilabel target in one column of lists, or of texts with a separator."""
    if is_list(column.type):
        form = "list"
        parts = pc.list_flatten(column)
    elif column_values.is_text(column.type):
        texts = column_values.column_as_texts(column, name)
        share = [pc.sum(pc.count_substring(texts, s)).as_py() or 0 for s in SEPARATORS]
        form = SEPARATORS[int(np.argmax(share))]
        parts = pc.list_flatten(pc.split_pattern(texts, form))
    else:
        raise TableError(
            f"Column {name!r} of type {column.type} holds no labels: give a list of "
            "columns of 0 and 1, or one column of lists or of texts such as 'a;b'."
        )
    parts = pc.utf8_trim_whitespace(column_values.column_as_texts(parts, name))
    labels = tuple(v for v in sorted(set(parts.to_pylist()) - {None, ""}))
    if len(labels) < 2:
        raise TableError(f"Column {name!r} has fewer than two labels.")
    return TargetSchema("multilabel", why, (), labels, form)


def classes_of(column, name, n) -> tuple:
    """The classes in order: that of an ordered category, else sorted.

    Of two texts the rarer comes last, as the positive class, unless they say yes and
    no.
    """
    kind = column.type
    if pa.types.is_floating(kind):
        column = column.filter(pc.is_finite(column))
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    if (
        pa.types.is_nested(kind)
        or pa.types.is_binary(kind)
        or column_values.is_date(kind)
    ):
        raise TableError(f"Column {name!r} of type {kind} cannot be a target.")
    distinct = pc.unique(
        column_values.without_dictionary(column.drop_null())
    ).to_pylist()
    classes = tuple(sorted(distinct))
    if pa.types.is_dictionary(kind) and kind.ordered:
        by_text = {str(v): v for v in distinct}
        classes = tuple(by_text[v] for v in ordered_levels(column) if v in by_text)
    elif (in_order := _natural_order(column, name)) is not None:
        classes = tuple(in_order)
    elif len(classes) == 2 and all(isinstance(c, str) for c in classes):
        classes = _rarer_class_last(column, classes)
    if len(classes) < 2:
        raise TableError(f"Column {name!r} has one value; there is nothing to learn.")
    if len(classes) > max(FEW, n / 2):
        raise TableError(
            f"Column {name!r} has {len(classes)} different values in {n} rows, too "
            "many to be classes."
        )
    return classes


def _rarer_class_last(column, classes) -> tuple:
    """Two sorted texts, the one in fewer rows last; yes and no, and ties, as sorted."""
    words = {c.strip().lower() for c in classes}
    if words & set(column_values.YES) and words & set(column_values.NO):
        return classes
    column = column_values.without_dictionary(column)
    first = pc.sum(pc.equal(column, classes[0])).as_py()
    second = pc.sum(pc.equal(column, classes[1])).as_py()
    return classes[::-1] if first < second else classes


def _numbers_target(column, name, task, why) -> TargetSchema:
    """Target of numbers, which must not be constant."""
    form = ""
    if column_values.is_text(column.type):
        result = number_formats.find_number(
            column_values.column_as_texts(column.drop_null(), name)
        )
        if result is None or result.missing:
            raise TableError(f"Column {name!r} holds {column.type}, not numbers.")
        form = result.form
    elif not column_values.is_numeric_type(
        column_values.without_dictionary(column).type
    ):
        t = pa.types
        if not (t.is_boolean(column.type) or t.is_duration(column.type)):
            raise TableError(f"Column {name!r} holds {column.type}, not numbers.")
    y = column_values.column_as_floats(column, name, form)
    known = len(column) - column_values.count_not_finite(column)
    y = y[~np.isnan(y)]
    if len(y) == 0 or y.min() == y.max():
        lost = known - len(y)
        if lost > 0:
            raise TableError(
                f"Column {name!r} has {lost} numbers beyond {column_values.HUGE:g}, "
                "whose squares overflow; give it in larger units."
            )
        raise TableError(f"Column {name!r} has one value; there is nothing to learn.")
    if y.max() - y.min() < column_values.TINY:
        raise TableError(
            f"Column {name!r} varies by less than {column_values.TINY:g}, whose square "
            "is 0; give it in smaller units."
        )
    if task == "count":
        check_counts(y, name)
    return TargetSchema(task, why, form=form)


def check_counts(y, name):
    bad = y[(y < 0) | (y != np.floor(y))]
    if len(bad):
        raise TableError(
            f"Column {name!r} should hold counts (0, 1, 2, ...), but has {bad[0]:g}."
        )


def target_class_codes(column, name, classes) -> np.ndarray:
    """Codes of a target column in its classes."""
    kept = pa.array(list(classes))
    column = column_values.without_dictionary(column)
    try:
        column = column.cast(kept.type)
    except pa.ArrowException:
        column = column_values.column_as_texts(column, name)
        kept = pa.array([str(c) for c in classes])
    result = pc.index_in(column, value_set=kept)
    if result.null_count:
        bad = column.filter(pc.is_null(result))[0].as_py()
        content = "a missing value" if bad is None else f"the unknown class {bad!r}"
        raise TableError(f"Column {name!r} has {content}.")
    return np.asarray(result.to_numpy(), dtype=np.int64)


def label_matrix(column, name, labels, form) -> np.ndarray:
    """0/1 matrix (n, L) of a column that lists labels."""
    if form != "list":
        column = pc.split_pattern(column_values.column_as_texts(column, name), form)
    out = np.zeros((len(column), len(labels)), dtype=np.int64)
    rows = pc.list_parent_indices(column)
    parts = pc.utf8_trim_whitespace(
        column_values.column_as_texts(pc.list_flatten(column), name)
    )
    label_index = pc.index_in(parts, value_set=pa.array(list(labels)))
    known = pc.is_valid(label_index).to_numpy(zero_copy_only=False)
    known_labels = np.asarray(pc.fill_null(label_index, 0).to_numpy())[known]
    out[np.asarray(rows.to_numpy())[known], known_labels] = 1
    return out


def known_rows(table, target) -> np.ndarray:
    """Mask of the rows whose targets are all known."""
    names = [target] if isinstance(target, str) else list(target)
    known = np.ones(table.num_rows, dtype=bool)
    for name in names:
        column = table.column(name)
        known &= pc.is_valid(column).to_numpy()
        if pa.types.is_floating(column.type):
            fine = pc.less_equal(pc.abs(column), column_values.HUGE)
            known &= pc.fill_null(fine, False).to_numpy()
    return known
