"""The engine of the comparison and scikit-learn's cross-validation, same pipelines."""

import numpy as np

from .runner import Case

OURS = ["ridge", "bayesian ridge", "linear regression", "decision tree"]


def make(size):
    import pyarrow as pa

    from pansophy.compare.methods.method_choice import choose_methods
    from pansophy.compare.metrics import metrics_for
    from pansophy.compare.samples import Samples
    from pansophy.compare.splits import make_splits
    from pansophy.tables import infer_schema

    n, d = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    X[rng.random(X.shape) < 0.02] = np.nan
    table = pa.table(
        {f"x{i}": X[:, i] for i in range(d)}
        | {"kind": rng.choice(list("abcd"), n), "y": y}
    )
    schema = infer_schema(table, "y")
    data = Samples(schema.frame(table), schema.target_values(table))
    methods = choose_methods(schema, n, OURS)[0]
    split = make_splits(data, schema, folds=5, repeats=2)
    return methods, data, schema, metrics_for(schema.task), split


def run(payload, workers):
    from pansophy.compare.execution.plan import ExecutionLimits
    from pansophy.compare.execution.trials import run_trials

    trials, complete = run_trials(
        *payload, ExecutionLimits(workers=workers), None, False
    )
    assert complete and not any(t.failure for t in trials)
    return [np.mean(t.scores["rmse"]) for t in trials]


def ours(payload):
    return run(payload, 0)


def sklearn(payload):
    from sklearn.model_selection import cross_validate

    from pansophy.compare.execution.fit_fold import fit_context
    from pansophy.compare.execution.plan import ExecutionLimits
    from pansophy.compare.methods.pipelines import make_pipeline

    methods, data, schema, _, split = payload
    setting = fit_context(schema, split.folds, ExecutionLimits())
    scoring = ["neg_root_mean_squared_error", "r2", "neg_mean_absolute_error"]
    frame, found = Rows(data.frame), []
    for method in methods:
        model = make_pipeline(method, schema, setting)
        scores = cross_validate(model, frame, data.y, cv=split.folds, scoring=scoring)
        found.append(-scores["test_neg_root_mean_squared_error"].mean())
    return found


class Rows:
    """A frame that scikit-learn can slice."""

    def __init__(self, frame):
        self.frame, self.shape = frame, frame.shape
        self.values, self.texts = frame.values, frame.texts

    def __len__(self):
        return len(self.frame)

    def __getitem__(self, rows):
        return Rows(self.frame[rows])


def quality(payload, result):
    return float(np.mean(result))


CASES = [
    Case(
        name="compare_engine",
        what="five methods on the same 2 x 5 folds, preparation inside the fold",
        sizes=[(500, 10), (2000, 30), (10_000, 30)],
        data=make,
        ours=ours,
        peers={"sklearn": sklearn},
        quality=quality,
        tolerance=1e-9,
        target=1.0,
        notes="one thread each; ours seeds, guards and scores every fit, and prepares "
        "a fold once for methods that want the same",
    ),
]
