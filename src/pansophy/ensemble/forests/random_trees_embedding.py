"""Random trees embedding: rows as indicators of the leaves that they fall into.

Trees are grown with random features and random thresholds for random targets, so they
split the rows where these are dense. A row becomes the indicator of its leaf in every
tree: a sparse code with one 1 per tree, in which near rows share ones.

Refs      [Moosmann2006]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from ...base import Transformer
from ...core.arrays.weighted import check_sample_weight
from ...core.random import make_rng
from ...params import Count, Flag, Jobs, NonNegative, TwoOrMore, Verbosity
from ...tree.abstract_decision_tree import (
    ARRAY_CHECKS,
    BinCount,
    HalfAtMost,
    PositiveFraction,
    ProperFraction,
    require_rows_in_memory,
)
from ...tree.extra_tree import ExtraTreeRegressor
from ...tree.growing._structures import SQUARE
from ...tree.growing.criteria import Criterion
from ...tree.growing.input_encoding import InputEncoder
from ...tree.growing.prepared_columns import training_rows_as_float32
from ...tree.storage.tree import map_dense_blocks
from ...typing import Seed
from ..members import checks_warm_start
from .forest import AbstractForest


@dataclass(eq=False, repr=False)
class RandomTreesEmbedding(Transformer, AbstractForest):
    """Leaves of totally random trees as a sparse code.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_depth : int, default=5
        Most splits between root and leaf.
    min_samples_split : int or float, default=2
        Rows a node needs to be split; a fraction is of all rows.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must keep.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight that each side of a split must keep.
    max_leaf_nodes : int or None, default=None
        If given, nodes are split in the order of their gain up to so many leaves.
    min_impurity_decrease : float, default=0.0
        Gain, as a share of the total weight, that a split must reach.
    sparse_output : bool, default=True
        Whether the code is a sparse matrix.
    n_jobs : int or None, default=None
        Threads; None is all.
    random_state : int, RandomState, Generator or None, default=None
    verbose : int, default=0
        Shows progress if not 0.
    warm_start : bool, default=False
        Keep the trees of the last fit and grow those that are missing.
    max_bins : int or None, default=255
        Bins of columns with more different values; None is exact.

    Attributes
    ----------
    forest_ : Forest
        All trees, packed.
    estimators_ : list of ExtraTreeRegressor
        The trees one by one, built at the first access.
    estimator_ : ExtraTreeRegressor
    one_hot_encoder_ : OneHotEncoder
    feature_importances_ : array of shape (n_features,)
    n_outputs_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import RandomTreesEmbedding
    >>> X = np.arange(10.0)[:, None]
    >>> code = RandomTreesEmbedding(5, max_depth=2, random_state=0).fit_transform(X)
    >>> code.shape[0], int(code.sum())
    (10, 50)
    """

    n_estimators: Count = 100
    _: KW_ONLY
    max_depth: Count = 5
    min_samples_split: TwoOrMore | PositiveFraction = 2
    min_samples_leaf: Count | ProperFraction = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_leaf_nodes: TwoOrMore | None = None
    min_impurity_decrease: NonNegative = 0.0
    sparse_output: Flag = True
    n_jobs: Jobs = None
    random_state: Seed = None
    verbose: Verbosity = 0
    warm_start: Flag = False
    max_bins: BinCount | None = 255

    # parameters of other forests that are fixed here
    _tensors = False

    @property
    def criterion(self):
        """The criterion for the random targets."""
        return "squared_error"

    @property
    def splitter(self) -> str:
        """Splitter of the trees, as decision trees name it."""
        return "random"

    @property
    def max_features(self):
        """Features drawn at each node."""
        return 1

    @property
    def bootstrap(self):
        """Every tree has all rows."""
        return False

    oob_score = None
    max_samples = None
    ccp_alpha = 0.0

    def fit(self, X, y=None, sample_weight=None):
        """Grow the trees. y is not used."""
        self.fit_transform(X, y, sample_weight)
        return self

    @checks_warm_start("forest_")
    def fit_transform(self, X, y=None, sample_weight=None):
        """Grow the trees and code the rows they were grown on."""
        with training_rows_as_float32(X):
            X, _ = self._check_training_data(require_rows_in_memory(X), **ARRAY_CHECKS)
        w = check_sample_weight(sample_weight, X.shape[0])
        self.inputs_ = InputEncoder(np.zeros(X.shape[1], np.int8))
        self.n_outputs_ = 1
        rng = make_rng(self.random_state)
        targets = rng.random((X.shape[0], 1))
        self._grow(X, targets, w, Criterion(SQUARE, 1))
        self.one_hot_encoder_ = OneHotEncoder(
            sparse_output=self.sparse_output, handle_unknown="ignore"
        )
        X = X.tocsr() if sp.issparse(X) else X
        leaves = map_dense_blocks(X, self.forest_.apply).astype(np.int64)
        code = self.one_hot_encoder_.fit_transform(leaves)
        self._n_features_out = code.shape[1]
        return code

    def transform(self, X):
        """(n, leaves) with a one at each leaf that a row falls into."""
        check_is_fitted(self, "forest_")
        return self.one_hot_encoder_.transform(self.apply(X))

    def get_feature_names_out(self, input_features=None):
        """Names randomtreesembedding_<tree>_<leaf> of the columns."""
        check_is_fitted(self, "forest_")
        leaves = self.one_hot_encoder_.categories_
        names = [f"{t}_{v}" for t, of_tree in enumerate(leaves) for v in of_tree]
        return np.asarray([f"randomtreesembedding_{n}" for n in names], object)

    def _unfitted_tree(self) -> Any:
        options = self._tree_options()
        del options["monotonic_cst"], options["categorical_features"]
        return ExtraTreeRegressor(**options)

    def _set_oob(self, mean, y, covered):
        """No row is out of a bag."""
