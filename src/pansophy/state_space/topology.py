"""Which moves between hidden states are allowed.

A zero of the transition matrix stays zero under counting, so a topology is nothing but
the zeros a fit starts with.

Shapes    mask (k, k), True where a move is allowed
"""

import numpy as np

from .hmm import Params


def allowed(topology, k: int) -> np.ndarray | None:
    """Which moves a topology allows (k, k); None for all."""
    if topology is None or (isinstance(topology, str) and topology == "ergodic"):
        return None
    if isinstance(topology, str):
        if topology != "left-right":
            raise ValueError(
                'topology must be "ergodic", "left-right" or a matrix of moves, got '
                f"{topology!r}."
            )
        return np.triu(np.ones((k, k), bool)) & ~np.triu(np.ones((k, k), bool), 2)
    mask = np.asarray(topology, dtype=bool)
    if mask.shape != (k, k) or not mask.any(axis=1).all():
        raise ValueError(
            f"a topology of {k} states must be a ({k}, {k}) matrix with a move in "
            "every row."
        )
    return mask


def masked(p: Params, mask, ordered: bool) -> Params:
    """Parameters without the moves that are not allowed; zeros stay zeros."""
    if mask is None:
        return p
    trans = np.where(mask, p.trans, 0.0)
    trans = np.where(trans.sum(1, keepdims=True) > 0, trans, mask)
    start = np.eye(len(p.start))[0] if ordered else p.start
    return Params(start, trans / trans.sum(1, keepdims=True), p.emission)
