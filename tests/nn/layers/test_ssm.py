"""State-space layers: recurrence = convolution = FFT = dense powers."""

import numpy as np
import pytest
from scipy.linalg import expm

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.nn import (  # noqa: E402
    S4,
    S4D,
    Mamba,
    StateSpaceBlock,
    causal_convolution,
    ssm_kernel,
    ssm_scan,
)
from pansophy.nn.layers.ssm import Pair, discretize_diagonal  # noqa: E402
from pansophy.state_space import discretize  # noqa: E402

X9 = discretize([[0, 1], [-2, -3]], [0, 1], 0.1, "bilinear")
KERNEL = [0.004329, 0.011788, 0.017105, 0.020745, 0.023080]
INPUT = [1.0, 2.0, 0.0, -1.0, 3.0]
OUTPUT = [0.004329, 0.020446, 0.040680, 0.050625, 0.065769]


def test_worked_example_in_both_modes():
    A, B = X9
    K = ssm_kernel(A, B, [1.0, 0.0], 5)
    assert K.tolist() == pytest.approx(KERNEL, abs=5e-7)
    y, _ = ssm_scan(A, B, [1.0, 0.0], INPUT)
    assert y.tolist() == pytest.approx(OUTPUT, abs=5e-7)
    u = torch.tensor(INPUT, dtype=torch.float64)
    assert causal_convolution(u, K).tolist() == pytest.approx(OUTPUT, abs=5e-7)
    unrolled = [
        float(
            (A @ A @ B)[0, 0] * INPUT[0] + (A @ B)[0, 0] * INPUT[1] + B[0, 0] * INPUT[2]
        )
    ]
    assert y[2:3].tolist() == pytest.approx(unrolled, abs=1e-14)


def test_streaming_goes_on_from_the_last_state():
    rng = np.random.default_rng(0)
    A = 0.3 * rng.normal(size=(3, 3))
    B, C, D = rng.normal(size=(3, 2)), rng.normal(size=(2, 3)), rng.normal(size=(2, 2))
    u = rng.normal(size=(4, 11, 2))
    whole, last = ssm_scan(A, B, C, u, D)
    first, state = ssm_scan(A, B, C, u[:, :5], D)
    second, end = ssm_scan(A, B, C, u[:, 5:], D, state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole)
    torch.testing.assert_close(end, last)
    K = ssm_kernel(A, B, C, 11)
    y = np.zeros((4, 11, 2))
    for t in range(11):
        for s in range(t + 1):
            y[:, t] += u[:, s] @ K[t - s].numpy().T
    assert np.allclose(whole, y + u @ D.T)


def test_fft_does_not_wrap_around():
    """An impulse at the last step must leave the first steps alone."""
    for length in (1, 2, 5, 8, 33):
        u = torch.zeros(1, length, 1, dtype=torch.float64)
        u[0, -1] = 1.0
        y = causal_convolution(u, torch.ones(1, length, dtype=torch.float64))
        assert float(y[0, :-1].abs().max() if length > 1 else 0) < 1e-14
        assert float(y[0, -1, 0]) == pytest.approx(1)


@pytest.mark.parametrize("method", ["zoh", "bilinear"])
def test_diagonal_discretisation_equals_the_dense_one(method):
    """Conjugate pairs as a real matrix, against expm and solve."""
    values = np.array([-0.5 + 3j, -1e-6 + 1e-3j, -20 + 0.1j])
    pair = Pair(torch.tensor(values.real), torch.tensor(values.imag))
    for delta in (1e-3, 0.1, 1.0):
        A, B = discretize_diagonal(
            pair, torch.tensor(delta, dtype=torch.float64), method
        )
        for i, value in enumerate(values):
            block = np.array([[value.real, -value.imag], [value.imag, value.real]])
            dense, drive = discretize(block, [1.0, 0.0], delta, method)
            assert [float(A.re[i]), float(A.im[i])] == pytest.approx(
                dense[:, 0], rel=1e-10, abs=1e-14
            )
            assert [float(B.re[i]), float(B.im[i])] == pytest.approx(
                drive[:, 0], rel=1e-7, abs=1e-13
            )
            if method == "zoh":
                assert np.allclose(dense, expm(delta * block))
    with pytest.raises(ValueError, match="method must be"):
        discretize_diagonal(pair, 0.1, "euler")


def dense_system(layer, h):
    """A, B, C of channel h of an S4D as complex matrices over both conjugates."""
    A, B = (
        Pair(p.re.detach().double(), p.im.detach().double())
        for p in layer.discretized()
    )
    a = A.re[h].numpy() + 1j * A.im[h].numpy()
    b = B.re[h].numpy() + 1j * B.im[h].numpy()
    c = layer.C[h].detach().double().numpy() @ [1, 1j]
    both = lambda v: np.r_[v, v.conj()]
    return np.diag(both(a)), both(b), both(c)


@pytest.mark.parametrize("method", ["zoh", "bilinear"])
@pytest.mark.parametrize("init", ["legs", "lin", "inv", "real"])
def test_vandermonde_kernel_equals_dense_powers(method, init):
    """Twice the real part of one conjugate is the sum over both."""
    layer = S4D(2, 8, init=init, method=method).double()
    K = layer.kernel(16).detach().numpy()
    for h in range(2):
        A, b, c = dense_system(layer, h)
        powers = [c @ np.linalg.matrix_power(A, t) @ b for t in range(16)]
        assert np.abs(np.imag(powers)).max() < 1e-12
        assert K[h] == pytest.approx(np.real(powers), rel=1e-9, abs=1e-12)


def test_s4_kernel_equals_dense_powers_and_legs():
    """Generating function = powers of the bilinear rule on HiPPO-LegS itself."""
    layer = S4(2, 4).double()
    for length in (1, 2, 16, 31):
        A, B, C = (p.detach() for p in layer.discretized())
        K = layer.kernel(length).detach()
        for h in range(2):
            wanted = [
                float(C[h] @ torch.matrix_power(A[h], t) @ B[h]) for t in range(length)
            ]
            assert K[h].tolist() == pytest.approx(wanted, rel=1e-8, abs=1e-10)
    A, _, _ = layer.real_system()
    values = np.sort(np.linalg.eigvals(A[0].detach().numpy()).real)
    assert values == pytest.approx([-4, -3, -2, -1], rel=1e-5)


LAYERS = {
    "S4D zoh": lambda: S4D(4, 8, dt_min=0.01, dt_max=0.3),
    "S4D bilinear": lambda: S4D(4, 8, method="bilinear", init="lin"),
    "S4": lambda: S4(4, 8, dt_min=0.01, dt_max=0.3),
    "Mamba": lambda: Mamba(4, n_states=4, head_size=4),
    "block of S4D": lambda: StateSpaceBlock(S4D(4, 8)),
    "block of Mamba": lambda: StateSpaceBlock(Mamba(4, n_states=4, head_size=2)),
}


@pytest.fixture(params=LAYERS, ids=lambda name: name.replace(" ", "-"))
def layer(request):
    torch.manual_seed(0)
    return LAYERS[request.param]().double()


def sequences(n=2, length=37):
    return torch.randn(
        n, length, 4, dtype=torch.float64, generator=torch.manual_seed(1)
    )


def test_steps_equal_the_whole_sequence(layer):
    for length in (1, 3, 37, 130):
        x = sequences(length=length)
        y = layer(x)
        assert y.shape == x.shape
        state = layer.init_state(2)
        for t in range(length):
            y_t, state = layer.step(x[:, t], state)
            torch.testing.assert_close(y_t, y[:, t], rtol=1e-6, atol=1e-6)


def test_no_look_into_the_future(layer):
    x = sequences().requires_grad_()
    y = layer(x)
    (g,) = torch.autograd.grad(y[:, 20].sum(), x)
    assert float(g[:, 21:].abs().max()) < 1e-12
    assert float(g[:, 20].abs().max()) > 1e-6
    changed = x.detach().clone()
    changed[:, 21:] += 100.0
    torch.testing.assert_close(
        layer(changed)[:, :21], y[:, :21].detach(), atol=1e-10, rtol=0
    )


@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_has_no_effect_even_if_it_is_nan(layer, side):
    x = sequences(1, 20)
    alone = layer(x)
    padded = torch.full((1, 33, 4), torch.nan, dtype=torch.float64)
    mask = torch.zeros(1, 33, dtype=torch.bool)
    here = slice(0, 20) if side == "right" else slice(13, 33)
    padded[:, here] = x
    mask[:, here] = True
    if isinstance(layer, StateSpaceBlock):
        padded = padded.nan_to_num(7.0)  # its skip connection adds the input itself
    y = layer(padded, mask)
    torch.testing.assert_close(y[:, here], alone, rtol=1e-8, atol=1e-8)
    assert not y[~mask].any()


def test_every_parameter_has_a_gradient(layer):
    layer(sequences()).square().sum().backward()
    for name, p in layer.named_parameters():
        assert p.grad is not None and torch.isfinite(p.grad).all(), name
        assert float(p.grad.abs().max()) > 0, name


@pytest.mark.parametrize("kind", [S4D, S4])
def test_linear_and_channels_are_independent(kind):
    layer = kind(4, 8).double()
    x, z = sequences(), sequences().flip(1)
    torch.testing.assert_close(layer(2 * x - 3 * z), 2 * layer(x) - 3 * layer(z))
    x = x.requires_grad_()
    (g,) = torch.autograd.grad(layer(x)[..., 1].sum(), x)
    assert float(g[..., [0, 2, 3]].abs().max()) < 1e-12


@pytest.mark.parametrize("kind", [S4D, S4])
def test_real_parts_stay_negative_whatever_the_optimiser_does(kind):
    torch.manual_seed(0)
    layer = kind(3, 8)
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.3)
    x = torch.randn(2, 50, 3)
    for _ in range(20):
        optimiser.zero_grad()
        (-layer(x).square().mean()).backward()  # asks for growth
        torch.nn.utils.clip_grad_norm_(layer.parameters(), 5.0)
        optimiser.step()
    assert (-layer.log_decay.exp() < 0).all()
    K = layer.kernel(4000)
    assert torch.isfinite(K).all()
    A = layer.discretized()[0]
    if kind is S4D:
        size = torch.hypot(A.re, A.im)
    else:
        size = torch.linalg.eigvals(A).abs()
    assert float(size.detach().max()) <= 1 + 1e-5


def test_float32_kernel_at_16k_steps():
    torch.manual_seed(0)
    layer = S4D(2, 16)
    K = layer.kernel(16_384).detach().double()
    wide = S4D(2, 16)
    wide.load_state_dict(layer.state_dict())
    exact = wide.double().kernel(16_384).detach()
    assert float((K - exact).abs().max() / exact.abs().max()) < 1e-4


def test_bfloat16_input():
    torch.manual_seed(0)
    layer = S4D(4, 8)
    x = torch.randn(1, 16_384, 4)
    y = layer(x.bfloat16())
    assert y.dtype == torch.bfloat16
    exact = layer(x)
    assert (
        float((y.float() - exact).detach().abs().max() / exact.detach().abs().max())
        < 0.02
    )


def test_bad_input():
    with pytest.raises(ValueError, match="n_states"):
        S4D(2, 7)
    with pytest.raises(ValueError, match="init must be"):
        S4D(2, 8, init="hippo")
    with pytest.raises(ValueError, match="dt_min"):
        S4D(2, 8, dt_min=1.0, dt_max=0.1)
