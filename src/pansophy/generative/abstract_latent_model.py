"""Generative models with a code: encode, decode, reconstruct.

A row x has a code e(x) of few numbers, and a code c has a row d(c). Some models have
only the second map (`AbstractDecoder`). Rows are in the units of the user. Labels are
for models that were fitted with them.

Shapes    X (n, d) or images   codes (n, n_components)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from ..base import PrefixedOutput
from ..core.arrays.image_shapes import flat_image_shape, refuse_channels_first
from ..params import Count
from .abstract_generator import AbstractGenerator

Architecture = Literal["auto", "dense", "conv"]


def convolved_shape(model, n_features) -> tuple[int, int, int] | None:
    """(h, w, channels) where a model with `architecture` takes convolutions, else None.

    "conv" takes rows as images, and "auto" does so where stacks of images or
    `image_shape` are given.
    """
    image_shape = model.image_shape_ if model.image_shape is None else model.image_shape
    images = model.architecture == "conv" or image_shape is not None
    if model.architecture == "dense" or not images:
        return None
    refuse_channels_first(model.image_shape_ or ())
    return flat_image_shape(n_features, image_shape)


@dataclass(eq=False, repr=False)
class AbstractDecoder(AbstractGenerator):
    """A generator that makes rows of codes.

    Besides what `AbstractGenerator` asks for, a model gives `_decode(net, codes, y)`,
    standardised rows.

    Parameters
    ----------
    n_components : int
        Numbers of a code.
    """

    n_components: Count = 2
    _: KW_ONLY

    def decode(self, codes, y=None):
        """The row of each code: (n, d), or images."""
        check_is_fitted(self, "net_")
        C = check_array(codes, dtype=(np.float64, np.float32), input_name="codes")
        k = self._n_codes()
        if C.shape[1] != k:
            raise ValueError(
                f"codes have {C.shape[1]} numbers, but those of this "
                f"{type(self).__name__} have {k}."
            )
        labels = None if y is None else self._label_codes(y, len(C))
        labels = self._required_codes(labels)
        return self._decode_rows(self._row_values(self._decode, C, labels))

    def _n_codes(self) -> int:
        """Numbers of a code."""
        return int(self.n_components)

    def _required_codes(self, codes):
        if self._n_classes() and codes is None:
            raise ValueError(
                f"this {type(self).__name__} was fitted with labels: codes are of rows "
                "and their labels, so pass y."
            )
        return codes


@dataclass(eq=False, repr=False)
class AbstractLatentModel(PrefixedOutput, AbstractDecoder):
    """A generator whose rows have codes.

    Besides what `AbstractDecoder` asks for, a model gives `_encode(net, X, y)` of
    standardised rows.
    """

    def encode(self, X, y=None):
        """The code of each row: (n, n_components)."""
        rows, codes = self._check_scored_rows(X, y)
        return self._row_values(self._encode, rows, self._required_codes(codes))

    def reconstruct(self, X, y=None):
        """`decode(encode(X))`: what the code keeps of each row."""
        return self.decode(self.encode(X, y), y)

    @property
    def _n_features_out(self):
        return self._n_codes()
