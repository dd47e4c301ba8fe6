"""Automatic differentiation with torch: gradients, Jacobian products.

For f written with torch operations, x of any shape, and u, v like f(x) and x,

    grad   df/dx of a scalar f                                                   (1)
    vjp    u^T J, backwards through the computation: each node visited once      (2)
    jvp    J v, forwards                                                         (3)

NumPy arrays and numbers come in as float64 tensors and go out as NumPy; tensors stay
tensors. torch is loaded at the first call.

Refs      [Griewank2008]
"""

from collections.abc import Callable

import numpy as np

from ..core.arrays.arrays import is_torch


def _torch_or_say():
    """The torch module, or an ImportError that says what to do."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "grad, vjp and jvp need torch: install it (pip install torch), or use "
            "optim.numeric_gradient."
        ) from error
    return torch


def _as_tensors(args):
    """The arguments as tensors, and whether any of them already was one."""
    torch = _torch_or_say()
    keep_tensors = any(is_torch(a) for a in args)
    as_float = lambda a: torch.as_tensor(np.array(a, dtype=float))
    return [a if is_torch(a) else as_float(a) for a in args], keep_tensors


def _from_tensor(value, keep_tensors):
    """A tensor as a NumPy array, unless an argument of the caller was a tensor."""
    if isinstance(value, (tuple, list)):
        return tuple(_from_tensor(v, keep_tensors) for v in value)
    return value if keep_tensors else value.detach().cpu().numpy()[()]


def value_and_grad(f: Callable, argnums=0) -> Callable:
    """Function that returns f and its gradient, eq. (1): what solvers of `optim` take.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> f = optim.value_and_grad(lambda x: ((x - 1) ** 2).sum())
    >>> optim.bfgs(f, np.zeros(2)).state.position.round(6)
    array([1., 1.])
    """
    is_tuple = not isinstance(argnums, int)
    wanted = tuple(argnums) if is_tuple else (argnums,)

    def both(*args):
        torch = _torch_or_say()
        tensors, keep_tensors = _as_tensors(args)
        for j in wanted:
            tensors[j] = tensors[j].detach().requires_grad_(True)
        with torch.enable_grad():
            value = f(*tensors)
            if value.numel() != 1:
                raise ValueError(
                    f"grad takes a function with one number as its value, not "
                    f"{tuple(value.shape)}; see vjp and jvp."
                )
            sources = [tensors[j] for j in wanted]
            gradients = torch.autograd.grad(
                value.sum(), sources, materialize_grads=True
            )
        number = value.detach() if keep_tensors else float(value.detach())
        return number, _from_tensor(
            gradients if is_tuple else gradients[0], keep_tensors
        )

    return both


def grad(f: Callable, argnums=0) -> Callable:
    """Gradient of f, eq. (1), as a function of the same arguments.

    With a tuple of argnums it returns a tuple of gradients.

    Examples
    --------
    >>> from pansophy import optim
    >>> f = lambda x, y: (x + 2 * y**3) ** 2
    >>> [float(g) for g in optim.grad(f, argnums=(0, 1))(1.0, 2.0)]
    [34.0, 816.0]
    """
    with_value = value_and_grad(f, argnums)
    return lambda *args: with_value(*args)[1]


def vjp(f: Callable, x):
    """Vector-Jacobian product: f(x), and the function u -> u^T J of eq. (2).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> y, pull = optim.vjp(lambda x: x**2, np.array([1.0, 2.0, 3.0]))
    >>> y, pull(np.ones(3))
    (array([1., 4., 9.]), array([2., 4., 6.]))
    """
    torch = _torch_or_say()
    (x,), keep_tensors = _as_tensors([x])
    x = x.detach().requires_grad_(True)
    with torch.enable_grad():
        y = f(x)

    def pull(u):
        u = u if is_torch(u) else torch.as_tensor(np.array(u), dtype=y.dtype)
        (g,) = torch.autograd.grad(
            y, x, u.reshape(y.shape), retain_graph=True, materialize_grads=True
        )
        return _from_tensor(g, keep_tensors)

    return _from_tensor(y.detach(), keep_tensors), pull


def jvp(f: Callable, x, v):
    """Jacobian-vector product: f(x) and J v, eq. (3).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> optim.jvp(lambda x: x**2, np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    (array([1., 4.]), array([2., 0.]))
    """
    torch = _torch_or_say()
    (x,), keep_tensors = _as_tensors([x])
    v = v if is_torch(v) else torch.as_tensor(np.array(v), dtype=x.dtype)
    y, tangent = torch.func.jvp(f, (x,), (v.reshape(x.shape),))
    return _from_tensor(y, keep_tensors), _from_tensor(tangent, keep_tensors)
