"""State-space sequence layers: recurrence, convolution, S4D and S4.

A linear system turns an input u_1, u_2, ... into an output by a state of N numbers,

    x' = A x + B u,           y = C x + D u        in continuous time            (1)
    x_t = Abar x_t-1 + Bbar u_t,   y_t = C x_t + D u_t   in steps                (2)
    y = K * u + D u,   K = (C Bbar, C Abar Bbar, C Abar^2 Bbar, ...)             (3)

(2) takes one step after the other and constant memory, (3) takes all steps at once by
FFT. A layer trains by (3) and is used by (2); both give the same numbers. The FFT has
at least 2 L points: with fewer the end of the output would wrap around to its start.

S4D has diagonal A, one system for every channel. Its eigenvalues come in conjugate
pairs, of which one is kept: x is a vector of N/2 complex numbers and y twice the real
part of C x. Complex numbers are pairs of real ones in all parameters and states. With
Delta the length of a step,

    zoh        Abar = exp(Delta lambda),   Bbar = (Abar - 1) / lambda            (4)
    bilinear   Abar = (1 + Delta lambda/2) / (1 - Delta lambda/2),
               Bbar = Delta / (1 - Delta lambda/2)                               (5)
    K_t = 2 Re sum_n C_n Bbar_n Abar_n^t                                         (6)

The Vandermonde sum (6) over t = i + c j is a matrix product of Abar^(c j) with Abar^i:
N (L/c + c) exponentials and N L products. Real parts are -exp(parameter): they stay
negative whatever the optimiser does, and the system stable.

S4 has A = Lambda - P P* (normal less rank one, as HiPPO-LegS is), by the bilinear rule.
Its kernel comes from the values of its generating function at the L-th roots of unity,

    sum_t<L K_t z^t = Ct [(1 - z) I - Delta/2 (1 + z) A]^-1 Delta B,
    Ct = C (I - Abar^L)                                                          (7)

where the inverse is that of a diagonal matrix, corrected for rank one (Woodbury):
O(N L), without a power of A but Abar^L.

Cost      kernel O(H N L), convolution O(H L log L) a sequence; a step O(H N), S4 H N^2
Shapes    x (batch, L, H)   state (batch, H, N/2, 2), S4 (batch, H, N)
Refs      [Gu2022] S4; [Gu2022d] S4D
"""

import math
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from .hippo import legs_normal_form

# Any single system, by matrices


def _float_matrix(value, columns=None) -> Tensor:
    """A float tensor of two dimensions; a vector is one column, or one row."""
    M = torch.as_tensor(value)
    M = M if M.is_floating_point() else M.to(torch.get_default_dtype())
    if M.ndim < 2:
        M = M.reshape(1, -1) if columns is not None else M.reshape(-1, 1)
    return M


def ssm_scan(A, B, C, u, D=None, x0=None) -> tuple[Tensor, Tensor]:
    """Recurrent mode, eq. (2): outputs, and the state after the last step.

    Parameters
    ----------
    A : (N, N), B : (N, p) or (N,), C : (q, N) or (N,)
        Of the system in steps; see `state_space.discretize`.
    u : (..., L, p), or (L,) if there is one input
    D : (q, p) or None
    x0 : (..., N) or None
        State before the first step: the last one of an earlier call goes on with it.

    Examples
    --------
    >>> from pansophy.nn import ssm_scan
    >>> from pansophy.state_space import discretize
    >>> A, B = discretize([[0, 1], [-2, -3]], [0, 1], 0.1, "bilinear")
    >>> y, x = ssm_scan(A, B, [1.0, 0.0], [1.0, 2.0, 0.0, -1.0, 3.0])
    >>> y.numpy().round(6)
    array([0.004329, 0.020446, 0.04068 , 0.050625, 0.065769])
    """
    A = _float_matrix(A)
    B = _float_matrix(B).to(A)
    C = _float_matrix(C, columns=len(A)).to(A)
    u = torch.as_tensor(u).to(A)
    flat = u.ndim == 1
    u = u[:, None] if flat else u
    x = u.new_zeros(*u.shape[:-2], len(A)) if x0 is None else torch.as_tensor(x0).to(A)
    drive = u @ B.t()
    states = []
    for t in range(u.shape[-2]):
        x = x @ A.t() + drive[..., t, :]
        states.append(x)
    y = torch.stack(states, dim=-2) @ C.t()
    if D is not None:
        y = y + u @ _float_matrix(D, columns=u.shape[-1]).to(A).t()
    return (y[:, 0] if flat and y.shape[-1] == 1 else y), x


def ssm_kernel(A, B, C, length: int) -> Tensor:
    """K of eq. (3), by doubling: (length, q, p), or (length,) of one input and output.

    Examples
    --------
    >>> from pansophy.nn import ssm_kernel
    >>> from pansophy.state_space import discretize
    >>> A, B = discretize([[0, 1], [-2, -3]], [0, 1], 0.1, "bilinear")
    >>> ssm_kernel(A, B, [1.0, 0.0], 5).numpy().round(6)
    array([0.004329, 0.011788, 0.017105, 0.020745, 0.02308 ])
    """
    A = _float_matrix(A)
    B = _float_matrix(B).to(A)
    C = _float_matrix(C, columns=len(A)).to(A)
    powers = B[None]  # A^i B
    step = A
    while len(powers) < length:
        powers = torch.cat([powers, step @ powers])
        step = step @ step
    K = C @ powers[:length]
    return K[:, 0, 0] if K.shape[1:] == (1, 1) else K


def causal_convolution(u: Tensor, K: Tensor) -> Tensor:
    """y_t = sum_{s<=t} K_{t-s} u_s for every channel, by FFT of at least 2 L points.

    u is (..., L, H) or (L,), K (H, L) or (L,).
    """
    if u.ndim == 1:
        return causal_convolution(u[:, None], K[None])[:, 0]
    length = u.shape[-2]
    exact = torch.promote_types(u.dtype, torch.float32)
    size = 1 << max(1, (2 * length - 1).bit_length())
    U = torch.fft.rfft(u.to(exact), n=size, dim=-2)
    F = torch.fft.rfft(K[:, :length].to(exact), n=size, dim=-1)
    y = torch.fft.irfft(U * F.transpose(0, 1), n=size, dim=-2)
    return y[..., :length, :].to(u.dtype)


# Pairs of real numbers for complex ones


class Pair(NamedTuple):
    """A complex tensor as its real and imaginary part."""

    re: Tensor
    im: Tensor

    def times(self, other: "Pair") -> "Pair":
        re = self.re * other.re - self.im * other.im
        return Pair(re, self.re * other.im + self.im * other.re)

    def over(self, other: "Pair") -> "Pair":
        size = other.re.square() + other.im.square()
        re = self.re * other.re + self.im * other.im
        return Pair(re / size, (self.im * other.re - self.re * other.im) / size)


def discretize_diagonal(eigenvalues: Pair, delta, method="zoh") -> tuple[Pair, Pair]:
    """Abar and Bbar (for B = 1) of eq. (4) or (5), element by element."""
    re = eigenvalues.re * delta
    im = eigenvalues.im * delta
    if method == "zoh":
        size = re.exp()
        A = Pair(size * im.cos(), size * im.sin())
        # e^z - 1 without cancellation: cos - 1 = -2 sin^2 of half the angle
        expm1_re = torch.expm1(re) * im.cos() - 2 * torch.sin(im / 2).square()
        return A, Pair(expm1_re, A.im).over(eigenvalues)
    if method == "bilinear":
        denominator = Pair(1 - re / 2, -im / 2)
        A = Pair(1 + re / 2, im / 2).over(denominator)
        step_sizes = torch.ones_like(re) * delta
        return A, Pair(step_sizes, torch.zeros_like(step_sizes)).over(denominator)
    raise ValueError(f'method must be "zoh" or "bilinear", got {method!r}.')


def _diagonal_powers(A: Pair, exponents) -> Pair:
    """A_n^t for every exponent t, (H, N/2, exponents).

    Powers are taken of modulus and angle in float64: at t = 16,000 a float32 angle
    is off by a thousandth of a turn.
    """
    t = torch.as_tensor(exponents, dtype=torch.float64, device=A.re.device)
    log_size = torch.log(A.re.double().square() + A.im.double().square()) / 2
    angle = torch.atan2(A.im.double(), A.re.double())[..., None] * t
    size = torch.exp(log_size[..., None] * t)
    dtype = A.re.dtype
    return Pair((size * angle.cos()).to(dtype), (size * angle.sin()).to(dtype))


def _vandermonde_kernel(w: Pair, A: Pair, length: int) -> Tensor:
    """2 Re sum_n w_n A_n^t for t < length, eq. (6): (..., H, length).

    w is (..., H, N/2).
    """
    c = max(1, math.isqrt(length - 1) + 1)
    rows = -(-length // c)
    near = _diagonal_powers(A, range(c))  # A^i, (H, N/2, c)
    far = _diagonal_powers(A, range(0, c * rows, c))  # A^(c j)
    G = Pair(w.re[..., None], w.im[..., None]).times(far)
    left = torch.cat([G.re, -G.im], dim=-2).transpose(-1, -2)
    right = torch.cat([near.re, near.im], dim=-2)
    K = 2 * (left @ right)  # (H, rows, c)
    return K.flatten(-2)[..., :length]


# Layers


class StateSpaceLayer(nn.Module):
    """Base class of S4D and S4: a step length for each channel, D, both modes.

    A layer gives `kernel(length)`, `init_state(batch)` and `_advance(state, u)`.
    """

    # a pull towards 0 would move the poles and the input
    undecayed = ("log_decay", "frequency", "P", "B")

    def __init__(self, width: int, *, dt_min=1e-3, dt_max=1e-1, generator=None):
        super().__init__()
        if not 0 < dt_min <= dt_max:
            raise ValueError("0 < dt_min <= dt_max must hold.")
        self.width = int(width)
        uniform = torch.rand(self.width, generator=generator)
        low = math.log(dt_min)
        self.log_dt = nn.Parameter(low + uniform * (math.log(dt_max) - low))
        self.D = nn.Parameter(torch.randn(self.width, generator=generator))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Outputs by convolution; steps that the mask leaves out read and give 0."""
        if mask is not None:
            x = x.masked_fill(~mask[..., None], 0.0)
        y = causal_convolution(x, self.kernel(x.shape[1])) + x * self.D.to(x.dtype)
        return y if mask is None else y.masked_fill(~mask[..., None], 0.0)

    def step(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One step by recurrence: y_t (batch, H) and the state after it."""
        y, state = self._advance(state, x)
        return (y + x * self.D).to(x.dtype), state

    def advance(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Further steps x (batch, L, H) of a sequence, and the state after them."""
        outputs = []
        for t in range(x.shape[1]):
            y, state = self.step(x[:, t], state)
            outputs.append(y)
        return torch.stack(outputs, dim=1), state


class S4D(StateSpaceLayer):
    """State-space layer with diagonal A, one system for every channel, eq. (6).

    Parameters
    ----------
    width : int
        Channels H; they are not mixed.
    n_states : int
        N; N/2 complex numbers are kept.
    init : {"legs", "lin", "inv", "real"}
        Initial eigenvalues: of HiPPO-LegS's normal part, -1/2 + i pi n, the inverse
        law, or -(n + 1) without an imaginary part.
    method : {"zoh", "bilinear"}
    dt_min, dt_max : float
        Range of the initial step lengths.
    generator : torch.Generator or None

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import S4D
    >>> layer = S4D(3, 8)
    >>> x = torch.randn(2, 20, 3)
    >>> y, state = layer(x), layer.init_state(2)
    >>> for t in range(20):
    ...     y_t, state = layer.step(x[:, t], state)
    >>> torch.allclose(y[:, -1], y_t, atol=1e-5)
    True
    """

    def __init__(
        self, width: int, n_states: int = 64, *, init="legs",
        method: Literal["zoh", "bilinear"] = "zoh", dt_min=1e-3, dt_max=1e-1,
        generator=None,
    ):  # fmt: skip
        super().__init__(width, dt_min=dt_min, dt_max=dt_max, generator=generator)
        if method not in ("zoh", "bilinear"):
            raise ValueError(f'method must be "zoh" or "bilinear", got {method!r}.')
        self.method = method
        values = _diagonal_eigenvalues(n_states, init)
        shape = (self.width, len(values))
        real, imaginary = (
            torch.tensor(part, dtype=torch.float32).expand(shape).clone()
            for part in (np.log(-values.real), values.imag)
        )
        self.log_decay = nn.Parameter(real)  # lambda = -exp(log_decay) + i frequency
        self.frequency = nn.Parameter(imaginary)
        # B = 1: only the product of B and C matters
        C = torch.randn(*shape, 2, generator=generator) * math.sqrt(0.5)
        self.C = nn.Parameter(C)

    def eigenvalues(self) -> Pair:
        """lambda, one of each conjugate pair: (H, N/2)."""
        return Pair(-self.log_decay.exp(), self.frequency)

    def discretized(self) -> tuple[Pair, Pair]:
        """Abar and Bbar: (H, N/2)."""
        delta = self.log_dt.exp()[:, None]
        return discretize_diagonal(self.eigenvalues(), delta, self.method)

    def kernel(self, length: int) -> Tensor:
        """K of eq. (6): (H, length)."""
        A, B = self.discretized()
        return _vandermonde_kernel(
            Pair(self.C[..., 0], self.C[..., 1]).times(B), A, length
        )

    def init_state(self, batch: int) -> Tensor:
        """The state before the first step: (batch, H, N/2, 2)."""
        return self.C.new_zeros(batch, *self.C.shape)

    def _advance(self, state, u):
        A, B = self.discretized()
        x = A.times(Pair(state[..., 0], state[..., 1]))
        u = u.to(self.C.dtype)[..., None]
        x = Pair(x.re + B.re * u, x.im + B.im * u)
        y = 2 * (self.C[..., 0] * x.re - self.C[..., 1] * x.im).sum(-1)
        return y, torch.stack(x, dim=-1)

    def advance(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Further steps: the convolution, and what the state before adds to it.

        y_t has 2 Re sum_n C_n Abar_n^(t+1) x0_n besides eq. (3), and the state after
        L steps is Abar^L x0 + sum_t Abar^(L-1-t) Bbar u_t.
        """
        A, B = self.discretized()
        decayed = A.times(Pair(state[..., 0], state[..., 1]))  # Abar x0
        length = x.shape[1]
        C = Pair(self.C[..., 0], self.C[..., 1])
        carried = _vandermonde_kernel(C.times(decayed), A, length)  # (batch, H, L)
        y = self.forward(x) + carried.transpose(1, 2).to(x.dtype)
        powers = _diagonal_powers(A, range(length))  # Abar^t, (H, N/2, L)
        u = x.flip(1).to(A.re.dtype)
        forced = Pair(*(torch.einsum("blh,hnl->bhn", u, part) for part in powers))
        forced = B.times(forced)
        last = Pair(powers.re[..., -1], powers.im[..., -1]).times(decayed)
        return y, torch.stack([forced.re + last.re, forced.im + last.im], dim=-1)


def _diagonal_eigenvalues(N: int, init: str) -> np.ndarray:
    """Initial eigenvalues of S4D: complex (N/2,), real parts below 0."""
    if N < 2 or N % 2:
        raise ValueError(f"n_states must be an even number of at least 2, got {N}.")
    n = np.arange(N // 2)
    if init == "legs":
        return legs_normal_form(N).eigenvalues
    if init == "lin":
        return -0.5 + 1j * np.pi * n
    if init == "inv":
        return -0.5 + 1j * N / np.pi * (N / (2 * n + 1) - 1)
    if init == "real":
        return -(n + 1.0) + 0j
    raise ValueError(f'init must be "legs", "lin", "inv" or "real", got {init!r}.')


class S4(StateSpaceLayer):
    """State-space layer with A = Lambda - P P*, started at HiPPO-LegS, eq. (7).

    Parameters
    ----------
    width : int
        Channels H; they are not mixed.
    n_states : int
        N, even.
    dt_min, dt_max : float
        Range of the initial step lengths.
    generator : torch.Generator or None

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import S4
    >>> layer = S4(3, 8)
    >>> tuple(layer(torch.randn(2, 20, 3)).shape)
    (2, 20, 3)
    """

    def __init__(
        self, width: int, n_states: int = 64, *, dt_min=1e-3, dt_max=1e-1,
        generator=None,
    ):  # fmt: skip
        super().__init__(width, dt_min=dt_min, dt_max=dt_max, generator=generator)
        start = legs_normal_form(n_states)
        shape = (self.width, len(start.eigenvalues))

        def pair(values):
            stacked = np.stack([values.real, values.imag], axis=-1)
            stacked = torch.tensor(stacked, dtype=torch.float32)
            return nn.Parameter(stacked.expand(*shape, 2).clone())

        decay = torch.tensor(np.log(-start.eigenvalues.real), dtype=torch.float32)
        self.log_decay = nn.Parameter(decay.expand(shape).clone())
        frequency = torch.tensor(start.eigenvalues.imag, dtype=torch.float32)
        self.frequency = nn.Parameter(frequency.expand(shape).clone())
        self.P = pair(start.P)
        self.B = pair(start.B)
        C = torch.randn(*shape, 2, generator=generator) * math.sqrt(0.5)
        self.C = nn.Parameter(C)

    def real_system(self) -> tuple[Tensor, Tensor, Tensor]:
        """A (H, N, N), B (H, N), C (H, N) on the real state [Re x, Im x]."""
        re = torch.diag_embed(-self.log_decay.exp())
        im = torch.diag_embed(self.frequency)
        rotation = torch.cat([torch.cat([re, -im], 2), torch.cat([im, re], 2)], 1)
        p = torch.cat([self.P[..., 0], self.P[..., 1]], 1)
        A = rotation - 2 * p[:, :, None] * p[:, None, :]
        B = torch.cat([self.B[..., 0], self.B[..., 1]], 1)
        return A, B, 2 * torch.cat([self.C[..., 0], -self.C[..., 1]], 1)

    def discretized(self) -> tuple[Tensor, Tensor, Tensor]:
        """Abar, Bbar and C of `real_system` by the bilinear rule."""
        A, B, C = self.real_system()
        delta = self.log_dt.exp()
        half = A * (delta[:, None, None] / 2)
        eye = torch.eye(A.shape[1], dtype=A.dtype, device=A.device)
        right = torch.cat([eye + half, (B * delta[:, None])[..., None]], 2)
        solution = torch.linalg.solve(eye - half, right)
        return solution[..., :-1], solution[..., -1], C

    def kernel(self, length: int) -> Tensor:
        """K from its generating function, eq. (7): (H, length)."""
        A, _, C = (part.double() for part in self.discretized())
        power = torch.linalg.matrix_power(A, length)
        C = (C - (C[:, None] @ power)[:, 0]).to(self.C.dtype) / 2
        N = self.C.shape[1]
        C = Pair(C[:, :N], -C[:, N:])
        P = Pair(self.P[..., 0], self.P[..., 1])
        Q = Pair(P.re, -P.im)
        B = Pair(self.B[..., 0], self.B[..., 1])
        j = torch.arange(length // 2 + 1, dtype=P.re.dtype, device=P.re.device)
        z = torch.polar(torch.ones_like(j), -2 * math.pi / length * j)
        delta = self.log_dt.exp()[:, None]
        rho = delta / 2 * (1 + z)
        cauchy = CauchySums(self.log_decay, self.frequency, 1 - z, rho)
        low_rank = rho * cauchy(C, P) * cauchy(Q, B) / (1 + rho * cauchy(Q, P))
        values = delta * (cauchy(C, B) - low_rank)
        return torch.fft.irfft(values, n=length, dim=-1)

    def init_state(self, batch: int) -> Tensor:
        """The state before the first step: (batch, H, N)."""
        return self.C.new_zeros(batch, self.width, 2 * self.C.shape[1])

    def _advance(self, state, u):
        A, B, C = self.discretized()
        x = torch.einsum("hij,bhj->bhi", A, state) + B * u.to(B.dtype)[..., None]
        return (x * C).sum(-1), x


class CauchySums:
    """sum_n g_n / (alpha - rho lambda_n) over conjugate pairs, with g = u v.

    A pair adds up to (2 Re(g) alpha - 2 rho Re(g conj(lambda))) over
    alpha^2 - 2 alpha rho Re(lambda) + rho^2 |lambda|^2, whose coefficients are real.
    """

    def __init__(self, log_decay, frequency, alpha, rho):
        self.re = -log_decay.exp()
        self.im = frequency
        self.alpha = alpha[None, None]
        self.rho = rho[:, None]
        size = (self.re.square() + self.im.square())[..., None]
        middle = 2 * self.re[..., None] * self.alpha * self.rho
        self.below = self.alpha.square() - middle + size * self.rho.square()

    def __call__(self, u: Pair, v: Pair) -> Tensor:
        g = u.times(v)
        projection = (g.re * self.re + g.im * self.im)[..., None]
        numerator = 2 * (g.re[..., None] * self.alpha - projection * self.rho)
        return (numerator / self.below).sum(1)


class StateSpaceBlock(nn.Module):
    """A sequence layer in a residual block: x + mix(gelu(layer(norm(x)))).

    Parameters
    ----------
    layer : module with `width`, `forward(x, mask)`, `init_state`, `step`, `advance`
        `S4D`, `S4`, `Mamba`.
    dropout : float

    The gated linear unit `mix` is the only place where channels of S4D and S4 meet.
    """

    def __init__(self, layer, *, dropout: float = 0.0):
        super().__init__()
        self.layer = layer
        self.width = layer.width
        self.gain = nn.Parameter(torch.ones(self.width))
        self.mix = nn.Linear(self.width, 2 * self.width)
        self.dropout = float(dropout)

    def _mixed(self, y):
        y = functional.glu(self.mix(functional.gelu(y)), dim=-1)
        return functional.dropout(y, self.dropout, self.training)

    def _normed(self, x):
        return functional.rms_norm(x, (self.width,), self.gain)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map x to its own shape; steps that the mask leaves out give 0."""
        y = x + self._mixed(self.layer(self._normed(x), mask))
        return y if mask is None else y.masked_fill(~mask[..., None], 0.0)

    def init_state(self, batch: int):
        """The layer's state before the first step."""
        return self.layer.init_state(batch)

    def step(self, x: Tensor, state):
        """One step of a sequence: y_t and the state after it."""
        y, state = self.layer.step(self._normed(x), state)
        return x + self._mixed(y), state

    def advance(self, x: Tensor, state):
        """Further steps (batch, L, width) of a sequence, and the state after them."""
        y, state = self.layer.advance(self._normed(x), state)
        return x + self._mixed(y), state
