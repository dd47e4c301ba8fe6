"""Kernels by name: those of scikit-learn, its kernel objects, and functions.

    "linear"    "poly", "polynomial"    "rbf"    "laplacian"    "sigmoid"    "cosine"
    "chi2"      "additive_chi2"

with `gamma`, `degree` and `coef0` as in `sklearn.metrics.pairwise`: 3, 1 and, for
gamma = None, 1 / n_features (1 for "chi2"). A name therefore means one kernel for rows
of d columns, wherever it is given. An object of `sklearn.gaussian_process.kernels`
becomes ours part by part; a parameter with the bounds "fixed" stays out of theta. What
has no counterpart is refused by name.
"""

from collections.abc import Callable

import numpy as np

from ..core.arrays.arrays import is_foreign
from ..params import ParameterError
from .base import AbstractKernel, Constant, White
from .dot import Cosine, Linear, Polynomial, Sigmoid
from .given import FunctionKernel, SklearnKernel
from .histogram import AdditiveChiSquared, ChiSquared
from .stationary import RBF, Laplacian, Matern, Periodic, RationalQuadratic

KERNEL_NAMES = (
    "linear",
    "poly",
    "polynomial",
    "rbf",
    "laplacian",
    "sigmoid",
    "cosine",
    "chi2",
    "additive_chi2",
)
# names whose gamma, if None, is 1 / n_features
SCALED_BY_COLUMNS = ("poly", "polynomial", "rbf", "laplacian", "sigmoid")


def get_kernel(
    kernel, *, gamma=None, degree=3, coef0=1.0, params=None, n_features=None
) -> AbstractKernel:
    """A kernel from a name or a kernel object of scikit-learn's, a function, or itself.

    Parameters
    ----------
    kernel : str, kernel, `sklearn.gaussian_process` kernel or callable
    gamma, degree, coef0 : numbers
        Of the kernels by name.
    params : dict, optional
        Keywords of a function.
    n_features : int, optional
        Columns of the rows, for gamma = None and for `ExpSineSquared`. A name whose
        gamma depends on them is refused where neither is given.

    Examples
    --------
    >>> get_kernel("poly", gamma=1.0, degree=2, coef0=1.0)
    Polynomial(degree=2, gamma=1, coef0=1)
    """
    if isinstance(kernel, AbstractKernel):
        return kernel
    if isinstance(kernel, str):
        return _named_kernel(kernel, gamma, degree, coef0, n_features)
    if is_sklearn_kernel(kernel):
        return from_sklearn(kernel, n_features=n_features)
    if callable(kernel):
        return FunctionKernel(kernel, params=params)
    listed = ", ".join(repr(name) for name in KERNEL_NAMES)
    raise ParameterError(f"kernel must be a kernel or one of {listed}, got {kernel!r}.")


def kernel_for_rows(kernel, X, **options) -> AbstractKernel:
    """`get_kernel` for the rows of X: a name has their gamma, 1 / n_features.

    Examples
    --------
    >>> kernel_for_rows("rbf", [[0.0, 1.0], [2.0, 3.0]])
    RBF(length_scale=1)
    """
    if isinstance(kernel, str) or is_sklearn_kernel(kernel):
        options["n_features"] = _count_columns(X)
    return get_kernel(kernel, **options)


def _count_columns(X) -> int:
    """Columns of rows in an array, a sparse matrix, a frame, a tensor or lists."""
    shape = X.shape if hasattr(X, "shape") or is_foreign(X) else np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"expected rows in 2 dimensions, got {len(shape)}.")
    return int(shape[1])


def _named_kernel(name, gamma, degree, coef0, n_features) -> AbstractKernel:
    """The kernel of a name of `sklearn.metrics.pairwise`."""
    rate = gamma
    if gamma is None and name in SCALED_BY_COLUMNS:
        if not n_features:
            raise ParameterError(
                f"the kernel {name!r} has gamma = 1 / number of columns: give gamma or "
                "n_features."
            )
        rate = 1.0 / n_features
    makers: dict[str, Callable] = {
        "linear": Linear,
        "rbf": lambda: RBF(gamma=rate),
        "laplacian": lambda: Laplacian(1.0 / _check_rate(rate)),
        "poly": lambda: Polynomial(_whole_degree(degree), rate, float(coef0)),
        "sigmoid": lambda: Sigmoid(rate, float(coef0)),
        "cosine": Cosine,
        "chi2": lambda: ChiSquared(1.0 if gamma is None else gamma),
        "additive_chi2": AdditiveChiSquared,
    }
    maker = makers.get("poly" if name == "polynomial" else name)
    if maker is None:
        listed = ", ".join(repr(known) for known in KERNEL_NAMES)
        raise ParameterError(
            f"kernel must be a kernel or one of {listed}, got {name!r}."
        )
    return maker()


def _check_rate(gamma):
    if not gamma > 0:
        raise ParameterError(f"gamma must be above 0, got {gamma}.")
    return gamma


def _whole_degree(degree) -> int:
    """The degree of a polynomial kernel; a fraction gives no kernel and is refused."""
    if degree != int(degree):
        raise ParameterError(
            f"degree must be a whole number for a polynomial kernel, got {degree}."
        )
    return int(degree)


def is_sklearn_kernel(kernel) -> bool:
    """Whether an object is a kernel of `sklearn.gaussian_process` or made like one."""
    return hasattr(kernel, "hyperparameters") and hasattr(kernel, "clone_with_theta")


def from_sklearn(kernel, *, n_features=None, wrap_unknown=False) -> AbstractKernel:
    """A kernel object of `sklearn.gaussian_process.kernels` as one of ours.

    Parameters
    ----------
    kernel : kernel of scikit-learn's
    n_features : int, optional
        Columns of the rows.
    wrap_unknown : bool, default=False
        Whether a kernel with a part that has no counterpart is wrapped whole, as a
        `SklearnKernel`, instead of refused.

    Examples
    --------
    >>> from sklearn.gaussian_process import kernels as theirs
    >>> from pansophy.kernels import from_sklearn
    >>> from_sklearn(theirs.RBF(0.5) + theirs.WhiteKernel(0.1))
    RBF(length_scale=0.5) + White(noise=0.1)
    """
    if wrap_unknown:
        try:
            return from_sklearn(kernel, n_features=n_features)
        except ParameterError:
            return SklearnKernel(kernel)
    name = type(kernel).__name__
    known = type(kernel).__module__.startswith("sklearn.")
    if known and name in ("Sum", "Product"):
        parts = (from_sklearn(k, n_features=n_features) for k in (kernel.k1, kernel.k2))
        left, right = parts
        return left + right if name == "Sum" else left * right
    if known and name == "Exponentiation":
        if kernel.exponent != int(kernel.exponent):
            raise ParameterError(
                f"a power of a kernel must be whole, got Exponentiation with "
                f"{kernel.exponent}."
            )
        return from_sklearn(kernel.kernel, n_features=n_features) ** int(
            kernel.exponent
        )
    if not known or name not in SIMPLE:
        raise ParameterError(
            f"{name} has no counterpart among our kernels: write it with those of "
            "pansophy.kernels, or give a function of two arrays of rows."
        )
    return SIMPLE[name](kernel, n_features)


def _with_fixed(ours, theirs, **renamed):
    """Ours without the parameters whose bounds are "fixed" in theirs."""
    held = [
        renamed.get(h.name, h.name)
        for h in theirs.hyperparameters
        if getattr(theirs, f"hyperparameter_{h.name}").fixed
    ]
    held = [name for name in held if name in ours.learnt]
    return ours.fixed(*held) if held else ours


def _sine_squared(k, n_features):
    """`ExpSineSquared` takes one distance of all columns: ours agrees in one column."""
    if n_features != 1:
        raise ParameterError(
            "ExpSineSquared of scikit-learn is a kernel in one column only: use "
            "Periodic(...) or Periodic(...).on(column)."
        )
    return _with_fixed(Periodic(k.length_scale, k.periodicity), k, periodicity="period")


def _dot_product(k, n_features):
    offset = _with_fixed(Constant(k.sigma_0**2), k, sigma_0="value")
    return Linear().fixed() + offset


def _pairwise_kernel(k, n_features):
    if k.pairwise_kernels_kwargs:
        raise ParameterError(
            "PairwiseKernel with pairwise_kernels_kwargs has no counterpart here: give "
            "the kernel of pansophy.kernels."
        )
    return _with_fixed(get_kernel(k.metric, gamma=k.gamma, n_features=n_features), k)


SIMPLE: dict[str, Callable] = {
    "ConstantKernel": lambda k, d: _with_fixed(
        Constant(k.constant_value), k, constant_value="value"
    ),
    "WhiteKernel": lambda k, d: _with_fixed(
        White(k.noise_level), k, noise_level="noise"
    ),
    "RBF": lambda k, d: _with_fixed(RBF(k.length_scale), k),
    "Matern": lambda k, d: _with_fixed(Matern(k.length_scale, k.nu), k),
    "RationalQuadratic": lambda k, d: _with_fixed(
        RationalQuadratic(k.length_scale, k.alpha), k
    ),
    "ExpSineSquared": _sine_squared,
    "DotProduct": _dot_product,
    "PairwiseKernel": _pairwise_kernel,
}
