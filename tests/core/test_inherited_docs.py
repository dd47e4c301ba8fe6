"""Descriptions of parameters come from where the parameters are defined."""

import dataclasses
import inspect

import pytest

from pansophy.core.inherited_docs import inherit_descriptions, section_entries
from pansophy.testing import all_estimators


class Base:
    """Shared.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty,
        of two lines.
    kind : {"a", "b"}, default="a"
    first, second : int
        Two at once.
    last : str
        Its default is that of the class.

    Attributes
    ----------
    n_iter_ : int
        Epochs.
    """

    alpha = 1.0
    kind = "a"
    last = "z"


class Child(Base):
    """A child.

    Parameters
    ----------
    own : int, default=3
        Of the child.

    Attributes
    ----------
    coef_ : array

    Examples
    --------
    >>> 1 + 1
    2
    """

    kind = "b"
    alpha = 0.5


def test_entries_of_a_section():
    found = section_entries(inspect.cleandoc(Base.__doc__), "Parameters")
    assert list(found) == ["alpha", "kind", "first, second", "last"]
    assert found["alpha"].endswith("of two lines.")


def test_missing_entries_are_added_with_the_defaults_of_the_class():
    inherit_descriptions(Child)
    assert Child.__doc__ == (
        "A child.\n\nParameters\n----------\n"
        "own : int, default=3\n    Of the child.\n"
        "alpha : float, default=0.5\n    Penalty,\n    of two lines.\n"
        'kind : {"a", "b"}, default="b"\n'
        "first, second : int\n    Two at once.\n"
        'last : str, default="z"\n    Its default is that of the class.\n'
        "\nAttributes\n----------\ncoef_ : array\nn_iter_ : int\n    Epochs.\n"
        "\nExamples\n--------\n>>> 1 + 1\n2"
    )
    once = Child.__doc__
    inherit_descriptions(Child)
    assert once == Child.__doc__


def test_a_class_without_parameters_is_left_alone():
    class Silent(Base):
        """Nothing here."""

    inherit_descriptions(Silent)
    assert Silent.__doc__ == "Nothing here."


DEEP = [
    (name, cls)
    for name, cls in all_estimators()
    if ".generative." in cls.__module__ or ".neural_network." in cls.__module__
]


@pytest.mark.parametrize(("name", "cls"), DEEP)
def test_every_parameter_of_a_deep_estimator_is_described(name, cls):
    texts = section_entries(inspect.getdoc(cls), "Parameters")
    described = {n: text for names, text in texts.items() for n in names.split(", ")}
    assert {f.name for f in dataclasses.fields(cls)} == set(described)
    assert all("default" in text for text in described.values())
    assert section_entries(inspect.getdoc(cls), "Attributes")
