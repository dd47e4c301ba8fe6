"""ID3 and C4.5: multiway trees for categorical columns.

At each node the column that tells most about the class is asked, by information gain
or gain ratio (`multiway_tree.py` has the mathematics), and each of its levels gets a
branch. A column of levels is asked at most once on a way from the root to a leaf,
because below it all rows agree on it.

ID3 takes every column as levels, numbers too, and splits until a node is pure or no
column is left that tells its rows apart. So it fits any rows that do not contradict
each other, and a level that a node has never seen is answered by the majority there.

C4.5 adds what real tables need: numbers are split at a threshold, a missing value goes
down every branch in part, a split must gain, and the grown tree is pruned by an upper
limit of its error.

Shapes    X (n, d) array or data frame   y (n,)   w (n,)
Refs      [Quinlan1986] ID3; [Quinlan1993] C4.5
"""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from ..base import Classifier, Estimator, host_array
from ..core.arrays import arrays
from ..core.arrays.rows import is_dataset
from ..core.arrays.unreadable import array_of_rows
from ..core.arrays.weighted import check_sample_weight
from ..params import Count, NonNegative, ParameterRule, TwoOrMore, number_rule
from ..persist.saved_state import Part, saved_state
from . import multiway_tree
from .abstract_decision_tree import splits_match_inputs
from .growing.input_encoding import InputEncoder
from .multiway_tree import MultiwayTree
from .storage.additive_trees import additive_multiway_tree, require_no_missing_values

PositiveUpToHalf = Annotated[
    float, number_rule("a number above 0, up to 0.5", 0, 0.5, open_low=True)
]
CategoricalColumns = Annotated[
    Any,
    ParameterRule(
        "'from_dtype' or a list of columns",
        lambda v: v == "from_dtype" or isinstance(v, (list, tuple, np.ndarray)),
    ),
]


def readable_table(X):
    """X in a form whose columns can be read: a data frame or a NumPy array."""
    if sp.issparse(X):
        raise TypeError("a multiway tree takes no sparse X: pass it dense.")
    if is_dataset(X) and not hasattr(X, "column_names"):  # an Arrow table is in memory
        raise TypeError("a multiway tree needs its rows in memory: pass a data frame.")
    if arrays.is_foreign(X):
        return arrays.to_numpy(X)
    if hasattr(X, "dtype") or hasattr(X, "columns") or hasattr(X, "column_names"):
        return X
    if hasattr(X, "__array__"):
        return np.asarray(X)
    if not isinstance(X, Iterable):
        raise ValueError(
            "a multiway tree needs rows and columns (Expected 2D array), got "
            f"{type(X).__name__}."
        )
    X = list(X)
    words = any(isinstance(v, str) or v is None for row in X for v in np.ravel(row))
    return np.array(X, dtype=object) if words else array_of_rows(X)


def is_numpy_array(X):
    """Whether scikit-learn's checks of an array apply (a data frame has its own)."""
    return isinstance(X, np.ndarray)


CHECKS = {"dtype": None, "ensure_all_finite": "allow-nan"}


def validate_multiway_data(model, X, y, sample_weight):
    """Checked X, class codes and weights, rows of weight 0 left out; sets classes_."""
    X = readable_table(host_array(model, X))
    if is_numpy_array(X):
        X, y, _ = model._check_training_data(X, y, y_kind="class", **CHECKS)
    else:
        if min(np.shape(X)) == 0:
            raise ValueError(
                f"{type(model).__name__} needs at least one row and one column, got "
                f"0 in shape {np.shape(X)}: the minimum is 1 sample and 1 feature."
            )
        rows = np.zeros((np.shape(X)[0], 1))
        _, y, _ = model._check_training_data(rows, y, y_kind="class")
        validate_data(model, X, skip_check_array=True)
    w = check_sample_weight(sample_weight, len(y))
    if w is not None and not np.all(w > 0):
        keep = np.flatnonzero(w > 0)
        y, w = y[keep], w[keep]
        X = X[keep] if is_numpy_array(X) else frame_rows(X, keep)
    model.classes_, codes = np.unique(y, return_inverse=True)
    return X, codes, w


def frame_rows(frame, rows):
    """Some rows of a data frame."""
    import narwhals as nw

    return nw.from_native(frame, eager_only=True)[rows.tolist()].to_native()


def text_columns(X):
    """Columns that hold text: by type in a data frame, by content in an array."""
    if not is_numpy_array(X):
        return "from_dtype"
    if X.dtype.kind in "biuf":
        return None
    return [f for f in range(X.shape[1]) if any(isinstance(v, str) for v in X[:, f])]


def level_counts(inputs: InputEncoder):
    """Number of codes of each column, 0 if it holds numbers."""
    tables = inputs.tables or [None] * len(inputs.forms)
    return [0 if t is None else int(t.codes.max(initial=0)) + 1 for t in tables]


@saved_state(
    tree_=Part(MultiwayTree, n_features="n_features_in_"),
    inputs_=Part(InputEncoder),
    check=splits_match_inputs,
)
class AbstractMultiwayTree(Estimator):
    """A multiway tree in `tree_`, the ways to read its input in `inputs_`."""

    _tensors = False

    def _codes(self, X):
        """X checked for a prediction, as float32 codes and numbers."""
        check_is_fitted(self)
        X = readable_table(host_array(self, X))
        if is_numpy_array(X):
            X = self._check_new_data(X, **CHECKS)
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
        return self.inputs_.encode(X)

    @property
    def feature_importances_(self):
        """Share of the total fall of entropy by column; sums to 1, or all 0."""
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()

    def get_depth(self):
        """The longest way from the root to a leaf, in splits."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self):
        """The number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def predict(self, X):
        """The most likely class; of equals the first."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    def __str__(self):
        from .explanation.export import export_text

        if not hasattr(self, "tree_"):
            return repr(self)
        size = f"{self.get_n_leaves()} leaves, depth {self.get_depth()}"
        text = export_text(self, max_depth=5)
        return f"{self!r}\n{size}\n{text}".rstrip()


@dataclass(eq=False, repr=False)
class ID3Classifier(Classifier, AbstractMultiwayTree):
    """A tree over discrete columns, one branch per level.

    Every different value of a column is a level: texts, whole numbers, fractions. Of
    more than 255 levels in a column the rarest share one.

    Parameters
    ----------
    criterion : {"information_gain", "gain_ratio"}, default="information_gain"
        What makes a column the best one to ask.
    max_depth : int or None, default=None
        Most questions between root and leaf.
    min_samples_split : int, default=2
        Rows, by weight, that a node needs to be split.

    Attributes
    ----------
    classes_ : array
    tree_ : MultiwayTree
    inputs_ : Inputs
        The levels of each column.
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> from pansophy.tree import ID3Classifier
    >>> X = [["sunny", "calm"], ["sunny", "windy"], ["rainy", "calm"]]
    >>> model = ID3Classifier().fit(X, ["out", "in", "in"])
    >>> model.predict([["sunny", "calm"], ["snowy", "calm"]])
    array(['out', 'in'], dtype='<U3')
    """

    criterion: Literal["information_gain", "gain_ratio"] = "information_gain"
    _: KW_ONLY
    max_depth: Count | None = None
    min_samples_split: TwoOrMore = 2

    def fit(self, X, y, sample_weight=None):
        """Grow the tree."""
        X, y, w = validate_multiway_data(self, X, y, sample_weight)
        every = np.ones(self.n_features_in_, bool)
        inputs = InputEncoder.learn(X, every, w=w)
        self.tree_ = multiway_tree.grow_multiway_tree(
            inputs.encode(X),
            level_counts(inputs),
            y,
            w,
            len(self.classes_),
            max_depth=2**31 if self.max_depth is None else self.max_depth,
            min_split=float(self.min_samples_split),
            ratio=self.criterion == "gain_ratio",
        )
        self.inputs_ = inputs
        return self

    def apply(self, X):
        """The node at which each row stops: a leaf, or one that knows no way on."""
        codes = self._codes(X)
        return self.tree_.apply(codes)

    def predict_proba(self, X):
        """Class shares at the node where a row stops."""
        nodes = self.apply(X)
        return self.tree_.value[:, 0][nodes]

    def _additive(self):
        """The model as a tree of two branches a node, for explanations."""
        return additive_multiway_tree(self, self._codes)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


@dataclass(eq=False, repr=False)
class C45Classifier(Classifier, AbstractMultiwayTree):
    """A tree after C4.5: levels, thresholds, missing values, pessimistic pruning.

    Parameters
    ----------
    criterion : {"gain_ratio", "information_gain"}, default="gain_ratio"
        What makes a column the best one to ask.
    categorical_features : "from_dtype" or list of columns, default="from_dtype"
        Columns of levels: those of text or of a categorical type, or a mask, numbers
        or names. The others are numbers.
    max_depth : int or None, default=None
        Most questions between root and leaf.
    min_samples_split : int, default=2
        Rows, by weight, that a node needs to be split.
    min_samples_leaf : float, default=2
        Rows, by weight, that at least two branches of a split must get.
    confidence : float or None, default=0.25
        The smaller, the more is pruned; None grows the tree without pruning.

    Attributes
    ----------
    classes_ : array
    tree_ : MultiwayTree
    inputs_ : Inputs
        The levels of each column.
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> from pansophy.tree import C45Classifier
    >>> X = [["red", 1.0], ["red", 2.0], ["blue", 1.5], ["blue", 8.0], ["blue", 9.0]]
    >>> model = C45Classifier(min_samples_leaf=1).fit(X, ["a", "a", "a", "b", "b"])
    >>> print(model)
    C45Classifier(min_samples_leaf=1)
    2 leaves, depth 1
    |--- feature_1 <= 5.00
    |   |--- class: a
    |--- feature_1 >  5.00
    |   |--- class: b
    >>> model.predict_proba([["red", None]])
    array([[0.6, 0.4]])
    """

    criterion: Literal["gain_ratio", "information_gain"] = "gain_ratio"
    _: KW_ONLY
    categorical_features: CategoricalColumns = "from_dtype"
    max_depth: Count | None = None
    min_samples_split: TwoOrMore = 2
    min_samples_leaf: NonNegative = 2
    confidence: PositiveUpToHalf | None = 0.25

    def fit(self, X, y, sample_weight=None):
        """Grow and prune the tree."""
        X, y, w = validate_multiway_data(self, X, y, sample_weight)
        given = self.categorical_features
        inputs = InputEncoder.learn(
            X, text_columns(X) if isinstance(given, str) else given, w=w
        )
        tree = multiway_tree.grow_multiway_tree(
            inputs.encode(X),
            level_counts(inputs),
            y,
            w,
            len(self.classes_),
            max_depth=2**31 if self.max_depth is None else self.max_depth,
            min_split=float(self.min_samples_split),
            least=float(self.min_samples_leaf),
            ratio=self.criterion == "gain_ratio",
            eager=False,
        )
        cut = self.confidence is not None
        self.tree_ = (
            multiway_tree.prune_pessimistic(tree, self.confidence) if cut else tree
        )
        self.inputs_ = inputs
        return self

    def predict_proba(self, X):
        """Class shares at the leaves that a row reaches, by its part in each."""
        codes = self._codes(X)
        return self.tree_.spread(codes)

    def _additive(self):
        """The model as a tree of two branches a node, for explanations."""
        return additive_multiway_tree(
            self, lambda X: require_no_missing_values(self._codes(X))
        )
