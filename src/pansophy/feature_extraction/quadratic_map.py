"""The explicit feature map of the polynomial kernel of degree 2.

    phi(x) = (1, r x_1, ..., r x_d, r x_i x_j (i < j), x_1^2, ..., x_d^2), r = sqrt 2
    phi(x).phi(z) = (x.z + 1)^2                                                    (1)

Without the constant and the linear part, phi(x).phi(z) = (x.z)^2 (2). A linear model
on phi(X) is the kernel model of (1); with few columns it is the quicker one. Points at
the corners of a square (XOR) become separable.

Shapes    X (n, d)   phi (n, (d + 1)(d + 2) / 2), or (n, d (d + 1) / 2) for (2)
Refs      [ScholkopfSmola2002] 2.1
"""

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays.arrays import namespace
from ..core.arrays.overflow import refuse_overflowing_squares
from ..params import Flag


@dataclass(eq=False, repr=False)
class QuadraticMap(PrefixedOutput, Transformer, Estimator):
    """Features whose inner product is a polynomial kernel of degree 2.

    Parameters
    ----------
    homogeneous : bool, default=False
        Whether to leave out the constant and the linear part, eq. (2).

    Attributes
    ----------
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.feature_extraction import QuadraticMap
    >>> phi = QuadraticMap().fit_transform([[1.0, 2.0], [3.0, -1.0]])
    >>> phi[0].round(6), round(phi[0] @ phi[1], 6)
    (array([1. , 1.414214, 2.828427, 2.828427, 1. , 4. ]), np.float64(4.0))
    """

    _: KW_ONLY
    homogeneous: Flag = False

    def fit(self, X, y=None):
        """Count the columns; y is not used."""
        X, _ = self._check_training_data(X)
        refuse_overflowing_squares(self, X)
        d = int(X.shape[1])
        self._n_features_out = d * (d + 1) // 2 + (0 if self.homogeneous else d + 1)
        return self

    def transform(self, X):
        """phi of the rows."""
        X = self._check_new_data(X)
        refuse_overflowing_squares(self, X)
        xp = namespace(X)
        d = int(X.shape[1])
        root = math.sqrt(2)
        parts = [] if self.homogeneous else [xp.ones_like(X[:, :1]), root * X]
        for i in range(d - 1):
            parts.append(root * X[:, i : i + 1] * X[:, i + 1 :])
        parts.append(X * X)
        return xp.concat(parts, axis=1)

    def get_feature_names_out(self, input_features=None):
        """Names such as "1", "x0", "x0 x1" and "x0^2", the factor left out."""
        names = getattr(self, "feature_names_in_", None)
        names = names if input_features is None else input_features
        d = self.n_features_in_
        names = [f"x{j}" for j in range(d)] if names is None else list(names)
        if len(names) != d:
            raise ValueError(
                f"input_features should have length {d}, got {len(names)}."
            )
        first = [] if self.homogeneous else ["1", *names]
        pairs = [f"{names[i]} {names[j]}" for i in range(d) for j in range(i + 1, d)]
        return np.array([*first, *pairs, *(f"{a}^2" for a in names)], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
