"""Synthetic comparisons without a single fit, for every task and of any size."""

from functools import cache

import numpy as np

from pansophy.compare import Column, Schema
from pansophy.compare.comparison import Comparison
from pansophy.compare.evaluation.ranking import (
    choose_model,
    optimism_of_best,
    rank_methods,
    score_estimates,
)
from pansophy.compare.execution.plan import ExecutionLimits
from pansophy.compare.execution.trials import Trial
from pansophy.compare.loading import LoadedDataset
from pansophy.compare.methods.excluded import SkipKind, SkippedMethod
from pansophy.compare.methods.method import Method
from pansophy.compare.metrics import metrics_for
from pansophy.compare.samples import Samples
from pansophy.compare.splits import make_splits
from pansophy.tables import MixedFrame

TASKS = ("classification", "multiclass", "regression", "count", "multilabel")
EVIL = "<script>alert('x')</script> $x^2$ =cmd() & \"q\""


class Model:
    """Answers from the first column; `noise` makes it worse."""

    def __init__(self, task, noise=0.0, K=2):
        self.task, self.noise, self.K = task, noise, K
        self._estimator_type = "regressor"
        if task in ("classification", "multiclass"):
            self._estimator_type, self.classes_ = "classifier", np.arange(K)
            self.predict_proba = self.answer
        elif task == "multilabel":
            self.predict_proba = self.answer

    def __sklearn_tags__(self):
        from sklearn.utils import Tags, TargetTags

        kind = self._estimator_type
        return Tags(estimator_type=kind, target_tags=TargetTags(required=True))

    def answer(self, frame):
        x = frame.values
        bump = self.noise * np.sin(50 * np.arange(len(x)))
        if self.task == "regression":
            return 3 * x[:, 0] + bump
        if self.task == "count":
            return np.exp(0.5 * x[:, 0] + 0.3 * bump)
        if self.task == "multilabel":
            return 1 / (1 + np.exp(-2 * x[:, :3] - bump[:, None]))
        z = np.stack([(k - self.K / 2) * (x[:, 0] + bump) for k in range(self.K)], 1)
        p = np.exp(z - z.max(1, keepdims=True))
        return p / p.sum(1, keepdims=True)

    def predict(self, frame):
        p = self.answer(frame)
        return p if self.task in ("regression", "count") else (p > 0.5).astype(int)


def answers_of(task, frame, rng):
    x, n = frame.values, len(frame)
    if task == "regression":
        return 3 * x[:, 0] + rng.normal(size=n)
    if task == "count":
        return rng.poisson(np.exp(0.5 * x[:, 0])).astype(float)
    if task == "multilabel":
        return (2 * x[:, :3] + rng.logistic(size=(n, 3)) > 0).astype(int)
    p = Model(task, K=2 if task == "classification" else 4).answer(frame)
    return np.array([rng.choice(p.shape[1], p=row) for row in p])


def made(
    task, n=150, methods=4, columns=4, folds=5, repeats=2, seed=0, names=None, **more
):
    """A comparison of made-up methods, the dummy last and one of them failed."""
    rng = np.random.default_rng(seed)
    frame = MixedFrame(rng.normal(size=(n, columns)))
    y = answers_of(task, frame, rng)
    kind = "classification" if task == "multiclass" else task
    K = {"classification": 2, "multiclass": 4}.get(task, 0)
    names = [f"x{j}" for j in range(columns)] if names is None else names
    schema = Schema(
        "y",
        kind,
        "as made",
        tuple(Column(name, "number", "numbers") for name in names),
        classes=tuple(f"k{i}" for i in range(K)),
        labels=("a", "b", "c") if task == "multilabel" else (),
    )
    data, metrics = Samples(frame, y), metrics_for(kind)[:4]
    split = make_splits(data, schema, folds=folds, repeats=repeats, seed=seed)
    listed = ["dummy", *(f"method {i}" for i in range(1, methods))]
    trials = []
    for i, name in enumerate(listed):
        noise = 3.0 if name == "dummy" else 0.3 * (i - 1)
        trials.append(trial(name, Model(task, noise, K), data, kind, metrics, split))
    failed = Trial(
        Method("broken", kind, "", lambda s: {}), {}, failure="fold 1 failed"
    )
    estimates = score_estimates(trials, metrics, split, data)
    rows = rank_methods(trials, metrics, estimates)
    kept = choose_model(rows, listed)
    settings = {
        "metric": metrics[0].name,
        "rows": n,
        "inputs": columns,
        "folds": folds,
        "repeats": repeats,
        "split": split.kind,
        "seed": seed,
        "time_limit": 10.0,
        "seconds": 1.5,
        "finished": "2026-01-01T00:00:00+00:00",
        "data_hash": "ab12",
        "versions": {"pansophy": "0", "numpy": np.__version__},
        "machine": "Linux",
    }
    skipped = [
        SkippedMethod("Ridge", "its kin is tried", SkipKind.UNSUITED),
        SkippedMethod("boost", "not asked for", SkipKind.NOT_REQUESTED),
    ]
    return Comparison(
        dataset=LoadedDataset("table.csv", None, schema, data, []),
        split=split,
        leaderboard=rows,
        winner=kept.method,
        keep_reason=kept.reason,
        selection_bias=optimism_of_best(estimates[metrics[0].name], metrics[0].greater),
        trials=[*trials, failed],
        settings=settings,
        skipped=skipped,
        notes=["a note"],
        limits=ExecutionLimits(seed=seed),
        estimates=estimates[metrics[0].name],
        **more,
    )


def trial(name, model, data, task, metrics, split):
    """As the engine would have made it, had the model been fitted."""
    p = np.asarray(model.answer(data.frame), dtype=float)
    scores = {
        m.name: [float(m.score(data.y[test], p[test])) for _, test in split.folds]
        for m in metrics
    }
    first, k = metrics[0], len(split.folds)
    losses = None if first.row_losses is None else first.row_losses(data.y, p)
    return Trial(
        Method(name, task, "", lambda s: {}),
        scores,
        [30.0] * k,
        [2e-6] * k,
        losses=losses,
        repeat_losses=None if losses is None else np.tile(losses, (split.repeats, 1)),
        losses_metric=first.name,
        predictions=p,
        fitted_model=model,
    )


@cache
def ready(task):
    """One comparison of each task, for tests that only read it."""
    return made(task)


def rows(n=60, seed=0):
    """A number, a category, groups of two rows, and a target of two classes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return {
        "x": x,
        "k": rng.choice(["u", "v", "w"], n),
        "g": np.arange(n) // 2,
        "y": np.where(x + rng.normal(size=n) > 0, "yes", "no"),
    }
