"""Sums over blocks of rows: of arrays, tensors, and tables larger than memory.

Most fits need of n rows only a sum of small statistics: a Gram matrix, a gradient,
responsibilities, counts. `Rows` cuts whatever holds the rows into blocks and adds up

    S = sum_b stats(X_b, *aligned_b)                                            (1)

with the blocks of an array on threads, of a torch tensor on its device, of an Arrow
dataset or Parquet file as they are read, and of rows on a cluster where they are
(`cluster_rows`). Block limits depend only on `block`, and the sum is taken in block
order, by runs of `RUN` blocks, so S is the same for any number of threads and machines
and the same for an array and for a file that holds it. Memory beyond the data is a few
blocks.

`stats` returns an array, a number, or a tuple, dict or NamedTuple of those.
"""

import glob
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..loops import threads
from .arrays import device, is_foreign, is_numpy, namespace
from .decoded_rows import DecodedRows, row_memory

BLOCK_BYTES = 1 << 20  # a block and its temporaries stay near the last-level cache
DEVICE_BYTES = 1 << 27  # on a device, where starting work costs more than doing it
RUN = 64  # blocks whose statistics are added up in order before they meet others


def add_statistics(a, b, *, into: bool = False):
    """Sum of two statistics of the same structure; `into` may overwrite a."""
    if isinstance(a, tuple):
        parts = [add_statistics(x, y, into=into) for x, y in zip(a, b, strict=True)]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, dict):
        return {key: add_statistics(a[key], b[key], into=into) for key in a}
    if into and is_numpy(a) and getattr(a, "ndim", 0):
        a += b
        return a
    return a + b


def sum_statistics(parts: Iterator):
    """Add up statistics in the order in which they come."""
    parts = iter(parts)
    out = next(parts)
    ours = False  # the first may be a view of the caller's rows
    for part in parts:
        out, ours = add_statistics(out, part, into=ours), True
    return out


class RunningSum:
    """Statistics added up in a tree whose shape depends on their number alone.

    `RUN` statistics in order are one run, `RUN` runs in order a run of the next level.
    A run may so be added up elsewhere, and its sum handed in with its level.

    Examples
    --------
    >>> total = RunningSum()
    >>> total.add(2016, level=1)  # 0 + 1 + ... + 63
    >>> total.add(64)
    >>> total.result()
    2080
    """

    def __init__(self):
        self.sums: list = [None]  # of the open run of each level
        self.n_open = [0]  # how many statistics each holds
        self.owned = [False]  # the first of a run may be a view of the caller's rows

    def add(self, part, level: int = 0) -> None:
        """Add the next statistic, or the sum of the next run of a level."""
        while level >= len(self.sums):
            self.sums.append(None)
            self.n_open.append(0)
            self.owned.append(False)
        if self.n_open[level]:
            held = self.sums[level]
            part = add_statistics(held, part, into=self.owned[level])
            self.owned[level] = True
        self.sums[level] = part
        self.n_open[level] += 1
        if self.n_open[level] == RUN:
            self.sums[level], self.n_open[level], self.owned[level] = None, 0, False
            self.add(part, level + 1)

    def result(self):
        """The sum of all, from the largest runs to the last single ones."""
        open_sums = [
            s for s, n in zip(self.sums, self.n_open, strict=True) if n
        ]  # low levels hold what came last
        return sum_statistics(reversed(open_sums))


def sum_in_runs(parts: Iterator):
    """Add up statistics by runs, as `RunningSum` does; up to `RUN` of them in order."""
    total = RunningSum()
    for part in parts:
        total.add(part)
    return total.result()


class Rows:
    """n rows in blocks, with arrays aligned to the rows.

    Parameters
    ----------
    X : array of shape (n, ...)
        NumPy array, SciPy CSR matrix or array-API tensor.
    *aligned : arrays of length n, or None
        Cut along with X (weights, targets, labels). None stays None.
    block : int or None
        Rows per block. None chooses by the width of X.
    """

    def __init__(self, X, *aligned, block: int | None = None):
        self.X, self.aligned = X, aligned
        self.n = int(X.shape[0])
        self.d = int(X.shape[1]) if X.ndim > 1 else 1
        self.dtype = X.dtype
        self.threaded = not is_foreign(X)
        self.block = block or default_block(self.d, device=not self.threaded)

    def with_aligned(self, *aligned, block: int | None = None) -> "Rows":
        """A copy with other aligned arrays, perhaps in other blocks."""
        return Rows(self.X, *aligned, block=block or self.block)

    def blocks(self) -> Iterator[tuple]:
        """(X_b, *aligned_b) for each block, in order."""
        for i in range(0, self.n, self.block):
            cut = slice(i, min(i + self.block, self.n))
            yield tuple(slice_rows(a, cut) for a in (self.X, *self.aligned))

    def each(self, function: Callable, *, blas: bool = True) -> Iterator:
        """function(X_b, *aligned_b) for each block, in order, on threads if it pays."""
        if not self.threaded:
            return (function(*b) for b in self.blocks())
        tasks = ((lambda b=b: function(*b)) for b in self.blocks())
        return threads.run_tasks(tasks, blas=blas)

    def sum(self, stats: Callable, *, blas: bool = True):
        """Eq. (1). `blas=False` says that `stats` calls no BLAS."""
        return sum_in_runs(self.each(stats, blas=blas))

    def map(self, function: Callable, *, blas: bool = True) -> Any:
        """function's per-row results, put together to length n."""
        parts = self.each(function, blas=blas)
        first = next(parts)
        several = isinstance(first, tuple)
        columns = [GrowingResult(a, self.n) for a in (first if several else (first,))]
        for part in parts:
            for column, a in zip(columns, part if several else (part,), strict=True):
                column.append(a)
        found = tuple(column.collected() for column in columns)
        return found if several else found[0]

    def take(self, index):
        """The rows at the given positions, as one array."""
        if not is_foreign(self.X):
            return self.X[index]
        xp = namespace(self.X)
        index = xp.asarray(index, device=device(self.X))
        return xp.take(self.X, index, axis=0)


class GrowingResult:
    """Results of blocks of n rows, in order, put together without a second copy.

    NumPy arrays go into one array for all rows as they come; others are kept and joined
    at the end, as are arrays of another kind than the first.
    """

    def __init__(self, first, n):
        self.parts = [first]
        self.whole: Any = None
        self.n_filled = 0
        plain = type(first) is np.ndarray and first.ndim > 0
        if plain and 0 < len(first) < n and not first.dtype.hasobject:
            order = "F" if np.isfortran(first) else "C"
            self.whole = np.empty((n, *first.shape[1:]), first.dtype, order)
            self.parts = []
            self.append(first)

    def append(self, part):
        whole = self.whole
        if whole is not None:
            stop = self.n_filled + len(part)
            alike = part.dtype == whole.dtype and part.shape[1:] == whole.shape[1:]
            if alike and stop <= len(whole):
                whole[self.n_filled : stop] = part
                self.n_filled = stop
                return
            self.parts = [whole[: self.n_filled]]
            self.whole = None
        self.parts.append(part)

    def collected(self):
        if self.whole is not None:
            return self.whole[: self.n_filled]
        return concatenate_blocks(self.parts)


IN_MEMORY = (
    "this method needs its rows in memory, not in a file: pass an array or a table, "
    "such as dataset.to_table()."
)


class RowsNotInMemoryError(TypeError, AttributeError):
    """A table on disk where an array is needed; `hasattr` takes it for absence."""


class DatasetRows(Rows):
    """Rows of a pyarrow dataset or Parquet file that need not fit in memory.

    Rows that were decoded are kept for the next pass as far as a budget of memory
    goes (`decoded_rows.row_memory`); blocks may be views of them and are not written
    to.

    Parameters
    ----------
    source : path or pyarrow.dataset.Dataset
        Parquet, Feather or CSV, one file or a folder of them.
    columns : list of str or None
        Columns that make up X, in order: numbers, decimals or booleans. None takes all,
        and refuses a table in which some are not, rather than leave them out.
    dtype : numpy dtype or None
        float64 or float32. None is float32 if every column is, else float64.
    """

    def __init__(self, source, *aligned, columns=None, block=None, dtype=None):
        self.dataset = as_dataset(source)
        self.columns = numeric_columns(self.dataset.schema, columns)
        dtype = np.dtype(dtype or common_float_type(self.dataset, self.columns))
        self._begin(self.dataset.count_rows(), dtype, aligned, block)

    def _begin(self, n, dtype, aligned, block):
        """Set what all tables on disk have, beside `columns`."""
        self.n, self.d, self.dtype = int(n), len(self.columns), np.dtype(dtype)
        self.aligned = aligned
        self.block = block or default_block(self.d)
        self.threaded = True
        self.kept = DecodedRows(self.n, self.d, self.dtype)

    @property
    def shape(self):
        return self.n, self.d

    def as_array(self, *_, **__):
        """Refuse use as an array: the rows are on disk."""
        raise TypeError(IN_MEMORY)

    __len__ = __getitem__ = __array__ = __iter__ = __matmul__ = as_array
    __add__ = __sub__ = __mul__ = __truediv__ = __pow__ = as_array
    __radd__ = __rsub__ = __rmul__ = __rmatmul__ = as_array
    __lt__ = __gt__ = __le__ = __ge__ = as_array

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise RowsNotInMemoryError(IN_MEMORY)

    def with_aligned(self, *aligned, block: int | None = None) -> "DatasetRows":
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))  # the decoded rows are shared
        copied.aligned = aligned
        copied.block = block or self.block
        return copied

    def with_columns(self, columns) -> "DatasetRows":
        """Rows of this table made of other columns, in its precision."""
        if list(columns) == list(self.columns):
            return self
        return DatasetRows(
            self.dataset, columns=columns, block=self.block, dtype=self.dtype
        )

    def reading_columns(self, first, stop) -> "DatasetRows":
        """Rows for one pass over a few columns: others need not be read.

        They have these columns alone or all of them.
        """
        if self.kept.n_filled == self.n:
            return self.with_aligned()
        with row_memory(0):  # nothing is kept for a second pass
            return self.with_columns(self.columns[first:stop]).with_aligned()

    @property
    def all_columns(self) -> list:
        """The columns that the table has, numeric or not."""
        return list(self.dataset.schema.names)

    def column(self, name) -> np.ndarray:
        """One column of any type, read into memory."""
        if name not in self.all_columns:
            raise ValueError(f"the table has no column named {name!r}.")
        parts = [b.column(0) for b in record_batches(self.dataset, [name], 1 << 16)]
        return _column_in_memory(parts, self.dataset.schema.field(name).type)

    def blocks(self) -> Iterator[tuple]:
        start = 0
        for X in self._filled():
            cut = slice(start, start + len(X))
            start += len(X)
            yield (X, *(slice_rows(a, cut) for a in self.aligned))

    def _filled(self) -> Iterator[np.ndarray]:
        """The rows as blocks of exactly `block` rows: those kept, then the others.

        Rows that are kept are decoded to their place, of which blocks are views; others
        into a block of their own.
        """
        kept = self.kept
        position = kept.n_filled
        filling = BlockFiller(self.block, self.d, self.dtype)
        if position:
            yield from filling.cut(kept.rows[:position])
        for size, decode in self._undecoded(position):
            n_done = 0
            while n_done < size:
                place = kept.room(position, size - n_done)
                if place is not None:
                    decode(n_done, place)
                    kept.fill(position + len(place))
                    yield from filling.cut(place)
                else:
                    place = filling.room(size - n_done)
                    decode(n_done, place)
                    yield from filling.added(len(place))
                n_done += len(place)
                position += len(place)
        yield from filling.rest()
        if position != self.n:
            raise ValueError(
                f"the table had {self.n} rows when it was opened, but {position} when "
                "it was read."
            )

    def _undecoded(self, start) -> Iterator[tuple]:
        """(rows, decode) for batches of rows from `start` on.

        `decode(k, out)` writes the rows of the batch from its k-th on into `out`.
        """
        if start >= self.n:
            return
        size = max(self.block, 1024)
        for batch in record_batches(self.dataset, self.columns, size, start):

            def decode(first, out, batch=batch):
                for j in range(self.d):
                    column = castable_column(batch.column(j).slice(first, len(out)))
                    out[:, j] = column.to_numpy(zero_copy_only=False)

            yield batch.num_rows, decode

    def take(self, index):
        index = np.asarray(index, np.intp)
        if len(index) and not 0 <= index.min() <= index.max() < self.n:
            raise IndexError(f"row numbers must be from 0 to {self.n - 1}.")
        out = np.empty((len(index), self.d), self.dtype)
        order = np.argsort(index, kind="stable")
        start, at = 0, 0
        for (X,) in self.with_aligned().blocks():
            stop = start + len(X)
            upto = at + np.searchsorted(index[order[at:]], stop)
            out[order[at:upto]] = X[index[order[at:upto]] - start]
            start, at = stop, upto
            if at == len(index):
                break
        return out


class BlockFiller:
    """Makes blocks of exactly so many rows out of rows that come in any portions."""

    def __init__(self, block, d, dtype):
        self.shape = (block, d)
        self.dtype = dtype
        self.out = np.empty((0, d), dtype)
        self.used = 0

    def room(self, size):
        """Where at most `size` further rows are to be written."""
        if not self.used:
            self.out = np.empty(self.shape, self.dtype)
        return self.out[self.used : self.used + size]

    def added(self, size) -> Iterator[np.ndarray]:
        """Take note of rows that were written; the block, if it is full."""
        self.used += size
        if self.used == len(self.out):
            self.used = 0
            yield self.out

    def cut(self, rows) -> Iterator[np.ndarray]:
        """Blocks of rows that stay: views, and copies where portions meet."""
        n_done = 0
        while n_done < len(rows):
            if not self.used and n_done + self.shape[0] <= len(rows):
                yield rows[n_done : n_done + self.shape[0]]
                n_done += self.shape[0]
                continue
            place = self.room(len(rows) - n_done)
            place[:] = rows[n_done : n_done + len(place)]
            n_done += len(place)
            yield from self.added(len(place))

    def rest(self) -> Iterator[np.ndarray]:
        """The last block, if it is not full."""
        if self.used:
            yield self.out[: self.used]


def _column_in_memory(parts, kind) -> np.ndarray:
    """Arrow arrays of one column as a NumPy array: numbers, or text as text."""
    import pyarrow as pa
    import pyarrow.types as kinds

    column = pa.chunked_array(parts, type=kind)
    if kinds.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if kinds.is_decimal(column.type):
        column = column.cast("float64")
    values = column.to_numpy()
    if values.dtype == object and not column.null_count:
        is_text = kinds.is_string(column.type) or kinds.is_large_string(column.type)
        values = values.astype(str) if is_text else values.astype(bool)
    return values


def as_rows(X, *aligned, block=None, dtype=None) -> Rows:
    """`Rows` of whatever X is; a `Rows` is taken as it is."""
    if isinstance(X, Rows):
        return X.with_aligned(*aligned, block=block) if aligned or block else X
    if is_dataset(X):
        return DatasetRows(X, *aligned, block=block, dtype=dtype)
    return Rows(X, *aligned, block=block)


def is_dataset(X) -> bool:
    """Whether X names or is a table on disk rather than an array."""
    if isinstance(X, (str, Path, DatasetRows)) or is_list_of_files(X):
        return True
    if is_dask(X):
        return True
    return type(X).__module__.startswith("pyarrow") and hasattr(X, "to_batches")


def is_dask(X) -> bool:
    """Whether X is a dask array or dataframe."""
    return type(X).__module__.startswith(("dask.array", "dask.dataframe"))


def is_in_memory(X) -> bool:
    """Whether what `is_dataset` accepts holds its rows in memory: an Arrow table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_in_memory(pa.table({"x": [1.0]})), is_in_memory("x.parquet")
    (True, False)
    """
    if isinstance(X, DatasetRows):
        X = getattr(X, "dataset", None)
    return is_arrow_table(X) or type(X).__name__ == "InMemoryDataset"


def refuse_table_on_disk(X) -> None:
    """Raise TypeError if X is a table that is not in memory."""
    if is_dataset(X) and not is_in_memory(X):
        raise TypeError(IN_MEMORY)


def rows_in_memory(X):
    """The rows of an Arrow table as an array; anything but a table is left as it is.

    Raises TypeError for a table on disk, for methods that need all rows at once.
    """
    if not is_dataset(X):
        return X
    refuse_table_on_disk(X)
    table = as_rows(X)
    return table.take(np.arange(table.n))


def is_arrow_table(X) -> bool:
    """Whether X is an Arrow table or batch of rows, and not a dataset."""
    is_arrow = type(X).__module__.startswith("pyarrow")
    return is_arrow and hasattr(X, "to_batches") and not hasattr(X, "count_rows")


def is_list_of_files(X) -> bool:
    """Whether X lists paths of tables, which together are one."""
    return (
        isinstance(X, (list, tuple))
        and len(X) > 0
        and all(isinstance(x, (str, Path)) for x in X)
        and all(table_ending(Path(x)) in FILE_FORMATS for x in X)
    )


def as_dataset(source):
    """Open a path, a pattern such as "part-*.csv" or a list of files as a dataset.

    The format goes by the ending of the (first) file.
    """
    import pyarrow.dataset as ds

    if isinstance(source, (list, tuple)):
        files = [Path(one) for one in source]
    elif not isinstance(source, (str, Path)):
        return source if hasattr(source, "count_rows") else ds.dataset(source)
    elif Path(source).is_dir():
        return ds.dataset(source, format=folder_format(Path(source)))
    elif not Path(source).exists() and glob.has_magic(str(source)):
        files = [Path(one) for one in sorted(glob.glob(str(source)))]
        if not files:
            raise FileNotFoundError(f"no such table: {source}")
    else:
        files = [Path(source)]
    for path in files:
        if not path.exists():
            raise FileNotFoundError(f"no such table: {path}")
    try:
        return ds.dataset([str(p) for p in files], format=format_of_file(files[0]))
    except pa_errors() as error:
        text = " ".join(str(error).split())[:200]
        raise ValueError(f"{files[0]} cannot be read as a table: {text}") from error


def pa_errors():
    """What pyarrow raises where it cannot read a file."""
    import pyarrow as pa

    return pa.ArrowException, OSError


def folder_format(folder):
    """The format of the files in a folder, by the first that has a known ending."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and table_ending(path) in FILE_FORMATS:
            return format_of_file(path)
    return "parquet"


FILE_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".feather": "feather",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".jsonl": "json",
    ".ndjson": "json",
}
PACKED_FORMATS = ("csv", "tsv")  # that may be packed as .gz, .bz2 or .zst


def table_ending(path) -> str:
    """The ending of a file name that says its format, without that of a packer."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".bz2", ".zst"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def format_of_file(path):
    """The pyarrow format of a file, by its name."""
    kind = FILE_FORMATS.get(table_ending(path))
    is_packed = table_ending(path) != path.suffix.lower()
    if kind is None and not path.suffix:
        kind = "parquet"  # as files in folders of other tools are called
    if kind is None or (is_packed and kind not in PACKED_FORMATS):
        raise ValueError(
            f"{path} is not a table that can be fitted from its file: that takes "
            ".parquet, .feather, .arrow, .jsonl and .csv or .tsv (also .gz, .zst); "
            "read it with pansophy.tables.read_table."
        )
    if kind != "tsv":
        return kind
    import pyarrow.csv
    import pyarrow.dataset as ds

    return ds.CsvFileFormat(pyarrow.csv.ParseOptions(delimiter="\t"))


def numeric_columns(schema, columns=None) -> list[str]:
    """The given columns, or all; an error names those that are not numeric."""
    names = list(schema.names) if columns is None else list(columns)
    missing = set(names) - set(schema.names)
    if missing:
        raise ValueError(f"the table has no column named {min(missing)!r}.")
    if columns is None:  # what pandas calls the rows is no column of theirs
        names = [c for c in names if not c.startswith("__index_level_")]
    good = [c for c in names if is_number_or_boolean(schema.field(c).type)]
    if not good:
        raise ValueError("the table has no numeric column to read.")
    if len(good) == len(names):
        return names
    other = [c for c in names if c not in set(good)]
    listed = ", ".join(f"{c!r} ({schema.field(c).type})" for c in other[:8])
    listed += f" and {len(other) - 8} more" if len(other) > 8 else ""
    few = ", ".join(repr(c) for c in good[:3]) + (", ..." if len(good) > 3 else "")
    raise ValueError(
        f"the table has columns that are not numbers: {listed}. Say which columns to "
        "read with pansophy.core.arrays.rows.DatasetRows(table, "
        f"columns=[{few}]), or turn the others into numbers first."
    )


def is_number_or_boolean(kind) -> bool:
    """Whether an Arrow type is read as numbers."""
    import pyarrow.types as kinds

    return (
        kinds.is_floating(kind)
        or kinds.is_integer(kind)
        or kinds.is_boolean(kind)
        or kinds.is_decimal(kind)
    )


def castable_column(column):
    """A column that NumPy can take: booleans and decimals as float64."""
    import pyarrow.types as kinds

    if kinds.is_boolean(column.type) or kinds.is_decimal(column.type):
        return column.cast("float64")
    return column


def common_float_type(dataset, columns):
    """float32 if every column is, else float64."""
    import pyarrow.types as kinds

    small = (kinds.is_float32(dataset.schema.field(c).type) for c in columns)
    return np.float32 if all(small) else np.float64


def record_batches(dataset, columns, size, start=0) -> Iterator:
    """Record batches of the columns from row `start` on, in order.

    The dataset scanner decodes whole row groups ahead, which for the usual one of a
    million rows is most of a file. So Parquet files that hold all the columns are read
    one by one and page by page; other formats, filters and partitions go by scanner.
    """
    form = getattr(getattr(dataset, "format", None), "default_extname", "")
    filtered = getattr(dataset, "_scan_options", None)
    if form == "parquet" and not filtered:
        yield from _parquet_batches(dataset, columns, size, start)
        return
    batches = dataset.to_batches(
        columns=columns,
        batch_size=size,
        batch_readahead=2,
        fragment_readahead=1,
        use_threads=False,
    )
    yield from _without_first_rows(batches, start)


def _parquet_batches(dataset, columns, size, start) -> Iterator:
    """`record_batches` of Parquet files; row groups before `start` are not read."""
    import pyarrow.parquet as pq

    for fragment in dataset.get_fragments():
        file = pq.ParquetFile(
            fragment.path,
            filesystem=dataset.filesystem,
            buffer_size=1 << 16,
            pre_buffer=False,
        )
        with file:
            if set(columns) <= set(file.schema_arrow.names):
                sizes = [
                    file.metadata.row_group(g).num_rows
                    for g in range(file.metadata.num_row_groups)
                ]
                first = 0
                while first < len(sizes) and start >= sizes[first]:
                    start -= sizes[first]
                    first += 1
                batches = file.iter_batches(
                    size,
                    row_groups=range(first, len(sizes)),
                    columns=columns,
                    use_threads=False,
                )
                batches = (batch.select(columns) for batch in batches)
                n_left = sum(sizes[first:])
            else:
                schema = dataset.schema
                batches = fragment.to_batches(schema, columns, batch_size=size)
                n_left = fragment.count_rows()
            yield from _without_first_rows(batches, start)
            start = max(0, start - n_left)


def _without_first_rows(batches, start) -> Iterator:
    """Record batches without the first `start` rows, and without empty ones."""
    for batch in batches:
        if start >= batch.num_rows:
            start -= batch.num_rows
        else:
            yield batch.slice(start) if start else batch
            start = 0


def slice_rows(a, cut: slice):
    """Rows `cut` of an aligned array; the array API wants every axis spelt out."""
    if a is None:
        return None
    if getattr(a, "format", "") == "csr":
        return slice_sparse_rows(a, cut)
    return a[cut, ...] if is_foreign(a) else a[cut]


def slice_sparse_rows(a, cut: slice):
    """Rows `cut` of a CSR matrix as views of its arrays: slicing would copy them."""
    ends = a.indptr[cut.start : cut.stop + 1]
    own = slice(int(ends[0]), int(ends[-1]))
    shape = (len(ends) - 1, a.shape[1])
    return type(a)((a.data[own], a.indices[own], ends - ends[0]), shape=shape)


def default_block(d: int, *, device: bool = False) -> int:
    return max(256, (DEVICE_BYTES if device else BLOCK_BYTES) // (8 * max(d, 1)))


def concatenate_blocks(parts):
    return namespace(parts[0]).concat(parts) if len(parts) > 1 else parts[0]
