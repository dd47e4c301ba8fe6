"""Target densities of samplers: a log density and its gradient, in any form.

`as_target_density` takes a density given as

- a NumPy function of one position (d,) or of all chains at once (m, d), with its
  gradient given separately (`grad`) or by itself (`grad=True`: it returns both);
- a torch function, whose gradient comes from autograd, all chains in one batch;
- a Numba function, with `grad` another one (or True), which compiled samplers call
  without returning to Python;
- a compiled density of `pansophy.sampling.densities.compiled_densities`;
- a `Distribution`, by its `log_prob`;

and gives an object with `value(x)` (m,) and `value_and_grad(x)` (m,), (m, d) for x
(m, d). Whether a function takes a batch is detected unless `batched` is given.

Shapes    x (m, d)   log_prob (m,)   gradient (m, d)
"""

import sys
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from ...core.arrays.arrays import is_torch
from ...params import ParameterError, ParameterRule

GRADIENT_NEEDED = (
    "this sampler needs the gradient of log_prob: give grad, or write log_prob with "
    "torch, or take a compiled density."
)


def _is_log_density(f) -> bool:
    """Whether f can be used as a log density."""
    return callable(f) or any(hasattr(f, a) for a in ("log_prob", "as_target", "value"))


# parameter rules of samplers
LogProb = Annotated[
    Any, ParameterRule("a function, a distribution or a target", _is_log_density)
]
GradientFunction = Annotated[
    Any,
    ParameterRule(
        "a function, True or None", lambda g: g in (None, True) or callable(g)
    ),
]


def takes_batch(log_prob, x) -> bool:
    """Whether log_prob maps (m, d) to (m,), tried with m != d and m > 1."""
    m = max(len(x), 2)
    m += m == x.shape[1]
    try:
        value = log_prob(np.resize(x, (m, x.shape[1])))
        value = value[0] if isinstance(value, tuple) else value
        return tuple(np.shape(value)) == (m,)
    except Exception:  # a function of one position may raise anything for a batch
        return False


def _as_scalar(value) -> float:
    """A float from an array of one number."""
    value = np.asarray(value, dtype=float)
    if value.size != 1:
        raise ValueError(
            f"log_prob must give one number a position, got shape {value.shape}."
        )
    return value.item()


@dataclass(eq=False)
class NumpyTarget:
    """A NumPy log density and its gradient; see `as_target_density`."""

    log_prob: Any
    grad: Any = None
    batched: bool | None = None
    dim: int | None = None
    data: tuple = ()

    compiled = False

    def detect_batching(self, x):
        """Check the dimension and detect whether the function takes a batch."""
        if self.dim is not None and x.shape[1] != self.dim:
            raise ValueError(
                f"positions have {x.shape[1]} coordinates, the density {self.dim}."
            )
        self.dim = x.shape[1]
        if self.batched is None:
            self.batched = takes_batch(lambda x: self.log_prob(x, *self.data), x)

    def value(self, x):
        """log pi (m,) at x (m, d)."""
        if self.batched is None or self.dim != x.shape[1]:
            self.detect_batching(x)
        f, data = self.log_prob, self.data
        if self.grad is True:
            f = lambda x, *data: self.log_prob(x, *data)[0]
        if self.batched:
            return self.shaped(np.asarray(f(x, *data), dtype=float), x)
        return np.array([_as_scalar(f(row, *data)) for row in x])

    def value_and_grad(self, x):
        """log pi (m,) and its gradient (m, d)."""
        self.detect_batching(x)
        if self.grad is None:
            raise TypeError(GRADIENT_NEEDED)
        f, slope = self.log_prob, self.grad
        evaluate_rows = lambda x: (f(x, *self.data), slope(x, *self.data))
        if slope is True:
            evaluate_rows = lambda x: f(x, *self.data)
        if self.batched:
            v, g = (np.asarray(a, dtype=float) for a in evaluate_rows(x))
        else:
            pairs = [evaluate_rows(row) for row in x]
            v = np.array([_as_scalar(v) for v, _ in pairs])
            g = np.array([np.asarray(g, dtype=float) for _, g in pairs])
        if g.shape != x.shape:
            expected, shape = (
                (x.shape, g.shape) if self.batched else (x.shape[1:], g[0].shape)
            )
            raise ValueError(f"grad must give shape {expected}, got {shape}.")
        return self.shaped(v, x), g

    @staticmethod
    def shaped(v, x):
        if v.shape != (len(x),):
            raise ValueError(
                f"log_prob must give one number a chain, shape ({len(x)},), got shape "
                f"{v.shape}."
            )
        return v


@dataclass(eq=False)
class TorchTarget:
    """A torch log density with its gradient by autograd, all chains in one batch."""

    log_prob: Any
    batched: bool | None = None
    dim: int | None = None
    data: tuple = ()

    compiled = False

    def __call__(self, t):
        """log pi of a tensor (m, d), one position at a time if it takes no batch."""
        import torch

        f = lambda t: self.log_prob(t, *self.data)
        if self.batched is None:
            x = t.detach()
            self.batched = takes_batch(lambda a: f(torch.as_tensor(a)), x.numpy())
        return f(t) if self.batched else torch.stack([f(row).reshape(()) for row in t])

    def value(self, x):
        """log pi (m,) at x (m, d)."""
        import torch

        with torch.no_grad():
            v = self(torch.tensor(x, dtype=torch.float64))
        return NumpyTarget.shaped(v.double().numpy(), x)

    def value_and_grad(self, x):
        """log pi (m,) and its gradient (m, d)."""
        import torch

        t = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        v = self(t)
        (g,) = torch.autograd.grad(v.sum(), t)
        return NumpyTarget.shaped(v.detach().double().numpy(), x), g.numpy()


@dataclass(eq=False)
class CompiledTarget:
    """A compiled log density, called by its address; see `_target_density.py`."""

    function: Any  # kept alive, so that the address stays valid
    data: tuple = ()
    dim: int | None = None
    has_grad: bool = True

    compiled = True

    def __post_init__(self):
        self.data = tuple(np.ascontiguousarray(a, dtype=float) for a in self.data)
        rows = [[a.ctypes.data, *a.shape, 0, 0, 0][:4] for a in self.data]
        self.table = np.array(rows or [[0] * 4], dtype=np.int64).ravel()
        self.address = self.function.address

    def value(self, x):
        """log pi (m,) at x (m, d)."""
        return self.evaluate(x)[0]

    def value_and_grad(self, x):
        """log pi (m,) and its gradient (m, d)."""
        if not self.has_grad:
            raise TypeError(GRADIENT_NEEDED)
        return self.evaluate(x)

    def evaluate(self, x):
        """log pi (m,) and its gradient (m, d), which is zero if there is none."""
        from ._target_density import evaluate_rows

        if self.dim is not None and x.shape[1] != self.dim:
            raise ValueError(
                f"positions have {x.shape[1]} coordinates, the density {self.dim}."
            )
        x = np.ascontiguousarray(x, dtype=float)
        g = np.zeros_like(x)
        out = np.empty(len(x))
        evaluate_rows(self.address, x, g, self.table.ctypes.data, out)
        return out, g


TargetDensity = NumpyTarget | TorchTarget | CompiledTarget


def _log_prob_of(distribution, x):
    """log p of rows or tensors, whatever the parameters of p are kept in."""
    if is_torch(x):
        distribution = _with_tensors(distribution, x)
    return distribution.log_prob(x)


def _with_tensors(part, like):
    """A distribution, parts included, whose NumPy parameters are tensors."""
    import torch

    if isinstance(part, np.ndarray) and part.dtype.kind == "f":
        return torch.as_tensor(part, dtype=like.dtype, device=like.device)
    if is_dataclass(part) and not isinstance(part, type):
        parameters = {f.name: getattr(part, f.name) for f in fields(part) if f.init}
        changed = {
            name: _with_tensors(value, like) for name, value in parameters.items()
        }
        return replace(part, **changed)  # pyrefly: ignore
    if type(part) is list:
        return [_with_tensors(item, like) for item in part]
    if type(part) is tuple:
        return tuple(_with_tensors(item, like) for item in part)
    return part


def is_jitted(f) -> bool:
    """Whether f is a function compiled by Numba."""
    return "numba" in sys.modules and sys.modules["numba"].extending.is_jitted(f)


def as_target_density(
    log_prob, grad=None, batched=None, dim=None, data=()
) -> TargetDensity:
    """The target density of a sampler from a function or a distribution.

    Parameters
    ----------
    log_prob : function, Distribution, compiled density or Target
        Logarithm of the density up to a constant, `log_prob(x, *data)`.
    grad : function, True or None
        Its gradient; True if log_prob returns the pair (value, gradient). None is
        enough for torch functions, compiled densities and samplers without gradients.
    batched : bool or None
        Whether the functions take all chains (m, d) at once; None detects it.
    dim : int or None
        Number of coordinates, checked where given.
    data : tuple of arrays
        Further arguments of both functions; for Numba functions arrays of float64.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.sampling import as_target_density
    >>> log_prob = lambda x: -0.5 * (x**2).sum(axis=-1)
    >>> normal = as_target_density(log_prob, grad=lambda x: -x)
    >>> normal.value_and_grad(np.array([[1.0, 2.0]]))
    (array([-2.5]), array([[-1., -2.]]))
    """
    if isinstance(log_prob, TargetDensity):
        return log_prob
    if hasattr(log_prob, "as_target"):
        return log_prob.as_target()
    if not callable(log_prob) and is_dataclass(log_prob):
        log_prob = partial(_log_prob_of, log_prob)
    elif not callable(log_prob):
        log_prob = getattr(log_prob, "log_prob", None)
    if not callable(log_prob) or not (grad is None or grad is True or callable(grad)):
        raise ParameterError(
            "log_prob must be a function or a distribution, and grad a function, "
            "True or None."
        )
    if is_jitted(log_prob) and (grad in (None, True) or is_jitted(grad)):
        from ._target_density import compile_density

        data = tuple(np.ascontiguousarray(a, dtype=float) for a in data)
        function = compile_density(log_prob, grad, [a.ndim for a in data])
        return CompiledTarget(function, data, dim, grad is not None)
    return NumpyTarget(log_prob, grad, batched, dim, tuple(data))


def ensure_gradient(density: TargetDensity, x) -> TargetDensity:
    """The target; a function without gradient is turned into a torch target."""
    if not isinstance(density, NumpyTarget) or density.grad is not None:
        return density
    if "torch" in sys.modules:
        f, b, d, data = density.log_prob, density.batched, density.dim, density.data
        torch_target = TorchTarget(f, b, d, data)
        try:
            torch_target.value_and_grad(x[:1])
        except (TypeError, RuntimeError, AttributeError):
            raise TypeError(GRADIENT_NEEDED) from None
        return torch_target
    raise TypeError(GRADIENT_NEEDED)


def ensure_values(density: TargetDensity, x) -> TargetDensity:
    """The target; a function that fails on NumPy arrays becomes a torch target."""
    if isinstance(density, NumpyTarget) and "torch" in sys.modules:
        density.detect_batching(x)
        if not density.batched:
            try:
                density.value(x[:1])
            except (TypeError, AttributeError):
                return TorchTarget(density.log_prob, None, density.dim, density.data)
    return density


def gradient_error(density, x) -> float:
    """|g - numeric g| / (|g| + |numeric g|) at x (d,), near 0 if the gradient is right.

    Examples
    --------
    >>> from pansophy.sampling import gradient_error, as_target_density
    >>> right = as_target_density(lambda x: -0.5 * (x**2).sum(), grad=lambda x: -x)
    >>> wrong = as_target_density(lambda x: -0.5 * (x**2).sum(), grad=lambda x: -2 * x)
    >>> gradient_error(right, [1.0, 2.0]) < 1e-8
    True
    >>> gradient_error(wrong, [1.0, 2.0]) > 0.3
    True
    """
    x = np.asarray(x, dtype=float)
    density = ensure_gradient(as_target_density(density), x[None])
    g = density.value_and_grad(x[None])[1][0]
    h = np.finfo(float).eps ** (1 / 3) * np.maximum(np.abs(x), 1.0)
    steps = np.diag(h)
    rise = density.value(x + steps) - density.value(x - steps)
    numeric = rise / (2 * h)
    total = np.linalg.norm(g) + np.linalg.norm(numeric)
    return float(np.linalg.norm(g - numeric) / total) if total > 0 else 0.0
