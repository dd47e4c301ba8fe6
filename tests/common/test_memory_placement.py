"""The same rows give the same model, bit for bit, wherever they lie in memory.

Compiled sums that may be reordered can depend on how an array is aligned, if a loop
also stores: `core.loops.compiled` says how they are to be written.
"""

import numpy as np
import pytest
from scipy import sparse

from pansophy.testing import all_estimators, usual_fits

TORCH = ("pansophy.neural_network", "pansophy.generative")  # its libraries choose
METHODS = ("predict", "predict_proba", "transform", "score_samples")
ESTIMATORS = {
    name: cls
    for name, cls in all_estimators()
    if not cls.__module__.startswith(TORCH)
}  # fmt: skip


def placed(array, offset):
    """A copy that begins so many bytes after a multiple of 64."""
    room = np.empty(array.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def answers(cls, offset):
    """All that a model of the usual table says of it."""
    fit = usual_fits(cls)[1]  # several hundred rows
    model = fit.estimator.fit(placed(np.ascontiguousarray(fit.X), offset), fit.y)
    asked = [getattr(model, m) for m in METHODS if hasattr(model, m)]
    found = [ask(fit.X) for ask in asked]
    for attribute in ("labels_", "embedding_", "negative_outlier_factor_"):
        if hasattr(model, attribute):
            found.append(getattr(model, attribute))
    assert found
    # models of sequences answer with tuples
    flat = [part for a in found for part in (a if isinstance(a, tuple) else (a,))]
    return [np.asarray(a.toarray() if sparse.issparse(a) else a) for a in flat]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_alignment_changes_no_bit(name):
    cls = ESTIMATORS[name]
    for one, two in zip(answers(cls, 0), answers(cls, 24), strict=True):
        assert one.tobytes() == two.tobytes()
