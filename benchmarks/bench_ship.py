"""A saved model on a large table: as fast as the method alone, or as a script.

For models that take their time (boosting, a forest) the peer is the bare method: its
`predict_proba` on the prepared matrix in memory, nothing read or written; ours reads a
Parquet file, prepares, predicts and writes a Parquet file, and must reach 0.8 of that
speed. For a linear model, which predicts faster than any file can be read, the peer is
the script one would write: pandas reads the CSV file, scikit-learn's pipeline predicts,
pandas writes a CSV file.
"""

import os
import tempfile

import numpy as np

from .runner import Case
from .studies.load_test import table

SIZES = [50_000, 200_000, 1_000_000]


def fitted(name):
    """A TableModel on 4000 rows of 30 columns."""
    from pansophy.compare import compare

    result = compare(table(), "y", methods=[name], folds=2, repeats=1, progress=False)
    result.winner = name
    return result.model


def on_disk(name, form):
    """Makes (model, file, prepared matrix, truth) for n rows."""

    def make(n):
        from pyarrow import csv, parquet

        rows = table(n, seed=1)
        path = os.path.join(tempfile.mkdtemp(), f"rows.{form}")
        write = csv.write_csv if form == "csv" else parquet.write_table
        write(rows.drop(["y"]), path)
        model = fitted(name)
        X = model.steps()[0].transform(model.schema.frame(rows))
        return model, path, X, rows.column("y").to_numpy(zero_copy_only=False) == "yes"

    return make


def ours(payload):
    from pyarrow import csv, parquet

    from pansophy.compare.model.streaming import predict_stream

    model, path, *_ = payload
    out = path.replace("rows.", "out.")
    predict_stream(model, path, out, progress=False)
    read = csv.read_csv if out.endswith("csv") else parquet.read_table
    return lambda: read(out).column("p(yes)").to_numpy()


def bare(payload):
    model, _, X, _ = payload
    p = model.steps()[1].predict_proba(X)
    return lambda: p[:, 1]


def script(payload):
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    path = payload[1]
    if "script" not in CACHE:
        train = table().to_pandas()
        numbers = [c for c in train if c.startswith("x")]
        levels = [c for c in train if c.startswith("k")]
        prepare = make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            (OneHotEncoder(handle_unknown="ignore"), levels),
        )
        model = make_pipeline(prepare, LogisticRegression(max_iter=1000))
        CACHE["script"] = model.fit(train[numbers + levels], train["y"])
    model = CACHE["script"]
    p = model.predict_proba(pd.read_csv(path))
    frame = pd.DataFrame(p, columns=["p(no)", "p(yes)"])
    frame.insert(0, "y", model.classes_[p.argmax(axis=1)])
    frame.to_csv(path.replace("rows.", "peer."), index=False)
    return lambda: p[:, 1]


CACHE: dict = {}


def log_loss(payload, result):
    p = np.clip(result(), 1e-15, 1 - 1e-15)
    return float(-np.mean(np.log(np.where(payload[3], p, 1 - p))))


CASES = [
    Case(
        name=f"stream_{name.replace(' ', '_')}",
        what=f"predict a Parquet file, {name}, n rows of 30 columns; peer: bare method",
        sizes=SIZES,
        data=on_disk(name, "parquet"),
        ours=ours,
        peers={"bare": bare},
        written=("bare",),
        quality=log_loss,
        tolerance=1e-6,
        target=0.8,
        rounds=3,
    )
    for name in ("gradient boosting", "random forest")
]
CASES.append(
    Case(
        name="stream_logistic_regression",
        what="predict a CSV file, logistic regression, n rows of 30 columns; peer: "
        "pandas reads, scikit-learn predicts, pandas writes",
        sizes=SIZES,
        data=on_disk("logistic regression", "csv"),
        ours=ours,
        peers={"script": script},
        written=("script",),
        quality=log_loss,
        tolerance=0.02,
        target=0.8,
        rounds=3,
    )
)
