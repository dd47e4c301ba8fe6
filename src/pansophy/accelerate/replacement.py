"""Accelerated classes in place of the originals, in the modules where users find them.

Only public places are changed (`sklearn.linear_model.Ridge`), and only after all of
scikit-learn's modules concerned are imported: what they use among themselves stays.
"""

import atexit
import importlib
import importlib.util
import pkgutil
import sys
import warnings
from dataclasses import dataclass, field
from functools import cache

import pansophy

from ..persist.classes import defining_modules
from ..scikit_learn import OURS, THEIRS
from .accelerated_class import accelerated_class
from .report import fit_report

# module of the original -> package of ours, where they differ
OTHER_PLACES = {
    "hmmlearn.hmm": "pansophy.state_space",
    "sklearn.feature_extraction.text": "pansophy.text",
}


@dataclass
class ReplacementState:
    """Whether classes are replaced now, and whether a report follows."""

    active: bool = False
    show_report: bool = False
    registered: bool = False  # the report, with atexit
    originals: dict[str, type] = field(default_factory=dict)  # by dotted name


STATE = ReplacementState()


class Acceleration:
    """What `pansophy.accelerate` returns: the state before, restored by `with`."""

    def __init__(self, before: tuple[bool, bool]):
        self._before = before

    def __repr__(self):
        return f"<pansophy.accelerate: {'active' if STATE.active else 'not active'}>"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        active, show_report = self._before
        set_active(active, show_report)


def is_active() -> bool:
    """Whether fits go to our classes now.

    Examples
    --------
    >>> import pansophy
    >>> pansophy.accelerate.is_active()
    False
    """
    return STATE.active


def set_active(active, show_report) -> Acceleration:
    """Turn replacement on or off; the answer restores what was before."""
    old_state = (STATE.active, STATE.show_report)
    STATE.active = bool(active)
    STATE.show_report = bool(show_report)
    if active and not STATE.originals:
        STATE.originals.update(find_originals())
    if active and not old_state[0]:
        _warn_of_early_imports()
    for name, original in STATE.originals.items():
        module, _, last = name.rpartition(".")
        value = accelerated_class(name) if STATE.active else original
        setattr(sys.modules[module], last, value)
    if active and show_report and not STATE.registered:
        atexit.register(_show_at_exit)
        STATE.registered = True
    return Acceleration(old_state)


@cache
def replaced_names() -> dict[str, str]:
    """Dotted names of possible originals -> those of ours, read from our sources.

    Nothing of ours is imported for it. Which of them the other library really has is
    seen when its modules are imported (`find_originals`).
    """
    places = dict(OTHER_PLACES)
    for package in pkgutil.iter_modules(pansophy.__path__):
        theirs = f"{THEIRS}.{package.name}"
        if package.ispkg and importlib.util.find_spec(theirs) is not None:
            places[theirs] = f"{OURS}.{package.name}"
    return {
        f"{theirs}.{name}": f"{own_name}.{name}"
        for theirs, own_name in places.items()
        for name in defining_modules(own_name)
        if not name.startswith("_")
    }


def find_originals() -> dict[str, type]:
    """The classes that both libraries have; imports the modules of the originals."""
    from sklearn.base import BaseEstimator

    originals = {}
    for name in sorted(replaced_names()):
        module, _, last = name.rpartition(".")
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            continue
        try:
            value = getattr(importlib.import_module(module), last, None)
        except ModuleNotFoundError:
            continue
        if isinstance(value, type) and issubclass(value, BaseEstimator):
            originals[name] = value
    return originals


def _warn_of_early_imports() -> None:
    """Names that the main program imported before stay the originals: say so."""
    originals = set(STATE.originals.values())
    names = [
        name
        for name, value in vars(sys.modules["__main__"]).items()
        if isinstance(value, type) and value in originals
    ]
    if names:
        warnings.warn(
            f"{', '.join(sorted(names))}: imported before pansophy.accelerate() was "
            "called, and therefore not replaced. Call it before these imports.",
            stacklevel=4,
        )


def _show_at_exit() -> None:
    if STATE.show_report:
        print(fit_report(), file=sys.stderr)
