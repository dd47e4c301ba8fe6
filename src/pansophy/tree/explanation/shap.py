"""SHAP values of trees, forests and boosters: exact Shapley values of a prediction.

Let f_S(x) be what a tree predicts when only the features S of x are known. The value
of feature j is its Shapley value in the game S -> f_S(x),

    phi_j = sum_S |S|! (d-|S|-1)! / d!  (f_{S+j}(x) - f_S(x)),  S without j      (1)

so that sum_j phi_j = f(x) - f_{}. Unknown features follow the rows of training: at a
split on one of them both branches count, weighted by their rows ("path-dependent"); or
they are taken from the rows of a background set, one by one, and f_S averaged over
them ("interventional"). Over the leaves l, of value v_l, with o_k = 1 if x keeps to
every split on feature k above l, else 0, and z_k the share of rows that do,

    f_S(x) = sum_l v_l prod_{k in S} o_k  prod_{k not in S} z_k                  (2)

over the features k of the path. With the beta integral of the weights in (1),

    phi_j = sum_l v_l (o_j - z_j) int_0^1 prod_{k != j} (t o_k + (1-t) z_k) dt.  (3)

The integrand is a polynomial of degree below D, the number of features on the path, so
Gauss-Legendre quadrature with m = ceil(D / 2) points is exact: no polynomials are
multiplied or divided, every term is positive, and rounding stays rounding. Going down
an edge of feature j multiplies

    P(t) by (t o_j + (1-t) z_j) / (t o'_j + (1-t) z'_j)                          (4)

where o', z' are those before the edge; coming up, with G(t) = sum of v_l P_l(t) below,

    phi_j += sum_t w_t G(t) [(o_j - z_j) / (t o_j + (1-t) z_j) - same with o', z'](5)

which is m multiplications and 2 m additions an edge: O(leaves D) a row and tree, where
the usual algorithm takes O(leaves D^2). As o is 0 or 1, the factors of an edge are
tabulated. Interactions are (3) with two features left out,

    phi_ij = 1/2 sum_l v_l (o_i - z_i)(o_j - z_j) int prod_{k != i, j} (...) dt  (6)

and phi_ii = phi_i - sum_j phi_ij, so that rows sum to (1).

With a background row z, z_k is 0 or 1 too: only leaves that x and z reach between them
count, with a features held by x alone and b by z alone, and (3) is
(a-1)! b! / (a+b)! for the former, -a! (b-1)! / (a+b)! for the latter (7). What a row
does at the splits above a leaf is a pattern of bits; rows with equal patterns are
handled once, so the cost hardly depends on the number of background rows. Features of
one group (the columns that one category was encoded as) are known or unknown together:
the k of (7) are then groups, and x keeps to a group if it does at all of its splits.

Shapes    X (n, d)   phi (n, d) or (n, d, outputs)   phi_ij (n, d, d[, outputs])
Refs      [Shapley1953]; [Owen1972] (3); [Lundberg2020] trees; [Yu2022] linear time
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import beta

from ...core.loops import threads
from ...core.quadrature import gauss_legendre
from ..storage.additive_trees import AdditiveTrees, as_additive_trees

BLOCK = 256  # rows handed to a thread at a time
TOLERANCE = 1e-8  # of the largest answer: far above rounding, far below an error
WORD = 64  # features on one path, with a background


class Explanation(NamedTuple):
    """Shares of predictions by feature; prints the features that matter most.

    values : (n, d) or (n, d, outputs), base_values : () or (outputs,), data : X as
    given, feature_names : d names, output_names : names of the outputs or None,
    interactions : (n, d, d) or (n, d, d, outputs), or None; scale : what the shares
    are shares of, if not the predictions, method : how they were found, error :
    standard errors shaped like values, or None where they are exact.
    """

    values: np.ndarray
    base_values: Any
    data: Any
    feature_names: list[str]
    output_names: list | None = None
    interactions: np.ndarray | None = None
    scale: str = ""
    method: str = "exact"
    error: np.ndarray | None = None

    @property
    def importance(self):
        """Mean of |value| by feature, and by output where there are several."""
        return np.abs(self.values).mean(axis=0)

    @property
    def predictions(self):
        """Sums of the values, by row: the predictions."""
        return self.values.sum(axis=1) + self.base_values

    def __str__(self):
        n, d = self.values.shape[:2]
        size = self.importance if self.values.ndim == 2 else self.importance.mean(1)
        base = np.array2string(np.asarray(self.base_values), precision=4)
        lines = [f"{n} rows, {d} features, base {base}; mean |value|:"]
        if self.scale:
            heading = f"{self.method} shares of the {self.scale}"
            lines = [f"{n} rows, {d} columns, {heading}; mean |share|:"]
        wide = max(len(name) for name in self.feature_names)
        for j in np.argsort(-size, kind="stable")[:10]:
            lines.append(f"  {self.feature_names[j]:<{wide}}  {size[j]:.4g}")
        return "\n".join(lines + (["  ..."] if d > 10 else []))


class ShapLayout(NamedTuple):
    """Every tree in preorder, one after the other; see `_shap.py`."""

    nodes: np.ndarray
    threshold: np.ndarray
    share: np.ndarray
    sets: np.ndarray
    values: np.ndarray
    trees: np.ndarray
    reach: np.ndarray


def shap_values(
    model,
    X,
    *,
    background=None,
    groups=None,
    check_additivity=True,
    interactions=False,
) -> Explanation:
    """Exact SHAP values of a tree, a forest or a booster.

    They share out the probability of each class for classifying trees and forests, the
    raw score for boosters, the predicted number for regressors, and the mean number of
    cuts that isolate a row for isolation forests.

    Parameters
    ----------
    model : fitted estimator
        A decision tree (ID3 and C4.5 too), a forest, a bag of trees, a booster or an
        isolation forest of pansophy.
    X : array or data frame of shape (n, d)
    background : array or data frame of shape (m, d), default=None
        Rows that stand in for features left out. None lets the rows of training in
        each branch do so.
    groups : array of shape (d,), default=None
        Number of the group of each feature, from 0: values are those of groups, whose
        features are left out together. Takes a background.
    check_additivity : bool, default=True
        Whether to make sure that the values add up to the model's own answer.
    interactions : bool, default=False
        Whether to split the values further by pairs of features; not with a
        background.

    Returns
    -------
    Explanation
        With `values`, `base_values`, `data`, `feature_names`, `output_names` and
        `interactions`.

    Examples
    --------
    >>> from pansophy.tree import DecisionTreeRegressor, shap_values
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 2.0, 6.0]
    >>> model = DecisionTreeRegressor().fit(X, y)
    >>> found = shap_values(model, [[1, 1]])
    >>> float(found.base_values), found.values
    (2.0, array([[2.5, 1.5]]))
    >>> print(found)
    1 rows, 2 features, base 2.; mean |value|:
      x0  2.5
      x1  1.5
    """
    if interactions and background is not None:
        raise ValueError("interactions=True is for background=None.")
    if groups is not None and background is None:
        raise ValueError("groups take a background.")
    parts = as_additive_trees(model)
    rows = parts.rows(X)
    Z = None if background is None else parts.rows(background)
    groups = None if groups is None else check_feature_groups(groups, rows.shape[1])
    values, base, pairs = explain_rows(parts, rows, Z, interactions, groups)
    if check_additivity:
        check_additivity_holds(parts.answer(X), values.sum(axis=1) + base)
    if len(base) == 1:
        values, base = values[:, :, 0], base[0]
        pairs = None if pairs is None else pairs[..., 0]
    names = getattr(model, "feature_names_in_", None)
    plain = names is None or groups is not None
    names = [f"x{j}" for j in range(values.shape[1])] if plain else list(names)
    return Explanation(values, base, X, names, parts.names, pairs, parts.scale)


def check_feature_groups(groups, d) -> np.ndarray:
    """Groups as whole numbers, or one clear sentence."""
    result = np.asarray(groups)
    if (
        result.shape != (d,)
        or result.dtype.kind not in "iu"
        or result.min(initial=0) < 0
    ):
        raise ValueError(f"groups must be {d} whole numbers of at least 0.")
    return result.astype(np.int64)


def explain_rows(parts: AdditiveTrees, X, Z=None, interactions=False, groups=None):
    """Values (n, d, K), base values (K,) and interactions (n, d, d, K) or None."""
    from . import _shap as loops

    K = len(parts.offset)
    values = parts.values
    # shares of classes add up to a constant: the first class is minus the others
    spare = K > 1 and all(
        v.shape[1] == K and np.ptp(v.sum(axis=1)) <= 1e-12 for v in values
    )
    lay = shap_layout(
        parts.trees, [v[:, spare:] for v in values], parts.first, parts.counted, groups
    )
    t, w = gauss_legendre_points(int(lay.trees[:, loops.POINTS].max(initial=1)))
    pairs = None
    if Z is None:
        phi = path_dependent_values(X, lay, K - spare, t, w)
        base = expected_prediction(lay, K - spare)
        pairs = interaction_values(X, lay, phi, t, w) if interactions else None
    else:
        d = X.shape[1] if groups is None else int(groups.max(initial=-1)) + 1
        phi, base = interventional_values(X, Z, lay, K - spare, d)
    if spare:
        phi = np.concatenate([-phi.sum(axis=2, keepdims=True), phi], axis=2)
        constant = sum(float(v[0].sum()) for v in values)
        base = np.concatenate([[constant - base.sum()], base])
        if pairs is not None:
            pairs = np.concatenate([-pairs.sum(axis=3, keepdims=True), pairs], axis=3)
    return phi, base + parts.offset, pairs


def check_additivity_holds(answer, total):
    """Raise if values do not add up to the model's answer."""
    size = np.maximum(1.0, np.abs(answer).max(initial=0.0))
    worst = float(np.abs(answer - total).max(initial=0.0))
    if worst > TOLERANCE * size:
        raise ValueError(
            f"the values add up to within {worst:.3g} of the model's answer only. Were "
            "the trees changed after the fit?"
        )


def shap_layout(trees, values, first, counted=False, groups=None) -> ShapLayout:
    """Trees in preorder, with the shares of eq. (2) along their edges."""
    from . import _shap as loops

    sizes = np.array([t.node_count for t in trees])
    ends = np.cumsum(sizes)
    total = int(ends[-1])
    nodes = np.zeros((total, loops.COLUMNS), np.int32)
    share, reach = np.ones((total, 2)), np.ones(total)
    threshold, sets = np.zeros(total), np.zeros((total, 4), np.uint64)
    table = np.zeros((len(trees), loops.COLUMNS), np.int64)
    flat = []
    at = 0
    for j, (tree, value) in enumerate(zip(trees, values, strict=True)):
        own = slice(int(ends[j] - sizes[j]), int(ends[j]))
        left, right = (np.asarray(c, np.int64) for c in tree[:2])
        cover = tree.n_node_samples if counted else tree.weighted_n_node_samples
        order = np.empty(len(left), np.int64)
        N = nodes[own]
        feature = np.asarray(tree.feature, np.int64)
        known = feature if groups is None else groups[feature]  # of a leaf: not read
        deepest, widest = loops.preorder_tree(left, right, known, order, N)
        N[order, loops.TEST] = np.where(left >= 0, feature, -1)
        cover = np.asarray(cover, float)
        loops.edge_row_shares(left, right, cover, order, N, share[own], reach[own])
        threshold[own][order] = tree.threshold
        N[order, loops.MISSING] = tree.missing_go_to_left
        if getattr(tree, "sets", None) is not None:
            sets[own][order] = tree.sets
            N[:, loops.BY_SET] = sets[own].any(axis=1)
        placed = np.empty(value.shape)
        placed[order] = value
        flat.append(placed.ravel())
        points = max(1, -(-widest // 2))
        facts = (points, first[j], value.shape[1], at, deepest, widest)
        table[j] = (own.start, own.stop, *facts)
        at += value.size
    return ShapLayout(nodes, threshold, share, sets, np.concatenate(flat), table, reach)


def gauss_legendre_points(points):
    """Gauss-Legendre on [0, 1] with up to so many points, by their number."""
    t, w = np.zeros((points + 1, points)), np.zeros((points + 1, points))
    for m in range(1, points + 1):
        x, v = gauss_legendre(m)
        t[m, :m], w[m, :m] = 0.5 + 0.5 * x, 0.5 * v
    return t, w


def accumulate_row_blocks(X, shape, run):
    """run(rows, out) for blocks of X on threads; out starts at zero."""
    out = np.zeros((len(X), *shape))
    cuts = [slice(i, i + BLOCK) for i in range(0, len(X), BLOCK)]
    for _ in threads.run_tasks((lambda c=c: run(X[c], out[c])) for c in cuts):
        pass
    return out


def path_dependent_values(X, lay: ShapLayout, K, t, w):
    """Eq. (3) for every row: (n, d, K)."""
    from . import _shap as loops

    run = lambda rows, out: loops.explain_block(rows, *lay[:6], t, w, out)
    return accumulate_row_blocks(X, (X.shape[1], K), run)


def expected_prediction(lay: ShapLayout, K):
    """f of no known feature: leaf values weighted by the rows that reach them."""
    from . import _shap as loops

    base = np.zeros(K)
    for tree in lay.trees:
        own = slice(tree[loops.START], tree[loops.STOP])
        width = tree[loops.WIDTH]
        v = lay.values[tree[loops.VALUES] :][: (own.stop - own.start) * width]
        leaf = lay.nodes[own, loops.TEST] < 0
        first = tree[loops.FIRST]
        base[first : first + width] += (lay.reach[own] * leaf) @ v.reshape(-1, width)
    return base


def interaction_values(X, lay: ShapLayout, phi, t, w):
    """SHAP interaction values of the rows of X, eq. (6): (n, d, d, K)."""
    from . import _shap_interactions as loops

    d, K = phi.shape[1:]
    run = lambda rows, out: loops.interaction_block(rows, *lay[:6], t, w, out)
    pairs = accumulate_row_blocks(X, (K, d, d), run).transpose(0, 2, 3, 1)
    own = np.arange(d)
    pairs[:, own, own] = phi - pairs.sum(axis=2)
    return pairs


def interventional_values(X, Z, lay: ShapLayout, K, d):
    """Eq. (7), averaged over the rows of Z: (n, d, K), and the mean of f over Z."""
    from . import _shap_interactions as loops

    most = int(lay.trees[:, -1].max(initial=0))
    if most > WORD:
        raise ValueError(
            f"a path of a tree tests {most} features, and a background set is for at "
            f"most {WORD}: grow shallower trees or pass background=None."
        )
    weight = background_weights(most + 1)
    parts = (lay.nodes, lay.threshold, lay.sets, lay.values, lay.trees)
    run = lambda rows, out: loops.explain_against_background(
        rows, Z, *parts, weight, out
    )
    return accumulate_row_blocks(X, (d, K), run) / len(Z), mean_prediction(Z, lay, K)


def mean_prediction(Z, lay: ShapLayout, K):
    """The mean over Z of the sum of trees: (K,)."""
    from . import _shap as loops

    out = accumulate_row_blocks(
        Z, (K,), lambda rows, out: loops.predict_block(rows, *lay[:6], out)
    )
    return out.mean(axis=0)


def background_weights(most):
    """(a-1)! b! / (a+b)! of eq. (7), by a and b."""
    a = np.arange(1, most + 1)[:, None]
    b = np.arange(most + 1)[None, :]
    return np.vstack([np.zeros((1, most + 1)), beta(a, b + 1)])
