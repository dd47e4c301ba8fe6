"""Multi-layer perceptrons: classifier and regressor.

A stack of linear maps with an activation between them, trained on cross-entropy,
squares or Poisson deviance plus a penalty alpha on the matrices. The mathematics is
in `nn.nets.mlp`, the loop in `nn.train`, what both estimators share in `perceptron`.

Shapes    X (n, d)   y (n,), (n, labels) or (n, outputs)
"""

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .. import nn
from ..base import Classifier, Estimator, Regressor
from ..core.arrays import arrays
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.arrays.rows import Rows
from ..core.numerics import log1pexp, log_softmax, sigmoid, softmax
from ..core.random import draw_seed, make_rng
from ..nn.nets.mlp import fitted_weights
from ..nn.training.batches import Batches
from ..nn.training.run_tag import run_tag
from ..nn.training.schedules import inverse_scaling
from ..params import (
    Count,
    DeviceName,
    Flag,
    Fraction,
    FractionBelowOne,
    LayerSizes,
    NonNegative,
    PatienceCount,
    Positive,
    Verbosity,
)
from ..typing import Seed
from .lbfgs_training import train_lbfgs

ACTIVATION_FUNCTIONS = {
    "identity": lambda xp, Z: Z,
    "relu": lambda xp, Z: xp.clip(Z, 0, None),
    "tanh": lambda xp, Z: xp.tanh(Z),
    "logistic": lambda xp, Z: sigmoid(Z),
}


class TrainingData(NamedTuple):
    """Rows as the net takes them."""

    X: Any
    Y: Any  # (n, m_L), or (n,) class numbers
    w: Any  # (n,) or None

    def take(self, index):
        """The rows at these positions."""

        def part(a):
            if a is None or not arrays.is_foreign(a):
                return None if a is None else a[index]
            return a[arrays.namespace(a).asarray(index, device=arrays.device(a))]

        return TrainingData(*map(part, self))

    def rows(self):
        """Rows for `nn.train`."""
        parts = self[:2] if self.w is None else self
        return nn.SparseRows(*parts) if sp.issparse(self.X) else tuple(parts)


def _forward_scores(X, coefs, intercepts, activation):
    """Raw scores F of rows of any array library (eq. 1 of `nn.nets.mlp`)."""
    xp = arrays.namespace(X)
    like = X if not sp.issparse(X) else np.empty(0, X.dtype)
    H = X
    for i, (W, b) in enumerate(zip(coefs, intercepts)):
        if i:
            H = ACTIVATION_FUNCTIONS[activation](xp, H)
        H = H @ arrays.asarray(W, like) + arrays.asarray(b, like)
    return H


@dataclass(eq=False, repr=False)
class AbstractMLP(Estimator):
    """Parameters and fitting of both perceptrons; they are described there."""

    _: KW_ONLY
    solver: Literal["adam", "sgd", "lbfgs"] = "adam"
    alpha: NonNegative = 0.0001
    batch_size: Literal["auto"] | Count = "auto"
    learning_rate: Literal["constant", "invscaling", "adaptive"] = "constant"
    learning_rate_init: Positive = 0.001
    power_t: NonNegative = 0.5
    max_iter: Count = 200
    shuffle: Flag = True
    random_state: Seed = None
    tol: NonNegative = 1e-4
    verbose: Verbosity = False
    warm_start: Flag = False
    momentum: Fraction = 0.9
    nesterovs_momentum: Flag = True
    early_stopping: Flag = False
    validation_fraction: FractionBelowOne = 0.1
    beta_1: FractionBelowOne = 0.9
    beta_2: FractionBelowOne = 0.999
    epsilon: Positive = 1e-8
    n_iter_no_change: PatienceCount = 10
    max_fun: Count = 15000
    dropout: FractionBelowOne = 0.0
    device: DeviceName = "auto"
    checkpoint: str | Path | None = None
    resume: Flag = False

    # The two estimators give `_targets(y, ...)`, `_outputs(Y)` and `_rate(F, Data)`.

    def _fit(self, X, y, sample_weight, validation=None, *, partial=False, **known):
        first = not hasattr(self, "coefs_") or not (self.warm_start or partial)
        checks = {"y_kind": self._y_kind, "accept_sparse": "csr", "reset": first}
        begun: Any = self._check_training_data(X, y, sample_weight, **checks)
        X, y, w = begun
        self._refuse_large_values(X)
        warm = not (first or partial)
        data = TrainingData(X, self._targets(y, X, first, warm=warm, **known), w)
        rng = make_rng(self.random_state)
        if not first:
            self._check_same_net(data.Y)
        if first:
            self._start(data, rng)
        elif partial:  # another order of the rows at each call
            rng = np.random.default_rng([*rng.integers(2**32, size=4), self.t_])
        if self.solver == "lbfgs":
            result = self._run_lbfgs(data, validation)
        else:
            data, held_out = self._hold_out(data, y, validation, rng, partial)
            result = self._run(data, held_out, rng, partial)
        self._store(result)
        return self

    def _start(self, data, rng):
        """Untrained weights and empty records."""
        self.n_outputs_, self.out_activation_ = self._outputs(data.Y)
        sizes = self._layer_sizes(int(data.X.shape[1]))
        self.n_layers_ = len(sizes)
        coefs, intercepts = nn.glorot_uniform(sizes, rng, self.activation)
        dtype = _float_dtype(data.X)
        self.coefs_ = [W.astype(dtype) for W in coefs]
        self.intercepts_ = [b.astype(dtype) for b in intercepts]
        self.t_ = 0
        self.loss_curve_ = []
        self.validation_scores_ = None
        self.best_loss_ = math.inf
        self.best_validation_score_ = None
        self._optimiser_state = None

    def _layer_sizes(self, width):
        """Columns of X and units of each hidden layer and of the output."""
        hidden = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=int))
        return [width, *hidden.tolist(), self.n_outputs_]

    def _check_same_net(self, Y):
        """Raise if parameters ask for another net than the one to go on with."""
        fitted_sizes = [W.shape[0] for W in self.coefs_] + [self.coefs_[-1].shape[1]]
        if self._layer_sizes(fitted_sizes[0]) != fitted_sizes:
            raise ValueError(
                f"hidden_layer_sizes is {self.hidden_layer_sizes}, but the fitted "
                f"layers have {fitted_sizes[1:-1]} units: keep it, or fit with "
                "warm_start=False."
            )
        ends = self._outputs(Y)
        if ends != (self.n_outputs_, self.out_activation_):
            raise ValueError(
                f"y and the parameters ask for {ends[0]} outputs ({ends[1]}), but the "
                f"fitted net has {self.n_outputs_} ({self.out_activation_}): fit with "
                "warm_start=False."
            )

    def _refuse_large_values(self, X):
        """Raise before training if gradients would overflow at once."""
        try:
            refuse_overflowing_squares(self, X)
        except ValueError as error:
            raise ValueError(
                "Solver produced non-finite parameter weights. The input data may "
                f"contain large values and need to be preprocessed: {error}"
            ) from None

    def _refuse_divergence(self, result):
        """The result, unless training made the net no better before it overflowed."""
        losses = np.asarray(result.history.get("loss", np.empty(0)))
        finite = losses[np.isfinite(losses)]
        improved = len(finite) > 1 and finite[-1] < finite[0]
        # early stopping has kept the weights of the best epoch
        scored = "validation_score" in result.history
        if result.reason != "diverged" or improved or scored:
            return result
        raise ValueError(
            "Solver produced non-finite parameter weights. The input data may contain "
            "large values and need to be preprocessed, or learning_rate_init of "
            f"{type(self).__name__} is too large."
        )

    def _net(self, dtype):
        as_arrays = lambda parts: [np.asarray(a, dtype=dtype) for a in parts]
        return nn.MLP(
            as_arrays(self.coefs_),
            as_arrays(self.intercepts_),
            activation=self.activation,
            head=self.out_activation_,
            alpha=self.alpha,
            dropout=self.dropout,
        )

    def _hold_out(self, data, y, validation, rng, partial):
        """Training rows and the rows to stop by: the user's, a share, or None."""
        if validation is not None:
            return data, self._given(validation)
        if not self.early_stopping:
            return data, None
        if partial:
            raise ValueError("partial_fit does not support early_stopping=True.")
        index = np.arange(data.X.shape[0])
        inside, outside = train_test_split(
            index,
            test_size=self.validation_fraction,
            random_state=draw_seed(rng),
            stratify=self._strata(y),
        )
        if len(outside) < 2:
            raise ValueError(
                "The validation set is too small. Raise validation_fraction or give "
                "more rows."
            )
        return data.take(inside), data.take(outside)

    def _given(self, validation):
        if not isinstance(validation, (tuple, list)) or len(validation) not in (2, 3):
            raise ValueError("validation must be (X, y) or (X, y, sample_weight).")
        X, y, *w = validation
        X = self._check_new_data(X, accept_sparse="csr")
        y = np.asarray(y) if not arrays.is_foreign(y) else y
        if len(y) != X.shape[0]:
            raise ValueError(f"validation has {X.shape[0]} rows, but {len(y)} targets.")
        w = arrays.asarray(w[0], X) if w else None
        return TrainingData(X, self._targets(y, X, False), w)

    def _run(self, data, held_out, rng, partial):
        n = int(data.X.shape[0])
        state = self._optimiser_state if partial else None
        stop = None if partial else self._stopping(held_out)
        evaluate = (
            None if held_out is None else lambda net: self._evaluate(net, held_out)
        )
        schedule = None
        if self.solver == "sgd" and self.learning_rate == "invscaling":
            schedule = inverse_scaling(self.power_t, self.t_)
        options: dict[str, Any] = dict(  # noqa: C408
            epochs=1 if partial else self.max_iter,
            batch_size=self._batch_size(n),
            optimiser=self._optimiser(),
            schedule=schedule,
            device=self._where(data.X),
            seed=rng,
            shuffle=bool(self.shuffle),
            valid=None if held_out is None else held_out.rows(),
            evaluate=evaluate,
            stop=stop,
            optimiser_state=state,
            checkpoint=self.checkpoint,
            resume=bool(self.resume),
        )
        if self.checkpoint is not None:
            options["tag"] = run_tag(self, data.X.shape, data)
        net = self._net(_float_dtype(data.X))
        return self._run_driver(
            lambda task: self._refuse_divergence(
                nn.train(net, data.rows(), task=task, **options)
            ),
            total=options["epochs"],
            X=data.X,
            y=data.Y,
            snapshot=lambda state: fitted_weights(state.net),
        )

    def _run_lbfgs(self, data, validation):
        for name, is_given in (
            ("validation", validation),
            ("checkpoint", self.checkpoint),
            ("dropout", self.dropout),
        ):
            if is_given:
                raise ValueError(f'{name} needs solver "adam" or "sgd", not "lbfgs".')
        if self.early_stopping:
            warnings.warn(
                'early_stopping has no effect with solver "lbfgs", which uses all rows '
                "and ends at the minimum of the loss.",
                UserWarning,
                stacklevel=4,
            )
        net = self._net(_float_dtype(data.X))
        return self._run_driver(
            lambda task: self._refuse_divergence(
                train_lbfgs(
                    net,
                    data.rows(),
                    max_iter=self.max_iter,
                    max_calls=self.max_fun,
                    tol=self.tol,
                    device=self._where(data.X),
                    task=task,
                )
            ),
            total=self.max_iter,
            X=data.X,
            y=data.Y,
            snapshot=lambda state: fitted_weights(state.net),
        )

    def _stopping(self, held_out):
        adaptive = self.solver == "sgd" and self.learning_rate == "adaptive"
        rule = nn.EarlyStopping(
            monitor="loss" if held_out is None else "validation_score",
            mode="min" if held_out is None else "max",
            patience=self.n_iter_no_change,
            tol=self.tol,
            restore=held_out is not None,
            cut=0.2 if adaptive else None,
            floor=1e-6 / self.learning_rate_init,
        )
        if held_out is None and self.best_loss_ is not None:
            return rule._replace(best=self.best_loss_)
        return rule._replace(best=self.best_validation_score_)

    def _optimiser(self):
        if self.solver == "adam":
            rates = (self.learning_rate_init, self.beta_1, self.beta_2, self.epsilon)
            return nn.Adam(*rates)
        nesterov = bool(self.nesterovs_momentum)
        return nn.SGD(self.learning_rate_init, self.momentum, nesterov)

    def _batch_size(self, n):
        if self.batch_size == "auto":
            return min(200, n)
        if self.batch_size > n:
            warnings.warn(
                f"batch_size is {self.batch_size}, but there are {n} rows; all of "
                "them make one batch.",
                stacklevel=5,
            )
        return min(self.batch_size, n)

    def _where(self, X):
        """The device: with "auto", that of a tensor; else as it says."""
        return X.device if self.device == "auto" and arrays.is_torch(X) else self.device

    def _evaluate(self, net, held_out):
        """Score of the held-out rows, as `score` would give it."""
        device = next(net.parameters()).device
        parts = [
            net(b[0])
            for b, _ in Batches(held_out.rows(), 4096, None, device).one_pass()
        ]
        F = np.concatenate([arrays.to_numpy(p) for p in parts])
        host = TrainingData(
            None, *(None if a is None else arrays.to_numpy(a) for a in held_out[1:])
        )
        score = self._rate(F, host) if np.isfinite(F).all() else math.nan
        return {"validation_score": float(score)}

    def _store(self, result):
        for name, value in fitted_weights(result.state.net).items():
            setattr(self, name, value)
        losses = result.history.get("loss", np.empty(0)).tolist()
        if losses:
            self.loss_ = losses[-1]
        elif not hasattr(self, "loss_"):
            self.loss_ = math.inf
        self.loss_curve_ = self.loss_curve_ + losses
        self.t_ += result.state.seen
        measured = result.history.get("validation_score")
        if measured is None:
            best = math.inf if self.best_loss_ is None else self.best_loss_
            self.best_loss_ = min([best, *losses])
        else:
            values = [*(self.validation_scores_ or []), *measured.tolist()]
            if result.reason == "diverged":  # the epoch after the last finite one
                values.append(math.nan)
            self.validation_scores_ = values
            self.best_loss_ = None
            self.best_validation_score_ = float(np.nanmax([*values, -math.inf]))
        slots = result.state.optimiser.items()
        self._optimiser_state = {k: arrays.to_numpy(v).copy() for k, v in slots}

    def as_module(self, dtype=np.float64) -> nn.MLP:
        """The fitted net as a torch module in this precision."""
        check_is_fitted(self, "coefs_")
        return self._net(dtype)

    def net_inputs(self, X) -> tuple:
        """New rows as the module takes them."""
        return (self._check_new_data(X),)

    def _scores(self, X) -> Any:
        """Raw scores of checked rows, by blocks."""
        X = self._check_new_data(X, accept_sparse="csr")
        parts = self.coefs_, self.intercepts_, self.activation
        return Rows(X, block=4096).map(lambda block: _forward_scores(block, *parts))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _float_dtype(X):
    """float32 or float64, after X."""
    return np.float32 if str(X.dtype).endswith("float32") else np.float64


def _stochastic(model):
    if model.solver == "lbfgs":
        raise AttributeError('partial_fit needs solver "adam" or "sgd", not "lbfgs".')
    return True


@dataclass(eq=False, repr=False)
class MLPClassifier(Classifier, AbstractMLP):
    """Multi-layer perceptron classifier; the module text gives the method.

    Two classes get one logistic output, more get softmax, columns of 0 and 1 are
    labels answered independently.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(100,)
        Units of each hidden layer; () makes a linear model.
    activation : {"identity", "logistic", "tanh", "relu"}, default="relu"
        What hidden units do to their sum.
    solver : {"adam", "sgd", "lbfgs"}, default="adam"
        "lbfgs" takes all rows at once and suits a few thousand of them.
    alpha : float, default=0.0001
        Penalty on the squared entries of the matrices, over the weight of a batch.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto" is at most 200.
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        For "sgd": fixed; falling as (rows seen)^-power_t; or a fifth each time
        patience runs out.
    learning_rate_init : float, default=0.001
        Step size of "adam" and "sgd".
    power_t : float, default=0.5
        Exponent of "invscaling".
    max_iter : int, default=200
        Passes over the data ("lbfgs": iterations).
    shuffle : bool, default=True
        Whether each pass takes the rows in a new order.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the first weights, the held-out rows, the order and dropout.
    tol : float, default=1e-4
        Least improvement of an epoch ("lbfgs": largest entry of the gradient).
    verbose : bool or int, default=False
        1: show a progress bar; more: print the loss of each iteration too.
    warm_start : bool, default=False
        Go on from the weights of the last fit.
    momentum, nesterovs_momentum : float, bool, default=0.9, True
        For "sgd".
    early_stopping : bool, default=False
        Hold out a share of the rows and stop by their score.
    validation_fraction : float, default=0.1
        That share. Rows of your own go to `fit` as `validation`.
    beta_1, beta_2, epsilon : float, default=0.9, 0.999, 1e-8
        For "adam".
    n_iter_no_change : int or inf, default=10
        Epochs without improvement that are borne.
    max_fun : int, default=15000
        Most evaluations of the loss for "lbfgs".
    dropout : float, default=0
        Chance that a hidden unit is left out of a training step.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train; "auto" takes the device of a tensor X, else a GPU if any.
    checkpoint : path or None, default=None
        File for the state of the run, written after each epoch.
    resume : bool, default=False
        Go on from `checkpoint` where it stopped; the result is that of one run.

    Attributes
    ----------
    classes_ : array
        Class labels, or the numbers of the label columns.
    coefs_, intercepts_ : list of arrays
        The matrix (m_{l-1}, m_l) and the bias of each layer.
    n_layers_, n_outputs_ : int
        Layers, input and output included; columns of the last.
    out_activation_ : str
        "softmax" or "logistic".
    loss_, best_loss_, loss_curve_ : float, float or None, list of float
        Last, lowest (None when stopped by held-out rows), and per epoch.
    validation_scores_, best_validation_score_ : list and float, or None
        Accuracy of the held-out rows per epoch, and the best.
    n_iter_, t_ : int
        Epochs, and rows seen.
    history_ : dict of arrays
        Per epoch: loss, valid_loss, validation_score, and speeds.
    converged_, interrupted_ : bool
        How training ended.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pansophy.neural_network import MLPClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MLPClassifier(64, random_state=0, device="cpu")
    >>> model = model.fit(X[:1000] / 16, y[:1000], validation=(X[1000:] / 16, y[1000:]))
    >>> bool(model.best_validation_score_ > 0.9)
    True
    """

    hidden_layer_sizes: LayerSizes = (100,)
    activation: Literal["identity", "logistic", "tanh", "relu"] = "relu"
    _: KW_ONLY

    _y_kind = "labels"

    def fit(self, X, y, sample_weight=None, validation=None):
        """Train until the loss, or the score of held-out rows, stops improving.

        Parameters
        ----------
        X : array, tensor or sparse matrix of shape (n, d)
        y : array of shape (n,), or (n, labels) of 0 and 1
        sample_weight : array of shape (n,) or None
        validation : (X, y) or (X, y, sample_weight) or None
            Rows of your own to stop by; turns early stopping on.
        """
        return self._fit(X, y, sample_weight, validation)

    @available_if(_stochastic)
    def partial_fit(self, X, y, sample_weight=None, classes=None):
        """One more pass over these rows; `classes` is needed at the first call."""
        if classes is None and not hasattr(self, "classes_"):
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return self._fit(X, y, sample_weight, partial=True, classes=classes)

    def _targets(self, y, X, first, *, warm=False, classes=None):
        """y as the net takes it: class numbers, one column of 0 and 1, or labels."""
        y = arrays.to_numpy(y) if arrays.is_foreign(y) else y
        y = y.toarray() if hasattr(y, "toarray") else y
        multilabel = y.ndim == 2 and y.shape[1] > 1
        if first:
            explanation = np.arange(y.shape[1]) if multilabel else np.unique(y)
            self.classes_ = explanation if classes is None else np.unique(classes)
            self._multilabel = multilabel
        elif classes is not None and not np.array_equal(
            self.classes_, np.unique(classes)
        ):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to "
                f"partial_fit, was: {self.classes_!r}"
            )
        if multilabel != self._multilabel or (
            multilabel and y.shape[1] != len(self.classes_)
        ):
            raise ValueError("y has another shape than at the first fit.")
        if warm and not (multilabel or np.array_equal(self.classes_, np.unique(y))):
            raise ValueError(
                "warm_start can only be used where `y` has the same classes as in the "
                f"previous call to fit. Previously got {self.classes_}, `y` has "
                f"{np.unique(y)}"
            )
        if multilabel:
            return y.astype(_float_dtype(X))
        return self._numbers(y.reshape(-1), X)

    def _numbers(self, y, X):
        z = np.searchsorted(self.classes_, y)
        z = np.minimum(z, len(self.classes_) - 1)
        if (self.classes_[z] != y).any():
            new = np.setdiff1d(y, self.classes_)
            raise ValueError(
                f"y has classes that the model does not know: {new!r}; it knows "
                f"{self.classes_!r}."
            )
        if len(self.classes_) == 2:
            return z.astype(_float_dtype(X))[:, None]
        return z

    def _outputs(self, Y):
        if Y.ndim == 2:
            return Y.shape[1], "logistic"
        return len(self.classes_), "softmax"

    def _strata(self, y):
        y = arrays.to_numpy(y)
        if y.ndim == 2 or np.unique(y, return_counts=True)[1].min() < 2:
            return None
        return y

    def _rate(self, F, held_out):
        """Share of rows (weighted) with every label right."""
        if held_out.Y.ndim == 1:
            right = F.argmax(1) == held_out.Y
        else:
            right = ((F > 0) == (held_out.Y > 0.5)).all(1)
        return np.average(right, weights=held_out.w)

    def predict_proba(self, X):
        """Probability of each class, or of each label."""
        F = self._scores(X)
        if self.out_activation_ == "softmax":
            return softmax(F)
        p = sigmoid(F)
        xp = arrays.namespace(p)
        return p if self._multilabel else xp.concat([1 - p, p], axis=1)

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, exact for small probabilities."""
        F = self._scores(X)
        if self.out_activation_ == "softmax":
            return log_softmax(F)
        xp = arrays.namespace(F)
        log_p = -log1pexp(-F)
        if not self._multilabel:
            return xp.concat([-log1pexp(F), log_p], axis=1)
        # labels of probability near 1 tie as in predict_proba
        return xp.where(F > 0, xp.log(sigmoid(xp.abs(F))), log_p)

    def predict(self, X):
        """The most probable class, or for each label 0 or 1."""
        F = self._scores(X)
        xp = arrays.namespace(F)
        if self._multilabel:
            return xp.astype(F > 0, xp.int64)
        if self.out_activation_ == "softmax":
            z = xp.argmax(F, axis=1)
        else:
            z = xp.astype(F[:, 0] > 0, xp.int64)
        if arrays.is_foreign(F) and self.classes_.dtype.kind in "iufb":
            return xp.asarray(self.classes_, device=arrays.device(F))[z]
        return self.classes_[arrays.to_numpy(z)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@dataclass(eq=False, repr=False)
class MLPRegressor(Regressor, AbstractMLP):
    """Multi-layer perceptron regressor; the module text gives the method.

    Several outputs share the hidden layers; `loss_` then sums over them.

    Parameters
    ----------
    loss : {"squared_error", "poisson"}, default="squared_error"
        Half the squared error, or half the Poisson deviance with an exponential
        output, for counts.
    hidden_layer_sizes : int or sequence of int, default=(100,)
        Units of each hidden layer; () makes a linear model.
    activation : {"identity", "logistic", "tanh", "relu"}, default="relu"
        What hidden units do to their sum.
    solver : {"adam", "sgd", "lbfgs"}, default="adam"
        "lbfgs" takes all rows at once and suits a few thousand of them.
    alpha : float, default=0.0001
        Penalty on the squared entries of the matrices, over the weight of a batch.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto" is at most 200.
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        For "sgd": fixed; falling as (rows seen)^-power_t; or a fifth each time
        patience runs out.
    learning_rate_init : float, default=0.001
        Step size of "adam" and "sgd".
    power_t : float, default=0.5
        Exponent of "invscaling".
    max_iter : int, default=200
        Passes over the data ("lbfgs": iterations).
    shuffle : bool, default=True
        Whether each pass takes the rows in a new order.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the first weights, the held-out rows, the order and dropout.
    tol : float, default=1e-4
        Least improvement of an epoch ("lbfgs": largest entry of the gradient).
    verbose : bool or int, default=False
        1: show a progress bar; more: print the loss of each iteration too.
    warm_start : bool, default=False
        Go on from the weights of the last fit.
    momentum, nesterovs_momentum : float, bool, default=0.9, True
        For "sgd".
    early_stopping : bool, default=False
        Hold out a share of the rows and stop by their score.
    validation_fraction : float, default=0.1
        That share. Rows of your own go to `fit` as `validation`.
    beta_1, beta_2, epsilon : float, default=0.9, 0.999, 1e-8
        For "adam".
    n_iter_no_change : int or inf, default=10
        Epochs without improvement that are borne.
    max_fun : int, default=15000
        Most evaluations of the loss for "lbfgs".
    dropout : float, default=0
        Chance that a hidden unit is left out of a training step.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train; "auto" takes the device of a tensor X, else a GPU if any.
    checkpoint : path or None, default=None
        File for the state of the run, written after each epoch.
    resume : bool, default=False
        Go on from `checkpoint` where it stopped; the result is that of one run.

    Attributes
    ----------
    coefs_, intercepts_ : list of arrays
        The matrix (m_{l-1}, m_l) and the bias of each layer.
    n_layers_, n_outputs_ : int
        Layers, input and output included; columns of the last.
    out_activation_ : str
        "identity" or "exp".
    loss_, best_loss_, loss_curve_ : float, float or None, list of float
        Last, lowest (None when stopped by held-out rows), and per epoch.
    validation_scores_, best_validation_score_ : list and float, or None
        R^2 of the held-out rows per epoch, and the best.
    n_iter_, t_ : int
        Epochs, and rows seen.
    history_ : dict of arrays
        Per epoch: loss, valid_loss, validation_score, and speeds.
    converged_, interrupted_ : bool
        How training ended.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neural_network import MLPRegressor
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = MLPRegressor(
    ...     hidden_layer_sizes=20, activation="tanh", solver="lbfgs", alpha=0,
    ...     max_iter=500, tol=1e-3, random_state=0, device="cpu",
    ... ).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[0.5]]).round(1)
    array([0.5])
    """

    loss: Literal["squared_error", "poisson"] = "squared_error"
    hidden_layer_sizes: LayerSizes = (100,)
    activation: Literal["identity", "logistic", "tanh", "relu"] = "relu"
    _: KW_ONLY

    _y_kind = "numbers"

    def fit(self, X, y, sample_weight=None, validation=None):
        """Train until the loss, or the score of held-out rows, stops improving.

        Parameters
        ----------
        X : array, tensor or sparse matrix of shape (n, d)
        y : array of shape (n,) or (n, outputs)
        sample_weight : array of shape (n,) or None
        validation : (X, y) or (X, y, sample_weight) or None
            Rows of your own to stop by; turns early stopping on.
        """
        return self._fit(X, y, sample_weight, validation)

    @available_if(_stochastic)
    def partial_fit(self, X, y, sample_weight=None):
        """One more pass over these rows."""
        return self._fit(X, y, sample_weight, partial=True)

    def _targets(self, y, X, first, *, warm=False):
        xp = arrays.namespace(y)
        Y = arrays.asarray(y, X) if arrays.is_foreign(X) else y.astype(_float_dtype(X))
        Y = Y[:, None] if Y.ndim == 1 else Y
        if not first and Y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y has {Y.shape[1]} outputs, but the model has {self.n_outputs_}."
            )
        if self.loss == "poisson" and bool(xp.any(Y < 0)):
            raise ValueError("y must not be negative when loss is 'poisson'.")
        return Y

    def _outputs(self, Y):
        return int(Y.shape[1]), "exp" if self.loss == "poisson" else "identity"

    def _strata(self, y):
        return None

    def _rate(self, F, held_out):
        """R^2 of the predictions (weighted), averaged over the outputs."""
        mean = np.exp(F) if self.loss == "poisson" else F
        return r2_score(held_out.Y, mean, sample_weight=held_out.w)

    def predict(self, X):
        """The predicted number, or numbers, of each row."""
        F = self._scores(X)
        xp = arrays.namespace(F)
        mean = xp.exp(F) if self.out_activation_ == "exp" else F
        return mean[:, 0] if self.n_outputs_ == 1 else mean

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
