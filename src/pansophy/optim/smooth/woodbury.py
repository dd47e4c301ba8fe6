"""Woodbury's identity: the inverse after a low-rank update.

    (A + U C V)^-1 = A^-1 - A^-1 U (C^-1 + V A^-1 U)^-1 V A^-1                   (1)

An r x r system instead of a d x d one. `core.linalg.linalg.low_rank` is the form for a
diagonal plus U U^T that never makes the inverse.

Shapes    A^-1 (d, d)   U (d, r)   C (r, r)   V (r, d)
Refs      [GolubVanLoan2013] 2.1.4
"""

from ...core.arrays.arrays import device, namespace


def woodbury(inverse, U, C=None, V=None):
    """Woodbury's identity, eq. (1), from A^-1; C = I and V = U^T by default.

    Examples
    --------
    >>> import numpy as np
    >>> woodbury(np.eye(2), np.array([[1.0], [1.0]])).round(6)
    array([[ 0.666667, -0.333333],
           [-0.333333,  0.666667]])
    """
    xp = namespace(inverse, U)
    U = U[:, None] if U.ndim == 1 else U
    V = xp.matrix_transpose(U) if V is None else V
    V = V[None, :] if V.ndim == 1 else V
    r = U.shape[1]
    if C is None:
        core = xp.eye(r, dtype=U.dtype, device=device(U))
    else:
        core = xp.linalg.inv(C if C.ndim == 2 else xp.reshape(C, (r, r)))
    AU = inverse @ U
    return inverse - AU @ xp.linalg.solve(core + V @ AU, V @ inverse)
