"""Gradients by hand equal autograd's, for every explicit method and output times."""

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.nn import MLPField, field_gradients, odeint  # noqa: E402
from pansophy.nn.tableaus import TABLEAUS  # noqa: E402

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
    "hidden, activation", [((7, 5), "tanh"), ((6,), "elu"), ((), "tanh")]
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


def test_steps_computed_anew_give_the_same_gradient(monkeypatch):
    field = MLPField(4, (8,), rng=0, dtype=torch.float64)
    y0 = torch.randn(5, 4, generator=torch.manual_seed(0), dtype=torch.float64)
    y0.requires_grad_()
    _, kept = solved(field, y0, [1.0, 0.0], "dopri5", monkeypatch, True)
    monkeypatch.setattr(field_gradients, "KEPT_BYTES", 0)
    _, anew = solved(field, y0, [1.0, 0.0], "dopri5", monkeypatch, True)
    for a, b in zip(kept, anew):
        assert torch.equal(a, b)


def test_solution_that_ends_early_still_has_a_gradient():
    field = MLPField(2, (8,), rng=0, dtype=torch.float64)
    for p in field.parameters():
        p.data *= 30
    with pytest.warns(UserWarning, match="max_steps=3"):
        found = odeint(field, torch.ones(1, 2).double(), [0, 1.0, 9.0], max_steps=3)
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
