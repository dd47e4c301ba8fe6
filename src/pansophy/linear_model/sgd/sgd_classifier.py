"""Linear classifiers by stochastic gradient descent: SVM, logistic and others.

The method is that of `sgd.py`, on signs y of -1 and +1 (0 and 1 for "log_loss"): one
problem for two classes, one class against the rest each for more, all on the same
order of rows and on threads. Probabilities come with two losses,

    log_loss         p = 1 / (1 + exp(-f))                                       (1)
    modified_huber   p = (clip(f, -1, 1) + 1) / 2                                (2)

divided by their sum for more than two classes; all 0 in eq. (2) becomes uniform.

Refs      [Bottou2012]; [Zhang2004] eq. (2); [Zadrozny2002] dividing by the sum
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Any, Literal, get_args

import numpy as np
from sklearn.utils.metaestimators import available_if

from ... import losses
from ...core.arrays import arrays
from ...core.arrays.class_weight import compute_class_weight
from ...core.numerics import sigmoid
from ...core.random import make_rng
from ...params import (
    Count,
    Flag,
    Fraction,
    Jobs,
    NonNegative,
    OpenFraction,
    ParameterError,
    ParameterRule,
    Positive,
    Verbosity,
)
from ...predictors.abstract_linear import (
    AbstractLinearClassifier,
    encode_two_or_more_classes,
)
from ...typing import Seed
from . import sgd
from .sgd import AbstractSGD, arrays_in_memory, check_stream_chunk

LOSS_ALIASES = {
    "log_loss": "logistic",
    "squared_error": "half_squared",
    "absolute_error": "absolute",
}  # scikit-learn's words for ours


ClassificationLoss = Literal[
    "hinge",
    "log_loss",
    "modified_huber",
    "squared_hinge",
    "perceptron",
    "exponential",
    "squared_error",
    "absolute_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
]
TAKES_EPSILON = ("huber", "epsilon_insensitive", "squared_epsilon_insensitive")
EPSILON = 0.1  # the default


def loss_table(names) -> dict[str, tuple]:
    """scikit-learn's attribute `loss_functions`: {name: (loss, default epsilon)}."""
    return {
        name: (losses.FACTORIES[name], EPSILON)
        if name in TAKES_EPSILON
        else (loss_by_name(name, None),)
        for name in names
    }


def loss_by_name(name, epsilon):
    """The loss of a scikit-learn or pansophy name, with `epsilon` where it has one."""
    name = LOSS_ALIASES.get(name, name)
    return losses.get_loss(name, epsilon if name in TAKES_EPSILON else None)


OwnLoss = Annotated[Any, ParameterRule("a Loss", lambda v: isinstance(v, losses.Loss))]


def sgd_loss(model, domains):
    """The loss of an SGD estimator, by its name or given as a `Loss`."""
    if isinstance(model.loss, str):
        return loss_by_name(model.loss, model.epsilon)
    if model.loss.domain not in domains:
        raise ParameterError(
            f"loss of {type(model).__name__} must be a loss for targets of the kind "
            f"{' or '.join(domains)}, got {model.loss!r} for {model.loss.domain!r}."
        )
    return model.loss


def loss_without_loop(loss):
    """The loss if compiled passes do not know it, else None."""
    return None if loss.has_loop else loss


def ovr_targets(codes, k, low, dtype, c):
    """Targets of problem c: 1 for its class, `low` for the others."""
    own = codes == (1 if k == 2 else c)
    return np.where(own, dtype.type(1), dtype.type(low))


def ovr_class_factors(factors):
    """(k, 2): the factors of the rest and of the class itself in each problem."""
    if len(factors) == 2:
        return factors[None, :].copy()
    return np.column_stack([np.ones(len(factors)), factors])


def codes_of_known_classes(y, classes):
    """Codes of labels among known classes."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    strange = classes[codes] != y
    if np.any(strange):
        raise ValueError(
            f"y holds labels {np.unique(y[strange]).tolist()[:5]} that are not in "
            f"classes, {classes.tolist()[:20]}."
        )
    return codes


def weighted_sign_accuracy(X, right, w, coef, b):
    """Weighted share of rows with the right sign of the raw prediction."""
    return float(np.average((X @ coef + b > 0) == right, weights=w))


class AbstractSGDClassifier(AbstractLinearClassifier, AbstractSGD):
    """`fit` and `partial_fit` of classifiers by SGD; members give loss and rule."""

    class_weight: Any
    shuffle: Any
    random_state: Any
    tol: Any
    max_iter: Any
    n_iter_no_change: Any

    _loss: Callable[..., Any]
    _rule: Callable[..., sgd.SGDRule]
    _learn: Callable[..., None]

    _tensors = False

    def fit(self, X, y, coef_init=None, intercept_init=None, sample_weight=None):
        """Fit to rows X and labels y, from 0 or from the coefficients given."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", accept_sparse="csr"
        )
        X, y, w = arrays_in_memory(self, X, y, w)
        classes, codes = encode_two_or_more_classes(y)
        k = len(classes)
        W, b = self._start(X, 1 if k == 2 else k, coef_init, intercept_init)
        self.classes_ = classes
        self._learn(X, codes, w, W, b)
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """One pass over rows X; `classes` lists all labels, at the first call."""
        first = not hasattr(self, "classes_")
        X, y, w = check_stream_chunk(self, X, y, sample_weight, "class", first)
        X, y, w = arrays_in_memory(self, X, y, w)
        self._check_stream(classes, first)
        codes = codes_of_known_classes(y, self.classes_)
        rule = self._rule()
        k = len(self.classes_)
        W, memory = self._resume(X, 1 if k == 2 else k, rule)
        problem = self._problem(X, codes, w, rule)._replace(tol=None)
        self._run_sgd(problem, W, memory, max_iter=1, X=X, y=y)
        return self

    def _check_stream(self, classes, first):
        if self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' is not supported for partial_fit, which does "
                "not see all labels; give a dict of weights."
            )
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if classes is not None:
            classes = np.unique(np.asarray(classes))
            if first and len(classes) < 2:
                raise ValueError(
                    "classes must name at least 2 classes, got only one class."
                )
            if not first and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"classes={classes!r} is not the same as on last call to "
                    f"partial_fit, was: {self.classes_!r}"
                )
        if first:
            self.classes_ = classes

    def _problem(self, X, codes, w, rule) -> sgd.SGDProblem:
        k = len(self.classes_)
        rng = make_rng(self.random_state)
        loss = self._loss()
        low = 0.0 if loss.domain == "fraction" else -1.0
        order, held = self._hold_out(rng, codes, w, stratify=True)
        factors = compute_class_weight(
            self.class_weight, classes=self.classes_, codes=codes, sample_weight=w
        )
        score = None
        if held is not None:
            Xh = X[held]
            wh = None if w is None else w[held]
            right = lambda c: codes[held] == (1 if k == 2 else c)
            score = lambda c, u, b: weighted_sign_accuracy(Xh, right(c), wh, u, b)
        return sgd.SGDProblem(
            rows=sgd.rows_for_loops(X),
            order=order,
            target=partial(ovr_targets, codes, k, low, X.dtype),
            v=np.empty(0, X.dtype) if w is None else w,
            factors=ovr_class_factors(factors),
            rule=rule,
            rng=rng if self.shuffle else None,
            tol=self.tol,
            patience=self.n_iter_no_change,
            score=score,
            own_loss=loss_without_loop(loss),
        )

    def decision_function(self, X) -> Any:
        """Raw predictions: (n,) for two classes, (n, k) for more."""
        F = self._raw_prediction(X)
        return F[:, 0] if F.ndim == 2 and F.shape[1] == 1 else F


def loss_kind(loss):
    """The number of a loss, by name or given, in compiled loops; None for no loss."""
    if isinstance(loss, str) and loss in get_args(ClassificationLoss):
        loss = loss_by_name(loss, None)
    return getattr(loss, "kind", None)


def has_probabilities(model):
    """Whether the loss of a model gives probabilities; raises if not."""
    if loss_kind(model.loss) in (losses.base.LOGISTIC, losses.base.MODIFIED_HUBER):
        return True
    raise AttributeError(
        f"probability estimates are not available for loss={model.loss!r}"
    )


@dataclass(eq=False, repr=False)
class SGDClassifier(AbstractSGDClassifier):
    """Linear classifier by stochastic gradient descent: any loss, penalty and step.

    The module text of `sgd.py` gives the method.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        "hinge" (a linear SVM), "log_loss" (logistic regression), "modified_huber",
        "squared_hinge", "perceptron" or "exponential"; or a loss of regression on
        -1 and +1: "squared_error", "absolute_error", "huber", "epsilon_insensitive",
        "squared_epsilon_insensitive". Or a `losses.Loss`: one of your own is called
        once a batch, so that a larger `batch_size` makes it quicker.
    penalty : "l2", "l1", "elasticnet" or None, default="l2"
    alpha : float, default=1e-4
        Strength of the penalty; "optimal" steps by it too.
    l1_ratio : float or None, default=0.15
        Share rho of L1 in "elasticnet".
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Most passes over the rows.
    tol : float or None, default=1e-3
        Stop when eq. (1), or the score on rows held out, has gained less than this in
        n_iter_no_change passes in a row. None for all of max_iter.
    shuffle : bool, default=True
        Whether to visit the rows in a new random order at each pass.
    verbose : int, default=0
        Above 0 shows a progress bar.
    epsilon : float, default=0.1
        Parameter of "huber" and of the two epsilon-insensitive losses.
    n_jobs : int or None
        Most threads, for more than two classes.
    random_state : int, RandomState, Generator or None
    learning_rate : str, default="optimal"
        "constant", "optimal", "invscaling", "adaptive", "pa1" or "pa2" (these two with
        "hinge"), "momentum", "nesterov", "adagrad", "rmsprop" or "adam".
    eta0 : float, default=0.01
        First step, or the aggressiveness of "pa1" and "pa2"; "optimal" needs none.
    power_t : float, default=0.5
        Exponent of "invscaling".
    early_stopping : bool, default=False
        Whether to hold out rows and stop by the accuracy on them.
    validation_fraction : float, default=0.1
        Share of rows to hold out.
    n_iter_no_change : int, default=5
    class_weight : dict, "balanced" or None
        Factors on the weights of the classes.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    average : bool or int, default=False
        Keep the mean of the coefficients over updates, from that update on.
    batch_size : int, default=1
        Rows of an update, which takes their mean gradient; n for gradient descent.
    momentum : float, default=0.9
        Of "momentum" and "nesterov".

    Attributes
    ----------
    classes_ : array of shape (k,)
    coef_ : array of shape (1, d) or (k, d)
    intercept_ : array of shape (1,) or (k,)
    n_iter_ : int
        Passes, the most of all classes.
    t_ : float
        Updates plus 1.
    history_ : dict of arrays
        "objective", eq. (1) met during each pass, mean over problems.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import SGDClassifier
    >>> X = np.array([[-1.0, -1], [-2, -1], [1, 1], [2, 1]])
    >>> model = SGDClassifier(random_state=0).fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[-0.8, -1], [1.5, 2]])
    array(['a', 'b'], dtype='<U1')
    """

    loss: ClassificationLoss | OwnLoss = "hinge"
    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = "l2"
    alpha: NonNegative = 0.0001
    l1_ratio: Fraction | None = 0.15
    fit_intercept: Flag = True
    max_iter: Count = 1000
    tol: NonNegative | None = 1e-3
    shuffle: Flag = True
    verbose: Verbosity = 0
    epsilon: NonNegative = EPSILON
    n_jobs: Jobs = None
    random_state: Seed = None
    learning_rate: sgd.LearningRate = "optimal"
    eta0: Positive = 0.01
    power_t: NonNegative = 0.5
    early_stopping: Flag = False
    validation_fraction: OpenFraction = 0.1
    n_iter_no_change: Count = 5
    class_weight: dict | Literal["balanced"] | None = None
    warm_start: Flag = False
    average: Flag | Count = False
    batch_size: Count = 1
    momentum: Fraction = 0.9

    loss_functions = loss_table(get_args(ClassificationLoss))

    def _loss(self):
        return sgd_loss(self, ("sign", "fraction", "real"))

    def _rule(self):
        return sgd_rule_of(self, self._loss(), "hinge")

    def _learn(self, X, codes, w, W, b):
        rule = self._rule()
        memory = sgd.initial_memory(len(W), X.shape[1], W.dtype, rule, b)
        problem = self._problem(X, codes, w, rule)
        self._run_sgd(problem, W, memory, max_iter=self.max_iter, X=X, y=codes)

    @available_if(has_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes, (n, k); with two losses only."""
        F = self.decision_function(X)
        xp = arrays.namespace(F)
        logistic = loss_kind(self.loss) == losses.base.LOGISTIC
        p = sigmoid(F) if logistic else (xp.clip(F, -1, 1) + 1) / 2
        if p.ndim == 1:
            return xp.stack([1 - p, p], axis=1)
        total = xp.sum(p, axis=1, keepdims=True)
        p = xp.where(total == 0, xp.ones_like(p), p)
        return p / xp.sum(p, axis=1, keepdims=True)

    @available_if(has_probabilities)
    def predict_log_proba(self, X):
        """Logarithms of the probabilities, -inf for a probability of 0."""
        p = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return arrays.namespace(p).log(p)


def sgd_rule_of(model, loss, aggressive):
    """The rule of an SGD estimator; `aggressive` is the loss that eq. (4) needs."""
    step = model.learning_rate
    if step in ("pa1", "pa2"):
        if model.loss != aggressive:
            raise ParameterError(
                f"learning_rate={step!r} only works with loss={aggressive!r}, got "
                f"loss={model.loss!r}."
            )
        if model.batch_size > 1:
            raise ParameterError(
                f"learning_rate={step!r} steps by single rows: batch_size must be 1."
            )
    return sgd.make_sgd_rule(
        loss,
        step,
        penalty=model.penalty,
        alpha=model.alpha,
        l1_ratio=model.l1_ratio,
        eta0=model.eta0,
        power_t=model.power_t,
        momentum=model.momentum,
        fit_intercept=model.fit_intercept,
        average=model.average,
        batch_size=model.batch_size,
    )
