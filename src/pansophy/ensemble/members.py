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
from ..tree import DecisionTreeClassifier, DecisionTreeRegressor, pruning
from ..tree._structures import SLOT
from ..tree.abstract_decision_tree import (
    ARRAY_CHECKS,
    growth_limits,
    map_dense_blocks,
    resolve_max_features,
    validate_training_data,
)
from ..tree.decision_tree import (
    class_weighted_rows,
    classification_target,
    regression_target,
)
from ..tree.grower import Grower, TreeWithRows
from ..tree.input_encoding import silent_float32_overflow
from ..tree.packed_forest import PackedForest, pack_forest
from ..tree.prepared_columns import PreparedColumns, prepare_columns
from .screen import Screen, screens

TREES = (DecisionTreeClassifier, DecisionTreeRegressor)
CRITERIA = frozenset(["gini", "entropy", "log_loss", "squared_error", "friedman_mse"])
USUAL = frozenset(
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


def in_memory(model, X):
    """X as NumPy, SciPy or a data frame has it."""
    if is_dataset(X):
        name = type(model).__name__
        raise TypeError(f"{name} needs its rows in memory: pass an array.")
    return arrays.to_numpy(X) if arrays.is_foreign(X) else X


def float_rows(model, X):
    """X checked for a prediction by trees of numbers, as float32."""
    with silent_float32_overflow():
        X = model._ready(in_memory(model, X), **ARRAY_CHECKS)
    return X.tocsr() if sp.issparse(X) else X


def takes_weights(estimator) -> bool:
    return has_fit_parameter(estimator, "sample_weight")


def member(template, seed) -> Any:
    """An unfitted copy; every random_state inside it is drawn from the seed."""
    made = clone(template)
    names = sorted(k for k in made.get_params() if k.split("__")[-1] == "random_state")
    if names:
        made.set_params(**{k: random_state(seed, i) for i, k in enumerate(names)})
    return made


def random_state(seed, i=0) -> int:
    """Number i of the random states of a member."""
    return (int(seed) + 0x9E3779B1 * (i + 1)) % (2**31 - 1)


def fit_member(template, seed, X, y, columns=None, counts=None, w=None) -> Any:
    """A member fitted to some columns and to rows by count, weight or both."""
    model = member(template, seed)
    if columns is not None:
        X = X[:, columns]
    if counts is None and w is None:
        return model.fit(X, y)
    if takes_weights(model):
        weight = counts if w is None else w if counts is None else counts * w
        return model.fit(X, y, sample_weight=weight)
    if counts is None:
        name = type(model).__name__
        raise ValueError(
            f"{name} takes no sample_weight; use bootstrap=True to draw rows by weight."
        )
    rows = np.repeat(np.arange(len(counts)), counts)
    return model.fit(X[rows], y[rows])


def probabilities(model, X, n_classes):
    """(n, K) probabilities by a member whose classes are numbers below K, or votes."""
    if not hasattr(model, "predict_proba"):
        return np.eye(n_classes)[np.asarray(model.predict(X), np.int64)]
    answer = np.asarray(model.predict_proba(X))
    if answer.shape[1] == n_classes:
        return answer
    out = np.zeros((len(answer), n_classes))
    out[:, model.classes_] = answer
    return out


def is_tree(model) -> bool:
    """Whether the model is a decision tree of ours."""
    return type(model) in TREES


def special(model) -> set[str]:
    """Parameters of a tree, beyond scikit-learn's and `max_bins`, that are set."""
    more = [f for f in fields(model) if f.name not in USUAL]
    plain = (str, int, float, type(None))
    same = lambda a, b: isinstance(a, plain) and a == b
    return {f.name for f in more if not same(getattr(model, f.name), f.default)}


def shares_table(model) -> bool:
    """Whether members like this one can grow on one `TreeTable`."""
    return is_tree(model) and model.criterion in CRITERIA and not special(model)


def is_plain(model) -> bool:
    """Whether a fitted member answers with the values of leaves behind thresholds."""
    return is_tree(model) and not special(model)


class TreeTable:
    """A table prepared once, on which any number of trees like `template` grow.

    `in_turn` says that they grow one after the other, so that scratch can be kept.
    """

    def __init__(self, template, X, y, in_turn=False):
        model = self.template = clone(template)
        known = set(vars(model))
        classes = isinstance(model, DecisionTreeClassifier)
        self.X, y = validate_training_data(
            model, X, y, "labels" if classes else "numbers"
        )
        self.factor = class_weighted_rows(model, y, None) if classes else None
        d = self.X.shape[1]
        self.Y, self.criterion, self.signs = (
            classification_target(model, y, d)
            if classes
            else regression_target(model, y, None, d)
        )
        self.columns = prepare_columns(self.X, None, model.max_bins)
        self.params = model.get_params(deep=False)
        self.screen: Any = None if in_turn else False  # made when it is first of use
        self.fitted = {k: v for k, v in vars(model).items() if k not in known}

    def copy(self, seed):
        """A member as `member` makes it, in less time: nothing is nested in a tree."""
        made = type(self.template)(**self.params)
        made.random_state = random_state(seed)
        return made

    def grow(self, model, w=None, features=None) -> TreeWithRows:
        """Fit a copy of the template to weighted rows, those of weight 0 left out."""
        w = self.weigh(w)
        rows, n, total = None, len(self.Y), float(len(self.Y))
        if w is not None:
            total = float(w.sum())
            if not w.min() > 0:
                rows = np.flatnonzero(w > 0).astype(np.int32)
                n = len(rows)
        table = self.columns if features is None else take(self.columns, features)
        vars(model).update(self.fitted)
        d = model.n_features_in_ = len(table.meta)
        model.max_features_ = resolve_max_features(model.max_features, d)
        limits = growth_limits(model, n, total, self.signs)
        draws = limits.random or 0 < limits.max_features < d
        seed = int(rng_from(model.random_state).integers(0, 2**62)) if draws else 0
        wanted = self.screened(limits, w, rows) if features is None else None
        table = table if wanted is None else take(table, wanted)
        grower = Grower(table, self.criterion, limits)
        grown = grower.grow(self.Y, w, seed=seed, rows=rows)
        if wanted is not None:
            grown = grown._replace(tree=moved(grown.tree, wanted, d))
        tree, alpha = grown.tree, model.ccp_alpha
        model.tree_ = pruning.prune_cost_complexity(tree, alpha) if alpha > 0 else tree
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
            ok = screens(self.columns, self.criterion, limits, len(self.Y))
            self.screen = Screen(self.columns) if ok else False
        return self.screen.columns(self.Y, w) if self.screen else None

    @property
    def takes_features(self) -> bool:
        """Whether members may grow on some of the columns."""
        return len(self.columns.order) == len(self.columns.meta) and self.signs is None


def take(columns, features) -> PreparedColumns:
    """Some of the columns of a table whose columns are all listed."""
    meta = columns.meta[features]
    meta[:, SLOT] = np.arange(len(features))
    if len(features) == 1:  # a slice is no copy
        features = slice(features[0], features[0] + 1)
    x, order = columns.x[features], columns.order[features]
    return columns._replace(x=x, order=order, meta=meta)


def moved(tree, features, d):
    """A tree grown on some columns, told in the numbers of all d."""
    inner = tree.feature >= 0
    place = np.where(inner, features[np.where(inner, tree.feature, 0)], tree.feature)
    return tree._replace(feature=place, n_features=d)


def gather(model, made, task, what="tree", have=0) -> list:
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


def packed(models, columns=None, d=None) -> PackedForest:
    """The trees of fitted members as one forest, in the numbers of all columns."""
    trees = [m.tree_ for m in models]
    if columns is not None:
        trees = [moved(t, c, d) for t, c in zip(trees, columns)]
    return pack_forest(trees)


def mean_of_trees(forest, X):
    """(n, outputs, values): the mean answer of packed trees to checked rows."""
    total = map_dense_blocks(X, forest.sum)
    return total.reshape(len(total), *forest.shape) / len(forest)


def goes_on(what):
    """A decorator of `fit`: under warm_start, columns and classes stay as they were.

    `what` names the attribute that holds the members of the fit before.
    """

    def decorate(fit):
        @wraps(fit)
        def run(self, X, y=None, *args, **options):
            if self.warm_start and hasattr(self, what):
                check_same(self, X, y)
            return fit(self, X, y, *args, **options)

        return run

    return decorate


def check_same(model, X, y):
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
