"""Texts of parameters that stand once: they reach every class, with its defaults."""

import dataclasses

import pytest

from pansophy.core.inherited_texts import entries_of, inherits_texts
from pansophy.testing import all_estimators


@dataclasses.dataclass
class Base:
    """A base.

    Parameters
    ----------
    rate : float
        How fast.
    low, high : int
        Ends.

    Attributes
    ----------
    loss_ : float
    """

    rate: float = 1.0
    low: int = 0
    high: int = 1


@inherits_texts
@dataclasses.dataclass
class Child(Base):
    """A child.

    Parameters
    ----------
    name : str, default="a"
        Its own.

    Attributes
    ----------
    net_ : object

    Examples
    --------
    >>> 1
    1
    """

    rate: float = 2.0
    name: str = "a"


def test_texts_of_bases_are_added_with_the_defaults_of_the_class():
    assert Child.__doc__ is not None
    lines = [line.strip() for line in Child.__doc__.split("\n")]
    assert lines[4:11] == [
        'name : str, default="a"',
        "Its own.",
        "rate : float, default=2.0",
        "How fast.",
        "low, high : int, default=0 and 1",
        "Ends.",
        "",
    ]
    assert lines.index("loss_ : float") == lines.index("net_ : object") + 1
    assert ">>> 1" in lines


GENERATORS = [
    (name, cls) for name, cls in all_estimators() if ".generative." in cls.__module__
]


@pytest.mark.parametrize(("name", "cls"), GENERATORS)
def test_every_parameter_of_a_generative_model_is_described(name, cls):
    texts = entries_of(cls.__doc__, "Parameters")
    fields = {f.name for f in dataclasses.fields(cls)}
    assert fields == set(texts)
    for field in fields:
        head, *rest = texts[field].split("\n")
        assert rest, f"{field} has no text"
        assert "default" in head + rest[0]
    learnt = entries_of(cls.__doc__, "Attributes")
    assert learnt and all(n.endswith("_") for n in learnt)
