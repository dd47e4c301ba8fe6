"""Tables in: files and dataframes, roles of columns, rows ready for a model.

`read_table` reads anything into an Arrow table; `infer` finds out what each column is
for and what is to be predicted, as a `Schema`; `Schema.frame` turns a table into a
`Frame` of numbers, codes and texts; `Preparation` learns from the rows of a training
part how to fill, scale and encode them.
"""

from .frame import Frame
from .prepare import Preparation
from .read import read_table
from .schema import Column, Schema, infer
from .values import TableError

__all__ = [
    "Column",
    "Frame",
    "Preparation",
    "Schema",
    "TableError",
    "infer",
    "read_table",
]
