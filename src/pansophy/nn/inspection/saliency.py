"""Saliency: how much each input moves a score of a net.

With F the score of one class (or output) for a row x,

    gradient              S_j = dF / dx_j                                          (1)
    integrated gradients  S_j = (x_j - b_j) int_0^1 dF(b + a (x - b)) / dx_j da    (2)

from a baseline b, the integral by Gauss-Legendre nodes. Integrated gradients are
complete: sum_j S_j = F(x) - F(b), and zero for an input that F does not use.

Cost      one backward pass, or one for each node of the integral
Refs      [Simonyan2014] gradients; [Sundararajan2017] integrated gradients
"""

import copy
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from ...core.quadrature import panel_quadrature
from ...params import check_count
from ..nets.feature_extractor import net_and_inputs, takes_sequences


def _score_gradient(
    net: nn.Module, x: Tensor, target: Tensor, other_inputs=()
) -> Tensor:
    """Eq. (1): the gradient of each row's score of its target."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        scores = net(x, *other_inputs).gather(1, target[:, None])
        return torch.autograd.grad(scores.sum(), x)[0]


def _integrated_gradient(
    net: nn.Module,
    x: Tensor,
    target: Tensor,
    baseline: Tensor,
    steps=32,
    other_inputs=(),
) -> Tensor:
    """Eq. (2)."""
    nodes, weights = panel_quadrature([0.0, 1.0], steps)
    total = torch.zeros_like(x)
    for a, weight in zip(nodes, weights):
        total += weight * _score_gradient(
            net, baseline + a * (x - baseline), target, other_inputs
        )
    return (x - baseline) * total


def saliency(
    model, X, target=None, *, method: Literal["gradient", "integrated"] = "gradient",
    baseline=0.0, steps=32,
) -> Any:  # fmt: skip
    """Sensitivity of a score to each input of each row, eq. (1) or (2).

    Parameters
    ----------
    model : fitted estimator with nets, or torch module
        For an ensemble the mean over its nets.
    X : array or data frame
        Rows as the model takes them.
    target : int, array of int or None, default=None
        Column of the score; None: the one of the highest score.
    method : {"gradient", "integrated"}, default="gradient"
    baseline : float or array, default=0
        b of eq. (2), in the units of X.
    steps : int, default=32
        Nodes of the integral.

    Returns
    -------
    array in the shape of X: (n, d), (n, h, w) or (n, h, w, channels); for sequences of
    unequal length a list of arrays. Columns of categories, which have no slope, are
    NaN; eq. (2) keeps their values, and sums to F(x) - F(b) over the others.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import saliency
    >>> net = torch.nn.Linear(2, 1)
    >>> X = torch.tensor([[1.0, 2.0]])
    >>> bool((saliency(net, X, 0) == net.weight.detach().numpy()).all())
    True
    """
    if method not in ("gradient", "integrated"):
        raise ValueError(f'method must be "gradient" or "integrated", got {method!r}.')
    steps = check_count("steps", steps)
    sequences = takes_sequences(model)
    tables = hasattr(model, "table_")
    if sequences:
        _refuse_what_has_no_slope(model, baseline)
    results = []
    for net, inputs in net_and_inputs(model, X):
        net = copy.deepcopy(net).double().eval()
        x, *other_inputs = (a.double() if a.is_floating_point() else a for a in inputs)
        x = x.double()
        with torch.no_grad():
            best = net(x, *other_inputs).argmax(1) if target is None else target
        column = torch.as_tensor(best, dtype=torch.int64).expand(len(x))
        if method == "gradient":
            results.append(_score_gradient(net, x, column, other_inputs))
        else:
            start = _as_rows_of(model, baseline, x)
            if tables and np.ndim(baseline) == 0:
                start = torch.as_tensor(model.table_.standardise(float(baseline)))
            if sequences:
                start = torch.as_tensor((baseline - model.mean_) / model.scale_)
            results.append(
                _integrated_gradient(net, x, column, start, steps, other_inputs)
            )
    mean = torch.stack(results).mean(0).numpy()
    if sequences:
        return _in_form_of_sequences(mean, model, X, method)
    if tables:
        return _in_form_of_table(mean, model, X, method)
    shape = np.shape(X[0] if isinstance(X, tuple) else X)
    if mean.ndim == 4 and not isinstance(model, nn.Module):
        mean = np.moveaxis(mean, 1, 3)  # channels last, as the user's images
    return mean.reshape(shape)


def _refuse_what_has_no_slope(model, baseline):
    """Tokens have no gradient, and a baseline of sequences is a number or a step."""
    name = type(model).__name__
    if not hasattr(model, "scale_"):
        raise ValueError(f"saliency of {name} needs sequences of numbers, not tokens.")
    if np.ndim(baseline) > 1:
        raise ValueError("the baseline of sequences is a number, or one step.")


def _in_form_of_sequences(S, model, X, method):
    """Saliency of padded and scaled sequences for those that were given."""
    if method == "gradient":
        S = S / model.scale_  # of a score in the units of X
    (rows,) = model.net_inputs(X)
    parts = [values[:n] for values, n in zip(S, rows.lengths)]
    if isinstance(X, np.ndarray) and X.dtype != object:
        return np.stack(parts).reshape(X.shape)
    return parts


def _in_form_of_table(S, model, X, method):
    """Saliency of scaled numbers beside NaN for the columns of categories."""
    if method == "gradient":
        S = S / model.table_.scale  # of a score in the units of X
    result = np.full(np.shape(X), np.nan)
    result[:, ~model.table_.encoder.is_categorical] = S
    return result


def _as_rows_of(model, baseline, x):
    """The baseline as a tensor that goes with x."""
    if np.ndim(baseline) == 0:
        return torch.full_like(x, float(baseline))
    if hasattr(baseline, "columns"):  # one row of a table, or as many as X
        rows = baseline
    else:
        rows = np.broadcast_to(np.asarray(baseline, float), (1, *np.shape(baseline)))
    ((_, (first, *_)), *_) = net_and_inputs(model, rows)
    return first.double().expand_as(x)
