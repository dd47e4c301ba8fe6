"""The arrays of a CSR matrix, as compiled loops take them."""

from typing import NamedTuple

import numpy as np


class CSRArrays(NamedTuple):
    """The three arrays of a CSR matrix."""

    data: np.ndarray
    columns: np.ndarray
    starts: np.ndarray
