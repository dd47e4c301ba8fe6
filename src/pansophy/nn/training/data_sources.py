"""Rows that do not lie in memory: Parquet files, files read one by one, sequences.

`nn.Batches` takes two kinds of sources. One with `take(rows)` gives any rows at once
(`FileRows`, `RaggedRows`); one with `read_pass(rng, batch_size, skip)` gives the
batches of a whole pass in an order of its own (`ParquetRows`), which is much faster
for files that are read block by block.

A pass over Parquet files takes the row groups in a random order, `buffer_groups` of
them at a time, and shuffles the rows of such a buffer: rows far apart in the files meet
in a batch, and memory is a buffer's. The order of a pass follows from one number drawn
at its start, and that of a buffer from this number and the buffer's place; so a pass is
continued from any batch without reading what lies before.

Sources with `prefetch = True` are read by a thread of their own while the net computes.
"""

from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays.ragged import Ragged


class FileRows:
    """Rows in files of their own, such as images, read when they are taken.

    Parameters
    ----------
    paths : sequence of paths
    read : function of a list of paths that returns an array
    *aligned : arrays of the same length
        Labels, say; a batch is (read(paths), *aligned).

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pansophy import nn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [f"{folder}/{i}.npy" for i in range(3)]
    ...     for i, path in enumerate(paths):
    ...         np.save(path, np.full(2, float(i)))
    ...     read = lambda paths: np.stack([np.load(p) for p in paths])
    ...     nn.FileRows(paths, read, np.array([5, 6, 7])).take([2, 0])
    (array([[2., 2.],
           [0., 0.]]), array([7, 5]))
    """

    prefetch = True

    def __init__(self, paths, read: Callable[[list], Any], *aligned):
        self.paths = list(paths)
        self.read = read
        self.aligned = [np.asarray(a) for a in aligned]
        for a in self.aligned:
            if len(a) != len(self.paths):
                raise ValueError(
                    f"there are {len(self.paths)} paths, but {len(a)} aligned rows."
                )

    def __len__(self):
        return len(self.paths)

    def take(self, rows):
        batch = self.read([self.paths[i] for i in rows])
        return (batch, *(a[rows] for a in self.aligned))

    def parts(self) -> list[np.ndarray]:
        """Names and sizes of the files and the other arrays, for a fingerprint."""
        names = "\n".join(map(str, self.paths)).encode()
        sizes = [Path(p).stat().st_size for p in self.paths]
        return [np.frombuffer(names, np.uint8), np.array(sizes), *self.aligned]


class RaggedRows:
    """Sequences of unequal length; a batch is padded to its own longest.

    A batch is (X (n, T, d), lengths (n,), *aligned), T the longest of its sequences.

    Parameters
    ----------
    X : Ragged, or a list of arrays
    *aligned : arrays of the same length, or Ragged (labels of steps)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import nn
    >>> rows = nn.RaggedRows([np.ones(3), np.ones(1), np.ones(2)], np.array([0, 1, 1]))
    >>> X, lengths, y = rows.take([1, 2])
    >>> X.shape, lengths.tolist(), y.tolist()
    ((2, 2, 1), [1, 2], [1, 1])
    """

    def __init__(self, X, *aligned):
        X = X if isinstance(X, Ragged) else Ragged.from_list(X)
        values = X.values if X.values.ndim == 2 else X.values[:, None]
        self.X = X.with_values(values)
        self.aligned = aligned

    def __len__(self):
        return len(self.X)

    def take(self, rows):
        part = self.X[rows]
        aligned = (_padded_rows(a[rows]) for a in self.aligned)
        return part.padded()[0], part.lengths, *aligned

    def parts(self) -> list[np.ndarray]:
        """All arrays, for a fingerprint of the data."""
        flat = []
        for a in (self.X, *self.aligned):
            flat += [a.values, a.offsets] if isinstance(a, Ragged) else [a]
        return flat


def _padded_rows(a):
    """Rows of an array as they are, of a Ragged padded."""
    return a.padded()[0] if isinstance(a, Ragged) else a


class TokenWindows:
    """Windows of a long stream of tokens, which may be a memory-mapped file.

    The stream is a ring: a window that reaches its end goes on at its beginning. A pass
    cuts it into windows of `length` + 1 tokens, the last of one being the first of the
    next, so that every token is predicted (some twice if `length` does not divide the
    stream). With shuffling, each pass cuts at another place.

    Parameters
    ----------
    tokens : array of whole numbers (N,)
    length : int
        Tokens that a window predicts; at most N.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import nn
    >>> windows = nn.TokenWindows(np.arange(6), 4)
    >>> [batch[0].tolist() for batch in windows.read_pass(None, 2)]
    [[[0, 1, 2, 3, 4], [4, 5, 0, 1, 2]]]
    """

    def __init__(self, tokens, length):
        if len(tokens) < 2:
            raise ValueError(f"there must be at least 2 tokens, got {len(tokens)}.")
        self.tokens = tokens
        self.length = min(int(length), len(tokens))
        self.prefetch = isinstance(tokens, np.memmap)

    def __len__(self):
        return -(-len(self.tokens) // self.length)

    def window(self, start) -> np.ndarray:
        """The tokens from `start` on, around the ring."""
        n = len(self.tokens)
        start %= n
        part = self.tokens[start : start + self.length + 1]
        if len(part) <= self.length:
            part = np.concatenate([part, self.tokens[: self.length + 1 - len(part)]])
        return part

    def read_pass(self, rng, batch_size: int, skip: int = 0) -> Iterator[tuple]:
        """Batches (windows (n, length + 1),) of one pass, from batch number `skip`."""
        order = np.arange(len(self))
        phase = 0
        if rng is not None:
            phase = int(rng.integers(len(self.tokens)))
            order = rng.permutation(order)
        for start in range(skip * batch_size, len(order), batch_size):
            starts = phase + self.length * order[start : start + batch_size]
            yield (np.stack([self.window(i) for i in starts]).astype(np.int64),)


class ParquetRows:
    """Rows of Parquet files that need not fit into memory.

    Parameters
    ----------
    paths : path or sequence of paths
        Files, or folders of them.
    columns : sequence of str or None
        Numbers that make X; None takes all but the target.
    target : str or None
        The column that makes y; a batch is then (X, y), else (X,).
    dtype : dtype of X, and of y if its numbers are floating-point
    buffer_groups : int
        Row groups that are shuffled together.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, pyarrow as pa, pyarrow.parquet as pq
    >>> from pansophy import nn
    >>> table = pa.table({"a": np.arange(6.0), "y": np.arange(6)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(table, f"{folder}/rows.parquet", row_group_size=2)
    ...     rows = nn.ParquetRows(f"{folder}/rows.parquet", target="y")
    ...     [(X.ravel().tolist(), y.tolist()) for X, y in rows.read_pass(None, 4)]
    [([0.0, 1.0, 2.0, 3.0], [0, 1, 2, 3]), ([4.0, 5.0], [4, 5])]
    """

    prefetch = True

    def __init__(
        self, paths, columns=None, target=None, *, dtype=np.float32, buffer_groups=8
    ):
        import pyarrow.parquet as pq

        self.target = target
        self.dtype = np.dtype(dtype)
        self.buffer_groups = buffer_groups
        self.files = [pq.ParquetFile(path) for path in _parquet_files(paths)]
        names = self.files[0].schema_arrow.names
        wanted = [*(columns or []), *([] if target is None else [target])]
        for name in wanted:
            if name not in names:
                raise ValueError(f"no column is called {name!r}; there are {names}.")
        self.columns = list(columns or [name for name in names if name != target])
        self.groups = [
            (f, g, file.metadata.row_group(g).num_rows)
            for f, file in enumerate(self.files)
            for g in range(file.metadata.num_row_groups)
        ]

    def __len__(self):
        return sum(rows for *_, rows in self.groups)

    def read_pass(self, rng, batch_size: int, skip: int = 0) -> Iterator[tuple]:
        """Batches of one pass in an order drawn from rng (None: that of the files).

        The first `skip` batches are left out without being read.
        """
        order: Any = range(len(self.groups))
        seed = None
        if rng is not None:
            seed = int(rng.integers(2**63))
            order = np.random.default_rng(seed).permutation(len(self.groups))
        left = skip * batch_size
        carried: list[np.ndarray] | None = None
        for number, start in enumerate(range(0, len(order), self.buffer_groups)):
            members = [
                self.groups[i] for i in order[start : start + self.buffer_groups]
            ]
            rows = sum(count for *_, count in members)
            if left >= rows:
                left -= rows
                continue
            parts = self.read_groups(members)
            if seed is not None:
                shuffled = np.random.default_rng([seed, number]).permutation(rows)
                parts = [part[shuffled] for part in parts]
            parts = [part[left:] for part in parts]
            left = 0
            if carried is not None:
                parts = [np.concatenate(pair) for pair in zip(carried, parts)]
            n_whole = len(parts[0]) // batch_size * batch_size
            for i in range(0, n_whole, batch_size):
                yield tuple(part[i : i + batch_size] for part in parts)
            carried = [part[n_whole:] for part in parts]
        if carried is not None and len(carried[0]):
            yield tuple(carried)

    def read_groups(self, members) -> list[np.ndarray]:
        """X (and y) of some row groups, one after the other."""
        wanted = self.columns if self.target is None else [*self.columns, self.target]
        ends = [0, *accumulate(count for *_, count in members)]
        X = np.empty((ends[-1], len(self.columns)), self.dtype)
        targets = []
        for (f, g, _), start, end in zip(members, ends, ends[1:]):
            table = self.files[f].read_row_group(g, columns=wanted)
            for j, name in enumerate(self.columns):
                X[start:end, j] = table[name].to_numpy()
            if self.target is not None:
                targets.append(table[self.target].to_numpy())
        if self.target is None:
            return [X]
        y = np.concatenate(targets)
        if np.issubdtype(y.dtype, np.floating):
            y = y.astype(self.dtype)
        return [X, y]


def _parquet_files(paths) -> list[Path]:
    """Files from a path, a folder of files, or several of them."""
    if isinstance(paths, (str, Path)):
        paths = [paths]
    results: list[Path] = []
    for path in map(Path, paths):
        inside = [path] if path.is_file() else []
        results += sorted(path.glob("*.parquet")) if path.is_dir() else inside
    if not results:
        raise FileNotFoundError(f"no Parquet files in {', '.join(map(str, paths))}.")
    return results
