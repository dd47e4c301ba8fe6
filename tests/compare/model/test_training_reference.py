"""What is kept of the training rows, to compare later rows with."""

import numpy as np

from pansophy.compare.model.training_reference import evenly_spaced_rows, frame_to_table
from tests.compare.table_models import people

INPUTS = ["age", "pay", "city", "day", "note"]
TABLE = people()


def test_a_frame_is_looked_at_as_a_plain_table(model):
    frame, used = model.schema.frame(TABLE), model.schema.used
    plain = frame_to_table(frame, used)
    for name in ("age", "pay", "city", "day"):
        assert plain.column(name).to_pylist() == TABLE.column(name).to_pylist()
    few = evenly_spaced_rows(frame, used, max_rows=70)
    assert few.equals(plain.take(np.arange(0, 300, 5)))
