"""Winners without a comparison: a fitted TableModel, and what it was made from."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
from sklearn.model_selection import KFold

from pansophy.compare.methods.pipelines import (
    fit_pipeline,
    make_pipeline,
    predict_all_classes,
)
from pansophy.compare.methods.portfolio import METHODS
from pansophy.compare.model.table_model import fit_table_model, full_fit_context
from pansophy.compare.samples import Samples
from pansophy.tables import infer_schema


def people(n=300, seed=0, gaps=True):
    """A table of every kind of column, with a class, a number and a count."""
    rng = np.random.default_rng(seed)
    age, pay = rng.normal(40, 10, n), rng.gamma(2.0, 2.0, n)
    city = rng.choice(["Bonn", "Köln", "=2+2"], n)
    day = np.datetime64("2024-01-01") + rng.integers(0, 400, n)
    words = rng.choice(["late", "early", "broken", "fine", "again", "never"], (n, 5))
    score = age / 10 + 2 * (city == "Bonn") + rng.normal(size=n)
    if gaps:
        pay[rng.random(n) < 0.1] = np.nan
    return pa.table(
        {
            "age": age,
            "pay": pa.array(pay, from_pandas=True),
            "city": city,
            "day": pa.array(day.astype("datetime64[s]")),
            "note": [" ".join(w) for w in words],
            "yes": np.where(score > 4.7, "yes", "no"),
            "score": score,
            "visits": rng.poisson(np.exp(age / 40)),
        }
    )


def compared(table, target, name, task="auto", folds=3, **roles):
    """What `fit_winner` needs of a comparison of one method."""
    schema = infer_schema(table, target, task, **roles)
    data = Samples(
        schema.frame(table), schema.target_values(table), schema.weights(table)
    )
    method = next(m for m in METHODS if m.name == name and m.task == schema.task)
    settings = {"seed": 0, "rows": len(data), "folds": folds, "metric": ""}
    made = SimpleNamespace(schema=schema, data=data, settings=settings, split=None)
    p = None
    for train, test in KFold(folds, shuffle=True, random_state=0).split(data.y):
        model = make_pipeline(method, schema, full_fit_context(made))
        fit_pipeline(model, data.frame[train], data.y[train])
        got = predict_all_classes(
            model, data.frame[test], schema.task, len(schema.classes)
        )
        p = np.full((len(data), *got.shape[1:]), np.nan) if p is None else p
        p[test] = got
    row = SimpleNamespace(method=name, scores={"score": (0.5, 0.4, 0.6)})
    made.leaderboard = [row]
    made.trial = lambda _: SimpleNamespace(method=method, predictions=p)
    return made


def fitted(table, target, name, task="auto", **roles):
    """A TableModel fitted on all rows."""
    made = compared(table, target, name, task, **roles)
    return fit_table_model(made.trial(name).method, made.data, made)
