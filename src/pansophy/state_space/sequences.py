"""Input of sequences in any form, as one array and the end of each sequence.

Users hold sequences as one array, as an array with `lengths`, as a list of arrays of
unequal length, or as a dataframe grouped by the sequence a row belongs to. Every
model of sequences reads them through `stack_sequences`; NaN is a missing observation.

Shapes    X (n, d) all sequences one after the other, ends (s,) where each ends
"""

import numpy as np
import scipy.sparse

from ..core import arrays
from ..core.rows import as_rows, is_dataset


def stack_sequences(X, lengths=None) -> tuple[np.ndarray, np.ndarray]:
    """All rows (n, d) in floating point, and where each sequence ends (s,).

    X is one array, an array with `lengths`, a list of arrays, a table on disk, or a
    pandas or polars dataframe after `groupby`: each group is a sequence, in the order
    of the groups, and the columns grouped by are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space.sequences import stack_sequences
    >>> X, ends = stack_sequences([np.array([1.0, 2.0]), np.array([3.0])])
    >>> X.shape, ends
    ((3, 1), array([2, 3]))
    """
    X, lengths = join_sequences(X, lengths)
    if is_dataset(X):
        table = as_rows(X)
        X = table.take(np.arange(table.n))
    X = np.asarray(vector_as_column(arrays.to_numpy(X)))
    if X.ndim != 2:
        raise ValueError(f"sequences have rows and columns, got {X.ndim} dimensions.")
    if X.dtype.kind == "c":
        raise ValueError("sequences hold real numbers, got complex ones.")
    X = X.astype(float, copy=False)
    if X.size == 0:
        raise ValueError(f"X has no values: its shape is {X.shape}.")
    if np.isinf(X).any():
        raise ValueError("X contains infinity; NaN stands for a missing value.")
    return X, sequence_ends(len(X), lengths)


def join_sequences(X, lengths=None):
    """Lists and groups put one after the other, with their lengths; the rest as is.

    The result is not checked yet: `stack_sequences` does that, and estimators do by
    scikit-learn's rules.
    """
    if is_grouped_frame(X):
        refuse_lengths(lengths, "grouped dataframe")
        frames = grouped_frames(X)
        import narwhals as nw

        return nw.concat(frames).to_native(), [len(f) for f in frames]
    if is_list_of_arrays(X):
        if lengths is not None and len(np.atleast_1d(lengths)) != sum(map(len, X)):
            refuse_lengths(lengths, "list of sequences")
        X = [arrays.to_numpy(vector_as_column(x)) for x in X]
        counts = [x.shape[0] for x in X]
        if 0 in counts:
            raise ValueError(
                f"sequence {counts.index(0)} has no rows: leave empty sequences out."
            )
        if len({x.shape[1:] for x in X}) > 1:
            widths = sorted({x.shape[1] for x in X})
            raise ValueError(
                f"every sequence must have the same columns, got {widths} of them."
            )
        return np.concatenate(X), counts
    return vector_as_column(X), lengths


def refuse_lengths(lengths, what):
    if lengths is not None:
        raise ValueError(f"a {what} has its lengths already: leave out `lengths`.")


def is_grouped_frame(X) -> bool:
    """Whether X is a dataframe, or a column of one, after `groupby`."""
    return type(X).__name__ in ("DataFrameGroupBy", "SeriesGroupBy", "GroupBy")


def grouped_frames(X):
    """The groups as frames of the columns that were not grouped by.

    Polars gives groups in any order unless asked: here, as each first appears.
    """
    import narwhals as nw

    if hasattr(X, "maintain_order") and not X.maintain_order:
        X = X.df.group_by(*X.by, maintain_order=True, **X.named_by)
    keys = {str(name) for name in getattr(X, "exclusions", ())}  # pandas
    for by in (*getattr(X, "by", ()), *getattr(X, "_keys", ())):  # polars, narwhals
        keys.add(by if isinstance(by, str) else by.meta.output_name())
    frames = [nw.from_native(f, allow_series=True) for _, f in X]
    if not frames:
        raise ValueError("the grouped dataframe has no groups.")
    if isinstance(frames[0], nw.Series):
        return [f.to_frame() for f in frames]
    kept = [name for name in frames[0].columns if str(name) not in keys]
    if not kept:
        raise ValueError("the grouped dataframe has no columns but those grouped by.")
    return [f.select(nw.col(name) for name in kept) for f in frames]


def is_list_of_arrays(X) -> bool:
    listed = isinstance(X, (list, tuple)) and len(X) > 0
    return listed and all(getattr(x, "ndim", 0) > 0 for x in X)


def vector_as_column(X):
    """A vector as one column, masked entries as NaN; anything else as it is."""
    if isinstance(X, np.ma.MaskedArray):
        X = X.astype(float).filled(np.nan)
    plain = (int, float, np.number)
    if isinstance(X, (list, tuple)) and X and all(isinstance(x, plain) for x in X):
        X = np.array(X)
    if len(getattr(X, "shape", ())) != 1 or scipy.sparse.issparse(X):
        return X
    return arrays.to_numpy(X)[:, None]  # an array, or the column of a frame


def sequence_ends(n: int, lengths) -> np.ndarray:
    """Where each sequence ends. Lengths must be whole, positive and sum to n.

    n whole numbers that sum to n are all 1, so any other vector of n entries is not
    lengths but the y of scikit-learn's conventions, which has no meaning here.
    """
    if lengths is None:
        return np.array([n])
    values = np.atleast_1d(np.asarray(lengths))
    if values.ndim == 1 and len(values) == n and not np.all(values == 1):
        return np.array([n])
    if values.dtype.kind in "iu" and values.ndim == 1 and (values == 0).any():
        raise ValueError(
            f"sequence {int(np.argmin(values != 0))} has length 0: leave empty "
            "sequences out."
        )
    whole = values.dtype.kind in "iu" and values.ndim == 1 and (values > 0).all()
    if not whole or values.sum() != n:
        got = f"a sum of {values.sum()}" if whole else repr(lengths)
        raise ValueError(
            f"lengths must be positive whole numbers that sum to the {n} rows of X, "
            f"got {got}."
        )
    return np.cumsum(values)
