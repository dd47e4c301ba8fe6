"""Size of a model: parameters, stored numbers, and growth with the rows.

A parametric model has a fixed number of free parameters once the columns are known; a
non-parametric one keeps rows, or grows with them. For k classes with Normal densities
in d columns, class shares, means and covariances make

    (k - 1) + k d + d (d + 1) / 2        with one covariance for all                (1)
    (k - 1) + k d + k d (d + 1) / 2      with one each
    (k - 1) + 2 k d                      with independent columns.

Free parameters are counted for known kinds of models. For every fitted model the number
of stored values is counted, and refitting on half of the rows shows whether it grows.
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ...core.random import make_rng
from ..data.column_access import indexable_rows, n_rows, select_rows

KEEPS_ROWS = {
    "support_vectors_": ("support vectors", "O(s d) a row, s support vectors"),
    "X_fit_": ("training rows", "O(n d) a row"),
    "X_train_": ("training rows", "O(n d) a row"),
    "_fit_X": ("training rows", "O(n d) a row, less with an index"),
    "dual_coef_": ("a weight for each training row", "O(n d) a row"),
    "tree_": ("nodes of a tree", "O(depth) a row"),
    "trees_": ("nodes of trees", "O(trees depth) a row"),
    "estimators_": (
        "members, each of its own size",
        "that of all members",
    ),
    "_predictors": ("nodes of trees", "O(trees depth) a row"),
}


class ModelSize(NamedTuple):
    """The size of a fitted model; prints as a sentence or two."""

    name: str
    parameters: int | None  # free parameters; None where no count is known
    stored: int  # numbers kept by the fitted model
    bytes: int
    parametric: bool
    keeps: str | None  # what grows with the rows
    cost: str | None  # of a prediction, where known
    growth: float | None  # stored numbers, all rows over half of them

    def __str__(self):
        kind = "parametric" if self.parametric else "non-parametric"
        free = "" if self.parameters is None else f"{self.parameters} free parameters, "
        words = f"{self.name} is {kind}: {free}{self.stored} numbers stored"
        words += f" ({self.bytes / 1e3:.3g} kB)."
        if self.keeps:
            words += f" It keeps {self.keeps}."
        if self.growth is not None:
            words += f" Twice the rows, {self.growth:.2f} times the size."
        if self.cost:
            words += f" Prediction: {self.cost}."
        return words


def gaussian_parameters(k, d, *, covariance="shared") -> int:
    """Eq. (1): free parameters of k Normal classes in d columns.

    Examples
    --------
    >>> from pansophy.diagnose import gaussian_parameters
    >>> [gaussian_parameters(k, d) for k, d in [(2, 2), (3, 2), (3, 4)]]
    [8, 11, 24]
    """
    full = d * (d + 1) // 2
    sizes = {"shared": full, "separate": k * full, "diagonal": k * d}
    if covariance not in sizes:
        raise ValueError(
            f"covariance must be one of {list(sizes)}, got {covariance!r}."
        )
    return (k - 1) + k * d + sizes[covariance]


def model_size(model, X=None, y=None, *, random_state=0) -> ModelSize:
    """Free parameters, numbers stored, and whether a model grows with the rows.

    Parameters
    ----------
    model : fitted estimator
    X, y : its training rows, optional
        A clone is then fitted to half of them and to all, to see it grow.
    random_state : seed

    Examples
    --------
    >>> from pansophy.diagnose import model_size
    >>> from pansophy.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], [1, 2, 4])
    >>> size = model_size(model)
    >>> size.parameters, size.parametric
    (3, True)
    """
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    keeps, cost = next(
        (v for k, v in KEEPS_ROWS.items() if _has_fitted_attribute(last, k)),
        (None,) * 2,
    )
    growth = None if X is None else _growth_with_rows(model, X, y, random_state)
    if keeps is None and growth is not None and growth > 1.2:
        keeps = "more numbers for more rows"
    count = _known_parameter_count(last)
    if count is not None and keeps != "more numbers for more rows":
        keeps = None  # coefficients are all that predictions need
    name = type(last).__name__
    numbers, size = _stored_numbers(model)
    return ModelSize(name, count, numbers, size, keeps is None, keeps, cost, growth)


def _has_fitted_attribute(model, attribute):
    """Whether a fitted model has something under this name."""
    try:
        value = getattr(model, attribute, None)
    except (AttributeError, ValueError):
        return False
    return value is not None and not (
        attribute == "dual_coef_" and _has_coefficients(model)
    )


def _has_coefficients(model):
    return hasattr(model, "coef_")


def _known_parameter_count(model) -> int | None:
    """Free parameters of the kinds whose number is known."""
    k = len(getattr(model, "classes_", ()))
    d = getattr(model, "n_features_in_", 0)
    name = type(model).__name__
    if name == "LinearDiscriminantAnalysis":
        return gaussian_parameters(k, d)
    if name == "QuadraticDiscriminantAnalysis":
        return gaussian_parameters(k, d, covariance="separate")
    if name == "GaussianNB":
        return gaussian_parameters(k, d, covariance="diagonal")
    for word in ("n_parameters", "_n_parameters"):  # mixtures, chains, networks
        count = getattr(model, word, None)
        if callable(count):
            return int(np.sum(count()))
    if hasattr(model, "coefs_"):
        weights = [*model.coefs_, *getattr(model, "intercepts_", ())]
        return int(sum(np.size(w) for w in weights))
    if hasattr(model, "feature_log_prob_"):
        return k - 1 + int(np.size(model.feature_log_prob_))
    if hasattr(model, "cluster_centers_"):
        return int(np.size(model.cluster_centers_))
    if _kernel_machine(model):
        return None
    if hasattr(model, "coef_"):
        w = model.coef_
        free = int(np.prod(w.shape)) if hasattr(w, "shape") else int(np.size(w))
        outputs = np.size(getattr(model, "intercept_", 0.0))
        return free + (outputs if getattr(model, "fit_intercept", True) else 0)
    return None


def _kernel_machine(model):
    return (
        hasattr(model, "support_vectors_") and getattr(model, "kernel", "") != "linear"
    )


def _growth_with_rows(model, X, y, random_state):
    """Numbers stored after all rows over numbers stored after half of them."""
    X, n = indexable_rows(X), n_rows(X)
    rows = np.sort(make_rng(random_state).permutation(n)[: n // 2])
    sizes = []
    for part in (rows, np.arange(n)):
        args = (
            (select_rows(X, part),)
            if y is None
            else (select_rows(X, part), np.asarray(y)[part])
        )
        sizes.append(_stored_numbers(clone(model).fit(*args))[0])
    return sizes[1] / max(sizes[0], 1)


def _stored_numbers(model) -> tuple[int, int]:
    """Count of the numbers, and of their bytes, that a fitted model keeps."""
    seen = set()
    total = [0, 0]

    def walk(value, depth):
        if id(value) in seen or depth > 8:
            return
        if hasattr(value, "nbytes") and hasattr(value, "dtype"):
            seen.add(id(value))
            total[0] += int(np.prod(value.shape))
            total[1] += int(value.nbytes)
        elif isinstance(value, (list, tuple, set)):
            seen.add(id(value))
            for v in value:
                walk(v, depth + 1)
        elif isinstance(value, dict):
            seen.add(id(value))
            for v in value.values():
                walk(v, depth + 1)
        elif isinstance(value, (float, int)) and not isinstance(value, bool):
            total[0], total[1] = total[0] + 1, total[1] + 8
        elif _contained_values(value) is not None:
            seen.add(id(value))
            walk(_contained_values(value), depth + 1)

    state = _fitted_state(model)
    walk(state, 0)
    return total[0], total[1]


def _fitted_state(model):
    """Attributes that the fit has made: the parameters are no part of the size."""
    parameter_names = (
        set(model.get_params(deep=False)) if hasattr(model, "get_params") else set()
    )
    if hasattr(model, "steps"):
        return [_fitted_state(step) for _, step in model.steps if hasattr(step, "fit")]
    return {k: v for k, v in vars(model).items() if k not in parameter_names}


def _contained_values(value):
    """Values inside an object of a model, or None."""
    if isinstance(value, (str, bytes, type)) or callable(value):
        return None
    if hasattr(value, "get_params"):
        return _fitted_state(value)
    if hasattr(value, "tocsr"):
        return [value.tocsr().data, value.tocsr().indices]
    state = getattr(value, "__getstate__", None)
    if state is not None and type(value).__module__.startswith("sklearn"):
        return state()  # trees and indices compiled by scikit-learn
    return getattr(value, "__dict__", None)
