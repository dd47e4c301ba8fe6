"""Kernels k(x, z): the algebra, Gaussian, linear and polynomial members, a PSD test.

`KERNELS` lists instances of every kernel and of the algebra; the common battery runs
over it. `get_kernel("rbf", gamma=0.1)` makes one from scikit-learn's names.
"""

from .base import (
    AbstractKernel,
    Columns,
    Constant,
    Exponential,
    Fixed,
    IndefiniteKernelWarning,
    Power,
    Product,
    Sum,
    TransformedInput,
    White,
)
from .dot import Cosine, Linear, Polynomial, Sigmoid
from .gram import PSDCheck, center, check_psd, gram
from .lookup import get_kernel
from .stationary import (
    RBF,
    Laplacian,
    Matern,
    Periodic,
    RadialKernel,
    RationalQuadratic,
    truncated_rbf,
)

KERNELS = [
    RBF(0.7),
    RBF([0.5, 1.0, 2.0]),
    Linear(1.5),
    Polynomial(2),
    Polynomial(3, 0.5, 0.0),
    Constant(2.0),
    RBF() + Linear(),
    2.0 * RBF(2.0) + 0.5,
    RBF(1.5) * Polynomial(2, 0.3, 0.4),
    Linear(0.5) ** 2,
    (0.1 * Linear()).exp(),
    Cosine(),
    Laplacian(1.3),
    Laplacian([0.5, 1.0, 2.0]),
    Matern(1.2, nu=0.5),
    Matern([0.5, 1.0, 2.0], nu=1.5),
    Matern(0.8, nu=2.5),
    Matern([0.7, 1.5, 0.9], nu=0.8),
    Matern(1.1, nu=float("inf")),
    RationalQuadratic(0.9, 0.7),
    RationalQuadratic([0.5, 1.0, 2.0], 2.0),
    Periodic(0.8, 1.7),
    Periodic([0.5, 1.0, 2.0], [1.0, 2.0, 3.0]),
    White(0.3),
    1.5 * RBF(0.9) + White(0.2) * Linear(),
    (0.5 * White(0.4) + RBF(0.6)).exp() ** 2,
    RBF([0.5, 2.0]).on([0, 2]) * Matern().on(1),
    RBF(0.6) * Matern(2.0).fixed(),
]

__all__ = [
    "KERNELS",
    "RBF",
    "AbstractKernel",
    "Columns",
    "Constant",
    "Cosine",
    "Exponential",
    "Fixed",
    "IndefiniteKernelWarning",
    "Laplacian",
    "Linear",
    "Matern",
    "PSDCheck",
    "Periodic",
    "Polynomial",
    "Power",
    "Product",
    "RadialKernel",
    "RationalQuadratic",
    "Sigmoid",
    "Sum",
    "TransformedInput",
    "White",
    "center",
    "check_psd",
    "get_kernel",
    "gram",
    "truncated_rbf",
]
