"""Lasso: the elastic net with an L1 penalty alone.

    minimise  1/(2V) sum_i v_i (y_i - x_i w - b)^2 + alpha |w|_1                 (1)

which is eq. (1) of `elastic_net.py` with rho = 1; the method is told there.

Refs      [Tibshirani1996]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import scipy.sparse as sp

from ..core import arrays
from ..params import Count, Flag, NonNegative
from ..typing import Matrix, Seed
from .base import AbstractLinearRegressor
from .elastic_net import fit_elastic_net
from .lasso_path import enet_path


@dataclass(eq=False, repr=False)
class Lasso(AbstractLinearRegressor):
    """Linear regression with an L1 penalty. The module text gives the method.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty in eq. (1).
    fit_intercept : bool, default=True
        Whether to fit b; if not, data are expected to be centred.
    precompute : bool or array of shape (d, d), default=False
        True makes the whole Gram matrix first; an array is taken as X^T X of the
        (centred) X. False makes only the part that is needed.
    copy_X : bool, default=True
        X is never written to, whatever this says.
    max_iter : int, default=1000
        Most rounds of the working set, each a solve and a check of all columns.
    tol : float, default=1e-4
        Stop when the duality gap is at most tol times the variance of y.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    positive : bool, default=False
        Only coefficients of at least 0.
    random_state : int, RandomState, Generator or None
        For `selection="random"`.
    selection : "cyclic" or "random", default="cyclic"
        Order of coordinates within a pass.

    Attributes
    ----------
    coef_ : array of shape (d,) or (t, d)
    intercept_ : float or array of shape (t,)
    dual_gap_ : float or array of shape (t,)
        Bound on how far the objective is from its minimum.
    sparse_coef_ : CSR matrix of shape (1, d) or (t, d)
    n_iter_ : int or list of int
        Rounds of the working set.
    history_ : dict of arrays
        "objective", "gap" and "n_screened" (columns proven to be 0) after each round.

    Examples
    --------
    >>> from pansophy.linear_model import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0, 0], [1, 1], [2, 2]], [0, 1, 2])
    >>> model.coef_.round(4), round(float(model.intercept_), 4)
    (array([0.85, 0.  ]), 0.15)
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    fit_intercept: Flag = True
    precompute: Flag | Matrix = False
    copy_X: Flag = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-4
    warm_start: Flag = False
    positive: Flag = False
    random_state: Seed = None
    selection: Literal["cyclic", "random"] = "cyclic"

    path = staticmethod(enet_path)  # as in scikit-learn, without an intercept

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and targets y, one or several columns."""
        return fit_elastic_net(self, 1.0, X, y, sample_weight)

    @property
    def sparse_coef_(self):
        """`coef_` as a CSR matrix."""
        return sp.csr_matrix(arrays.to_numpy(self.coef_))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
