"""Preparation and model in one, so that both are fitted inside the fold.

Whatever a method decides on rows set aside (a penalty, a probability scale, settings)
it decides on parts of its own training rows, cut the way the outer
folds are: whole groups together, later rows after earlier ones.
"""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from ...base import interruptions_raised
from ...tables import Column, Preparation
from ..splits import inner_folds

SHUFFLED_ROWS = 200_000  # beyond, a copy of the rows is dear and ties are rare


def make_pipeline(method, schema, setting):
    """An unfitted pipeline that takes frames.

    A tuned method decides inside its own `fit`, on inner folds.
    """
    if method.members:
        from .blending import Blend

        members = [(m.name, make_pipeline(m, schema, setting)) for m in method.members]
        return Blend(members, list(method.weights), task=schema.task)
    if method.series and method.series != "lags":
        return method.build(setting, **_series_parameters(schema, setting))
    lagged = method.series == "lags"
    columns = tuple(schema.used)
    if lagged:
        columns = (*_lag_columns(), *columns)
    prepare = Preparation(
        columns,
        task="regression" if lagged else schema.task,
        n_classes=len(schema.classes),
        scale=method.scale,
        full_rank=method.full_rank,
        native=method.native,
        random_state=setting.seed,
    )
    known = {"categorical_features": prepare.categories} if method.native else {}
    setting = setting._replace(
        split="time" if schema.time else "grouped" if schema.group else "plain",
        classes=max(2, len(schema.classes)),
    )
    steps = [("prepare", prepare), ("model", method.build(setting, **known))]
    model = Pipeline(steps)
    if lagged:
        from .time_series import WithLags

        return WithLags(
            model,
            **_series_parameters(schema, setting),
            random_state=int(setting.seed),
        )
    if method.trials:
        from .tuning import Tuned

        space = {method.prefix + name: r for name, r in (method.space or {}).items()}
        return Tuned(
            model,
            space,
            task=schema.task,
            n_trials=method.trials,
            metric=setting.metric,
            random_state=setting.seed,
        )
    return model


def _series_parameters(schema, setting) -> dict:
    """Parameters about the table for a method that sees the past of the target."""
    plain = [c.name for c in schema.used if c.role != "text"]
    return {
        "time_column": plain.index(schema.time),
        "floored": schema.task == "count",
        "horizon": setting.horizon,
    }


def _lag_columns() -> list[Column]:
    """The columns that `time_series.WithLags` puts in front of those of the table."""
    from .time_series import LAG_COLUMNS

    return [Column(name, "number", "made of the target's past") for name in LAG_COLUMNS]


def preparation_key(prepare):
    """Key that tells one unfitted preparation from another."""
    values = prepare.get_params(deep=False).items()
    return type(prepare), repr(sorted(values, key=lambda kv: kv[0]))


@interruptions_raised()
def fit_pipeline(model, frame, y, weight=None, group=None, time=None):
    """Fit; weights, groups and times go to whatever takes them.

    Rows are shuffled first, unless they are along time: what a method makes of ties
    must not depend on how a file happens to be sorted.
    """
    if time is None and len(y) <= SHUFFLED_ROWS:
        order = np.random.default_rng(len(y)).permutation(len(y))
        pick = lambda a: None if a is None else np.asarray(a)[order]
        frame = frame[order]
        y, weight, group = pick(y), pick(weight), pick(group)
    if not isinstance(model, Pipeline):  # decides on inner folds by itself
        return model.fit(frame, y, sample_weight=weight, groups=group, times=time)
    takes = lambda step: weight is not None and has_fit_parameter(step, "sample_weight")
    extra = {f"{n}__sample_weight": weight for n, step in model.steps if takes(step)}
    name = cv_parameter(model[-1]) if group is not None or time is not None else None
    if name is None:
        return model.fit(frame, y, **extra)
    old_value = model[-1].get_params()[name]
    model[-1].set_params(**{name: inner_folds(y, 5, group=group, time=time)})
    try:
        return model.fit(frame, y, **extra)
    finally:
        model[-1].set_params(**{name: old_value})  # splits are no part of a saved model


def cv_parameter(model) -> str | None:
    """The parameter that says how a model cuts its own folds, if it cuts any."""
    results = [n for n in model.get_params() if n == "cv" or n.endswith("__cv")]
    return results[0] if results else None


def raw_predictions(model, frame, task) -> np.ndarray:
    """Numbers (n,), probabilities of the classes (n, K), or of each label (n, L)."""
    if task in ("regression", "count"):
        return np.asarray(model.predict(frame), dtype=float).reshape(len(frame))
    p = model.predict_proba(frame)
    if isinstance(p, list):  # one pair of columns for each label
        p = np.column_stack([np.asarray(q)[:, -1] for q in p])
    return np.asarray(p, dtype=float)


def with_all_classes(p, model, n_classes) -> np.ndarray:
    """A column for each class of the table, also for those the model never saw."""
    if p.ndim != 2 or p.shape[1] == n_classes:
        return p
    known = np.asarray(getattr(model, "classes_", ()))
    if known.dtype.kind not in "iu" or len(known) != p.shape[1]:
        raise ValueError(f"{p.shape[1]} probabilities for {n_classes} classes")
    full = np.zeros((len(p), n_classes))
    full[:, known] = p
    return full


def predict_all_classes(model, frame, task, n_classes=0) -> np.ndarray:
    """Predictions for the engine: `raw_predictions`, with a column for each class."""
    p = raw_predictions(model, frame, task)
    return with_all_classes(p, model, n_classes) if task == "classification" else p


def learned_choices(model) -> dict:
    """Choices of a fitted tuned model or blend, for the report; else nothing."""
    for name in ("chosen_", "weights_"):
        if hasattr(model, name):
            return {name.rstrip("_"): getattr(model, name)}
    return {}
