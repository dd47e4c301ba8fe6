"""Kernels k(x, z): similarities that stand for an inner product of features.

The contract and the algebra are in `base`; members by what they look at: `stationary`
(x - z), `dot` (x.z), `additive` (parts of the columns), `histogram` (counts), `strings`
(sequences), `given` (functions and matrices). `get_kernel("rbf", gamma=0.1)` makes one
from scikit-learn's names. `KERNELS`, `HISTOGRAM_KERNELS` and `STRING_KERNELS` list
instances of every kernel and of the algebra; the common battery runs over them.
"""

from .additive import Additive, AllSubsets, Anova, Blocks, KernelBlocks
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
    WithoutNoise,
)
from .dot import Cosine, Linear, Polynomial, Sigmoid
from .given import Asymmetric, FunctionKernel, Precomputed, SklearnKernel
from .gram import PSDCheck, center, check_psd, gram
from .histogram import (
    AdditiveChiSquared,
    ChiSquared,
    HistogramIntersection,
    Tanimoto,
)
from .lookup import KERNEL_NAMES, from_sklearn, get_kernel
from .stationary import (
    RBF,
    Laplacian,
    Matern,
    Periodic,
    RadialKernel,
    RationalQuadratic,
    truncated_rbf,
)
from .strings import SequenceKernel, Spectrum, Subsequence

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
    (1.5 * RBF(0.9) + White(0.2) * Linear()).without_noise(),
    RBF([0.5, 2.0]).on([0, 2]) * Matern().on(1),
    RBF(0.6) * Matern(2.0).fixed(),
    RationalQuadratic(0.9, 0.7).fixed("alpha"),
    RBF([0.5, 1.0, 2.0]).fixed("length_scale[1]"),
    Additive([RBF(0.5), Linear(), Matern(2.0)]),
    Additive([RBF(0.5), White(0.5) + Linear()], [[0, 1], [2]]),
    Blocks([RBF([0.5, 1.0]), Matern(2.0)], [[0, 2], [1]]),
    Anova(RBF(0.8), 2),
    Anova(0.5 * Linear(), 3),
    AllSubsets(),
    Tanimoto(),
]
# kernels of rows of numbers of at least 0
HISTOGRAM_KERNELS = [
    HistogramIntersection(),
    ChiSquared(0.7),
    0.5 * ChiSquared(0.2) + HistogramIntersection(),
]
# kernels of strings and other sequences
STRING_KERNELS = [
    Spectrum(2),
    Spectrum(3, normalized=False, blended=True),
    Subsequence(2),
    Subsequence(3, normalized=False, decay=0.7),
    0.5 * Spectrum(2) + Subsequence(2) ** 2,
]

__all__ = [
    "AbstractKernel",
    "Additive",
    "AdditiveChiSquared",
    "AllSubsets",
    "Anova",
    "Asymmetric",
    "Blocks",
    "ChiSquared",
    "Columns",
    "Constant",
    "Cosine",
    "Exponential",
    "Fixed",
    "FunctionKernel",
    "HISTOGRAM_KERNELS",
    "HistogramIntersection",
    "IndefiniteKernelWarning",
    "KERNELS",
    "KERNEL_NAMES",
    "KernelBlocks",
    "Laplacian",
    "Linear",
    "Matern",
    "PSDCheck",
    "Periodic",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "RBF",
    "RadialKernel",
    "RationalQuadratic",
    "STRING_KERNELS",
    "SequenceKernel",
    "Sigmoid",
    "SklearnKernel",
    "Spectrum",
    "Subsequence",
    "Sum",
    "Tanimoto",
    "TransformedInput",
    "White",
    "WithoutNoise",
    "center",
    "check_psd",
    "from_sklearn",
    "get_kernel",
    "gram",
    "truncated_rbf",
]
