"""A fingerprint of a training run: a checkpoint is resumed only by the same run."""

import json
import zlib

import numpy as np
import scipy.sparse as sp

from ...core.arrays import arrays

# parameters that may change when a run is resumed
NOT_IN_TAG = ("max_iter", "verbose", "device", "checkpoint", "resume", "warm_start")


def run_tag(model, shape, parts) -> str:
    """Fingerprint of a run to be resumed: parameters and data (arrays or None)."""
    seed = model.random_state
    plain = {k: repr(v) for k, v in model.get_params().items() if k not in NOT_IN_TAG}
    plain["random_state"] = repr(seed) if isinstance(seed, int) else ""
    check = zlib.crc32(json.dumps(plain, sort_keys=True).encode())
    for part in parts:
        if part is None:
            continue
        if sp.issparse(part):  # equal values in other places are other rows
            rows = part.tocsr()
            held = (rows.data, rows.indices, rows.indptr)
        else:
            held = (arrays.to_numpy(part),)
        for values in held:
            check = zlib.crc32(np.ascontiguousarray(values).data, check)
    return f"{type(model).__name__} {tuple(shape)} {check:08x}"
