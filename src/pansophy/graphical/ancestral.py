"""Samples of a network: parents before children, evidence by weights.

    x_i ~ P(x_i | x_parents)      in topological order, all rows at once         (1)
    w = prod_{i in E} P(e_i | x_parents)      observed nodes are set, not drawn   (2)

Rows of (1) have the joint distribution. With evidence, the weights (2) make weighted
rows of the posterior (likelihood weighting); their effective number is
(sum w)^2 / sum w^2, small where the evidence is unlikely given what stands above it.

Cost      O(n (parents + states)) for each node
Shapes    A (n, d)   w (n,)
Refs      [Henrion1988] (1); [FungChang1990]; [ShachterPeot1990] (2)
"""

import numpy as np


def draw_weighted_rows(model, n: int, rng: np.random.Generator, evidence=None):
    """n rows and the logarithms of their weights, eq. (1) and (2).

    `model` has `space`, `parents`, `nodes`, `order`; evidence is by number.
    """
    evidence = evidence or {}
    A = np.empty((n, len(model.nodes)), order="F")
    log_w = np.zeros(n)
    for i in model.order:
        U = A[:, list(model.parents[i])]
        if i in evidence:
            A[:, i] = evidence[i]
            log_w += model.nodes[i].log_prob(A[:, i], U)
        else:
            A[:, i] = model.nodes[i].draw(U, rng)
    return A, log_w


def normalised_weights(log_w) -> np.ndarray:
    """Weights that sum to 1; None if every row is impossible."""
    top = log_w.max(initial=-np.inf)
    if top == -np.inf:
        return np.zeros(0)
    w = np.exp(log_w - top)
    return w / w.sum()


def systematic_resample(w, rng: np.random.Generator) -> np.ndarray:
    """Row numbers drawn by weight, systematically: (n,)."""
    n = len(w)
    points = (rng.random() + np.arange(n)) / n
    return np.minimum(np.searchsorted(np.cumsum(w), points), n - 1)


def weighted_state_table(A, w, query, sizes) -> np.ndarray:
    """Weighted frequencies of the joint states of the asked variables."""
    shape = [sizes[v] for v in query]
    cell = np.ravel_multi_index(tuple(A[:, v].astype(np.int64) for v in query), shape)
    return np.bincount(cell, w, int(np.prod(shape))).reshape(shape)
