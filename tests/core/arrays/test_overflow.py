"""Values whose squares overflow: the limit by rows and dtype, forms of data."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.core.arrays.overflow import refuse_overflowing_squares


def test_the_limit_falls_with_rows_and_precision():
    limit = np.sqrt(np.finfo(float).max)
    refuse_overflowing_squares("Ridge", np.full((1, 1), 0.9 * limit / 4))
    with pytest.raises(ValueError, match="overflow float64"):
        refuse_overflowing_squares("Ridge", np.full((2, 1), 0.9 * limit / 4))
    refuse_overflowing_squares("Ridge", np.full((1, 1), 0.9 * limit), margin=1.0)
    with pytest.raises(ValueError, match="overflow float32"):
        refuse_overflowing_squares("Ridge", np.full((1, 1), 1e20, np.float32))


def test_every_form_of_data_names_the_model():
    class Model:
        pass

    torch = pytest.importorskip("torch")
    X = np.array([[np.nan, 0.0], [1.0, -1e200]])
    for data in (X, sp.csr_array(X), torch.asarray(np.nan_to_num(X))):
        with pytest.raises(ValueError, match="y of Model holds values up to 1e"):
            refuse_overflowing_squares(Model(), data, "y")
    for empty in (np.empty((0, 2)), sp.csr_array((3, 2))):
        refuse_overflowing_squares("Ridge", empty)
