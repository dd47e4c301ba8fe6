"""Small trees made by hand, which tests of the parts of trees share."""

import numpy as np
from sklearn.base import BaseEstimator

from pansophy.tree.storage.tree import Tree


def small_tree(value=None, **changes) -> Tree:
    """Five nodes: column 1 at 0.5, then column 0 at -1 on the right.

    0: x1 <= 0.5 ? 1 : 2        weights 10 = 4 + 6
    2: x0 <= -1.0 ? 3 : 4       weights  6 = 1 + 5, missing values go left
    """
    value = np.array([3.0, 1.0, 13 / 3, 6.0, 4.0]) if value is None else value
    arrays = {
        "children_left": np.array([1, -1, 3, -1, -1]),
        "children_right": np.array([2, -1, 4, -1, -1]),
        "feature": np.array([1, -2, 0, -2, -2]),
        "threshold": np.array([0.5, -2.0, -1.0, -2.0, -2.0]),
        "impurity": np.array([3.0, 1.0, 2.0, 0.0, 0.5]),
        "n_node_samples": np.array([9, 4, 5, 1, 4]),
        "weighted_n_node_samples": np.array([10.0, 4.0, 6.0, 1.0, 5.0]),
        "value": np.reshape(value, (5, 1, -1)),
        "missing_go_to_left": np.array([0, 0, 1, 0, 0], np.uint8),
        "n_features": 2,
        "sets": None,
    }
    return Tree(**{**arrays, **changes})


def code_set(*codes):
    """A row of `Tree.sets` in which these codes go left."""
    bits = np.zeros(256, np.uint8)
    bits[list(codes)] = 1
    return np.packbits(bits, bitorder="little").view(np.uint64)


class ModelOfTree(BaseEstimator):
    """A fitted model with nothing but a tree and the attributes given."""

    def __init__(self, tree=None, **attributes):
        self.tree_ = small_tree() if tree is None else tree
        vars(self).update(attributes)

    def fit(self, X, y):
        return self
