"""A trained net as a feature extractor: what one of its layers says of each row.

The net is cut at a layer, and the activations there are columns for any other model
(a support vector machine on the features of a convolutional net, for instance).
"""

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ...base import Estimator, PrefixedOutput, Transformer
from ...core.arrays.ragged import Ragged
from ...params import ParameterRule, check_params
from ..inspection.model_size import fitted_nets
from .mlp import MLP

BLOCK = 1024  # rows that go through a net at once


def _is_perceptron(model) -> bool:
    """Whether a model is a fitted estimator that keeps its weights as arrays."""
    return hasattr(model, "coefs_") and hasattr(model, "as_module")


TrainedNet = Annotated[
    Any,
    ParameterRule(
        "a fitted estimator with nets or a torch module",
        lambda v: isinstance(v, nn.Module) or hasattr(v, "nets_") or _is_perceptron(v),
    ),
]


@contextmanager
def _recorded_layer(net: nn.Module, layer: str | None):
    """A list that gets the output of a layer in each pass through the net.

    None: the input of the last linear layer, that is the features it weighs.
    """
    seen: list[Tensor] = []
    if layer is not None:
        hook = net.get_submodule(layer).register_forward_hook(
            lambda module, inputs, output: seen.append(output)
        )
    else:
        last = [m for m in net.modules() if isinstance(m, nn.Linear)]
        if not last:
            raise ValueError("the net has no linear layer: name the layer to take.")
        hook = last[-1].register_forward_pre_hook(
            lambda module, inputs: seen.append(inputs[0])
        )
    try:
        yield seen
    finally:
        hook.remove()


@torch.no_grad()
def layer_outputs(net: nn.Module, *inputs, layer: str | None = None) -> Tensor:
    """Outputs of a layer for these inputs, in the mode the net predicts in.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import ConvNet, layer_outputs
    >>> net = ConvNet((1, 8, 8), 10, n_filters=(4,))
    >>> layer_outputs(net, torch.zeros(2, 1, 8, 8), layer="blocks.0.0").shape
    torch.Size([2, 4, 8, 8])
    """
    was_training = net.training
    net.eval()
    try:
        if layer is None and isinstance(net, MLP):  # which has no linear modules
            return net.forward_pass(*inputs)[-2]
        with _recorded_layer(net, layer) as seen:
            net(*inputs)
    finally:
        net.train(was_training)
    return seen[-1]


def net_and_inputs(model, X) -> list[tuple[nn.Module, tuple]]:
    """The nets of an estimator, or a torch module, with rows as they take them."""
    nets = fitted_nets(model)
    if isinstance(model, nn.Module):
        parts = X if isinstance(X, tuple) else (X,)
        like = next(model.parameters(), torch.zeros(()))
        tensors = tuple(torch.as_tensor(a, device=like.device) for a in parts)
        tensors = tuple(
            a.to(like.dtype) if a.is_floating_point() else a for a in tensors
        )
        return [(model, tensors)]
    parts = []
    for a in model.net_inputs(X):
        # sequences go padded, with their lengths
        parts += [a.padded()[0], a.lengths] if isinstance(a, Ragged) else [a]
    inputs = tuple(torch.from_numpy(a) for a in parts)
    dtype = next(nets[0].parameters()).dtype
    inputs = tuple(a.to(dtype) if a.is_floating_point() else a for a in inputs)
    return [(net, inputs) for net in nets]


def takes_sequences(model) -> bool:
    """Whether a fitted estimator takes sequences."""
    return hasattr(model, "series_length_")


@dataclass(eq=False, repr=False)
class FeatureExtractor(PrefixedOutput, Transformer, Estimator):
    """Features of rows: the activations at a layer of a trained net.

    Nothing is learnt in `fit`, and a clone has the same trained net, as with
    scikit-learn's `FrozenEstimator`.

    Parameters
    ----------
    model : fitted estimator with nets, torch module or None, default=None
        A `ConvClassifier` for instance. None passes the rows on as they are.
    layer : str or None, default=None
        Name of a submodule of the net ("blocks.0.0"); None: what the output layer sees.

    Attributes
    ----------
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neural_network import ConvClassifier
    >>> from pansophy.nn import FeatureExtractor
    >>> images = np.random.default_rng(0).random((20, 4, 4))
    >>> y = np.arange(20) % 2
    >>> net = ConvClassifier(n_filters=(3,), n_epochs=2, device="cpu").fit(images, y)
    >>> FeatureExtractor(net).fit_transform(images).shape
    (20, 128)
    """

    model: TrainedNet | None = None
    layer: str | None = None

    _tensors = False

    def fit(self, X, y=None):
        """Look at the shape of the features; the net stays as it is."""
        check_params(self)
        if self.model is None:
            (X, _) = self._check_training_data(X)
            self._n_features_out = X.shape[1]
            return self
        if takes_sequences(self.model):
            if not len(X):
                raise ValueError("X must hold at least one sequence.")
            self.n_features_in_ = self.model.n_features_in_
            self._n_features_out = self._features(X[:1]).shape[1]
            return self
        shape = np.shape(X)
        if len(shape) < 2 or shape[0] == 0:
            raise ValueError(f"X must have rows and columns, got the shape {shape}.")
        self.n_features_in_ = int(np.prod(shape[1:]))
        self._n_features_out = self._features(X[:1]).shape[1]
        return self

    def transform(self, X):
        """Features of each row: (n, units), the nets of an ensemble side by side."""
        check_is_fitted(self, "n_features_in_")
        if self.model is None:
            return self._check_new_data(X)
        return self._features(X)

    def _features(self, X):
        columns = []
        for net, inputs in net_and_inputs(self.model, X):
            blocks = zip(*(torch.split(a, BLOCK) for a in inputs))
            parts = [layer_outputs(net, *block, layer=self.layer) for block in blocks]
            columns.append(torch.cat(parts).flatten(1).cpu().numpy())
        return np.concatenate(columns, axis=1)

    def __sklearn_clone__(self):
        return type(self)(self.model, self.layer)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = self.model is not None
        return tags
