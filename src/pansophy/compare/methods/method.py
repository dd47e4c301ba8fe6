"""A method of the comparison: an estimator, its settings and what it lacks.

A `Method` is data: a name, the task, the dotted name of an estimator, how it wants its
columns, and what it lacks (probabilities, several labels), which `build` supplies by
wrapping. The methods of the library are `portfolio.METHODS`; `user_method` makes one of
an estimator of the user's.
"""

import importlib
import importlib.util
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.base import clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import has_fit_parameter

from ...tables import TableError
from .excluded import CLASS, COUNT, LABELS

CALIBRATED = "calibrated "  # begins the names of methods that are calibrated
EXTRAS = {"deep": "torch", "tune": "optuna"}  # extra -> the module it brings


class FitContext(NamedTuple):
    """Facts about the problem that a method may ask for."""

    task: str
    n: int  # rows to train on
    seed: int
    split: str = "plain"  # "grouped" or "time": rows may not be set aside at random
    classes: int = 2
    threads: int | None = None  # None: as many as the process may use
    metric: str = ""  # what tuning and blending go by; the first of the task if empty
    horizon: int = 0  # along time: moments that a fold looks ahead, 0 if not known


def empty_parameters(setting) -> dict:
    """No parameters of its own."""
    return {}


class Method(NamedTuple):
    """One line of the list."""

    name: str
    task: str
    path: str  # dotted name of the estimator; empty for one handed over by the user
    parameters: Callable[[FitContext], dict]
    scale: bool = False  # wants columns of like size
    full_rank: bool = False  # wants no column that others add up to
    scale_target: bool = False
    native: bool = False  # takes categories and missing values as they are
    needs: str = ""  # extra, or package, that brings what it imports
    pretrained: bool = False  # on made-up tables, before it sees a row
    estimator: Any = None
    lacks_probabilities: bool = (
        False  # has no probabilities: they are made on inner folds
    )
    calibrated: bool = False  # its probabilities are calibrated on inner folds
    floored: bool = False  # may predict a count of zero or less: kept above it
    capped: bool = False  # its counts grow exponentially: kept within those seen
    smoothed: bool = False  # may give a class no chance at all: kept above it
    ordered: bool = False  # for classes in order only
    series: str = ""  # sees the past of the target along time: see `time_series`
    weighted: bool = True  # takes row weights
    on_request: bool = False  # too expensive for what it adds, unless named
    max_rows: float = math.inf  # rows beyond which that is so
    multilabel: str = ""  # labels: "native" at once, "each" one model a label
    space: dict | None = None  # what `tuning` may change, see there
    trials: int = 0  # how many settings are tried inside each fit
    members: tuple = ()  # methods that are averaged, see `blending`
    weights: tuple = ()  # of the members

    def __reduce__(self):
        """By name, since settings are functions: a worker looks them up again."""
        if self.estimator is not None:
            return user_method, (self.name, self.estimator, self.task, self.calibrated)
        if self.members:
            from .blending import make_blend

            return make_blend, (self.members, self.weights, self.task)
        return _method_by_name, (self.task, self.name, self.trials)

    @property
    def blend_weights(self) -> dict[str, float]:
        """Weight of each member of a blend, by name; empty for other methods."""
        return {m.name: a for m, a in zip(self.members, self.weights)}

    @property
    def origin(self) -> str:
        """The package it comes from."""
        if self.members:
            return "pansophy"
        return (
            self.needs if self.needs in EXTERNAL_LIBRARIES else self.path.split(".")[0]
        )

    def build(self, setting, **known):
        """A fresh estimator for this problem; `known` is what the table says."""
        if self.estimator is not None:
            return _wrap_estimator(self, clone(self.estimator), setting)
        module, _, name = self.path.rpartition(".")
        estimator_class = getattr(importlib.import_module(module), name)
        model = estimator_class(**self.parameters(setting), **known)
        names = model.get_params(deep=False)
        if "random_state" in names:
            model.set_params(random_state=setting.seed)
        if setting.threads is not None and "n_jobs" in names:
            model.set_params(n_jobs=setting.threads)
        return _wrap_estimator(self, model, setting)

    @property
    def base_name(self) -> str:
        """The name of what is calibrated, or its own."""
        return self.name.removeprefix(CALIBRATED) if self.calibrated else self.name

    @property
    def prefix(self) -> str:
        """Prefix of the parameters of the estimator itself in a pipeline."""
        steps = ["model"]
        steps += ["model"] * (self.task == LABELS)
        steps += ["model"] * (self.lacks_probabilities or self.calibrated)
        steps += ["model"] * self.smoothed
        steps += ["model"] * (self.task == COUNT and (self.floored or self.capped))
        steps += ["regressor"] * self.scale_target
        return "__".join(steps) + "__"


def _method_by_name(task, name, trials=0) -> Method:
    """The method of the portfolio with this name."""
    from .portfolio import METHODS

    known = {m.name: m for m in METHODS if m.task == task}
    if name.startswith(CALIBRATED):
        return calibrated_variant(known[name.removeprefix(CALIBRATED)])._replace(
            trials=trials
        )
    return known[name]._replace(trials=trials)


def calibrated_variant(method) -> Method:
    """The method with its probabilities calibrated on inner folds."""
    return method._replace(name=CALIBRATED + method.name, calibrated=True)


def can_be_calibrated(method) -> bool:
    """Whether there are probabilities to calibrate that nothing calibrates yet."""
    return (
        method.task == CLASS
        and method.name != "dummy"
        and not method.lacks_probabilities
    )


EXTERNAL_LIBRARIES = {
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
}


def _wrap_estimator(method, model, setting):
    """Wrap an estimator in parts that it lacks: `Method.prefix` has the order."""
    from .wrappers import (
        FlooredCounts,
        MultiLabel,
        ScoreCalibrated,
        SmoothedProbabilities,
    )

    if method.scale_target:
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.preprocessing import StandardScaler

        model = TransformedTargetRegressor(model, transformer=StandardScaler())
    if method.task == COUNT and (method.floored or method.capped):
        model = FlooredCounts(model, capped=method.capped)
    if method.smoothed:
        model = SmoothedProbabilities(model)
    if method.lacks_probabilities or method.calibrated:
        model = ScoreCalibrated(model)
    if method.task == LABELS:
        model = MultiLabel(model, native=method.multilabel == "native")
    return model


def normalise_name(name) -> str:
    return name.replace("_", " ").replace("-", " ").lower()


def user_method(name, estimator, task, calibrated=False) -> Method:
    """A method of the user's own."""
    classes = task in (CLASS, LABELS)
    fits = is_classifier(estimator) if classes else is_regressor(estimator)
    if not fits:
        raise TableError(f"{name!r} is no estimator for {task}.")
    if _is_already_fitted(_unfitted_copy(estimator)):
        raise TableError(
            f"{name!r} is frozen: it keeps what it was fitted to, among it perhaps the "
            "rows it would be tested on. Hand it over unfitted."
        )
    return Method(
        name,
        task,
        "",
        empty_parameters,
        scale=True,
        estimator=estimator,
        lacks_probabilities=classes and not hasattr(estimator, "predict_proba"),
        calibrated=calibrated,
        weighted=has_fit_parameter(estimator, "sample_weight"),
        floored=True,
        multilabel="each",
    )


def _unfitted_copy(estimator):
    """A copy without what was fitted; what cannot be copied is named when it fits."""
    try:
        return clone(estimator)
    except Exception:
        return estimator


def _is_already_fitted(model) -> bool:
    """Whether a fresh copy of an estimator, or a part of it, is fitted already."""
    parts = [model, *model.get_params(deep=True).values()]
    learned = lambda part: any(
        k.endswith("_") and not k.startswith("_") for k in vars(part)
    )
    return any(
        isinstance(part, FrozenEstimator) or learned(part)
        for part in parts
        if hasattr(part, "fit") and hasattr(part, "__dict__")
    )


def missing_requirement(method) -> str:
    """Package that has to be installed before a method can run, or nothing."""
    if method.pretrained:
        from ...prior_fitted.pretrained import VARIABLE, has_pretrained

        return "" if has_pretrained() else f"no weights are installed: set {VARIABLE}"
    if method.needs in EXTERNAL_LIBRARIES:
        result = importlib.util.find_spec(method.needs) is not None
        return "" if result else f"not installed: pip install {method.needs}"
    if method.needs and importlib.util.find_spec(EXTRAS[method.needs]) is None:
        return f"not installed: pip install 'pansophy[{method.needs}]'"
    return ""
