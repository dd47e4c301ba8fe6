"""Usual calls of every estimator, made to compile or to verify all of their loops.

The list is derived from `all_estimators()`, so that a new estimator is covered by
joining it. Each is fitted to small tables:

    dense float64, small and of a few hundred rows; dense float32; C and Fortran order;
    with sample weights; sparse rows where they are taken;
    two classes, three classes, a number, two numbers;
    each word that one of its parameters may take (`solver="saga"`), one at a time,
    unless it is a net;

and asked for predictions, transformed rows and scores of the same kinds of rows. What
is no estimator is covered by the examples in the docstrings of the public names of the
catalogue. A call may be refused with an error: that is not what is tested here.
"""

import contextlib
import doctest
import importlib
import inspect
import io
import os
import sys
import time
import typing
import warnings
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ..core.loops.deferred_signals import deferred_signals
from .estimators import OPTIONAL, all_estimators, quick_instance, role_names

ROWS = 60
MANY_ROWS = 700  # enough for the paths that only larger tables take
COLUMNS = 5

# what a fitted model is asked, with the rows as the only argument
METHODS = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "transform",
    "inverse_transform", "score_samples", "apply", "kneighbors", "staged_predict",
    "decode",
)  # fmt: skip

# parameters whose words change what is printed or raised, not what is computed
SILENT = {"verbose", "handle_unknown", "on_error", "penalty_name"}


class UsualFit(NamedTuple):
    """One fit: the unfitted estimator, its table, further arguments of `fit`."""

    estimator: typing.Any
    X: typing.Any
    y: typing.Any
    arguments: dict


class CallReport(NamedTuple):
    """Times of the usual calls of one name."""

    name: str
    compiled: int  # loops that had to be compiled, the inner ones included
    seconds: float


def _uses_labels(estimator) -> bool:
    """Whether an estimator that is no classifier takes classes as y."""
    return getattr(estimator, "_conditional", False)


def usual_table(estimator, n_rows=ROWS, n_classes=3, n_columns=COLUMNS, seed=0):
    """Rows and a target of the kind that an estimator takes.

    Parameters
    ----------
    estimator : Estimator
    n_rows : int
    n_classes : int
        Number of classes, if the target is a class.
    n_columns : int
        Number of columns, unless the estimator takes one column of categories.
    seed : int or Generator

    Examples
    --------
    >>> from pansophy.linear_model import LogisticRegression
    >>> from pansophy.testing import usual_table
    >>> X, y = usual_table(LogisticRegression(), n_rows=4)
    >>> X.shape, y.tolist()
    ((4, 5), [0, 1, 2, 0])
    """
    rng = np.random.default_rng(seed)
    tags = get_tags(estimator)
    if tags.input_tags.categorical or "Categorical" in type(estimator).__name__:
        X = rng.integers(0, 3, size=(n_rows, 1))
    else:
        X = rng.standard_normal((n_rows, n_columns))
    if tags.input_tags.positive_only:
        X = np.abs(X)
    if "classifier" in role_names(type(estimator)) or _uses_labels(estimator):
        return X, np.arange(n_rows) % n_classes
    y = X[:, 0] + 0.1 * rng.standard_normal(n_rows)
    if tags.target_tags.positive_only:
        y = np.abs(y) + 0.1
    if not tags.target_tags.single_output:
        y = np.column_stack([y, -y])
    return X, y


def _word_choices(cls) -> list[dict]:
    """Parameters set to each word they may take, one parameter at a time."""
    results = []
    for name, hint in typing.get_type_hints(cls).items():
        if name in SILENT or name.startswith("_"):
            continue
        results += [
            {name: word} for word in literal_values(hint) if word != "deprecated"
        ]
    return results


def literal_values(hint) -> list:
    """The words among the values that a type hint allows, and both truth values."""
    if hint is bool:
        return [True, False]
    if typing.get_origin(hint) is typing.Literal:
        return list(typing.get_args(hint))
    return [word for part in typing.get_args(hint) for word in literal_values(part)]


def usual_fits(cls) -> list[UsualFit]:
    """The fits that cover what people usually give to an estimator."""
    fits = []

    def add(parameters=None, arguments=None, change=None, **table):
        estimator = quick_instance(cls)
        known = estimator.get_params()
        if "random_state" in known:
            estimator.set_params(random_state=0)
        estimator.set_params(**(parameters or {}))
        X, y = usual_table(estimator, **table)
        fits.append(UsualFit(estimator, change(X) if change else X, y, arguments or {}))

    add()
    add(n_rows=MANY_ROWS)
    add(n_classes=2)
    add(n_classes=2, n_rows=MANY_ROWS)
    add(change=lambda X: X.astype(np.float32))
    add(change=np.asfortranarray)
    if get_tags(cls()).input_tags.sparse:
        add(change=sparse.csr_array)
        add(change=lambda X: sparse.csr_array(X.astype(np.float32)))
        add(change=sparse.csr_array, n_classes=2)
    if has_fit_parameter(cls, "sample_weight"):
        weights = np.linspace(0.5, 2.0, ROWS)
        add(arguments={"sample_weight": weights})
        add(arguments={"sample_weight": weights}, n_classes=2)
        if get_tags(cls()).input_tags.sparse:
            add(arguments={"sample_weight": weights}, change=sparse.csr_array)
    # nets are made of torch's loops; what is ours in them does not depend on a word
    for parameters in [] if _is_net(cls) else _word_choices(cls):
        add(parameters=parameters)
        add(parameters=parameters, n_classes=2)
    return fits


def _is_net(cls) -> bool:
    """Whether a class is of a package that needs torch."""
    return OPTIONAL.get(cls.__module__.split(".")[1]) == "torch"


def run_fit(fit: UsualFit) -> None:
    """Fit, then ask all that a model can be asked with rows alone."""
    with contextlib.suppress(Exception):
        model = fit.estimator.fit(fit.X, fit.y, **fit.arguments)
        for method in METHODS:
            with contextlib.suppress(Exception):
                answer = getattr(model, method)(fit.X)
                if inspect.isgenerator(answer):
                    list(answer)
        with contextlib.suppress(Exception):
            model.score(fit.X, fit.y)


def run_examples(name: str) -> None:
    """Run the examples in the docstring of a public name.

    A signal waits until they have run: doctest would swallow what its handler raises.
    """
    with deferred_signals(), contextlib.suppress(Exception):
        module, _, attribute = name.rpartition(".")
        value = getattr(importlib.import_module(module), attribute)
        silence = io.StringIO()
        with contextlib.redirect_stdout(silence):
            doctest.run_docstring_examples(value, dict(vars(sys.modules[module])))


def usual_names() -> list[str]:
    """Dotted names with usual calls: estimators, and public names with examples.

    Names of one package stand together, since they share loops.

    Examples
    --------
    >>> from pansophy.testing import usual_names
    >>> "pansophy.cluster.KMeans" in usual_names()
    True
    """
    from ..catalogue import read_catalogue

    names = {f"{public_module(cls)}.{name}" for name, cls in all_estimators()}
    for entry in read_catalogue():
        names |= {n for n in entry.names if n.replace(".", "").isidentifier()}
    return sorted(names)


def public_module(cls) -> str:
    return ".".join(cls.__module__.split(".")[:2])


def run_usual_calls(name: str) -> CallReport:
    """Make the usual calls of one public name; count what had to be compiled.

    Examples
    --------
    >>> from pansophy.testing import run_usual_calls
    >>> run_usual_calls("pansophy.linear_model.LinearRegression").name
    'pansophy.linear_model.LinearRegression'
    """
    from ..core.loops.loop_cache import WATCH

    began = time.perf_counter()
    count_before = WATCH.count
    estimators = {f"{public_module(c)}.{n}": c for n, c in all_estimators()}
    with warnings.catch_warnings(), open(os.devnull, "w") as null_file:
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(null_file), np.errstate(all="ignore"):
            if name in estimators:
                for fit in usual_fits(estimators[name]):
                    run_fit(fit)
            run_examples(name)
    return CallReport(name, WATCH.count - count_before, time.perf_counter() - began)
