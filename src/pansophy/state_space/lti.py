"""Linear time-invariant systems: simulation, responses, stability, discretisation.

    x' = A x + B u,      y = C x + D u            in continuous time             (1)
    x_t = A x_t-1 + B u_t,  y_t = C x_t + D u_t   in steps of length dt          (2)

(2) counts the input of a step at its end, as the layers of neural networks do; with
`x_t+1 = A x_t + B u_t` the output is that of (2) one step later. Its output is a
convolution of the input with the impulse response

    y = K * u + D u,     K_n = C A^n B                                           (3)

so that long inputs take O(n log n) by FFT. For an input held over each step of length h
(zero-order hold) (1) becomes (2) exactly:

    zoh        A_d = exp(h A),  B_d = integral of exp(s A) B over s from 0 to h  (4)
    bilinear   A_d = (I - h/2 A)^-1 (I + h/2 A),   B_d = (I - h/2 A)^-1 h B      (5)
    euler      A_d = I + h A,  B_d = h B                                         (6)

(4) is read off the exponential of [[A, B], [0, 0]], so A need not be invertible. A
system is stable where every eigenvalue of A (its pole) has a negative real part, or for
(2) a modulus below 1; (5) keeps the one inside the other, (6) may not. A pole on the
edge that stands in no Jordan block of size 2 or more leaves it marginal.

    x^(n) + a_1 x^(n-1) + ... + a_n x = b u                                      (7)

is (1) for the vector of x and its first n - 1 derivatives (companion form).

Shapes    A (k, k)   B (k, p)   C (q, k)   D (q, p)   u (n, p)   y (n, q)   K (n, q, p)
Refs      [Antsaklis2006]; [Gu2022] (2), (3)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import expm

from ..signal.convolution import fft_convolve

MARGINAL = (
    1e-9  # a pole this near the edge of stability, relative to the largest, is on it
)


class Stability(NamedTuple):
    """Stability of a system, by its poles."""

    verdict: str  # "stable", "marginal" or "unstable"
    poles: np.ndarray

    def __bool__(self):
        return self.verdict == "stable"


def _check_matrix(value, name, rows=None, columns=None):
    """A float matrix of the shape asked for; a vector is one column, or one row."""
    M = np.asarray(value, dtype=float)
    if M.ndim < 2:
        M = M.reshape(1, -1) if columns is not None else M.reshape(-1, 1)
    shape = (rows or M.shape[0], columns or M.shape[-1])
    if M.ndim != 2 or M.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {np.shape(value)}.")
    if not np.isfinite(M).all():
        raise ValueError(f"{name} must hold finite numbers.")
    return M


def discretize(A, B=None, dt: Any = None, method="zoh"):
    """A_d and B_d of eq. (4), (5) or (6); of a system, the system in steps.

    Parameters
    ----------
    A : array of shape (k, k) or StateSpace
        A whole system is written `discretize(system, dt, method)`.
    B : array of shape (k, p) or (k,)
    dt : float
        Length of a step, h.
    method : {"zoh", "bilinear", "euler"}, default="zoh"

    Examples
    --------
    >>> from pansophy.state_space import discretize, mass_spring_damper
    >>> A, B = discretize([[0, 1], [-2, -3]], [0, 1], 0.1, "bilinear")
    >>> A.round(6)
    array([[ 0.991342,  0.08658 ],
           [-0.17316 ,  0.731602]])
    >>> discretize(mass_spring_damper(m=1, c=3, k=2), 0.1, "bilinear").A.round(6)
    array([[ 0.991342,  0.08658 ],
           [-0.17316 ,  0.731602]])
    """
    if isinstance(A, StateSpace):
        if dt is None or isinstance(dt, str):  # (system, dt, method)
            B, dt, method = None, B, dt or method
        if B is not None:
            raise ValueError("B is that of the system: discretize(system, dt, method).")
        return A.discretized(dt, method)
    if B is None:
        raise ValueError("B, the matrix of the input, is needed beside A.")
    return _discretized_matrices(A, B, dt, method)


def _discretized_matrices(A, B, dt, method):
    """A_d and B_d of eq. (4), (5) or (6)."""
    A = _check_matrix(A, "A")
    k = len(A)
    A, B = _check_matrix(A, "A", k, k), _check_matrix(B, "B", k)
    number = np.ndim(dt) == 0 and np.asarray(dt).dtype.kind in "iuf"
    if not (number and 0 < dt < np.inf):
        raise ValueError(f"dt must be a positive number, got {dt!r}.")
    eye = np.eye(k)
    if method == "zoh":
        p = B.shape[1]
        E = expm(dt * np.block([[A, B], [np.zeros((p, k + p))]]))
        return E[:k, :k], E[:k, k:]
    if method == "bilinear":
        left = eye - dt / 2 * A
        solution = np.linalg.solve(left, np.hstack([eye + dt / 2 * A, dt * B]))
        return solution[:, :k], solution[:, k:]
    if method == "euler":
        return eye + dt * A, dt * B
    raise ValueError(f'method must be "zoh", "bilinear" or "euler", got {method!r}.')


@dataclass(eq=False)
class StateSpace:
    """A linear system that does not change over time.

    Parameters
    ----------
    A : array of shape (k, k)
    B : array of shape (k, p) or (k,)
    C : array of shape (q, k) or (k,), optional
        None shows the whole state.
    D : array of shape (q, p), optional
        None is 0.
    dt : float, optional
        Length of a step of a discrete system, eq. (2); None is a continuous one, (1).

    Examples
    --------
    >>> from pansophy.state_space import mass_spring_damper
    >>> system = mass_spring_damper(m=1, c=3, k=2)
    >>> system.stability()
    Stability(verdict='stable', poles=array([-1.+0.j, -2.+0.j]))
    >>> y = system.discretized(0.1, "bilinear").simulate([1, 2, 0, -1, 3])
    >>> y[:, 0].round(6)
    array([0.004329, 0.020446, 0.04068 , 0.050625, 0.065769])
    """

    A: Any
    B: Any
    C: Any = None
    D: Any = None
    _: KW_ONLY
    dt: float | None = None

    def __post_init__(self):
        k = _check_matrix(self.A, "A").shape[0]
        self.A = _check_matrix(self.A, "A", k, k)
        self.B = _check_matrix(self.B, "B", k)
        self.C = np.eye(k) if self.C is None else _check_matrix(self.C, "C", None, k)
        q = len(self.C)
        p = self.B.shape[1]
        self.D = (
            np.zeros((q, p)) if self.D is None else _check_matrix(self.D, "D", q, p)
        )
        if self.dt is not None and not 0 < self.dt < np.inf:
            raise ValueError(f"dt must be a positive number or None, got {self.dt!r}.")

    def poles(self):
        """Eigenvalues of A, the slowest first."""
        values = np.linalg.eigvals(self.A).astype(complex)
        slow = -np.abs(values) if self.dt else -values.real
        return values[np.lexsort((-values.imag, slow))]

    def stability(self) -> Stability:
        """Whether every state dies out by itself."""
        poles = self.poles()
        scale = MARGINAL * max(1.0, np.abs(poles).max())
        excess = np.abs(poles) - 1 if self.dt else poles.real
        if (excess > scale).any():
            verdict = "unstable"
        elif (excess < -scale).all():
            verdict = "stable"
        else:
            edge = np.abs(excess) <= scale
            verdict = "marginal" if self._simple(poles[edge]) else "unstable"
        return Stability(verdict, poles)

    def _simple(self, poles) -> bool:
        """Whether each of these poles has as many eigenvectors as its multiplicity."""
        k = len(self.A)
        size = max(1.0, np.abs(self.A).max())
        for pole in poles:
            multiplicity = (np.abs(self.poles() - pole) <= 1e-6 * size).sum()
            s = np.linalg.svd(self.A - pole * np.eye(k), compute_uv=False)
            if (s <= 1e-6 * size).sum() < multiplicity:
                return False
        return True

    def discretized(self, dt, method="zoh") -> "StateSpace":
        """The system in steps of length dt, see `discretize`."""
        self._only("discretized", continuous=True)
        A, B = _discretized_matrices(self.A, self.B, dt, method)
        return StateSpace(A, B, C=self.C, D=self.D, dt=dt)

    def _only(self, what, continuous):
        if (self.dt is None) != continuous:
            kind = "continuous" if continuous else "discrete (see `discretized`)"
            raise ValueError(f"{what} needs a system in {kind} time.")

    def _input(self, u):
        u = np.asarray(u, dtype=float)
        p = self.B.shape[1]
        u = u[:, None] if u.ndim == 1 and p == 1 else u
        if u.ndim != 2 or u.shape[1] != p:
            raise ValueError(f"u must have shape (n, {p}), got {u.shape}.")
        return u

    def simulate(self, u, x0=None, *, dt=None, method="recurrence", states=False):
        """Output for an input u (n, p), held over each step.

        Parameters
        ----------
        u : array of shape (n, p) or (n,)
        x0 : array of shape (k,), optional
            State before the first step; None is 0.
        dt : float
            Length of a step of a continuous system.
        method : {"recurrence", "convolution"}, default="recurrence"
            Step by step, eq. (2), or by FFT, eq. (3). They agree to rounding.
        states : bool, default=False
            Whether the states (n, k) are given beside the outputs.
        """
        if self.dt is None:
            if dt is None:
                raise ValueError("dt, the length of a step of u, is needed.")
            system = self.discretized(dt)
            return system.simulate(u, x0, method=method, states=states)
        u, k = self._input(u), len(self.A)
        x0 = np.zeros(k) if x0 is None else np.asarray(x0, dtype=float)
        if x0.shape != (k,):
            raise ValueError(f"x0 must have shape ({k},), got {x0.shape}.")
        if method == "recurrence":
            X = np.empty((len(u), k))
            drive = u @ self.B.T
            x = x0
            for t in range(len(u)):
                x = self.A @ x + drive[t]
                X[t] = x
        elif method == "convolution":
            powers = _matrix_powers(self.A, self.B, len(u))  # C = I: the states
            X = _convolve_inputs(powers, u)
            if x0.any():
                X += _matrix_powers(self.A, (self.A @ x0)[:, None], len(u))[:, :, 0]
        else:
            raise ValueError(
                f'method must be "recurrence" or "convolution", got {method!r}.'
            )
        Y = X @ self.C.T + u @ self.D.T
        return (Y, X) if states else Y

    def kernel(self, n):
        """Impulse response K of eq. (3) for n steps, D left out: (n, q, p)."""
        self._only("kernel", continuous=False)
        return np.einsum("qk,nkp->nqp", self.C, _matrix_powers(self.A, self.B, n))

    def step_response(self, n, *, dt=None):
        """Output for an input that is 1 from the first step on: (n, q, p)."""
        p = self.B.shape[1]
        inputs = np.eye(p)[:, None, :] * np.ones((n, 1))
        return np.stack([self.simulate(u, dt=dt) for u in inputs], axis=2)

    def impulse_response(self, n, *, dt=None):
        """Output for 1 in the first step and 0 after: (n, q, p); continuous systems
        give exp(t A) at t = 0, dt, ... between C and B."""
        if self.dt is None:
            if dt is None:
                raise ValueError("dt, the length of a step, is needed.")
            return np.einsum(
                "qk,nkp->nqp", self.C, _matrix_powers(expm(dt * self.A), self.B, n)
            )
        K = self.kernel(n)
        K[0] += self.D
        return K

    def static_gain(self):
        """Output in the long run for a constant input 1: (q, p)."""
        left = np.eye(len(self.A)) - self.A if self.dt else -self.A
        try:
            return self.C @ np.linalg.solve(left, self.B) + self.D
        except np.linalg.LinAlgError:
            raise ValueError("a pole at rest: the output grows without end.") from None


def _matrix_powers(A, B, n):
    """A^i B for i < n, by doubling: (n, k, p)."""
    powers = B[None]
    step = A
    while len(powers) < n:
        powers = np.concatenate([powers, step @ powers])
        step = step @ step
    return powers[:n]


def _convolve_inputs(K, u):
    """Sum over inputs of K (n, q, p) and u (n, p) convolved, the first n rows."""
    n, _, p = K.shape
    return sum(fft_convolve(K[:, :, j], u[:, j, None], axis=0)[:n] for j in range(p))


def poles(A):
    """Eigenvalues of the matrix of a continuous system, or of a system, slowest first.

    Examples
    --------
    >>> from pansophy.state_space import poles
    >>> poles([[0, 1], [-2, -3]]).real
    array([-1., -2.])
    """
    if isinstance(A, StateSpace):
        return A.poles()
    A = _check_matrix(A, "A")
    return StateSpace(A, np.zeros((len(A), 1))).poles()


def companion_system(coefficients, gain=1.0) -> StateSpace:
    """The system of eq. (7), from a_1..a_n; its poles are the roots of the equation.

    Examples
    --------
    >>> from pansophy.state_space import companion_system
    >>> companion_system([3, 2]).A
    array([[ 0.,  1.],
           [-2., -3.]])
    """
    a = np.atleast_1d(np.asarray(coefficients, dtype=float))
    n = len(a)
    A = np.eye(n, k=1)
    A[-1] = -a[::-1]
    return StateSpace(A, gain * np.eye(n)[:, -1:], C=np.eye(1, n))


def mass_spring_damper(m=1.0, c=0.0, k=1.0) -> StateSpace:
    """m x'' + c x' + k x = u: a mass m on a spring k with damping c, shown by x."""
    if not m > 0:
        raise ValueError(f"m must be positive, got {m!r}.")
    return companion_system([c / m, k / m], 1 / m)
