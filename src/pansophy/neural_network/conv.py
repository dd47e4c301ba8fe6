"""Convolutional networks for images: classifier and regressor.

Blocks of convolutions and pooling, then dense layers (`nn.nets.conv_net`), trained as
`abstract_net` says. Pixels are centred and scaled by channel with the mean and the
standard deviation of the training images. Training images may be shifted, turned,
scaled, mirrored and made noisy at random (`nn.training.augmentation`); images to
predict never.

Images come as an array (n, h, w) or (n, h, w, channels), as flat rows with
`image_shape`, as the path of a folder with one subfolder for each class, or as a list
of paths. Bytes stay bytes in memory; images in files that would take more than
LOADED_BYTES stay in their files and are read batch by batch (`nn.FileRows`), in every
epoch again. Flat rows without `image_shape` are square images
if their length is a square number, else images of one row of pixels (a signal).

Shapes    X (n, h, w), (n, h, w, channels) or (n, h w channels)   y (n,) or (n, outputs)
Refs      [LeCun1998]; [Ioffe2015]
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import nn
from ..base import host_array
from ..core.arrays.image_shapes import flat_image_shape, refuse_channels_first
from ..core.arrays.unreadable import array_of_rows
from ..core.arrays.weighted import check_sample_weight
from ..params import (
    Activation,
    Count,
    Flag,
    FractionBelowOne,
    ImageShape,
    LayerSizes,
    ParameterRule,
    Positive,
    check_params,
)
from .abstract_net import AbstractNet, AbstractNetClassifier, AbstractNetRegressor
from .image_files import ImageFiles, file_shape, image_paths, is_image_folder

STRENGTHS = nn.Augmentation._fields
# its square, summed over an image, is far below the largest float32
LARGEST_PIXEL = 1e15
LOADED_BYTES = 1 << 28  # of images from files that are read into memory at once
SCALING_BLOCK = 256  # images that are looked at together to learn scales


def _is_augmentation(value):
    return isinstance(value, dict) and set(value) <= set(STRENGTHS)


Strengths = Annotated[
    dict, ParameterRule(f"a dict of {', '.join(STRENGTHS)}", _is_augmentation)
]
Normalisation = Literal["batch", "group", "layer"] | None


def _whole_shape(shape) -> tuple[int, int, int]:
    """(h, w) or (h, w, channels) as height, width and channels."""
    h, w, channels = (*(int(n) for n in shape), 1)[:3]
    return h, w, channels


def _images_of_files(model, X, *, reset):
    """Images of a folder or a list of paths (n, channels, h, w), read now or later."""
    paths, _ = image_paths(X)
    image_shape = model.image_shape if reset else model.image_shape_
    shape = file_shape(paths[0]) if image_shape is None else _whole_shape(image_shape)
    files = ImageFiles(paths, shape, resize=image_shape is not None)
    return np.asarray(files) if math.prod(files.shape) <= LOADED_BYTES else files


def _folder_classes(X, y):
    """y, or where it is None the names of the subfolders of a folder."""
    if y is not None or not is_image_folder(X):
        return y
    classes = image_paths(X)[1]
    if classes is None:
        raise ValueError("y is needed: the folder of X has no subfolders for classes.")
    return np.array(classes)


def _flat_images(model, X, *, reset):
    """Rows of pixels, and the shape (h, w, channels) if X has one."""
    image_shape = model.image_shape if reset else model.image_shape_
    X = _stacked_images(host_array(model, X))
    shape = X.shape if hasattr(X, "shape") else array_of_rows(X).shape
    if len(shape) not in (3, 4):
        return X, None
    explanation = (*shape[1:], 1)[:3]
    wanted = None if image_shape is None else _whole_shape(image_shape)
    if wanted is not None and explanation != wanted:
        hint = ""
        if len(shape) == 4 and (*shape[2:], shape[1]) == wanted:
            hint = " Channels come last: np.moveaxis(X, 1, 3)."
        elif (*shape, 1)[:3] == wanted:
            hint = " A single image is X[None]."
        raise ValueError(
            f"images have the shape {shape[1:]}, but {type(model).__name__} is "
            f"expecting {tuple(image_shape)}.{hint}"
        )
    if reset:
        refuse_channels_first(shape[1:])
    return np.asarray(X).reshape(len(X), -1), explanation


def _stacked_images(X):
    """Lists and object arrays of images as one array; unequal ones are refused."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1:
        X = list(X)
    if not isinstance(X, (list, tuple)) or not len(X):
        return X
    shapes = sorted({np.shape(x) for x in X if getattr(x, "ndim", 0) > 1})
    if len(shapes) > 1:
        raise ValueError(
            f"all images must have one size and number of channels, got {shapes[0]} "
            f"and {shapes[-1]}."
        )
    return np.stack(X) if shapes else X


def _check_training_images(model, X, y, sample_weight):
    """Training images as (n, channels, h, w), y and weights; sets `image_shape_`."""
    check_params(model)
    if is_image_folder(X):
        images = _images_of_files(model, X, reset=True)
        if y is not None and len(y) != len(images):
            raise ValueError(f"X has {len(images)} images, but y has {len(y)} entries.")
        # rows of one column stand in for the images: y and weights checked as usual
        rows = np.zeros((len(images), 1))
        _, y, w = model._check_training_data(
            rows, y, y_kind=model._y_kind, sample_weight=sample_weight
        )
        _, channels, h, wide = images.shape
        model.image_shape_ = (h, wide, channels)
        model.n_features_in_ = h * wide * channels
    else:
        flat, shape = _flat_images(model, X, reset=True)
        flat, y, w = model._check_training_data(
            flat, y, y_kind=model._y_kind, sample_weight=sample_weight,
            **_pixel_types(flat),
        )  # fmt: skip
        model.image_shape_ = shape or flat_image_shape(flat.shape[1], model.image_shape)
        _refuse_large_pixels(model, flat)
        images = _as_channels(flat, model.image_shape_)
    if w is not None:
        w = check_sample_weight(w, len(images))
    return (images,), y, w


def _refuse_large_pixels(model, flat):
    """Raise if squares of pixels would overflow."""
    largest = max(abs(float(flat.max())), abs(float(flat.min())))
    if largest > LARGEST_PIXEL:
        raise ValueError(
            f"X of {type(model).__name__} holds values up to {largest:.0e}, too large "
            "for float32: divide them."
        )


def _check_new_images(model, X):
    """Images to predict as (n, channels, h, w)."""
    check_is_fitted(model, "image_shape_")
    if is_image_folder(X):
        return (_images_of_files(model, X, reset=False),)
    flat, _ = _flat_images(model, X, reset=False)
    flat = model._check_new_data(flat, **_pixel_types(flat))
    return (_as_channels(flat, model.image_shape_),)


def _pixel_types(X):
    """Bytes stay bytes; all else becomes float."""
    return {"dtype": np.uint8} if getattr(X, "dtype", None) == np.uint8 else {}


def _as_channels(flat, shape):
    """Flat images as (n, channels, h, w)."""
    return np.ascontiguousarray(np.moveaxis(flat.reshape(-1, *shape), 3, 1))


def _learn_pixel_scaling(model, inputs, w):
    """Mean and standard deviation of each channel over the training images."""
    (X,) = inputs
    mean, square = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    weights = np.ones(len(X)) if w is None else np.asarray(w, float)
    for i in range(0, len(X), SCALING_BLOCK):
        block = np.asarray(X[i : i + SCALING_BLOCK])
        share = weights[i : i + SCALING_BLOCK] / weights.sum()
        mean += share @ block.mean(axis=(2, 3), dtype=np.float64)
        square += share @ np.stack(
            [np.square(x, dtype=np.float64).mean(axis=(1, 2)) for x in block]
        )
    spread = np.sqrt(np.maximum(square - mean**2, 0))
    flat = spread <= 1e-6 * np.abs(mean)
    model.pixel_mean_ = mean
    model.pixel_scale_ = np.where(flat, 1.0, spread)
    return inputs


def _build_conv_net(model, n_outputs, head):
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
class AbstractConv(AbstractNet):
    """Convolutional networks: their parameters, and images as they take them.

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

    Attributes
    ----------
    image_shape_ : (int, int, int)
        Height, width and channels.
    pixel_mean_, pixel_scale_ : arrays of shape (channels,)
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
        y : array of shape (n,) or (n, outputs), or None for a folder of classes
        sample_weight : array of shape (n,) or None
        validation : (X, y) or (X, y, sample_weight) or None
            Rows of your own to stop by; turns early stopping on.
        """
        return self._fit(X, _folder_classes(X, y), sample_weight, validation)

    def _given_rows(self, validation, what="validation"):
        if isinstance(validation, (tuple, list)) and len(validation) in (2, 3):
            X, y, *w = validation
            validation = (X, _folder_classes(X, y), *w)
        return super()._given_rows(validation, what)

    def _check_inputs(self, X, y, sample_weight):
        return _check_training_images(self, X, y, sample_weight)

    def _check_new_inputs(self, X):
        return _check_new_images(self, X)

    def _learn_inputs(self, inputs, w):
        return _learn_pixel_scaling(self, inputs, w)

    def _build_net(self, n_outputs, head):
        return _build_conv_net(self, n_outputs, head)


@dataclass(eq=False, repr=False)
class ConvClassifier(AbstractConv, AbstractNetClassifier):
    """Convolutional network for classes of images; the module text gives the method.

    Parameters
    ----------
    n_filters : sequence of int, default=(32, 64)
        Kernels of the convolutions of each block.

    Attributes
    ----------
    classes_ : array
        Sorted; names of subfolders if X was a folder.

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

    def partial_fit(self, X, y=None, sample_weight=None, classes=None):
        """One more pass over these images, at a constant rate.

        The first call learns the scales of the channels from its images, and needs
        `classes` if they do not all occur in y.
        """
        return super().partial_fit(X, _folder_classes(X, y), sample_weight, classes)

    def score(self, X, y=None, sample_weight=None):
        """Share of images that are classified as y says, or as their folder says."""
        return super().score(X, _folder_classes(X, y), sample_weight)


@dataclass(eq=False, repr=False)
class ConvRegressor(AbstractConv, AbstractNetRegressor):
    """Convolutional network for numbers from images; the module text gives the method.

    Parameters
    ----------
    n_filters : sequence of int, default=(32, 64)
        Kernels of the convolutions of each block.

    Attributes
    ----------
    image_shape_ : (int, int, int)
        Height, width and channels.

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
