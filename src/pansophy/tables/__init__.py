"""Tables in: files and dataframes, roles of columns, rows ready for a model.

`read_table` reads anything into an Arrow table, `batches` streams it, `sample` draws
rows of it; `infer` finds out what each column is for and what is to be predicted, as a
`Schema`; `Schema.frame` turns a table into a `Frame` of numbers, codes and texts;
`Preparation` learns from the rows of a training part how to fill, scale and encode
them.
"""

from .frame import Frame
from .prepare import Preparation
from .read import notes, read_table
from .roles import Column
from .schema import Schema, infer
from .stream import batches, count, sample
from .targets import Task, detect_task, known_rows
from .values import TableError

__all__ = [
    "Column",
    "Frame",
    "Preparation",
    "Schema",
    "TableError",
    "Task",
    "batches",
    "count",
    "detect_task",
    "infer",
    "known_rows",
    "notes",
    "read_table",
    "sample",
]
