"""The engine: every method on the same folds, one method after the other.

Methods go from cheap to dear, so that an interrupted comparison keeps whole rows. A
method that fails or runs out of time in any fold is out of the ranking, with the
reason; so is one that was cut off. Preparation is fitted inside the fold.
"""

import signal
import threading
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from ..base import InterruptedFitWarning
from .methods import Method, Setting
from .pipelines import fit_pipeline, pipeline


@dataclass
class Trial:
    """What became of one method."""

    method: Method
    scores: dict[str, list[float]]  # one per fold, by metric
    fit_seconds: list[float] = field(default_factory=list)
    predict_seconds: list[float] = field(default_factory=list)
    losses: np.ndarray | None = None  # mean loss of each row over the repeats
    predictions: np.ndarray | None = None  # of rows held out in the first repeat
    warned: dict[str, int] = field(default_factory=dict)
    failure: str = ""
    model: object = None  # fitted in the first fold


class TimeUp(Exception):  # noqa: N818 - it is no error
    """A method has used up its time."""


def folds_of(y, task, folds, repeats, seed):
    """[(train, test)] for all repeats: the same list for every method."""
    kind = RepeatedStratifiedKFold if task == "classification" else RepeatedKFold
    cut = kind(n_splits=folds, n_repeats=repeats, random_state=seed)
    return list(cut.split(np.zeros(len(y)), y))


@contextmanager
def alarm(seconds):
    """Raise TimeUp inside after `seconds`, where the platform can."""
    able = (
        seconds is not None
        and hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
    )
    if not able:
        yield
        return

    def ring(*_):
        raise TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def answers(model, frame, task) -> np.ndarray:
    """Probabilities of the classes, or numbers."""
    if task == "regression":
        return np.asarray(model.predict(frame), dtype=float).reshape(len(frame))
    return np.asarray(model.predict_proba(frame), dtype=float)


def run_fold(trial, data, schema, metrics, fold, setting):
    """Fit on the training rows, answer for the test rows."""
    train, test = fold
    y = data.y
    model = pipeline(trial.method, schema, setting)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begun = time.perf_counter()
        fit_pipeline(model, data.frame[train], y[train])
        fitted = time.perf_counter()
        p = answers(model, data.frame[test], schema.task)
        done = time.perf_counter()
    for kind in {w.category for w in caught}:
        if issubclass(kind, InterruptedFitWarning):
            raise KeyboardInterrupt
        if issubclass(kind, ConvergenceWarning):
            trial.warned["did not converge"] = (
                trial.warned.get("did not converge", 0) + 1
            )
    if not np.all(np.isfinite(p)):
        raise ValueError("predictions are not finite")
    for m in metrics:
        trial.scores[m.name].append(m.score(y[test], p))
    trial.fit_seconds.append(fitted - begun)
    trial.predict_seconds.append((done - fitted) / len(test))
    return model, p


def run_method(method, data, schema, metrics, splits, folds, setting, limit, tick):
    """All folds of one method; stops at the first failure."""
    trial = Trial(method, {m.name: [] for m in metrics})
    begun = time.perf_counter()
    first, y = metrics[0], data.y
    losses = np.zeros(len(y)) if first.rows else None
    for i, fold in enumerate(splits):
        left = None if limit is None else limit - (time.perf_counter() - begun)
        try:
            if left is not None and left <= 0:
                raise TimeUp
            with alarm(left):
                model, p = run_fold(trial, data, schema, metrics, fold, setting)
        except TimeUp:
            trial.failure = (
                f"took more than {limit:g} s (fold {i + 1} of {len(splits)})"
            )
            break
        except KeyboardInterrupt:
            trial.failure = f"interrupted in fold {i + 1} of {len(splits)}"
            raise Stopped(trial) from None
        except Exception as error:
            text = " ".join(str(error).split())[:200]
            trial.failure = f"fold {i + 1} failed: {type(error).__name__}: {text}"
            break
        test = fold[1]
        if losses is not None:
            losses[test] += first.rows(y[test], p)
        if i < folds:
            if trial.predictions is None:
                trial.predictions = np.zeros((len(y), *p.shape[1:]))
                trial.model = model
            trial.predictions[test] = p
        tick()
    if losses is not None and not trial.failure:
        trial.losses = losses / (len(splits) / folds)
    return trial


class Stopped(Exception):  # noqa: N818 - it is no error
    """Ctrl-C, with what the method at work had got to."""

    def __init__(self, trial):
        super().__init__(trial.method.name)
        self.trial = trial


def run(methods, data, schema, metrics, splits, folds, seed, limit, progress):
    """Trials of all methods, and whether the comparison came to its end."""
    trials = []
    n = len(splits[0][0])
    setting = Setting(schema.task, n, seed)
    for method in methods:
        tick = progress(method.name, len(splits))
        try:
            trials.append(
                run_method(
                    method, data, schema, metrics, splits, folds, setting, limit, tick
                )
            )
        except Stopped as stop:
            return [*trials, stop.trial], False
    return trials, True
