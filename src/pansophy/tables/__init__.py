"""Tables: read files and dataframes, infer column roles, prepare rows for models.

`read_table` reads anything into an Arrow table, `table_batches` streams it and
`sample_table_rows` draws rows of it; `infer_schema` finds out what each column is for
and what is to be predicted, as a `Schema`, which turns a table into a `MixedFrame` of
numbers, codes and texts; `Preparation` learns from the rows of a training part how to
fill, scale and encode them. `fuzzy_join` joins tables by names that are nearly equal.
"""

from .column_values import TableError
from .fuzzy_joins import fuzzy_join
from .mixed_frame import MixedFrame
from .prepare import Preparation
from .read import read_table, reading_notes
from .roles import Column
from .schema import Schema, infer_schema
from .stream import count_table_rows, sample_table_rows, table_batches
from .targets import TargetTask, detect_task, known_rows

__all__ = [
    "Column",
    "MixedFrame",
    "Preparation",
    "Schema",
    "TableError",
    "TargetTask",
    "table_batches",
    "count_table_rows",
    "detect_task",
    "fuzzy_join",
    "infer_schema",
    "known_rows",
    "reading_notes",
    "read_table",
    "sample_table_rows",
]
