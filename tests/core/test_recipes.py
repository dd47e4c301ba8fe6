"""Values that are pickled as the call that makes them."""

import copy
import pickle
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pansophy.core.recipes import recipe_of, reduce_to_recipe, remakeable


@dataclass(frozen=True)
class Scale:
    factor: float
    apply: Any

    __reduce_ex__ = reduce_to_recipe


@remakeable
def scale(factor=1.0):
    return Scale(factor, lambda x: factor * x)


@remakeable
def double():
    return scale(2.0)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, None])
def test_a_value_comes_back_by_its_call(copied):
    copied = copied or (lambda value: pickle.loads(pickle.dumps(value)))
    same = copied(scale(factor=3.0))
    assert same.factor == 3.0 and same.apply(2.0) == 6.0
    assert recipe_of(same).keywords == {"factor": 3.0}


def test_the_innermost_call_is_the_recipe():
    assert recipe_of(double()).arguments == (2.0,)
    assert pickle.loads(pickle.dumps(double())).apply(1.0) == 2.0


def test_what_was_not_made_by_a_recipe_is_its_fields():
    changed = replace(scale(3.0), apply=abs)
    assert recipe_of(changed) is None
    assert pickle.loads(pickle.dumps(changed)) == changed
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(replace(scale(3.0), factor=4.0))
