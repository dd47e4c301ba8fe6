"""Gradients by hand equal autograd's, for every explicit method and output times."""

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.nn import MLPField, odeint  # noqa: E402
from pansophy.nn.ode import field_gradients  # noqa: E402
from pansophy.nn.ode.ode import StepControl, root_mean_square  # noqa: E402
from pansophy.nn.ode.tableaus import TABLEAUS  # noqa: E402

EXPLICIT = [n for n, t in TABLEAUS.items() if t.gamma == 0]


def solved(field, y0, t, method, monkeypatch, by_hand):
    monkeypatch.setattr(MLPField, "has_manual_gradients", by_hand)
    options = {} if TABLEAUS[method].adaptive else {"step": 0.1}
    solution = odeint(field, y0, t, method, **options)
    generator = torch.manual_seed(1)
    w = torch.randn(solution.y.shape, generator=generator, dtype=y0.dtype)
    inputs = [y0, *field.parameters()]
    return solution, torch.autograd.grad((solution.y * w).sum(), inputs)


@pytest.mark.parametrize("method", EXPLICIT)
@pytest.mark.parametrize("time", [False, True])
@pytest.mark.parametrize(
    ("hidden", "activation"), [((7, 5), "tanh"), ((6,), "elu"), ((), "tanh")]
)
def test_equal_to_autograd(method, time, hidden, activation, monkeypatch):
    generator = torch.manual_seed(0)
    field = MLPField(
        3, hidden, activation=activation, time=time, rng=0, dtype=torch.float64
    )
    for p in field.parameters():
        p.data += 0.3 * torch.randn(p.shape, generator=generator, dtype=p.dtype)
    y0 = torch.randn(2, 3, 3, generator=generator, dtype=torch.float64)
    y0.requires_grad_()
    t = [0.0, 0.3, 0.35, 0.8, 1.0]
    ours, gradients = solved(field, y0, t, method, monkeypatch, True)
    plain, wanted = solved(field, y0, t, method, monkeypatch, False)
    assert ours.n_steps == plain.n_steps
    torch.testing.assert_close(ours.y, plain.y, rtol=1e-11, atol=1e-12)
    for g, w in zip(gradients, wanted):
        torch.testing.assert_close(g, w, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_computed_anew_give_the_same_gradient(dtype, monkeypatch):
    field = MLPField(4, (8,), rng=0, dtype=dtype)
    y0 = torch.randn(5, 4, generator=torch.manual_seed(0), dtype=dtype)
    y0.requires_grad_()
    _, kept = solved(field, y0, [1.0, 0.0], "dopri5", monkeypatch, True)
    monkeypatch.setattr(field_gradients, "KEPT_BYTES", 0)
    _, anew = solved(field, y0, [1.0, 0.0], "dopri5", monkeypatch, True)
    for a, b in zip(kept, anew):
        assert torch.equal(a, b)


def random_field(hidden, activation, time, dtype):
    """A field of three columns whose weights are far from 0."""
    field = MLPField(3, hidden, activation=activation, time=time, rng=0)
    generator = torch.manual_seed(0)
    for p in field.parameters():
        p.data += 0.3 * torch.randn(p.shape, generator=generator)
    return field.to(dtype)


@pytest.mark.parametrize("method", [m for m in EXPLICIT if not TABLEAUS[m].adaptive])
@pytest.mark.parametrize("time", [False, True])
@pytest.mark.parametrize(
    ("hidden", "activation"), [((7, 5), "tanh"), ((64,), "relu"), ((), "tanh")]
)
def test_compiled_steps_equal_autograd(method, time, hidden, activation, monkeypatch):
    generator = torch.manual_seed(1)
    y0 = torch.randn(2, 9, 3, generator=generator)
    w = torch.randn(5, 2, 9, 3, generator=generator)
    found = []
    for dtype, by_hand in [(torch.float32, True), (torch.float64, False)]:
        field = random_field(hidden, activation, time, dtype)
        monkeypatch.setattr(MLPField, "has_manual_gradients", by_hand)
        start = y0.to(dtype).requires_grad_()
        y = odeint(field, start, [0.0, 0.3, 0.35, 0.8, 1.0], method, step=0.1).y
        inputs = [start, *field.parameters()]
        found.append([y, *torch.autograd.grad((y * w.to(dtype)).sum(), inputs)])
    for ours, exact in zip(*found):
        error = (ours.double() - exact).abs().max() / exact.abs().max()
        assert error < 1e-6


@pytest.mark.parametrize("method", ["dopri5", "bosh3"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_compiled_adaptive_steps_equal_those_of_torch(method, activation, monkeypatch):
    """The meshes differ by the rounding of error estimates, so the bound is wider."""
    y0 = torch.randn(9, 3, generator=torch.manual_seed(1))
    found = []
    for limit in (field_gradients.LARGE_FIELD_STEP, 0):
        monkeypatch.setattr(field_gradients, "LARGE_FIELD_STEP", limit)
        field = random_field((32,), activation, True, torch.float32)
        options = {"rtol": 1e-4, "atol": 1e-4}
        solution = odeint(field, y0, [1.0, 0.4, 0.3, 0.0], method, **options)
        gradients = torch.autograd.grad(
            solution.y.sin().sum(), list(field.parameters())
        )
        found.append((solution, gradients))
    (ours, gradients), (torchs, wanted) = found
    assert ours[5:] == torchs[5:]  # steps, rejected steps, evaluations
    torch.testing.assert_close(ours.y, torchs.y, rtol=1e-4, atol=1e-5)
    for g, w in zip(gradients, wanted):
        torch.testing.assert_close(g, w, rtol=1e-3, atol=1e-3)


def test_which_fields_are_compiled():
    y0 = torch.ones(3, 4)
    control = StepControl(1e-3, 1e-3, 100, None, root_mean_square)

    def chosen(field, y0):
        way = field_gradients.field_pass(field, TABLEAUS["rk4"], control, y0)
        return type(way).__name__

    small = MLPField(3, (8,), rng=0)
    assert chosen(small, y0) == "CompiledFieldPass"
    assert chosen(MLPField(3, (8,), activation="elu"), y0) == "TorchFieldPass"
    assert chosen(small.double(), y0.double()) == "TorchFieldPass"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_solution_that_ends_early_still_has_a_gradient(dtype):
    field = MLPField(2, (8,), rng=0, dtype=dtype)
    for p in field.parameters():
        p.data *= 30
    y0 = torch.ones(1, 2, dtype=dtype)
    with pytest.warns(UserWarning, match="max_steps=3"):
        found = odeint(field, y0, [0, 1.0, 9.0], max_steps=3)
    assert found.reason == "max_steps"
    found.y[-1].sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in field.parameters())


def test_float32_is_as_good_as_autograd(monkeypatch):
    field = MLPField(8, (64,), rng=0)
    y0 = torch.randn(64, 8, generator=torch.manual_seed(0), requires_grad=True)
    ours, gradients = solved(field, y0, [0, 1.0], "dopri5", monkeypatch, True)
    double = MLPField(8, (64,), rng=0, dtype=torch.float64)
    wide = y0.detach().double().requires_grad_()
    _, wanted = solved(double, wide, [0, 1.0], "dopri5", monkeypatch, False)
    w = torch.randn(ours.y.shape, generator=torch.manual_seed(1), dtype=torch.float64)
    w32 = torch.randn(ours.y.shape, generator=torch.manual_seed(1))
    if torch.allclose(w.float(), w32):  # the same draw in both precisions
        for g, v in zip(gradients, wanted):
            torch.testing.assert_close(g.double(), v, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(
        ours.y[-1].double(), odeint(double, wide, [0, 1.0]).y[-1], rtol=1e-5, atol=1e-5
    )
