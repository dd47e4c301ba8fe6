"""Choosing the number of components, and matching components of two mixtures.

The training likelihood rises with every component, so k is chosen by a criterion that
charges for them: with f free parameters, n rows and maximal log-likelihood l,

    BIC = f log n - 2 l,   AIC = 2 f - 2 l     to be minimised                   (1)
    held-out mean log-likelihood over folds    to be maximised                   (2)

Some books maximise l - f / 2 log n instead, which is -BIC / 2. A component that sits on
a single point has an unbounded likelihood: a model with such a component, or with one
that lost all rows, is not chosen while there is another.

A mixture is the same whatever the order of its components: k! parameter sets for one
density. `match_components` finds the order in which one model is closest to another,
an assignment problem with the symmetric KL between Normals as the cost,

    J(p, q) = [tr(S_q^-1 S_p + S_p^-1 S_q) + D'(S_p^-1 + S_q^-1) D] / 2 - d      (3)

with D the difference of the means; `reorder_components` puts components in an order, by
default from left to right.

Shapes    weights (k,)   means (k, d)   order (k,)
Refs      [Schwarz1978] BIC; [Stephens2000] label switching
"""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from ..core.arrays import arrays
from ..params import check_count
from .gaussian_mixture import DegenerateWarning, GaussianMixture

CRITERIA = ("bic", "aic", "held_out")


class ComponentSelection(NamedTuple):
    """The number of components chosen by `choose_components`, and all criteria."""

    n_components: int  # the best number
    model: Any  # fitted to all rows with that number
    n_components_tried: np.ndarray  # (m,) numbers of components
    bic: np.ndarray  # (m,)
    aic: np.ndarray  # (m,)
    held_out: np.ndarray  # (m,) mean log-likelihood of rows left out; NaN without folds
    criterion: str
    degenerate: np.ndarray  # (m,) whether a component collapsed or lost all rows

    def plot(self, ax=None):
        """The criteria against the number of components, the best one marked."""
        from matplotlib import pyplot as plt

        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        ax.plot(self.n_components_tried, self.bic, "o-", label="BIC")
        ax.plot(self.n_components_tried, self.aic, "s--", label="AIC")
        ax.set(xlabel="components", ylabel="BIC, AIC (lower is better)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        lines = ax.get_lines()[:2]
        if not np.isnan(self.held_out).all():
            other = ax.twinx()
            other.plot(self.n_components_tried, self.held_out, "g^-", label="held out")
            other.set_ylabel("held-out log-likelihood (higher is better)")
            lines = [*lines, *other.get_lines()]
        ax.axvline(self.n_components, color="k", lw=0.8, ls=":")
        ax.legend(lines, [line.get_label() for line in lines], loc="center right")
        return ax


def choose_components(
    X, n_components=range(1, 7), *, estimator=None, criterion="bic", cv=None
) -> ComponentSelection:
    """Fit a mixture for each number of components and choose one, eq. (1) and (2).

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    n_components : list of int, default=range(1, 7)
        Numbers to try; those above the number of rows are left out.
    estimator : mixture or None, default=None
        With `n_components` and `bic`; None is `GaussianMixture(random_state=0)`.
    criterion : {"bic", "aic", "held_out"}, default="bic"
        What decides.
    cv : int, splitter or None, default=None
        Folds of "held_out"; a number means folds of rows in a fixed shuffled order.
        None is 5 folds if that criterion decides, and none otherwise: BIC and AIC need
        all rows once.

    Returns
    -------
    choice : ComponentSelection

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.mixture import choose_components
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> X[100:] += 8
    >>> choose_components(X, [1, 2, 3]).n_components
    2
    >>> choice = choose_components([[0.0], [1.0], [4.0], [5.0]])
    >>> choice.n_components, (choice.bic[:2] / -2).round(3)
    (2, array([-9.956, -9.141]))
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {CRITERIA}, got {criterion!r}.")
    X = X if arrays.is_foreign(X) else np.asarray(X)
    tried = [check_count("n_components", k) for k in n_components]
    tried = [k for k in tried if k <= X.shape[0]]
    if not tried:
        raise ValueError(
            "n_components must list whole numbers from 1 to the number of rows, "
            f"{X.shape[0]}."
        )
    base = GaussianMixture(random_state=0) if estimator is None else estimator
    folds = splits_of_rows(cv, X.shape[0], criterion == "held_out")
    models, bic, aic, held, degenerate = [], [], [], [], []
    for k in tried:
        candidate = clone(base).set_params(n_components=k)
        model, spoiled = fit_and_note_degeneracy(candidate, X)
        models.append(model)
        degenerate.append(spoiled)
        bic.append(model.bic(X))
        aic.append(model.aic(X))
        held.append(held_out_log_likelihood(candidate, X, folds))
    curves = {"bic": np.array(bic), "aic": np.array(aic), "held_out": np.array(held)}
    worth = (-1 if criterion == "held_out" else 1) * curves[criterion]
    passed_over = np.array(degenerate) & (not all(degenerate))
    best = int(np.argmin(np.where(passed_over, np.inf, worth)))
    return ComponentSelection(
        tried[best],
        models[best],
        np.array(tried),
        **curves,
        criterion=criterion,
        degenerate=np.array(degenerate),
    )


def splits_of_rows(cv, n, needed) -> list:
    """The folds as (train, test) row numbers; none if they are not needed or asked."""
    from sklearn.model_selection import KFold, check_cv

    if cv is None and not needed:
        return []
    cv = min(5, n) if cv is None else cv
    if isinstance(cv, int):
        return list(KFold(cv, shuffle=True, random_state=0).split(np.empty((n, 1))))
    return list(check_cv(cv).split(np.empty((n, 1))))


def fit_and_note_degeneracy(model, X):
    """A clone of the model fitted to X, and whether it warned of degenerate components.

    Other warnings are given again.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = clone(model).fit(X)
    for w in caught:
        if not issubclass(w.category, DegenerateWarning):
            warnings.warn(w.message, w.category, stacklevel=4)
    return model, any(issubclass(w.category, DegenerateWarning) for w in caught)


def held_out_log_likelihood(model, X, folds) -> float:
    """Eq. (2); NaN without folds, -inf if a fold has too few rows to fit the model."""
    if not folds:
        return math.nan
    scores = []
    for train, test in folds:
        if len(train) < max(2, model.n_components):
            return -math.inf
        part = fit_and_note_degeneracy(model, X[train, ...])[0]
        scores.append(arrays.to_numpy(part.score_samples(X[test, ...])))
    return float(np.concatenate(scores).mean())


def symmetric_kl(p, q):
    """Eq. (3) between all pairs of two batches of Normals: (k, l)."""
    S, T = (np.asarray(n.dense, float) for n in (p, q))
    invS, invT = np.linalg.inv(S), np.linalg.inv(T)
    D = p.mean[:, None] - q.mean[None]
    traces = np.einsum("kab,lba->kl", S, invT) + np.einsum("kab,lba->kl", invS, T)
    far = np.einsum("klab,klb->kla", invS[:, None] + invT[None], D)
    return 0.5 * (traces + (far * D).sum(-1)) - p.d


def match_components(model, other) -> np.ndarray:
    """The order in which the components of `other` come closest to those of `model`.

    Parameters
    ----------
    model, other : fitted GaussianMixture
        Mixtures with the same number of components.

    Returns
    -------
    order : array of shape (k,)
        Component `order[j]` of `other` stands for component j of `model`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.mixture import GaussianMixture, match_components
    >>> from pansophy.mixture import reorder_components
    >>> X = np.array([[0.0], [1.0], [8.0], [9.0], [20.0], [21.0]])
    >>> model = GaussianMixture(3, random_state=0).fit(X)
    >>> match_components(model, reorder_components(model, [2, 0, 1]))
    array([1, 2, 0])
    """
    p = model._params()
    q = other._params()
    if p.normal.k != q.normal.k or p.normal.d != q.normal.d:
        raise ValueError("the mixtures differ in components or columns.")
    cost = symmetric_kl(p.normal, q.normal)
    w, v = np.log(p.weights), np.log(q.weights)
    # J of the weights is added so that equal Normals are matched by their weight
    cost = cost + (p.weights[:, None] - q.weights) * (w[:, None] - v)
    return linear_sum_assignment(cost)[1]


def reorder_components(model, order=None):
    """A copy of a fitted mixture with its components in another order.

    Parameters
    ----------
    model : fitted GaussianMixture
    order : array of shape (k,), optional
        Which component comes first, second, ... None sorts by the means, the first
        column first.

    Returns
    -------
    model : GaussianMixture
        The same density.
    """
    from copy import deepcopy

    if not isinstance(model, GaussianMixture):  # sticks and posteriors have an order
        raise TypeError(f"reorder takes a GaussianMixture, got {type(model).__name__}.")
    means = arrays.to_numpy(model.means_)
    order = np.lexsort(means.T[::-1]) if order is None else np.asarray(order)
    if sorted(order.tolist()) != list(range(len(means))):
        raise ValueError(f"order must hold each of 0 to {len(means) - 1} once.")
    other = deepcopy(model)
    xp = arrays.namespace(model.means_)
    at = xp.asarray(order, device=arrays.device(model.means_))
    names = ["weights_", "means_", "factors_", "noise_variance_"]
    if model.covariance_type != "tied":
        names += ["covariances_", "precisions_", "precisions_cholesky_"]
    for name in names:
        if hasattr(model, name):
            setattr(other, name, xp.take(getattr(model, name), at, axis=0))
    return other
