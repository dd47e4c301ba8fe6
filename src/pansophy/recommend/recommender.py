"""The role of a recommender: accepted inputs, and the methods all recommenders share.

`fit` takes ratings in any of these forms:

    fit(ratings)             `Ratings`
    fit(X, y)                X (n, 2): users and items, an array or data frame; y the
                             ratings. This form goes through `cross_val_score`,
                             `GridSearchCV` and whatever else splits rows
    fit(frame)               a data frame: user, item, rating in its first 3 columns
    fit(C)                   a sparse matrix of users by items

A model gives two things, for codes of users and items of which -1 is a stranger: the
predictions for pairs, and for some users the scores of all items. All else is here,
once: the best n that a user has not seen, what is similar to what, new users.

Defined answers. A user or item never seen is predicted from what is known of the other
one, in the end by the mean. A user without ratings is recommended the items of highest
score for a stranger, of equal ones those rated most. Where fewer than n items are left
a ranking of one user is shorter; in one of several users the places left are None with
score -inf.
"""

import copy
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import r2_score
from sklearn.utils import RegressorTags
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..core.loops import threads
from ..distances.pairwise_metrics import unit_rows
from ..params import check_count, check_params
from ._top_items import select_largest
from .name_codes import codes_of_names
from .ratings import Ratings, as_ratings, split_columns

SCORE_BLOCK = 1 << 21  # scores of a block of rows
MAX_SELECTED = 256  # up to so many are picked in one pass


def _best_columns(score, rows, n_columns, n, seen=None, allowed=None):
    """(m, n) columns of the largest scores of each row, best first, and the scores.

    `score(rows)` gives the (b, n_columns) scores of some rows; `seen` is a CSR matrix
    whose stored cells are left out (rows of -1 have none), `allowed` a mask of
    columns. Ties go to the lower column. Places left over are -1. Memory is one block
    of scores for each thread.
    """
    codes = np.full((len(rows), n), -1, np.int64)
    scores = np.full((len(rows), n), -np.inf)
    step = max(1, SCORE_BLOCK // max(1, n_columns))
    if n < 1:
        return codes, scores

    def fill(cut):
        block = rows[cut]
        S = score(block)
        if allowed is not None:
            S[:, ~allowed] = -np.inf
        if seen is not None:
            _hide_seen(S, block, seen)
        if n <= MAX_SELECTED:
            select_largest(S, n, codes[cut], scores[cut])
            return
        order = np.argsort(-S, axis=1, kind="stable")[:, :n]
        top = np.take_along_axis(S, order, axis=1)
        codes[cut] = np.where(top > -np.inf, order, -1)
        scores[cut] = top

    cuts = [slice(a, min(a + step, len(rows))) for a in range(0, len(rows), step)]
    for _ in threads.run_tasks([lambda c=c: fill(c) for c in cuts], blas=True):
        pass
    return codes, scores


def _hide_seen(S, rows, seen):
    """-inf where the rows have stored cells."""
    known = np.flatnonzero(rows >= 0)
    begin, end = seen.indptr[rows[known]], seen.indptr[rows[known] + 1]
    sizes = end - begin
    total = int(sizes.sum())
    if not total:
        return
    shift = np.repeat(begin - np.r_[0, np.cumsum(sizes)[:-1]], sizes)
    S[np.repeat(known, sizes), seen.indices[np.arange(total) + shift]] = -np.inf


class Ranking(NamedTuple):
    """Names, best first, and their scores: (n,) for one query, (m, n) for several."""

    names: np.ndarray
    scores: np.ndarray


class Recommender:
    """Predicts how users rate items, and ranks items for them."""

    ratings_: Ratings
    users_: np.ndarray
    items_: np.ndarray
    popularity_: np.ndarray
    range_: tuple[float, float]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
        tags.input_tags.two_d_array = False  # two columns of names, not a matrix
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def _begin_ratings(self, X, y, sample_weight=None) -> Ratings:
        """Check parameters, then ratings."""
        check_params(self)
        ratings = self._as_ratings(X, y, sample_weight)
        if not len(ratings):
            raise ValueError(f"{type(self).__name__} needs at least one rating (row).")
        return ratings

    def _uses_weights(self) -> bool:
        """Whether ratings may have weights."""
        return True

    def _as_ratings(self, X, y, sample_weight) -> Ratings:
        """Convert the argument to ratings; weights are used or refused."""
        ratings = as_ratings(X, y, sample_weight)
        if self._uses_weights():
            return ratings
        given_weights = X.weights if isinstance(X, Ratings) else None
        if sample_weight is not None or given_weights is not None:
            raise ValueError(
                f"{type(self).__name__} cannot use weights, which merged duplicates "
                "have too: leave them out, say by ratings.unweighted()."
            )
        return ratings.unweighted()

    def _store_ratings(self, ratings):
        """Store users, items, their counts and the scale of the ratings."""
        self._set_users(ratings)
        self.items_ = ratings.item_names
        self.n_features_in_ = 2
        self.popularity_ = ratings.item_counts
        r = ratings.values
        self.range_ = (float(r.min()), float(r.max()))

    def _set_users(self, ratings):
        self.ratings_ = ratings
        self.users_ = ratings.user_names

    def _pairs(self, u, i) -> np.ndarray:
        """Predictions for aligned codes."""
        raise AttributeError(f"{type(self).__name__} cannot predict ratings.")

    def _scores(self, u) -> np.ndarray:
        """(m, n_items) predictions of all items for users' codes."""
        raise AttributeError(f"{type(self).__name__} cannot score items.")

    def _nearest(self, side, codes, n) -> Any:
        """(m, n) codes and similarities of the nearest users or items."""
        raise ValueError(f"{type(self).__name__} has no similarities between {side}.")

    def predict(self, X, items=None):
        """The rating expected for each pair.

        Parameters
        ----------
        X : (n, 2) array or data frame of users and items, `Ratings`, or users
        items : array of length n or None
            The items, if X is the users alone. A single user is paired with all.
        """
        check_is_fitted(self)
        u, i = self._codes(X, items)
        ratings = self._pairs(u, i)
        if getattr(self, "clip", False):
            ratings = np.clip(ratings, *self.range_)
        return ratings

    def _codes(self, X, items):
        if items is not None:
            items = np.atleast_1d(items)
            users = np.broadcast_to(X, items.shape) if np.ndim(X) == 0 else X
            if len(users) != len(items):
                raise ValueError(f"{len(users)} users cannot pair {len(items)} items.")
        elif isinstance(X, Ratings):
            users, items, _ = X.to_triplets()
        else:
            columns = split_columns(X)
            if len(columns) != 2:
                raise ValueError(
                    f"X has {len(columns)} features, but {type(self).__name__} is "
                    "expecting 2 features as input: users and items."
                )
            users, items = columns
        return codes_of_names(self.users_, users, "users"), codes_of_names(
            self.items_, items, "items"
        )

    def complete(self, users=None):
        """The (m, n_items) matrix of predictions; all users if None."""
        check_is_fitted(self)
        u = np.arange(len(self.users_)) if users is None else self._find(users)
        return self._scores(u)

    def score(self, X, y=None, sample_weight=None):
        """R^2 of the predictions; y is None if X is `Ratings`, which hold weights."""
        if isinstance(X, Ratings):
            if y is not None or sample_weight is not None:
                raise ValueError("Ratings hold the values and weights themselves.")
            y, sample_weight = X.values, X.weights
        return r2_score(y, self.predict(X), sample_weight=sample_weight)

    def recommend(self, users, n=10, *, exclude_seen=True, items=None) -> Ranking:
        """The n best items for a user, or for each of several.

        Parameters
        ----------
        users : a name or an array of names
        n : int
        exclude_seen : bool
            Whether to leave out what the user has rated.
        items : array of names or None
            The items to choose from; None is all.
        """
        codes, scores = self._top_items(self._find(users), n, exclude_seen, items)
        return _ranking_of_names(self.items_, codes, scores, one=np.ndim(users) == 0)

    def _top_items(self, u, n, exclude_seen=True, items=None):
        """(m, n) codes, -1 where nothing is left, and scores."""
        seen = self.ratings_.order if exclude_seen else None
        allowed = None
        if items is not None:
            allowed = np.zeros(len(self.items_), bool)
            item_codes = codes_of_names(self.items_, items, "items")
            allowed[item_codes[item_codes >= 0]] = True
        counts = self.ratings_.user_counts
        strange = (u < 0) | (counts[u] == 0) if len(counts) else u < 0
        n = min(check_count("n", n), len(self.items_))
        codes, scores = _best_columns(
            self._scores, u, len(self.items_), n, seen, allowed
        )
        if strange.any():
            codes[strange], scores[strange] = self._items_for_strangers(n, allowed)
        return codes, scores

    def _items_for_strangers(self, n, allowed):
        """Items for users without ratings."""
        s = self._scores(np.array([-1]))[0].astype(np.float64)
        s = s if allowed is None else np.where(allowed, s, -np.inf)
        first = np.lexsort((-self.popularity_, -s.round(12)))[:n]
        return np.where(np.isfinite(s[first]), first, -1), s[first]

    def similar_items(self, items, n=10) -> Ranking:
        """The n items nearest to an item, or to each of several."""
        check_is_fitted(self)
        return self._similar("items", self.items_, items, n)

    def similar_users(self, users, n=10) -> Ranking:
        """The n users nearest to a user, or to each of several."""
        check_is_fitted(self)
        return self._similar("users", self.users_, users, n)

    def _similar(self, side, names, wanted, n):
        row_codes = codes_of_names(names, np.atleast_1d(wanted), side)
        if (row_codes < 0).any():
            stranger = np.atleast_1d(wanted)[row_codes < 0][0]
            raise ValueError(f"{stranger!r} is not among the {side} of this model.")
        codes, scores = self._nearest(
            side, row_codes, min(check_count("n", n), len(names) - 1)
        )
        return _ranking_of_names(names, codes, scores, one=np.ndim(wanted) == 0)

    def fold_in(self, X, y=None, sample_weight=None):
        """A model that knows the users of X instead, from their ratings alone.

        Nothing about the items is learned or copied, so this is quick enough to serve
        a new user. Ratings of items that this model does not know are left out.
        X, y : as in `fit`.
        """
        check_is_fitted(self)
        ratings = self._as_ratings(X, y, sample_weight)
        known = codes_of_names(self.items_, ratings.item_names, "items")
        rows = known[ratings.items] >= 0
        cut = lambda a: None if a is None else a[rows]
        new = Ratings(
            ratings.users[rows],
            known[ratings.items][rows],
            ratings.values[rows].astype(self.ratings_.values.dtype, copy=False),
            ratings.user_names,
            self.items_,
            cut(ratings.times),
            cut(ratings.weights),
        )
        model = copy.copy(self)
        model._fold(new, self)
        model._set_users(new)
        return model

    def _fold(self, ratings, known) -> Any:
        """Set the attributes that depend on users; `known` is the model before."""
        raise ValueError(f"{type(self).__name__} cannot take in new users.")

    def _find(self, users):
        check_is_fitted(self)
        return codes_of_names(self.users_, np.atleast_1d(users), "users")


def _ranking_of_names(names, codes, scores, *, one) -> Ranking:
    """Codes as names; -1 is cut off from one ranking and None in several."""
    is_listed = codes >= 0
    if one:
        return Ranking(names[codes[0][is_listed[0]]], scores[0][is_listed[0]])
    if is_listed.all():
        return Ranking(names[codes], scores)
    out = np.full(codes.shape, None, object)
    out[is_listed] = names[codes[is_listed]]
    return Ranking(out, np.where(is_listed, scores, -np.inf))


class AbstractFactors(Recommender, Estimator):
    """f_ui = offset_ui + U_u . V_i: all recommenders with factors, perhaps none.

    Members set offsets, U and V by `_store`, and say in `_new_users` what follows for
    the users when V is fixed.
    """

    def _store(self, ratings, offsets, U, V):
        self._store_ratings(ratings)
        self.offsets_ = offsets
        self.user_factors_, self.item_factors_ = U, V

    def _new_users(self, ratings) -> Any:
        """(offsets, U) of users whose ratings are these, with V as it is."""
        raise ValueError(f"{type(self).__name__} cannot take in new users.")

    def _fold(self, ratings, known):
        self.offsets_, self.user_factors_ = known._new_users(ratings)

    def _pairs(self, u, i):
        U, V = self.user_factors_, self.item_factors_
        ratings = self.offsets_.at(u, i)
        known_pairs = np.flatnonzero((u >= 0) & (i >= 0))
        step = max(1, (1 << 20) // max(1, V.shape[1]))
        for start in range(0, len(known_pairs), step):
            b = known_pairs[start : start + step]
            ratings[b] += np.einsum("jk,jk->j", U[u[b]], V[i[b]])
        return ratings

    def _scores(self, u):
        m, b, c = self.offsets_
        V = self.item_factors_
        U = np.zeros((len(u), V.shape[1]), V.dtype)
        U[u >= 0] = self.user_factors_[u[u >= 0]]
        S = U @ V.T
        base_score = m + np.where(u < 0, 0.0, b[u]) if len(b) else np.full(len(u), m)
        if c.any():
            S += c.astype(S.dtype)
        if base_score.any():
            S += base_score.astype(S.dtype)[:, None]
        return S

    def _nearest(self, side, codes, n):
        F = self.item_factors_ if side == "items" else self.user_factors_
        if not F.shape[1]:
            return super()._nearest(side, codes, n)
        F, _ = unit_rows(F, 0.0)
        self_cells = sp.eye_array(len(F), dtype=np.int8, format="csr")
        return _best_columns(lambda at: F[at] @ F.T, codes, len(F), n, self_cells, None)
