"""Gaussian-process classification: a latent process through the logistic function.

    f ~ GP(0, k_theta),    P(y = 1 | x) = 1 / (1 + exp(-f(x)))                    (1)

The posterior of f is approximated by Laplace's method (`laplace`), whose evidence
gives theta as in regression. More than two classes are several problems of two: each
class against the rest, whose probabilities are divided by their sum, or every pair,
which vote.

`predict` is the class of the largest probability: with two classes both ask whether
the mean of f is above 0.

Shapes    X (n, d)   y (n,)   theta (p,)
Refs      [Rasmussen2006] ch. 3, 5
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import CompoundKernel
from sklearn.utils.validation import check_is_fitted

from ..base import Classifier
from ..core.random import make_rng, spawn_rngs
from ..core.threads import limit_threads
from ..kernels import RBF, AbstractKernel, Constant, Matern
from ..params import Count, Flag, Jobs, Natural, ParameterError, Positive
from ..persist.saved_state import FloatArray, IntArray, saved_state
from ..typing import Seed
from .abstract_gaussian_process import AbstractGaussianProcess, ProcessKernel
from .kernel_parameters import SearchOptions, kernel_family, maximize_evidence
from .laplace import (
    LaplacePosterior,
    expected_sigmoid,
    find_mode,
    laplace_evidence,
)


@saved_state(rows=IntArray("m", low=0, optional=True), y=FloatArray("m"))
class BinaryProcess(NamedTuple):
    """One fitted problem of two classes."""

    kernel: Any  # in the user's form
    rows: Any  # training rows of this problem; None is all
    y: np.ndarray  # 0 and 1
    g: np.ndarray
    root: np.ndarray
    L: np.ndarray
    value: float  # log evidence
    n_evaluations: int


def column_count(X):
    return X.shape[1] if X.ndim == 2 else None


def fit_binary_process(kernel, X, y, options, rng, max_iter, warm_start):
    """theta by the Laplace evidence, and the mode there."""
    family = kernel_family(kernel, column_count(X))
    evidence = laplace_evidence_of_theta(family, X, y, max_iter, warm_start)
    theta = family.theta
    n_evaluations = 0
    if options.optimizer is not None and len(theta):
        found = maximize_evidence(family, evidence, options, rng)
        theta = found.theta
        n_evaluations = found.n_evaluations
    state = find_mode(family.at(theta)(X), y, max_iter=max_iter)
    return BinaryProcess(
        kernel=family.public(theta),
        rows=None,
        y=y,
        g=state.g,
        root=state.root,
        L=state.L,
        value=state.value,
        n_evaluations=n_evaluations,
    )


def laplace_evidence_of_theta(family, X, y, max_iter, warm_start=False):
    """The function (theta, gradient) -> log q(y) and its gradient.

    With `warm_start` each search for the mode begins where the last one ended.
    """
    last: dict[str, Any] = {"f": None}

    def evidence(theta, gradient):
        found, f = laplace_evidence(
            family.at(theta),
            X,
            y,
            gradient=gradient,
            f=last["f"],
            max_iter=max_iter,
        )
        if warm_start:
            last["f"] = f
        slope = family.pull_back(found.gradient) if gradient else None
        return found.value, slope

    return evidence


@dataclass(eq=False, repr=False)
class GaussianProcessClassifier(Classifier, AbstractGaussianProcess):
    """Gaussian-process classification; the module text gives the method.

    Parameters
    ----------
    kernel : kernel, function, "auto" or None, default=None
        A kernel of `pansophy.kernels` or of `sklearn.gaussian_process.kernels`. None
        is 1.0 * RBF(1.0), not learnt. "auto" is a Matern kernel with a length scale
        for each column, starting from the scales of the columns.
    optimizer : "fmin_l_bfgs_b", function or None, default="fmin_l_bfgs_b"
        None keeps the kernel as it is. A function `optimizer(obj_func, initial_theta,
        bounds)` gives theta and the objective there.
    n_restarts_optimizer : int, default=0
        Further starts, drawn within the bounds of a scikit-learn kernel or from the
        prior.
    max_iter_predict : int, default=100
        Most steps of Newton's method for the mode.
    warm_start : bool, default=False
        Start each search for the mode where the last one, for another theta, ended.
    copy_X_train : bool, default=True
        False keeps X itself, which must not change then.
    random_state : int, Generator or None, default=None
    multi_class : "one_vs_rest" or "one_vs_one", default="one_vs_rest"
        The second has no probabilities.
    n_jobs : int or None, default=None
        Most threads, BLAS included; None for all.
    prior : "auto", float or None, default="auto"
        Standard deviation of the logarithm of each kernel parameter about its start.
        "auto" is 3, and None where the kernel has bounds; None is maximum evidence.

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
    n_evaluations_ : int
        Of the evidence, over all problems.
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

    kernel: ProcessKernel = None
    _: KW_ONLY
    optimizer: Literal["fmin_l_bfgs_b"] | Callable | None = "fmin_l_bfgs_b"
    n_restarts_optimizer: Natural = 0
    max_iter_predict: Count = 100
    warm_start: Flag = False
    copy_X_train: Flag = True
    random_state: Seed = None
    multi_class: Literal["one_vs_rest", "one_vs_one"] = "one_vs_rest"
    n_jobs: Jobs = None
    prior: Literal["auto"] | Positive | None = "auto"

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
                f"only, {self.classes_[0]!r}."
            )
        self.X_train_ = X
        problems = list(self._problems(codes, k))
        kernel = self._start_kernel(X)
        options = SearchOptions(self.prior, self.optimizer, self.n_restarts_optimizer)
        rngs = spawn_rngs(make_rng(self.random_state), len(problems))

        self._processes = []
        with limit_threads(self.n_jobs):
            for (rows, labels), rng in zip(problems, rngs, strict=True):
                found = fit_binary_process(
                    kernel,
                    X if rows is None else X[rows],
                    labels,
                    options,
                    rng,
                    self.max_iter_predict,
                    self.warm_start,
                )
                self._processes.append(found._replace(rows=rows))
        self.kernel_ = self._joined_kernel()
        values = [process.value for process in self._processes]
        self.log_marginal_likelihood_value_ = np.float64(np.mean(values))
        self.n_evaluations_ = sum(p.n_evaluations for p in self._processes)
        return self

    def _problems(self, codes, k):
        """(rows, labels of 0 and 1) of each problem of two classes."""
        if k == 2:
            yield None, (codes == 1).astype(float)
        elif self.multi_class == "one_vs_rest":
            for c in range(k):
                yield None, (codes == c).astype(float)
        else:
            for a, b in combinations(range(k), 2):
                rows = np.flatnonzero((codes == a) | (codes == b))
                yield rows, (codes[rows] == b).astype(float)

    def _start_kernel(self, X):
        if self.kernel is None:
            return (Constant(1.0) * RBF(1.0)).fixed()
        if isinstance(self.kernel, str):
            spread = np.std(X, axis=0) * np.sqrt(X.shape[1])
            return Constant(1.0) * Matern(np.where(spread > 0, spread, 1.0), nu=2.5)
        return self.kernel

    def _joined_kernel(self):
        found = [process.kernel for process in self._processes]
        if len(found) == 1:
            return found[0]
        ours = isinstance(found[0], AbstractKernel)
        return tuple(found) if ours else CompoundKernel(found)

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
        several = len(self._processes)
        if several > 1 and eval_gradient:
            raise ValueError("Gradient can only be evaluated for two classes.")
        theta = np.asarray(theta, float)
        p = len(self._processes[0].kernel.theta)
        thetas = theta.reshape(-1, p) if p and len(theta) != p else [theta] * several
        results = []
        for i, (process, own) in enumerate(zip(self._processes, thetas, strict=True)):
            X = self._rows_of(process)
            family = kernel_family(process.kernel, column_count(X))
            if not clone_kernel:
                self._processes[i] = process._replace(kernel=family.public(own))
            evidence = laplace_evidence_of_theta(
                family, X, process.y, self.max_iter_predict
            )
            results.append(evidence(own, eval_gradient))
        if not clone_kernel:
            self.kernel_ = self._joined_kernel()
        value = np.float64(np.mean([v for v, _ in results]))
        return (value, results[0][1]) if eval_gradient else value

    def _rows_of(self, process):
        return self.X_train_ if process.rows is None else self.X_train_[process.rows]

    def _posteriors(self):
        for process in self._processes:
            X = self._rows_of(process)
            family = kernel_family(process.kernel, column_count(X))
            kernel = family.at(family.theta)
            yield LaplacePosterior(kernel, X, process.g, process.root, process.L)

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
        X = self._check_new_rows(X)
        posterior = next(self._posteriors())
        return posterior.mean(X), posterior.variance(X)

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
        columns = [
            expected_sigmoid(posterior.mean(X), posterior.variance(X))
            for posterior in self._posteriors()
        ]
        if self.n_classes_ == 2:
            return np.stack([1 - columns[0], columns[0]], axis=1)
        P = np.stack(columns, axis=1)
        return P / P.sum(axis=1, keepdims=True)

    def predict(self, X):
        """The likeliest class of new rows.

        Parameters
        ----------
        X : array of shape (m, d), or a list of objects that the kernel takes
        """
        check_is_fitted(self)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_rest":
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        X = self._check_new_rows(X)
        if self.n_classes_ == 2:
            above = next(self._posteriors()).mean(X) > 0
            return self.classes_[above.astype(int)]
        return self.classes_[np.argmax(self._votes(X), axis=1)]

    def _votes(self, X):
        """Wins of each class over the pairs; ties go to the larger latent sums."""
        votes = np.zeros((len(X), self.n_classes_))
        sums = np.zeros_like(votes)
        pairs = combinations(range(self.n_classes_), 2)
        for (a, b), posterior in zip(pairs, self._posteriors(), strict=True):
            f = posterior.mean(X)
            votes[:, b] += f > 0
            votes[:, a] += f <= 0
            sums[:, b] += f
            sums[:, a] -= f
        return votes + sums / (3 * (np.abs(sums) + 1))
