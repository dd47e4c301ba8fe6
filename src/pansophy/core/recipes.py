"""Values made of functions, pickled and saved as the call that makes them again.

A loss, link or penalty is a frozen dataclass of functions, most of them lambdas and
closures, which neither pickle nor a model file can hold. What can be held is how it was
made: a function of the package and its arguments, the *recipe*. Functions that make
such values are decorated with `remakeable`; the classes have `__reduce_ex__ =
reduce_to_recipe`. A value without a recipe, as a user makes it, is pickled by its
fields. A copy with other fields (`dataclasses.replace`) has no recipe, since it would
be another value.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Recipe(NamedTuple):
    """A call that makes a value again: `make(*arguments, **keywords)`."""

    make: Callable
    arguments: tuple
    keywords: dict


def recipe_of(value) -> Recipe | None:
    """How a value is made again; None if it is not known."""
    return getattr(value, "__dict__", {}).get("_recipe")


def remember_recipe(value, make, *arguments, **keywords):
    """The value itself, which from now on is made again by that call.

    A recipe that it already has stays: a function may return another one's value.
    """
    if recipe_of(value) is None:
        object.__setattr__(value, "_recipe", Recipe(make, arguments, keywords))
    return value


def remakeable(make: Callable[P, T]) -> Callable[P, T]:
    """Decorator of a function whose results remember the call that made them.

    Examples
    --------
    >>> import pickle
    >>> from pansophy import losses
    >>> pickle.loads(pickle.dumps(losses.huber(2.0))).parameter
    2.0
    """

    @functools.wraps(make)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
        value = make(*args, **kwargs)
        return remember_recipe(value, remembered, *args, **kwargs)

    return remembered


def _made_by(make, arguments, keywords):
    """The value of a recipe."""
    return make(*arguments, **keywords)


def reduce_to_recipe(value, protocol):
    """`__reduce_ex__` of classes whose instances may have a recipe."""
    recipe = recipe_of(value)
    if recipe is None:
        return object.__reduce_ex__(value, protocol)
    return _made_by, tuple(recipe)
