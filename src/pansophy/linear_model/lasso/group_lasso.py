"""Group lasso: least squares whose features enter or leave the model in groups.

For groups g of features with weights m_g (the square root of the size by default),

    minimise  1/(2V) sum_i v_i (y_i - x_i w - b)^2
              + alpha (1 - rho) sum_g m_g |w_g| + alpha rho |w|_1                (1)

|w_g| is a Euclidean length, so a group's coefficients are all 0 or, in general, all
other than 0; rho > 0 also sets single coefficients within a chosen group to 0 (the
sparse-group lasso; rho = 1 is the lasso). `optim/nonsmooth/group_working_set.py` solves
it by working sets of groups and block coordinate descent, and certifies the duality
gap. Everything is 0 once alpha (1 - rho) m_g is at least the length of each group's
correlations with y.

Time O(n d) an iteration, and iterations are few.

Shapes    X (n, d) dense or CSC   y (n,)   groups (d,)   w (d,)
Refs      [Yuan2006] [Simon2013] [Ndiaye2017]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from ...core.arrays import arrays
from ...core.loops import threads
from ...core.random import make_rng
from ...optim.nonsmooth import group_working_set as sets
from ...optim.nonsmooth.centered_design import Design
from ...params import Count, Flag, Fraction, NonNegative, ParameterError
from ...persist.saved_state import AnyArray, saved_state
from ...predictors.abstract_linear import AbstractLinearRegressor
from ...typing import ListLike, NumberList, Seed
from .lasso import initial_coefficients, store_lasso_fit
from .lasso_path import centre_targets, check_lasso_data, gram_store, minimise_lasso


def group_labels(groups, d):
    """The label of each feature."""
    if groups is None:
        return np.arange(d)
    return np.arange(d) // groups if np.ndim(groups) == 0 else np.asarray(groups)


def checked_groups(model, d) -> sets.Groups:
    """The groups and their weights from the parameters."""
    labels = group_labels(model.groups, d)
    if labels.shape != (d,):
        raise ParameterError(
            f"groups of GroupLasso must hold one label for each of the {d} features, "
            f"got shape {labels.shape}."
        )
    result = sets.from_labels(labels, model.weights)
    count = len(result.starts) - 1
    if result.weights.shape != (count,) or not np.all(result.weights > 0):
        raise ParameterError(
            f"weights of GroupLasso must hold a number above 0 for each of the {count} "
            f"groups, got {model.weights!r}."
        )
    return result


@saved_state(groups_=AnyArray(None))
@dataclass(eq=False, repr=False)
class GroupLasso(AbstractLinearRegressor):
    """Linear regression that chooses groups of features. See the module text.

    Parameters
    ----------
    groups : list of length d, int or None, default=None
        The label of each feature's group; a number for groups of that many adjacent
        features; None for every feature alone, which is the lasso.
    alpha : float, default=1.0
        Strength of the penalty in eq. (1).
    l1_ratio : float, default=0.0
        rho, the share of the penalty on single coefficients.
    weights : list or None, default=None
        m_g for the groups in the order of their sorted labels; None for the square
        roots of their sizes.
    fit_intercept : bool, default=True
        Whether to fit b; if not, data are expected to be centred.
    max_iter : int, default=1000
        Most iterations of the working set, each a solve and a check of all groups.
    tol : float, default=1e-4
        Stop when the duality gap is at most tol times the variance of y.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    random_state : int, RandomState, Generator or None
        For `selection="random"`.
    selection : "cyclic" or "random", default="cyclic"
        Order of groups within a pass.

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_ : float
    groups_ : array of labels
        The groups whose coefficients are not 0, by label.
    dual_gap_ : float
        Bound on how far the objective is from its minimum.
    sparse_coef_ : CSR matrix of shape (1, d)
    n_iter_ : int
        Iterations of the working set.
    history_ : dict of arrays
        "objective" and "gap" after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import GroupLasso
    >>> X = np.random.default_rng(0).normal(size=(50, 6))
    >>> y = X[:, 2] - 2 * X[:, 3]
    >>> GroupLasso(groups=[0, 0, 1, 1, 2, 2], alpha=0.2).fit(X, y).groups_
    array([1])
    """

    groups: ListLike | Count | None = None
    _: KW_ONLY
    alpha: NonNegative = 1.0
    l1_ratio: Fraction = 0.0
    weights: NumberList | None = None
    fit_intercept: Flag = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-4
    warm_start: Flag = False
    random_state: Seed = None
    selection: Literal["cyclic", "random"] = "cyclic"

    _on_devices = False

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and targets y."""
        data = check_lasso_data(self, X, y, sample_weight, y_kind="number")
        design = Design(data.X, data.p, centre=self.fit_intercept)
        groups = checked_groups(self, design.d)
        rho = self.l1_ratio
        penalty = sets.GroupPenalty(groups, self.alpha * (1 - rho), self.alpha * rho)
        rng = make_rng(self.random_state) if self.selection == "random" else None
        Y, mean = centre_targets(data.Y, data.p, self.fit_intercept)
        start = initial_coefficients(self, (1, design.d), data.X.dtype)
        with threads.single_blas():
            store = gram_store(design, design.root * np.ascontiguousarray(Y.T))
            state = sets.start(store, start, penalty)
            run = self._run_driver(
                lambda task: minimise_lasso(
                    store,
                    penalty,
                    state,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    rng=rng,
                    task=task,
                ),
                total=self.max_iter,
                X=data.like,
                y=data.Y,
            )
        store_lasso_fit(self, [run], design, mean, data)
        chosen = run.state.w[0] != 0
        self.groups_ = np.unique(group_labels(self.groups, design.d)[chosen])
        return self

    @property
    def sparse_coef_(self):
        """`coef_` as a CSR matrix."""
        return sp.csr_matrix(arrays.to_numpy(self.coef_))
