"""Polar coordinates of the rows around a centre, as features.

With r the distance of a row from a centre, and in the plane t its angle,

    r = |x - c|,   t = atan2(x_2 - c_2, x_1 - c_1)                               (1)

In d dimensions there are d - 1 angles, the first d - 2 from 0 to pi:

    t_k = atan2(|(x_{k+1}, ..., x_d)|, x_k),   t_{d-1} = atan2(x_d, x_{d-1})     (2)

A ring around the centre is an interval of r, so a linear classifier that fails on
(x_1, x_2) succeeds with r.

Shapes    X (n, d)   r (n,)   t (n, d-1)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ..base import Estimator, Transformer
from ..core.arrays import arrays
from ..params import Flag, ParameterError
from ..typing import Matrix


def _row_radius(X):
    """r of eq. (1) around 0."""
    xp = arrays.namespace(X)
    top = xp.max(xp.abs(X), axis=1)
    top = xp.where(top > 0, top, xp.ones_like(top))  # squares must not overflow
    Z = X / top[:, None]
    with np.errstate(over="ignore"):
        r = top * xp.sqrt(xp.sum(Z * Z, axis=1))
    if not arrays.all_finite(r):
        raise ValueError("the radius of a row of X overflows: scale the columns.")
    return r


def _row_angles(X):
    """t of eqs (1) and (2) around 0, (n, d - 1)."""
    xp = arrays.namespace(X)
    d = X.shape[1]
    angles = [xp.atan2(_row_radius(X[:, k + 1 :]), X[:, k]) for k in range(d - 2)]
    if d > 1:
        angles.append(xp.atan2(X[:, d - 1], X[:, d - 2]))
    return xp.stack(angles, axis=1) if angles else X[:, :0]


class AbstractCentred(Transformer, Estimator):
    """A centre, given or the mean."""

    def fit(self, X, y=None):
        """Find the centre."""
        X, _ = self._check_training_data(X)
        d = X.shape[1]
        if isinstance(self.center, str):
            zero = self.center == "origin"
            c = np.zeros(d) if zero else arrays.to_numpy(X).mean(axis=0)
        else:
            c = np.asarray(self.center, dtype=float).ravel()
            if len(c) != d:
                name = type(self).__name__
                raise ParameterError(
                    f"center of {name} must hold {d} numbers, got {len(c)}."
                )
        self.center_ = c.astype(arrays.to_numpy(X[:1]).dtype)
        return self

    def _moved(self, X):
        X = self._check_new_data(X)
        return X, X - arrays.asarray(self.center_, like=X)

    def _names(self, input_features):
        input_names = getattr(self, "feature_names_in_", None)
        input_names = input_names if input_features is None else input_features
        d = self.n_features_in_
        return (
            [f"x{j}" for j in range(d)]
            if input_names is None
            else list(map(str, input_names))
        )


@dataclass(eq=False, repr=False)
class PolarFeatures(AbstractCentred):
    """Radius and angles around a centre, in place of the columns.

    Parameters
    ----------
    center : {"mean", "origin"} or array of shape (d,), default="origin"
        c of eq. (1).

    Attributes
    ----------
    center_ : array of shape (d,)
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.feature_extraction import PolarFeatures
    >>> PolarFeatures().fit_transform(np.array([[0.0, 2.0], [3.0, 4.0]])).round(4)
    array([[2.    , 1.5708],
           [5.    , 0.9273]])
    """

    center: Literal["mean", "origin"] | Matrix = "origin"

    def transform(self, X):
        """Radius, then angles."""
        _, Z = self._moved(X)
        xp = arrays.namespace(Z)
        return xp.concat([_row_radius(Z)[:, None], _row_angles(Z)], axis=1)

    def inverse_transform(self, X):
        """The rows with these radii and angles."""
        X = arrays.as_float(X if arrays.is_foreign(X) else np.asarray(X))
        xp = arrays.namespace(X)
        if X.shape[1] == 1:
            raise ValueError("a radius alone does not say on which side a row was.")
        left = X[:, 0]
        coordinates = []
        for k in range(1, X.shape[1]):
            coordinates.append(left * xp.cos(X[:, k]))
            left = left * xp.sin(X[:, k])
        return xp.stack([*coordinates, left], axis=1) + arrays.asarray(
            self.center_, like=X
        )

    def get_feature_names_out(self, input_features=None):
        """radius, angle0, angle1, ..."""
        d = self.n_features_in_
        names = ["radius", *(f"angle{k}" for k in range(d - 1))]
        return np.asarray(names, dtype=object)


@dataclass(eq=False, repr=False)
class RadiusFeature(AbstractCentred):
    """The distance from a centre as one more column.

    Parameters
    ----------
    center : {"mean", "origin"} or array of shape (d,), default="origin"
        c of eq. (1).
    append : bool, default=True
        Whether to keep the columns of X before it.

    Attributes
    ----------
    center_ : array of shape (d,)
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.feature_extraction import RadiusFeature
    >>> RadiusFeature().fit_transform(np.array([[3.0, 4.0]]))
    array([[3., 4., 5.]])
    """

    center: Literal["mean", "origin"] | Matrix = "origin"
    _: KW_ONLY
    append: Flag = True

    def transform(self, X):
        """X and the radius, or the radius alone."""
        X, Z = self._moved(X)
        r = _row_radius(Z)[:, None]
        return arrays.namespace(X).concat([X, r], axis=1) if self.append else r

    def get_feature_names_out(self, input_features=None):
        """The given names and "radius"."""
        names = [*(self._names(input_features) if self.append else []), "radius"]
        return np.asarray(names, dtype=object)
