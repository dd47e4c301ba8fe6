"""A method that finds its own settings, inside `fit` and on parts of its own rows.

`Tuned.fit` cuts the rows it is given into inner folds, cut as the outer ones are
(whole groups together, later after earlier), tries n settings on them and refits the
best on all of its rows. Since outer test rows never reach `fit`, the outer score is
that of a nested cross-validation by construction.

The first setting is the method's own, so that tuning can do no worse on the inner
folds. The others are where the improvement that a Gaussian process expects is largest
(`gaussian_process/bayesian_search.py`), after a few from a Latin hypercube; or drawn by
optuna's tree-structured Parzen estimator, or at random. Every fit begins its own search
(one that is shared would carry test rows from fold to fold). A setting that after some
folds is worse than the median of those finished is given up; the process is told its
loss on these folds plus what the others lose on average by the rest. The budget is n
settings, never the clock.

A space says what may change, {parameter: range}: ("linear", low, high), ("log", low,
high), ("int", low, high), ("log int", low, high) or ("choice", value, value, ...).

Refs      [Jones1998] expected improvement; [Bergstra2011] tree-structured Parzen
          estimator; [Golovin2017] the median rule
"""

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ...base import Estimator
from ...core.random import make_rng
from ...optim.black_box.point_search import latin_hypercube
from ...optim.black_box.search_space import INSIDE
from ...params import Count
from ..metrics import metrics_for
from ..splits import inner_folds
from .pipelines import fit_pipeline, predict_all_classes

MOST_LEVELS = 20  # of a range of whole numbers that is searched value by value
MIN_FINISHED = 4  # settings that must have finished before others are given up


def metric_loss(task, metric=None):
    """(y, p, w) -> a number that is lower for better predictions."""
    first = metrics_for(task, metric or None, ordered=bool(metric))[0]
    if first.row_losses is not None:
        return lambda y, p, w=None: float(np.average(first.row_losses(y, p), weights=w))
    sign = -1.0 if first.greater else 1.0
    return lambda y, p, w=None: sign * float(first.score(y, p, w))


def sample_setting(space, rng) -> dict:
    """One setting at random."""
    return {name: value_at_quantile(r, rng.random()) for name, r in space.items()}


def value_at_quantile(r, u):
    """The value of a range at a place u of [0, 1)."""
    kind, *bounds = r
    if kind == "choice":
        return bounds[int(u * len(bounds))]
    low, high = bounds
    if kind == "log":
        return math.exp(math.log(low) + u * (math.log(high) - math.log(low)))
    if kind == "linear":
        return low + u * (high - low)
    if kind == "int":
        return int(low + u * (high - low + 1))
    if kind == "log int":
        a, b = math.log(low - 0.5), math.log(high + 0.5)
        return int(np.clip(round(math.exp(a + u * (b - a))), low, high))
    raise ValueError(f"there is no range of kind {kind!r}.")


def quantile_of_value(r, value) -> float | None:
    """The inverse of `value_at_quantile`; None for a value outside the range.

    Examples
    --------
    >>> quantile_of_value(("log", 0.1, 10.0), 1.0), quantile_of_value(("int", 0, 3), 9)
    (0.5, None)
    """
    kind, *bounds = r
    if kind == "choice":
        indices = [j for j, v in enumerate(bounds) if v is value or v == value]
        return (indices[0] + 0.5) / len(bounds) if indices else None
    low, high = bounds
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not low <= value <= high:
        return None
    if kind == "log":
        return math.log(value / low) / math.log(high / low)
    if kind == "linear":
        return (value - low) / (high - low)
    if kind == "int":
        return (value - low + 0.5) / (high - low + 1)
    a, b = math.log(low - 0.5), math.log(high + 0.5)
    return (math.log(value) - a) / (b - a)


class BayesianSearch:
    """Settings of the largest expected improvement under a Gaussian process.

    `own` are the values of the parameters in the method's own setting, the first trial.
    """

    def __init__(self, space, seed, defaults=None):
        self.ranges = list(space.values())
        self.names = list(space)
        self.rng = make_rng(seed)
        d = len(self.ranges)
        kinds = np.array([_number_of_values(r) for r in self.ranges], dtype=int)
        self.levels = kinds.reshape(d)
        self.start = latin_hypercube(d, d + 2, random_state=self.rng) if d else []
        self.U = np.empty((0, d))
        self.losses: list[list[float]] = []
        known = [
            quantile_of_value(r, (defaults or {}).get(n)) for n, r in space.items()
        ]
        self.default = None if None in known else np.array(known, dtype=float)

    def ask(self):
        from ...gaussian_process.bayesian_search import cell_middles, propose_point

        n_proposed = len(self.U) - (self.default is not None and len(self.U) > 0)
        if n_proposed < len(self.start):
            u = cell_middles(self.levels, self.start[n_proposed])
        elif len(self.names) == 0:
            u = np.empty(0)
        else:
            u = propose_point(self.levels, self.U, self.estimated_losses(), self.rng)
        values = [
            value_at_quantile(r, min(float(v), INSIDE))
            for r, v in zip(self.ranges, u, strict=True)
        ]
        return u, dict(zip(self.names, values, strict=True))

    def tell(self, trial, losses, finished):
        """Losses by fold of a setting; trial None is the method's own."""
        u = self.default if trial is None else trial
        if u is None:
            return
        self.U = np.vstack([self.U, u])
        self.losses.append(losses)

    def estimated_losses(self):
        """Mean losses over all folds, those of settings given up estimated."""
        folds = max(len(part) for part in self.losses)
        full = np.array([part for part in self.losses if len(part) == folds])
        means = []
        for part in self.losses:
            rest = 0.0
            if len(part) < folds and np.isfinite(part).all():
                complete = full[np.isfinite(full).all(axis=1)]
                rest = float(
                    (complete.mean(axis=1) - complete[:, : len(part)].mean(1)).mean()
                )
            means.append(float(np.mean(part)) + rest)
        return np.array(means)


def _number_of_values(r) -> int:
    """Number of values of a range; 0 if many."""
    kind, *bounds = r
    if kind == "choice":
        return len(bounds)
    if kind == "int" and bounds[1] - bounds[0] < MOST_LEVELS:
        return int(bounds[1] - bounds[0] + 1)
    return 0


class RandomSearch:
    """Settings drawn independently."""

    def __init__(self, space, seed):
        self.space = space
        self.rng = make_rng(seed)

    def ask(self):
        return None, sample_setting(self.space, self.rng)

    def tell(self, trial, losses, finished):
        pass


class OptunaSearch:
    """Settings drawn by a study of their own, which nothing else sees."""

    def __init__(self, space, seed):
        import optuna

        self.optuna, self.space = optuna, space
        old_verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=8)
            self.study = optuna.create_study(sampler=sampler)
        finally:
            optuna.logging.set_verbosity(old_verbosity)

    def ask(self):
        trial = self.study.ask()
        chosen = {
            name: _suggest_value(trial, name, r) for name, r in self.space.items()
        }
        return trial, chosen

    def tell(self, trial, losses, finished):
        if trial is None:  # the method's own setting may lie outside the space
            return
        state = self.optuna.trial.TrialState
        known = [v for v in losses if math.isfinite(v)]
        if finished and len(known) == len(losses):
            self.study.tell(trial, float(np.mean(known)))
        elif known:
            trial.report(float(np.mean(known)), len(known))
            self.study.tell(trial, state=state.PRUNED)
        else:
            self.study.tell(trial, state=state.FAIL)


def _suggest_value(trial, name, r):
    kind, *bounds = r
    if kind == "choice":  # by position: values may be tuples
        return bounds[trial.suggest_categorical(name, list(range(len(bounds))))]
    if kind in ("int", "log int"):
        return trial.suggest_int(name, *bounds, log=kind == "log int")
    return trial.suggest_float(name, *bounds, log=kind == "log")


def _make_search(space, seed, search, defaults):
    """Search strategy that proposes settings."""
    if search == "bayesian":
        return BayesianSearch(space, seed, defaults)
    return {"optuna": OptunaSearch, "random": RandomSearch}[search](space, seed)


@dataclass(eq=False, repr=False)
class Tuned(Estimator):
    """A pipeline whose settings are found inside `fit`.

    Parameters
    ----------
    pipeline : Pipeline
        Steps "prepare" and "model", unfitted.
    space : dict
        Parameter of the pipeline -> range, see the module text.
    task : str
        Of the schema; its first metric decides, unless `metric` names another.
    n_trials : int
        Settings tried, the pipeline's own among them.
    folds : int
        Inner folds.
    search : {"bayesian", "optuna", "random"}, default="bayesian"
        Who proposes settings; "optuna" needs that package.
    random_state : int

    Attributes
    ----------
    pipeline_ : Pipeline
        Fitted to all rows with the best setting.
    chosen_ : dict
        That setting, by parameter of the estimator; empty if it is the method's own.
    trials_ : list of dict
        "setting", "loss" (mean over the folds seen) and "folds" of each, in order.
    n_fits_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import Pipeline
    >>> from pansophy.compare.methods.tuning import Tuned
    >>> from pansophy.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 20)); y = X[:, 0] + 2 * rng.normal(size=60)
    >>> model = Pipeline([("prepare", "passthrough"), ("model", Ridge())])
    >>> space = {"model__alpha": ("log", 1e-2, 1e3)}
    >>> Tuned(model, space, n_trials=12, random_state=0).fit(X, y).chosen_["alpha"] > 10
    True
    """

    pipeline: Any = None
    space: dict | None = None
    _: KW_ONLY
    task: str = "regression"
    n_trials: Count = 20
    folds: Count = 3
    metric: str = ""
    search: Literal["bayesian", "optuna", "random"] = "bayesian"
    random_state: int = 0

    def fit(self, frame, y, sample_weight=None, groups=None, times=None):
        y = np.asarray(y)
        cut = inner_folds(
            y, self.folds, group=groups, time=times, seed=self.random_state
        )
        known = (sample_weight, groups, times)
        parts = [prepared(self.pipeline, frame, y, known, *fold) for fold in cut]
        loss = metric_loss(self.task, self.metric)
        parameters = self.pipeline.get_params()
        source = _make_search(
            self.space or {}, self.random_state, self.search, parameters
        )
        finished_losses: list[
            list[float]
        ] = []  # losses by fold of the settings that finished
        self.trials_ = []
        self.n_fits_ = 0
        for i in range(self.n_trials):
            trial, setting = (None, {}) if i == 0 else source.ask()
            losses, finished = self._try(
                setting, parts, loss, finished_losses, first=i == 0
            )
            if finished:
                finished_losses.append(losses)
            source.tell(trial, losses, finished)
            mean = float(np.mean(losses)) if losses else math.inf
            row = {"setting": setting, "loss": mean, "folds": len(losses)}
            self.trials_.append({**row, "finished": finished})
        best = min((t for t in self.trials_ if t["finished"]), key=lambda t: t["loss"])
        self.chosen_ = {k.rpartition("__")[2]: v for k, v in best["setting"].items()}
        self.pipeline_ = clone(self.pipeline).set_params(**best["setting"])
        fit_pipeline(self.pipeline_, frame, y, *known)
        self.n_fits_ += 1
        return self

    def _try(self, setting, parts, loss, done, *, first):
        """Losses of the folds, and whether all were tried; stops when hopeless."""
        losses: list[float] = []
        for part in parts:
            model = Pipeline([("prepare", "passthrough"), ("model", part.model)])
            model = clone(model).set_params(**setting)
            self.n_fits_ += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # told by the refit, if it matters
                    fit_pipeline(model, part.X, part.y, *part.known)
                    p = predict_all_classes(model, part.X_test, self.task, part.classes)
                losses.append(loss(part.y_test, p, part.w_test))
            except (ValueError, ArithmeticError, np.linalg.LinAlgError):
                if first:
                    raise
                return [math.inf], False
            j = len(losses)
            if j < len(parts) and len(done) >= MIN_FINISHED:
                usual = np.median(
                    [np.mean(finished_losses[:j]) for finished_losses in done]
                )
                if np.mean(losses) > usual:
                    return losses, False
        return losses, all(map(math.isfinite, losses))

    @property
    def classes_(self):
        return self.pipeline_.classes_

    def predict(self, frame):
        return self.pipeline_.predict(frame)

    def predict_proba(self, frame):
        return self.pipeline_.predict_proba(frame)


class InnerFold:
    """One inner fold, prepared once for all settings."""

    def __init__(self, pipeline, frame, y, known, train, test):
        prepare = clone(pipeline[0]) if pipeline[0] != "passthrough" else None
        self.model = pipeline[-1]
        self.y, self.y_test = y[train], y[test]
        self.known = tuple(None if a is None else a[train] for a in known)
        self.w_test = None if known[0] is None else known[0][test]
        self.X, self.X_test = frame[train], frame[test]
        if prepare is not None:
            self.X = prepare.fit_transform(self.X, self.y, self.known[0])
            self.X_test = prepare.transform(self.X_test)
        self.classes = int(y.max()) + 1 if y.ndim == 1 and y.dtype.kind in "iu" else 0


prepared = InnerFold
