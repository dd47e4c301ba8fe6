"""Encoding of inputs: categories and angles become codes before a tree is grown.

A column is *ordered* (numbers, compared with a threshold), *categorical* (levels, split
into two sets) or *directional* (angles, split into two half circles). The engine reads
float32; the last two become whole numbers from 0 on, missing values NaN.

Levels. The levels of a column, sorted, are numbered 0 .. k-1. Of more than 255 the 254
of most weight keep a number of their own and the rest share one. A level that training
never saw is NaN: it goes where missing values go. Levels are numbers or texts; a column
that mixes the two is read as text.

Angles. With the period T an angle x is the place x / T mod 1 on a circle of one turn,
resolved to a millionth of a turn (2^-20), so that adding T changes nothing. A half
circle has two ends half a turn apart; folding the circle to half a turn makes them one.
Between two neighbouring folded angles all cuts part the data alike, so K different
folded angles have K half circles,

    half j:  c_j <= t < c_j + 1/2      c_j midway between neighbours            (1)

and the 2 K arcs between the ends c_j, c_j + 1/2 are the codes: half j is exactly the
codes j .. j + K - 1. Of more than 127 folded angles, 127 cuts of about equal weight are
kept. Counting starts at the widest gap of the folded circle, on the side with more
weight, so nothing depends on where an angle of 0 points.

Shapes    X (n, d) array or data frame (pandas, polars, Arrow)
Refs      [Fisher1993] angles
"""

import numbers
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from ...core.arrays.codes import encode_values, is_missing
from ...core.arrays.frames import column_names, column_reader
from ...core.arrays.unreadable import is_conversion_error, unreadable_error
from ...persist.saved_state import AnyArray, FloatArray, IntArray, saved_state
from ._structures import HALF, LEVEL, ORDERED, SUBSET
from .prepared_columns import clip_infinities, silent_float32_overflow

MAX_CODES = 255  # codes that a column may have
GRID = 1 << 20  # places on the circle that are told apart
FLOAT32 = {"dtype": np.float32, "ensure_all_finite": "allow-nan"}


@saved_state(
    values=AnyArray("levels"), codes=IntArray("levels", low=0, below=MAX_CODES)
)
class CategoryCodes(NamedTuple):
    """A categorical column: its levels in ascending order and their codes."""

    values: np.ndarray  # (k,) float64 or text
    codes: np.ndarray  # (k,) int16

    def encode(self, column):
        """Codes of a column; NaN where it is missing or the level is new."""
        values, index = distinct_with_index(column)
        values = as_text_or_numbers(values, self.values.dtype.kind == "U")
        code = np.full(len(values) + 1, np.nan, np.float32)  # the last: missing
        if len(self.values) and len(values):
            at = np.searchsorted(self.values, values).clip(max=len(self.values) - 1)
            known = self.values[at] == values
            code[:-1][known] = self.codes[at[known]]
        return code[index]


@saved_state(
    edges=FloatArray(None, finite=True),
    check=lambda angle: len(angle.edges) < 256 and float(angle.period) > 0,
)
class AngleCodes(NamedTuple):
    """A directional column: its period and the ends of its arcs, in turns."""

    period: float
    edges: np.ndarray  # (2 K,) ascending, within one turn of the first

    def encode(self, column):
        """The arc of each angle; NaN where it is missing."""
        x = numeric_column_values(column)
        out = np.full(len(x), np.nan, np.float32)
        there = ~np.isnan(x)
        if len(self.edges):
            start = self.edges[0] * GRID
            t = np.mod(angles_on_grid(x[there], self.period) - start, GRID)
            out[there] = np.searchsorted(self.edges * GRID - start, t, "right") - 1
        return out


def is_sound_encoder(inputs) -> bool:
    """Whether a loaded encoder has codes for exactly the columns that need them."""
    tables = inputs.tables
    if type(tables) is not tuple or len(tables) not in (0, len(inputs.forms)):
        return False
    if not tables:
        return not inputs.forms.any()
    needed = {ORDERED: type(None), HALF: AngleCodes}
    kinds = [needed.get(form, CategoryCodes) for form in inputs.forms.tolist()]
    return all(isinstance(table, kind) for table, kind in zip(tables, kinds))


@saved_state(
    forms=IntArray("columns", low=ORDERED, high=HALF, dtype=np.int8),
    check=is_sound_encoder,
)
class InputEncoder(NamedTuple):
    """Encoder of the columns of a table."""

    forms: np.ndarray  # (d,) int8: ORDERED, SUBSET, LEVEL or HALF
    tables: tuple = ()  # by column CategoryCodes, AngleCodes or None; or empty

    @property
    def plain(self) -> bool:
        """Whether all columns are ordered."""
        return not self.tables

    @property
    def is_categorical(self):
        """(d,) mask of the categorical columns."""
        return (self.forms == SUBSET) | (self.forms == LEVEL)

    @classmethod
    def learn(cls, X, categorical=None, directional=None, subset=True, w=None):
        """Read levels and angles off X, rows of weight 0 left out.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        categorical : None, "from_dtype", mask, indices or names
            "from_dtype" takes the categorical and text columns of a data frame.
        directional : None, mask, indices, names or dict from column to period
            The period is 2 pi unless given.
        subset : bool
            Whether levels are split into any two sets or one against the rest.
        w : array of shape (n,) or None
        """
        d = table_shape(X)[1]
        names = column_names(X)
        kinds = categorical_mask(categorical, X, d, names)
        periods = directional_periods(directional, d, names)
        both = [f for f in periods if kinds[f]]
        if both:
            raise ValueError(
                f"column {both[0]} cannot be both categorical and directional."
            )
        forms = np.where(kinds, SUBSET if subset else LEVEL, ORDERED).astype(np.int8)
        forms[list(periods)] = HALF
        if not forms.any():
            return cls(forms)
        if sp.issparse(X):
            raise TypeError(
                "a sparse X cannot hold categories or angles: pass it dense."
            )
        read = column_reader(X)
        tables: list = []
        for f, form in enumerate(forms):
            if form == HALF:
                tables.append(
                    fit_angle_codes(numeric_column_values(read(f)), periods[f], w)
                )
            else:
                tables.append(fit_category_codes(read(f), w) if form else None)
        return cls(forms, tuple(tables))

    def encode(self, X, *, allow_infinite=False):
        """X as float32 (n, d), levels and angles as codes.

        Infinite numbers are refused, or made the extremes of float32 if allowed.
        """
        if self.plain:
            with silent_float32_overflow():
                try:
                    return check_array(X, accept_sparse=True, **FLOAT32)
                except (ValueError, TypeError) as error:
                    if not is_conversion_error(error):
                        raise
                    raise unreadable_error("X", X, error) from None
        read = column_reader(X)
        d = len(self.forms)
        out = np.empty((np.shape(X)[0], d), np.float32)
        for f, table in enumerate(self.tables):
            if table is not None:
                out[:, f] = table.encode(read(f))
                continue
            column = numeric_column_values(read(f), f)
            with silent_float32_overflow():
                out[:, f] = column
            if allow_infinite:
                out[:, f] = clip_infinities(out[:, f], column)
            elif np.isinf(out[:, f]).any():
                raise ValueError(
                    f"Input X contains infinity or a value too large for float32 in "
                    f"column {f}."
                )
        return out


def table_shape(X):
    """Rows and columns of a table; anything else is refused."""
    shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array instead: X must be a table of "
            "rows and columns."
        )
    return shape


def fit_category_codes(column, w) -> CategoryCodes:
    """Codes for the levels of a column, the rarest sharing one if there are many."""
    values, index = distinct_with_index(column)
    text = not levels_are_numbers(values)
    there = index >= 0
    weight = np.bincount(
        index[there], None if w is None else np.asarray(w)[there], len(values)
    )
    values, back = np.unique(as_text_or_numbers(values, text), return_inverse=True)
    weight = np.bincount(back, weight, len(values))
    values, weight = values[weight > 0], weight[weight > 0]
    codes = np.arange(len(values), dtype=np.int16)
    if len(values) > MAX_CODES:
        kept = np.sort(np.argsort(-weight, kind="stable")[: MAX_CODES - 1])
        codes = np.full(len(values), MAX_CODES - 1, np.int16)
        codes[kept] = np.arange(MAX_CODES - 1)
    return CategoryCodes(values, codes)


def fit_angle_codes(x, period, w) -> AngleCodes:
    """The arcs of eq. (1) for angles x."""
    there = ~np.isnan(x) if w is None else ~np.isnan(x) & (np.asarray(w) > 0)
    q = angles_on_grid(x[there], period)
    if not len(q):
        return AngleCodes(period, np.empty(0))
    weight = np.ones(len(q)) if w is None else np.asarray(w, float)[there]
    half = GRID // 2
    v, back = np.unique(q % half, return_inverse=True)
    gap = np.append(np.diff(v), v[0] + half - v[-1])  # after each folded angle
    first = (int(np.argmax(gap)) + 1) % len(v)
    start = (v[first - 1] + gap[first - 1] / 2) % half
    v = np.mod(np.roll(v, -first) - start, half)
    mass = np.roll(np.bincount(back, weight), -first)
    cuts = (v[:-1] + v[1:]) / 2
    if len(v) > MAX_CODES // 2:
        seen = np.cumsum(mass)
        level = seen[-1] * np.arange(1, MAX_CODES // 2) / (MAX_CODES // 2)
        cuts = cuts[np.unique(np.searchsorted(seen, level).clip(max=len(cuts) - 1))]
    ends = np.concatenate(([0.0], cuts))
    # the last arc must hold an angle, and the first half more weight than the other
    place = np.mod(q - start, GRID)
    last, late = place % half >= ends[-1], place >= half
    sides = weight[last & late].sum(), weight[last & ~late].sum()
    lighter = weight[~late].sum() < weight[late].sum()
    if sides[0] == 0 or (sides[1] > 0 and lighter):
        start += half
    ends = np.concatenate((ends, ends + half)) + start
    return AngleCodes(period, ends / GRID)


def angles_on_grid(x, period):
    """Angles as whole numbers from 0 to below GRID."""
    if np.isinf(x).any():
        raise ValueError("an angle is infinite.")
    return np.mod(np.rint(np.mod(x / period, 1.0) * GRID), GRID)


def column_indices(columns, d, names, what):
    """Column numbers from a mask, numbers or names."""
    listed = np.asarray(columns)
    if listed.ndim != 1:
        raise ValueError(f"{what} must be a list of columns, got {columns!r}.")
    if listed.dtype.kind == "b":
        if len(listed) != d:
            raise ValueError(
                f"{what} set as a boolean mask must have shape (n_features,), which is "
                f"({d},), got: {listed.shape}."
            )
        return [int(f) for f in np.flatnonzero(listed)]
    results = []
    for c in columns:
        if isinstance(c, str):
            if names is None:
                raise ValueError(
                    f"{what} should be passed as an array of integers or as a boolean "
                    "mask when the model is fitted on data without feature names. Got "
                    f"{c!r}."
                )
            if c not in names:
                raise ValueError(
                    f"{what} has an item value {c!r} which is not a valid feature name "
                    "of the training data."
                )
            c = names.index(c)
        elif not isinstance(c, numbers.Integral):
            kinds = sorted({type(v).__name__ for v in columns})
            got = ", ".join(kinds) if listed.dtype.kind == "O" else listed.dtype.name
            raise ValueError(
                f"{what} must be an array-like of bool, int or str, got: {got}."
            )
        if not 0 <= c < d:
            raise ValueError(
                f"{what} set as integer indices must be in [0, n_features - 1], which "
                f"is [0, {d - 1}], got: {c}."
            )
        results.append(int(c))
    return results


def categorical_mask(categorical, X, d, names):
    """(d,) mask of the categorical columns."""
    mask = np.zeros(d, bool)
    if isinstance(categorical, str):
        if categorical != "from_dtype":
            raise ValueError(
                "categorical_features must be None, 'from_dtype' or a list of columns, "
                f"got {categorical!r}."
            )
        if names is not None:
            import narwhals as nw

            kinds = nw.from_native(X, eager_only=True).schema.values()
            words = (nw.Categorical, nw.Enum, nw.String)
            mask[:] = [any(k == word for word in words) for k in kinds]
    elif categorical is not None:
        mask[column_indices(categorical, d, names, "categorical_features")] = True
    return mask


def directional_periods(directional, d, names) -> dict[int, float]:
    """The period of each directional column."""
    if directional is None:
        return {}
    what = "directional_features"
    if not isinstance(directional, dict):
        return dict.fromkeys(column_indices(directional, d, names, what), 2 * np.pi)
    periods = [float(p) for p in directional.values()]
    if not all(0 < p < np.inf for p in periods):
        raise ValueError(f"the periods of {what} must be above 0, got {periods}.")
    return dict(zip(column_indices(list(directional), d, names, what), periods))


def distinct_with_index(column) -> tuple[Any, np.ndarray]:
    """Distinct values of a column and their numbers by row, -1 where missing."""
    import pyarrow as pa

    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        return distinct_numbers_with_index(column)
    try:
        if isinstance(column, np.ndarray):
            column = pa.array(column, from_pandas=True)
        else:
            column = column.to_arrow()
    except pa.ArrowException:
        text = [None if is_missing(v) else str(v) for v in column]
        column = pa.array(text, pa.string())
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_floating(column.type):
        return distinct_numbers_with_index(column.to_numpy(zero_copy_only=False))
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    index = column.indices.cast(pa.int64()).fill_null(-1).to_numpy()
    values = column.dictionary.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "O" and any(v is None for v in values):
        gone = np.array([v is None for v in values])
        index = np.where((index >= 0) & gone[index], -1, index)
    return values, index


def distinct_numbers_with_index(x):
    """Distinct numbers, and the index of each entry among them."""
    codes, values = encode_values(x)
    return values.astype(float), codes


def levels_are_numbers(values) -> bool:
    """Whether levels are numbers (a column without any is)."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        return True
    kinds = (numbers.Real, np.bool_)
    return all(isinstance(v, kinds) for v in values.tolist())


def as_text_or_numbers(values, text):
    """Levels as text or as numbers; a text that is no number is NaN."""
    if text:
        return np.array([str(v) for v in values], dtype=np.str_)
    try:
        return np.asarray(values, float)
    except (TypeError, ValueError):
        return np.array([float_or_nan(v) for v in values], float)


def float_or_nan(v) -> float:
    try:
        return float(v)
    except (TypeError, ValueError):
        return np.nan


def numeric_column_values(column, f=None):
    """A column of numbers as float64, NaN where missing."""
    if not isinstance(column, np.ndarray):
        column = column.to_arrow().to_numpy(zero_copy_only=False)
    if column.dtype.kind in "biuf":
        return column.astype(float)
    try:
        return np.array([np.nan if is_missing(v) else v for v in column], float)
    except (TypeError, ValueError) as error:
        place = "a directional column" if f is None else f"column {f}"
        raise ValueError(
            f"{place} of X holds {error.args[0]}; name it in categorical_features "
            "if it holds categories."
        ) from error
