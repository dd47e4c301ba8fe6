"""The columns of any table as plain arrays, shared by all data diagnostics.

`table_view` reads a table once. A column of numbers, dates or yes/no has `numbers`
(n,), NaN where missing, dates as seconds since 1970; a column of text has `codes` (n,)
into its `levels`, -1 where missing; so has any other type, by its printed form. Numbers
and dates written as text (`tables.roles`) have both. The target is not used here.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.special
import scipy.stats

from ...core.arrays.codes import encode_values
from ...core.random import make_rng
from ...core.suggestions import unknown_column_message
from ...tables import TableError, read_table
from ...tables.column_values import (
    HUGE,
    arrow_to_numpy,
    column_as_floats,
    is_date,
    is_numeric_type,
    is_text,
    without_dictionary,
)
from ...tables.roles import find_role

DAY = 86400.0
VERY_SKEWED = 2.0  # skewness; that of an exponential distribution
FEWEST_FOR_SKEWNESS = 50


def date_text(seconds) -> str:
    """Seconds since 1970 as a date, with the time of day where there is one.

    Examples
    --------
    >>> from pansophy.diagnose.data.columns import date_text
    >>> date_text(1577836800), date_text(1577836801)
    ('2020-01-01', '2020-01-01T00:00:01')
    """
    return str(np.datetime64(int(seconds), "s")).replace("T00:00:00", "")


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """One column as an array of numbers, or of level codes, or both."""

    name: str
    kind: str  # "number", "date", "yes/no", "text", "other" or "empty"
    type: str  # as Arrow calls it
    numbers: Any = None  # array or None
    codes: Any = None
    levels: tuple = ()
    infinite: int = 0  # values that are infinite or beyond HUGE and count as missing
    role: str = ""  # "id" where a column only names the rows

    def __len__(self):
        return len(self.codes if self.numbers is None else self.numbers)

    @property
    def missing(self) -> np.ndarray:
        return self.codes < 0 if self.numbers is None else np.isnan(self.numbers)

    @property
    def whole(self) -> bool:
        """Whether the column is of integer type."""
        return self.kind == "number" and "int" in self.type

    @property
    def categorical(self) -> bool:
        return self.kind in ("text", "other")

    def take(self, rows) -> "ColumnValues":
        pick = lambda a: None if a is None else a[rows]
        return replace(self, numbers=pick(self.numbers), codes=pick(self.codes))

    def labelled(self) -> np.ndarray:
        """Codes 0, 1, ... of the distinct values, -1 where missing."""
        if self.numbers is None:
            return self.codes
        return encode_values(self.numbers).codes

    def show(self, value) -> str:
        """A value of this column as text."""
        if self.kind == "date":
            return date_text(value)
        return f"{value:.6g}" if self.numbers is not None else repr(str(value))


@dataclass(frozen=True, eq=False)
class TableView:
    """A table of n rows as a tuple of columns."""

    n: int
    columns: tuple[ColumnValues, ...]

    @property
    def names(self) -> list[str]:
        return [c.name for c in self.columns]

    def __getitem__(self, name) -> ColumnValues:
        for c in self.columns:
            if c.name == name:
                return c
        raise TableError(unknown_column_message(name, self.names))

    def take(self, rows) -> "TableView":
        return TableView(len(rows), tuple(c.take(rows) for c in self.columns))

    def without(self, names) -> "TableView":
        return TableView(self.n, tuple(c for c in self.columns if c.name not in names))

    def sample(self, limit, random_state=0) -> "TableView":
        """At most `limit` rows, drawn at random and kept in order."""
        rows = sample_rows(self.n, limit, random_state)
        return self if rows is None else self.take(rows)


def sample_rows(n, limit, random_state=0) -> np.ndarray | None:
    """Sorted row numbers of a random sample; None if n does not exceed the limit."""
    if limit is None or n <= limit:
        return None
    return np.sort(make_rng(random_state).choice(n, limit, replace=False))


def table_view(table) -> TableView:
    """A path, data frame, Arrow table or array as a TableView."""
    if isinstance(table, TableView):
        return table
    table = as_arrow_table(table)
    return TableView(
        table.num_rows,
        tuple(read_arrow_column(table.column(n), n) for n in table.column_names),
    )


def as_arrow_table(table) -> pa.Table:
    """Any table as an Arrow table; the columns of an array are named x0, x1, ..."""
    if isinstance(table, (list, tuple, np.ndarray)):
        try:
            X = np.asarray(table)
        except ValueError as error:
            raise TableError("The rows of the table differ in length.") from error
        if X.ndim != 2 or 0 in X.shape:
            raise TableError(f"An array must have rows and columns, got {X.shape}.")
        table = pa.table({f"x{j}": _as_plain_array(X[:, j]) for j in range(X.shape[1])})
    return read_table(table)


def _as_plain_array(x):
    """An Arrow array of the values, as texts where their types differ."""
    try:
        return pa.array(x, from_pandas=True)
    except pa.ArrowException:  # numbers and text in one column
        return pa.array([None if v is None else str(v) for v in x])


def read_arrow_column(column, name) -> ColumnValues:
    """An Arrow column of any type as ColumnValues."""
    column = without_dictionary(column)
    t = pa.types
    kind = column.type
    if t.is_null(kind) or column.null_count == len(column):
        return ColumnValues(name, "empty", str(kind), np.full(len(column), np.nan))
    if is_text(kind):
        return _read_text_column(column, name)
    if is_date(kind):
        return ColumnValues(name, "date", str(kind), column_as_floats(column, name))
    if (
        is_numeric_type(kind)
        or t.is_boolean(kind)
        or t.is_time(kind)
        or t.is_duration(kind)
    ):
        role = find_role(column, name) if is_numeric_type(kind) else None
        if role and role.role == "date":
            return ColumnValues(
                name, "date", str(kind), column_as_floats(column, name, role.form)
            )
        x = column_as_floats(column, name)
        infinite = 0
        if t.is_floating(kind) and np.isnan(x).sum() > column.null_count:
            infinite = int((np.abs(arrow_to_numpy(column)) > HUGE).sum())
        x[np.abs(x) < 1 / HUGE] = 0.0  # beyond it squares vanish
        kind_name = "yes/no" if t.is_boolean(kind) else "number"
        role_name = role.role if role and t.is_integer(kind) else ""
        return ColumnValues(
            name, kind_name, str(kind), x, infinite=infinite, role=role_name
        )
    printed = [None if v is None else repr(v) for v in column.to_pylist()]
    return ColumnValues(
        name, "other", str(kind), None, *encode_texts(pa.array(printed))
    )


def _read_text_column(column, name) -> ColumnValues:
    """A text column as ColumnValues; numbers and dates in it are parsed."""
    codes, levels = encode_texts(column)
    role = find_role(column, name)
    kind = str(column.type)
    if role.form:
        x = column_as_floats(column, name, role.form, role.missing)
        kind_name = "date" if role.role == "date" else "number"
        return ColumnValues(name, kind_name, kind, x, codes, levels, role=role.role)
    return ColumnValues(name, "text", kind, None, codes, levels, role=role.role)


def encode_texts(column):
    """Codes of texts in order of appearance, -1 where null, and their levels."""
    joined = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    if isinstance(joined, pa.ChunkedArray):  # too large for one array
        joined = pa.concat_arrays([c.cast(pa.large_string()) for c in joined.chunks])
    result = joined.dictionary_encode()
    codes = result.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes.astype(np.int64), tuple(result.dictionary.to_pylist())


def numeric_matrix(view: TableView, most_levels=10, *, balanced=False):
    """Columns as a scaled matrix M, and the name of the source of each of its columns.

    Numbers are scaled to median 0 and equal spread, with missing values at the median;
    heavy tails are compressed so that no column dominates distances. Categories of at
    most `most_levels` levels are one-hot encoded; other categories, constants and empty
    columns are left out. If `balanced`, very skewed numbers are replaced by the normal
    scores of their ranks and no number has a standard deviation above 1, so that none
    dominates variances either.
    """
    score = balanced_scores if balanced else robust_scores
    parts, owners = [], []
    for c in view.columns:
        if c.categorical:
            k = len(c.levels)
            if 2 <= k <= most_levels:
                one_hot = (c.codes[:, None] == np.arange(k)).astype(float)
                parts.append((one_hot - one_hot.mean(0)) * np.sqrt(2.0))
                owners += [c.name] * k
            continue
        x = score(c.numbers)
        if x is not None:
            parts.append(x[:, None])
            owners.append(c.name)
    return (np.hstack(parts) if parts else np.zeros((view.n, 0))), owners


def robust_scores(x, reach=8.0):
    """Robust z scores, compressed logarithmically beyond `reach`; None if constant."""
    known = x[~np.isnan(x)]
    size = robust_scale(known)
    if not size > 0:
        return None
    z = np.where(np.isnan(x), 0.0, (x - np.median(known)) / size)
    far = np.abs(z) > reach
    z[far] = np.sign(z[far]) * reach * (1 + np.log(np.abs(z[far]) / reach))
    return z


def balanced_scores(x):
    """Robust z scores of standard deviation 1 at most; None if constant.

    Of a very skewed column they are the normal scores of the ranks.
    """
    known = ~np.isnan(x)
    if is_very_skewed(x[known]):
        z = np.zeros(len(x))
        ranks = scipy.stats.rankdata(x[known])
        z[known] = scipy.special.ndtri((ranks - 0.5) / len(ranks))
    else:
        z = robust_scores(x)
    return None if z is None else z / max(1.0, float(z.std()))


def skewness_of(x) -> float:
    """The mean cube of the standardised values, 0 of a constant column."""
    x = np.asarray(x, float)
    size = np.ptp(x) if len(x) else 0.0
    if not (size > 0 and np.isfinite(size)):
        return 0.0
    z = (x - x.mean()) / size
    sd = z.std()
    return float((z**3).mean() / sd**3) if sd > 0 else 0.0


def is_very_skewed(x) -> bool:
    """Whether a column of enough different values has a long tail on one side."""
    has_enough = len(x) >= FEWEST_FOR_SKEWNESS and len(np.unique(x[:5000])) >= 10
    return bool(has_enough and abs(skewness_of(x)) > VERY_SKEWED)


def robust_scale(x) -> float:
    """Standard deviation estimated from the interquartile range, if that is not 0."""
    if len(x) < 2:
        return 0.0
    low, high = np.quantile(x, [0.25, 0.75])
    size = float(high - low) / 1.349
    return size if size > 0 else float(np.std(x))
