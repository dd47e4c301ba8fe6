"""Positions: printed numbers, rotations, offsets."""

import pytest

torch = pytest.importorskip("torch")

from pansophy import nn  # noqa: E402
from pansophy.nn.layers.positions import position_angles  # noqa: E402

F64 = torch.float64


def test_sinusoids_of_the_notes():
    """E31 with the listing's bug fixed, d = 4."""
    P = nn.sinusoidal_positions(3, 4)
    one, two = P[1].tolist(), P[2].tolist()
    assert one == pytest.approx([0.841471, 0.540302, 0.010000, 0.999950], abs=5e-7)
    assert two == pytest.approx([0.909297, -0.416147, 0.019999, 0.999800], abs=5e-7)


@pytest.mark.parametrize("d", [2, 5, 8])
def test_sinusoids_are_bounded_distinct_and_start_anywhere(d):
    P = nn.sinusoidal_positions(50, d)
    assert P.shape == (50, d) and P.abs().max() <= 1
    assert len({tuple(row) for row in P.tolist()}) == 50
    torch.testing.assert_close(nn.sinusoidal_positions(10, d, start=40), P[40:])


def test_shift_is_a_rotation():
    """p_t+s is p_t with pair i rotated by s w_i."""
    P, s = nn.sinusoidal_positions(30, 6), 7
    angle = position_angles(1, 6, start=s)[0]
    sin, cos = P[:-s, ::2], P[:-s, 1::2]
    turned = torch.stack(
        [sin * angle.cos() + cos * angle.sin(), cos * angle.cos() - sin * angle.sin()],
        -1,
    ).flatten(1)
    torch.testing.assert_close(turned, P[s:], atol=1e-13, rtol=0)


def test_rotary_depends_on_the_difference_alone():
    torch.manual_seed(0)
    rotary = nn.Rotary(8)
    q, k = torch.randn(1, 8, dtype=F64), torch.randn(1, 8, dtype=F64)
    at = lambda t, s: float(rotary(q, t) @ rotary(k, s).T)
    assert at(5, 2) == pytest.approx(at(1003, 1000), rel=1e-10)
    assert at(5, 2) != pytest.approx(at(5, 3), rel=1e-3)
    assert at(3, 3) == pytest.approx(float(q @ k.T), rel=1e-12)
    x = torch.randn(2, 3, 6, 8, dtype=F64)
    torch.testing.assert_close(rotary(x).norm(dim=-1), x.norm(dim=-1))
    torch.testing.assert_close(rotary(x)[..., 2:, :], rotary(x[..., 2:, :], start=2))


def test_rotary_keeps_the_dtype_and_far_positions():
    x = torch.ones(1, 2, dtype=torch.bfloat16)
    assert nn.Rotary(2)(x, start=100_000).dtype == torch.bfloat16
    y = nn.Rotary(2)(torch.tensor([[1.0, 0.0]]), start=100_000)
    t = torch.tensor(1e5, dtype=F64)
    assert y[0].tolist() == pytest.approx([float(t.cos()), float(t.sin())], abs=1e-6)


def test_added_positions():
    X = torch.zeros(2, 5, 4)
    layer = nn.PositionalEncoding(4)
    torch.testing.assert_close(layer(X)[:, 3:], layer(X[:, 3:], start=3))
    learnt = nn.LearnedPositions(6, 4)
    assert torch.equal(learnt(X)[0], learnt.P[:5])
    assert torch.equal(learnt(X, start=1)[0], learnt.P[1:])
    with pytest.raises(ValueError, match="learnt for 6: raise max_length"):
        learnt(X, start=2)
    with pytest.raises(ValueError, match="even number of columns"):
        nn.Rotary(3)
