"""The kernel of a Gaussian process as a function of its hyper-parameters theta.

A user gives a kernel of `pansophy.kernels` or one of scikit-learn's. Both are seen as
one family k_theta here, theta being the vector that the user's own kernel has. Kernels
of scikit-learn are translated, so that matrices are made by our tiles; since every
parameter of ours is a power of one of theirs, the logarithms are related by a matrix,

    theta_ours = A theta_theirs + c,    gradient_theirs = A^T gradient_ours       (1)

whose columns are read off the translation of kernels one unit apart. A kernel without
a counterpart is called as it is (`kernels.SklearnKernel`).

Hyper-parameters have no hard bounds unless a kernel of scikit-learn brings some;
`parameter_search` finds them.

Shapes    theta (p,)   A (p_ours, p)   bounds (p, 2)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..kernels import AbstractKernel, SklearnKernel, from_sklearn, get_kernel
from ..kernels.lookup import is_sklearn_kernel

REACH = 25.0  # largest change of a logarithm, where exp is still harmless


@dataclass(frozen=True)
class KernelFamily:
    """k_theta for a kernel that a user gave: the translation of eq. (1)."""

    given: Any  # the user's kernel, at the start
    ours: AbstractKernel  # the same, for computing
    A: np.ndarray | None = None  # eq. (1); None if theta is that of ours
    shift: np.ndarray | None = None
    bounds: np.ndarray | None = None

    @property
    def theta(self) -> np.ndarray:
        """theta of the kernel as it was given."""
        return np.array(self.given.theta, float)

    def at(self, theta) -> AbstractKernel:
        """Our kernel of theta."""
        theta = np.asarray(theta, float)
        if self.A is not None:
            theta = self.A @ theta + self.shift
        return self.ours.with_theta(theta)

    def pull_back(self, gradient) -> np.ndarray:
        """The gradient in theta of the user's kernel, eq. (1)."""
        return gradient if self.A is None else self.A.T @ gradient

    def public(self, theta):
        """The kernel of theta in the user's own form."""
        if isinstance(self.given, AbstractKernel):
            return self.given.with_theta(theta)
        return self.given.clone_with_theta(np.asarray(theta, float))

    def limits(self) -> np.ndarray:
        """The bounds, or where exp(theta) is still harmless."""
        if self.bounds is not None:
            return self.bounds
        return np.stack([self.theta - REACH, self.theta + REACH], axis=1)


def kernel_family(kernel, n_features) -> KernelFamily:
    """The family of a kernel of ours, of scikit-learn's, or of a function."""
    if not is_sklearn_kernel(kernel):
        own_kernel = get_kernel(kernel, n_features=n_features)
        return KernelFamily(own_kernel, own_kernel)
    kernel = clone(kernel)
    theta = np.array(kernel.theta, float)
    bounds = np.array(kernel.bounds, float).reshape(len(theta), 2)
    own_kernel = from_sklearn(kernel, n_features=n_features, wrap_unknown=True)
    if isinstance(own_kernel, SklearnKernel):
        return KernelFamily(kernel, own_kernel, bounds=bounds)
    start = own_kernel.theta
    columns = [
        from_sklearn(kernel.clone_with_theta(t), n_features=n_features).theta - start
        for t in theta + np.eye(len(theta))
    ]
    A = np.zeros((len(start), len(theta)))
    if columns:
        A = np.round(np.stack(columns, axis=1))  # whole powers
    return KernelFamily(kernel, own_kernel, A, start - A @ theta, bounds)
