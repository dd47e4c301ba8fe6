"""What a method of the comparison is, and which of them a table gets.

A `Method` is data: a name, the task, the dotted name of an estimator, how it wants its
columns and what it lacks (probabilities, several labels), which `build` supplies by
wrapping. The list itself is `portfolio.METHODS`, ordered from simple to elaborate,
which is also the order of preference among methods that tie. `choose_methods` takes from it
what suits the task, is installed, takes weights where rows have them, and is predicted
by `costs` to stay inside the limits; everything else it returns with the reason.
"""

import importlib
import importlib.util
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.base import clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import has_fit_parameter

from ...params import ParameterError
from ...tables import TableError
from .costs import over_limits, too_expensive
from .excluded import CLASS, COUNT, LABELS, NOT_REQUESTED, excluded_estimators

CALIBRATED = "calibrated "  # begins the names of methods that are calibrated
EXTRAS = {"deep": "torch", "tune": "optuna"}  # extra -> the module it brings


class FitContext(NamedTuple):
    """What a method may ask about the problem."""

    task: str
    n: int  # rows to train on
    seed: int
    split: str = "plain"  # "grouped" or "time": rows may not be set aside at random
    classes: int = 2
    threads: int | None = None  # None: as many as the process may use
    metric: str = ""  # what tuning and blending go by; the first of the task if empty


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
    estimator: Any = None
    scores: bool = False  # has no probabilities: they are made on inner folds
    calibrated: bool = False  # its probabilities are mended on inner folds
    floor: bool = False  # may predict a count of zero or less: kept above it
    hedged: bool = False  # may give a class no chance at all: kept above it
    weighted: bool = True  # takes row weights
    on_request: bool = False  # too dear for what it adds, unless named
    most: float = math.inf  # rows beyond which that is so
    several: str = ""  # labels: "native" at once, "each" one model a label
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
        return method_by_name, (self.task, self.name, self.trials)

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
            return wrap_estimator(self, clone(self.estimator), setting)
        module, _, name = self.path.rpartition(".")
        made = getattr(importlib.import_module(module), name)
        model = made(**self.parameters(setting), **known)
        names = model.get_params(deep=False)
        if "random_state" in names:
            model.set_params(random_state=setting.seed)
        if setting.threads is not None and "n_jobs" in names:
            model.set_params(n_jobs=setting.threads)
        return wrap_estimator(self, model, setting)

    @property
    def base_name(self) -> str:
        """The name of what is calibrated, or its own."""
        return self.name.removeprefix(CALIBRATED) if self.calibrated else self.name

    @property
    def prefix(self) -> str:
        """Where in a pipeline the parameters of the estimator itself are."""
        steps = ["model"]
        steps += ["model"] * (self.task == LABELS)
        steps += ["model"] * (self.scores or self.calibrated)
        steps += ["model"] * self.hedged
        steps += ["model"] * (self.task == COUNT and self.floor)
        steps += ["regressor"] * self.scale_target
        return "__".join(steps) + "__"


def method_by_name(task, name, trials=0) -> Method:
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
    return method.task == CLASS and method.name != "dummy" and not method.scores


EXTERNAL_LIBRARIES = {
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
}


def wrap_estimator(method, model, setting):
    """What an estimator lacks, put around it: see `Method.prefix` for the order."""
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
    if method.task == COUNT and method.floor:
        model = FlooredCounts(model)
    if method.hedged:
        model = SmoothedProbabilities(model)
    if method.scores or method.calibrated:
        model = ScoreCalibrated(model)
    if method.task == LABELS:
        model = MultiLabel(model, native=method.several == "native")
    return model


class FitLimits(NamedTuple):
    """What one fit may take; `plan.Running` says the same and more."""

    time_limit: float | None = 300.0  # seconds; None: no limit
    memory_limit: float | None = None  # bytes; None: a share of what is free


def choose_methods(
    schema,
    n,
    requested=None,
    limits=None,
    *,
    tune=0,
    calibrate=False,
    fits=1,
) -> tuple[list[Method], list[tuple[str, str]]]:
    """The methods to run, and (name, reason) of those left out.

    Parameters
    ----------
    schema : Schema
    n : int
        Rows to train on.
    wanted : list of str, dict or None
        Names of methods, or name -> estimator, or all that suit the table.
    limits : Limits, or anything with `time_limit` and `memory_limit`
        Methods predicted to exceed them are not run, unless named in `wanted`.
    tune : int
        Settings that each method with something to tune tries inside every fit.
    calibrate : bool
        Whether each classifier is tried with calibrated probabilities as well.
    fits : int
        How often each method will be fitted, for what is said of those left out.
    """
    from .portfolio import METHODS

    task = schema.task
    listed = [m for m in METHODS if m.task == task]
    if isinstance(requested, dict):
        if tune:
            raise ParameterError(
                "tune knows the library's methods only, not those of your own."
            )
        own = [user_method(n, e, task) for n, e in requested.items() if n != "dummy"]
        own = with_calibrated_variants(own, calibrate)
        reasons = {m.name: reason_to_skip(m, schema, n, None, named=True) for m in own}
        return (
            listed[:1] + [m for m in own if not reasons[m.name]],
            [(name, why) for name, why in reasons.items() if why],
        )
    if calibrate or any(
        normalise_name(w).startswith(CALIBRATED) for w in requested or ()
    ):
        listed = with_calibrated_variants(listed)
    left: list[tuple[str, str]] = []
    if requested is not None:
        words = [normalise_name(w) for w in requested]
        again = [m.name for m in listed if calibrate and m.calibrated]
        requested = [
            *requested,
            *(n for n in again if normalise_name(n)[len(CALIBRATED) :] in words),
        ]
        listed, left = select_requested(listed, requested, task)
    ready: list[Method] = []
    for m in listed:
        m = m._replace(trials=tune) if tune and m.space else m
        told = {"named": requested is not None, "fits": fits}
        reason = reason_to_skip(m, schema, n, limits or FitLimits(), **told)
        if reason:
            left.append((m.name, reason))
        else:
            ready.append(m)
    mine = {estimator_class_name(m) for m in METHODS if m.task == task}
    ours = {estimator_class_name(m) for m in METHODS if m.origin == "pansophy"}
    return ready, left + excluded_estimators(
        task, mine, ours, named=requested is not None
    )


def reason_to_skip(method, schema, n, limits, *, named=False, fits=1) -> str:
    """The reason why a method is not run on a table, or nothing.

    Whoever names a method gets it, however dear.
    """
    reason = missing_requirement(method)
    if not reason and schema.weight and not method.weighted:
        reason = "takes no row weights"
    if reason or named:
        return reason
    if method.on_request:
        return "dear for what it adds; name it in --methods to run it"
    reason = over_limits(method, schema, n, limits)
    reason = reason or too_expensive(method, schema, n, limits, fits)
    if reason or limits.time_limit is None or n <= method.most:
        return reason
    size = f"beyond {method.most:,} rows"
    return f"dear for what it adds {size}; name it in --methods to run it"


def with_calibrated_variants(methods, wanted=True) -> list[Method]:
    """Each followed by itself with calibrated probabilities, where it has any."""
    if not wanted:
        return methods
    both = lambda m: [m, calibrated_variant(m)] if can_be_calibrated(m) else [m]
    return [one for m in methods for one in both(m)]


def estimator_class_name(method) -> str:
    return method.path.rpartition(".")[2]


def select_requested(available, requested, task):
    """The dummy and the methods named; the others are 'not asked for'."""
    words = {normalise_name(w) for w in requested}
    if words == {"blend"}:
        raise TableError(
            "A blend averages methods that are run: name two or more of them as well, "
            "or none to try all."
        )
    words -= {"blend"}
    names = {normalise_name(m.name) for m in available}
    unknown = sorted(words - names)
    if unknown:
        import difflib

        near = difflib.get_close_matches(unknown[0], names, 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise TableError(
            f"There is no method {unknown[0]!r} for {task}{hint}; choose from "
            f"{', '.join(m.name for m in available)}."
        )
    words |= {"dummy"}
    kept = [m for m in available if normalise_name(m.name) in words]
    rest = [m for m in available if normalise_name(m.name) not in words]
    return kept, [(m.name, NOT_REQUESTED) for m in rest if not m.calibrated]


def wants_blend(blend, requested) -> bool:
    """Whether the average of methods is to be tried: asked for, or all are."""
    if blend is not None:
        return bool(blend)
    named = (
        ()
        if requested is None or isinstance(requested, dict)
        else map(normalise_name, requested)
    )
    return requested is None or "blend" in named


def normalise_name(name) -> str:
    return name.replace("_", " ").replace("-", " ").lower()


def user_method(name, estimator, task, calibrated=False) -> Method:
    """A method of the user's own."""
    classes = task in (CLASS, LABELS)
    fits = is_classifier(estimator) if classes else is_regressor(estimator)
    if not fits:
        raise TableError(f"{name!r} is no estimator for {task}.")
    if is_already_fitted(unfitted_copy(estimator)):
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
        scores=classes and not hasattr(estimator, "predict_proba"),
        calibrated=calibrated,
        weighted=has_fit_parameter(estimator, "sample_weight"),
        floor=True,
        several="each",
    )


def unfitted_copy(estimator):
    """A copy without what was fitted; what cannot be copied is named when it fits."""
    try:
        return clone(estimator)
    except Exception:
        return estimator


def is_already_fitted(model) -> bool:
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
    """Why a method cannot be imported here, or nothing."""
    if method.needs in EXTERNAL_LIBRARIES:
        found = importlib.util.find_spec(method.needs) is not None
        return "" if found else f"not installed: pip install {method.needs}"
    if method.needs and importlib.util.find_spec(EXTRAS[method.needs]) is None:
        return f"needs an extra: pip install 'pansophy[{method.needs}]'"
    return ""


def names_by_reason(not_run) -> dict[str, list[str]]:
    """{reason: names}, the commonest reason last, for readers.

    Of a reason "what it does; why it is not run" the second half counts.

    Examples
    --------
    >>> from pansophy.compare.methods.method import names_by_reason
    >>> names_by_reason([("a", "too slow"), ("b", "not asked for"), ("c", "not asked for")])
    {'too slow': ['a'], 'not asked for': ['b', 'c']}
    """
    found: dict[str, list[str]] = {}
    for name, reason in not_run:
        found.setdefault(reason.rpartition("; ")[2], []).append(name)
    return dict(sorted(found.items(), key=lambda item: len(item[1])))
