"""Parameter rules: what each allows, and the sentence it says otherwise."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import pytest

from pansophy import params
from pansophy.base import Estimator
from pansophy.cluster import KMeans
from pansophy.linear_model import Ridge
from pansophy.params import (
    ParameterError,
    PositiveFraction,
    check_argument,
    check_count,
    check_params,
    rule_of,
    rules_of,
)
from pansophy.rl import PPO
from pansophy.typing import ListLike, Matrix, NumberList, Seed

NAN, INF = math.nan, math.inf

CASES = {
    "Count": (
        params.Count,
        [1, 7, np.int32(3)],
        [0, -1, 1.5, 2.0, True, "1", None, NAN],
    ),
    "Natural": (params.Natural, [0, 3, np.uint8(3)], [-1, 0.5, False, None]),
    "Whole": (params.Whole, [-5, 0, 9], [0.5, True, "x"]),
    "Number": (
        params.Number,
        [-1.5, 0, np.float32(2)],
        [NAN, INF, -INF, True, "1", None, 1j],
    ),
    "Positive": (params.Positive, [1e-300, 5], [0, 0.0, -1, NAN, INF, True, None]),
    "NonNegative": (params.NonNegative, [0, 0.5, 3], [-1e-9, NAN, INF, False, "0"]),
    "Infinite": (params.Infinite, [INF, np.inf], [-INF, NAN, 1.0, None, "inf"]),
    "Fraction": (params.Fraction, [0, 0.5, 1, 1.0], [-0.1, 1.1, NAN, True, None]),
    "OpenFraction": (
        params.OpenFraction,
        [0.5, 1e-9],
        [0, 1, 0.0, 1.0, NAN, "a", None],
    ),
    "Flag": (params.Flag, [True, False, np.bool_(True)], [0, 1, None, "True"]),
    "Verbosity": (params.Verbosity, [0, 2, True, False], [-1, 0.5, None, "1"]),
    "Jobs": (params.Jobs, [None, 1, -1, 8], [0, 1.5, True, "2"]),
    "Seed": (
        Seed,
        [None, 0, 5, np.int64(7), np.random.RandomState(0), np.random.default_rng(0)],
        [-1, 2**32, 1.5, True, "0"],
    ),
    "Matrix": (Matrix, [np.ones(3), np.float64(1)], [[1.0], "abc", 3]),
    "Numbers": (
        NumberList,
        [[1, 2.5], (0,), np.ones((2, 2))],
        [[], ["a"], [NAN], 3, "12", None],
    ),
    "Words": (ListLike, [["a"], ("b",), np.array(["c"])], ["abc", {"a"}, None]),
    "Literal": (Literal["a", "b"], ["a", np.str_("b")], ["c", None, 1, ["a"]]),
    "one word": (Literal["auto"], ["auto"], ["other"]),
    "Literal of bools": (
        Literal["auto", True],
        ["auto", True],
        [1, False, np.array([1])],
    ),
    "Literal of ints": (Literal[1, 2], [1, 2], [True, 3, 1.0]),
    "None": (None, [None], [0, False, ""]),
    "union": (params.Count | Literal["auto"] | None, [3, "auto", None], [0, "a", 0.5]),
    "class": (dict, [{}], [[], None]),
    "generic": (list[int], [[1], []], [(1,), None]),
    "function": (Callable, [len, lambda: 0], [3, "len"]),
    "typed function": (Callable[[int], int], [abs], [None]),
    "anything": (Any, [None, 3, "x", object()], []),
}


@pytest.mark.parametrize("name", CASES)
def test_rule(name):
    hint, good, bad = CASES[name]
    rule = rule_of(hint)
    assert rule.description
    for value in good:
        assert rule.accepts(value), value
    for value in bad:
        assert not rule.accepts(value), value


def test_annotation_without_a_rule():
    with pytest.raises(TypeError, match="no rule can be read"):
        rule_of("not a type")


@dataclass(eq=False, repr=False)
class Sample(Estimator):
    k: params.Count = 3
    _: KW_ONLY
    how: Literal["fast", "slow"] | Callable = "fast"
    rate: params.Positive | None = None
    start: Any = None


def test_the_sentence_names_parameter_class_rule_and_value():
    with pytest.raises(ParameterError) as said:
        check_params(Sample(0))
    words = "k of Sample must be a whole number of at least 1, got 0."
    assert str(said.value) == words
    with pytest.raises(ParameterError) as said:
        check_params(Sample(how="quick"))
    words = "how of Sample must be one of 'fast', 'slow' or a function, got 'quick'."
    assert str(said.value) == words
    with pytest.raises(ParameterError, match="rate of Sample must be a number above 0"):
        check_params(Sample(rate=-1))


def test_a_bad_parameter_is_both_a_value_and_a_type_error():
    assert issubclass(ParameterError, ValueError)
    assert issubclass(ParameterError, TypeError)


def test_good_parameters_pass_and_are_not_touched():
    model = Sample(5, how=len, rate=0.1, start=object())
    before = dict(model.get_params())
    assert check_params(model) is None
    assert model.get_params() == before


def test_rules_are_read_once_per_class():
    assert rules_of(Sample) is rules_of(Sample)
    assert set(rules_of(Sample)) == {"k", "how", "rate", "start"}


def test_long_values_are_cut():
    text = params.short_repr(np.arange(1000).tolist())
    assert len(text) == 80
    assert text.endswith("...")
    assert params.short_repr("x") == "'x'"


@pytest.mark.parametrize("value", [0, 1.0, True, "3", None, np.nan])
def test_what_is_no_count_is_refused(value):
    with pytest.raises(ParameterError, match="n must be a whole number of at least 1"):
        check_count("n", value)


def test_counts_are_whole_numbers_from_a_minimum_on():
    assert check_count("n", np.int64(3)) == 3
    assert type(check_count("n", np.int64(3))) is int
    assert check_count("n", 0, 0) == 0
    with pytest.raises(ValueError, match="of at least 2, got 1"):
        check_count("n", 1, 2)


def test_arguments_of_functions_by_the_same_rules():
    assert check_argument("step", 0.5, PositiveFraction | None) == 0.5
    assert check_argument("step", None, PositiveFraction | None) is None
    with pytest.raises(ParameterError, match=r"^step must be a number above 0 and at"):
        check_argument("step", 0.0, PositiveFraction | None)


def test_names_of_other_libraries_are_answered_with_ours():
    for cls, given, meant in (
        (PPO, "lr", "learning_rate"),
        (PPO, "total_timesteps", "n_steps"),
        (PPO, "ent_coef", "entropy_weight"),
        (PPO, "seed", "random_state"),
        (KMeans, "k", "n_clusters"),
        (KMeans, "n_cluster", "n_clusters"),
        (Ridge, "lam", "alpha"),
    ):
        with pytest.raises(TypeError, match=f"Did you mean '{meant}'"):
            cls(**{given: 1})
