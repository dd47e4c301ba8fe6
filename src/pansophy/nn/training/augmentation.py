"""Data augmentation of images, and how invariant a model is to a transformation.

Each image of a batch gets a random affine map of its own, about its centre,

    x -> image(c + R (x - c) / a - t)                                              (1)

with R a rotation by an angle in +-rotation, a in 1 +- scale, t in +-shift pixels, and
perhaps a mirror image; then its values v become

    v -> (1 + beta) v + noise * N(0, 1),     beta in +-brightness                  (2)

Labels and shapes stay as they are; every strength 0 is the identity. In training the
net augments its batches itself, so that only training rows are changed, differently in
every epoch. Values between pixels are interpolated linearly, beyond the edge those at
the edge are taken.

The invariance of a model under a transformation is the share of rows whose prediction
does not change: 1 for an invariant model.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ...core.random import draw_seed, make_rng


class Augmentation(NamedTuple):
    """Strengths of random changes to images, eq. (1) and (2); all 0: none.

    Parameters
    ----------
    shift : float, default=0
        Largest shift in pixels, along both axes.
    rotation : float, default=0
        Largest angle in degrees.
    scale : float, default=0
        Largest relative change of size, below 1.
    flip : bool, default=False
        Whether half of the images are mirrored left to right.
    brightness : float, default=0
        Largest relative change of all values of an image.
    noise : float, default=0
        Standard deviation of noise added to each value.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import Augmentation
    >>> images = torch.rand(4, 1, 8, 8)
    >>> Augmentation(shift=2, rotation=10)(images).shape
    torch.Size([4, 1, 8, 8])
    >>> Augmentation()(images) is images
    True
    """

    shift: float = 0.0
    rotation: float = 0.0
    scale: float = 0.0
    flip: bool = False
    brightness: float = 0.0
    noise: float = 0.0

    def __call__(self, images: Tensor) -> Tensor:
        """Changed copies of images (rows, channels, height, width)."""
        for name, value in zip(self._fields, self):
            if value < 0 or (name == "scale" and value >= 1):
                raise ValueError(f"{name} of the augmentation is {value!r}.")
        if self.shift or self.rotation or self.scale or self.flip:
            grid = functional.affine_grid(
                self.affine_maps(images), list(images.shape), align_corners=False
            )
            images = functional.grid_sample(
                images, grid, padding_mode="border", align_corners=False
            )
        if self.brightness:
            brightness = _symmetric_uniform(images, self.brightness)
            images = images * (1 + brightness.view(-1, 1, 1, 1))
        if self.noise:
            images = images + self.noise * torch.randn_like(images)
        return images

    def affine_maps(self, images):
        """Eq. (1) in coordinates from -1 to 1: one 2 x 3 matrix for each image."""
        h, w = images.shape[2:]
        angle = _symmetric_uniform(images, math.radians(self.rotation))
        size = 1 + _symmetric_uniform(images, self.scale)
        mirror = torch.ones_like(size)
        if self.flip:
            mirror = 1 - 2 * (_symmetric_uniform(images, 1.0) > 0).to(size)
        cos, sin = torch.cos(angle) / size, torch.sin(angle) / size
        shift_x = _symmetric_uniform(images, 2 * self.shift / w)
        shift_y = _symmetric_uniform(images, 2 * self.shift / h)
        first = torch.stack([cos * mirror, -sin * (h / w), shift_x], 1)
        second = torch.stack([sin * (w / h) * mirror, cos, shift_y], 1)
        return torch.stack([first, second], 1)


def _symmetric_uniform(images, bound):
    """One number from -bound to bound for each image."""
    draw = torch.rand(len(images), dtype=images.dtype, device=images.device)
    return bound * (2 * draw - 1)


def augment(images, *, random_state=None, **strengths):
    """Randomly changed copies of images, for arrays.

    Parameters
    ----------
    images : array of shape (n, h, w) or (n, h, w, channels)
    random_state : int, Generator or None
    **strengths
        Those of `Augmentation`: shift, rotation, scale, flip, brightness, noise.

    Returns
    -------
    array of the same shape and dtype; the labels of the images stay what they are

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.nn import augment
    >>> images = np.eye(5)[None]
    >>> np.array_equal(augment(images), images)
    True
    >>> augment(images, shift=2, random_state=0).shape
    (1, 5, 5)
    """
    images = np.asarray(images)
    if images.ndim not in (3, 4):
        raise ValueError(
            "images must have the shape (n, h, w) or (n, h, w, channels), got "
            f"{images.shape}."
        )
    channels = images if images.ndim == 4 else images[..., None]
    dtype = np.float32 if images.dtype.kind in "biu" else images.dtype
    tensor = torch.from_numpy(np.moveaxis(channels, 3, 1).astype(dtype))
    with torch.random.fork_rng([]):
        torch.manual_seed(draw_seed(make_rng(random_state)))
        tensor = Augmentation(**strengths)(tensor)
    tensor = np.moveaxis(tensor.numpy(), 1, 3).reshape(images.shape)
    if images.dtype.kind in "iu":
        limits = np.iinfo(images.dtype)
        tensor = np.clip(np.rint(tensor), limits.min, limits.max)
    return tensor.astype(images.dtype)


def invariance_score(model, X, transform, *, tol=1e-6) -> float:
    """Share of rows whose prediction a transformation leaves as it is.

    Parameters
    ----------
    model : object with `predict`
    X : array
        Rows as the model takes them.
    transform : function of X
        Gives rows of the same shape, for instance images shifted by a pixel.
    tol : float, default=1e-6
        For numbers: the change that is none, relative to their standard deviation.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import LinearRegression
    >>> from pansophy.nn import invariance_score
    >>> X = np.random.default_rng(0).normal(size=(6, 2))
    >>> model = LinearRegression().fit(X, X.sum(1))
    >>> invariance_score(model, X, lambda X: X[:, ::-1]), invariance_score(
    ...     model, X, lambda X: X + 1
    ... )
    (1.0, 0.0)
    """
    predictions = np.asarray(model.predict(X))
    changed = np.asarray(model.predict(transform(X)))
    if predictions.shape != changed.shape:
        raise ValueError(
            f"transform must keep the rows: {predictions.shape} predictions became "
            f"{changed.shape}."
        )
    if predictions.dtype.kind == "f":
        equal = np.abs(changed - predictions) <= tol * max(
            float(predictions.std()), 1e-300
        )
    else:
        equal = changed == predictions
    return float(equal.reshape(len(equal), -1).all(axis=1).mean())
