"""Fuzzy join: rows of two tables with nearly the same name.

Names are compared by `text.match_names`, which does not look at all pairs. A row of the
left table is joined with the row of the right one whose name is most similar, if it is
similar enough; with `one_to_one` no row of the right table is used twice.
"""

from typing import Literal

import numpy as np
import pyarrow as pa

from ..params import ParameterError
from .column_values import TableError
from .read import read_table


def _names_of_column(table, column, which) -> list:
    """Values of a column as texts."""
    if column not in table.column_names:
        known = ", ".join(table.column_names)
        raise TableError(f"the {which} table has no column {column!r}, only {known}.")
    values = table.column(column).to_pylist()
    return [None if v is None else str(v) for v in values]


def _unused_name(name, used) -> str:
    """A name that is not taken, with underscores at its end if need be."""
    while name in used:
        name += "_"
    return name


def _like_frame(table, source):
    """An Arrow table as the kind of data frame that another one is."""
    module = type(source).__module__.split(".")[0]
    if module == "pandas":
        return table.to_pandas()
    if module == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table


def fuzzy_join(
    left, right, on=None, *, left_on=None, right_on=None,
    how: Literal["inner", "left"] = "inner", threshold=0.8, suffix="_right", **options,
):  # fmt: skip
    """Join two tables by names that are nearly the same.

    Parameters
    ----------
    left, right : whatever `read_table` reads
        Files, data frames, Arrow tables, dicts of columns.
    on : str
        Column of names in both tables; or `left_on` and `right_on`.
    how : {"inner", "left"}, default="inner"
        Whether rows of the left table without a match are kept, with nulls.
    threshold : float, default=0.8
        Least similarity of a match.
    suffix : str, default="_right"
        Of columns of the right table whose name the left one has.
    options
        `similarity`, `one_to_one`, `sort_words`, `n_gram` and `n_candidates` of
        `text.match_names`.

    Returns
    -------
    table
        Columns of both tables and `similarity`: a data frame of the kind of `left` if
        that is one of pandas or polars, else an Arrow table.

    Examples
    --------
    >>> from pansophy.tables import fuzzy_join
    >>> people = {"name": ["Jon Smith", "Ana Díaz"], "age": [31, 52]}
    >>> cities = {"name": ["ana diaz", "john smith"], "city": ["Lima", "York"]}
    >>> fuzzy_join(people, cities, "name").select(["name", "city"]).to_pydict()
    {'name': ['Jon Smith', 'Ana Díaz'], 'city': ['York', 'Lima']}
    """
    from ..text import match_names

    left_on = on if left_on is None else left_on
    right_on = on if right_on is None else right_on
    if left_on is None or right_on is None:
        raise ParameterError("fuzzy_join needs `on`, or `left_on` and `right_on`.")
    if how not in ("inner", "left"):
        raise ParameterError(f'how must be "inner" or "left", got {how!r}.')
    A = read_table(left)
    B = read_table(right)
    result = match_names(
        _names_of_column(A, left_on, "left"),
        _names_of_column(B, right_on, "right"),
        threshold=threshold,
        **options,
    )
    rows, places, similarity = result
    missing = np.zeros(len(rows), dtype=bool)
    if how == "left":
        rest = np.setdiff1d(np.arange(A.num_rows), rows)
        order = np.argsort(np.concatenate([rows, rest]), kind="stable")
        rows = np.concatenate([rows, rest])[order]
        missing = np.concatenate([missing, np.ones(len(rest), bool)])[order]
        places = np.concatenate([places, np.zeros(len(rest), np.int64)])[order]
        similarity = np.concatenate([similarity, np.full(len(rest), np.nan)])[order]
    joined = A.take(pa.array(rows, pa.int64()))
    matched = B.take(pa.array(places, pa.int64(), mask=missing))
    for name in matched.column_names:
        used = set(joined.column_names)
        kept = name if name not in used else _unused_name(name + suffix, used)
        joined = joined.append_column(kept, matched.column(name))
    score = _unused_name("similarity", set(joined.column_names))
    joined = joined.append_column(score, pa.array(similarity, mask=missing))
    return _like_frame(joined, left)
