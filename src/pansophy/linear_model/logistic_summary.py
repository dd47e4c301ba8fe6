"""Standard errors and tests of logistic regression.

At the optimum of the log-likelihood sum_i w_i log p(y_i | x_i), with H minus its
Hessian, the coefficients are close to Normal with covariance

    V = H^-1;  with k > 2 classes  P H^-1 P,  P = (I - 1 1^T / k) (x) I          (1)

where P keeps the coefficients of mean 0 over classes, the only ones that the data
determine. Against the model of class shares alone, with log-likelihood l_0,

    2 (l - l_0) ~ chi^2 on the degrees of freedom of W,   1 - l / l_0            (2)

A penalty biases the coefficients and voids eq. (1), so there is no table then.

Refs      [McCullagh1989] ch. 4; [McFadden1974] eq. (2), right
"""

import numpy as np
from scipy import stats

from ..core import arrays
from ..losses import logistic as logistic_loss
from ..losses import softmax as softmax_loss
from .risk import Risk
from .summary import Summary, coefficient_names, wald_table


def check_unpenalised(model):
    """Refuse where theory is absent."""
    C = getattr(model, "C_", model.__dict__.get("C"))
    free = model.penalty is None or np.all(np.isinf(np.asarray(C, dtype=float)))
    if not free:
        raise ValueError(
            "there are no standard errors for penalised coefficients; fit with C=inf, "
            "or bootstrap the model."
        )
    if model.class_weight is not None:
        raise ValueError("class_weight changes the likelihood: no standard errors.")


def logistic_covariance(J, x):
    """Eq. (1), (k, d + 1, k, d + 1)."""
    H = J.hessian(x)
    scale = np.sqrt(np.diagonal(H))
    if not np.all(scale > 0) or np.linalg.cond(H / np.outer(scale, scale)) > 1e12:
        raise ValueError(
            "the coefficients are not determined one by one: columns are linearly "
            "dependent, or the classes are separable."
        )
    k, m = J.k, J.d + 1
    V = (np.linalg.inv(H / np.outer(scale, scale)) / np.outer(scale, scale)).reshape(
        k, m, k, m
    )
    if k == 1:
        return V
    P = np.eye(k) - 1 / k
    return np.einsum("ab,bicj,cd->aidj", P, V, P)


def null_log_likelihood(y, w, k):
    """l_0: the log-likelihood of the shares of the classes."""
    share = np.bincount(y, weights=w, minlength=k)
    return float(share @ np.log(share / share.sum()))


def logistic_summary(model, X, y, sample_weight=None, level=0.95) -> Summary:
    """The table of a fitted model for the rows it was fitted to."""
    X = model._ready(X, accept_sparse="csr")
    check_unpenalised(model)
    labels = arrays.to_numpy(model.classes_)
    codes = np.searchsorted(labels, arrays.to_numpy(y))
    n, k = len(codes), len(labels)
    w = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    W, b = (arrays.to_numpy(a).astype(float) for a in (model.coef_, model.intercept_))
    loss = logistic_loss if k == 2 else softmax_loss
    as_x = (
        (lambda a: arrays.namespace(X).asarray(a))
        if arrays.is_foreign(X)
        else (lambda a: a)
    )
    J = Risk(X, as_x(codes), as_x(w), loss, k=len(W), intercept=model.fit_intercept)
    if k > 2:
        W, b = W - W.mean(axis=0), b - b.mean()
    x = np.column_stack([W, b])
    V = logistic_covariance(J, x.ravel())
    error = np.sqrt(np.einsum("aiai->ai", V))
    order = [J.d, *range(J.d)] if model.fit_intercept else list(range(J.d))
    table = wald_table(x[:, order].T, error[:, order].T, level=level)
    if k == 2:
        table = {name: column[:, 0] for name, column in table.items()}
    like, null = -J(x.ravel())[0], null_log_likelihood(codes, w, k)
    free = max(k - 1, 1) * len(order)
    ratio = 2 * (like - null)
    header = {
        "rows": w.sum() if w.sum() != int(w.sum()) else int(w.sum()),
        "coefficients": free,
        "log-likelihood": like,
        "null log-likelihood": null,
        "pseudo R2": 1 - like / null,
        "likelihood ratio": ratio,
        "p (likelihood ratio)": float(stats.chi2.sf(ratio, max(k - 1, 1) * J.d)),
        "AIC": 2 * free - 2 * like,
        "BIC": np.log(w.sum()) * free - 2 * like,
    }
    return Summary(
        type(model).__name__,
        header,
        coefficient_names(model),
        table,
        targets=tuple(map(str, labels)) if k > 2 else (),
    )
