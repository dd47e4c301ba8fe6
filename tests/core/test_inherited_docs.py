"""Descriptions of parameters come from where the parameters are defined."""

from pansophy.core.inherited_docs import inherit_descriptions, section_entries


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

    Attributes
    ----------
    n_iter_ : int
        Epochs.
    """

    alpha = 1.0
    kind = "a"


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
    import inspect

    found = section_entries(inspect.cleandoc(Base.__doc__), "Parameters")
    assert list(found) == ["alpha", "kind", "first, second"]
    assert found["alpha"].endswith("of two lines.")


def test_missing_entries_are_added_with_the_defaults_of_the_class():
    inherit_descriptions(Child)
    assert Child.__doc__ == (
        "A child.\n\nParameters\n----------\n"
        "own : int, default=3\n    Of the child.\n"
        "alpha : float, default=0.5\n    Penalty,\n    of two lines.\n"
        'kind : {"a", "b"}, default="b"\n'
        "first, second : int\n    Two at once.\n"
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
