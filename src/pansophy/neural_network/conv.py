"""Convolutional networks for images: classifier and regressor.

Blocks of convolutions and pooling, then dense layers (`nn.conv_net`), trained as
`abstract_net` says. Pixels are centred and scaled by channel with the mean and the
standard deviation of the training images. Training images may be shifted, turned,
scaled, mirrored and made noisy at random (`nn.augmentation`); images to predict never.

Images come as an array (n, h, w) or (n, h, w, channels), as flat rows with
`image_shape`, as the path of a folder with one subfolder for each class, or as a list
of paths. Bytes stay bytes in memory. Flat rows without `image_shape` are square images
if their length is a square number, else images of one row of pixels (a signal).

Shapes    X (n, h, w), (n, h, w, channels) or (n, h w channels)   y (n,) or (n, outputs)
Refs      [LeCun1998]; [Ioffe2015]
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np

from .. import nn
from ..base import host_array
from ..core.weighted import check_sample_weight
from ..params import Count, Flag, ParameterRule, Positive, check_params
from .abstract_net import AbstractNetClassifier, AbstractNetRegressor
from .image_files import image_paths, is_image_folder, read_images
from .mlp import FractionBelowOne, LayerSizes

STRENGTHS = nn.Augmentation._fields
LARGEST_PIXEL = (
    1e15  # its square, summed over an image, is far below the largest float32
)


def are_positive_counts(value):
    sizes = np.asarray(value)
    whole = sizes.ndim == 1 and sizes.size in (2, 3) and sizes.dtype.kind in "iu"
    return whole and bool((sizes > 0).all())


def is_augmentation(value):
    return isinstance(value, dict) and set(value) <= set(STRENGTHS)


ImageShape = Annotated[
    Any,
    ParameterRule(
        "height and width, or height, width and channels", are_positive_counts
    ),
]
Strengths = Annotated[
    dict, ParameterRule(f"a dict of {', '.join(STRENGTHS)}", is_augmentation)
]
Normalisation = Literal["batch", "group", "layer"] | None
Activation = Literal["relu", "leaky", "elu", "tanh", "logistic", "identity"]


def flat_image_shape(width, image_shape) -> tuple[int, int, int]:
    """Height, width and channels of images that come as rows of `width` numbers."""
    if image_shape is not None:
        h, w, channels = (*(int(n) for n in image_shape), 1)[:3]
        if h * w * channels != width:
            raise ValueError(
                f"image_shape is {tuple(image_shape)}, which makes {h * w * channels} "
                f"values, but the rows of X have {width}."
            )
        return h, w, channels
    side = math.isqrt(width)
    if side * side == width:
        return side, side, 1
    side = math.isqrt(width // 3)
    if width % 3 == 0 and side >= 8 and 3 * side * side == width:
        raise ValueError(
            f"rows of {width} values could be {side} x {side} images of three colours: "
            f"say image_shape=({side}, {side}, 3), or what they are."
        )
    return 1, width, 1


def flat_images(model, X, *, reset):
    """Rows of pixels, the shape (h, w, channels), and classes of folders or None."""
    classes = None
    given = model.image_shape if reset else model.image_shape_
    if is_image_folder(X):
        paths, classes = image_paths(X)
        X = read_images(paths, given)
    X = host_array(model, X)
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    if len(shape) not in (3, 4):
        return X, None, classes
    found = (*shape[1:], 1)[:3]
    wanted = None if given is None else (*(int(n) for n in given), 1)[:3]
    if wanted is not None and found != wanted:
        raise ValueError(
            f"images have the shape {shape[1:]}, but {type(model).__name__} is "
            f"expecting {tuple(given)}."
        )
    return np.asarray(X).reshape(len(X), -1), found, classes


def check_images(model, X, y, sample_weight):
    """Training images as (n, channels, h, w), y and weights; sets `image_shape_`."""
    check_params(model)
    flat, shape, classes = flat_images(model, X, reset=True)
    if classes is not None and y is None:
        y = np.array(classes)
    if y is None and is_image_folder(X):
        raise ValueError("y is needed: the folder of X has no subfolders for classes.")
    if y is not None and is_image_folder(X) and len(y) != len(flat):
        raise ValueError(f"X has {len(flat)} images, but y has {len(y)} entries.")
    flat, y, w = model._check_training_data(
        flat, y, y_kind=model._y_kind, sample_weight=sample_weight, **pixel_types(flat)
    )
    model.image_shape_ = shape or flat_image_shape(flat.shape[1], model.image_shape)
    largest = max(abs(float(flat.max())), abs(float(flat.min())))
    if largest > LARGEST_PIXEL:
        raise ValueError(
            f"X of {type(model).__name__} holds values up to {largest:.0e}, too large "
            "for float32: divide them."
        )
    if w is not None:
        w = check_sample_weight(w, len(flat))
    return (as_channels(flat, model.image_shape_),), y, w


def check_new_images(model, X):
    """Images to predict as (n, channels, h, w)."""
    flat, _, _ = flat_images(model, X, reset=False)
    flat = model._check_new_data(flat, **pixel_types(flat))
    return (as_channels(flat, model.image_shape_),)


def pixel_types(X):
    """Bytes stay bytes; all else becomes float."""
    return {"dtype": np.uint8} if getattr(X, "dtype", None) == np.uint8 else {}


def as_channels(flat, shape):
    """Flat images as (n, channels, h, w)."""
    return np.ascontiguousarray(np.moveaxis(flat.reshape(-1, *shape), 3, 1))


def learn_pixel_scaling(model, inputs, w):
    """Mean and standard deviation of each channel over the training images."""
    (X,) = inputs
    places = X.mean(axis=(2, 3), dtype=np.float64)
    squares = np.stack([np.square(x, dtype=np.float64).mean(axis=(1, 2)) for x in X])
    mean = np.average(places, axis=0, weights=w)
    spread = np.sqrt(np.maximum(np.average(squares, axis=0, weights=w) - mean**2, 0))
    flat = spread <= 1e-6 * np.abs(mean)
    model.pixel_mean_ = mean
    model.pixel_scale_ = np.where(flat, 1.0, spread)
    return inputs


def build_conv_net(model, n_outputs, head):
    """The net of an estimator's parameters."""
    h, w, channels = model.image_shape_
    filters = np.atleast_1d(model.n_filters).tolist()
    net = nn.ConvNet(
        (channels, h, w),
        n_outputs,
        n_filters=[(k,) * model.convs_per_block for k in filters],
        kernel_size=model.kernel_size,
        pool_size=model.pool_size,
        pooling=model.pooling,
        global_pooling=bool(model.global_pooling),
        hidden_layer_sizes=np.atleast_1d(
            np.asarray(model.hidden_layer_sizes, int)
        ).tolist(),
        normalisation=model.normalisation,
        activation=model.activation,
        dropout=model.dropout,
        head=head,
    )
    if model.augment:
        net.augmentation = nn.Augmentation(**model.augment)
    net.set_pixel_scaling(model.pixel_mean_, model.pixel_scale_)
    return net


@dataclass(eq=False, repr=False)
class ConvClassifier(AbstractNetClassifier):
    """Convolutional network for classes of images; the module text gives the method.

    Parameters
    ----------
    n_filters : sequence of int, default=(32, 64)
        Kernels of the convolutions of each block.
    hidden_layer_sizes : sequence of int, default=(128,)
        Units of the dense layers before the output.
    image_shape : (h, w) or (h, w, channels) or None, default=None
        What flat rows are, and what size images from files are brought to.
    kernel_size : int, default=3
        Height and width of the kernels.
    convs_per_block : int, default=2
    pool_size : int, default=2
        Window of the pooling after each block.
    pooling : {"max", "average"}, default="max"
    global_pooling : bool, default=False
        Whether the dense layers see only the mean of each feature map.
    normalisation : {"batch", "group", "layer"} or None, default="batch"
    activation : {"relu", "leaky", "elu", "tanh", "logistic", "identity"}, \
default="relu"
    dropout : float, default=0.1
        Chance that a channel, or a dense unit, is left out of a training step.
    augment : dict or None, default=None
        Strengths of random changes of the training images: shift (pixels), rotation
        (degrees), scale, flip, brightness, noise.
    weight_decay : float, default=1e-4
        Pull of the kernels and matrices towards 0 in each step, times the rate.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto": a twentieth of the rows, from 32 to 256.
    learning_rate : {"cosine", "constant"}, default="cosine"
        Whether the rate rises for a tenth of the steps and then falls to 0.
    learning_rate_init : float, default=0.003
        The highest rate.
    n_epochs : int, default=30
        Epochs, over which the rate falls.
    early_stopping : bool, default=False
        Hold out a share of the rows, stop by their loss and keep the best epoch.
    validation_fraction : float, default=0.1
        That share. Rows of your own go to `fit` as `validation`.
    n_iter_no_change : int, default=10
        Epochs without improvement that are borne.
    n_estimators : int, default=1
        Nets from different seeds, whose answers are averaged: a deep ensemble.
    mc_dropout : int, default=0
        Passes with dropout left on that a prediction averages; 0: one without.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the weights, held-out rows, order, dropout and augmentation.
    verbose : bool or int, default=False
        1: show a progress bar; more: print the loss of each epoch too.
    dtype : {"float32", "float64"}, default="float32"
        Precision of training; predictions have that of X, at least this.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train and predict; "auto" takes a GPU if there is one.
    checkpoint : path or None, default=None
        File for the state of the run, written after each epoch; one for each net.
    resume : bool, default=False
        Go on from `checkpoint` where it stopped; the result is that of one run.
    class_weight : dict, "balanced" or None, default=None
        Factors of the classes in the loss.

    Attributes
    ----------
    classes_ : array
    image_shape_ : (int, int, int)
        Height, width and channels.
    pixel_mean_, pixel_scale_ : arrays of shape (channels,)
    nets_ : list of torch modules
    loss_ : float
        Training loss of the last epoch.
    n_iter_ : int
        Epochs.
    history_ : dict of arrays
        Per epoch: loss, and valid_loss with early stopping.
    converged_, interrupted_ : bool
        How training ended.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pansophy.neural_network import ConvClassifier
    >>> digits = load_digits()
    >>> model = ConvClassifier((8, 16), n_epochs=5, random_state=0, device="cpu")
    >>> model = model.fit(digits.images[:1000], digits.target[:1000])
    >>> bool(model.score(digits.images[1000:], digits.target[1000:]) > 0.9)
    True
    """

    n_filters: LayerSizes = (32, 64)
    _: KW_ONLY
    hidden_layer_sizes: LayerSizes = (128,)
    image_shape: ImageShape | None = None
    kernel_size: Count = 3
    convs_per_block: Count = 2
    pool_size: Count = 2
    pooling: Literal["max", "average"] = "max"
    global_pooling: Flag = False
    normalisation: Normalisation = "batch"
    activation: Activation = "relu"
    dropout: FractionBelowOne = 0.1
    augment: Strengths | None = None
    learning_rate_init: Positive = 0.003

    def fit(self, X, y=None, sample_weight=None, validation=None):
        """Train the net.

        Parameters
        ----------
        X : images in an array, or a folder of them; the module text says how
        y : array of shape (n,), or None for a folder of classes
        sample_weight : array of shape (n,) or None
        validation : (X, y) or (X, y, sample_weight) or None
            Rows of your own to stop by; turns early stopping on.
        """
        return self._fit(X, y, sample_weight, validation)

    def _check_inputs(self, X, y, sample_weight):
        return check_images(self, X, y, sample_weight)

    def _check_new_inputs(self, X):
        return check_new_images(self, X)

    def _learn_inputs(self, inputs, w):
        return learn_pixel_scaling(self, inputs, w)

    def _build_net(self, n_outputs, head):
        return build_conv_net(self, n_outputs, head)


@dataclass(eq=False, repr=False)
class ConvRegressor(AbstractNetRegressor):
    """Convolutional network for numbers from images; the module text gives the method.

    Parameters
    ----------
    n_filters : sequence of int, default=(32, 64)
        Kernels of the convolutions of each block.
    hidden_layer_sizes : sequence of int, default=(128,)
        Units of the dense layers before the output.
    image_shape : (h, w) or (h, w, channels) or None, default=None
        What flat rows are, and what size images from files are brought to.
    kernel_size : int, default=3
        Height and width of the kernels.
    convs_per_block : int, default=2
    pool_size : int, default=2
        Window of the pooling after each block.
    pooling : {"max", "average"}, default="max"
    global_pooling : bool, default=False
        Whether the dense layers see only the mean of each feature map.
    normalisation : {"batch", "group", "layer"} or None, default="batch"
    activation : {"relu", "leaky", "elu", "tanh", "logistic", "identity"}, \
default="relu"
    dropout : float, default=0.1
        Chance that a channel, or a dense unit, is left out of a training step.
    augment : dict or None, default=None
        Strengths of random changes of the training images: shift (pixels), rotation
        (degrees), scale, flip, brightness, noise.
    weight_decay : float, default=1e-4
        Pull of the kernels and matrices towards 0 in each step, times the rate.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto": a twentieth of the rows, from 32 to 256.
    learning_rate : {"cosine", "constant"}, default="cosine"
        Whether the rate rises for a tenth of the steps and then falls to 0.
    learning_rate_init : float, default=0.003
        The highest rate.
    n_epochs : int, default=30
        Epochs, over which the rate falls.
    early_stopping : bool, default=False
        Hold out a share of the rows, stop by their loss and keep the best epoch.
    validation_fraction : float, default=0.1
        That share. Rows of your own go to `fit` as `validation`.
    n_iter_no_change : int, default=10
        Epochs without improvement that are borne.
    n_estimators : int, default=1
        Nets from different seeds, whose answers are averaged: a deep ensemble.
    mc_dropout : int, default=0
        Passes with dropout left on that a prediction averages; 0: one without.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the weights, held-out rows, order, dropout and augmentation.
    verbose : bool or int, default=False
        1: show a progress bar; more: print the loss of each epoch too.
    dtype : {"float32", "float64"}, default="float32"
        Precision of training; predictions have that of X, at least this.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train and predict; "auto" takes a GPU if there is one.
    checkpoint : path or None, default=None
        File for the state of the run, written after each epoch; one for each net.
    resume : bool, default=False
        Go on from `checkpoint` where it stopped; the result is that of one run.
    loss : {"squared_error", "gaussian"}, default="squared_error"
        "gaussian" predicts a variance for each row as well.

    Attributes
    ----------
    target_mean_, target_scale_ : arrays of shape (outputs,)
        Centre and scale of the numbers to predict.
    image_shape_ : (int, int, int)
        Height, width and channels.
    pixel_mean_, pixel_scale_ : arrays of shape (channels,)
    nets_ : list of torch modules
    loss_ : float
        Training loss of the last epoch.
    n_iter_ : int
        Epochs.
    history_ : dict of arrays
        Per epoch: loss, and valid_loss with early stopping.
    converged_, interrupted_ : bool
        How training ended.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neural_network import ConvRegressor
    >>> images = np.random.default_rng(0).random((200, 6, 6))
    >>> y = images[:, :3].sum((1, 2)) - images[:, 3:].sum((1, 2))
    >>> model = ConvRegressor((8,), dropout=0, random_state=0, device="cpu")
    >>> bool(model.fit(images, y).score(images, y) > 0.9)
    True
    """

    n_filters: LayerSizes = (32, 64)
    _: KW_ONLY
    hidden_layer_sizes: LayerSizes = (128,)
    image_shape: ImageShape | None = None
    kernel_size: Count = 3
    convs_per_block: Count = 2
    pool_size: Count = 2
    pooling: Literal["max", "average"] = "max"
    global_pooling: Flag = False
    normalisation: Normalisation = "batch"
    activation: Activation = "relu"
    dropout: FractionBelowOne = 0.1
    augment: Strengths | None = None
    learning_rate_init: Positive = 0.003

    def fit(self, X, y=None, sample_weight=None, validation=None):
        """Train the net.

        Parameters
        ----------
        X : images in an array, or a folder of them; the module text says how
        y : array of shape (n,) or (n, outputs)
        sample_weight : array of shape (n,) or None
        validation : (X, y) or (X, y, sample_weight) or None
            Rows of your own to stop by; turns early stopping on.
        """
        return self._fit(X, y, sample_weight, validation)

    def _check_inputs(self, X, y, sample_weight):
        return check_images(self, X, y, sample_weight)

    def _check_new_inputs(self, X):
        return check_new_images(self, X)

    def _learn_inputs(self, inputs, w):
        return learn_pixel_scaling(self, inputs, w)

    def _build_net(self, n_outputs, head):
        return build_conv_net(self, n_outputs, head)
