"""Sequences of unequal length: one array of all rows, and where each sequence begins.

Sequence i of a `Ragged` is `values[offsets[i]:offsets[i + 1]]`. It is indexed by
sequences (a number, a slice, numbers, a mask), so that scikit-learn's splitters and
searches divide sequences and not steps. Nets take it as a padded array with a mask,
chains as one array with the ends.

Users hold sequences as a `Ragged`, as one array, as an array with `lengths`, as a list
of arrays, as a padded array, or as a dataframe grouped by the sequence a row belongs
to. `as_ragged` reads a collection of sequences; `stack_sequences` reads what models of
one long chain take, where a plain array is a single sequence and NaN is a missing
observation.

Shapes    values (n, d) or (n,), all sequences one after the other; offsets (s + 1,);
          ends (s,) = offsets[1:]
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from . import arrays
from .rows import rows_in_memory
from .unreadable import array_of_rows


@dataclass(frozen=True, eq=False, repr=False)
class Ragged:
    """Sequences of unequal length, indexed by sequence.

    Parameters
    ----------
    values : array of shape (n, d) or (n,)
        The rows of all sequences, one sequence after the other.
    offsets : array of int of shape (s + 1,)
        Where each sequence begins, and n at the end. No sequence is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import Ragged
    >>> X = Ragged.from_list([np.zeros((3, 2)), np.ones((1, 2))])
    >>> X
    Ragged(2 sequences of 1 to 3 steps, 2 columns, float64)
    >>> X[[1]].values
    array([[1., 1.]])
    >>> X.padded()[1]
    array([[ True,  True,  True],
           [ True, False, False]])
    """

    values: np.ndarray
    offsets: np.ndarray

    def __post_init__(self):
        values = np.asarray(arrays.to_numpy(self.values))
        offsets = np.asarray(self.offsets)
        if values.ndim not in (1, 2):
            raise ValueError(
                f"values of Ragged must be (n,) or (n, d), got shape {values.shape}."
            )
        if offsets.ndim != 1 or len(offsets) == 0 or offsets.dtype.kind not in "iu":
            raise ValueError("offsets of Ragged must be a vector of whole numbers.")
        offsets = offsets.astype(np.int64)
        if offsets[0] != 0 or offsets[-1] != len(values):
            raise ValueError(
                f"offsets of Ragged must go from 0 to the {len(values)} rows of "
                f"values, got {offsets[0]} to {offsets[-1]}."
            )
        lengths = np.diff(offsets)
        if (lengths < 0).any():
            raise ValueError("offsets of Ragged must ascend.")
        if (lengths == 0).any():
            empty = int(np.argmin(lengths != 0))
            raise ValueError(
                f"sequence {empty} has no rows: leave empty sequences out."
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "offsets", offsets)

    @classmethod
    def from_list(cls, sequences) -> "Ragged":
        """From a list of arrays (n_i, d) or of vectors (n_i,)."""
        parts = [np.asarray(arrays.to_numpy(x)) for x in sequences]
        if not parts:
            raise ValueError("there are no sequences.")
        check_same_columns(parts)
        return cls(np.concatenate(parts), np.cumsum([0, *map(len, parts)]))

    @classmethod
    def from_lengths(cls, values, lengths) -> "Ragged":
        """From all rows and the length of each sequence, as in hmmlearn."""
        values = np.asarray(arrays.to_numpy(values))
        return cls(values, np.r_[0, sequence_ends(len(values), lengths)])

    @classmethod
    def from_padded(cls, X, lengths) -> "Ragged":
        """From an array (s, T, d) or (s, T) of which row i holds lengths[i] steps."""
        X = np.asarray(arrays.to_numpy(X))
        lengths = np.asarray(lengths)
        if X.ndim not in (2, 3) or lengths.shape != X.shape[:1]:
            raise ValueError(
                "padded sequences are (s, T) or (s, T, d) with s lengths, got shapes "
                f"{X.shape} and {lengths.shape}."
            )
        if lengths.dtype.kind not in "iu" or (lengths > X.shape[1]).any():
            raise ValueError(
                f"lengths must be whole numbers of at most {X.shape[1]} steps."
            )
        mask = np.arange(X.shape[1]) < lengths[:, None]
        return cls(X[mask], np.r_[0, np.cumsum(lengths)])

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    @property
    def ends(self) -> np.ndarray:
        """Ends of the sequences."""
        return self.offsets[1:]

    @property
    def shape(self) -> tuple[int]:
        """The number of sequences: what scikit-learn counts as rows."""
        return (len(self),)

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def n_columns(self) -> int:
        return 1 if self.values.ndim == 1 else self.values.shape[1]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.to_list())

    def __getitem__(self, key):
        """One sequence for a number; a Ragged for a slice, numbers or a mask."""
        if isinstance(key, tuple):  # scikit-learn writes X[rows, ...]
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("a Ragged is indexed by sequences only.")
            key = key[0]
        if isinstance(key, (int, np.integer)):
            i = range(len(self))[key]
            return self.values[self.offsets[i] : self.offsets[i + 1]]
        if not isinstance(key, slice):
            key = np.asarray(key)
            if key.dtype.kind == "b" and key.shape != self.shape:
                raise IndexError(
                    f"a mask of {len(self)} sequences is needed, got {key.shape}."
                )
            key = key.astype(int) if key.size == 0 else key
        picked = np.arange(len(self))[key]
        lengths = self.lengths[picked]
        offsets = np.r_[0, np.cumsum(lengths)]
        # row r of the result stands `shift` rows further in these values
        shift = np.repeat(self.offsets[picked] - offsets[:-1], lengths)
        return Ragged(self.values[np.arange(offsets[-1]) + shift], offsets)

    def to_list(self) -> list[np.ndarray]:
        """One array a sequence."""
        return np.split(self.values, self.offsets[1:-1]) if len(self) else []

    def padded(self, length=None, fill=0) -> tuple[np.ndarray, np.ndarray]:
        """Array (s, T, d) or (s, T) padded at the end, and the mask (s, T) of steps."""
        longest = int(self.lengths.max(initial=0))
        T = longest if length is None else int(length)
        if longest > T:
            raise ValueError(f"a sequence has {longest} steps, more than length={T}.")
        mask = np.arange(T) < self.lengths[:, None]
        X = np.full((len(self), T, *self.values.shape[1:]), fill, dtype=self.dtype)
        X[mask] = self.values
        return X, mask

    def with_values(self, values) -> "Ragged":
        """Sequences of these lengths that hold other values, a row for each row."""
        return Ragged(values, self.offsets)

    def map(self, function: Callable) -> "Ragged":
        """The sequences after a function of all rows, (n, d) -> (n, e)."""
        return self.with_values(function(self.values))

    def astype(self, dtype) -> "Ragged":
        return self.with_values(self.values.astype(dtype, copy=False))

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "sequences of unequal length are no rectangular array: use .values, "
            ".padded() or .to_list()."
        )

    def __repr__(self):
        lengths = self.lengths if len(self) else np.zeros(1, int)
        low = lengths.min()
        high = lengths.max()
        steps = f"{low} to {high}" if low != high else f"{low}"
        columns = f"{self.n_columns} column" + "s" * (self.n_columns != 1)
        return (
            f"Ragged({len(self)} sequences of {steps} steps, {columns}, {self.dtype})"
        )


def as_ragged(X, lengths=None) -> Ragged:
    """A collection of sequences in any form as a `Ragged`.

    X is a Ragged, a list of arrays, an array with `lengths`, a grouped dataframe, an
    array (s, T, d) of s series, or an array (s, T) whose rows are series of one column.
    """
    if isinstance(X, Ragged):
        refuse_lengths(lengths, "Ragged")
        return X
    if lengths is not None or is_grouped_frame(X) or is_list_of_arrays(X):
        return Ragged.from_lengths(*join_sequences(X, lengths))
    X = np.asarray(arrays.to_numpy(rows_in_memory(X)))
    if X.ndim not in (2, 3):
        raise ValueError(
            f"series are an array (s, T) or (s, T, d), got {X.ndim} dimensions."
        )
    return Ragged.from_padded(X, np.full(len(X), X.shape[1]))


def check_same_columns(sequences) -> None:
    """Raise unless all arrays have the same columns and none is empty."""
    counts = [x.shape[0] for x in sequences]
    if 0 in counts:
        raise ValueError(
            f"sequence {counts.index(0)} has no rows: leave empty sequences out."
        )
    if len({x.shape[1:] for x in sequences}) > 1:
        widths = sorted({int(np.prod(x.shape[1:])) for x in sequences})
        raise ValueError(
            f"every sequence must have the same columns, got {widths} of them."
        )


def stack_sequences(X, lengths=None) -> tuple[np.ndarray, np.ndarray]:
    """All rows (n, d) in floating point, and where each sequence ends (s,).

    X is a Ragged, one array, an array with `lengths`, a list of arrays, an Arrow table,
    or a pandas or polars dataframe after `groupby`: each group is a sequence, in the
    order of the groups, and the columns grouped by are left out. A table on disk is
    refused.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.ragged import stack_sequences
    >>> X, ends = stack_sequences([np.array([1.0, 2.0]), np.array([3.0])])
    >>> X.shape, ends
    ((3, 1), array([2, 3]))
    """
    X, lengths = join_sequences(X, lengths)
    X = np.asarray(vector_as_column(arrays.to_numpy(rows_in_memory(X))))
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
    if isinstance(X, Ragged):
        refuse_lengths(lengths, "Ragged")
        return vector_as_column(X.values), X.lengths
    if is_grouped_frame(X):
        refuse_lengths(lengths, "grouped dataframe")
        frames = grouped_frames(X)
        import narwhals as nw

        return nw.concat(frames).to_native(), [len(f) for f in frames]
    if is_list_of_arrays(X):
        if lengths is not None and len(np.atleast_1d(lengths)) != sum(map(len, X)):
            refuse_lengths(lengths, "list of sequences")
        X = [arrays.to_numpy(vector_as_column(x)) for x in X]
        check_same_columns(X)
        return np.concatenate(X), [len(x) for x in X]
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
    """Ends of the sequences. Lengths must be whole, positive and sum to n.

    n whole numbers that sum to n are all 1, so any other vector of n entries is not
    lengths but the y of scikit-learn's conventions, which has no meaning here.
    """
    if lengths is None:
        return np.array([n])
    values = np.atleast_1d(array_of_rows(lengths, "lengths"))
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
