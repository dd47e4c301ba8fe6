"""Metadata routing: which extra arguments of `fit` and `predict` go to which member.

With `sklearn.set_config(enable_metadata_routing=True)` an ensemble passes every extra
argument (`metadata=`, `groups=`, ...) to the members that asked for it by
`set_fit_request`, `set_predict_request`, ... and refuses those that nobody asked for.
Without it only `sample_weight` is passed, to all members.
"""

import numpy as np
from sklearn import get_config
from sklearn.utils.metadata_routing import process_routing


def routing_enabled() -> bool:
    """Whether metadata routing is switched on."""
    return bool(get_config().get("enable_metadata_routing", False))


def refuse_unrouted(model, method, params):
    """Raise if extra arguments are passed while metadata routing is off."""
    if params and not routing_enabled():
        raise ValueError(
            f"Passing extra keyword arguments to {type(model).__name__}.{method} is "
            "only supported if enable_metadata_routing=True, which you can set using "
            f"`sklearn.set_config`. Extra parameters passed are: {set(params)}"
        )


def routed_params(model, method, params, *, sample_weight=None):
    """Arguments by member and method, as `model.get_metadata_routing()` says.

    Only with routing switched on. `sample_weight` is one of the arguments unless None.
    """
    if sample_weight is not None:
        params = {**params, "sample_weight": sample_weight}
    return process_routing(model, method, **params)


def params_of_rows(params, rows, n):
    """Arguments with one entry for each of n rows, cut to some of the rows.

    Examples
    --------
    >>> params_of_rows({"group": [5, 6, 7], "mode": "fast"}, [0, 2], 3)
    {'group': array([5, 7]), 'mode': 'fast'}
    """
    by_row = lambda v: not isinstance(v, str) and np.ndim(v) > 0 and len(v) == n
    return {k: np.asarray(v)[rows] if by_row(v) else v for k, v in params.items()}
