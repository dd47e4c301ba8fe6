"""Problems that the tests of methods choose methods for."""

import numpy as np

from pansophy.tables import Column, MixedFrame, Schema

COLUMNS = (
    Column("x", "number", ""),
    Column("z", "number", ""),
    Column("c", "category", "", ("a", "b", "c")),
)


def problem(task, n=120, seed=0, **more):
    rng = np.random.default_rng(seed)
    V = np.c_[rng.normal(size=(n, 2)), rng.integers(0, 3, n)]
    f = V[:, 0] + (V[:, 2] == 1)
    V[rng.random(n) < 0.05, 1] = np.nan
    classes, labels = (), ()
    if task == "classification":
        y, classes = (f + 0.5 * rng.normal(size=n) > 0.3).astype(int), ("no", "yes")
    elif task == "regression":
        y = f + 0.5 * rng.normal(size=n)
    elif task == "count":
        y = rng.poisson(np.exp(0.7 * f)).astype(float)
    else:
        y = (np.c_[f, -f, V[:, 0]] + rng.normal(size=(n, 3)) > 0).astype(int)
        labels = ("p", "q", "r")
    schema = Schema("y", task, "", COLUMNS, classes, labels, **more)
    return schema, MixedFrame(V), y
