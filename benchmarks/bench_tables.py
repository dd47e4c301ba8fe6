"""Reading and preparing tables against pandas with scikit-learn, and skrub."""

import os
import tempfile
from pathlib import Path

import numpy as np

from .runner import Case

NUMBERS = 16
SHORT = 8
LONG = 4
LEVELS = (3, 4, 5, 6, 7, 8, 2, 3)


def make_columns(n, seed=0):
    """30 columns: numbers with gaps, few and many levels, dates; a yes/no target."""
    rng = np.random.default_rng(seed)
    columns = {}
    score = np.zeros(n)
    for j in range(NUMBERS):
        x = rng.normal(size=n).round(4)
        score += x * (0.3 if j < 4 else 0)
        columns[f"x{j}"] = np.where(rng.random(n) < 0.05 * (j < 8), np.nan, x)
    for j in range(SHORT):
        c = rng.integers(0, LEVELS[j], n)
        score += 0.4 * (c == 0)
        columns[f"c{j}"] = np.array([f"level {k}" for k in range(LEVELS[j])])[c]
    for j in range(LONG):
        c = rng.integers(0, 60, n)
        score += np.sin(c * 1.7 + j) * 0.4
        columns[f"m{j}"] = np.array([f"town {k}" for k in range(60)])[c]
    for j in range(2):
        day = rng.integers(0, 2000, n)
        score += 0.5 * np.sin(day / 365.25 * 2 * np.pi)
        columns[f"d{j}"] = (np.datetime64("2019-01-01") + day).astype(str)
    p = 1 / (1 + np.exp(-(score - score.mean())))
    columns["y"] = np.where(rng.random(n) < p, "yes", "no")
    return columns


def make_file(size):
    """A CSV file of n rows, made once a machine."""
    import pandas as pd

    (n,) = size
    path = Path(tempfile.gettempdir()) / f"pansophy_bench_{os.getuid()}_{n}.csv"
    if not path.exists():
        partial = path.with_suffix(f".{os.getpid()}")
        pd.DataFrame(make_columns(n)).to_csv(partial, index=False)
        partial.rename(path)
    return path


def ours_file(path):
    from pansophy.tables import Preparation, infer_schema, read_table

    table = read_table(path)
    schema = infer_schema(table, "y")
    frame = schema.frame(table)
    y = schema.target_values(table)
    prepare = Preparation(tuple(schema.used), task=schema.task, n_classes=2, scale=True)
    return prepare.fit_transform(frame, y), y


def date_parts(frame):
    """Date features as a user would write them: elapsed days, year, cyclic parts."""
    out = {}
    for name in frame.columns:
        when = frame[name]
        month_angle = 2 * np.pi * when.dt.month / 12
        out[name] = (when - when.iloc[0]).dt.days
        out[f"{name} year"] = when.dt.year
        out[f"{name} sin"] = np.sin(month_angle)
        out[f"{name} cos"] = np.cos(month_angle)
        week_angle = 2 * np.pi * when.dt.weekday / 7
        out[f"{name} wsin"] = np.sin(week_angle)
        out[f"{name} wcos"] = np.cos(week_angle)
    return np.column_stack(list(out.values()))


def transformer():
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        FunctionTransformer,
        OneHotEncoder,
        StandardScaler,
        TargetEncoder,
    )

    impute = SimpleImputer(strategy="median", add_indicator=True)
    hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = FunctionTransformer(date_parts)
    return make_column_transformer(
        (make_pipeline(impute, StandardScaler()), [f"x{j}" for j in range(NUMBERS)]),
        (hot, [f"c{j}" for j in range(SHORT)]),
        (
            make_pipeline(TargetEncoder(), StandardScaler()),
            [f"m{j}" for j in range(LONG)],
        ),
        (make_pipeline(parts, StandardScaler()), ["d0", "d1"]),
    )


def sklearn_file(path):
    import pandas as pd

    frame = pd.read_csv(path, parse_dates=["d0", "d1"])
    y = (frame.pop("y") == "yes").to_numpy().astype(int)
    return transformer().fit_transform(frame, y), y


def held_out(path, result):
    """Log loss of a logistic regression on the rows it has not seen."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    X, y = result
    X = np.nan_to_num(X[:20000])
    half = len(X) // 2
    scale = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1)
    model = LogisticRegression(C=0.1, max_iter=500).fit(X[:half], y[:half])
    return log_loss(y[half : len(X)], model.predict_proba(X[half:])[:, 1])


def make_fitted(size):
    """Rows to transform with both, fitted on the same 20,000."""
    import pandas as pd

    from pansophy.tables import Preparation, infer_schema, read_table

    (n,) = size
    columns = make_columns(max(n, 20000))
    columns |= {d: columns[d].astype("M8[s]") for d in ("d0", "d1")}
    frame = pd.DataFrame(columns)
    y = (frame.pop("y") == "yes").to_numpy().astype(int)
    table = read_table({k: v for k, v in columns.items() if k != "y"})
    schema = infer_schema(table)
    rows = schema.frame(table)
    prepare = Preparation(
        tuple(schema.used), task="classification", n_classes=2, scale=True
    )
    prepare.fit(rows[:20000], y[:20000])
    peer = transformer().fit(frame[:20000], y[:20000])
    return {
        "prepare": prepare,
        "rows": rows[:n],
        "peer": peer,
        "frame": frame[:n],
        "y": y[:n],
        "more": (rows[: n + 100], frame[: n + 100]),
    }


def ours_rows(payload):
    prepare, rows = payload["prepare"], payload["rows"]
    if len(rows) > 1:
        return prepare.transform(rows)
    for _ in range(50):
        out = prepare.transform(rows)
    return out


def sklearn_rows(payload):
    peer, frame = payload["peer"], payload["frame"]
    if len(frame) > 1:
        return peer.transform(frame)
    for _ in range(50):
        out = peer.transform(frame)
    return out


def held_out_rows(payload, X):
    """Log loss of a logistic regression on the transformed rows."""
    return held_out(None, (X, payload["y"]))


def few_rows_error(payload, X):
    """Greatest distance to the same rows when more are transformed together."""
    rows, frame = payload["more"]
    together = (payload["prepare"].transform(rows), payload["peer"].transform(frame))
    same_shape = [T[: len(X)] for T in together if T.shape[1] == X.shape[1]]
    return float(min(np.nanmax(np.abs(X - T)) for T in same_shape))


CASES = [
    Case(
        name="tables_read_prepare",
        what="CSV of 30 mixed columns to a scaled matrix: read, types, roles, encode",
        sizes=[(10_000,), (100_000,), (1_000_000,)],
        data=make_file,
        ours=ours_file,
        peers={"pandas+sklearn": sklearn_file},
        quality=held_out,
        tolerance=0.003,
        target=1.2,
        rounds=3,
        notes="skrub's TableVectorizer does less (no scaling) and takes far longer",
    ),
    Case(
        name="tables_one_row",
        what="16, 4 or 1 rows of 30 mixed columns, a fitted preparation, 50 times",
        sizes=[(16,), (4,), (1,)],
        data=make_fitted,
        ours=ours_rows,
        peers={"sklearn": sklearn_rows},
        quality=few_rows_error,
        tolerance=1e-9,
        target=20.0,
    ),
    Case(
        name="tables_transform",
        what="n rows of 30 mixed columns through a fitted preparation",
        sizes=[(1000,), (50_000,), (300_000,)],
        data=make_fitted,
        ours=ours_rows,
        peers={"sklearn": sklearn_rows},
        quality=held_out_rows,
        tolerance=0.003,
        target=1.5,
    ),
]
