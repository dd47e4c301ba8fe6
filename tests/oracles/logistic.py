"""Slow, obvious versions of the loops of the risk and of logistic regression."""

import math

import numpy as np


def risk_pass(X, y, v, w, b, loss):
    """Value and gradient of sum v l(y, x w + b), row by row."""
    value, g = 0.0, np.zeros(X.shape[1] + 1)
    for x, yi, vi in zip(X, y, v, strict=True):
        f = np.array([float(x @ w + b)])
        value += vi * float(loss.value(np.array([yi]), f)[0])
        g += vi * float(loss.gradient(np.array([yi]), f)[0]) * np.append(x, 1.0)
    return value, g


def curvature_matrix(X, y, v, w, b, loss):
    """sum v l''(y, f) (x, 1) (x, 1)^T, row by row."""
    H = np.zeros((X.shape[1] + 1,) * 2)
    for x, yi, vi in zip(X, y, v, strict=True):
        f = np.array([float(x @ w + b)])
        z = np.append(x, 1.0)
        H += vi * float(loss.curvature(np.array([yi]), f)[0]) * np.outer(z, z)
    return H


def softmax_pass(F, t, v):
    """Loss, probabilities and residuals v (p - onehot), row by row."""
    loss, P, R = 0.0, np.zeros_like(F), np.zeros_like(F)
    for i, (f, ti, vi) in enumerate(zip(F, t, v, strict=True)):
        P[i] = np.exp(f) / np.exp(f).sum()
        loss -= vi * math.log(P[i, ti])
        R[i] = vi * P[i]
        R[i, ti] -= vi
    return loss, P, R
