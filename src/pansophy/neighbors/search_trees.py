"""Search trees of scikit-learn, and fitted neighbour models, as training data.

`fit(KDTree(X))`, `fit(BallTree(X))` and `fit(NearestNeighbors().fit(X))` mean `fit(X)`:
the rows are taken out and indexed anew, which costs less than one query of them all.
"""

import numpy as np
from sklearn.neighbors import BallTree, KDTree


def rows_of_search_tree(X):
    """The rows of a tree or of a fitted neighbour model; other X as they are."""
    if isinstance(X, (KDTree, BallTree)):
        return np.asarray(X.data)
    return getattr(X, "_fit_X", X) if hasattr(X, "kneighbors") else X
