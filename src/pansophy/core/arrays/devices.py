"""The device of a block of code: NumPy rows and data frames are moved there once.

`X` decides where a method computes: a tensor is answered on its device. Inside

    with pansophy.device("cuda"):
        model = LogisticRegression().fit(X, y)

rows that are NumPy arrays or data frames are checked as always and then moved to that
device by the methods that can compute there, whose answers are tensors of it. Methods
that compute with NumPy, and sparse rows, stay in main memory. Nothing else is moved.
"""

import sys
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from .arrays import all_finite

_current: ContextVar[Any] = ContextVar("pansophy_device", default=None)


@contextmanager
def use_device(name):
    """Move NumPy rows to this device inside, where the method can compute there.

    Parameters
    ----------
    name : str, torch.device or None
        "cpu", "cuda", "cuda:1", ...; None leaves rows where they are.

    Examples
    --------
    >>> from pansophy.core.arrays.devices import use_device
    >>> from pansophy.linear_model import Ridge
    >>> with use_device("cpu"):
    ...     model = Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> type(model.coef_).__name__, round(float(model.coef_[0]), 4)
    ('Tensor', 0.6667)
    """
    token = _current.set(None if name is None else _checked_device(name))
    try:
        yield
    finally:
        _current.reset(token)


def _checked_device(name):
    """A torch device that is there, or one sentence why it cannot be."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            f"device {str(name)!r} needs torch: pip install 'pansophy[deep]'."
        ) from None
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        text = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(
            f"device {str(name)!r} cannot be used ({text}); `pansophy doctor` lists "
            "the devices that are there."
        ) from None
    return device


def _current_device():
    """The device of the surrounding `use_device`, or None."""
    return _current.get()


def moved_to_device(X, y, checks):
    """Dense NumPy rows, and targets that are numbers, on the current device.

    Rows that may miss values, by the options of their checks, stay if they do.
    """
    device = _current_device()
    if device is None or type(X) is not np.ndarray or X.dtype.kind not in "fiub":
        return X, y
    if checks.get("ensure_all_finite", True) == "allow-nan" and not all_finite(X):
        return X, y
    torch = sys.modules["torch"]
    tensor = lambda a: torch.as_tensor(np.ascontiguousarray(a)).to(device)
    is_numeric = isinstance(y, np.ndarray) and y.dtype.kind in "fiub"
    return tensor(X), tensor(y) if is_numeric else y
