"""Columns and prepared tables, which tests of preparation share."""

import numpy as np

from pansophy.tables import Column, Preparation, infer_schema


def columns_of(*specs):
    """Columns of (role, number of levels or period)."""
    out = []
    for i, (role, size) in enumerate(specs):
        levels = tuple(f"v{k:02d}" for k in range(int(size))) if size else ()
        angle = role == "angle"
        out.append(
            Column(f"c{i}", role, "", () if angle else levels, size if angle else 0.0)
        )
    return tuple(out)


def prepared(table, target="quit?", **kind):
    """A preparation of a table, not yet fitted, its frame, target and schema."""
    schema = infer_schema(table, target)
    prepare = Preparation(
        tuple(schema.used), task=schema.task, n_classes=len(schema.classes), **kind
    )
    return prepare, schema.frame(table), schema.target_values(table), schema


def same_state(a, b) -> bool:
    """Whether two saved states are the same to the bit."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(
            a, b, equal_nan=a.dtype.kind == "f"
        )
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_state(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same_state, a, b))
    return a == b
