"""Where accelerated classes are found by their names, as pickle does.

`pansophy.accelerate.classes.sklearn.linear_model.Ridge` is the accelerated class of
`sklearn.linear_model.Ridge`; it is made when it is first asked for, so that a model
that was pickled under `pansophy.accelerate()` can be read in a process without it.
"""

from .replacement import accelerated_class, replaced_names

LIBRARIES = ("sklearn", "hmmlearn")


class Place:
    """A module of the original library, whose classes are the accelerated ones."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, last):
        if last.startswith("_"):
            raise AttributeError(last)
        name = f"{self._name}.{last}"
        if name in replaced_names():
            return accelerated_class(name)
        if any(
            replaced_name.startswith(f"{name}.") for replaced_name in replaced_names()
        ):
            return Place(name)
        raise AttributeError(f"there is no accelerated class {name}")


def __getattr__(name):
    if name in LIBRARIES:
        return Place(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
