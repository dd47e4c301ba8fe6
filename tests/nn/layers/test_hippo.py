"""HiPPO-LegS: the printed matrix, its eigenvalues, and a history from its state."""

import numpy as np
import pytest

pytest.importorskip("torch")

from pansophy.nn import hippo_legs, legs_coefficients, reconstruct_history
from pansophy.nn.layers.hippo import legs_normal_form


def test_printed_magnitudes_with_a_minus_sign():
    A, B = hippo_legs(4)
    wanted = [
        [1, 0, 0, 0],
        [1.732051, 2, 0, 0],
        [2.236068, 3.872983, 3, 0],
        [2.645751, 4.582576, 5.916080, 4],
    ]
    assert np.abs(A + wanted).max() < 5e-7
    assert np.allclose(B, np.sqrt([1, 3, 5, 7]))
    assert not np.signbit(A[0, 1:]).any()


def test_eigenvalues_are_minus_one_to_minus_n():
    for N in (1, 5, 8):
        values = np.linalg.eigvals(hippo_legs(N)[0])
        assert np.allclose(np.sort(values.real), -np.arange(N, 0, -1), atol=1e-6)


def test_coefficients_are_legendre_projections():
    """Against quadrature of the projection at the last time."""
    L, N = 8000, 6
    s = (np.arange(L) + 0.5) / L
    u = np.cos(5 * s) + s**2
    c = legs_coefficients(u, N)
    P = np.polynomial.legendre.legvander(2 * s - 1, N - 1) * np.sqrt(
        2 * np.arange(N) + 1
    )
    assert np.abs(c - P.T @ u / L).max() < 2e-3


@pytest.mark.parametrize("scale", [500, 3000])
def test_history_is_reconstructed_whatever_its_length(scale):
    s = np.linspace(0, 1, scale)
    u = np.sin(9 * s) + 0.5 * np.cos(4 * s)
    c = legs_coefficients(u, 24)
    back = reconstruct_history(c, s)
    inner = slice(scale // 20, -scale // 20)
    assert np.abs(back - u)[inner].max() < 0.02


def test_normal_form_has_the_same_eigenvalues():
    for N in (2, 8, 16):
        form = legs_normal_form(N)
        values = np.r_[form.eigenvalues, form.eigenvalues.conj()]
        P = np.r_[form.P, form.P.conj()]
        B = np.r_[form.B, form.B.conj()]
        A = np.diag(values) - np.outer(P, P.conj())
        found = np.sort(np.linalg.eigvals(A).real)
        assert np.allclose(found, -np.arange(N, 0, -1), atol=1e-6 * 4**N**0.5)
        assert np.allclose(form.eigenvalues.real, -0.5)
        # the same input response: B' A^k B does not depend on the basis
        dense, b = hippo_legs(N)
        power = np.eye(N)
        for _ in range(3):
            assert (B.conj() @ power @ B).real == pytest.approx(
                b @ np.linalg.matrix_power(dense, _) @ b, rel=1e-8
            )
            power = power @ A
    with pytest.raises(ValueError, match="even"):
        legs_normal_form(3)
