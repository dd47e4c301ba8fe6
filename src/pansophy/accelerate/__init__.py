"""A script written for scikit-learn or hmmlearn runs on our classes, unchanged.

Two ways in::

    python -m pansophy.accelerate script.py its arguments

    import pansophy
    pansophy.accelerate()                  # before the classes are imported
    from sklearn.ensemble import RandomForestClassifier

Each public class that both libraries have is replaced, in the module where users find
it, by a subclass of the original (`accelerated_class`). Such an estimator has the
original's parameters, name and base classes; `fit` is done by our class of the same
name. What ours refuses, a parameter or the data, the original fits instead, so that
results and error messages are never worse than before. After the program a report says
on standard error what was replaced, what was not and why.

`with pansophy.accelerate(False):` turns it off for a block.
"""

import sys
from types import ModuleType

from .replacement import STATE, Acceleration, is_active, set_active
from .report import AccelerationReport, fit_report
from .run_script import run_script

__all__ = [
    "Acceleration",
    "AccelerationReport",
    "accelerate",
    "is_active",
    "fit_report",
    "run_script",
]


def accelerate(active=True, *, show_report=None) -> Acceleration:
    """Replace the classes of scikit-learn and hmmlearn by ours, or put them back.

    Call it before the classes are imported: a name that a program already holds stays
    what it is, and a warning lists those of the main program.

    Parameters
    ----------
    active : bool, default=True
        False restores the originals.
    show_report : bool, default=None
        Whether a report is written to standard error when Python ends. None writes it
        once `accelerate()` was called, whatever is turned off later.

    Returns
    -------
    Acceleration
        It may be used in a `with` statement, at whose end the state before this call
        is restored.

    Examples
    --------
    >>> import numpy as np, pansophy, sklearn.linear_model
    >>> X, y = np.arange(8.0).reshape(-1, 1), np.arange(8.0)
    >>> with pansophy.accelerate(show_report=False):
    ...     model = sklearn.linear_model.Ridge().fit(X, y)
    ...     isinstance(model, sklearn.linear_model.Ridge)
    True
    >>> type(model.accelerated_) is pansophy.linear_model.Ridge
    True
    >>> "accelerated_" in vars(sklearn.linear_model.Ridge().fit(X, y))
    False
    """
    if show_report is None:
        show_report = active or STATE.show_report
    return set_active(active, show_report)


class CallableModule(ModuleType):
    """The module `pansophy.accelerate`, which is also the function of that name."""

    def __call__(self, active=True, *, show_report=None) -> Acceleration:
        return accelerate(active, show_report=show_report)


CallableModule.__call__.__doc__ = accelerate.__doc__
sys.modules[__name__].__class__ = CallableModule
