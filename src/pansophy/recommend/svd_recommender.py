"""SVD recommender: truncated singular value decomposition, missing ratings as zero.

With offsets o taken off and every unknown cell set to 0, the matrix

    A_ui = r_ui - o_ui if known, else 0                                          (1)
    A = W S F^T,   S_1 >= S_2 >= ... >= 0                                        (2)

is cut after its k largest singular values, which is the best matrix of rank k in the
sum of squares over all cells; what is lost is sum_{j > k} S_j^2. The factors share the
values between them, so that a prediction is a plain product:

    U = W sqrt(S),   V = F sqrt(S),   f_ui = o_ui + U_u . V_i.                   (3)

This is latent semantic analysis: read documents for users and words for items, and the
factors are topics. It differs from principal components in that A is not centred by
column and that (3) rescales, so distances between rows are not kept. Zero is a good
guess for a cell only after the offsets are off, and users with few ratings are drawn to
their offset. A new user with row a has U = a V / S. The cut of (2) has no weights:
ratings with weights are refused, duplicates are averaged and count once.

Cost and memory: those of a truncated SVD of a sparse matrix; A is never dense.

Shapes    A (n_users, n_items)   U (n_users, k)   V (n_items, k)   S (k,)
Refs      [Deerwester1990]; [Sarwar2000]
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..core.linalg.truncated_svd import truncated_svd
from ..core.random import make_rng
from ..params import Count, Flag, NonNegative
from ..typing import Seed
from .bias_model import Center, fit_offsets, offsets_of_new_users
from .ratings import fill_pattern
from .recommender import AbstractFactors


def _residual_matrix(ratings, off):
    """Eq. (1) as a sparse matrix."""
    rest = ratings.values - off.at(ratings.users, ratings.items)
    return fill_pattern(ratings.order, rest.astype(ratings.values.dtype))


@dataclass(eq=False, repr=False)
class SVDRecommender(AbstractFactors):
    """Predictions from the leading singular vectors of the rating matrix.

    Parameters
    ----------
    n_factors : int, default 10
        k; at most the smaller side of the matrix is used.
    center : "user", "biases", "item", "global" or "none"
        What is subtracted from the ratings first and added again (see `BiasModel`).
    bias_reg : float
        The penalty on biases with center="biases".
    clip : bool
        Whether predictions are kept within the range of the ratings seen.
    random_state : None, int, RandomState or Generator
        Where the random start of the decomposition comes from.

    Attributes
    ----------
    singular_values_ : array of shape (k,)
        S.
    user_factors_, item_factors_ : arrays of shape (n_users, k) and (n_items, k)
        U and V of eq. (3).
    offsets_ : Offsets
        What was subtracted.
    ratings_, users_, items_ : Ratings and names
        The training data.

    Examples
    --------
    >>> from pansophy.recommend import Ratings, SVDRecommender
    >>> R = Ratings.from_matrix([[5, 4, 0], [4, 5, 0], [0, 0, 3]])
    >>> model = SVDRecommender(1, center="none").fit(R)
    >>> model.singular_values_.round(6), model.predict(0, [0, 1, 2]).round(6) + 0.0
    (array([9.]), array([4.5, 4.5, 0. ]))
    """

    n_factors: Count = 10
    _: KW_ONLY
    center: Center = "user"
    bias_reg: NonNegative = 5.0
    clip: Flag = False
    random_state: Seed = None

    def _uses_weights(self):
        return False

    def fit(self, X, y=None):
        """Decompose the ratings; `Recommender` says what X and y may be."""
        ratings = self._begin_ratings(X, y)
        offsets = fit_offsets(ratings, self.center, self.bias_reg)
        k = min(self.n_factors, *ratings.shape)
        A = _residual_matrix(ratings, offsets)
        rng = make_rng(self.random_state)
        W, S, Ft = truncated_svd(A, k, rng)
        self.singular_values_ = S
        root = np.sqrt(S)
        self._store(ratings, offsets, W * root, Ft.T * root)
        return self

    def _new_users(self, ratings):
        offsets = offsets_of_new_users(
            self.offsets_, ratings, self.center, self.bias_reg
        )
        V, S = self.item_factors_, self.singular_values_
        U = _residual_matrix(ratings, offsets) @ V
        min_value = np.finfo(S.dtype).eps * max(float(S.max(initial=0.0)), 1e-300)
        small = min_value >= S
        return offsets, np.where(small, 0, U / np.where(small, 1, S))
