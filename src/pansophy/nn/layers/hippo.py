"""HiPPO-LegS: a linear memory that holds the Legendre coefficients of its history.

At time t the state c(t) holds the first N coefficients of the history u on [0, t] in
scaled Legendre polynomials, orthonormal under the uniform measure on the history:

    u(s) ~ sum_n c_n(t) sqrt(2n + 1) P_n(2 s/t - 1),   0 <= s <= t               (1)
    c'(t) = (A c(t) + B u(t)) / t                                                (2)
    A_nk = -sqrt(2n + 1) sqrt(2k + 1) for n > k,  -(n + 1) for n = k,  0 for n < k
    B_n = sqrt(2n + 1)                                                           (3)

A is lower triangular with eigenvalues -1, ..., -N. With samples u_1, u_2, ... at equal
distances the trapezoidal rule on (2) is

    (I - A/2k) c_k = (I + A/2k) c_k-1 + B u_k / k                                (4)

which does not depend on the distance: the memory has no scale of time.

State-space layers take A without the factor 1/t. It is a normal matrix less a matrix of
rank one, A = V (Lambda - P P*) V*, with Lambda = -1/2 + i omega: V and omega come from
the skew-symmetric matrix A + p p' + I/2, p_n = sqrt(n + 1/2)                    (5)

Shapes    A (N, N)   B (N,)   u (L,)   c (N,)
Refs      [Gu2020] (1) to (4); [Gu2022] (5)
"""

from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre


class NormalPlusLowRank(NamedTuple):
    """Eq. (5): one of each pair of conjugate eigenvalues, with omega > 0."""

    eigenvalues: np.ndarray  # Lambda (N/2,), complex
    P: np.ndarray  # V* p (N/2,)
    B: np.ndarray  # V* B (N/2,)


def hippo_legs(N: int) -> tuple[np.ndarray, np.ndarray]:
    """A (N, N) and B (N,) of eq. (3).

    Examples
    --------
    >>> from pansophy.nn import hippo_legs
    >>> A, B = hippo_legs(3)
    >>> A.round(6)
    array([[-1.      ,  0.      ,  0.      ],
           [-1.732051, -2.      ,  0.      ],
           [-2.236068, -3.872983, -3.      ]])
    """
    n = np.arange(N)
    root = np.sqrt(2 * n + 1.0)
    A = 0.0 - np.tril(np.outer(root, root), -1) - np.diag(n + 1.0)  # 0.0: no -0.0
    return A, root


def legs_coefficients(u, N: int) -> np.ndarray:
    """Coefficients c after the samples u, by eq. (4): O(L N^2)."""
    A, B = hippo_legs(N)
    eye = np.eye(N)
    c = np.zeros(N)
    for k, x in enumerate(np.asarray(u, dtype=float), 1):
        right = c + A @ c / (2 * k) + B * (x / k)
        c = np.linalg.solve(eye - A / (2 * k), right)
    return c


def reconstruct_history(c, s) -> np.ndarray:
    """The history at the shares s of its length (0 the beginning, 1 now), eq. (1).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.nn import legs_coefficients, reconstruct_history
    >>> u = np.sin(np.linspace(0, 6, 2000))
    >>> c = legs_coefficients(u, 16)
    >>> bool(abs(reconstruct_history(c, [0.25, 0.75]) - u[[500, 1500]]).max() < 0.01)
    True
    """
    c = np.asarray(c, dtype=float)
    root = np.sqrt(2 * np.arange(len(c)) + 1.0)
    return legendre.legval(2 * np.asarray(s, dtype=float) - 1, c * root)


def legs_normal_form(N: int) -> NormalPlusLowRank:
    """The matrix of eq. (3) as normal plus low rank, eq. (5); N must be even."""
    if N < 2 or N % 2:
        raise ValueError(f"N must be an even number of at least 2, got {N}.")
    A, B = hippo_legs(N)
    p = np.sqrt(np.arange(N) + 0.5)
    skew = A + np.outer(p, p) + 0.5 * np.eye(N)
    omega, V = np.linalg.eigh(-1j * skew)
    is_upper = omega > 0
    V = V[:, is_upper]
    return NormalPlusLowRank(
        -0.5 + 1j * omega[is_upper], V.conj().T @ p, V.conj().T @ B
    )
