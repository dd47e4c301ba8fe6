"""Fourier series and transforms, changes of basis, convolution: worked numbers."""

import numpy as np
import pytest

from pansophy import plot, signal


def ramp(x):
    return np.where(x >= 0, x, 0.0)


def test_worked_ramp():
    s = signal.fourier_series(ramp, 4, breaks=[0])
    n = np.arange(1, 5)
    np.testing.assert_allclose(s.a[0], np.pi / 2)
    np.testing.assert_allclose(s.a[1:], ((-1.0) ** n - 1) / (np.pi * n**2), atol=1e-14)
    np.testing.assert_allclose(s.b, (-1.0) ** (n + 1) / n)
    c = [np.pi / 4, -0.318310 - 0.5j, 0.25j, -0.035368 - 0.166667j, 0.125j]
    np.testing.assert_allclose(s.c[4:], c, atol=5e-7)
    np.testing.assert_allclose(s.c[:4], np.conj(s.c[:4:-1]))
    assert s.power == pytest.approx(np.pi**2 / 6)
    far = signal.fourier_series(ramp, 800, breaks=[0])
    assert far.parseval == pytest.approx(np.pi**2 / 6, rel=2e-3)
    assert far(np.pi / 2) == pytest.approx(np.pi / 2, abs=2e-3)


def test_even_odd_and_nearer_with_every_term():
    even = signal.fourier_series(np.abs, 6, breaks=[0])
    odd = signal.fourier_series(np.sign, 6, breaks=[0])
    np.testing.assert_allclose(even.b, 0, atol=1e-14)
    np.testing.assert_allclose(odd.a, 0, atol=1e-14)
    left = [odd.power - (np.abs(odd.c[6 - n : 7 + n]) ** 2).sum() for n in range(7)]
    assert (np.diff(left) <= 1e-14).all() and min(left) >= 0


def test_samples_and_functions_agree():
    f = lambda x: 1 + np.cos(x) - 0.5 * np.sin(3 * x)
    x = -np.pi + 2 * np.pi * np.arange(32) / 32
    a, b = signal.fourier_series(f, 5), signal.fourier_series(f(x), 5)
    np.testing.assert_allclose(a.c, b.c, atol=1e-13)
    np.testing.assert_allclose(a(x), f(x), atol=1e-12)
    with pytest.raises(ValueError, match="samples"):
        signal.fourier_series(f(x), 16)
    with pytest.raises(ValueError, match="not finite"):
        signal.fourier_series(lambda x: np.full_like(x, np.inf), 3)


def test_pulse_both_ways():
    pulse = lambda t: np.where(np.abs(t) <= 0.5, 1.0, 0.0)
    w = np.array([0, 1, np.pi, 2 * np.pi])
    F = signal.fourier_transform(pulse, w, bounds=(-0.5, 0.5))
    np.testing.assert_allclose(F, [1, 0.958851, 0.636620, 0], atol=5e-7)
    X = signal.fourier_transform(
        pulse, w / (2 * np.pi), bounds=(-0.5, 0.5), convention="cycles"
    )
    np.testing.assert_allclose(X, F, atol=1e-12)


@pytest.mark.parametrize("convention", ["angular", "cycles"])
def test_there_and_back(convention):
    f = lambda t: np.exp(-((t - 0.3) ** 2))
    how = {"convention": convention, "bounds": (-12, 12)}
    F = lambda w: signal.fourier_transform(f, w, **how)
    t = np.linspace(-1, 2, 7)
    back = signal.inverse_fourier_transform(F, t, **how)
    np.testing.assert_allclose(back, f(t), atol=1e-12)


def test_dft_is_the_fast_one_and_a_change_of_basis():
    x = np.random.default_rng(0).normal(size=24)
    np.testing.assert_allclose(signal.dft(x), signal.fft(x), atol=1e-12)
    np.testing.assert_allclose(signal.ifft(signal.fft(x)), x, atol=1e-14)
    np.testing.assert_allclose(signal.fft(x), np.fft.fft(x), atol=1e-12)
    waves = np.conj(signal.dft_matrix(24)) / 24
    np.testing.assert_allclose(signal.change_basis(x, waves), signal.fft(x), atol=1e-9)
    B = np.array([[1, 1], [1, -1]])
    np.testing.assert_allclose(signal.change_basis([3, 1], B), [2, 1])
    back = signal.change_basis(signal.change_basis([[3, 1], [0, 5]], B), np.eye(2), B)
    np.testing.assert_allclose(back, [[3, 1], [0, 5]])
    with pytest.raises(ValueError, match="depend on each other"):
        signal.change_basis([1, 1], [[1, 2], [1, 2]])


def test_trapezoids():
    assert signal.trapezoid(lambda x: 3 * x - 1, -1, 4, 1) == pytest.approx(17.5)
    errors = [abs(signal.trapezoid(np.exp, 0, 1, n) - np.e + 1) for n in (10, 20)]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.01)


def test_partial_sums_are_drawn():
    s = signal.fourier_series(np.sign, 5, breaks=[0])
    ax = plot.partial_sums(s, np.sign, orders=(1, 5))
    np.testing.assert_allclose(
        ax.lines[2].get_ydata(), s(ax.lines[2].get_xdata()), atol=1e-12
    )


@pytest.mark.parametrize(
    ("f", "value"),
    [
        (np.sin, np.pi),
        (lambda x: np.where(x >= 0, x, 0.0), np.pi**3 / 3),  # ex. E5: 2 pi pi^2 / 6
        (lambda x: 2.0, 8 * np.pi),
        (lambda x: 1.0 if x > 0 else 0.0, np.pi),
        (lambda x: np.exp(3j * x), 2 * np.pi),
        (lambda x: np.sin(40 * x), np.pi),
        (lambda x: np.abs(x) ** -0.25, 4 * np.sqrt(np.pi)),
        (lambda x: np.abs(x) ** -0.45, 20 * np.pi**0.1),
        (lambda x: 1 / (x * x + 1e-6), np.pi / 2 * 1e9 - 2 / (3 * np.pi**3)),
        (lambda x: 1 / x, np.inf),
        (lambda x: np.abs(x) ** -0.5, np.inf),
        (lambda x: 1 / np.abs(x - 0.3), np.inf),
        (lambda x: (np.pi - x) ** -0.5, np.inf),
        (lambda x: 1 / ((x - 1) * (x + 2)), np.inf),
        (np.tan, np.inf),
    ],
)
def test_square_integral(f, value):
    np.testing.assert_allclose(signal.square_integral(f), value, rtol=1e-6)


def test_a_series_of_what_is_not_square_integrable_is_warned_about():
    with pytest.warns(UserWarning, match="not square-integrable"):
        signal.fourier_series(lambda x: np.abs(x) ** -0.75, 3)
    with pytest.warns(UserWarning, match="not square-integrable"):
        signal.fourier_series(lambda x: 1 / x, 3, period=1.0)
    signal.fourier_series(lambda x: np.abs(x) ** -0.25, 3, breaks=[0])
    with pytest.raises(ValueError, match="low first"):
        signal.square_integral(np.sin, 1, 0)
