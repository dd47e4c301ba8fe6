"""Base class of tree models: parameter rules, checks of X and y, growth of one tree.

A fit has three steps. `validate_training_data` checks X and gives it as float32, levels
and angles as codes. `classification_target` and `regression_target` turn y into numbers
and say what criterion is for them. `fit_tree` prepares the columns, grows the tree and
prunes it; forests and boosters, which grow many trees on the same columns, take its
place with their own.

Virtual subclasses. scikit-learn's `export_text`, `plot_tree` and
`partial_dependence(method="recursion")` and shap's `TreeExplainer` take a model only if
it is an instance of scikit-learn's class. Those classes are abstract base classes,
which accept others by `register`, so that `isinstance` holds without a line of their
code. Ours have the attributes that the tools read. To import scikit-learn's trees costs
0.1 s, which few programs need. So a class is not registered when it is made, but when
`isinstance` asks for the `__class__` of a model and somebody has imported
scikit-learn's class by then.

Shapes    X (n, d)   y (n,) or (n, m)   w (n,)
"""

import math
import sys
from abc import ABCMeta, abstractmethod
from numbers import Integral
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted, validate_data

from ..base import Estimator
from ..core.arrays import arrays
from ..core.arrays.open_rows import is_table_in_blocks, open_rows
from ..core.arrays.rows import is_arrow_table, is_dataset
from ..core.random import make_rng
from ..params import ParameterError, ParameterRule, number_rule
from ..persist.saved_state import Part, saved_state
from ..typing import ListLike
from .explanation.export import export_text
from .explanation.splits import describe_splits
from .growing._structures import ABSOLUTE, GAUSS, JOINT, SQUARE
from .growing.criteria import KINDS, Criterion
from .growing.grower import (
    NO_DEPTH_LIMIT,
    GrowthLimits,
    grow_tree,
    needs_sorted_columns,
)
from .growing.input_encoding import InputEncoder, table_shape
from .growing.missing_fill import FILLS, learn_missing_fill
from .growing.prepared_columns import (
    prepare_columns,
    silent_float32_overflow,
    training_rows_as_float32,
)
from .pruning import pruning
from .storage.tree import Tree, map_dense_blocks

REGISTERED: set = set()  # classes that scikit-learn knows as subclasses of its own
TINY_SPREAD = 1e-140  # differences whose squares, summed, are no longer told apart


def is_positive_fraction(value):
    whole = isinstance(value, (Integral, bool, np.bool_))
    return not whole and 0 < value <= 1


def is_proper_fraction(value):
    return is_positive_fraction(value) and value < 1


def is_column_selection(value):
    return isinstance(value, (list, tuple, np.ndarray)) or hasattr(value, "dtype")


PositiveFraction = Annotated[
    float, ParameterRule("a fraction above 0, up to 1.0", is_positive_fraction)
]
ProperFraction = Annotated[
    float, ParameterRule("a fraction between 0 and 1", is_proper_fraction)
]
HalfAtMost = Annotated[float, number_rule("a number from 0 to 0.5", 0, 0.5)]
BinCount = Annotated[
    int, number_rule("a whole number from 2 to 255", 2, 255, whole=True)
]
MonotoneSigns = ListLike
ColumnSelection = Annotated[
    Any, ParameterRule("a mask, a list of columns", is_column_selection)
]
AngleSelection = Annotated[
    Any,
    ParameterRule(
        "a mask, a list of columns, a dict from column to period",
        lambda v: isinstance(v, dict) or is_column_selection(v),
    ),
]
ClassWeightOption = Annotated[
    Any,
    ParameterRule(
        "'balanced', a dict by class or a list of dicts by output",
        lambda v: (
            isinstance(v, (dict, list)) or (isinstance(v, str) and v == "balanced")
        ),
    ),
]


class VirtualSubclass:
    """A model that is an instance of scikit-learn's class of its name as well."""

    @property
    def __class__(self):
        for cls in type(self).__mro__:
            if cls not in REGISTERED and cls.__module__.startswith("pansophy."):
                register_with_scikit_learn(cls)
        return type(self)


def register_with_scikit_learn(cls):
    """Make a class a virtual subclass of scikit-learn's of the same name, if there."""
    package = f"sklearn.{cls.__module__.split('.')[1]}"
    if package not in sys.modules:
        return
    REGISTERED.add(cls)
    for name, module in list(sys.modules.items()):
        if name.startswith(package):
            peer = vars(module).get(cls.__name__)
            if isinstance(peer, ABCMeta) and peer.__module__.startswith(package):
                peer.register(cls)
                return


def splits_match_inputs(model) -> bool:
    """Whether the trees of a loaded model fit the columns that its encoder reads."""
    inputs = getattr(model, "inputs_", None)
    for name in ("tree_", "forest_", "trees_"):
        held = getattr(model, name, None)
        if held is None:
            continue
        if inputs is not None and len(inputs.forms) != model.n_features_in_:
            return False
        sets = getattr(held, "sets", None)
        if sets is not None and sets.any() and (inputs is None or inputs.plain):
            return False  # a split by set would index by numbers that are no codes
    return True


@saved_state(
    tree_=Part(Tree, n_features="n_features_in_"),
    inputs_=Part(InputEncoder),
    check=splits_match_inputs,
)
class AbstractDecisionTree(VirtualSubclass, Estimator):
    """Base of estimators that hold one grown tree in `tree_`."""

    _tensors = False

    @abstractmethod
    def fit(self, X, y, sample_weight=None) -> Any: ...

    @property
    def feature_importances_(self):
        """Share of the total fall of impurity by feature; sums to 1, or all 0."""
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()

    @property
    def splits_(self):
        """By node, a description of its split, or None at a leaf; see
        `tree/explanation/splits.py`.
        """
        check_is_fitted(self)
        return describe_splits(self.tree_, self.inputs_)

    def apply(self, X):
        """The number of the leaf that each row falls into."""
        X = validate_prediction_rows(self, X)
        return map_dense_blocks(X, self.tree_.apply)

    def decision_path(self, X):
        """(n, nodes) sparse matrix with ones at the nodes that a row passes."""
        X = validate_prediction_rows(self, X)
        return self.tree_.decision_path(X.toarray() if sp.issparse(X) else X)

    def get_depth(self):
        """The longest way from the root to a leaf, in splits."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self):
        """The number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def cost_complexity_pruning_path(self, X, y, sample_weight=None):
        """Effective alphas and total leaf impurities while pruning X's full tree.

        Returns a Bunch with `ccp_alphas` and `impurities`, from the unpruned tree to
        the root alone.
        """
        full = type(self)(**{**self.get_params(deep=False), "ccp_alpha": 0.0})
        alphas, impurities = pruning.cost_complexity_path(
            full.fit(X, y, sample_weight).tree_
        )
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = getattr(self, "categorical_features", None) is not None
        return tags

    def __str__(self):
        if not hasattr(self, "tree_"):
            return repr(self)
        size = f"{self.get_n_leaves()} leaves, depth {self.get_depth()}"
        names = getattr(self, "feature_names_in_", None)
        text = export_text(self, feature_names=names, max_depth=3)
        return f"{self!r}\n{size}\n{text}".rstrip()


def require_rows_in_memory(X):
    """X as NumPy, SciPy, a data frame or an Arrow table has it; a file is refused.

    A tensor on a device stays what it is: the checks of the model refuse it.
    """
    if is_dataset(X) and not is_arrow_table(X):
        raise TypeError("a decision tree needs its rows in memory: pass an array.")
    readable = arrays.is_foreign(X) and arrays.is_in_main_memory(X)
    return arrays.to_numpy(X) if readable else X


def reads_table(model, X) -> bool:
    """Whether X is a table on disk that the model reads in blocks."""
    return is_dataset(X) and not is_arrow_table(X) and is_table_in_blocks(model, X)


ARRAY_CHECKS = {
    "dtype": np.float32,
    "accept_sparse": True,
    "ensure_all_finite": "allow-nan",
}


def validate_prediction_rows(model, X):
    """X checked for a prediction, as float32 (rows contiguous, or CSR)."""
    check_is_fitted(model)
    if model.inputs_.plain and reads_table(model, X):
        return model._check_new_data(X)
    X = require_rows_in_memory(X)
    if not model.inputs_.plain:
        validate_data(model, X, reset=False, skip_check_array=True)
        X = model.inputs_.encode(X)
    else:
        with silent_float32_overflow():
            X = model._check_new_data(X, **ARRAY_CHECKS)
    fill = getattr(model, "fill_", None)
    if fill is not None:
        return fill.apply(X)
    return X.tocsr() if sp.issparse(X) else X


def encode_grid(model, grid, features):
    """Values of some columns as the trees of a model see them: numbers and codes."""
    if model.inputs_.plain:
        return np.asarray(grid, np.float32)
    out = np.empty(np.shape(grid), np.float32)
    for k, f in enumerate(features):
        table = model.inputs_.tables[f]
        column = np.asarray(grid)[:, k]
        out[:, k] = column if table is None else table.encode(column)
    return out


def leaf_values_of_rows(model, X, value_of):
    """Rows of value_of(tree), (nodes, ...), at the leaves of X; see `missing`."""
    X, tree = validate_prediction_rows(model, X), model.tree_
    value = value_of(tree)
    if getattr(model, "missing", "default") == "both":
        return map_dense_blocks(X, lambda Z: tree.spread(Z, value))
    return value[map_dense_blocks(X, tree.apply)]


def validate_training_data(model, X, y, y_kind, weigh_rows=None):
    """Parameters, X and y checked for a fit; X as float32; sets `inputs_`.

    `weigh_rows(y)` gives the weights of the rows, which decide what levels a
    categorical column has.
    """
    get = lambda name: getattr(model, name, None)
    categorical, directional = get("categorical_features"), get("directional_features")
    plain = categorical is None and directional is None
    refuse_sparse_target(y, TypeError)
    if plain and reads_table(model, X):
        X = open_rows(X)
        stand_in = np.zeros((X.n, 1), np.float32)
        _, y, _ = model._check_training_data(stand_in, y, y_kind=y_kind)
        X, _ = model._check_training_data(X)
        model.inputs_ = InputEncoder(np.zeros(X.shape[1], np.int8))
        return X, y
    X = require_rows_in_memory(X)
    if plain:
        with training_rows_as_float32(X):
            X, y, _ = model._check_training_data(X, y, y_kind=y_kind, **ARRAY_CHECKS)
        model.inputs_ = InputEncoder(np.zeros(X.shape[1], np.int8))
        return fill_training_rows(model, X, y, weigh_rows), y
    stand_in = np.zeros((table_shape(X)[0], 1), np.float32)
    _, y, _ = model._check_training_data(stand_in, y, y_kind=y_kind)
    validate_data(model, X, skip_check_array=True)  # names and width
    subset = get("categorical_split") != "level"
    w = None if weigh_rows is None else weigh_rows(y)
    if not (get("warm_start") and hasattr(model, "forest_")):  # old trees keep codes
        model.inputs_ = InputEncoder.learn(X, categorical, directional, subset, w)
    return fill_training_rows(model, model.inputs_.encode(X), y, weigh_rows), y


def refuse_sparse_target(y, error):
    """Raise if y is sparse: the error of scikit-learn's trees, or of its forests."""
    if sp.issparse(y):
        raise error(
            "sparse multilabel-indicator for y is not supported: pass y.toarray()."
        )


def fill_training_rows(model, X, y, weigh_rows):
    """X with its missing values filled in if the model does so; sets `fill_` then."""
    model.__dict__.pop("fill_", None)
    kind = getattr(model, "missing", "default")
    if kind not in FILLS:
        return X
    w = None if weigh_rows is None else weigh_rows(y)
    model.fill_ = learn_missing_fill(kind, X, model.inputs_.forms, w)
    return model.fill_.apply(X)


class TreeTarget(NamedTuple):
    """Targets as the engine reads them."""

    Y: np.ndarray  # (n, m) numbers, or classes from 0
    criterion: Criterion
    signs: np.ndarray | None  # (d,) monotone constraints


def classification_target(model, y, d, accept=lambda counts: None) -> TreeTarget:
    """Codes of the classes y, X having d columns; sets what the model says of them.

    `accept` may refuse the numbers of classes before anything is set.
    """
    Y = y[:, None] if y.ndim == 1 else y
    pairs = [np.unique(column, return_inverse=True) for column in Y.T]
    counts = tuple(len(classes) for classes, _ in pairs)
    accept(counts)
    model.n_outputs_ = len(pairs)
    one = len(pairs) == 1
    model.classes_ = pairs[0][0] if one else [classes for classes, _ in pairs]
    model.n_classes_ = counts[0] if one else np.array(counts)
    signs = check_monotonic_cst(model.monotonic_cst, d, len(pairs), counts[0])
    codes = np.stack([code for _, code in pairs], axis=1).astype(float)
    return TreeTarget(
        codes, Criterion(KINDS[model.criterion], len(pairs), counts), signs
    )


def regression_target(model, y, w, d, accept=lambda outputs: None) -> TreeTarget:
    """Target and criterion of the numbers y with weights w."""
    Y = np.asarray(y[:, None] if y.ndim == 1 else y, float)
    sums = Y.sum(axis=0) if w is None else w @ Y
    if model.criterion == "poisson" and np.any(Y < 0):
        raise ValueError(
            "Some value(s) of y are negative which is not allowed for Poisson "
            "regression (criterion='poisson')."
        )
    if model.criterion == "poisson" and np.any(sums <= 0):
        raise ValueError(
            "Sum of y is not strictly positive which is necessary for Poisson "
            "regression (criterion='poisson')."
        )
    accept(Y.shape[1])
    if KINDS[model.criterion] in (SQUARE, GAUSS, JOINT):
        refuse_tiny_spread(Y if w is None else Y[w > 0], type(model).__name__)
    model.n_outputs_ = Y.shape[1]
    signs = check_monotonic_cst(model.monotonic_cst, d, model.n_outputs_)
    criterion = Criterion(KINDS[model.criterion], model.n_outputs_)
    if model.criterion == "quantile":
        criterion = criterion._replace(
            cost_above=model.quantile, cost_below=1 - model.quantile
        )
    return TreeTarget(Y, criterion, signs)


def refuse_tiny_spread(y, name):
    """Raise if targets differ, but by so little that squares of it are 0."""
    with np.errstate(over="ignore"):
        spread = np.ptp(y, axis=0).max(initial=0.0)
    if 0 < spread < TINY_SPREAD:
        raise ValueError(
            f"y of {name} differs by {spread:.2g} at most, too little for sums of "
            "squares: multiply it by a power of ten."
        )


def check_monotonic_cst(monotonic_cst, d, n_outputs, n_classes=2):
    """Monotone constraints as an array of -1, 0 and 1, or None."""
    if monotonic_cst is None:
        return None
    if n_outputs > 1:
        raise ValueError(
            "Monotonicity constraints are not supported with multiple outputs."
        )
    if n_classes > 2:
        raise ValueError(
            "Monotonicity constraints are not supported with multiclass classification."
        )
    signs = np.asarray(monotonic_cst)
    if signs.shape != (d,):
        raise ValueError(
            f"monotonic_cst has shape {len(signs) if signs.ndim == 1 else signs.shape} "
            f"but the input data X has {d} features."
        )
    if not np.all(np.isin(signs, (-1, 0, 1))):
        raise ValueError(
            "monotonic_cst must be None or an array-like of -1, 0 or 1, but got "
            f"{np.unique(signs)}."
        )
    return signs.astype(np.int64)


def fit_tree(model, X, y, w, criterion: Criterion, signs=None) -> Tree:
    """Grow and prune the tree of a model on checked data; sets `max_features_`."""
    if w is not None and not np.all(w > 0):
        keep = np.flatnonzero(w > 0)
        X, y, w = X[keep], y[keep], w[keep]
    n, d = X.shape
    model.max_features_ = resolve_max_features(model.max_features, d)
    forms = model.inputs_.forms
    ordered = criterion.kind == ABSOLUTE
    check_column_forms(model, forms, ordered, signs)
    total = float(n if w is None else w.sum())
    limits = growth_limits(model, n, total, signs)
    whole = model.max_features_ >= d and criterion.n_sums == 1 and not limits.random
    table = prepare_columns(
        X,
        w,
        model.max_bins,
        as_bytes=not ordered,
        forms=forms if forms.any() else None,
        interleave=whole,
        sort=needs_sorted_columns(criterion, limits, forms),
    )
    seed = int(make_rng(model.random_state).integers(0, 2**62))
    tree = grow_tree(table, criterion.columns(y), w, criterion, limits, seed)
    return (
        pruning.prune_cost_complexity(tree, model.ccp_alpha)
        if model.ccp_alpha > 0
        else tree
    )


def check_column_forms(model, forms, ordered, signs):
    """Refuse what splits by set, or criteria that need every value, cannot do."""
    if ordered and model.max_bins is not None:
        raise ParameterError(
            f"max_bins must be None for criterion={model.criterion!r}, whose quantiles "
            f"need every value, got {model.max_bins}."
        )
    if ordered and forms.any():
        raise ParameterError(
            f"criterion={model.criterion!r} takes no categorical or directional "
            "features: its quantiles need an order of the rows."
        )
    if signs is not None and np.any(signs[forms > 0]):
        f = int(np.flatnonzero(signs * (forms > 0))[0])
        raise ValueError(
            f"monotonic_cst must be 0 for column {f}, which is categorical or "
            "directional."
        )


def growth_limits(model, n, total, signs) -> GrowthLimits:
    """Parameters as numbers: shares of rows become rows, None becomes no limit."""
    whole = lambda v: int(v) if isinstance(v, Integral) else math.ceil(v * n)
    min_leaf = whole(model.min_samples_leaf)
    eps = np.finfo(float).eps
    return GrowthLimits(
        max_depth=int(NO_DEPTH_LIMIT if model.max_depth is None else model.max_depth),
        min_split=max(whole(model.min_samples_split), 2, 2 * min_leaf),
        min_leaf=min_leaf,
        min_weight=float(model.min_weight_fraction_leaf) * total,
        min_gain=(float(model.min_impurity_decrease) - eps) * total,
        max_leaves=int(model.max_leaf_nodes or 0),
        max_features=model.max_features_,
        random=model.splitter == "random",
        signs=signs,
    )


def resolve_max_features(max_features, d):
    """Number of features that are tried at each node."""
    if max_features is None:
        return d
    if max_features == "sqrt":
        return max(1, int(np.sqrt(d)))
    if max_features == "log2":
        return max(1, int(np.log2(d)))
    if isinstance(max_features, Integral):
        return int(max_features)
    return max(1, int(max_features * d))
