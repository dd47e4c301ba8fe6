"""Write `docs/scale_table.md`: what every estimator can be fitted to."""

from pathlib import Path

from pansophy.core.arrays.block_readers import reads_blocks, rows_come_home
from pansophy.testing import all_estimators, quick_instance

PAGE = Path(__file__).parents[1] / "docs" / "scale_table.md"
HEAD = """# What each estimator can be fitted to

Made by `make docs`. [scale.md](scale.md) says how. All take a NumPy array or a data
frame in memory.

- **sparse**: a SciPy matrix, without making it dense first.
- **tensor**: a torch tensor stays on its device; otherwise one in main memory is taken
  as a NumPy array, and one on a GPU is refused with a sentence.
- **file**: a path, folder, pattern, Arrow dataset, lazy frame or dask collection, read
  in blocks: it need not fit in memory. Others say in one sentence that they need
  their rows in memory.
- **cluster**: *sums* are added up by the workers that hold the rows; *rows home* means
  that the workers read the table, and that its rows, or bytes made of them, come to the
  machine that fits.

Array, file and cluster give the same bits, which `tests/common/test_scale.py` checks
for every row with a file. Two differ: `TruncatedSVD` in the last digits, and k-means on
large tables, since it draws its first centres from a sample of a file; with `init`
given as an array the bits are the same.

| estimator | sparse | tensor | file | cluster |
|---|---|---|---|---|
"""


def row_of_estimator(name, cls) -> str:
    """The line of one estimator."""
    tags = quick_instance(cls).__sklearn_tags__().input_tags
    on_cluster = "rows home" if rows_come_home(cls) else "sums"
    cells = [
        "yes" if tags.sparse else "",
        "yes" if cls._tensors else "",
        "yes" if reads_blocks(cls) else "",
        on_cluster if reads_blocks(cls) else "",
    ]
    package = cls.__module__.split(".")[1]
    return f"| `{package}.{name}` | {' | '.join(cells)} |\n"


def page_text() -> str:
    """The whole page."""
    lines = {row_of_estimator(name, cls) for name, cls in all_estimators()}
    return HEAD + "".join(sorted(lines))


if __name__ == "__main__":
    PAGE.write_text(page_text(), "utf-8")
    print(f"wrote {PAGE.name}")
