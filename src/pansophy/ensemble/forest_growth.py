"""Growing the trees of a forest side by side on one table.

The columns are sorted or binned once. Each tree has a seed of its own from which it
draws its rows (resample.py) and, at each node, its features; a row drawn c times is a
row of weight c, so nothing is copied. A tree goes into the packed form (tree/packed.py)
as soon as it is grown. Neither threads nor the number of trees change a tree.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from ..core import threads
from ..tree import prune
from ..tree._layout import ABSOLUTE, SQUARE
from ..tree.abstract import features_at_a_node, limits_of
from ..tree.columns import Columns, columns
from ..tree.criteria import Criterion
from ..tree.grow import Grower, Limits
from ..tree.lean import needs_order
from ..tree.packed import ALL, IMPURITIES, LEAVES, Part, part_of
from .resample import ResamplingPlan


class ForestPlan(NamedTuple):
    """What every tree of a forest is grown from."""

    columns: Columns
    y: np.ndarray  # (n, m) numbers, or classes from 0
    w: np.ndarray | None  # weights of the rows, where no rows are drawn
    criterion: Criterion
    limits: Limits
    scheme: ResamplingPlan
    shares: tuple[float, float]  # of the total weight: least in a leaf, least gain
    alpha: float
    balanced: bool  # weigh the classes of the rows drawn evenly
    keep: int


class GrownTree(NamedTuple):
    """One tree of a forest and what its features explain."""

    part: Part
    importance: np.ndarray


def plan_forest(model, X, y, w, criterion, signs, scheme) -> ForestPlan:
    """Prepare the columns, and the parameters as numbers."""
    n, d = X.shape
    model.max_features_ = features_at_a_node(model.max_features, d)
    absolute = criterion.kind == ABSOLUTE
    forms = model.inputs_.forms
    limits = limits_of(model, n, 1.0, signs)
    table = columns(
        X,
        w,
        None if absolute else model.max_bins,
        as_bytes=not absolute,
        forms=forms if forms.any() else None,
        ordered=needs_order(criterion, limits, forms),
    )
    plain = criterion.kind == SQUARE and signs is None
    keep = LEAVES if plain else ALL if absolute or signs is not None else IMPURITIES
    return ForestPlan(
        table,
        criterion.columns(y),
        None if scheme.bootstrap else w,
        criterion,
        limits,
        scheme,
        (limits.min_weight, limits.min_gain),
        float(model.ccp_alpha),
        getattr(model, "class_weight", None) == "balanced_subsample",
        keep,
    )


def rows_and_weights_of_tree(recipe: ForestPlan, seed):
    """Rows and weights (by row of the table) of the tree of a seed; None: all, 1."""
    scheme, y = recipe.scheme, recipe.y
    rows, w = None, recipe.w
    counts = np.ones(scheme.n, np.int64)
    if not scheme.all_rows:
        counts = scheme.draw(seed)[1]
        rows = np.flatnonzero(counts).astype(np.int32)
        w = counts.astype(np.float64)
    if recipe.balanced:
        index = np.repeat(np.arange(len(counts)), counts)
        factor = compute_sample_weight("balanced", y, indices=index)
        w = factor if w is None else w * factor
    return rows, w


def grow_forest_tree(recipe: ForestPlan, seed) -> GrownTree:
    """The tree of a seed."""
    rows, w = rows_and_weights_of_tree(recipe, seed)
    if w is None:
        total = float(len(recipe.y))
    else:
        total = float(w.sum() if rows is None else w[rows].sum())
    share, gain = recipe.shares
    limits = recipe.limits._replace(min_weight=share * total, min_gain=gain * total)
    grower = Grower(recipe.columns, recipe.criterion, limits, many=True)
    tree = grower.grow(recipe.y, w, seed=int(seed), rows=rows).tree
    if recipe.alpha > 0:
        tree = prune.cut(tree, recipe.alpha)
    importance = tree.compute_feature_importances()
    return GrownTree(part_of(tree, recipe.keep), importance)


def grow_forest_trees(recipe: ForestPlan, seeds):
    """Trees in the order of their seeds, a few at a time."""
    return threads.run((lambda s=s: grow_forest_tree(recipe, s)) for s in seeds)
