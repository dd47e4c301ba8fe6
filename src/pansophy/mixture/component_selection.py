"""Choosing the number of components, and matching components of two mixtures.

The training likelihood rises with every component, so k is chosen by a criterion that
charges for them: with f free parameters, n rows and maximal log-likelihood l,

    BIC = f log n - 2 l,   AIC = 2 f - 2 l     to be minimised                   (1)
    held-out mean log-likelihood over folds    to be maximised                   (2)

A mixture is the same whatever the order of its components: k! parameter sets for one
density. `match_components` finds the order in which one model is closest to another,
an assignment problem with the symmetric KL between Normals as the cost,

    J(p, q) = [tr(S_q^-1 S_p + S_p^-1 S_q) + D'(S_p^-1 + S_q^-1) D] / 2 - d      (3)

with D the difference of the means; `reorder_components` puts components in an order, by
default from left to right.

Shapes    weights (k,)   means (k, d)   order (k,)
Refs      [Schwarz1978] BIC; [Stephens2000] label switching
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from ..core import arrays
from .gaussian_mixture import GaussianMixture

CRITERIA = ("bic", "aic", "held_out")


class ComponentSelection(NamedTuple):
    """The number of components chosen by `choose_components`, and all criteria."""

    n_components: int  # the best number
    model: Any  # fitted to all rows with that number
    n_components_tried: np.ndarray  # (m,) numbers of components
    bic: np.ndarray  # (m,)
    aic: np.ndarray  # (m,)
    held_out: np.ndarray  # (m,) mean log-likelihood of rows left out
    criterion: str

    def plot(self, ax=None):
        """The criteria against the number of components, the best one marked."""
        from matplotlib import pyplot as plt

        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        ax.plot(self.n_components_tried, self.bic, "o-", label="BIC")
        ax.plot(self.n_components_tried, self.aic, "s--", label="AIC")
        ax.set(xlabel="components", ylabel="BIC, AIC (lower is better)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        other = ax.twinx()
        other.plot(self.n_components_tried, self.held_out, "g^-", label="held out")
        other.set_ylabel("held-out log-likelihood (higher is better)")
        ax.axvline(self.n_components, color="k", lw=0.8, ls=":")
        lines = [*ax.get_lines()[:2], *other.get_lines()]
        ax.legend(lines, [line.get_label() for line in lines], loc="center right")
        return ax


def choose_components(
    X, n_components=range(1, 7), *, estimator=None, criterion="bic", cv=5
) -> ComponentSelection:
    """Fit a mixture for each number of components and choose one, eq. (1) and (2).

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    n_components : list of int, default=range(1, 7)
        Numbers to try.
    estimator : mixture or None, default=None
        With `n_components` and `bic`; None is `GaussianMixture(random_state=0)`.
    criterion : {"bic", "aic", "held_out"}, default="bic"
        What decides; all are computed.
    cv : int or splitter, default=5
        Folds of "held_out"; a number means folds of rows in a fixed shuffled order.

    Returns
    -------
    choice : Choice

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.mixture import choose_components
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> X[100:] += 8
    >>> choose_components(X, [1, 2, 3]).n_components
    2
    """
    from sklearn.model_selection import KFold, check_cv

    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {CRITERIA}, got {criterion!r}.")
    tried = [int(k) for k in n_components]
    if not tried or min(tried) < 1:
        raise ValueError("n_components must list whole numbers of at least 1.")
    base = GaussianMixture(random_state=0) if estimator is None else estimator
    X = X if arrays.is_foreign(X) else np.asarray(X)
    whole = isinstance(cv, int)
    folds = KFold(cv, shuffle=True, random_state=0) if whole else check_cv(cv)
    models, bic, aic, held = [], [], [], []
    for k in tried:
        model = clone(base).set_params(n_components=k).fit(X)
        models.append(model)
        bic.append(model.bic(X))
        aic.append(model.aic(X))
        scores = []
        for train, test in folds.split(np.empty((X.shape[0], 1))):
            part = clone(base).set_params(n_components=k).fit(X[train, ...])
            scores.append(arrays.to_numpy(part.score_samples(X[test, ...])))
        held.append(float(np.concatenate(scores).mean()))
    curves = {"bic": np.array(bic), "aic": np.array(aic), "held_out": np.array(held)}
    sign = -1 if criterion == "held_out" else 1
    best = int(np.argmin(sign * curves[criterion]))
    return ComponentSelection(
        tried[best], models[best], np.array(tried), **curves, criterion=criterion
    )


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
