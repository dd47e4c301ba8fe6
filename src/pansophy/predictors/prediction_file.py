"""Predictions of a fitted model for a table on disk, written to a file block by block.

Neither the rows nor the predictions are ever all in memory, so any model that gives a
row the same answer whatever rows stand beside it can be applied to a table of any size,
also one that has to be fitted in memory.
"""

import warnings
from pathlib import Path

import numpy as np

from ..core.arrays.open_rows import open_rows
from ..core.files.atomic_files import replacing_file


def write_predictions(model, source, path, *, method="predict") -> int:
    """Write what a model says of the rows of a table to a Parquet file.

    Parameters
    ----------
    model : fitted estimator
        Of this package or of scikit-learn's kind.
    source : path, dataset, lazy frame or dask collection
        Whatever `fit` takes; columns are chosen by the names seen in `fit`.
    path : path
        The Parquet file, which is there as a whole or not at all.
    method : str
        "predict", "predict_proba", "transform", "score_samples", ...

    Returns
    -------
    int
        The number of rows.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from pansophy.linear_model import LinearRegression
    >>> from pansophy.predictors.prediction_file import write_predictions
    >>> table = pa.table({"x": [0.0, 1.0, 2.0], "y": [1.0, 3.0, 5.0]})
    >>> model = LinearRegression().fit(table, "y")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "predictions.parquet")
    ...     n_rows = write_predictions(model, table, path)
    ...     found = pq.read_table(path)
    >>> n_rows, found["predict"].to_numpy().round(6)
    (3, array([1., 3., 5.]))
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not callable(getattr(model, method, None)):
        raise ValueError(f"{type(model).__name__} has no method {method!r}.")
    if Path(path).suffix.lower() not in (".parquet", ".pq"):
        raise ValueError(f"{path} must end in .parquet, as which it is written.")
    names = getattr(model, "feature_names_in_", None)
    rows = open_rows(source, None if names is None else list(names))
    n_expected = getattr(model, "n_features_in_", rows.d)
    if rows.d != n_expected:
        raise ValueError(
            f"the table has {rows.d} columns, but {type(model).__name__} is expecting "
            f"{n_expected}."
        )
    writer = None
    with replacing_file(path) as draft:
        try:
            for (X,) in rows.with_aligned().blocks():
                answer = _predictions_of_block(model, method, X)
                columns = _named_columns(model, method, answer)
                table = pa.table(columns)
                writer = writer or pq.ParquetWriter(draft, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()
    return rows.n


def _predictions_of_block(model, method, X):
    """The answer to rows in memory, whose columns are known to be the right ones."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        answer = getattr(model, method)(X)
    answer = answer.toarray() if hasattr(answer, "toarray") else np.asarray(answer)
    if answer.ndim not in (1, 2) or len(answer) != len(X):
        raise ValueError(
            f"{method} of {type(model).__name__} gave an array of shape {answer.shape} "
            f"for {len(X)} rows: it cannot be written row by row."
        )
    return answer


def _named_columns(model, method, found) -> dict:
    """The columns of an answer by name: of classes, of features, or numbered."""
    if found.ndim == 1:
        return {method: found}
    width = found.shape[1]
    classes = getattr(model, "classes_", ())
    if method in ("predict_proba", "predict_log_proba") and len(classes) == width:
        names = [str(c) for c in np.asarray(classes).tolist()]
    elif method == "transform" and hasattr(model, "get_feature_names_out"):
        names = [str(name) for name in model.get_feature_names_out()]
    else:
        names = [f"{method}{j}" for j in range(width)]
    return {name: found[:, j] for j, name in enumerate(names)}
