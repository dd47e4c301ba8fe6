"""Linear support vector classifier: hinge losses with an L2 or L1 penalty.

With costs C_i = C times sample and class weights, signs y_i and A = [X, s 1],

    minimise  1/2 |w|^2 + sum_i C_i max(0, 1 - y_i a_i w)^p,   p = 1 or 2        (1)
    minimise  |w|_1     + sum_i C_i max(0, 1 - y_i a_i w)^p                      (2)

with s = `intercept_scaling`: the intercept s w_d is penalised with the rest, as in
scikit-learn, whose optimum this is. A large s leaves it nearly free. More than two
classes are one-against-rest problems, solved on threads, or one joint problem
(`crammer_singer.py`). `svm_problem.py` has the dual of eq. (1) and the choice of its
solver. Eq. (2) is solved by `l1_proximal_newton.py` for p = 2 and is a linear program
for p = 1, `l1_hinge_program.py`. A weight k equals k repeated rows, since C_i is
proportional to it.

Shapes    X (n, d)   W (1, d) or (k, d)   b (1,) or (k,)
Refs      [Cortes1995] [Fan2008] [Zhu2004]
"""

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Literal

import numpy as np
import scipy.sparse as sp

from ..core.arrays import arrays
from ..core.arrays.class_weight import compute_class_weight
from ..core.arrays.rows import DatasetRows
from ..core.drivers.iterate import Result
from ..core.drivers.progress import SILENT
from ..core.loops import threads
from ..core.random import make_rng, spawn_rngs
from ..params import Count, Flag, NonNegative, ParameterError, Positive, Verbosity
from ..predictors.abstract_linear import (
    AbstractLinearClassifier,
    encode_two_or_more_classes,
)
from ..typing import Seed
from .svm_problem import classification_problem, coefficients_and_intercepts, solve_svm


def _solve_classes(runs, task=SILENT) -> Result:
    """Run independent fits, one for each class, on threads; returns one `Result`.

    `runs` are functions of a progress task. The state is the tuple of their states.
    """
    if len(runs) == 1:
        run = runs[0](task)
        return run._replace(state=ClassStates((run.state,)))
    runs_done = []
    for i, run in enumerate(threads.run_tasks(partial(r, SILENT) for r in runs)):
        runs_done.append(run)
        if task.child(f"class {i}").end():
            break
    if len(runs_done) < len(
        runs
    ):  # stopped by a callback: the other classes are needed too
        runs_done += [r(SILENT) for r in runs[len(runs_done) :]]
    reasons = [run.reason for run in runs_done]
    reason = next((r for r in reasons if r != "tolerance"), "tolerance")
    longest = max(len(run.history["objective"]) for run in runs_done)
    padded = [
        np.pad(
            run.history["objective"],
            (0, longest - len(run.history["objective"])),
            mode="edge",
        )
        for run in runs_done
    ]
    history = {"objective": np.sum(padded, axis=0)}
    states = ClassStates(run.state for run in runs_done)
    most_steps = max(run.n_iter for run in runs_done)
    return Result(
        states, most_steps, reason, history, math.fsum(r.seconds for r in runs_done)
    )


class ClassStates(tuple):
    """The states of the fits of all classes, with the sum of their objectives."""

    @property
    def objective(self) -> float:
        return math.fsum(state.objective for state in self)


@dataclass(eq=False, repr=False)
class LinearSVC(AbstractLinearClassifier):
    """Linear support vector classifier. See the module text.

    Parameters
    ----------
    penalty : "l2" or "l1", default="l2"
        Eq. (1) or eq. (2).
    loss : "squared_hinge" or "hinge", default="squared_hinge"
        p of eq. (1) and (2).
    dual : "auto" or bool, default="auto"
        True is coordinate descent on the dual, False Newton's method on the primal,
        "auto" chooses by the shape of X. They end at the same optimum. Eq. (2) with
        "squared_hinge" is solved on the primal only; with "hinge" it is a linear
        program, of which True solves the dual one.
    tol : float, default=1e-4
        For Newton's method the relative error of the coefficients that the duality
        gap allows, for coordinate descent the largest violation of a condition on
        the margins. The linear program is solved to 1e-7 at least.
    C : float, default=1.0
        Cost of a row inside the margin.
    multi_class : "ovr" or "crammer_singer", default="ovr"
        One problem for each class, or a joint one. Its loss is the multi-class hinge,
        `losses.multiclass_hinge`, for either value of `loss`, and its penalty "l2".
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=1.0
        s of eq. (1).
    class_weight : dict, "balanced" or None
        Factors on C for the classes; one-against-rest, for the one class.
    verbose : int, default=0
        Above 0 shows a progress bar.
    random_state : int, RandomState, Generator or None
        For the order of rows in coordinate descent.
    max_iter : int, default=1000
        Most Newton steps or passes over the rows; a pass of the linear program is
        as many pivots as there are rows.

    Attributes
    ----------
    classes_ : array of shape (k,)
    coef_ : array of shape (1, d) or (k, d)
    intercept_ : array of shape (1,) or (k,), or 0.0 without an intercept
    n_iter_ : int
        Steps, passes or pivots, the most of any class.
    dual_gap_ : array of shape (1,) or (k,)
        How far the objective can be from its optimum, for each problem solved.
    history_ : dict of arrays
        "objective" after each step.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.svm import LinearSVC
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = LinearSVC(loss="hinge").fit(X, [0, 0, 1, 1])
    >>> model.coef_.round(6), model.predict([[0.5]])
    (array([[1.]]), array([1]))
    """

    penalty: Literal["l1", "l2"] = "l2"
    _: KW_ONLY
    loss: Literal["hinge", "squared_hinge"] = "squared_hinge"
    dual: Literal["auto"] | Flag = "auto"
    tol: NonNegative = 1e-4
    C: Positive = 1.0
    multi_class: Literal["ovr", "crammer_singer"] = "ovr"
    fit_intercept: Flag = True
    intercept_scaling: Positive = 1.0
    class_weight: dict | Literal["balanced"] | None = None
    verbose: Verbosity = 0
    random_state: Seed = None
    max_iter: Count = 1000

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and labels y."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", accept_sparse="csr"
        )
        if isinstance(X, DatasetRows):
            raise TypeError("LinearSVC takes rows in memory, not a table.")
        self.classes_, codes = encode_two_or_more_classes(y)
        joint = self.multi_class == "crammer_singer"
        if self.penalty == "l1":
            self._check_l1(X)
        fit = self._fit_joint if joint else self._fit_one_against_rest
        try:
            with threads.single_blas():
                W, b = fit(X, arrays.to_numpy(codes), w)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                "the columns of X differ so much in scale that LinearSVC cannot factor "
                "its Hessian matrix: scale them, with StandardScaler for instance."
            ) from error
        if joint and len(self.classes_) == 2:
            W = W[1:] - W[:1]
            b = b[1:] - b[:1]
        as_x = np.asarray if sp.issparse(X) else partial(arrays.asarray, like=X)
        self.coef_ = as_x(W.astype(np.float32) if X.dtype == np.float32 else W)
        self.intercept_ = as_x(b) if self.fit_intercept else 0.0
        return self

    def _check_l1(self, X):
        if self.multi_class == "crammer_singer":
            raise ParameterError(
                "multi_class='crammer_singer' takes penalty='l2', got penalty='l1'."
            )
        if self.loss == "squared_hinge" and self.dual is True:
            raise ParameterError(
                "Unsupported set of arguments of LinearSVC: penalty='l1', "
                "loss='squared_hinge', dual=True; they take dual=False or 'auto'."
            )
        if arrays.is_foreign(X):
            raise TypeError("penalty='l1' takes NumPy arrays and sparse matrices.")

    @property
    def _scale(self):
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _costs(self, X, codes, w):
        """The rows of weight above 0, their codes and costs, and the class factors."""
        n = len(codes)
        w = np.ones(n) if w is None else arrays.to_numpy(w).astype(float)
        factors = compute_class_weight(
            self.class_weight, classes=self.classes_, codes=codes, sample_weight=w
        )
        rows = None if (w > 0).all() else np.flatnonzero(w)
        if rows is None:
            return X, codes, self.C * w, factors
        X = arrays.namespace(X).take(X, rows) if arrays.is_foreign(X) else X[rows]
        return X, codes[rows], self.C * w[rows], factors

    def _fit_one_against_rest(self, X, codes, w):
        """W and b by one problem for each class; two classes make one problem."""
        X, codes, C, factors = self._costs(X, codes, w)
        rngs = spawn_rngs(make_rng(self.random_state), len(factors))
        if len(factors) == 2:
            problems = [(np.where(codes == 1, 1.0, -1.0), C * factors[codes])]
        else:
            problems = [
                (np.where(codes == c, 1.0, -1.0), C * np.where(codes == c, f, 1.0))
                for c, f in enumerate(factors)
            ]
        runs = [
            self._binary_fit(X, *p, rng) for p, rng in zip(problems, rngs, strict=False)
        ]
        result = self._run_driver(
            partial(_solve_classes, runs), total=None, X=X, y=codes
        )
        self.dual_gap_ = np.array([s.gap for s in result.state])
        return coefficients_and_intercepts(result.state, self._scale, int(X.shape[1]))

    def _binary_fit(self, X, sign, C, rng):
        """The fit of one binary problem, as a function of a progress task."""
        if self.penalty == "l1" and self.loss == "hinge":
            from .l1_hinge_program import minimise_l1_hinge

            return lambda task: minimise_l1_hinge(
                X,
                sign,
                C,
                scale=self._scale,
                dual=self.dual,
                max_iter=self.max_iter,
                tol=self.tol,
            )
        if self.penalty == "l1":
            from .l1_proximal_newton import minimise_l1_svm

            return lambda task: minimise_l1_svm(
                X,
                sign,
                C,
                scale=self._scale,
                max_iter=self.max_iter,
                tol=self.tol,
                task=task,
            )
        if arrays.is_foreign(X):
            sign = arrays.asarray(sign, like=X)
            C = arrays.asarray(C, like=X)
        squared = self.loss == "squared_hinge"
        problem = classification_problem(X, sign, C, squared=squared, scale=self._scale)
        return lambda task: solve_svm(
            problem,
            rng,
            dual=self.dual,
            max_iter=self.max_iter,
            tol=self.tol,
            task=task,
        )

    def _fit_joint(self, X, codes, w):
        """W and b of the joint problem of Crammer and Singer."""
        from .crammer_singer import solve_crammer_singer

        if arrays.is_foreign(X):
            raise TypeError(
                "multi_class='crammer_singer' takes NumPy arrays and sparse matrices."
            )
        X, codes, C, factors = self._costs(X, codes, w)
        rng = make_rng(self.random_state)
        run = self._run_driver(
            lambda task: solve_crammer_singer(
                X,
                codes,
                C * factors[codes],
                len(factors),
                rng,
                scale=self._scale,
                dual=self.dual,
                max_iter=self.max_iter,
                tol=self.tol,
                task=task,
            ),
            total=None,
            X=X,
            y=codes,
        )
        self.dual_gap_ = np.array([run.state.gap])
        W = run.state.best
        d = X.shape[1]
        return W[:, :d], self._scale * W[:, d]
