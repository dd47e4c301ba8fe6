"""Neural ODEs against diffrax and torchdiffeq; growth of scans and Mamba."""

import copy

import numpy as np

from .runner import THREADS, Case

WIDTH, HIDDEN, TOLERANCE, REPEATS = 8, 64, 1e-5, 5


def problem(size):
    """Initial states and the weights of a field, float32."""
    (n,) = size
    rng = np.random.default_rng(0)
    W1 = rng.normal(size=(WIDTH, HIDDEN)) / np.sqrt(WIDTH)
    W2 = rng.normal(size=(HIDDEN, WIDTH)) / np.sqrt(HIDDEN)
    parts = (rng.normal(size=(n, WIDTH)), W1, np.zeros(HIDDEN), W2, np.zeros(WIDTH))
    return [a.astype(np.float32) for a in parts]


FIELDS = {}


def torch_field(payload):
    """The field with the given weights; made once, as diffrax's function is."""
    import torch

    from pansophy.nn import MLPField

    if not FIELDS:
        torch.set_num_threads(THREADS)
        FIELDS["mlp"] = MLPField(WIDTH, (HIDDEN,))
    field = FIELDS["mlp"]
    _, W1, b1, W2, b2 = payload
    for p, a in zip(field.parameters(), (W1, W2, b1, b2), strict=True):
        p.data = torch.tensor(a)
    return field, torch.tensor(payload[0]), torch.tensor([0.0, 1.0])


def ours(payload):
    import torch

    from pansophy.nn import odeint

    field, y0, t = torch_field(payload)
    for _ in range(REPEATS):
        y = odeint(field, y0, t, rtol=TOLERANCE, atol=TOLERANCE).y[-1]
        g = torch.autograd.grad(y.square().sum(), list(field.parameters()))
    return g[0].numpy()


def torchdiffeq_gradient(payload, solver="odeint"):
    import torch
    import torchdiffeq

    field, y0, t = torch_field(payload)
    solve = getattr(torchdiffeq, solver)
    options = {"method": "dopri5", "rtol": TOLERANCE, "atol": TOLERANCE}
    for _ in range(REPEATS):
        y = solve(field, y0, t, **options)[-1]
        g = torch.autograd.grad(y.square().sum(), list(field.parameters()))
    return g[0].numpy()


def torchdiffeq_adjoint(payload):
    return torchdiffeq_gradient(payload, "odeint_adjoint")


COMPILED = {}


def diffrax_gradient(payload):
    import diffrax
    import jax
    import jax.numpy as jnp

    def field(t, y, p):
        return jnp.tanh(y @ p[0] + p[1]) @ p[2] + p[3]

    def loss(p, y0):
        control = diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE)
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Dopri5(), 0.0, 1.0, None, y0, args=p,
            stepsize_controller=control,
        )  # fmt: skip
        return (found.ys[-1] ** 2).sum()

    if "gradient" not in COMPILED:
        COMPILED["gradient"] = jax.jit(jax.grad(loss))
    y0, *p = (jnp.array(a) for a in payload)
    for _ in range(REPEATS):
        g = jax.block_until_ready(COMPILED["gradient"](p, y0))
    return np.asarray(g[0])


def gradient_error(payload, gradient):
    """Relative distance to the gradient at a far smaller tolerance in float64."""
    import torch

    from pansophy.nn import odeint

    field, y0, t = torch_field(payload)
    field = copy.deepcopy(field).double()
    y = odeint(field, y0.double(), t, rtol=1e-10, atol=1e-10).y[-1]
    exact = torch.autograd.grad(y.square().sum(), field.weights[0])[0].numpy()
    return float(np.abs(gradient - exact).max() / np.abs(exact).max())


def sequence(size):
    import torch

    (length,) = size
    torch.manual_seed(0)
    a = torch.rand(4, length, 64)
    return a, torch.randn(4, length, 64)


def ours_scan(payload):
    from pansophy.nn import scan

    return scan(*payload)


def scan_by_steps(payload):
    from pansophy.nn import scan

    return scan(*payload, method="loop")


def scan_error(payload, h):
    exact = scan_by_steps([p.double() for p in payload])
    return float((h.double() - exact).abs().max() / exact.abs().max())


def ours_mamba(payload):
    """Forward and backward of a layer of 64 channels."""
    import torch

    from pansophy.nn import Mamba

    torch.manual_seed(0)
    layer = Mamba(64, n_states=16, head_size=16)
    layer(payload[1]).square().sum().backward()
    return layer.in_projection.weight.grad


def mamba_by_steps(payload):
    import torch

    from pansophy.nn import Mamba

    torch.manual_seed(0)
    layer = Mamba(64, n_states=16, head_size=16, method="loop")
    layer(payload[1]).square().sum().backward()
    return layer.in_projection.weight.grad


def mamba_error(payload, gradient):
    """Relative distance to the gradient of the plain recurrence in float64."""
    import torch

    from pansophy.nn import Mamba

    torch.manual_seed(0)
    layer = Mamba(64, n_states=16, head_size=16, method="loop").double()
    layer(payload[1].double()).square().sum().backward()
    exact = layer.in_projection.weight.grad
    return float((gradient.double() - exact).abs().max() / exact.abs().max())


CASES = [
    Case(
        name="neural_ode",
        what="5 x (adaptive solve + gradient), field 8-64-8, 256 rows, tol 1e-5",
        sizes=[(64,), (128,), (256,)],
        data=problem,
        ours=ours,
        peers={
            "diffrax": diffrax_gradient,
            "torchdiffeq": torchdiffeq_gradient,
            "torchdiffeq adjoint": torchdiffeq_adjoint,
        },
        quality=gradient_error,
        tolerance=1e-4,  # all are solved to the same tolerance
        target=1.0,
        rounds=15,
        targets={"torchdiffeq": 3.0},
    ),
    Case(
        name="scan",
        what="linear recurrence of 4 x 64 channels, 16,384 steps",
        sizes=[(1024,), (4096,), (16_384,)],
        data=sequence,
        ours=ours_scan,
        peers={"torch loop": scan_by_steps},
        written=("torch loop",),
        quality=scan_error,
        tolerance=1e-4,
        target=3.0,
    ),
    Case(
        name="mamba",
        what="layer of 64 channels, 4 sequences of 2048 steps, forward + backward",
        sizes=[(512,), (1024,), (2048,)],
        data=sequence,
        ours=ours_mamba,
        peers={"torch loop": mamba_by_steps},
        written=("torch loop",),
        quality=mamba_error,
        tolerance=1e-4,
        target=3.0,
    ),
]
