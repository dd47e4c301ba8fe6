"""What ensembles of any estimator share: copies with seeds, and one prepared table.

A member is a copy of a template with random states of its own, fitted to some columns
and to rows with counts or weights. Two ways to fit it:

- *any estimator*: `fit_member`, with counts as `sample_weight` where the estimator
  takes weights and as repeated rows where it does not;
- *a decision tree of ours*: `TreeTable` checks and sorts the table once and grows all
  members on it, each with its own weights. A member costs its growth and no more.

Both give the same tree from the same weights and seed, unless columns are binned
(`max_bins`) or categorical, where bins and codes are learned from all rows.
"""

import warnings
from dataclasses import fields
from functools import wraps
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..base import InterruptedFitWarning
from ..core import arrays
from ..core.random import rng_from
from ..core.rows import is_dataset
from ..tree import DecisionTreeClassifier, DecisionTreeRegressor, prune
from ..tree._layout import SLOT
from ..tree.abstract import (
    CHECKS,
    begin,
    features_at_a_node,
    in_blocks,
    limits_of,
)
from ..tree.columns import Columns, columns
from ..tree.grow import Grower, Grown
from ..tree.inputs import narrowing
from ..tree.packed import Forest, pack
from ..tree.roles import class_weights, target_of_classes, target_of_numbers
from .screen import StumpScreen, can_screen_stumps

OWN_TREES = (DecisionTreeClassifier, DecisionTreeRegressor)
SHARED_CRITERIA = frozenset(
    ["gini", "entropy", "log_loss", "squared_error", "friedman_mse"]
)
USUAL_PARAMETERS = frozenset(
    [
        "criterion",
        "splitter",
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "min_weight_fraction_leaf",
        "max_features",
        "random_state",
        "max_leaf_nodes",
        "min_impurity_decrease",
        "class_weight",
        "ccp_alpha",
        "monotonic_cst",
        "max_bins",
    ]
)


def require_in_memory(model, X):
    """X as NumPy, SciPy or a data frame has it."""
    if is_dataset(X):
        name = type(model).__name__
        raise TypeError(f"{name} needs its rows in memory: pass an array.")
    return arrays.to_numpy(X) if arrays.is_foreign(X) else X


def check_float32_rows(model, X):
    """X checked for a prediction by trees of numbers, as float32."""
    with narrowing():
        X = model._ready(require_in_memory(model, X), **CHECKS)
    return X.tocsr() if sp.issparse(X) else X


def takes_sample_weight(estimator) -> bool:
    return has_fit_parameter(estimator, "sample_weight")


def clone_with_seed(template, seed) -> Any:
    """An unfitted copy; every random_state inside it is drawn from the seed."""
    made = clone(template)
    names = sorted(k for k in made.get_params() if k.split("__")[-1] == "random_state")
    if names:
        made.set_params(
            **{k: member_random_state(seed, i) for i, k in enumerate(names)}
        )
    return made


def member_random_state(seed, i=0) -> int:
    """Number i of the random states of a member."""
    return (int(seed) + 0x9E3779B1 * (i + 1)) % (2**31 - 1)


def fit_member(template, seed, X, y, columns=None, counts=None, w=None) -> Any:
    """A member fitted to some columns and to rows by count, weight or both."""
    model = clone_with_seed(template, seed)
    if columns is not None:
        X = X[:, columns]
    if counts is None and w is None:
        return model.fit(X, y)
    if takes_sample_weight(model):
        weight = counts if w is None else w if counts is None else counts * w
        return model.fit(X, y, sample_weight=weight)
    if counts is None:
        name = type(model).__name__
        raise ValueError(
            f"{name} takes no sample_weight; use bootstrap=True to draw rows by weight."
        )
    rows = np.repeat(np.arange(len(counts)), counts)
    return model.fit(X[rows], y[rows])


def probabilities_or_votes(model, X, n_classes):
    """(n, K) probabilities by a member whose classes are numbers below K, or votes."""
    if not hasattr(model, "predict_proba"):
        return np.eye(n_classes)[np.asarray(model.predict(X), np.int64)]
    answer = np.asarray(model.predict_proba(X))
    if answer.shape[1] == n_classes:
        return answer
    out = np.zeros((len(answer), n_classes))
    out[:, model.classes_] = answer
    return out


def is_own_tree(model) -> bool:
    """Whether the model is a decision tree of ours."""
    return type(model) in OWN_TREES


def special_parameters(model) -> set[str]:
    """Parameters of a tree, beyond scikit-learn's and `max_bins`, that are set."""
    more = [f for f in fields(model) if f.name not in USUAL_PARAMETERS]
    plain = (str, int, float, type(None))
    same = lambda a, b: isinstance(a, plain) and a == b
    return {f.name for f in more if not same(getattr(model, f.name), f.default)}


def can_share_table(model) -> bool:
    """Whether members like this one can grow on one `TreeTable`."""
    return (
        is_own_tree(model)
        and model.criterion in SHARED_CRITERIA
        and not special_parameters(model)
    )


def has_threshold_tree(model) -> bool:
    """Whether a fitted member answers with the values of leaves behind thresholds."""
    return is_own_tree(model) and not special_parameters(model)


class TreeTable:
    """A table prepared once, on which any number of trees like `template` grow.

    `in_turn` says that they grow one after the other, so that scratch can be kept.
    """

    def __init__(self, template, X, y, in_turn=False):
        model = self.template = clone(template)
        known = set(vars(model))
        classes = isinstance(model, DecisionTreeClassifier)
        self.X, y = begin(model, X, y, "labels" if classes else "numbers")
        self.factor = class_weights(model, y, None) if classes else None
        d = self.X.shape[1]
        self.Y, self.criterion, self.signs = (
            target_of_classes(model, y, d)
            if classes
            else target_of_numbers(model, y, None, d)
        )
        self.columns = columns(self.X, None, model.max_bins)
        self.params = model.get_params(deep=False)
        self.screen: Any = None if in_turn else False  # made when it is first of use
        self.fitted = {k: v for k, v in vars(model).items() if k not in known}

    def copy(self, seed):
        """A member as `clone_with_seed` makes it, in less time: nothing is nested in a tree."""
        made = type(self.template)(**self.params)
        made.random_state = member_random_state(seed)
        return made

    def grow(self, model, w=None, features=None) -> Grown:
        """Fit a copy of the template to weighted rows, those of weight 0 left out."""
        w = self.weigh(w)
        rows, n, total = None, len(self.Y), float(len(self.Y))
        if w is not None:
            total = float(w.sum())
            if not w.min() > 0:
                rows = np.flatnonzero(w > 0).astype(np.int32)
                n = len(rows)
        table = (
            self.columns if features is None else select_columns(self.columns, features)
        )
        vars(model).update(self.fitted)
        d = model.n_features_in_ = len(table.meta)
        model.max_features_ = features_at_a_node(model.max_features, d)
        limits = limits_of(model, n, total, self.signs)
        draws = limits.random or 0 < limits.max_features < d
        seed = int(rng_from(model.random_state).integers(0, 2**62)) if draws else 0
        wanted = self.screened(limits, w, rows) if features is None else None
        table = table if wanted is None else select_columns(table, wanted)
        grower = Grower(table, self.criterion, limits)
        grown = grower.grow(self.Y, w, seed=seed, rows=rows)
        if wanted is not None:
            grown = grown._replace(tree=renumber_features(grown.tree, wanted, d))
        tree, alpha = grown.tree, model.ccp_alpha
        model.tree_ = prune.cut(tree, alpha) if alpha > 0 else tree
        return grown

    def weigh(self, w):
        """Row weights times the factors of their classes, or None."""
        if self.factor is not None:
            w = self.factor if w is None else w * self.factor
        return w if w is None else np.asarray(w, np.float64)

    def screened(self, limits, w, rows):
        """Columns worth a search, see `screen.py`; None for all."""
        if w is None or rows is not None:
            return None
        if self.screen is None:
            ok = can_screen_stumps(self.columns, self.criterion, limits, len(self.Y))
            self.screen = StumpScreen(self.columns) if ok else False
        return self.screen.columns(self.Y, w) if self.screen else None

    @property
    def takes_features(self) -> bool:
        """Whether members may grow on some of the columns."""
        return len(self.columns.order) == len(self.columns.meta) and self.signs is None


def select_columns(columns, features) -> Columns:
    """Some of the columns of a table whose columns are all listed."""
    meta = columns.meta[features]
    meta[:, SLOT] = np.arange(len(features))
    if len(features) == 1:  # a slice is no copy
        features = slice(features[0], features[0] + 1)
    x, order = columns.x[features], columns.order[features]
    return columns._replace(x=x, order=order, meta=meta)


def renumber_features(tree, features, d):
    """A tree grown on some columns, told in the numbers of all d."""
    inner = tree.feature >= 0
    place = np.where(inner, features[np.where(inner, tree.feature, 0)], tree.feature)
    return tree._replace(feature=place, n_features=d)


def collect_members(model, made, task, what="tree", have=0) -> list:
    """The members that `made` yields, until it ends or a callback stops it.

    Ctrl-C keeps those there are, after `have` of an earlier fit, with a warning; it
    goes through where there are none.
    """
    members = []
    try:
        for member in made:
            child = task.child(f"{what} {have + len(members)}")
            members.append(member)
            if child.end():
                break
    except KeyboardInterrupt:
        k = have + len(members)
        if not k:
            raise
        warnings.warn(
            f"{type(model).__name__} was interrupted after {k} {what}"
            f"{'s' if k > 1 else ''}; the model is usable as it stands.",
            InterruptedFitWarning,
            stacklevel=6,
        )
    return members


def pack_member_trees(models, columns=None, d=None) -> Forest:
    """The trees of fitted members as one forest, in the numbers of all columns."""
    trees = [m.tree_ for m in models]
    if columns is not None:
        trees = [renumber_features(t, c, d) for t, c in zip(trees, columns)]
    return pack(trees)


def mean_of_packed_trees(forest, X):
    """(n, outputs, values): the mean answer of packed trees to checked rows."""
    total = in_blocks(X, forest.sum)
    return total.reshape(len(total), *forest.shape) / len(forest)


def checks_warm_start(what):
    """A decorator of `fit`: under warm_start, columns and classes stay as they were.

    `what` names the attribute that holds the members of the fit before.
    """

    def decorate(fit):
        @wraps(fit)
        def run(self, X, y=None, *args, **options):
            if self.warm_start and hasattr(self, what):
                check_same_columns_and_classes(self, X, y)
            return fit(self, X, y, *args, **options)

        return run

    return decorate


def check_same_columns_and_classes(model, X, y):
    """Refuse other columns or classes than those of the fit that went before."""
    shape = np.shape(X)
    if len(shape) == 2 and shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {shape[1]} columns, but warm_start goes on from a fit of "
            f"{model.n_features_in_}."
        )
    before = getattr(model, "classes_", None)
    if not isinstance(before, np.ndarray):
        return
    try:
        classes = np.unique(np.asarray(y))
    except TypeError:  # missing labels, which the fit refuses in its own words
        return
    if not np.array_equal(classes, before):
        raise ValueError(
            f"y has the classes {classes.tolist()}, but warm_start goes on from a fit "
            f"of {before.tolist()}."
        )
