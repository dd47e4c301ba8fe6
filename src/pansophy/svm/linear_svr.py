"""Linear support vector regression: epsilon-insensitive losses with an L2 penalty.

With costs C_i = C times sample weights and A = [X, s 1],

    minimise  1/2 |w|^2 + sum_i C_i max(0, |y_i - a_i w| - epsilon)^p, p = 1 or 2  (1)

with s = `intercept_scaling`: the intercept s w_d is penalised with the rest, as in
scikit-learn, whose optimum this is. `svm_problem.py` has the dual and the choice of the
solver. A weight k equals k repeated rows. Textbooks leave the intercept free of the
penalty; a large s comes close to that: for x = y = 0, 1, 2, 3, epsilon = 0.5 and C = 1
they have w = 2/3 and b = 1/2, s = 1 gives w = 3/4 and b = 1/4, and s = 100 their
numbers. So does `linear_model.RegularizedRisk` with alpha = 1 / (n C), exactly.

Shapes    X (n, d)   y (n,)   w (d + 1,)
Refs      [Drucker1997] [Ho2012]
"""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Literal

import numpy as np
import scipy.sparse as sp

from ..core.arrays import arrays
from ..core.arrays.rows import DatasetRows
from ..core.loops import threads
from ..core.random import make_rng
from ..params import Count, Flag, NonNegative, Positive, Verbosity
from ..predictors.abstract_linear import AbstractLinearRegressor
from ..typing import Seed
from .svm_problem import coefficients_and_intercepts, regression_problem, solve_svm


@dataclass(eq=False, repr=False)
class LinearSVR(AbstractLinearRegressor):
    """Linear support vector regression. See the module text.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half-width of the tube in which errors cost nothing.
    tol : float, default=1e-4
        For Newton's method the relative error of the coefficients that the duality
        gap allows, for coordinate descent the largest violation of a condition on
        the margins.
    C : float, default=1.0
        Cost of an error outside the tube.
    loss : "epsilon_insensitive" or "squared_epsilon_insensitive"
        p = 1 or 2 in eq. (1).
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=1.0
        s of eq. (1).
    dual : "auto" or bool, default="auto"
        True is coordinate descent on the dual, False Newton's method on the primal,
        "auto" chooses by the shape of X. They end at the same optimum.
    verbose : int, default=0
        Above 0 shows a progress bar.
    random_state : int, RandomState, Generator or None
        For the order of rows in coordinate descent.
    max_iter : int, default=1000
        Most Newton steps or passes over the rows.

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_ : array of shape (1,), or 0.0 without an intercept
    n_iter_ : int
    dual_gap_ : float
        How far the objective can be from its optimum.
    history_ : dict of arrays
        "objective" after each step.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.svm import LinearSVR
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = LinearSVR(C=10.0).fit(X, [1.0, 3.0, 5.0, 7.0])
    >>> model.predict([[4.0]]).round(6)
    array([9.])
    """

    _: KW_ONLY
    epsilon: NonNegative = 0.0
    tol: NonNegative = 1e-4
    C: Positive = 1.0
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = (
        "epsilon_insensitive"
    )
    fit_intercept: Flag = True
    intercept_scaling: Positive = 1.0
    dual: Literal["auto"] | Flag = "auto"
    verbose: Verbosity = 0
    random_state: Seed = None
    max_iter: Count = 1000

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and numbers y."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="number", accept_sparse="csr"
        )
        if isinstance(X, DatasetRows):
            raise TypeError("LinearSVR takes rows in memory, not a table.")
        scale = float(self.intercept_scaling) if self.fit_intercept else 0.0
        problem = self._problem(X, y, w, scale)
        rng = make_rng(self.random_state)
        run = lambda task: solve_svm(
            problem,
            rng,
            dual=self.dual,
            max_iter=self.max_iter,
            tol=self.tol,
            task=task,
        )
        with threads.single_blas():
            result = self._run_driver(run, total=None, X=X, y=y)
        W, b = coefficients_and_intercepts([result.state], scale, int(X.shape[1]))
        as_x = np.asarray if sp.issparse(X) else partial(arrays.asarray, like=X)
        self.coef_ = as_x(W[0].astype(np.float32) if X.dtype == np.float32 else W[0])
        self.intercept_ = as_x(b) if self.fit_intercept else 0.0
        self.dual_gap_ = result.state.gap
        return self

    def _problem(self, X, y, w, scale):
        """The optimisation problem, without rows of weight 0."""
        foreign = arrays.is_foreign(X)
        y = arrays.as_float(y) if foreign else np.asarray(y, dtype=float)
        n = int(X.shape[0])
        w = np.ones(n) if w is None else arrays.to_numpy(w).astype(float)
        if not (w > 0).all():
            rows = np.flatnonzero(w)
            w = w[rows]
            if foreign:
                xp = arrays.namespace(X)
                X = xp.take(X, rows, axis=0)
                y = xp.take(y, rows)
            else:
                X = X[rows]
                y = y[rows]
        C = self.C * w
        if foreign:
            y = arrays.asarray(y, like=X)
            C = arrays.asarray(C, like=X)
        return regression_problem(
            X,
            y,
            C,
            squared=self.loss == "squared_epsilon_insensitive",
            scale=scale,
            epsilon=float(self.epsilon),
        )
