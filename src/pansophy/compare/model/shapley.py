"""Explanations of predictions: Shapley values of the columns of the table.

For a row x, a function f of rows and background rows z_1..z_B (`background_rows`),
let f_S(x) be the mean over b of f at the row that has the columns S of x and the others
of z_b. The share of column j is its Shapley value in the game S -> f_S(x), so that

    f(x) = base + sum_j phi_j,     base = 1/B sum_b f(z_b).                      (1)

What f is, and how phi is found, depends on the model:

  linear   f = w.h(x) + c, the number itself, its logarithm or the log odds; h is the
           preparation, mu its mean over the background:
           phi_j = sum over prepared columns i of column j of w_i (h_i(x) - mu_i), exact
  trees    f is the number, the probability, or the raw score of a booster; exact, the
           prepared columns of a column going together (`tree.shap_values`, groups)
  others   f is the number or the probabilities; each background row is walked to x
           along random orders of the columns and along their reverses, and

    phi_j = 1/(2B) sum_b [f(before j, j) - f(before j)] forwards + backwards     (2)

           which keeps (1) exactly for any orders, and is Shapley's value on average;
           its standard error over the B walks is told.

Cost: linear O(width) a row; trees O(leaves depth); others 2 B columns predictions.
Refs      [Shapley1953]; [Lundberg2017] f_S and (1); [Strumbelj2014] (2)
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ...tables import MixedFrame
from ...tables.schema import combined_chunks
from ...tree import Explanation, shap_values
from ..methods.wrappers import SmoothedProbabilities

DEFAULT_WALKS = 32  # background rows walked from, for models that are neither
BLOCK = 20_000  # rows predicted at a time
TOLERANCE = 1e-6  # of the largest answer: what counts as the same function


class LinearForm(NamedTuple):
    """f(x) = h(x) W + c for each output."""

    W: np.ndarray  # (width, outputs)
    c: np.ndarray  # (outputs,)
    scale: str


def explain_rows(model, frame, *, walks=DEFAULT_WALKS, random_state=0) -> Explanation:
    """Shares of every column in the predictions for a frame.

    Parameters
    ----------
    model : TableModel
    frame : Frame
        As `model.schema.frame` makes it.
    walks : int
        Background rows to walk from where shares are sampled, eq. (2).
    random_state : int
        Seeds the orders of those walks.
    """
    if model.background is None:
        raise AttributeError(
            "The model was saved without background rows: predictions cannot be "
            "explained."
        )
    names = [c.name for c in model.schema.used]
    data = _values_of_columns(frame, model.schema.used)
    explanation = _exact_shapley(model, frame)
    if explanation is None:
        rng = np.random.default_rng(random_state)
        explanation = _sampled_shapley(model, frame, walks, rng)
    values, base, outputs, scale, error = explanation
    if model.schema.task == "classification" and values.shape[2] == 2:
        values, base = values[:, :, 1:], base[1:]  # the first is the complement
        error = None if error is None else error[:, :, 1:]
    if values.shape[2] == 1:
        values, base, outputs = values[:, :, 0], float(base[0]), None
        error = None if error is None else error[:, :, 0]
    method = "exact" if error is None else "sampled"
    explanation = Explanation(values, base, data, names, outputs)
    return explanation._replace(scale=scale, method=method, error=error)


def _values_of_columns(frame, columns) -> np.ndarray:
    """(n, columns) in the order of the schema; a text is NaN."""
    out = np.full((len(frame), len(columns)), np.nan)
    plain = [j for j, c in enumerate(columns) if c.role != "text"]
    out[:, plain] = frame.values
    return out


def _exact_shapley(model, frame):
    """(values, base, names, scale, None) of linear models and trees, else None."""
    steps = model.steps()
    if steps is None:
        return None
    prepare, fitted = steps
    owners = prepare.columns_of
    inner, a, b = _unwrap_affine(fitted)
    Z = np.asarray(prepare.transform(model.background), float)
    line = _linear_form(fitted, inner, Z, model.schema)
    if line is not None:
        X = np.asarray(prepare.transform(frame), float)
        mu = Z.mean(axis=0)
        shares = (X - mu)[:, :, None] * line.W
        base = mu @ line.W + line.c
        values = _sum_by_column(shares, owners, len(model.schema.used))
        return values, base, _output_names(model.schema, values), line.scale, None
    try:
        return _tree_shapley(model, inner, prepare.transform(frame), Z, owners, a, b)
    except (TypeError, ValueError, AttributeError):  # not trees, or paths too long
        return None


def _unwrap_affine(fitted):
    """(estimator, a, b): predictions are a times those of the estimator plus b."""
    if isinstance(fitted, SmoothedProbabilities):
        a = fitted.shrink_
        K = len(fitted.classes_)
        return fitted.model_, a, (1 - a) / K
    inner = getattr(fitted, "regressor_", None)
    scaler: Any = getattr(fitted, "transformer_", None)
    if inner is None or not hasattr(scaler, "scale_"):
        return fitted, 1.0, 0.0
    return inner, float(scaler.scale_[0]), float(scaler.mean_[0])


def _linear_form(fitted, inner, Z, schema) -> LinearForm | None:
    """The model as a linear function, if it is one: checked on the rows Z."""
    W = getattr(inner, "coef_", None)
    if W is None or schema.task == "multilabel":
        return None
    W = np.atleast_2d(np.asarray(W, float))
    c = np.atleast_1d(np.asarray(getattr(inner, "intercept_", 0.0), float))
    if W.shape[1] != Z.shape[1] or len(c) not in (1, len(W)):
        return None
    c = np.broadcast_to(c, len(W))
    raw = Z @ W.T + c
    if schema.task == "classification":
        if not hasattr(inner, "decision_function"):
            return None
        decisions = np.asarray(inner.decision_function(Z)).reshape(len(Z), -1)
        scale = "log odds" if decisions.shape[1] == 1 else "score"
        return LinearForm(W.T, c, scale) if _nearly_equal(decisions, raw) else None
    predicted = np.asarray(fitted.predict(Z), float).reshape(len(Z), -1)
    _, a, b = _unwrap_affine(fitted)
    if _nearly_equal(predicted, a * raw + b):
        return LinearForm(a * W.T, a * c + b, schema.target)
    if _nearly_equal(predicted, np.exp(np.minimum(raw, 700.0))):
        return LinearForm(W.T, c, f"logarithm of {schema.target}")
    return None


def _nearly_equal(predicted, raw) -> bool:
    if predicted.shape != raw.shape:
        return False
    return bool(
        np.abs(predicted - raw).max() <= TOLERANCE * max(1.0, np.abs(predicted).max())
    )


def _tree_shapley(model, inner, X, Z, owners, a, b):
    """Shares by `tree.shap_values`, against the background."""
    schema = model.schema
    explanation = shap_values(inner, X, background=Z, groups=owners)
    shares = np.asarray(explanation.values, float)
    shares = shares[..., None] if shares.ndim == 2 else shares
    values = np.zeros((len(shares), len(schema.used), shares.shape[2]))
    values[:, : shares.shape[1]] = shares
    base = np.atleast_1d(np.asarray(explanation.base_values, float))
    scale = schema.target
    if schema.task == "classification":
        raw = hasattr(inner, "decision_function")
        scale = ("log odds" if len(base) == 1 else "score") if raw else "probability"
    elif schema.task == "count" and not _explains_predictions(inner, Z, explanation):
        scale = f"logarithm of {schema.target}"
    return a * values, a * base + b, _output_names(schema, values), scale, None


def _explains_predictions(inner, Z, explanation) -> bool:
    mean_prediction = np.asarray(inner.predict(Z), float).mean()
    return abs(mean_prediction - float(explanation.base_values)) <= TOLERANCE * max(
        1.0, abs(mean_prediction)
    )


def _sum_by_column(shares, owners, columns) -> np.ndarray:
    """Shares (n, width, outputs) of prepared columns added up by table column."""
    out = np.zeros((len(shares), columns, shares.shape[2]))
    for i, j in enumerate(np.asarray(owners)):
        out[:, j] += shares[:, i]
    return out


def _output_names(schema, values) -> list | None:
    """Names of several outputs; one output of two classes is about the second."""
    names = schema.labels if schema.task == "multilabel" else schema.classes
    return list(names) if len(names) == values.shape[2] else None


def _sampled_shapley(model, frame, walks, rng):
    """Eq. (2) and its standard error over the walks."""
    schema = model.schema
    d = len(schema.used)
    n_walks = min(walks, len(model.background))
    Z = model.background[slice(0, n_walks)]
    orders = np.argsort(rng.random((n_walks, d)), axis=1)
    orders = np.concatenate([orders, orders[:, ::-1]])  # (2B, d), with their reverses
    fz = _as_matrix(model.raw_scores(Z))
    block_rows = max(1, BLOCK // (2 * n_walks * max(d - 1, 1)))
    parts = [
        _permutation_gains(model, frame[slice(i, i + block_rows)], Z, fz, orders)
        for i in range(0, len(frame), block_rows)
    ]
    values, error = (np.concatenate(block_parts) for block_parts in zip(*parts))
    base = fz.mean(axis=0)
    K = fz.shape[1]
    scale = schema.target if K == 1 and not schema.labels else "probability"
    return values, base, _output_names(schema, values), scale, error


def _permutation_gains(model, rows, Z, fz, orders):
    """Means and standard errors of the gains along the walks, for a few rows."""
    n = len(rows)
    B = len(Z)
    (walks, d) = orders.shape
    steps = np.empty_like(orders)
    np.put_along_axis(steps, orders, np.arange(d)[None], axis=1)
    fx = _as_matrix(model.raw_scores(rows))
    K = fx.shape[1]
    f = np.empty((n, walks, d + 1, K))
    f[:, :, 0], f[:, :, d] = fz[np.arange(walks) % B], fx[:, None]
    if d > 1:  # row s of a walk has the columns that come before step s from x
        known = steps[:, None, :] < np.arange(1, d)[None, :, None]  # (2B, d-1, d)
        hybrids = _hybrid_rows(rows, Z, known, model.schema.used)
        f[:, :, 1:d] = _as_matrix(model.raw_scores(hybrids)).reshape(n, walks, d - 1, K)
    gain = np.take_along_axis(np.diff(f, axis=2), steps[None, :, :, None], axis=2)
    pairs = 0.5 * (gain[:, :B] + gain[:, B:])
    spread = pairs.std(axis=1, ddof=min(1, B - 1)) / np.sqrt(B)
    return pairs.mean(axis=1), spread


def _as_matrix(p) -> np.ndarray:
    return p[:, None] if p.ndim == 1 else p


def _hybrid_rows(rows, Z, known, columns) -> MixedFrame:
    """Every row with its known columns, and the others of where a walk began in Z."""
    n = len(rows)
    B = len(Z)
    (walks, n_between, d) = known.shape
    flat = np.tile(known.reshape(-1, d), (n, 1))
    row = np.repeat(np.arange(n), walks * n_between)
    start = np.tile(np.repeat(np.arange(walks) % B, n_between), n)
    plain = [j for j, c in enumerate(columns) if c.role != "text"]
    texts = [j for j, c in enumerate(columns) if c.role == "text"]
    values = np.where(flat[:, plain], rows.values[row], Z.values[start])
    held = []
    for t, j in enumerate(texts):
        both_levels = pa.concat_arrays(
            [combined_chunks(rows.texts[t]), combined_chunks(Z.texts[t])]
        )
        held.append(both_levels.take(pa.array(np.where(flat[:, j], row, n + start))))
    return MixedFrame(values, tuple(held))
