"""Gaussian-process classification: latent processes through logistic or softmax.

    f ~ GP(0, k_theta),    P(y = 1 | x) = 1 / (1 + exp(-f(x)))                    (1)
    f_c ~ GP(0, k_theta),  P(y = c | x) = exp(f_c(x)) / sum_b exp(f_b(x))         (2)

The posterior of f is a Normal: by Laplace's method (`laplace`) or as the best one in a
variational bound (`variational`), whose evidence gives theta as in regression. More
than two classes are k processes of one model, eq. (2), or several problems of two: each
class against the rest, whose probabilities are divided by their sum, or every pair,
which vote.

`predict` is the class of the largest probability: with two classes both ask whether
the mean of f is above 0.

Shapes    X (n, d)   y (n,)   theta (p,)
Refs      [Rasmussen2006] ch. 3, 5
"""

from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import CompoundKernel
from sklearn.utils.validation import check_is_fitted

from ..base import Classifier
from ..core.loops.threads import limit_threads
from ..core.random import make_rng, spawn_rngs
from ..kernels import RBF, AbstractKernel, Constant, Matern
from ..params import Count, Flag, Jobs, ParameterError
from ..persist.saved_state import FloatArray, IntArray, saved_state
from .abstract_gaussian_process import (
    AbstractGaussianProcess,
    column_spreads,
    evidence_at,
    fit_process,
)
from .exact import GPData
from .laplace import expected_sigmoid, expected_softmax
from .likelihoods import get_likelihood
from .solvers import LaplaceSolver, choose_solver

ABOVE_HALF = 0.5 + 2.0**-52  # the least probability such that 1 - p is below 1/2


@saved_state(rows=IntArray("m", low=0, optional=True), y=FloatArray("n"))
class ClassProcess(NamedTuple):
    """One fitted problem: two classes, or all of them by softmax."""

    kernel: Any  # in the user's form
    rows: Any  # training rows of this problem; None is all
    y: np.ndarray  # 0 and 1, or numbers of classes
    n_latent: int
    solver_params: np.ndarray
    posterior: Any
    value: float  # log evidence
    n_evaluations: int
    interrupted: bool


class ClassProblem(NamedTuple):
    """Rows, labels and latent processes of one fit."""

    rows: np.ndarray | None
    labels: np.ndarray
    n_latent: int


def _problem_data(X, labels, n_latent) -> GPData:
    """Two classes, or several by softmax, as data of a process."""
    name = "categorical" if n_latent > 1 else "bernoulli"
    likelihood = get_likelihood(name)
    return GPData(X, labels[:, None], np.zeros(len(labels)), likelihood, n_latent)


@dataclass(eq=False, repr=False)
class GaussianProcessClassifier(Classifier, AbstractGaussianProcess):
    """Gaussian-process classification; the module text gives the method.

    Parameters
    ----------
    kernel : kernel, function, "auto" or None, default=None
        As in `GaussianProcessRegressor`, but None is not learnt, and "auto" has no
        noise.
    optimizer, n_restarts_optimizer, copy_X_train, random_state, prior
        As in `GaussianProcessRegressor`.
    max_iter_predict : int, default=100
        Most steps of Newton's method for the mode.
    warm_start : bool, default=False
        Start each search for the mode where the last one, for another theta, ended.
    multi_class : "one_vs_rest", "one_vs_one" or "softmax", default="one_vs_rest"
        The second has no probabilities; the third is eq. (2). Two classes are eq. (1).
    n_jobs : int or None, default=None
        Most threads, BLAS included; None for all.
    solver : "auto", "laplace", "variational" or a solver, default="auto"
        See `solvers`; "auto" is variational for more than 3,000 rows.

    Attributes
    ----------
    kernel_ : kernel
        With the parameters that were found; of several classes a `CompoundKernel` of
        scikit-learn's, or a tuple of kernels of ours.
    log_marginal_likelihood_value_ : float
        Of several classes the mean over the problems.
    classes_ : array of shape (k,)
    n_classes_ : int
    X_train_ : array
    solver_ : str
    solver_reason_ : str
        Why "auto" took it.
    n_evaluations_ : int
        Of the evidence, over all problems.
    interrupted_ : bool
        Whether Ctrl-C ended a search.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.gaussian_process import GaussianProcessClassifier
    >>> from pansophy.kernels import RBF
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = GaussianProcessClassifier(2.0 * RBF(1.0), optimizer=None)
    >>> model.fit(X, ["no", "no", "yes", "yes"]).predict([[-1.5], [1.2]])
    array(['no', 'yes'], dtype='<U3')
    >>> model.predict_proba([[0.0]]).round(6)
    array([[0.5, 0.5]])
    """

    _: KW_ONLY
    max_iter_predict: Count = 100
    warm_start: Flag = False
    multi_class: Literal["one_vs_rest", "one_vs_one", "softmax"] = "one_vs_rest"
    n_jobs: Jobs = None

    _tensors = False

    def fit(self, X, y):
        """Find the kernel's parameters and the mode of the latent process.

        Parameters
        ----------
        X : array of shape (n, d), or a list of objects that the kernel takes
        y : array of shape (n,)
        """
        if isinstance(self.kernel, CompoundKernel):
            raise ParameterError("kernel cannot be a CompoundKernel: give one of them.")
        X, y = self._check_rows(X, y, "class")
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_classes_ = k = len(self.classes_)
        if k == 1:
            raise ValueError(
                "GaussianProcessClassifier needs two classes or more; y has one class "
                f"only, {self.classes_[:1].tolist()[0]!r}."
            )
        self.X_train_ = X
        problems = list(self._problems(codes, k))
        kernel = self._start_kernel(X)
        options = self._search_options()
        rngs = spawn_rngs(make_rng(self.random_state), len(problems))
        family = self._family(kernel, X)
        all_rows = _problem_data(X, codes.astype(float), problems[0].n_latent)
        choice = choose_solver(self.solver, family.at(family.theta), all_rows)
        if choice.solver.name == "laplace" and not isinstance(
            self.solver, LaplaceSolver
        ):
            solver = LaplaceSolver(self.max_iter_predict, self.warm_start)
            choice = choice._replace(solver=solver)
        self._solver = choice.solver
        self.solver_ = choice.solver.name
        self.solver_reason_ = choice.reason

        self._processes = []
        with limit_threads(self.n_jobs):
            for (rows, labels, n_latent), rng in zip(problems, rngs, strict=True):
                data = _problem_data(X if rows is None else X[rows], labels, n_latent)
                result = fit_process(kernel, choice, data, options, rng)
                self._processes.append(
                    ClassProcess(
                        result.kernel,
                        rows,
                        labels,
                        n_latent,
                        result.solver_params,
                        result.posterior,
                        result.value,
                        result.n_evaluations,
                        result.interrupted,
                    )
                )
        self.kernel_ = self._joined_kernel()
        values = [process.value for process in self._processes]
        self.log_marginal_likelihood_value_ = np.float64(np.mean(values))
        self._record_search(self._processes)
        return self

    def _problems(self, codes, k):
        """The problems of two classes, or the one of all."""
        if k == 2:
            yield ClassProblem(None, (codes == 1).astype(float), 1)
        elif self.multi_class == "softmax":
            yield ClassProblem(None, codes.astype(float), k)
        elif self.multi_class == "one_vs_rest":
            for c in range(k):
                yield ClassProblem(None, (codes == c).astype(float), 1)
        else:
            for a, b in combinations(range(k), 2):
                rows = np.flatnonzero((codes == a) | (codes == b))
                yield ClassProblem(rows, (codes[rows] == b).astype(float), 1)

    def _start_kernel(self, X):
        if self.kernel is None:
            return (Constant(1.0) * RBF(1.0)).fixed()
        if isinstance(self.kernel, str):
            return Constant(1.0) * Matern(column_spreads(X), nu=2.5)
        return self.kernel

    def _joined_kernel(self):
        results = [process.kernel for process in self._processes]
        if len(results) == 1:
            return results[0]
        is_own = isinstance(results[0], AbstractKernel)
        return tuple(results) if is_own else CompoundKernel(results)

    def log_marginal_likelihood(
        self, theta=None, eval_gradient=False, clone_kernel=True
    ):
        """log q(y) for the kernel of theta, eq. (2) of `laplace`.

        Parameters
        ----------
        theta : array of shape (p,), optional
            None is the theta that was found. For several classes one theta for all
            problems, or theirs one after the other; the mean of the problems is given.
        eval_gradient : bool, default=False
            Whether to give the gradient in theta too (two classes only).
        clone_kernel : bool, default=True
            False leaves theta in `kernel_`.

        Returns
        -------
        float, or (float, array of shape (p,))
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        n_processes = len(self._processes)
        if n_processes > 1 and eval_gradient:
            raise ValueError("Gradient can only be evaluated for two classes.")
        theta = np.asarray(theta, float)
        p = len(self._processes[0].kernel.theta)
        thetas = (
            theta.reshape(-1, p) if p and len(theta) != p else [theta] * n_processes
        )
        results = []
        for i, (process, theta_of_process) in enumerate(
            zip(self._processes, thetas, strict=True)
        ):
            X = self._rows_of(process)
            data = _problem_data(X, process.y, process.n_latent)
            if not clone_kernel:
                changed = self._family(process.kernel, X).public(theta_of_process)
                self._processes[i] = process._replace(kernel=changed)
            results.append(
                evidence_at(
                    process.kernel,
                    data.likelihood,
                    process.solver_params,
                    self._solver,
                    data,
                    theta_of_process,
                    eval_gradient,
                )
            )
        if not clone_kernel:
            self.kernel_ = self._joined_kernel()
        value = np.float64(np.mean([v for v, _ in results]))
        return (value, results[0][1]) if eval_gradient else value

    def _rows_of(self, process):
        return self.X_train_ if process.rows is None else self.X_train_[process.rows]

    def _latent_moments(self, X):
        """Mean and variance of f for each problem of two classes, (m,) each."""
        for process in self._processes:
            posterior = process.posterior
            yield posterior.mean(X).reshape(len(X)), posterior.variance(X)

    def latent_mean_and_variance(self, X):
        """Mean and variance of f at new rows (two classes).

        Parameters
        ----------
        X : array of shape (m, d), or a list of objects that the kernel takes

        Returns
        -------
        mean, variance : arrays of shape (m,)
        """
        check_is_fitted(self)
        if self.n_classes_ > 2:
            raise ValueError(
                "Returning the mean and variance of the latent function f is only "
                f"supported for binary classification, and there are {self.n_classes_} "
                "classes."
            )
        return next(self._latent_moments(self._check_new_rows(X)))

    def predict_proba(self, X):
        """Probabilities of the classes, (m, k).

        Parameters
        ----------
        X : array of shape (m, d), or a list of objects that the kernel takes
        """
        check_is_fitted(self)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_one":
            raise ValueError(
                "multi_class='one_vs_one' gives no probabilities: take 'one_vs_rest'."
            )
        X = self._check_new_rows(X)
        if self._processes[0].n_latent > 1:
            posterior = self._processes[0].posterior
            return expected_softmax(posterior.mean(X), posterior.class_covariance(X))
        if self.n_classes_ == 2:
            mean, variance = next(self._latent_moments(X))
            p = expected_sigmoid(mean, variance)
            # `predict` asks for the sign of the mean, which rounding may lose in p
            p = np.where(mean > 0, np.maximum(p, ABOVE_HALF), np.minimum(p, 0.5))
            return np.stack([1 - p, p], axis=1)
        columns = [expected_sigmoid(*moments) for moments in self._latent_moments(X)]
        P = np.stack(columns, axis=1)
        return P / P.sum(axis=1, keepdims=True)

    def predict(self, X):
        """The likeliest class of new rows.

        Parameters
        ----------
        X : array of shape (m, d), or a list of objects that the kernel takes
        """
        check_is_fitted(self)
        if self.n_classes_ > 2 and self.multi_class != "one_vs_one":
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        X = self._check_new_rows(X)
        if self.n_classes_ == 2:
            is_positive = self._processes[0].posterior.mean(X).reshape(len(X)) > 0
            return self.classes_[is_positive.astype(int)]
        return self.classes_[np.argmax(self._votes(X), axis=1)]

    def _votes(self, X):
        """Wins of each class over the pairs; ties go to the larger latent sums."""
        votes = np.zeros((len(X), self.n_classes_))
        sums = np.zeros_like(votes)
        pairs = combinations(range(self.n_classes_), 2)
        for (a, b), process in zip(pairs, self._processes, strict=True):
            f = process.posterior.mean(X).reshape(len(X))
            votes[:, b] += f > 0
            votes[:, a] += f <= 0
            sums[:, b] += f
            sums[:, a] -= f
        return votes + sums / (3 * (np.abs(sums) + 1))
