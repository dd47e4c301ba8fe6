"""Solvers: worked numbers, orders, SciPy, stiffness, events, gradients."""

import math
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.nn import AdjointWarning, MLPField, StiffODEWarning, odeint  # noqa: E402
from pansophy.nn.ode import ode as ode_module  # noqa: E402
from pansophy.nn.ode.tableaus import TABLEAUS  # noqa: E402

FIXED = [n for n, t in TABLEAUS.items() if not t.adaptive]
ADAPTIVE = [n for n, t in TABLEAUS.items() if t.adaptive]
ONE = torch.ones(1, dtype=torch.float64)


def growth(t, y):
    return y


def swing(t, y):
    return y * torch.cos(t)


def exact_swing(t, start=0.0):
    return np.exp(np.sin(np.asarray(t)) - np.sin(start))


def test_worked_example_of_euler():
    y = odeint(growth, [1.0], np.arange(11) / 10, "euler").y[:, 0]
    assert y[1:4].tolist() == pytest.approx([1.1, 1.21, 1.331], abs=1e-6)
    assert float(y[10]) == pytest.approx(2.593742, abs=1e-6)


@pytest.mark.parametrize("name", FIXED)
def test_halving_the_step_divides_the_error(name):
    order = TABLEAUS[name].order
    errors = []
    for h in (0.05, 0.025):
        y = odeint(growth, ONE, [0, 1], name, step=h).y[-1]
        errors.append(abs(float(y) - math.e))
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.1)


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("times", [np.linspace(0, 3, 13), np.linspace(3, -1, 13)])
def test_adaptive_methods_keep_their_tolerance_both_ways(name, times):
    with torch.no_grad():
        found = odeint(swing, ONE, times, name, rtol=1e-5, atol=1e-5)
        tighter = odeint(swing, ONE, times, name, rtol=1e-7, atol=1e-7)
    assert found.reason == "finished" and found.last_time == times[-1]
    wanted = exact_swing(times, times[0])
    assert np.abs(found.y[:, 0].numpy() - wanted).max() < 1e-3
    assert np.abs(tighter.y[:, 0].numpy() - wanted).max() < 1e-4
    assert tighter.n_steps > found.n_steps


def test_as_many_steps_as_scipy():
    from scipy.integrate import solve_ivp

    def pendulum(t, y):
        return [y[1], -np.sin(y[0])]

    peer = solve_ivp(pendulum, (0, 20), [2.0, 0.0], rtol=1e-6, atol=1e-6)
    tensors = lambda t, y: torch.stack([y[1], -torch.sin(y[0])])
    start = torch.tensor([2.0, 0.0], dtype=torch.float64)
    ours = odeint(tensors, start, [0, 20], rtol=1e-6, atol=1e-6)
    exact = solve_ivp(pendulum, (0, 20), [2.0, 0.0], rtol=1e-12, atol=1e-12).y[:, -1]
    assert np.abs(ours.y[-1].numpy() - exact).max() < 1e-3
    assert ours.n_evaluations < 1.2 * peer.nfev


def test_exact_for_constant_and_linear_fields():
    y = odeint(lambda t, y: 3 + 0 * y, ONE, [0, 2], "euler").y[-1]
    assert float(y) == pytest.approx(7, abs=1e-14)
    y = odeint(lambda t, y: 2 * t + 0 * y, ONE, [0, 2], "heun").y[-1]
    assert float(y) == pytest.approx(5, abs=1e-14)


def test_euler_is_unstable_beyond_its_limit_and_implicit_euler_is_not():
    f = lambda t, y: -30 * y  # |1 - 30 h| > 1 at h = 0.1
    times = np.arange(21) / 10
    assert float(odeint(f, ONE, times, "euler").y[-1].abs()) > 1e5
    assert float(odeint(f, ONE, times, "implicit_euler").y[-1].abs()) < 1e-8


def test_stiff_system_by_implicit_steps():
    """Van der Pol with mu = 1000: few implicit steps, too many explicit ones."""

    def f(t, y):
        return torch.stack([y[1], 1000 * (1 - y[0] ** 2) * y[1] - y[0]])

    start = torch.tensor([2.0, 0.0], dtype=torch.float64)
    with torch.no_grad():
        found = odeint(f, start, [0, 100.0], "kencarp4", rtol=1e-5, atol=1e-7)
    assert found.reason == "finished" and found.n_steps < 200
    from scipy.integrate import solve_ivp

    g = lambda t, y: [y[1], 1000 * (1 - y[0] ** 2) * y[1] - y[0]]
    exact = solve_ivp(g, (0, 100), [2.0, 0.0], method="Radau", rtol=1e-9, atol=1e-11)
    assert np.abs(found.y[-1].numpy() - exact.y[:, -1]).max() < 1e-4
    with pytest.warns(StiffODEWarning, match="max_steps=200"), torch.no_grad():
        found = odeint(f, start, [0, 50.0, 100.0], "dopri5", max_steps=200)
    assert found.reason == "max_steps" and 0 < found.last_time < 50
    assert torch.equal(found.y[1], found.last_state)  # not reached: the last state
    assert torch.isfinite(found.y).all()


def test_a_pole_ends_the_solution_and_does_not_raise():
    with pytest.warns(StiffODEWarning, match="too small"):
        found = odeint(lambda t, y: y**2, ONE, [0, 2.0])
    assert found.reason == "stiff"
    assert found.last_time == pytest.approx(1.0, abs=1e-5)
    assert torch.isfinite(found.last_state).all()


def test_field_that_is_not_finite_somewhere():
    with pytest.warns(StiffODEWarning):
        found = odeint(lambda t, y: torch.log(y) - 1, ONE, [0, 5.0])
    assert found.reason == "stiff" and torch.isfinite(found.y).all()


@pytest.mark.parametrize("name", ["dopri5", "rk4", "kencarp4"])
def test_event_inside_a_step(name):
    """A ball thrown up with speed 1 lands at t = 2/g."""
    f = lambda t, y: torch.stack([y[1], -9.81 + 0 * y[1]])
    start = torch.tensor([0.0, 1.0], dtype=torch.float64)
    options = {} if TABLEAUS[name].adaptive else {"step": 0.05}
    found = odeint(f, start, [0, 1.0], name, event=lambda t, y: y[0], **options)
    assert found.reason == "event"
    assert float(found.last_time) == pytest.approx(2 / 9.81, rel=1e-9)
    assert float(found.last_state[1]) == pytest.approx(-1, rel=1e-9)
    assert torch.equal(found.y[-1], found.last_state)


def test_event_at_the_end_point_and_none_at_the_start():
    f = lambda t, y: torch.ones_like(y)
    at = lambda level: odeint(
        f, torch.zeros(1, dtype=torch.float64), [0, 1.0], "euler", step=0.25,
        event=lambda t, y: y[0] - level,
    )  # fmt: skip
    found = at(1.0)  # reached exactly at the end
    assert found.reason == "event" and float(found.last_time) == 1.0
    assert at(1.0 + 1e-9).reason == "finished"
    assert at(0.0).reason == "finished"  # it starts there


def test_gradient_of_an_event():
    """Landing time 2 v/g and place: d(time)/dv = 2/g, d(speed)/dv = -1."""
    v = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    f = lambda t, y: torch.stack([y[1], -9.81 + 0 * y[1]])
    start = torch.stack([0 * v, v])
    found = odeint(f, start, [0, 1.0], event=lambda t, y: y[0])
    (g,) = torch.autograd.grad(found.last_time, v, retain_graph=True)
    assert float(g) == pytest.approx(2 / 9.81, rel=1e-8)
    (g,) = torch.autograd.grad(found.last_state[1], v)
    assert float(g) == pytest.approx(-1, rel=1e-8)


# Gradients

GRADIENT_CASES = [
    ("dopri5", "backprop", {}),
    ("dopri5", "backprop", {"checkpoints": False}),
    ("dopri5", "adjoint", {}),
    ("kencarp4", "backprop", {}),
    ("tr_bdf2", "backprop", {"checkpoints": False}),
    ("rk4", "backprop", {"step": 0.02}),
    ("rk4", "adjoint", {"step": 0.02}),
    ("trapezoid", "backprop", {"step": 0.02}),
]


class Decay(torch.nn.Module):
    """y' = k y cos t with y(t1) = y0 exp(k (sin t1 - sin t0)): all gradients known."""

    def __init__(self):
        super().__init__()
        self.k = torch.nn.Parameter(torch.tensor(0.7, dtype=torch.float64))

    def forward(self, t, y):
        return self.k * y * torch.cos(t)


@pytest.mark.parametrize(("name", "gradient", "options"), GRADIENT_CASES)
@pytest.mark.parametrize("falling", [False, True])
def test_gradients_in_state_times_and_parameters(name, gradient, options, falling):
    f = Decay()
    y0 = torch.tensor([1.5], dtype=torch.float64, requires_grad=True)
    ends = [2.0, 0.3] if falling else [0.3, 2.0]
    t = torch.tensor(ends, dtype=torch.float64, requires_grad=True)
    if name != "rk4" and name != "trapezoid":
        options = {"rtol": 1e-9, "atol": 1e-9, **options}
    if name == "tr_bdf2":
        options = {**options, "rtol": 1e-6, "atol": 1e-6}
    y = odeint(f, y0, t, name, gradient=gradient, **options).y[-1]
    found = torch.autograd.grad(y.sum(), [y0, t, f.k])
    factor = math.exp(0.7 * (math.sin(ends[1]) - math.sin(ends[0])))
    wanted = [
        [factor],
        [
            -1.5 * 0.7 * math.cos(ends[0]) * factor,
            1.5 * 0.7 * math.cos(ends[1]) * factor,
        ],
        1.5 * factor * (math.sin(ends[1]) - math.sin(ends[0])),
    ]
    low_order = TABLEAUS[name].order == 2
    for g, w in zip(found, wanted):
        close = pytest.approx(np.asarray(w), rel=5e-4 if low_order else 2e-5, abs=1e-6)
        assert g.numpy() == close


def test_gradient_in_times_between():
    """An output inside a step moves with its own time only."""
    t = torch.tensor([0.0, 0.4, 1.0], dtype=torch.float64, requires_grad=True)
    for options in ({}, {"gradient": "adjoint"}):
        y = odeint(Decay(), ONE, t, rtol=1e-9, atol=1e-9, **options).y
        (g,) = torch.autograd.grad(y[1].sum(), t)
        value = math.exp(0.7 * math.sin(0.4))
        wanted = [-0.7 * value, 0.7 * math.cos(0.4) * value, 0.0]
        assert g.tolist() == pytest.approx(wanted, abs=1e-4)


def test_gradients_through_closures_are_not_lost():
    theta = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    twice = 2 * theta  # not a leaf
    y = odeint(lambda t, y: twice * y, ONE, [0, 1.0], rtol=1e-9, atol=1e-9).y[-1]
    (g,) = torch.autograd.grad(y.sum(), theta)
    assert float(g) == pytest.approx(2 * math.e, rel=1e-6)


def test_second_derivatives_by_backprop():
    theta = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = odeint(lambda t, y: theta * y, ONE, [0, 1.0], "rk4", step=0.05).y[-1]
    (g,) = torch.autograd.grad(y.sum(), theta, create_graph=True)
    (h,) = torch.autograd.grad(g, theta)
    assert float(h) == pytest.approx(math.exp(0.5), rel=1e-5)


def test_implicit_gradient_is_that_of_differences():
    f = lambda k: lambda t, y: -k * y**3
    k = torch.tensor(5.0, dtype=torch.float64, requires_grad=True)
    solve = lambda k: odeint(f(k), ONE, [0, 1.0], "trapezoid", step=0.1).y[-1].sum()
    (g,) = torch.autograd.grad(solve(k), k)
    with torch.no_grad():
        differences = (solve(k + 1e-5) - solve(k - 1e-5)) / 2e-5
    assert float(g) == pytest.approx(float(differences), rel=1e-6)


def test_adjoint_approaches_backprop_as_the_tolerance_falls():
    field = MLPField(3, (12,), rng=0, dtype=torch.float64)
    y0 = torch.randn(5, 3, dtype=torch.float64, generator=torch.manual_seed(0))

    def gradient(tol, **options):
        y = odeint(field, y0, [0, 0.5, 1.0], rtol=tol, atol=tol, **options).y
        g = torch.autograd.grad(y.square().sum(), list(field.parameters()))
        return torch.cat([x.reshape(-1) for x in g])

    exact = gradient(1e-12)
    errors = [
        float((gradient(tol, gradient="adjoint") - exact).abs().max())
        for tol in (1e-3, 1e-6, 1e-9)
    ]
    assert errors[1] < errors[0] and errors[2] < errors[1] < 1e-4 and errors[2] < 1e-7


def test_parameters_do_not_drive_the_adjoints_error(monkeypatch):
    """The seminorm: the same steps whatever the scale of the parameters' gradient."""

    class Scaled(torch.nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.scale = scale
            self.w = torch.nn.Parameter(torch.tensor(1.0 / scale).double())

        def forward(self, t, y):
            return -self.scale * self.w * y + torch.sin(5 * t)

    counts = []
    for scale in (1.0, 1e6):
        f = Scaled(scale)
        calls = []
        whole = ode_module.ReverseField.__call__

        def counted(self, t, state, whole=whole, calls=calls):
            calls.append(1)
            return whole(self, t, state)

        monkeypatch.setattr(ode_module.ReverseField, "__call__", counted)
        y = odeint(f, ONE, [0, 3.0], gradient="adjoint").y[-1]
        (g,) = torch.autograd.grad(y.sum(), f.w)
        monkeypatch.undo()
        counts.append((len(calls), float(g) / scale))
    assert counts[0][0] == counts[1][0]
    assert counts[0][1] == pytest.approx(counts[1][1], rel=1e-6)


def test_doubtful_adjoint_says_so():
    class Fast(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.k = torch.nn.Parameter(torch.tensor(25.0).double())

        def forward(self, t, y):
            return -self.k * y + torch.sin(20 * t)

    f = Fast()
    y = odeint(f, ONE, [0, 1.0], rtol=1e-4, atol=1e-4, gradient="adjoint").y[-1]
    with pytest.warns(AdjointWarning, match="tolerances away"):
        y.sum().backward()


def test_float32_with_a_tolerance_below_its_rounding():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = odeint(growth, torch.ones(2), [0, 1], rtol=1e-12, atol=0.0)
    assert found.y.dtype == torch.float32
    assert found.y[-1].tolist() == pytest.approx([math.e] * 2, rel=1e-5)


def test_any_shape_and_no_gradient_needed():
    y0 = torch.randn(2, 3, 4)
    assert odeint(growth, y0, [0, 1]).y.shape == (2, 2, 3, 4)
    assert not odeint(growth, y0, [0, 1]).y.requires_grad


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"method": "rk5"}, "method must be one of"),
        ({"t": [0.0]}, "at least two times"),
        ({"t": [0.0, 1.0, 0.5]}, "strictly rising"),
        ({"step": 0.1}, "chooses its own"),
        ({"method": "rk4", "step": -1.0}, "step must be a positive"),
        ({"rtol": -1.0}, "rtol must be"),
        ({"gradient": "both"}, "gradient must be"),
        ({"f": lambda t, y: y.sum()}, "f must return the shape"),
    ],
)
def test_bad_input_gets_one_sentence(change, sentence):
    call = {"f": growth, "y0": [1.0, 2.0], "t": [0.0, 1.0], **change}
    with pytest.raises(ValueError, match=sentence):
        odeint(call.pop("f"), call.pop("y0"), call.pop("t"), **call)


def test_adjoint_needs_a_module():
    with pytest.raises(TypeError, match="Module"):
        odeint(growth, [1.0], [0, 1], gradient="adjoint")
