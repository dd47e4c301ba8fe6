"""The perceptron: mistake-driven updates, plain, averaged or with a pocket.

For signs y_i and a constant feature for the intercept, visit the rows in order and

    if y_i (w . x_i + b) <= 0:   w <- w + eta y_i x_i,   b <- b + eta y_i        (1)

until a pass makes no mistake. If some (w*, b*) of length 1 has y_i f*(x_i) >= gamma
on all rows, each mistake raises (w, b) . (w*, b*) by at least eta gamma and |(w, b)|^2
by at most eta^2 R^2 with R = max |(x_i, 1)|, so there are at most

    (R / gamma)^2                                                                (2)

mistakes, whatever eta and the order. Eq. (1) counts a score of 0 as a mistake for both
classes. Textbooks also write w <- w + eta (t_i - sign(f_i)) x_i with sign(0) = +1 or
-1: then a score of 0 is a mistake for one class alone (`sign_of_zero`), and with signs
t the step is 2 eta. All rows at once, or a few, move w by the sum of their steps
(`batch_size`). The separator that was found gives a gamma, and with it the bound
reported in `mistake_bound_`. Where no (w, b) separates, w wanders:

    plain      the last w, as in scikit-learn
    averaged   the mean of w over all rows visited [Freund1999]
    pocket     the w with fewest errors among those that stood longest [Gallant1990]

With several classes and `multi_class="multinomial"` the scores compete: when another
class r scores at least as high as y_i, w_{y_i} gains eta x_i and w_r loses it, the sum
of all w stays 0, and eq. (2) doubles. "ovr" runs eq. (1) for each class.

Eq. (1) is SGD on the perceptron loss with a constant step; plain and averaged runs,
their penalties and `partial_fit` are those of `linear_model/sgd/sgd.py`. A sample
weight multiplies eta, as in scikit-learn.

Shapes    X (n, d)   W (1, d) or (k, d)   b (1,) or (k,)
Refs      [Rosenblatt1958] [Novikoff1962] eq. (2) [Freund1999] [Gallant1990]
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...core.arrays.class_weight import compute_class_weight
from ...core.loops import threads
from ...core.random import make_rng
from ...losses import perceptron as perceptron_loss
from ...optim.stochastic.mistake_driven import until_clean
from ...params import (
    Count,
    Flag,
    Fraction,
    Jobs,
    NonNegative,
    OpenFraction,
    ParameterError,
    Positive,
    Verbosity,
)
from ...predictors.abstract_linear import classes_from_scores
from ...typing import Seed
from ..sgd import sgd
from ..sgd.sgd_classifier import AbstractSGDClassifier, ovr_class_factors, ovr_targets

MANY_PASSES = 100  # from which on a warning says that no pass was clean


def squared_radius(X, intercept):
    """R^2 of eq. (2)."""
    squares = X.multiply(X).sum(axis=1) if hasattr(X, "multiply") else (X * X).sum(1)
    return float(np.max(squares)) + float(intercept)


def binary_mistake_bound(X, y, w, b, intercept):
    """Eq. (2) for the separator (w, b) of signs y; nan if it does not separate."""
    margin = float(np.min(y * (X @ w + b)))
    length2 = float(w @ w) + float(b) ** 2
    if not margin > 0:
        return np.nan
    with np.errstate(over="ignore", invalid="ignore"):  # inf, or nan, beyond floats
        return float(squared_radius(X, intercept) * length2 / np.square(margin))


def multiclass_mistake_bound(X, codes, W, b, intercept):
    """Eq. (2), doubled, for several classes at once; nan if they are not separated."""
    F = X @ W.T + b
    own = np.take_along_axis(F, codes[:, None], 1)[:, 0]
    np.put_along_axis(F, codes[:, None], -np.inf, 1)
    margin = float(np.min(own - F.max(axis=1)))
    length2 = float((W * W).sum() + (b * b).sum())
    if not margin > 0:
        return np.nan
    with np.errstate(over="ignore", invalid="ignore"):
        return float(2 * squared_radius(X, intercept) * length2 / np.square(margin))


class PocketPasses:
    """Passes of the pocket perceptron, for each class against the rest."""

    def __init__(self, model, X, codes, w, factors):
        k = len(factors)
        self.rows = sgd.rows_for_loops(X)
        self.eta0 = model.eta0
        self.fit_intercept = model.fit_intercept
        self.zero = float(model.sign_of_zero)
        self.mistakes = np.zeros(1 if k == 2 else k, int)
        self.target = lambda c: ovr_targets(codes, k, -1.0, X.dtype, c)
        pairs = ovr_class_factors(factors)
        none = np.empty(0)
        self.weight = lambda c, y: none if w is None else w * pairs[c][(y > 0) * 1]

    def start(self, W, b):
        """W, b, the W in the pocket, and the scalars of `_perceptron.pocket_pass`."""
        z = np.zeros((len(W), 4))
        z[:, 1] = np.inf
        return W, b.astype(float), W.copy(), z

    def one_pass(self, order, model):
        """One pass over the rows in `order`, in place; returns the mistakes."""
        from . import _perceptron as loops

        W, b, kept, z = model

        def task(c):
            y = self.target(c)
            return loops.pocket_pass(
                self.rows,
                order,
                y,
                self.weight(c, y),
                self.eta0,
                self.fit_intercept,
                self.zero,
                W[c],
                b[c : c + 1],
                kept[c],
                z[c],
            )

        mistakes = list(threads.run_tasks((lambda c=c: task(c)) for c in range(len(W))))
        self.mistakes += np.array(mistakes)
        return sum(mistakes)

    def fitted_attributes(self, model):
        """coef_ and intercept_ of the pocket."""
        W, _, kept, z = model
        return {"coef_": kept, "intercept_": z[:, 0].astype(W.dtype)}


class PlainPasses(PocketPasses):
    """Passes of the plain perceptron by `sign_of_zero` and `batch_size`."""

    def __init__(self, model, X, codes, w, factors):
        super().__init__(model, X, codes, w, factors)
        self.X = X
        self.batch_size = len(codes) if model.batch_size == "all" else model.batch_size

    def start(self, W, b):
        """As for the pocket, which is empty."""
        W, b, kept, z = super().start(W, b)
        return W, b, kept[:, :0], z

    def one_pass(self, order, model):
        """One pass over the rows in `order`, in place; returns the mistakes."""
        if self.batch_size == 1:
            return super().one_pass(order, model)
        W, b, _, _ = model
        mistakes = [self.batches(c, order, W[c], b[c : c + 1]) for c in range(len(W))]
        self.mistakes += np.array(mistakes)
        return sum(mistakes)

    def batches(self, c, order, w, b):
        """The pass of class c in batches of rows, in place; returns the mistakes."""
        y = self.target(c)
        v = self.weight(c, y)
        wrong = 0
        for i in range(0, len(order), self.batch_size):
            rows = order[i : i + self.batch_size]
            f = self.X[rows] @ w + b[0]
            side = np.where(f == 0, self.zero, np.sign(f))
            bad = rows[(side != y[rows]) & (v[rows] > 0 if len(v) else True)]
            step = self.eta0 * y[bad] * (v[bad] if len(v) else 1.0)
            w += self.X[bad].T @ step
            b += step.sum() if self.fit_intercept else 0.0
            wrong += len(bad)
        return wrong

    def fitted_attributes(self, model):
        """coef_ and intercept_ of the last pass."""
        W, b, _, _ = model
        return {"coef_": W, "intercept_": b.astype(W.dtype)}


class MulticlassPasses:
    """Passes of the multi-class perceptron: plain, averaged, or the best pass."""

    def __init__(self, model, X, codes, w, factors):
        self.rows = sgd.rows_for_loops(X)
        self.eta0 = model.eta0
        self.fit_intercept = model.fit_intercept
        self.codes = codes
        self.variant = model.variant
        self.v = np.empty(0) if w is None else w * factors[codes]
        self.mistakes = np.zeros(1, int)

    def start(self, W, b):
        """W, b, the sums of the average or the best W, the same of b, t or errors."""
        extra = np.zeros_like(W, dtype=float)
        extra = extra[:0] if self.variant == "plain" else extra
        first = np.inf if self.variant == "pocket" else 0.0
        return W, b.astype(float), extra, np.zeros(len(W)), np.array([first])

    def one_pass(self, order, model):
        """One pass over the rows in `order`, in place; returns the mistakes."""
        from . import _perceptron as loops

        W, b, extra, extra_b, t = model
        averaged = self.variant == "averaged"
        past = extra if averaged else extra[:0]
        mistakes = loops.multiclass_pass(
            self.rows,
            order,
            self.codes,
            self.v,
            self.eta0,
            self.fit_intercept,
            W,
            b,
            past,
            extra_b,
            t[0],
        )
        self.mistakes += mistakes
        if averaged:
            t += len(order)
        elif self.variant == "pocket":
            errors = loops.multiclass_weight_of_errors(
                self.rows, order, self.codes, self.v, W, b
            )
            if errors < t[0]:
                extra[:] = W
                extra_b[:] = b
                t[0] = errors
        return mistakes

    def fitted_attributes(self, model):
        """coef_ and intercept_: of the last pass, the average or the best pass."""
        W, b, extra, extra_b, t = model
        if self.variant == "averaged" and t[0] > 0:
            W = (W - extra / t[0]).astype(W.dtype)
            b = b - extra_b / t[0]
        elif self.variant == "pocket" and np.isfinite(t[0]):
            W = extra.astype(W.dtype)
            b = extra_b
        return {"coef_": W, "intercept_": b.astype(W.dtype)}


@dataclass(eq=False, repr=False)
class Perceptron(AbstractSGDClassifier):
    """The perceptron: plain, averaged or with a pocket; see the module text.

    Parameters
    ----------
    penalty : "l2", "l1", "elasticnet" or None, default=None
        For plain and averaged "ovr" runs.
    alpha : float, default=1e-4
        Strength of the penalty.
    l1_ratio : float, default=0.15
        Share of L1 in "elasticnet".
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Most passes over the rows.
    tol : float or None, default=1e-3
        Stop when the mean loss (for "pocket" and "multinomial" the share of mistakes)
        has gained less than this in n_iter_no_change passes in a row. None to go on
        until a pass without mistakes, with a warning if max_iter is 100 or more and no
        pass is: then the classes may not be separable (`is_separable`), as in XOR. A
        plane that is right no more often than a constant answer is warned of as well.
    shuffle : bool, default=True
        Whether to visit the rows in a new random order at each pass.
    verbose : int, default=0
        Above 0 shows a progress bar.
    eta0 : float, default=1.0
        Length of a step. From 0 and without penalty it changes no prediction.
    n_jobs : int or None
        Most threads, for more than two classes.
    random_state : int, RandomState, Generator or None, default=0
    early_stopping : bool, default=False
        Whether to hold out rows and stop by the accuracy on them.
    validation_fraction : float, default=0.1
        Share of rows to hold out.
    n_iter_no_change : int, default=5
    class_weight : dict, "balanced" or None
        Factors on the weights of the classes.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    variant : "plain", "averaged" or "pocket", default="plain"
    multi_class : "ovr" or "multinomial", default="ovr"
        What to do with more than two classes.
    sign_of_zero : 0, 1 or -1, default=0
        The class of a score of 0: 1 is the second class, -1 the first one; 0 is neither
        while learning, so that eq. (1) counts it as a mistake, and the first class in
        `predict`. For variant "plain" and "pocket" of two classes or "ovr".
    batch_size : int or "all", default=1
        How many rows share a step; "all" is the batch perceptron. For variant "plain"
        of two classes or "ovr".

    Attributes
    ----------
    classes_ : array of shape (k,)
    coef_ : array of shape (1, d) or (k, d)
    intercept_ : array of shape (1,) or (k,)
    n_mistakes_ : int, or array of shape (k,) for "ovr" of more than two classes
        Updates made.
    mistake_bound_ : float, or array of shape (k,)
        Eq. (2) for the separator found; nan where none was, where rows were weighted
        or penalised, or where the start was not 0.
    n_iter_ : int
        Passes, the most of all classes; the last one is clean where rows separate.
    t_ : float
        Rows visited plus 1.
    history_ : dict of arrays
        "objective" of each pass: the mean loss, or the mistakes.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import Perceptron
    >>> X = np.array([[2, 1], [1, 3], [1, -1], [-1, 0.5]])
    >>> model = Perceptron(shuffle=False).fit(X, [1, 1, -1, -1])
    >>> model.intercept_, model.coef_, model.n_mistakes_
    (array([-1.]), array([[2. , 1.5]]), 3)

    The logical AND with sign(0) = 0, which is class 0 here:

    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> model = Perceptron(shuffle=False, tol=None, sign_of_zero=-1)
    >>> model = model.fit(X, [0, 0, 0, 1])
    >>> model.intercept_, model.coef_, model.n_mistakes_, model.n_iter_
    (array([-2.]), array([[2., 1.]]), 10, 6)
    """

    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = None
    alpha: NonNegative = 0.0001
    l1_ratio: Fraction = 0.15
    fit_intercept: Flag = True
    max_iter: Count = 1000
    tol: NonNegative | None = 1e-3
    shuffle: Flag = True
    verbose: Verbosity = 0
    eta0: Positive = 1.0
    n_jobs: Jobs = None
    random_state: Seed = 0
    early_stopping: Flag = False
    validation_fraction: OpenFraction = 0.1
    n_iter_no_change: Count = 5
    class_weight: dict | Literal["balanced"] | None = None
    warm_start: Flag = False
    variant: Literal["plain", "averaged", "pocket"] = "plain"
    multi_class: Literal["ovr", "multinomial"] = "ovr"
    sign_of_zero: Literal[0, 1, -1] = 0
    batch_size: Count | Literal["all"] = 1

    def predict(self, X):
        """The class with the best score; a score of 0 goes by `sign_of_zero`."""
        F = self.decision_function(X)
        if F.ndim == 1 and self.sign_of_zero == 1:
            F = np.where(F == 0, 1.0, F)
        return classes_from_scores(self.classes_, F)

    def _loss(self):
        return perceptron_loss

    def _rule(self):
        return sgd.make_sgd_rule(
            perceptron_loss,
            "constant",
            penalty=self.penalty,
            alpha=self.alpha,
            l1_ratio=self.l1_ratio,
            eta0=self.eta0,
            fit_intercept=self.fit_intercept,
            average=self.variant == "averaged",
        )

    def _by_sgd(self):
        """Whether `linear_model/sgd/sgd.py` runs it; the other passes take fewer
        options.
        """
        by_rule = self.sign_of_zero != 0 or self.batch_size != 1
        binary = self.multi_class == "ovr" or len(self.classes_) == 2
        if by_rule and not (binary and self.variant in ("plain", "pocket")):
            raise ParameterError(
                "sign_of_zero and batch_size take variant='plain', and sign_of_zero "
                "'pocket', with two classes or multi_class='ovr'."
            )
        if self.batch_size != 1 and self.variant == "pocket":
            raise ParameterError("batch_size takes variant='plain' only.")
        if self.variant != "pocket" and binary and not by_rule:
            return True
        if self.penalty is not None or self.early_stopping:
            raise ParameterError(
                "variant='pocket', multi_class='multinomial', sign_of_zero and "
                "batch_size take neither penalty nor early_stopping."
            )
        return False

    def _warn_if_not_converged(self, reason):
        """Without tol, say that none of many passes was free of mistakes."""
        if reason != "max_iter" or self.tol is not None:
            super()._warn_if_not_converged(reason)
            return
        if self.n_iter_ < MANY_PASSES or self.variant == "pocket":
            return  # a few passes were asked for, or the best plane
        warnings.warn(
            f"Perceptron made mistakes in each of {self.n_iter_} passes: the classes "
            "may not be linearly separable (see is_separable). variant='pocket' keeps "
            "the best plane; tol ends such fits early.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _warn_if_useless(self, X, codes, w, W, b):
        """Say that the plane is no better than a constant answer, as with XOR."""
        many = self.tol is not None and self.max_iter >= MANY_PASSES
        plain = self.penalty is None and self.class_weight is None
        if not (many and plain and self.variant == "plain"):
            return
        F = X @ W.T + b
        found = (F[:, 0] > 0) if F.shape[1] == 1 else F.argmax(axis=1)
        weight = np.ones(len(codes)) if w is None else np.asarray(w, float)
        right = float(weight @ (found == codes))
        most = np.bincount(codes, weights=weight).max()
        if right <= most * (1 + 1e-12) and right < weight.sum() * (1 - 1e-12):
            warnings.warn(
                "Perceptron is right on no better than the share of the most frequent "
                "class, even on the training rows: the classes may not be linearly "
                "separable, as in XOR (see is_separable). variant='pocket' keeps the "
                "best plane; other features or a kernel may separate them.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _check_stream(self, classes, first):
        super()._check_stream(classes, first)
        if not self._by_sgd():
            raise ParameterError(
                "partial_fit goes with variant='plain' or 'averaged', "
                "multi_class='ovr', sign_of_zero=0 and batch_size=1."
            )

    def _learn(self, X, codes, w, W, b):
        zero = not W.any() and not np.any(b)
        fair = zero and w is None and self.class_weight is None
        if self._by_sgd():
            rule = self._rule()
            memory = sgd.initial_memory(len(W), X.shape[1], W.dtype, rule, b)
            problem = self._problem(X, codes, w, rule)
            problem = problem._replace(stop_when_clean=self.penalty is None)
            run = self._run_sgd(
                problem, W, memory, max_iter=self.max_iter, X=X, y=codes
            )
            scalars = run.state.memory.scalars
            mistakes = scalars[:, sgd.N_MOVES].astype(int)
            b = scalars[:, sgd.INTERCEPT]
            W = run.state.W
        else:
            W, b, mistakes = self._run_passes(X, codes, w, W, b)
        fair = fair and self.penalty is None
        self.n_mistakes_ = mistakes if len(mistakes) > 1 else int(mistakes[0])
        self.mistake_bound_ = self._bounds(X, codes, W, b, fair)
        self._warn_if_useless(X, codes, w, W, b)

    def _run_passes(self, X, codes, w, W, b):
        """The pocket or multi-class perceptron: W, b of the last pass, and mistakes."""
        rng = make_rng(self.random_state)
        factors = compute_class_weight(
            self.class_weight, classes=self.classes_, codes=codes, sample_weight=w
        )
        weighted = w is not None or self.class_weight is not None
        w = np.ones(len(codes)) if weighted and w is None else w
        multinomial = len(self.classes_) > 2 and self.multi_class == "multinomial"
        make = MulticlassPasses if multinomial else PocketPasses
        if not multinomial and self.variant == "plain":
            make = PlainPasses
        run = make(self, X, codes, w, factors)
        order = np.arange(len(codes), dtype=np.int32)

        def one_pass(model):
            if self.shuffle:
                rng.shuffle(order)
            model = tuple(a.copy() for a in model)
            return model, run.one_pass(order, model)

        tol = None if self.tol is None else self.tol * len(codes)

        def passes(task):
            result = until_clean(
                one_pass,
                run.start(W, b),
                max_iter=self.max_iter,
                tol=tol,
                patience=self.n_iter_no_change,
                task=task,
            )
            return result

        with threads.limit_threads(self.n_jobs):
            result = self._run_driver(
                passes,
                total=self.max_iter,
                X=X,
                y=codes,
                snapshot=lambda s: run.fitted_attributes(s.model),
            )
        self.t_ += float(result.n_iter * len(codes))
        self._memory = None
        for name, value in run.fitted_attributes(result.state.model).items():
            setattr(self, name, value)
        return *result.state.model[:2], np.array(run.mistakes)

    def _bounds(self, X, codes, W, b, fair):
        """`mistake_bound_`; nan unless `fair`: from 0, without weights or penalty."""
        k = len(self.classes_)
        several = k > 2 and self.multi_class == "multinomial"
        if not fair:
            return np.nan if len(W) == 1 or several else np.full(len(W), np.nan)
        W = W.astype(float)
        b = np.asarray(b, float)
        if several:
            return multiclass_mistake_bound(X, codes, W, b, self.fit_intercept)
        out = [
            binary_mistake_bound(
                X,
                ovr_targets(codes, k, -1.0, np.dtype(float), c),
                W[c],
                b[c],
                self.fit_intercept,
            )
            for c in range(len(W))
        ]
        return np.array(out) if len(out) > 1 else out[0]
