"""The winner of a comparison on a sample, fitted on all rows of a larger table.

Preparation is learned on the sample. Then the table passes by once: each batch is
prepared and appended to a temporary Parquet file of plain numbers, which the estimator
reads block by block (`core.arrays.rows`); in memory at any time are a few batches, y
and the weights. Whether an estimator can read a file is tried out on a few rows; one
that cannot keeps the fit on the sample, and the facts of the model say so.

Categories of many levels are coded by means learned on the sample. Its rows meet their
own answer in those means, which is why they are cross-fitted elsewhere; among all the
rows of a table that is larger than its sample they weigh little.
"""

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.base import clone

from ...tables import known_rows, table_batches
from ..methods.pipelines import make_pipeline
from ..samples import fill_empty_labels
from .table_model import (
    TableModel,
    assemble_table_model,
    fit_table_model,
    full_fit_context,
)

TRIAL_ROWS = 400  # rows on which an estimator shows whether it reads files


def refit_on_all_rows(
    method, source, comparison, *, batch=2**16, folder=None
) -> TableModel:
    """Fit the method of a comparison on every row of `source`.

    Parameters
    ----------
    method : Method
        As in `comparison.trial(name).method`.
    source : path or table
        The table that `comparison.data` is a sample of.
    comparison : Comparison
    batch : int
        Rows read at a time.
    folder : path or None
        Where the temporary file goes; needs 8 bytes a row and prepared column.
    """
    schema = comparison.schema
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(dir=folder) as place:
        warnings.simplefilter("ignore")
        plan = []
        for member in method.members or (method,):
            model, note, obstacle = _streamable_pipeline(
                member, comparison, Path(place) / "few.parquet"
            )
            if obstacle:
                return _fit_on_sample(method, comparison, member.name, obstacle)
            plan.append((model, note))
        file = Path(place) / "rows.parquet"
        y = np.empty(0)
        left = 0
        for model, _ in plan:
            prepare, estimator = model.named_steps.values()
            y, w, left = _write_prepared_rows(source, schema, prepare, file, batch)
            extra = {} if w is None else {"sample_weight": w}
            _drop_feature_names(estimator.fit(str(file), y, **extra))
    note = next((s for _, s in plan if s), "")
    facts = {"fitted_on": len(y), "refit": f"on all rows, read from disk{note}"}
    if left:
        facts["left_out"] = f"{left} rows without a known {schema.target!r}"
    model = plan[0][0]
    if method.members:
        model = make_pipeline(method, schema, full_fit_context(comparison))
        model.take([m for m, _ in plan], len(schema.classes))
    return assemble_table_model(method, model, comparison.data, comparison, **facts)


def _streamable_pipeline(method, comparison, file):
    """A pipeline that can be streamed, what is changed for it; or why there is none."""
    model: Any = None
    obstacle = ""
    for form, note in _streamable_variants(method):
        model, obstacle = _prepared_pipeline(form, comparison, file)
        if not obstacle:
            return model, note, ""
    return model, "", obstacle


def _streamable_variants(method):
    """The method as it is, and with its categories encoded if it takes them raw."""
    yield method, ""
    if method.native:
        encoded = ", with categories encoded and gaps filled beforehand"
        yield method._replace(native=False), encoded


def _prepared_pipeline(method, comparison, file):
    """A pipeline with fitted preparation, and why it cannot be streamed, if so."""
    data, schema = comparison.data, comparison.schema
    model = make_pipeline(method, schema, full_fit_context(comparison))
    if list(getattr(model, "named_steps", {})) != ["prepare", "model"]:
        return model, "it is made of several fits"
    prepare, estimator = model.named_steps.values()
    prepare.fit(data.frame, data.y, data.weight)
    return model, _streaming_error(estimator, prepare, data, file)


def _fit_on_sample(method, comparison, name, why) -> TableModel:
    model = fit_table_model(method, comparison.data, comparison)
    n = len(comparison.data)
    note = f"on a sample of {n:,} rows, as {name} cannot be streamed: {why}"
    model.facts.update(fitted_on=n, refit=note)
    return model


def _streaming_error(estimator, prepare, data, file) -> str:
    """Why an estimator cannot be fitted from a file; nothing if it can."""
    sampled = np.linspace(0, len(data) - 1, min(len(data), TRIAL_ROWS)).astype(int)
    sampled = np.unique(np.r_[sampled, _first_row_of_each_class(data.y)])
    rows = data.rows(sampled)
    with MatrixParquetWriter(file) as write:
        write(prepare.transform(rows.frame))
    extra = {} if rows.weight is None else {"sample_weight": rows.weight}
    try:
        clone(estimator).fit(str(file), rows.y, **extra)
    except Exception as error:  # whatever it says, it does not read files
        first = " ".join(str(error).split())[:120]
        return f"{type(error).__name__}: {first}"
    return ""


def _first_row_of_each_class(y) -> np.ndarray:
    """Rows that between them have every class."""
    is_class_codes = y.ndim == 1 and y.dtype.kind in "iu"
    return np.unique(y, return_index=True)[1] if is_class_codes else np.empty(0, int)


def _write_prepared_rows(source, schema, prepare, file, batch):
    """Prepared rows into a file; y, weights or None, and the rows left out."""
    targets = []
    weights = []
    left = 0
    with MatrixParquetWriter(file) as write:
        for table in table_batches(source, size=batch, schema=schema):
            known = rows_with_known_target(fill_empty_labels(table, schema), schema)
            left += table.num_rows - known.num_rows
            if known.num_rows == 0:
                continue
            write(prepare.transform(schema.frame(known)))
            targets.append(schema.target_values(known))
            if schema.weight is not None:
                weights.append(schema.weights(known))
    w = np.concatenate(weights) if weights else None
    return np.concatenate(targets), w, left


def rows_with_known_target(table, schema) -> pa.Table:
    """Rows with a known target; a class that the sample does not have is none."""
    known = known_rows(table, schema.targets)
    if schema.task == "classification":
        column = table.column(schema.target)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        classes = pa.array(list(schema.classes)).cast(column.type)
        known &= pc.is_in(column, value_set=classes).to_numpy(zero_copy_only=False)
    return table if known.all() else table.filter(pa.array(known))


class MatrixParquetWriter:
    """`write(X)` appends the rows of a matrix to a file of columns c0, c1, ..."""

    def __init__(self, file):
        self.file = file
        self.out = None

    def __enter__(self):
        return self.write

    def write(self, X):
        from pyarrow.parquet import ParquetWriter

        columns = [pa.array(X[:, j]) for j in range(X.shape[1])]
        table = pa.table(columns, [f"c{j}" for j in range(X.shape[1])])
        if self.out is None:
            self.out = ParquetWriter(
                self.file, table.schema, compression="none", use_dictionary=False
            )
        self.out.write_table(table)

    def __exit__(self, *_):
        if self.out is not None:
            self.out.close()


def _drop_feature_names(fitted):
    """The names c0, c1, ... of the file say nothing about the table."""
    for part in (fitted, getattr(fitted, "regressor_", None)):
        if part is not None and "feature_names_in_" in vars(part):
            del part.feature_names_in_
