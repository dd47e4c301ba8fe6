"""Slow, literal versions of bags, AdaBoost and rotation forests."""

import itertools

import numpy as np


def out_of_bag(members, samples, features, X, n_outputs):
    """Mean answers of the members that did not draw a row, row by row; NaN if none."""
    out = np.full((len(X), n_outputs), np.nan)
    for i in range(len(X)):
        answers = []
        for model, rows, columns in zip(members, samples, features):
            if i not in set(rows.tolist()):
                x = X[i : i + 1][:, columns]
                ask = getattr(model, "predict_proba", model.predict)
                answers.append(np.ravel(ask(x)))
        if answers:
            out[i] = np.mean(answers, axis=0)
    return out


def best_stump(x, y, w):
    """(error, threshold, label left, label right) of least weighted Gini impurity."""
    best = None
    values = np.unique(x)
    for low, high in itertools.pairwise(values):
        threshold, impurity, error, labels = (low + high) / 2, 0.0, 0.0, []
        for side in (x <= threshold, x > threshold):
            W = w[side].sum()
            up = w[side & (y == 1)].sum() / W
            impurity += W * 2 * up * (1 - up)
            labels.append(1 if up > 0.5 else -1)
            error += w[side & (y != labels[-1])].sum()
        if best is None or impurity < best[0] - 1e-12:
            best = (impurity, error, threshold, *labels)
    return best[1:]


def adaboost(x, y, rounds):
    """Discrete AdaBoost with half-log weights on one column, y in -1 and 1."""
    w = np.full(len(y), 1 / len(y))
    F, trace = np.zeros(len(y)), []
    for _ in range(rounds):
        error, threshold, left, right = best_stump(x, y, w)
        h = np.where(x <= threshold, left, right)
        alpha = 0.5 * np.log((1 - error) / error)
        w = w * np.exp(-alpha * y * h)
        w /= w.sum()
        F += alpha * h
        trace.append(
            {
                "error": error,
                "threshold": threshold,
                "alpha": alpha,
                "w": w,
                "loss": np.mean(np.exp(-y * F)),
                "wrong": int(np.sum(np.sign(F) != y)),
            }
        )
    return trace


def weighted_median(values, weights):
    """The first value, in ascending order, at which half of the weight is reached."""
    order = np.argsort(values, kind="stable")
    reached = 0.0
    for i in order:
        reached += weights[i]
        if reached >= 0.5 * weights.sum():
            return values[i]
    raise AssertionError("weights must be positive")


def rotation(X, groups, draws):
    """R (d, d) from groups of columns and the rows (with repetition) of each group."""
    R = np.zeros((X.shape[1], X.shape[1]))
    for group, rows in zip(groups, draws):
        Z = X[rows][:, group].astype(float)
        Z = Z - Z.mean(axis=0)
        variance, vectors = np.linalg.eigh(Z.T @ Z / len(rows))
        for place, k in enumerate(np.argsort(-variance, kind="stable")):
            v = vectors[:, k]
            v = v if v[np.argmax(np.abs(v))] > 0 else -v
            for j, f in enumerate(group):
                R[f, group[place]] = v[j]
    return R
