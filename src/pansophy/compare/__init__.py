"""Compare methods on a table, honestly: `compare(table, target)`.

Every method sees the same folds, preparation is fitted inside them, scores carry
intervals that allow for overlapping training sets, ties are called ties, and what was
not run is listed with the reason. See `statistics` for the arithmetic.
"""

from ..tables import Column, Schema, TableError, infer, read_table
from .clusterings import Clusterings, clusterings
from .experiment import compare
from .metrics import METRICS
from .model import TableModel
from .result import Comparison
from .statistics import (
    Interval,
    bootstrap,
    corrected_interval,
    corrected_t,
    error_interval,
    expected_of_best,
    holm,
)

__all__ = [
    "METRICS",
    "Clusterings",
    "Column",
    "Comparison",
    "Interval",
    "Schema",
    "TableError",
    "TableModel",
    "bootstrap",
    "clusterings",
    "compare",
    "corrected_interval",
    "corrected_t",
    "error_interval",
    "expected_of_best",
    "holm",
    "infer",
    "read_table",
]
