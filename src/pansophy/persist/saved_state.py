"""Rules of saved state: what the parts of a loaded object must be.

Compiled loops index arrays without looking. So what they index by is checked once, when
a file is loaded, by rules that stand next to the class whose state they are about:

    @saved_state(
        children_left=IntArray("nodes", low=-1, below="nodes"),
        feature=IntArray("nodes", below="n_features"),
        threshold=FloatArray("nodes"),
        n_features=Whole(low=1),
        check=children_follow_parents,
    )
    class Tree(...):

A size is a number, None for any, the name of an attribute that holds a whole number, or
a letter or word of its own: its first use sets it, every other use must agree, and
"nodes+1" is one more. A subclass has the rules of its bases too. An attribute that is
absent is not looked at (the model may not be fitted, and Python itself notices), except
one that a size is named after. None fits where `optional=True`.

Every `base.Estimator` of ours has `ESTIMATOR_RULES` by default: the attributes whose
names in scikit-learn say what shape they have. A test holds that every array of whole
numbers in a saved estimator has a rule.
"""

from functools import cache
from typing import Any

import numpy as np

from .classes import PersistError

ATTRIBUTE = "_saved_state_rules"
CHECK = "_saved_state_check"


class UnfitState(Exception):  # noqa: N818 - becomes a PersistError with the name
    """A value of a saved state breaks its rule; the text says what it should be."""


class Sizes(dict):
    """Sizes by name: those met so far, else the whole numbers an object holds."""

    def __init__(self, state):
        super().__init__()
        self.state = state

    def __missing__(self, name):
        held = self.state.get(name)
        if _is_whole(held):
            self[name] = held
            return held
        if name.endswith("_") or name in self.state:
            raise UnfitState(f"go with a whole number {name}")
        return None

    def value(self, size) -> int | None:
        """The number that a size stands for; None if nothing has set it."""
        if type(size) is not tuple:
            return size
        known = self[size[0]]
        return None if known is None else known + size[1]

    def agree(self, size, observed) -> bool:
        """Whether a size may be `observed`; sets it at its first use."""
        if size is None:
            return True
        if type(size) is not tuple:
            return observed == size
        name, offset = size
        known = self[name]
        if known is None:
            self[name] = observed - offset
            return observed >= offset
        return observed == known + offset


def _parsed_size(size):
    """ "nodes+1" as ("nodes", 1); numbers and None as they are."""
    if type(size) is not str:
        return size
    name, _, offset = size.partition("+")
    return name, int(offset or 0)


def _is_whole(value) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


class ArrayRule:
    """An array of one kind and shape, with values in a range.

    Parameters
    ----------
    *shape : str, int, None or Ellipsis
        One size a dimension; an Ellipsis at an end stands for any dimensions.
    low : int, float or size or None
        Least value.
    below : int, float or size or None
        Bound that values stay under (for sizes and places).
    high : float or None
        Greatest value.
    finite : bool
        Whether NaN and infinity are refused.
    dtype : dtype or None
        The only one allowed.
    optional : bool
        Whether None is allowed too.
    """

    kinds = "biuf"
    noun = "numbers"

    def __init__(
        self, *shape, low=None, below=None, high=None, finite=False, dtype=None,
        optional=False,
    ):  # fmt: skip
        self.leading, self.trailing = shape[:1] == (...,), shape[-1:] == (...,)
        self.shape = tuple(_parsed_size(s) for s in shape if s is not ...)
        self.low, self.below = _parsed_size(low), _parsed_size(below)
        self.high = high
        self.finite = finite
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.optional = optional
        self.bounded = low is not None or below is not None or high is not None

    def check(self, value, sizes):
        if value is None and self.optional:
            return
        if type(value) is not np.ndarray:
            if self.bounded or self.finite or not _is_other_array(value):
                raise UnfitState(f"be an array of {self.noun}")
        elif value.dtype.kind not in self.kinds or (
            self.dtype is not None and value.dtype != self.dtype
        ):
            raise UnfitState(f"hold {self.dtype or self.noun}, not {value.dtype}")
        self.check_shape(value.shape, sizes)
        if (self.bounded or self.finite) and value.size:
            self.check_values(value, sizes)

    def check_shape(self, shape, sizes):
        k = len(self.shape)
        if len(shape) == k and all(map(sizes.agree, self.shape, shape)):
            return
        last = shape[len(shape) - k :] if self.leading else shape
        last = shape[:k] if self.trailing else last
        if len(last) != k or not all(map(sizes.agree, self.shape, last)):
            expected = [sizes.value(s) for s in self.shape]
            expected = ["any" if s is None else str(s) for s in expected]
            expected = ", ".join(
                ["..."] * self.leading + expected + ["..."] * self.trailing
            )
            raise UnfitState(f"have the shape ({expected}), not {tuple(shape)}")

    def check_values(self, value, sizes):
        smallest = np.minimum.reduce(value, axis=None)
        largest = np.maximum.reduce(value, axis=None)
        if self.finite and not (np.isfinite(smallest) and np.isfinite(largest)):
            raise UnfitState("be finite")
        low = sizes.value(self.low)
        if low is not None and not smallest >= low:
            raise UnfitState(f"be at least {low}, not {smallest}")
        if self.high is not None and not largest <= self.high:
            raise UnfitState(f"be at most {self.high}, not {largest}")
        if self.below is not None:
            upper_bound = sizes.value(self.below)
            if upper_bound is None or not largest < upper_bound:
                raise UnfitState(f"be below {upper_bound}, not {largest}")


class FloatArray(ArrayRule):
    """An array of real numbers (or a tensor or a sparse matrix, of any values)."""

    kinds = "f"
    noun = "real numbers"


class IntArray(ArrayRule):
    """An array of whole numbers."""

    kinds = "iu"
    noun = "whole numbers"


class BoolArray(ArrayRule):
    """An array of truth values."""

    kinds = "b"
    noun = "truth values"


class NumberArray(ArrayRule):
    """An array of numbers of any kind (or a tensor, or a sparse matrix)."""


class AnyArray(ArrayRule):
    """An array of anything: labels, texts."""

    kinds = "biufcUTSOMmV"
    noun = "values"


@cache
def _other_array_modules() -> tuple[str, ...]:
    return ("torch", "scipy.sparse")


def _is_other_array(value) -> bool:
    """A torch tensor, a sparse matrix or a NumPy number."""
    if isinstance(value, np.generic):
        return True
    return type(value).__module__.startswith(_other_array_modules())


class Offsets:
    """Offsets of parts of an array: (parts + 1,), ascending from 0 to its length.

    No part is empty, unless `empty=True`.
    """

    def __init__(self, parts, length, *, empty=False, optional=False):
        self.shape = IntArray(f"{parts}+1", optional=optional)
        self.length = _parsed_size(length)
        self.empty = empty

    def check(self, value, sizes):
        self.shape.check(value, sizes)
        if value is None:
            return
        steps = value[1:] - value[:-1]
        ascending = not len(steps) or steps.min() >= (0 if self.empty else 1)
        if not len(value) or value[0] != 0 or not ascending:
            raise UnfitState("ascend from 0")
        if not sizes.agree(self.length, int(value[-1])):
            raise UnfitState(f"end at {sizes.value(self.length)}, not {value[-1]}")


class AnyValue:
    """Anything: for items of which only the number matters."""

    def check(self, value, sizes):
        pass


class Whole:
    """A whole number from `low` up to `high` (sizes or numbers)."""

    def __init__(self, low=0, high=None, *, optional=False):
        self.low, self.high = _parsed_size(low), _parsed_size(high)
        self.optional = optional

    def check(self, value, sizes):
        if value is None and self.optional:
            return
        if not _is_whole(value):
            raise UnfitState("be a whole number")
        low, high = (sizes.value(s) for s in (self.low, self.high))
        if (low is not None and value < low) or (high is not None and value > high):
            upper = "" if high is None else f" and at most {high}"
            shown = value if abs(value) < 10**20 else "so large a number"
            raise UnfitState(f"be at least {low}{upper}, not {shown}")


class Part:
    """An object of a class (or a NamedTuple), some of whose numbers agree with sizes.

    `Part(Tree, n_features="n_features_in_")`: a Tree with as many features.
    """

    def __init__(self, cls, *, optional=False, **sizes):
        self.cls, self.optional = cls, optional
        self.sizes = {name: _parsed_size(size) for name, size in sizes.items()}

    def check(self, value, sizes):
        if value is None and self.optional:
            return
        if not isinstance(value, self.cls):
            names = self.cls if isinstance(self.cls, tuple) else (self.cls,)
            raise UnfitState(f"be a {' or '.join(c.__name__ for c in names)}")
        for name, size in self.sizes.items():
            held = getattr(value, name, None)
            if not _is_whole(held) or not sizes.agree(size, held):
                raise UnfitState(f"have {name} {sizes.value(size)}, not {held!r}")


class Each:
    """A list or tuple, every item of which follows a rule."""

    def __init__(self, rule, length=None, *, optional=False):
        self.rule = rule
        self.length = _parsed_size(length)
        self.optional = optional

    def check(self, value, sizes):
        if value is None and self.optional:
            return
        if type(value) not in (list, tuple):
            raise UnfitState("be a list")
        if not sizes.agree(self.length, len(value)):
            expected = sizes.value(self.length)
            raise UnfitState(f"have {expected} items, not {len(value)}")
        for item in value:
            self.rule.check(item, sizes)


class Row:
    """A tuple or list with a rule for each of its items, in order."""

    def __init__(self, *rules):
        self.rules = rules

    def check(self, value, sizes):
        if type(value) not in (list, tuple) or len(value) != len(self.rules):
            raise UnfitState(f"be {len(self.rules)} values")
        for rule, item in zip(self.rules, value):
            rule.check(item, sizes)


class AnyOf:
    """A value that follows at least one of several rules."""

    def __init__(self, *rules):
        self.rules = rules

    def check(self, value, sizes):
        problem = None
        for rule in self.rules:
            try:
                trial = Sizes(sizes.state)
                trial.update(sizes)
                rule.check(value, trial)
            except UnfitState as error:
                problem = error
                continue
            sizes.update(trial)
            return
        raise problem or UnfitState("be something else")


def are_binary_trees(left, right, start=None) -> bool:
    """Whether nodes with these children are trees, one for each part of `start`.

    A leaf has the children -1. Every node but the root of its tree is the child of
    exactly one node, which comes before it. Children are counted within their tree.
    """
    n = len(left)
    inner = np.flatnonzero(left >= 0)
    first = left[inner]
    second = right[inner]
    if start is None:
        start = np.zeros(1, np.intp)
    else:
        start = start[:-1]
        offset = start[np.searchsorted(start, inner, side="right") - 1]
        first = first + offset
        second = second + offset
    if n == 0 or 2 * len(inner) != n - len(start):
        return n == len(start) == 0
    if not len(inner):
        return np.count_nonzero(right < 0) == n
    lower = np.minimum(first, second)
    upper = np.maximum(first, second)
    if np.count_nonzero(lower > inner) < len(inner) or np.maximum.reduce(upper) >= n:
        return False
    seen = np.zeros(n, bool)
    seen[start] = True
    seen[lower] = True
    seen[upper] = True
    leaves = np.count_nonzero(right < 0) == n - len(inner)
    return leaves and np.count_nonzero(seen) == n


class IfArray:
    """Anything but an array, or an array that follows a rule."""

    def __init__(self, rule):
        self.rule = rule

    def check(self, value, sizes):
        if type(value) is np.ndarray:
            self.rule.check(value, sizes)


# What the names of fitted attributes say in every estimator, unless its own rules say
# otherwise.
ESTIMATOR_RULES: dict[str, Any] = {
    "n_features_in_": Whole(low=1),
    "X_": IfArray(NumberArray(..., "n_features_in_")),
    "X_fit_": IfArray(NumberArray(..., "n_features_in_")),
    "classes_": IfArray(AnyArray(...)),
    "cluster_centers_": IfArray(NumberArray("clusters", "n_features_in_")),
    "coef_": IfArray(NumberArray(..., "n_features_in_")),
    "components_": IfArray(NumberArray(..., "n_features_in_")),
    "labels_": IfArray(IntArray(None, low=-1)),
    "means_": IfArray(NumberArray(..., "n_features_in_")),
    "n_iter_": IfArray(NumberArray(...)),
}


def saved_state(*, check=None, **rules):
    """Decorator that declares the rules of a class; `check(object)` tells the rest.

    `check` returns whether the object is sound; it is called after the rules hold.
    """

    def declare(cls):
        setattr(cls, ATTRIBUTE, rules)
        setattr(cls, CHECK, staticmethod(check) if check is not None else None)
        return cls

    return declare


@cache
def saved_state_rules(cls) -> tuple[tuple[tuple[str, Any], ...], tuple]:
    """The rules of a class and its bases, and the checks beyond them."""
    from ..base import Estimator

    result: dict[str, Any] = {}
    checks = []
    if issubclass(cls, Estimator) and cls.__module__.startswith("pansophy."):
        result.update(ESTIMATOR_RULES)
    for base in reversed(cls.__mro__):
        result.update(vars(base).get(ATTRIBUTE, {}))
        check = vars(base).get(CHECK)
        if check is not None:
            checks.append(check.__func__)
    return tuple(result.items()), tuple(checks)


def check_saved_state(value, state):
    """Raises PersistError if a loaded object breaks a rule of its class.

    Parameters
    ----------
    value : object
    state : dict
        Its attributes, or the fields of a record.
    """
    cls = type(value)
    rules, checks = saved_state_rules(cls)
    if not rules and not checks:
        return
    sizes = Sizes(state)
    for name, rule in rules:
        if name in state:
            try:
                rule.check(state[name], sizes)
            except UnfitState as problem:
                text = f"{name} of {cls.__name__} must {problem}"
                raise PersistError(text) from None
    for check in checks:
        if not check(value):
            raise PersistError(f"its {cls.__name__} contradicts itself")
