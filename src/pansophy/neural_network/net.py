"""Classifier and regressor around a torch module of the user's own.

The module f maps rows to scores F = f(X) of shape (n, k), and is fitted by `nn.train`
to minimise the mean of a loss l over rows,

    (1/n) sum_i l(f(x_i), y_i),                                                   (1)

by the drivers, ensembles and dropout passes of `abstract_net`. Dtypes and shapes of
targets follow the rule of `nn.training.supervised_losses`, which also finds the loss:
a name, a torch loss, a `pansophy.losses.Loss`, or a function of (output, target).

Scores of a classifier become probabilities by softmax; one column of scores, for two
classes, by the logistic function. Outputs of a log-softmax are left as they are by
that, so a module for `NLLLoss` needs no change.

Saving. `pansophy.save` writes weights and plain attributes, never code. A module class
or loss function of the user's must be on the list of names that may be loaded:
`persist.register(MyModule)` in the process that saves and in the one that loads.

Shapes    X (n, ...)   y (n,) or (n, outputs)   F (n, k)
"""

import copy
import inspect
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from ..base import host_array
from ..core.arrays.unreadable import array_of_rows
from ..losses import Loss
from ..nn.training.supervised_losses import SupervisedLosses
from ..params import Flag, ParameterRule, Positive, check_params
from .abstract_net import AbstractNet, AbstractNetClassifier, AbstractNetRegressor

INPUT_NAMES = ("n_features", "n_inputs", "in_features", "input_size", "input_dim")
OUTPUT_NAMES = ("n_outputs", "n_classes", "out_features", "output_size", "output_dim")
SCALE_FREE_LOSSES = ("squared_error", "absolute_error", "mse", "mae", "l1", "l2")
PREFIX = "module__"
LossChoice = Annotated[
    Any,
    ParameterRule(
        "a name, a torch loss, a Loss or a function of (output, target)",
        lambda v: isinstance(v, (str, Loss)) or callable(v),
    ),
]
ModuleChoice = Annotated[
    Any,
    ParameterRule(
        "a torch module, its class, a function that makes one, or None",
        lambda v: v is None or callable(v),
    ),
]


def _default_module(n_features, n_outputs):
    """One hidden layer, for rows of numbers."""
    return torch.nn.Sequential(
        torch.nn.Linear(n_features, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, n_outputs),
    )


def _build_module(module, options, n_features, n_outputs):
    """A module from a class, a function that makes one, or one to be copied.

    Parameters of the class that are called after the sizes of input and output
    (`INPUT_NAMES`, `OUTPUT_NAMES`) are filled in unless the options have them.
    """
    if isinstance(module, torch.nn.Module):
        if options:
            raise ValueError(
                "module_options are arguments of a class, but module is an object: "
                "give its class, or a function that makes it."
            )
        return copy.deepcopy(module)
    if not callable(module):
        raise TypeError(
            "module must be a torch module, its class, or a function that makes one, "
            f"got {module!r}."
        )
    known = inspect.signature(module).parameters
    sizes = {name: n_features for name in INPUT_NAMES if name in known}
    sizes |= {name: n_outputs for name in OUTPUT_NAMES if name in known}
    instance = module(**{**sizes, **options})
    if not isinstance(instance, torch.nn.Module):
        raise TypeError(f"module made {instance!r}, which is no torch module.")
    return instance


def _reset_weights(module) -> None:
    """New random weights for all layers that can draw them."""
    for layer in module.modules():
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()


@dataclass(eq=False, repr=False)
class AbstractModuleNet(AbstractNet):
    """Estimators around a module of the user's: their own parameters.

    Parameters
    ----------
    module : torch module, its class, a function that makes one, or None, default=None
        A class or function gets `module_options`, and the sizes of input and output
        where it has parameters called `n_features` (n_inputs, in_features, input_size,
        input_dim) and `n_outputs` (n_classes, out_features, output_size, output_dim).
        An object is copied for each fit. None: one hidden layer of 64 units.
    module_options : dict or None, default=None
        Arguments of the class; in searches they are `module__<name>`.
    """

    module: ModuleChoice = None
    _: KW_ONLY
    module_options: dict | None = None
    learning_rate_init: Positive = 0.01

    def fit(self, X, y, sample_weight=None, validation=None):
        """Train the module from its start.

        Parameters
        ----------
        X : array of shape (n, ...)
            Whole numbers reach the module as such if it has an embedding.
        y : array of shape (n,), or (n, outputs) of numbers
        sample_weight : array of shape (n,) or None
            Needs a loss with a value for each row; those of torch have it.
        validation : (X, y) or (X, y, sample_weight) or None
            Rows of your own to stop by; turns early stopping on.
        """
        return self._fit(X, y, sample_weight, validation)

    def get_params(self, deep=True):
        """The parameters; with `deep` also those of the module, as `module__<name>`."""
        params = super().get_params(deep=deep)
        if deep:
            options = self.module_options
            options = options if isinstance(options, dict) else {}
            params |= {f"{PREFIX}{name}": value for name, value in options.items()}
        return params

    def set_params(self, **params):
        """Set parameters; `module__<name>` sets an argument of the module's class."""
        options = {
            name.removeprefix(PREFIX): params.pop(name)
            for name in list(params)
            if name.startswith(PREFIX)
        }
        super().set_params(**params)
        if options:
            self.module_options = {**(self.module_options or {}), **options}
        return self

    # -- rows ----------------------------------------------------------------------

    def _check_inputs(self, X, y, sample_weight):
        check_params(self)
        X, flat = flat_rows(host_array(self, X))
        self.input_shape_ = X.shape[1:]
        flat, y, w = self._check_training_data(
            flat, y, sample_weight, y_kind=self._y_kind
        )
        return (_shaped_rows(X, flat),), y, w

    def _check_new_inputs(self, X):
        X, flat = flat_rows(host_array(self, X))
        flat = self._check_new_data(flat)
        if X.shape[1:] != self.input_shape_:
            raise ValueError(
                f"rows of X have the shape {X.shape[1:]}, but the module was trained "
                f"on {self.input_shape_}."
            )
        return (_shaped_rows(X, flat),)

    def _learn_inputs(self, inputs, w):
        self._first_rows = tuple(a[:2] for a in inputs)
        return inputs

    # -- the module ----------------------------------------------------------------

    def _build_net(self, n_outputs, head):
        n_features = int(np.prod(self.input_shape_))
        options = self.module_options or {}
        module = _default_module if self.module is None else self.module
        net = _build_module(module, options, n_features, n_outputs)
        output = self._first_output(net)
        if self.n_estimators > 1 and isinstance(self.module, torch.nn.Module):
            _reset_weights(net)  # members start from different weights
        self._check_output(output, n_outputs)
        return net

    def _first_output(self, net):
        """The output of two rows, which also makes the weights of lazy layers."""
        cast = SupervisedLosses(net, "squared_error").cast_input
        rows = [cast(torch.from_numpy(np.array(a))) for a in self._first_rows]
        state = net.training
        net.eval()
        try:
            with torch.no_grad():
                output = net(*rows)
        except RuntimeError as error:
            shapes = " and ".join(str(tuple(row.shape)) for row in rows)
            raise ValueError(
                f"the module of {type(self).__name__} does not take rows of the shape "
                f"{shapes}: {type(error).__name__} in its forward pass."
            ) from error
        net.train(state)
        if not isinstance(output, torch.Tensor) or output.ndim not in (1, 2):
            shape = getattr(output, "shape", type(output).__name__)
            raise ValueError(
                "the module must give a tensor of shape (rows, outputs), but gives "
                f"{tuple(shape) if not isinstance(shape, str) else shape}."
            )
        return output

    def _fit(self, X, y, sample_weight, validation=None, **options):
        try:
            return super()._fit(X, y, sample_weight, validation, **options)
        finally:
            if hasattr(self, "_first_rows"):
                del self._first_rows

    def _train(self, nets, rows, held_out, rng, *, one_pass=False):
        if held_out is not None and (rows.w is None) != (held_out.w is None):
            ones = lambda part: part._replace(w=np.ones(len(part.inputs[0])))
            rows = ones(rows) if rows.w is None else rows
            held_out = ones(held_out) if held_out.w is None else held_out
        self._has_weights = rows.w is not None
        try:
            super()._train(nets, rows, held_out, rng, one_pass=one_pass)
        finally:
            del self._has_weights

    def _training_options(self, net, n, valid):
        options = super()._training_options(net, n, valid)
        return {**options, "loss": self._loss(net), "weighted": self._has_weights}

    def _net_outputs(self, net, inputs, device, dtype):
        cast = SupervisedLosses(net, "squared_error").cast_input
        block = lambda *rows: net(*map(cast, rows))
        return super()._net_outputs(TwoColumns(block), inputs, device, dtype)

    def fine_tune(self, X, y, sample_weight=None, *, layers=()):
        """A new model trained further on rows of the same kind.

        Parameters
        ----------
        X, y, sample_weight
            Rows of the new task, with the same classes or outputs.
        layers : names of submodules, default=()
            What learns; all else keeps its weights. None named: everything learns.

        Returns
        -------
        a fitted estimator of the same kind; this one is not changed
        """
        from .. import nn

        check_is_fitted(self)
        model = copy.copy(self)
        model.__dict__ = dict(self.__dict__)
        model.nets_ = [copy.deepcopy(net) for net in self.nets_]
        if layers:
            model.nets_ = [nn.unfreeze(nn.freeze(net), *layers) for net in model.nets_]
        return model._continue_fit(X, y, sample_weight)


class TwoColumns:
    """Outputs (n,) of a function of tensors as (n, 1); others as they are."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *inputs):
        output = self.function(*inputs)
        return output.reshape(len(output), -1)


def flat_rows(X):
    """X as given or as an array, and its rows as vectors for the checks."""
    if isinstance(X, (list, tuple)):
        X = array_of_rows(X)
    if isinstance(X, np.ndarray) and X.ndim > 2:
        return X, X.reshape(len(X), -1)
    return (X if hasattr(X, "shape") else np.asarray(X)), X


def _shaped_rows(X, checked):
    """Checked rows in the shape of X; whole numbers stay such, e.g. codes of words."""
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    return np.asarray(X) if kind in ("i", "u", "b") else checked.reshape(X.shape)


@dataclass(eq=False, repr=False)
class NetClassifier(AbstractModuleNet, AbstractNetClassifier):
    """Classifier around a torch module of your own; the module text gives the rules.

    Parameters
    ----------
    module : torch module, its class, a function that makes one, or None, default=None
        What maps rows to scores: a column for each class, or one for two classes.
    loss : str, torch loss, `losses.Loss` or function of (output, target), \
default="auto"
        "auto": cross-entropy of the scores.

    Attributes
    ----------
    classes_ : array
    input_shape_ : tuple
        Shape of one row.

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_iris
    >>> from pansophy.neural_network import NetClassifier
    >>> class Mine(torch.nn.Module):
    ...     def __init__(self, n_features, n_classes, hidden=8):
    ...         super().__init__()
    ...         self.hidden = torch.nn.Linear(n_features, hidden)
    ...         self.scores = torch.nn.Linear(hidden, n_classes)
    ...
    ...     def forward(self, X):
    ...         return self.scores(torch.relu(self.hidden(X)))
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NetClassifier(Mine, module_options={"hidden": 16}, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    >>> model.set_params(module__hidden=4).module_options
    {'hidden': 4}
    """

    _: KW_ONLY
    loss: LossChoice = "auto"

    def _loss(self, net):
        if not isinstance(self.loss, str) or self.loss != "auto":
            return self.loss
        return "binary_cross_entropy" if self.one_column_ else "cross_entropy"

    def _check_output(self, output, n_outputs):
        k = 1 if output.ndim == 1 else output.shape[1]
        self.one_column_ = k == 1 and n_outputs <= 2
        if not self.one_column_ and k != n_outputs:
            raise ValueError(
                f"the module gives {k} scores for a row, but y has {n_outputs} classes."
            )

    def _net_outputs(self, net, inputs, device, dtype):
        F = super()._net_outputs(net, inputs, device, dtype)
        if F.shape[1] == 1 and len(self.classes_) == 2:
            F = np.hstack([np.zeros_like(F), F])
        return F


@dataclass(eq=False, repr=False)
class NetRegressor(AbstractModuleNet, AbstractNetRegressor):
    """Regressor around a torch module of your own; the module text gives the rules.

    Parameters
    ----------
    module : torch module, its class, a function that makes one, or None, default=None
        What maps rows to numbers, one column for each output.
    loss : str, torch loss, `losses.Loss` or function of (output, target), \
default="squared_error"
    normalize_y : bool or "auto", default="auto"
        Whether y is centred and scaled for training. "auto": if the loss is the squared
        or the absolute error by name, to which it makes no difference.

    Attributes
    ----------
    input_shape_ : tuple
        Shape of one row.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pansophy.neural_network import NetRegressor
    >>> X = np.random.default_rng(0).uniform(-2, 2, (300, 2))
    >>> y = np.abs(X[:, 0]) + X[:, 1]
    >>> net = torch.nn.Sequential(
    ...     torch.nn.LazyLinear(32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
    ... )
    >>> above = lambda output, target: torch.maximum(  # the 0.9 quantile
    ...     0.9 * (target - output), 0.1 * (output - target)
    ... )
    >>> model = NetRegressor(net, loss=above, n_epochs=60, random_state=0).fit(X, y)
    >>> bool(abs(np.mean(y < model.predict(X)) - 0.9) < 0.05)
    True
    """

    _: KW_ONLY
    loss: LossChoice = "squared_error"
    normalize_y: Flag | Literal["auto"] = "auto"

    def _loss(self, net):
        return self.loss

    def _learn_target(self, y, w):
        super()._learn_target(y, w)
        scale = self.normalize_y
        if isinstance(scale, str):
            scale = isinstance(self.loss, str) and self.loss in SCALE_FREE_LOSSES
        if not scale:
            self.target_mean_ = np.zeros_like(self.target_mean_)
            self.target_scale_ = np.ones_like(self.target_scale_)

    def _outputs(self):
        return len(self.target_mean_), "identity"

    def _check_output(self, output, n_outputs):
        k = 1 if output.ndim == 1 else output.shape[1]
        if k != n_outputs:
            raise ValueError(
                f"the module gives {k} numbers for a row, but y has {n_outputs}."
            )
