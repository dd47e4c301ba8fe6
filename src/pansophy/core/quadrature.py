"""Gauss-Legendre quadrature on panels.

The integral of f over panels [e_0, e_1], [e_1, e_2], ... is

    sum_k sum_i h_k w_i f(c_k + h_k t_i)                                         (1)

with the middles c_k and half widths h_k of the panels, and the nodes t_i and weights
w_i of m points on [-1, 1]. It is exact for polynomials of degree up to 2 m - 1 on each
panel.
"""

import functools

import numpy as np


@functools.cache
def gauss_legendre(m):
    """Nodes and weights of m points on [-1, 1]."""
    return np.polynomial.legendre.leggauss(m)


def panel_quadrature(edges, m):
    """Nodes and weights of eq. (1), each (panels * m,), for ascending edges."""
    t, w = gauss_legendre(m)
    edges = np.asarray(edges, float)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1] + edges[1:])[:, None] / 2
    return (middle + half * t).ravel(), (half * w).ravel()
