"""One fit: a method on the training rows of a fold, predicting for the test rows.

The same function runs in a worker, on a cluster and in this process. Whatever a method
does to seeds, environment, working directory or error states is undone afterwards, and
global generators are seeded anew for each (method, fold), so that no fit depends on the
fits before it: outcomes are the same in any order and on any number of workers.

Methods of one kind want their columns prepared in the same way. A fitted preparation of
a fold and its output are stored in a `PreparationCache` and handed to the next such
method as read-only arrays; an estimator of the user's gets copies instead.
"""

import contextlib
import os
import random
import signal
import sys
import threading
import time
import warnings
import zlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import threadpoolctl
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from ...base import InterruptedFitWarning
from ...core.loops import threads
from ...tables import Preparation, Schema
from ..methods.method import FitContext
from ..methods.pipelines import (
    fit_pipeline,
    make_pipeline,
    preparation_key,
    raw_predictions,
    with_all_classes,
)
from ..samples import Samples
from ..splits import fold_horizon
from .plan import FailureKind, FitOutcome

CACHE_BYTES = 1e9  # bytes of prepared folds that are kept, where there is memory
PROBABILITY_ROUNDING = 1e-3  # by which probabilities may miss 0, 1 and their sum
IGNORED_WARNINGS = (
    DeprecationWarning,
    PendingDeprecationWarning,
    FutureWarning,
    ImportWarning,
    ResourceWarning,
)


@dataclass(frozen=True)
class Workload:
    """All that the fits of a comparison have in common."""

    data: Samples
    schema: Schema
    metrics: list
    folds: list  # of (train, test)
    methods: list  # of Method, or of text that says why there is none
    setting: FitContext
    threads: int = 1


def fit_context(schema, folds, limits, metric="", time=None) -> FitContext:
    """Context that methods receive; `time` (n,) only where folds run along time."""
    n = min(len(train) for train, _ in folds)
    return FitContext(
        schema.task,
        n,
        limits.seed,
        threads=limits.threads,
        metric=metric,
        horizon=fold_horizon(folds, time),
    )


class FitTimeout(BaseException):
    """A fit inside this process has used up its time."""


@contextlib.contextmanager
def time_limited(seconds):
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
        raise FitTimeout

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# --- isolation ---------------------------------------------------------------------


@contextlib.contextmanager
def isolated_state(seed):
    """Seeds set inside, and everything of the process put back afterwards."""
    old = np.random.get_state()  # noqa: NPY002 - what methods without a seed use
    before = old, random.getstate(), dict(os.environ), np.geterr()
    torch = sys.modules.get("torch")
    state = None if torch is None else torch.random.get_rng_state()
    place = os.getcwd()
    seed_everything(seed)
    try:
        yield
    finally:
        np.random.set_state(before[0])  # noqa: NPY002
        random.setstate(before[1])
        if dict(os.environ) != before[2]:
            os.environ.clear()
            os.environ.update(before[2])
        np.seterr(**before[3])
        if torch is not None and state is not None:
            torch.random.set_rng_state(state)
        with contextlib.suppress(OSError):
            os.chdir(place)


def seed_everything(seed):
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


_pools: dict[int, Any] = {}  # number of modules -> what controls their threads


@contextlib.contextmanager
def fit_thread_budget(n):
    """n threads inside, for our own pool, BLAS and OpenMP."""
    if len(sys.modules) not in _pools:  # looking for libraries takes a while
        _pools.clear()
        _pools[len(sys.modules)] = threadpoolctl.ThreadpoolController()
    with threads.limit_threads(n), _pools[len(sys.modules)].limit(limits=n):
        yield


# --- preparation -------------------------------------------------------------------


class PreparedFold(NamedTuple):
    """A fitted preparation and what it made of a fold."""

    prepare: Preparation
    train: np.ndarray
    test: np.ndarray
    fit_seconds: float
    test_seconds: float


class PreparationCache:
    """Prepared folds, kept as long as there is room.

    Methods go through the folds in turn, so what was put away first is wanted first:
    nothing is thrown out to make room for another.
    """

    def __init__(self, room=CACHE_BYTES):
        self.room = min(room, CACHE_BYTES)
        self.folds: dict = {}

    def get(self, work, fold, prepare) -> PreparedFold:
        key = fold, preparation_key(prepare)
        if key in self.folds:
            return self.folds[key]
        made = prepare_fold(work, fold, prepare)
        size = made.train.nbytes + made.test.nbytes
        if size <= self.room:
            self.room -= size
            self.folds[key] = made
        return made


def prepare_fold(work, fold, prepare) -> PreparedFold:
    train, test = work.folds[fold]
    y = work.data.y[train]
    frame = work.data.frame
    w = work.data.weight
    start_time = time.perf_counter()
    A = prepare.fit_transform(frame[train], y, None if w is None else w[train])
    done = time.perf_counter()
    B = prepare.transform(frame[test])
    end = time.perf_counter()
    for made in (A, B):
        made.setflags(write=False)
    return PreparedFold(prepare, A, B, done - start_time, end - done)


# --- the fit -----------------------------------------------------------------------


def fit_and_predict(work, method, fold, cache):
    """(model, p, seconds to fit, seconds to predict) of a method in a fold."""
    model = make_pipeline(method, work.schema, work.setting)
    data = work.data
    task = work.schema.task
    train, test = work.folds[fold]
    pick = lambda a: None if a is None else a[train]
    y = pick(data.y)
    rest = [pick(a) for a in (data.weight, data.group, data.time)]
    shared = isinstance(model, Pipeline) and isinstance(model[0], Preparation)
    if not shared:
        A = data.frame[train]
        B = data.frame[test]
        core = model
        ahead = behind = 0.0
    else:
        ready = cache.get(work, fold, model[0])
        ahead, behind = ready.fit_seconds, ready.test_seconds
        A = ready.train
        B = ready.test
        core = model[1:]
        if not method.path.startswith(("pansophy.", "sklearn.")):
            A, B = A.copy(), B.copy()  # a stranger may write on them
        model = Pipeline([(model.steps[0][0], ready.prepare), *core.steps])
    start_time = time.perf_counter()
    fit_pipeline(core, A, y, *rest)
    done = time.perf_counter()
    p = raw_predictions(core, B, task)
    end = time.perf_counter()
    if task == "classification":
        p = with_all_classes(p, core, len(work.schema.classes))
    if shared:  # the steps as they are after the fit
        model = Pipeline([model.steps[0], *core.steps])
    return model, p, ahead + done - start_time, behind + end - done


def valid_probabilities(p, task) -> np.ndarray:
    """Probabilities, their rounding removed; an error if they are none."""
    if task not in ("classification", "multilabel"):
        return p
    if p.min() < -PROBABILITY_ROUNDING:
        raise ValueError(f"a probability is negative ({p.min():.3g})")
    if p.max() > 1 + PROBABILITY_ROUNDING:
        raise ValueError(f"a probability is above 1 ({p.max():.3g})")
    p = np.clip(p, 0.0, 1.0)
    if task == "multilabel":
        return p
    total = p.sum(1)
    worst = int(np.argmax(np.abs(total - 1)))
    if abs(total[worst] - 1) > PROBABILITY_ROUNDING:
        raise ValueError(
            f"the probabilities of a row sum to {total[worst]:.4g} instead of 1"
        )
    return p


def warning_counts(caught) -> dict[str, int]:
    """The kinds of warnings of one fit, as remarks."""
    result = {}
    for kind in {w.category for w in caught}:
        if issubclass(kind, InterruptedFitWarning):
            raise KeyboardInterrupt
        if issubclass(kind, ConvergenceWarning):
            result["did not converge"] = 1
        elif issubclass(kind, RuntimeWarning):
            result["numerical trouble"] = 1
        elif kind is not UserWarning and not issubclass(kind, IGNORED_WARNINGS):
            result[kind.__name__] = 1
    return dict(sorted(result.items()))


def score_predictions(work, fold, p) -> dict[str, float]:
    """Every metric on the test rows; a minor one that is undefined there is NaN."""
    _, test = work.folds[fold]
    y = work.data.y[test]
    w = work.data.weight
    extra = () if w is None else (w[test],)
    result = {}
    for i, m in enumerate(work.metrics):
        try:
            result[m.name] = float(m.score(y, p, *extra))
        except ValueError:
            if i == 0:
                raise
            result[m.name] = float("nan")
    first = work.metrics[0].name
    if not np.isfinite(result[first]):
        raise ValueError(f"its {first} is not finite")
    return result


def fit_fold(work, m, fold, cache) -> FitOutcome:
    """One job; whatever the method raises becomes one line, but for Ctrl-C."""
    method = work.methods[m]
    if isinstance(method, str):
        return FitOutcome(m, fold, failure=method, kind=FailureKind.SENT)
    seed = zlib.crc32(f"{work.setting.seed}/{method.name}/{fold}".encode())
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(isolated_state(seed))
            stack.enter_context(fit_thread_budget(work.threads))
            caught = stack.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
            model, p, fit_seconds, seconds = fit_and_predict(work, method, fold, cache)
        test = work.folds[fold][1]
        if len(p) != len(test):
            raise ValueError(f"{len(p)} predictions for {len(test)} rows")
        if not np.all(np.isfinite(p)):
            raise ValueError("predictions are not finite")
        p = valid_probabilities(p, work.schema.task)
        with warnings.catch_warnings(action="ignore"):
            scores = score_predictions(work, fold, p)
        warned = warning_counts(caught)
    except (KeyboardInterrupt, FitTimeout):
        raise
    except BaseException as error:
        return FitOutcome(m, fold, failure=error_line(error), kind=FailureKind.ERROR)
    each = seconds / len(test)
    return FitOutcome(m, fold, scores, fit_seconds, each, p, warned, model=model)


def error_line(error) -> str:
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
