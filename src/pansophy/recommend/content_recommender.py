"""Content-based recommender: ridge regression of each user's ratings on item features.

Items are described by features z_i (words, tags, numbers), taken to length 1. A user
is a profile p_u, the ridge regression of the user's ratings on the features,

    p_u = argmin 1/2 sum_{i in D_u} w_ui (r_ui - o_ui - p.z_i)^2 + l/2 |p|^2     (1)
    f_ui = o_ui + p_u . z_i                                                      (2)

which for a large l points along sum_i (r_ui - o_ui) z_i: towards what was liked and
away from what was not. Nothing is learned about an item but its features, so an item
nobody has rated is scored as well as any other, and the twin of the one item a user
liked comes first. Nothing is learned from other users, so no taste is discovered that
the features do not express; `HybridRecommender` mixes with recommenders that do.

(1) is half a sweep of `ALS` with the features in the place of V.

Cost d^2 a rating and d^3/3 a user. Shapes  Z (n_items, d)   p (n_users, d)
Refs      [Pazzani2007]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..distances.pairwise_metrics import unit_rows
from ..params import Flag, NonNegative
from ..typing import ListLike, Matrix
from .als import half_sweep, ridge_problems
from .bias_model import Center, fit_offsets, offsets_of_new_users
from .name_codes import check_distinct_names
from .recommender import AbstractFactors

MAX_FEATURES = 5000  # features, since a profile costs d^3


def _unit_features(features, items, dtype):
    """(Z, names): unit rows in the order of the sorted names."""
    Z: Any = features.toarray() if sp.issparse(features) else features
    Z = np.asarray(Z)
    if Z.ndim != 2 or not Z.size or Z.dtype.kind not in "fiub":
        raise ValueError("features of ContentRecommender must be a matrix of numbers.")
    if not np.isfinite(Z).all():
        raise ValueError("features of ContentRecommender contain NaN or infinity.")
    names, way = check_distinct_names(items, len(Z), "items of ContentRecommender")
    Z, _ = unit_rows(Z.astype(dtype), 0.0)
    if way is None:
        return Z, names
    out = np.empty_like(Z)
    out[way] = Z
    return out, names


@dataclass(eq=False, repr=False)
class ContentRecommender(AbstractFactors):
    """Ratings predicted from the features of items, one profile for each user.

    Parameters
    ----------
    features : array or sparse matrix of shape (n_items, d), or None
        z, one row for each item; rows are taken to length 1. It must be given before
        `fit`, and may describe items that have no ratings. More than 5000 features
        are refused: reduce them first, say by a truncated SVD.
    items : list of names or None
        The names of the rows of `features`. None is 0, 1, 2, ...
    reg : float
        l of eq. (1).
    center : "user", "biases", "item", "global" or "none"
        What is subtracted from the ratings first and added again (see `BiasModel`).
        "none" suits likes: ratings that are all 1.
    bias_reg : float
        The penalty on biases with center="biases".
    clip : bool
        Whether predictions are kept within the range of the ratings seen.

    Attributes
    ----------
    user_factors_, item_factors_ : arrays of shape (n_users, d) and (n_items, d)
        The profiles and the features.
    offsets_ : Offsets
        What was subtracted.
    ratings_, users_, items_ : Ratings and names
        The training data.

    Examples
    --------
    >>> from pansophy.recommend import ContentRecommender
    >>> words = [[1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 1, 0]]  # item 3 is a twin of 0
    >>> model = ContentRecommender(words, center="none").fit([["ann", 0]], [1])
    >>> model.recommend("ann", n=1).names
    array([3])
    """

    features: Matrix | list | None = None
    _: KW_ONLY
    items: ListLike | None = None
    reg: NonNegative = 1.0
    center: Center = "biases"
    bias_reg: NonNegative = 5.0
    clip: Flag = False

    def fit(self, X, y=None, sample_weight=None):
        """Find the profiles; `Recommender` says what X and y may be."""
        ratings = self._begin_ratings(X, y, sample_weight)
        if self.features is None:
            raise ValueError("features of ContentRecommender must be given to fit it.")
        Z, names = _unit_features(self.features, self.items, ratings.values.dtype)
        if Z.shape[1] > MAX_FEATURES:
            raise ValueError(
                "features of ContentRecommender must have at most "
                f"{MAX_FEATURES} columns, got {Z.shape[1]}: reduce them first, say by "
                "a truncated SVD."
            )
        try:
            ratings = ratings.with_names(items=names)
        except ValueError as error:
            raise ValueError(
                "every rated item needs a row in features of ContentRecommender."
            ) from error
        offsets = fit_offsets(ratings, self.center, self.bias_reg)
        self._store(ratings, offsets, self._profiles(ratings, offsets, Z), Z)
        return self

    def _profiles(self, ratings, off, Z):
        users, _, _ = ridge_problems(ratings, off, self.reg)
        return half_sweep(
            users, Z, np.zeros((ratings.shape[0], Z.shape[1]), Z.dtype), 0
        )[0]

    def _new_users(self, ratings):
        offsets = offsets_of_new_users(
            self.offsets_, ratings, self.center, self.bias_reg
        )
        return offsets, self._profiles(ratings, offsets, self.item_factors_)
