"""Hybrid recommender: a weighted mean of several recommenders; cold starts.

    f_ui = sum_j a_j f^j_ui / sum_j a_j                                          (1)

Weights of 0 and 1 give back the parts. A part that does not know the user or the item
gives what it has for strangers, so that content can speak for new items and ratings
for the rest.

`cold_start` lists the users and items with too few ratings for collaborative methods:
their predictions are little more than offsets.

Refs      [Burke2002]
"""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ..base import Estimator
from ..params import Flag
from ..typing import ListLike, NumberList
from .als import ALS
from .knn import ItemKNN
from .name_codes import codes_of_names
from .ratings import as_ratings
from .recommender import Recommender


class ColdStart(NamedTuple):
    """Names with fewer ratings than asked for."""

    users: np.ndarray
    items: np.ndarray


def cold_start(ratings, min_ratings=5) -> ColdStart:
    """The users and items with fewer than `min_ratings` ratings.

    Parameters
    ----------
    ratings : Ratings, or what `fit` of a recommender takes as its only argument
    min_ratings : int

    Examples
    --------
    >>> from pansophy.recommend import cold_start
    >>> cold_start([["ann", "tea", 5], ["ann", "ale", 3], ["bob", "tea", 4]], 2)
    ColdStart(users=array(['bob'], dtype='<U3'), items=array(['ale'], dtype='<U3'))
    """
    R = as_ratings(ratings)
    return ColdStart(
        R.user_names[R.user_counts < min_ratings],
        R.item_names[R.item_counts < min_ratings],
    )


def _sorted_union(lists):
    """All names of several sorted lists, sorted."""
    if len({names.dtype.kind == "U" for names in lists}) > 1:
        raise TypeError("the recommenders name their items differently.")
    union = lists[0]
    for names in lists[1:]:
        union = np.union1d(union, names)
    return union


@dataclass(eq=False, repr=False)
class HybridRecommender(Recommender, Estimator):
    """A weighted mean of recommenders.

    Parameters
    ----------
    recommenders : list of recommenders or None
        The parts; clones of them are fitted. None is [ALS(8), ItemKNN()].
    weights : list of numbers or None
        a, none negative, not all 0. None is equal weights.
    clip : bool
        Whether predictions are kept within the range of the ratings seen.

    Attributes
    ----------
    recommenders_ : list
        The fitted parts.
    weights_ : array
        a, divided by their sum.
    ratings_, users_, items_ : Ratings and names
        The training data; the items are those known to any part.

    Examples
    --------
    >>> from pansophy.recommend import BiasModel, HybridRecommender, UserKNN
    >>> X, y = [["ann", "tea"], ["ann", "ale"], ["bob", "tea"]], [5, 3, 4]
    >>> parts = [BiasModel(), UserKNN()]
    >>> model = HybridRecommender(parts, weights=[1, 0]).fit(X, y)
    >>> bool(model.predict([["bob", "ale"]]) == BiasModel().fit(X, y).predict(
    ...     [["bob", "ale"]]))
    True
    """

    recommenders: ListLike | None = None
    _: KW_ONLY
    weights: NumberList | None = None
    clip: Flag = False

    def fit(self, X, y=None, sample_weight=None):
        """Fit every part; `Recommender` says what X and y may be."""
        ratings = self._begin_ratings(X, y, sample_weight)
        parts = self._parts()
        a = self._shares(parts)
        fitted = [clone(part).fit(ratings) for part in parts]
        items = _sorted_union([part.items_ for part in fitted])
        self.recommenders_, self.weights_ = fitted, a
        self._store_ratings(ratings.with_names(items=items))
        return self

    def _parts(self):
        parts = self.recommenders
        return [ALS(8, random_state=0), ItemKNN()] if parts is None else list(parts)

    def _uses_weights(self):
        members = [p for p in self._parts() if isinstance(p, Recommender)]
        return all(part._uses_weights() for part in members)

    def _shares(self, parts):
        name = "recommenders of HybridRecommender"
        if not parts or not all(isinstance(p, Recommender) for p in parts):
            raise ValueError(f"{name} must be a list of recommenders.")
        a = np.ones(len(parts)) if self.weights is None else np.asarray(self.weights)
        a = a.astype(np.float64)
        if a.shape != (len(parts),) or (a < 0).any() or not 0 < a.sum() < np.inf:
            raise ValueError(
                f"weights of HybridRecommender must be {len(parts)} numbers of at "
                "least 0, not all 0."
            )
        return a / a.sum()

    def _mixed(self, ask):
        """Eq. (1); parts of weight 0 are not asked."""
        pairs = zip(self.weights_, self.recommenders_, strict=True)
        return sum(a * ask(part) for a, part in pairs if a > 0)

    def _pairs(self, u, i):
        def ask(part):
            part_codes = codes_of_names(part.items_, self.items_, "items")
            return part._pairs(u, np.where(i < 0, -1, part_codes[i]))

        return self._mixed(ask)

    def _scores(self, u):
        def ask(part):
            part_codes = codes_of_names(part.items_, self.items_, "items")
            known = part_codes >= 0
            S = part._scores(u)
            if known.all():
                return S[:, part_codes]
            out = np.empty((len(u), len(part_codes)), S.dtype)
            out[:, known] = S[:, part_codes[known]]
            stranger = np.full(len(u), -1, np.int32)  # an item this part has never met
            out[:, ~known] = part._pairs(u, stranger)[:, None]
            return out

        return self._mixed(ask)

    def _fold(self, ratings, known):
        self.recommenders_ = [part.fold_in(ratings) for part in known.recommenders_]
