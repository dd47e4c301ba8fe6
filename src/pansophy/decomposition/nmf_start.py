"""Where NMF starts: random factors, or the nonnegative parts of an SVD.

"nndsvd" takes the k leading triples; of each pair u, v the positive parts or the
negative parts, whichever has more of the product, scaled to its length. Its zeros stay
zero under multiplicative updates; "nndsvda" fills them with the mean of X, "nndsvdar"
with small random numbers.

Refs      [Boutsidis2008]
"""

import numpy as np

from ..core.low_rank import truncated_svd
from ..core.random import spawn

SVD_ZERO = 1e-6  # entries of the SVD below this are zero


def initial_nmf_factors(X, k, kind, rng):
    """W (n, k) and H^T (d, k), in the dtype of X."""
    n, d = X.shape
    mean = float(X.mean())
    if kind == "random":
        size = np.sqrt(max(mean, 0.0) / k)
        one, two = spawn(rng, 2)
        W, H = one.standard_normal((n, k)), two.standard_normal((d, k))
        return tuple(np.abs(size * A).astype(X.dtype) for A in (W, H))
    U, S, Vt = truncated_svd(X, k, rng)
    W, H = np.zeros((n, k)), np.zeros((d, k))
    for j in range(k):
        u, v = U[:, j].astype(float), Vt[j].astype(float)
        up, vp, un, vn = (np.maximum(a, 0.0) for a in (u, v, -u, -v))
        plus = np.linalg.norm(up) * np.linalg.norm(vp)
        minus = np.linalg.norm(un) * np.linalg.norm(vn)
        a, b, size = (up, vp, plus) if plus >= minus else (un, vn, minus)
        if size > 0:
            scale = np.sqrt(float(S[j]) * size)
            W[:, j] = scale * a / np.linalg.norm(a)
            H[:, j] = scale * b / np.linalg.norm(b)
    W[W < SVD_ZERO], H[H < SVD_ZERO] = 0.0, 0.0
    if kind == "nndsvda":
        W[W == 0], H[H == 0] = mean, mean
    elif kind == "nndsvdar":
        for A in (W, H):
            hole = A == 0
            A[hole] = np.abs(mean * rng.standard_normal(int(hole.sum())) / 100)
    return W.astype(X.dtype), H.astype(X.dtype)
