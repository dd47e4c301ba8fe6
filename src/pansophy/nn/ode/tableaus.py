"""Runge-Kutta tableaus as data: explicit and diagonally implicit methods.

A step of length h from (t, y) has stages k_i and, where there is one, an estimate of
its own error and a polynomial in theta for the time t + theta h inside the step:

    k_i = f(t + c_i h, y + h sum_j a_ij k_j),     y_1 = y + h sum_i b_i k_i      (1)
    error = h sum_i e_i k_i                                                      (2)
    y(t + theta h) = y + h sum_i p_i(theta) k_i,  p_i(theta) = sum_m P_im theta^m (3)

A method with a_ii = 0 is explicit; else a_ii = gamma for every stage but the first,
which is explicit (ESDIRK): one matrix I - h gamma J serves all stages of a step. If the
last stage is f(t + h, y_1), it is the first stage of the next step ("first same as
last"), and cubic Hermite interpolation needs no further evaluation:

    p_i = b_i (3 theta^2 - 2 theta^3) + [i first] (theta - 2 theta^2 + theta^3)
          + [i last] (theta^3 - theta^2)                                         (4)

    name             order  what
    euler              1    y + h f
    midpoint           2    slope at the middle of the step
    heun               2    mean of the slopes at both ends
    rk4                4    the classical four stages
    bosh3            3(2)   Bogacki-Shampine, adaptive
    dopri5           5(4)   Dormand-Prince, adaptive, interpolation of order 4
    implicit_euler     1    L-stable, for stiff systems at fixed steps
    trapezoid          2    A-stable (the bilinear rule of `state_space.discretize`)
    tr_bdf2          2(3)   L-stable, adaptive
    kencarp4         4(3)   L-stable, adaptive, the default for stiff systems

Refs      [Hairer1993] explicit methods and eq. (3); [Dormand1980];
          [Kennedy2003] kencarp4; [Hosea1996] tr_bdf2
"""

from typing import NamedTuple

import numpy as np


class Tableau(NamedTuple):
    """Coefficients of eqs. (1) to (3), as float64 arrays."""

    name: str
    order: int  # of the solution
    a: np.ndarray  # (s, s)
    b: np.ndarray  # (s,)
    c: np.ndarray  # (s,)
    error: np.ndarray | None  # e (s,); None: fixed steps only
    error_order: int  # power of h in the error estimate
    dense: np.ndarray | None  # P (s, degree), powers 1, 2, ...
    reuses_last: bool  # the last stage is the first of the next step

    @property
    def gamma(self) -> float:
        """The diagonal of an implicit method; 0 for an explicit one."""
        return float(self.a[-1, -1])

    @property
    def adaptive(self) -> bool:
        """Whether there is an error estimate to choose steps by."""
        return self.error is not None


def _hermite_polynomial(b) -> np.ndarray:
    """P of eq. (4), for a method whose last stage is f(t + h, y_1)."""
    P = np.outer(b, [0.0, 3.0, -2.0])
    P[0] += [1.0, -2.0, 1.0]
    P[-1] += [0.0, -1.0, 1.0]
    return P


def _make_tableau(name, order, rows, b, error=None, error_order=0, dense=None):
    """A tableau from the rows of a (ragged), b and the optional parts."""
    s = len(b)
    a = np.zeros((s, s))
    for i, row in enumerate(rows):
        a[i, : len(row)] = row
    b = np.asarray(b, dtype=float)
    reuses_last = bool(s > 1 and np.array_equal(a[-1], b) and not a[0].any())
    if error is not None:
        error = np.asarray(error, dtype=float)
        dense = _hermite_polynomial(b) if dense is None else np.asarray(dense)
    return Tableau(
        name, order, a, b, a.sum(axis=1), error, error_order, dense, reuses_last
    )


DOPRI5_B = [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0]
DOPRI5 = _make_tableau(
    "dopri5",
    5,
    [
        [],
        [1 / 5],
        [3 / 40, 9 / 40],
        [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        DOPRI5_B[:6],
    ],
    DOPRI5_B,
    [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40],
    5,
    [
        [
            1,
            -8048581381 / 2820520608,
            8663915743 / 2820520608,
            -12715105075 / 11282082432,
        ],
        [0, 0, 0, 0],
        [
            0,
            131558114200 / 32700410799,
            -68118460800 / 10900136933,
            87487479700 / 32700410799,
        ],
        [
            0,
            -1754552775 / 470086768,
            14199869525 / 1410260304,
            -10690763975 / 1880347072,
        ],
        [
            0,
            127303824393 / 49829197408,
            -318862633887 / 49829197408,
            701980252875 / 199316789632,
        ],
        [
            0,
            -282668133 / 205662961,
            2019193451 / 616988883,
            -1453857185 / 822651844,
        ],
        [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
    ],
)
BOSH3 = _make_tableau(
    "bosh3",
    3,
    [[], [1 / 2], [0, 3 / 4], [2 / 9, 1 / 3, 4 / 9]],
    [2 / 9, 1 / 3, 4 / 9, 0],
    [-5 / 72, 1 / 12, 1 / 9, -1 / 8],
    3,
)

# tr_bdf2: a trapezoid over gamma h, then a backward difference over the whole step
ROOT = np.sqrt(2.0)
TR = 1 - ROOT / 2  # the diagonal
W = ROOT / 4
TR_BDF2_B = [W, W, TR]
TR_BDF2 = _make_tableau(
    "tr_bdf2",
    2,
    [[], [TR, TR], TR_BDF2_B],
    TR_BDF2_B,
    [W - (1 - W) / 3, W - (3 * W + 1) / 3, TR - TR / 3],
    3,
)
KENCARP4_B = np.array(
    [82889 / 524892, 0, 15625 / 83664, 69875 / 102672, -2260 / 8211, 1 / 4]
)
KENCARP4_EMBEDDED = np.array(
    [
        4586570599 / 29645900160,
        0,
        178811875 / 945068544,
        814220225 / 1159782912,
        -3700637 / 11593932,
        61727 / 225920,
    ]
)
KENCARP4 = _make_tableau(
    "kencarp4",
    4,
    [
        [],
        [1 / 4, 1 / 4],
        [8611 / 62500, -1743 / 31250, 1 / 4],
        [5012029 / 34652500, -654441 / 2922500, 174375 / 388108, 1 / 4],
        [
            15267082809 / 155376265600,
            -71443401 / 120774400,
            730878875 / 902184768,
            2285395 / 8070912,
            1 / 4,
        ],
        KENCARP4_B,
    ],
    KENCARP4_B,
    KENCARP4_B - KENCARP4_EMBEDDED,
    4,
)

TABLEAUS = {
    table.name: table
    for table in (
        _make_tableau("euler", 1, [[]], [1]),
        _make_tableau("midpoint", 2, [[], [1 / 2]], [0, 1]),
        _make_tableau("heun", 2, [[], [1]], [1 / 2, 1 / 2]),
        _make_tableau(
            "rk4",
            4,
            [[], [1 / 2], [0, 1 / 2], [0, 0, 1]],
            [1 / 6, 1 / 3, 1 / 3, 1 / 6],
        ),
        BOSH3,
        DOPRI5,
        _make_tableau("implicit_euler", 1, [[1]], [1]),
        _make_tableau("trapezoid", 2, [[], [1 / 2, 1 / 2]], [1 / 2, 1 / 2]),
        TR_BDF2,
        KENCARP4,
    )
}
