"""The rules of the options of a comparison, as types; see `pansophy.params`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from ..params import (
    Count,
    Flag,
    Infinite,
    Natural,
    ParameterRule,
    Positive,
    number_rule,
)

__all__ = [
    "Count",
    "Dict",
    "Flag",
    "Folds",
    "KeepRule",
    "Limit",
    "Methods",
    "Name",
    "Natural",
    "SampleSize",
    "Task",
    "Units",
]

Task = Literal["auto", "classification", "ordinal", "regression", "count", "multilabel"]
KeepRule = Literal["simplest", "best"]
Units = Literal["same", "new"] | None
Folds = Annotated[int, number_rule("a whole number of at least 2", 2, whole=True)]
SampleSize = Annotated[
    int, number_rule("a whole number of at least 10", 10, whole=True)
]
Name = Annotated[str, ParameterRule("a name", lambda v: isinstance(v, str))]
Dict = Annotated[Mapping, ParameterRule("a dict", lambda v: isinstance(v, Mapping))]
Methods = Annotated[
    Any,
    ParameterRule(
        "a list of names or a dict of estimators",
        lambda v: not isinstance(v, str) and hasattr(v, "__iter__"),
    ),
]
Limit = Positive | Infinite | None
