"""Choice of the methods for a table, and reasons why the others are skipped.

`choose_methods` takes from `portfolio.METHODS` what suits the task, is installed, takes
weights where rows have them, and is predicted by `costs` to stay within the limits. The
portfolio is ordered from simple to elaborate, which is also the order of preference
among methods that tie.
"""

from typing import NamedTuple

from ...params import ParameterError
from ...tables import TableError
from ...tables.targets import as_name_list
from .costs import over_limits, too_expensive
from .excluded import (
    NOT_ALONG_TIME,
    NOT_IN_ORDER,
    NOT_REQUESTED,
    SkipKind,
    SkippedMethod,
    excluded_estimators,
)
from .method import (
    CALIBRATED,
    Method,
    calibrated_variant,
    can_be_calibrated,
    missing_requirement,
    normalise_name,
    user_method,
)

EXCLUDED = "left out, as asked"
ON_REQUEST = "dear for what it adds; name it in --methods to run it"


class FitLimits(NamedTuple):
    """Limits of one fit; `plan.ExecutionLimits` has the same and more."""

    time_limit: float | None = 300.0  # seconds; None: no limit
    memory_limit: float | None = None  # bytes; None: a share of what is free


def choose_methods(
    schema,
    n,
    requested=None,
    limits=None,
    *,
    exclude=(),
    tune=0,
    calibrate=False,
    fits=1,
) -> tuple[list[Method], list[SkippedMethod]]:
    """The methods to run, and those skipped.

    Parameters
    ----------
    schema : Schema
    n : int
        Rows to train on.
    requested : list of str, dict or None
        Names of methods, or name -> estimator, or all that suit the table.
    limits : FitLimits, or anything with `time_limit` and `memory_limit`
        Methods predicted to exceed them are skipped, unless named in `requested`.
    exclude : list of str
        Names of methods that are not to be run.
    tune : int
        Settings that each method with something to tune tries inside every fit.
    calibrate : bool
        Whether each classifier is tried with calibrated probabilities as well.
    fits : int
        How often each method will be fitted, for the predicted time of those skipped.
    """
    from .portfolio import METHODS

    task = schema.task
    available = [m for m in METHODS if m.task == task]
    if isinstance(requested, dict):
        return _choose_user_methods(schema, n, requested, available[0], tune, calibrate)
    names = [normalise_name(name) for name in requested or ()]
    if calibrate or any(name.startswith(CALIBRATED) for name in names):
        available = _with_calibrated_variants(available)
    skipped: list[SkippedMethod] = []
    if requested is not None:
        if calibrate:
            variants = [normalise_name(m.name) for m in available if m.calibrated]
            names += [v for v in variants if v.removeprefix(CALIBRATED) in names]
        available, skipped = _select_requested(available, names, task)
    if exclude:
        available, left_out = _without_excluded(available, exclude, task)
        skipped += left_out
    chosen: list[Method] = []
    named = requested is not None
    for m in available:
        method = m._replace(trials=tune) if tune and m.space else m
        skip = _reason_to_skip(
            method, schema, n, limits or FitLimits(), named=named, fits=fits
        )
        if skip is None:
            chosen.append(method)
        else:
            skipped.append(skip)
    if named and len(chosen) == 1 and set(names) - {"dummy", "blend"}:
        reasons = "; ".join(
            f"{s.name}: {s.reason}"
            for s in skipped
            if s.kind is not SkipKind.NOT_REQUESTED
        )
        raise ParameterError(
            f"None of the methods asked for can be run here: {reasons}."
        )
    of_task = {_estimator_class_name(m) for m in METHODS if m.task == task}
    own_classes = {_estimator_class_name(m) for m in METHODS if m.origin == "pansophy"}
    excluded = excluded_estimators(task, of_task, own_classes, named=named)
    return chosen, skipped + excluded


def _choose_user_methods(schema, n, estimators, dummy, tune, calibrate):
    """The dummy and the user's estimators, as far as they take what the table has."""
    if tune:
        raise ParameterError(
            "tune knows the library's methods only, not those of your own."
        )
    user_methods = [
        user_method(name, estimator, schema.task)
        for name, estimator in estimators.items()
        if name != "dummy"
    ]
    user_methods = (
        _with_calibrated_variants(user_methods) if calibrate else user_methods
    )
    skips = [_reason_to_skip(m, schema, n, None, named=True) for m in user_methods]
    chosen = [m for m, skip in zip(user_methods, skips) if skip is None]
    return [dummy, *chosen], [skip for skip in skips if skip is not None]


def _reason_to_skip(
    method, schema, n, limits, *, named=False, fits=1
) -> SkippedMethod | None:
    """Why a method is not run on a table; None if it is.

    A method that is named is run, however expensive.
    """
    skip = lambda reason, kind: SkippedMethod(method.name, reason, kind)
    reason = missing_requirement(method)
    if reason and named:
        raise ParameterError(f"{method.name} is {reason}.")
    if reason:
        return skip(reason, SkipKind.NOT_INSTALLED)
    if method.series and schema.time is None:
        return skip(NOT_ALONG_TIME, SkipKind.UNSUITED)
    if method.series and schema.time not in [c.name for c in schema.used]:
        reason = f"needs {schema.time!r} among the inputs"
        return skip(reason, SkipKind.UNSUITED)
    if method.ordered and not schema.ordered:
        return skip(NOT_IN_ORDER, SkipKind.UNSUITED)
    if schema.weight and not method.weighted:
        return skip("takes no row weights", SkipKind.UNSUITED)
    if named:
        return None
    if method.on_request:
        return skip(ON_REQUEST, SkipKind.OVER_LIMITS)
    reason = over_limits(method, schema, n, limits)
    reason = reason or too_expensive(method, schema, n, limits, fits)
    if reason:
        return skip(reason, SkipKind.OVER_LIMITS)
    if limits.time_limit is None or n <= method.max_rows:
        return None
    size = f"beyond {method.max_rows:,} rows"
    reason = f"dear for what it adds {size}; name it in --methods to run it"
    return skip(reason, SkipKind.OVER_LIMITS)


def _with_calibrated_variants(methods) -> list[Method]:
    """Each followed by itself with calibrated probabilities, where it has any."""
    variants_of = lambda m: [m, calibrated_variant(m)] if can_be_calibrated(m) else [m]
    return [variant for m in methods for variant in variants_of(m)]


def _estimator_class_name(method) -> str:
    return method.path.rpartition(".")[2]


def _check_known(names, available, task):
    """Raise TableError if a name is none of the methods, with the nearest that is."""
    known = {normalise_name(m.name): m.name for m in available}
    unknown = sorted(names - set(known))
    if unknown:
        import difflib

        near = difflib.get_close_matches(unknown[0], known, 1)
        hint = f" (did you mean {known[near[0]]!r}?)" if near else ""
        raise TableError(
            f"There is no method {unknown[0]!r} for {task}{hint}; choose from "
            f"{', '.join(m.name for m in available)}."
        )


def _select_requested(available, names, task):
    """The dummy and the methods named; the others are skipped."""
    wanted = set(names)
    if wanted == {"blend"}:
        raise TableError(
            "A blend averages methods that are run: name two or more of them as well, "
            "or none to try all."
        )
    wanted -= {"blend"}
    _check_known(wanted, available, task)
    wanted |= {"dummy"}
    chosen = [m for m in available if normalise_name(m.name) in wanted]
    skipped = [
        SkippedMethod(m.name, NOT_REQUESTED, SkipKind.NOT_REQUESTED)
        for m in available
        if normalise_name(m.name) not in wanted and not m.calibrated
    ]
    return chosen, skipped


def _without_excluded(available, exclude, task):
    """The methods but those that are to be left out, which are skipped."""
    unwanted = {normalise_name(name) for name in exclude} - {"blend"}
    if "dummy" in unwanted:
        raise ParameterError("exclude must not name the dummy, which is always run.")
    _check_known(unwanted, available, task)
    gone = lambda m: (
        normalise_name(m.base_name) in unwanted or (normalise_name(m.name) in unwanted)
    )
    skipped = [
        SkippedMethod(m.name, EXCLUDED, SkipKind.NOT_REQUESTED)
        for m in available
        if gone(m)
    ]
    return [m for m in available if not gone(m)], skipped


def wants_blend(blend, requested, exclude=None) -> bool:
    """Whether the average of methods is to be tried: asked for, or all are."""
    if exclude is not None and "blend" in map(normalise_name, as_name_list(exclude)):
        return False
    if blend is not None:
        return bool(blend)
    if requested is None:
        return True
    named = () if isinstance(requested, dict) else map(normalise_name, requested)
    return "blend" in named
