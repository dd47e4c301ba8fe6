"""Values too large to be squared: refused before they turn into infinities.

Sums of squares over n rows exist in floating point while no value exceeds the square
root of the largest number over n. Beyond that a model would be made of infinities and
NaNs, or LAPACK would iterate on them; before that nothing is wrong.
"""

import math

import numpy as np
import scipy.sparse as sp

from . import arrays
from .rows import DatasetRows


def refuse_overflowing_squares(model, X, what="X", margin=4.0):
    """Raise if values of X are so large that sums of their squares overflow.

    `margin` is by how much they are to stay below: a value less the mean may be twice
    the value. Tables on disk are not read for it.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.overflow import refuse_overflowing_squares
    >>> refuse_overflowing_squares("Ridge", np.array([[1.0], [1e200]]))
    Traceback (most recent call last):
    ValueError: X of Ridge holds values up to 1e+200: their squares overflow float64. \
Scale the columns, with StandardScaler for instance.
    """
    if isinstance(X, DatasetRows):
        return
    values = X.data if sp.issparse(X) else X
    if not math.prod(values.shape):
        return
    single = str(values.dtype).endswith("float32")
    dtype = np.dtype(np.float32 if single else np.float64)
    if arrays.is_foreign(values):
        largest = float(arrays.largest_absolute_entry(values))
    else:  # without a copy of the size of X
        ends = np.fmax.reduce(values, axis=None), np.fmin.reduce(values, axis=None)
        largest = max(abs(float(end)) for end in ends)  # NaN is no value
    if float(margin) * largest > math.sqrt(float(np.finfo(dtype).max) / X.shape[0]):
        name = model if isinstance(model, str) else type(model).__name__
        raise ValueError(
            f"{what} of {name} holds values up to {largest:.0e}: their squares "
            f"overflow {dtype.name}. Scale the columns, with StandardScaler for "
            "instance."
        )
