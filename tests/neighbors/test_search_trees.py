"""Search trees and fitted neighbour models as training data."""

import numpy as np
from sklearn import neighbors as peer

from pansophy.neighbors import KNeighborsClassifier
from pansophy.neighbors.search_trees import rows_of_search_tree


def test_the_rows_are_taken_out(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    for held in (peer.KDTree(X), peer.BallTree(X), peer.NearestNeighbors().fit(X)):
        np.testing.assert_array_equal(rows_of_search_tree(held), X)
        model = KNeighborsClassifier(1).fit(held, y)
        np.testing.assert_array_equal(model.predict(X), y)
    assert rows_of_search_tree(X) is X
