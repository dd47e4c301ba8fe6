"""Multi-layer perceptrons for classes and for numbers.

A stack of linear maps with an activation between them, trained on cross-entropy,
squares or Poisson deviance plus a penalty alpha on the matrices. The mathematics is
in `nn.mlp`, the loop in `nn.train`, what both estimators share in `perceptron`.

Shapes    X (n, d)   y (n,), (n, labels) or (n, outputs)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if

from ..base import Classifier, Regressor
from ..core import arrays
from ..core.numerics import log1pexp, log_softmax, sigmoid, softmax
from .perceptron import AbstractMLP, Sizes, float_type


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
        Show a progress bar.
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
        Per epoch: loss, valid_loss, validation_score.
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

    hidden_layer_sizes: Sizes = (100,)
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

    def _targets(self, y, X, first, *, partial=False, classes=None):
        """y as the net takes it: class numbers, one column of 0 and 1, or labels."""
        y = arrays.to_numpy(y) if arrays.is_foreign(y) else y
        y = y.toarray() if hasattr(y, "toarray") else y
        multilabel = y.ndim == 2 and y.shape[1] > 1
        if first:
            found = np.arange(y.shape[1]) if multilabel else np.unique(y)
            self.classes_ = found if classes is None else np.unique(classes)
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
        if multilabel:
            return y.astype(float_type(X))
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
            return z.astype(float_type(X))[:, None]
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

    def _rate(self, F, held):
        """Share of rows (weighted) with every label right."""
        if held.Y.ndim == 1:
            right = F.argmax(1) == held.Y
        else:
            right = ((F > 0) == (held.Y > 0.5)).all(1)
        return np.average(right, weights=held.w)

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
        p = -log1pexp(-F)
        return p if self._multilabel else xp.concat([-log1pexp(F), p], axis=1)

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
        Show a progress bar.
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
        Per epoch: loss, valid_loss, validation_score.
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
    hidden_layer_sizes: Sizes = (100,)
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

    def _targets(self, y, X, first, *, partial=False):
        xp = arrays.namespace(y)
        Y = arrays.asarray(y, X) if arrays.is_foreign(X) else y.astype(float_type(X))
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

    def _rate(self, F, held):
        """R^2 of the predictions (weighted), averaged over the outputs."""
        mean = np.exp(F) if self.loss == "poisson" else F
        return r2_score(held.Y, mean, sample_weight=held.w)

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
