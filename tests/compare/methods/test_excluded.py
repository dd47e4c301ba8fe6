"""Methods that are left out: every reason has a kind."""

import numpy as np

from pansophy.compare.methods.excluded import SkipKind
from pansophy.compare.methods.method_choice import choose_methods
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


def test_every_skip_has_a_kind():
    _, left = choose_methods(problem("regression")[0], 100, ["ridge"])
    kinds = {skip.name: skip.kind for skip in left}
    assert kinds["lasso"] is SkipKind.NOT_REQUESTED
    assert kinds["BaggingRegressor"] is SkipKind.NOT_REQUESTED
    assert kinds["QuantileRegressor"] is SkipKind.UNSUITED
    assert kinds["LogisticRegressionCV"] is SkipKind.UNSUITED
    assert kinds["IsolationForest"] is kinds["pansophy.cluster"] is SkipKind.OTHER_TASK
    _, left = choose_methods(problem("regression")[0], 30_000)
    kinds = {skip.name: skip.kind for skip in left}
    assert kinds["Gaussian process"] is SkipKind.OVER_LIMITS
    assert kinds["RBF support vectors"] is SkipKind.OVER_LIMITS
