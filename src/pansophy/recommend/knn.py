"""k-nearest-neighbour recommenders: similar users, or similar items.

`UserKNN` compares users a, b by their ratings, `ItemKNN` items by theirs; the text is
for users, for items exchange the words. With D_ab the items rated by both,

    "pearson"          sum (r_ai - m)(r_bi - m') / (|..| |..|) over D_ab, m and m'
                       the means over D_ab                                       (1)
    "adjusted_cosine"  the same with the mean of item i taken off both instead   (2)
    "cosine"           r_a.r_b / (|r_a| |r_b|) with missing ratings as 0         (3)

    sim_ab = one of these * |D_ab| / (|D_ab| + shrinkage),                       (4)

0 if |D_ab| < min_overlap, or if one of the two does not vary ((1) over two common items
is always 1, -1 or 0: hence the shrinkage and the least overlap). A rating is predicted
from the k users with the largest |sim| among those who have rated the item,

    f_ai = m_a + sum_b sim_ab (r_bi - m_b) / sum_b |sim_ab|                      (5)

with m_a, m_b the means of all their ratings; who always disagrees helps as well. Adding
a constant to all ratings of b changes nothing, adding it to those of a adds it to the
predictions for a. Without such a neighbour f_ai = m_a, and without ratings of a at all
it is the mean of the item. With `implicit`, where ratings
are counts, f_ai = sum_b sim_ab r_bi: a score, not a rating.

For each row only its `pool` most similar rows are kept, so memory is O(n pool) and the
k of (5) are chosen among them; pool >= n - 1 is (5) to the letter.

A cell is one opinion, however often it was given: duplicates are averaged and count
once. Ratings with weights are refused.

Cost      similarities: sum over items of (its ratings)^2; a prediction: pool log n
Shapes    neighbors, similarities (n, pool)
Refs      [Herlocker1999] (5), shrinkage; [Sarwar2001] items, (2)
"""

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ..base import Estimator
from ..core.loops import threads
from ..params import Count, Flag, NonNegative
from . import _knn as loops
from .bias_model import bias_at, shrunken_means
from .ratings import Ratings, fill_pattern
from .recommender import Recommender

SimilarityMetric = Literal["pearson", "cosine", "adjusted_cosine"]
N_TASKS = 64


def _means_by_row(ratings, mean=None) -> np.ndarray:
    """The mean rating of each user; for one without ratings `mean`, or that of all."""
    mean = ratings.mean if mean is None else mean
    rest = ratings.values.astype(np.float64) - mean
    return mean + shrunken_means(rest, None, ratings.users, ratings.shape[0], 0.0)


def _centered_ratings(ratings, row_means=None, column_means=None):
    """The sorted ratings less the means of their rows or columns."""
    rest = ratings.values
    if row_means is not None:
        rest = rest - row_means[ratings.users]
    elif column_means is not None:
        rest = rest - column_means[ratings.items]
    return fill_pattern(ratings.order, rest)


def _centered_for_metric(ratings, metric, columns):
    """The sorted ratings with the means of eq. (1) or (2) taken off.

    For (1) those over all ratings: this changes nothing but the rounding.
    """
    if metric == "pearson":
        return _centered_ratings(ratings, row_means=_means_by_row(ratings))
    if metric == "adjusted_cosine":
        return _centered_ratings(ratings, column_means=columns)
    return _centered_ratings(ratings)


def _row_norms(ratings):
    """Euclidean norm of the ratings of each row."""
    squares = ratings.values.astype(np.float64) ** 2
    return np.sqrt(np.bincount(ratings.users, squares, ratings.shape[0]))


def _similar_rows(query: Ratings, train: Ratings, metric, pool, shrinkage, min_overlap):
    """(codes, similarities) of the `pool` rows of train nearest to each of query.

    Eq. (1) to (4); a row is no neighbour of itself if query is train. Sorted by |sim|;
    -1 and 0 where there are fewer.
    """
    is_training = query is train
    columns = _means_by_row(train.T)
    X = _centered_for_metric(query, metric, columns)
    C = (X if is_training else _centered_for_metric(train, metric, columns)).T.tocsr()
    pool = max(1, min(pool, train.shape[0] - is_training))
    codes = np.full((query.shape[0], pool), -1, np.int32)
    sims = np.zeros((query.shape[0], pool))
    by_row = loops.SparseRatings(X.indptr, X.indices, X.data)
    limits = float(shrinkage), int(min_overlap)
    if metric == "cosine":
        norms = _row_norms(query), _row_norms(train)
        rows = C.indices.astype(np.uint32, copy=False)
        by_column = loops.SparseRatings(C.indptr, rows, C.data)
        run = lambda a, b: loops.cosine_neighbors(
            a, b, by_row, by_column, norms, is_training, limits, codes, sims
        )
    else:
        kind = loops.PEARSON if metric == "pearson" else loops.COMMON
        by_column = loops.SparseRatings(C.indptr, C.indices, C.data)
        run = lambda a, b: loops.correlation_neighbors(
            a, b, by_row, by_column, kind, is_training, limits, codes, sims
        )
    load = np.add.accumulate(np.diff(C.indptr)[X.indices], dtype=np.float64)
    work = np.r_[0.0, load][X.indptr]
    ends = np.searchsorted(work, np.linspace(0, work[-1], N_TASKS + 1)[1:-1])
    ends = np.unique([0, *ends, len(codes)]).tolist()
    for _ in threads.run_tasks([lambda a=a, b=b: run(a, b) for a, b in pairwise(ends)]):
        pass
    return codes, sims


class AbstractKNN(Recommender, Estimator):
    """Eq. (5) for rows that are users or items; members say which."""

    def _uses_weights(self):
        return False

    def _find_neighbors(self, query, train):
        settings = (self.metric, self.pool, self.shrinkage, self.min_overlap)
        self.neighbors_, self.similarities_ = _similar_rows(query, train, *settings)

    def _means(self, ratings, mean=None):
        if self.implicit:
            return np.zeros(ratings.shape[0])
        return _means_by_row(ratings, mean)

    def _parts(self):
        x = self.left_
        return (x.indptr, x.indices, x.data), (self.n_neighbors, self.implicit)

    def _rows(self, rows, cols, row_means, col_means, turned):
        """Eq. (5) for pairs of codes; a stranger is predicted by what is known."""
        predictions = self.mean_ + bias_at(col_means - self.mean_, cols)
        met = rows >= 0
        predictions[met] = row_means[rows[met]]
        known_pairs = np.flatnonzero(met & (cols >= 0))
        lists = (self.neighbors_, self.similarities_)
        (x, rule) = self._parts()

        def part(at):
            predictions = np.empty(len(at))
            loops.predict_pairs(
                rows[at], cols[at], *lists, *x, turned, *rule, predictions
            )
            return predictions

        cuts = np.array_split(known_pairs, max(1, len(known_pairs) // 5000))
        predictions[known_pairs] += np.concatenate(
            list(threads.run_tasks([lambda at=piece: part(at) for piece in cuts]))
        )
        return predictions


@dataclass(eq=False, repr=False)
class UserKNN(AbstractKNN):
    """Ratings predicted from those of the most similar users.

    Parameters
    ----------
    n_neighbors : int, default 40
        k of eq. (5).
    metric : "pearson", "cosine" or "adjusted_cosine"
        How users are compared.
    shrinkage : float
        Eq. (4): similarities from few common ratings are drawn to 0.
    min_overlap : int
        Least number of common ratings.
    pool : int
        How many similar users are kept for each.
    implicit : bool
        Whether ratings are counts, whose weighted sum is the score.
    clip : bool
        Whether predictions are kept within the range of the ratings seen.

    Attributes
    ----------
    neighbors_, similarities_ : arrays of shape (n_users, pool)
        The codes of the most similar users, nearest first (-1: none), and sim.
    user_means_ : array of shape (n_users,)
        m_a.
    ratings_, users_, items_ : Ratings and names
        The training data.

    Examples
    --------
    >>> from pansophy.recommend import Ratings, UserKNN
    >>> gap = float("nan")
    >>> Y = [[5, 3, 4, gap], [4, 2, 3, 5], [1, 5, 2, 1], [4, 3, 5, 4]]
    >>> model = UserKNN(1).fit(Ratings.from_matrix(Y))
    >>> model.predict([[0, 3]])
    array([5.5])
    """

    n_neighbors: Count = 40
    _: KW_ONLY
    metric: SimilarityMetric = "pearson"
    shrinkage: NonNegative = 0.0
    min_overlap: Count = 1
    pool: Count = 200
    implicit: Flag = False
    clip: Flag = False

    def fit(self, X, y=None):
        """Compare the users; `Recommender` says what X and y may be."""
        ratings = self._begin_ratings(X, y)
        self._find_neighbors(ratings, ratings)
        self.train_, self.user_means_ = ratings, self._means(ratings)
        self.item_means_ = self._means(ratings.T)
        self.mean_ = 0.0 if self.implicit else ratings.mean
        self.left_ = _centered_ratings(ratings, row_means=self.user_means_)
        self._store_ratings(ratings)
        return self

    def _fold(self, ratings, known):
        self._find_neighbors(ratings, known.train_)
        self.user_means_ = self._means(ratings, known.mean_)

    def _pairs(self, u, i):
        u = _mask_unrated(u, self.ratings_.user_counts)
        return self._rows(u, i, self.user_means_, self.item_means_, False)

    def _scores(self, u):
        x, rule = self._parts()
        u = _mask_unrated(u, self.ratings_.user_counts)
        out = np.empty((len(u), len(self.items_)))
        loops.score_all_columns(u, self.neighbors_, self.similarities_, *x, *rule, out)
        out += bias_at(self.user_means_, u)[:, None]
        out[u < 0] = self.item_means_
        return out

    def _nearest(self, side, codes, n):
        if side == "items" or self.ratings_ is not self.train_:
            return super()._nearest(side, codes, n)
        return _most_similar(self, codes, n)


@dataclass(eq=False, repr=False)
class ItemKNN(AbstractKNN):
    """Ratings predicted from those the user gave to the most similar items.

    Parameters
    ----------
    n_neighbors : int, default 40
        k of eq. (5).
    metric : "adjusted_cosine", "cosine" or "pearson"
        How items are compared.
    shrinkage : float
        Eq. (4): similarities from few common ratings are drawn to 0.
    min_overlap : int
        Least number of common ratings.
    pool : int
        How many similar items are kept for each.
    implicit : bool
        Whether ratings are counts, whose weighted sum is the score.
    clip : bool
        Whether predictions are kept within the range of the ratings seen.

    Attributes
    ----------
    neighbors_, similarities_ : arrays of shape (n_items, pool)
        The codes of the most similar items, nearest first (-1: none), and sim.
    item_means_ : array of shape (n_items,)
        The mean rating of each item.
    ratings_, users_, items_ : Ratings and names
        The training data.

    Examples
    --------
    >>> from pansophy.recommend import ItemKNN, Ratings
    >>> gap = float("nan")
    >>> Y = [[5, 5, 1], [4, 4, 2], [1, 1, 5], [5, gap, 2]]
    >>> model = ItemKNN(1).fit(Ratings.from_matrix(Y))
    >>> model.similar_items(0, n=1).names
    array([1])
    """

    n_neighbors: Count = 40
    _: KW_ONLY
    metric: SimilarityMetric = "adjusted_cosine"
    shrinkage: NonNegative = 0.0
    min_overlap: Count = 1
    pool: Count = 200
    implicit: Flag = False
    clip: Flag = False

    def fit(self, X, y=None):
        """Compare the items; `Recommender` says what X and y may be."""
        ratings = self._begin_ratings(X, y)
        side = ratings.T
        self._find_neighbors(side, side)
        self.item_means_, self.user_means_ = self._means(side), self._means(ratings)
        self.mean_ = 0.0 if self.implicit else ratings.mean
        self.left_ = _centered_ratings(ratings, column_means=self.item_means_)
        self._store_ratings(ratings)
        return self

    def _fold(self, ratings, known):
        self.user_means_ = self._means(ratings, known.mean_)
        self.left_ = _centered_ratings(ratings, column_means=known.item_means_)

    def _pairs(self, u, i):
        i = _mask_unrated(i, self.popularity_)
        return self._rows(i, u, self.item_means_, self.user_means_, True)

    def _scores(self, u):
        x, rule = self._parts()
        out = np.empty((len(u), len(self.items_)))
        loops.score_all_rows(u, self.neighbors_, self.similarities_, *x, *rule, out)
        out += self.item_means_
        row_scores = self.mean_ + bias_at(self.user_means_ - self.mean_, u)
        out[:, self.popularity_ == 0] = row_scores[:, None]
        return out

    def _nearest(self, side, codes, n):
        if side == "users":
            return super()._nearest(side, codes, n)
        return _most_similar(self, codes, n)


def _mask_unrated(codes, counts):
    """The codes, -1 for those without ratings: they are strangers."""
    empty = counts[codes] == 0 if len(counts) else codes >= 0
    return np.where(empty, -1, codes)


def _most_similar(model, codes, n):
    """The n rows with the largest (not absolutely largest) similarity, of the pool."""
    near, sims = model.neighbors_[codes], model.similarities_[codes]
    order = np.argsort(-np.where(near < 0, -np.inf, sims), axis=1, kind="stable")
    order = order[:, :n]
    reorder = lambda a: np.take_along_axis(a, order, axis=1)
    return reorder(near), reorder(sims)
