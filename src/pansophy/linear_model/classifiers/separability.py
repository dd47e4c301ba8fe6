"""Linear separability of classes, with a certificate either way.

For signs t and rows x, a plane (w, b) separates if t_i (w.x_i + b) >= 1 for all i. Of
the linear program

    minimise sum_i s_i   with  t_i (w.x_i + b) >= 1 - s_i,  s >= 0               (1)

the optimum is 0 exactly then. Its dual gives multipliers u in [0, 1] with

    sum_i u_i t_i x_i = 0,   sum_i u_i t_i = 0,   sum_i u_i > 0                  (2)

if no plane does: the convex hulls of the classes share the point
sum_{t_i = 1} u_i x_i / sum_{t_i = 1} u_i. A few passes of the perceptron come first,
since they decide most separable cases for O(n d) each. With more than two classes,
"separable" means that some W, b give every row its own class by a margin of 1 over each
other class; the program has a row for each of those, and the same dual.

Columns are centred and scaled first, which changes no answer and keeps tolerances fair.

Shapes    X (n, d)   w (d,) or (k, d)   b () or (k,)   u (n,) or (n, k)
Refs      [Mangasarian1965] eq. (1); [Novikoff1962] the perceptron
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.utils.validation import check_X_y

from ...predictors.abstract_linear import encode_two_or_more_classes

PASSES = 50  # of the perceptron before the linear program is solved
SLACK = 1e-7  # sum of s_i, over n, that counts as 0


class Separability(NamedTuple):
    """Whether the classes are separable, with the plane or the multipliers as proof.

    Its truth value is the answer.
    """

    separable: bool
    w: Any = None  # (d,) or (k, d), if separable
    b: Any = None
    multipliers: Any = None  # u of eq. (2), if not
    classes: Any = None  # for two: the negative and the positive one

    def __bool__(self):
        return self.separable


def perceptron_separator(A, passes):
    """u with A u > 0 in every row, or None if `passes` passes find none."""
    u = A.mean(axis=0)
    for _ in range(passes):
        wrong = np.flatnonzero(A @ u <= 0)
        if len(wrong) == 0:
            return u
        for i in wrong:
            if A[i] @ u <= 0:
                u = u + A[i]
    return None


def separation_program(A):
    """Solve eq. (1) over rows A u >= 1 - s: (u, None), or (None, multipliers)."""
    n, m = A.shape
    cost = np.r_[np.zeros(m), np.ones(n)]
    rows = sp.hstack([sp.csr_array(-A), -sp.eye_array(n)], format="csr")
    bounds = [(None, None)] * m + [(0, None)] * n
    out = linprog(cost, A_ub=rows, b_ub=-np.ones(n), bounds=bounds, method="highs")
    if out.status != 0:
        raise ValueError(f"the linear program was not solved: {out.message}")
    if out.fun <= SLACK * n:
        u = out.x[:m]
        low = float((A @ u).min())
        if low > 0:
            return u / low, None
    return None, np.clip(-out.ineqlin.marginals, 0.0, 1.0)


def class_difference_rows(Z, codes, k):
    """Rows of (x_i in the block of its class) - (in that of each other class)."""
    n, m = Z.shape
    out = np.zeros((n, k, k, m))
    for c in range(k):
        own = codes == c
        out[own, :, c] += Z[own][:, None]
        out[:, c, c] -= Z
    keep = np.arange(k)[None, :] != codes[:, None]
    return out[keep].reshape(-1, k * m), keep


def is_separable(X, y) -> Separability:
    """Whether a plane separates the classes y of the rows X (dense).

    Returns
    -------
    Separability
        With `w` and `b` that satisfy t (w.x + b) >= 1 for every row, or with the
        `multipliers` of eq. (2) that show it impossible. It can be used as a bool.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import is_separable
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> found = is_separable(X, [0, 0, 0, 1])  # and
    >>> bool(found), bool(np.all([-1, -1, -1, 1] * (X @ found.w + found.b) >= 1))
    (True, True)
    >>> bool(is_separable(X, [0, 1, 1, 0]))  # exclusive or
    False
    """
    X, y = check_X_y(X, y, dtype=np.float64)
    classes, codes = encode_two_or_more_classes(y)
    k = len(classes)
    shift = X.mean(axis=0)
    scale = X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    Z = np.column_stack([(X - shift) / scale, np.ones(len(X))])
    keep = None
    if k == 2:
        A = (2.0 * codes - 1)[:, None] * Z
    else:
        A, keep = class_difference_rows(Z, codes, k)
    u = perceptron_separator(A, PASSES)
    proof = None
    if u is None:
        u, proof = separation_program(A)
    else:
        u = u / (A @ u).min()
    if u is None:
        if keep is not None:
            full = np.zeros(keep.shape)
            full[keep] = proof
            proof = full
        return Separability(False, multipliers=proof, classes=classes)
    u = u.reshape(-1, Z.shape[1]) * (1 + 1e-9)  # rounding must not eat the margin
    w = u[:, :-1] / scale
    b = u[:, -1] - w @ shift
    return Separability(
        True, w[0] if k == 2 else w, b[0] if k == 2 else b, None, classes
    )
