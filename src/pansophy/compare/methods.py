"""Which methods are tried, how each wants its columns, and why others are not.

A method is a name, a maker and its needs. The list is ordered from simple to
elaborate, which is also the order of preference among methods that tie. Adding a
supervised estimator to the comparison is adding a line to `METHODS`; one that is not
tried is listed in `left_out.py` with the reason.
"""

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.base import is_classifier, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler

from ..tables import TableError
from .left_out import CLASS, NUMBER, STAND_IN, other_jobs


class Setting(NamedTuple):
    """What a method may ask about the problem."""

    task: str
    n: int  # rows to train on
    seed: int


class Method(NamedTuple):
    """One line of the list."""

    name: str
    task: str
    path: str  # dotted name of the estimator; empty for one handed over by the user
    parameters: Callable[[Setting], dict]
    scale: bool = False  # wants columns of like size
    full_rank: bool = False  # wants no column that others add up to
    scale_target: bool = False
    native: bool = False  # takes categories and missing values as they are
    needs: str = ""  # extra that brings what it imports
    estimator: Any = None

    def build(self, setting, **known):
        """A fresh estimator for this problem; `known` is what the table says."""
        if self.estimator is not None:
            from sklearn.base import clone

            return clone(self.estimator)
        module, _, name = self.path.rpartition(".")
        made = getattr(importlib.import_module(module), name)
        model = made(**self.parameters(setting), **known)
        if "random_state" in model.get_params():
            model.set_params(random_state=setting.seed)
        if self.scale_target:
            return TransformedTargetRegressor(model, transformer=StandardScaler())
        return model


plain = lambda s: {}
strengths = lambda s: {"alphas": [10.0**k for k in range(-3, 5)]}
path = lambda s: {"eps": 1e-3, "cv": 5}
# small leaves have empty classes, for which log loss is merciless
class_leaves = lambda s: {"min_samples_leaf": max(5, min(100, s.n // 20))}
number_leaves = lambda s: {"min_samples_leaf": max(5, min(50, s.n // 50))}
class_forest = lambda s: {"min_samples_leaf": 1 if s.n < 1000 else 3}
# many enough that a class that is there gets a vote
neighbours = lambda s: {"n_neighbors": int(min(max(5, s.n**0.5), 50, s.n))}
# few rows: smaller steps and leaves, and none set aside to decide when to stop
boosting = lambda s: {
    "early_stopping": s.n >= 2000,
    "max_iter": 100 if s.n < 2000 else 500,
    "learning_rate": 0.05 if s.n < 2000 else 0.1,
    "min_samples_leaf": 5 if s.n < 2000 else 20,
}
# part of the rows decides when to stop; larger batches for more rows
net = lambda s: {
    "early_stopping": s.n >= 200,
    "batch_size": max(min(200, s.n), min(1024, s.n // 50)),
}

METHODS = [
    Method("dummy", CLASS, "sklearn.dummy.DummyClassifier", plain),
    Method("dummy", NUMBER, "sklearn.dummy.DummyRegressor", plain),
    Method(
        "linear regression",
        NUMBER,
        "pansophy.linear_model.LinearRegression",
        plain,
        scale=True,
        full_rank=True,
    ),
    Method("ridge", NUMBER, "pansophy.linear_model.RidgeCV", strengths, scale=True),
    Method("lasso", NUMBER, "pansophy.linear_model.LassoCV", path, scale=True),
    Method(
        "elastic net", NUMBER, "pansophy.linear_model.ElasticNetCV", path, scale=True
    ),
    Method(
        "bayesian ridge",
        NUMBER,
        "pansophy.linear_model.BayesianRidge",
        plain,
        scale=True,
    ),
    Method(
        "huber",
        NUMBER,
        "pansophy.linear_model.HuberRegressor",
        lambda s: {"max_iter": 1000},
        scale=True,
        scale_target=True,
    ),
    Method(
        "logistic regression",
        CLASS,
        "pansophy.linear_model.LogisticRegression",
        plain,
        scale=True,
    ),
    Method("naive Bayes", CLASS, "pansophy.naive_bayes.GaussianNB", plain),
    Method(
        "linear discriminant",
        CLASS,
        "pansophy.discriminant_analysis.LinearDiscriminantAnalysis",
        lambda s: {"solver": "lsqr", "shrinkage": "auto"},
        scale=True,
        full_rank=True,
    ),
    Method(
        "quadratic discriminant",
        CLASS,
        "pansophy.discriminant_analysis.QuadraticDiscriminantAnalysis",
        lambda s: {"reg_param": 0.1},
        scale=True,
        full_rank=True,
    ),
    Method(
        "nearest neighbours",
        CLASS,
        "pansophy.neighbors.KNeighborsClassifier",
        neighbours,
        scale=True,
    ),
    Method(
        "nearest neighbours",
        NUMBER,
        "pansophy.neighbors.KNeighborsRegressor",
        neighbours,
        scale=True,
    ),
    Method(
        "decision tree",
        CLASS,
        "pansophy.tree.DecisionTreeClassifier",
        class_leaves,
        native=True,
    ),
    Method(
        "decision tree",
        NUMBER,
        "pansophy.tree.DecisionTreeRegressor",
        number_leaves,
        native=True,
    ),
    Method(
        "random forest",
        CLASS,
        "pansophy.ensemble.RandomForestClassifier",
        class_forest,
        native=True,
    ),
    Method(
        "random forest",
        NUMBER,
        "pansophy.ensemble.RandomForestRegressor",
        plain,
        native=True,
    ),
    Method(
        "gradient boosting",
        CLASS,
        "pansophy.ensemble.HistGradientBoostingClassifier",
        boosting,
        native=True,
    ),
    Method(
        "gradient boosting",
        NUMBER,
        "pansophy.ensemble.HistGradientBoostingRegressor",
        boosting,
        native=True,
    ),
    Method(
        "neural network",
        CLASS,
        "pansophy.neural_network.MLPClassifier",
        net,
        scale=True,
        needs="deep",
    ),
    Method(
        "neural network",
        NUMBER,
        "pansophy.neural_network.MLPRegressor",
        net,
        scale=True,
        scale_target=True,
        needs="deep",
    ),
]


def choose(task, wanted=None) -> tuple[list[Method], list[tuple[str, str]]]:
    """The methods to run, and (name, reason) of those left out.

    `wanted` is None for all, a list of names, or a dict of name -> estimator.
    """
    if isinstance(wanted, dict):
        own = [own_method(n, e, task) for n, e in wanted.items() if n != "dummy"]
        return [m for m in METHODS if m.task == task][:1] + own, []
    fit = [m for m in METHODS if m.task == task]
    left = []
    if wanted is not None:
        wanted = [w.replace("_", " ").replace("-", " ") for w in wanted]
        names = {m.name for m in fit}
        unknown = [w for w in wanted if w not in names]
        if unknown:
            raise TableError(
                f"There is no method {unknown[0]!r} for {task}; choose from "
                f"{', '.join(m.name for m in fit)}."
            )
        left += [(m.name, "not asked for") for m in fit if m.name not in wanted]
        fit = [m for m in fit if m.name in {"dummy", *wanted}]
        left = [(n, why) for n, why in left if n != "dummy"]
    ready = []
    for m in fit:
        missing = absent(m)
        if missing:
            left.append((m.name, missing))
        else:
            ready.append(m)
    done = {m.name for m in fit} | {n for n, _ in left}
    others = {m.name for m in METHODS} - done
    word = "numbers" if task == CLASS else "classes"
    left += [(n, f"predicts {word}") for n in sorted(others)]
    return ready, left + list(STAND_IN[task].items()) + other_jobs()


def own_method(name, estimator, task) -> Method:
    fits = is_classifier(estimator) if task == CLASS else is_regressor(estimator)
    if not fits:
        raise TableError(f"{name!r} is no estimator for {task}.")
    return Method(name, task, "", plain, scale=True, estimator=estimator)


def absent(method) -> str:
    """Why a method cannot be imported here, or nothing."""
    module, _, name = method.path.rpartition(".")
    try:
        getattr(importlib.import_module(module), name)
    except ImportError as error:
        if method.needs:
            return f"needs an extra: pip install 'pansophy[{method.needs}]'"
        return f"cannot be imported: {error}"
    except AttributeError:
        return "not in this release"
    return ""
