"""The task is read off the target; bad targets get one sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pansophy.tables import TableError, detect_task, infer_schema, known_rows
from pansophy.tables.targets import count_probabilities, find_target, guess_task

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 20, "classification"),
        ([True, False] * 20, "classification"),
        ([0, 1] * 20, "classification"),
        (pd.Series(["u", "v"] * 20, dtype="category"), "classification"),
        (pd.Series([0, 1, None] * 20, dtype="Int64"), "classification"),
        (pl.Series(["u", "v"] * 20), "classification"),
        (np.array(["x", "z", None] * 20, dtype=object), "classification"),
        (list(range(40)), "regression"),
        ([0.0, 1.0] * 20, "classification"),  # two values are classes of any type
        ([0.5, 2.5, None] * 20, "classification"),
        ([1.0, 2.0, 3.0, None] * 10, "classification"),  # in order: ratings
        (np.arange(60) % 5 / 2 + 1, "classification"),  # stars in halves
        ([1.0, 2.0, 3.0], "regression"),  # too few rows to be grades
        ([1.0, 2.0, 4.0, 8.0, 16.0] * 10, "regression"),  # doses are no even grid
        (np.linspace(0, 1, 40), "regression"),
        (RNG.normal(size=40), "regression"),
        (RNG.normal(size=40).astype(np.float32), "regression"),
        (RNG.negative_binomial(2, 0.2, 400), "count"),
        (RNG.negative_binomial(2, 0.2, 400) - 1, "regression"),  # -1 is no count
        (RNG.lognormal(10, 1, 400).astype(int), "regression"),  # incomes are no counts
        (RNG.gamma(1.5, 28, 150).astype(int) + 1, "regression"),  # ozone, distances
        (RNG.poisson(3, 300), "count"),
        (RNG.negative_binomial(1, 0.15, 300).astype(float), "count"),
        (5 * RNG.negative_binomial(1, 0.2, 300), "regression"),  # rounded to fives
        (["$1,200.50", "$900", "$1,000"] * 20, "regression"),
        (None, "unsupervised"),
    ],
)
def test_task_is_read_off_the_target(y, task):
    found = detect_task(y)
    assert found.why
    assert ("classification" if found.task == "ordinal" else found.task) == task
    if y is not None:
        y = y if not isinstance(y, pl.Series) else y.to_arrow()
        table = pa.table({"x": np.arange(len(y)) % 7, "y": y})
        assert infer_schema(table, "y").task == task
    if task == "regression" and not isinstance(y[0], str):
        assert infer_schema(table, "y", "regression").why == "as asked"


def test_two_values_of_floating_type_are_classes():
    table = pa.table({"x": range(5), "y": [0.0, 1.0, 1.0, 0.0, None]})
    schema = infer_schema(table, "y")
    assert schema.task == "classification" and not schema.ordered
    assert schema.classes == (0.0, 1.0)
    assert schema.target_values(table[:4]).tolist() == [0, 1, 1, 0]
    assert infer_schema(table, "y", "regression").task == "regression"


@pytest.mark.parametrize(
    ("y", "ordered"),
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0] * 6, True),
        ([1, 2, 3] * 10, False),  # codes of any classes
        (["low", "medium", "high"] * 10, True),
        (["red", "green", "blue"] * 10, False),
    ],
)
def test_ordered_classes_are_told_from_others(y, ordered):
    table = pa.table({"x": np.arange(30) % 7, "y": y})
    found = infer_schema(table, "y")
    assert found.task == "classification" and found.ordered == ordered
    asked = infer_schema(table, "y", "ordinal")
    assert asked.ordered and asked.why == "as asked"
    assert not infer_schema(table, "y", "classification").ordered
    if "low" in y:
        assert found.classes == ("low", "medium", "high")


COUNTS_OF_VISITS = [391, 63, 54, 33, 30, 13, 6, 6, 3, 0, 0, 1]
COVER_TYPES = [0, 212, 283, 36, 3, 10, 17, 20]  # codes of classes
HEART_DISEASE = [164, 55, 36, 35, 13]  # grades
DIGITS = [60, 61, 59, 60, 60, 62, 58, 60, 60, 60]
CODES_FROM_0 = [300, 20, 90, 15, 70, 60]


@pytest.mark.parametrize(
    ("rows", "task"),
    [
        (COUNTS_OF_VISITS, "count"),
        (COVER_TYPES, "classification"),
        (HEART_DISEASE, "classification"),
        (DIGITS, "classification"),
        (CODES_FROM_0, "classification"),
    ],
)
def test_few_whole_numbers_are_counts_only_if_they_become_rarer(rows, task):
    y = np.repeat(np.arange(len(rows)), rows)
    table = pa.table({"x": np.arange(len(y)) % 7, "y": y})
    found = infer_schema(table, "y")
    assert found.task == task
    if task == "count":
        assert "task='classification'" in found.why
    if rows is HEART_DISEASE:
        assert "ask for task='count'" in found.why


def test_ordered_categories_and_names_of_grades(tmp_path):
    import pandas as pd

    levels = pd.Categorical([3, 1, 2] * 10, [3, 1, 2], ordered=True)
    table = pa.Table.from_pandas(pd.DataFrame({"x": [1.5, 2, 3] * 10, "y": levels}))
    found = infer_schema(table, "y")
    assert found.ordered and found.classes == (3, 1, 2)
    found.write(tmp_path / "schema.toml")
    from pansophy.tables import Schema

    assert Schema.read(tmp_path / "schema.toml", table).ordered
    quality = pa.table({"x": [1.5, 2, 3] * 10, "quality": [5, 6, 7] * 10})
    assert infer_schema(quality, "quality").ordered
    two = pa.table({"x": [1.5, 2, 3] * 10, "y": [1, 2] * 15})
    with pytest.raises(TableError, match="three or more"):
        infer_schema(two, "y", "ordinal")


@pytest.mark.parametrize(
    ("columns", "task", "says"),
    [
        ({"x": [1, 2], "z": [1, 2]}, "auto", "no column 'y'; the table has x, z"),
        ({"x": [1, 2], "Y ": [1, 2]}, "auto", "no column 'y'; did you mean 'Y '"),
        ({"x": [1, 2], "y": ["a", "a"]}, "auto", "nothing to learn"),
        ({"x": [1, 2], "y": [1.5, 1.5]}, "auto", "nothing to learn"),
        ({"x": [1, 2], "y": [None, None]}, "auto", "is empty"),
        ({"x": [1, 2], "y": ["a", "b"]}, "regression", "not numbers"),
        ({"x": [1] * 40, "y": list("ab") * 20}, "auto", "No column besides"),
        ({"x": range(40), "y": list("ab") * 20}, "auto", "'x': id"),
        ({"x": range(40), "y": [f"n{i}" for i in range(40)]}, "auto", "too many"),
        ({"x": [1, 2], "y": [{"a": 1}, {"a": 2}]}, "auto", "cannot be a target"),
        ({"x": [1, 2], "y": [1, -2]}, "count", "counts .*, but has -2"),
        ({"x": [1, 2], "y": [1, 2]}, "clustering", "task must be one of"),
        ({"x": [1, 2], "y": [1, 2]}, "multilabel", "holds no labels"),
        ({"x": [1], "y": [1]}, "auto", "one row"),
        ({"y": [1, 2]}, "auto", "one column, 'y'"),
    ],
)
def test_bad_targets_get_one_sentence(columns, task, says):
    with pytest.raises(TableError, match=says) as caught:
        infer_schema(pa.table({k: list(v) for k, v in columns.items()}), "y", task)
    assert "\n" not in str(caught.value)


def test_one_column_of_a_wrong_separator():
    with pytest.raises(TableError, match="separated by ':'"):
        infer_schema(pa.table({"a:b": ["1:2", "3:4"]}), "a:b")
    with pytest.raises(TableError, match="separated by ';'"):
        infer_schema(pa.table({"a;b": ["1;2", "3;4"]}), "b")


def test_classes_of_every_kind():
    made = lambda y: infer_schema(
        pa.table({"x": [1.5, 2, 3], "y": y}), "y", "classification"
    )
    assert made(["b", "a", "b"]).classes == ("b", "a")  # the rarer one last
    assert made([True, False, True]).classes == (False, True)
    assert made(pa.array([2, 1, None])).classes == (1, 2)
    kind = pd.CategoricalDtype(["lo", "mid", "hi"], ordered=True)
    schema = made(pa.array(pd.Series(["hi", "lo", "hi"], dtype=kind)))
    assert schema.classes == ("lo", "hi")
    assert schema.target_values(pa.table({"y": ["lo", "hi"]})).tolist() == [0, 1]
    assert made([1, 2, 1]).target_values(pa.table({"y": [2.0, 1.0]})).tolist() == [1, 0]
    for y, says in ((["new"], "unknown class 'new'"), ([None], "missing value")):
        with pytest.raises(TableError, match=says):
            made(["b", "a", "b"]).target_values(
                pa.table({"y": pa.array(y, pa.string())})
            )


def test_several_labels():
    table = pa.table({
        "x": [1.0, 2, 3], "a": [0, 1, 1], "b": ["yes", "No", "no"],
        "c": [True, False, True], "tags": ["p; q", "q", ""],
        "t2": [["p"], [], ["q", "p"]],
    })  # fmt: skip
    schema = infer_schema(table, ["a", "b", "c"])
    assert schema.task == "multilabel" and schema.target == "a, b, c"
    assert schema.labels == schema.targets == ("a", "b", "c")
    assert schema.target_values(table).tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 1]]
    assert "a" not in {c.name for c in schema.columns}
    tags = infer_schema(table, "tags", "multilabel")
    assert tags.labels == ("p", "q") and tags.targets == ("tags",)
    assert tags.target_values(table).tolist() == [[1, 1], [0, 1], [0, 0]]
    lists = infer_schema(table, "t2", "multilabel")
    assert lists.target_values(table).tolist() == [[1, 0], [0, 0], [1, 1]]
    for target, task, says in (
        (["a", "x"], "auto", "Label 'x' should be 0 or 1, yes or no, but has 2"),
        (["a"], "auto", "at least two"),
        (["a", "b"], "regression", "make a multilabel task"),
    ):
        with pytest.raises(TableError, match=says):
            infer_schema(table, target, task)


def test_numbers_written_as_text_and_no_target():
    table = pa.table({"x": [1, 2, 3, 1], "y": ["$1,200.50", "$900", "$1,000", "$1"]})
    schema = infer_schema(table, "y", "regression")
    assert schema.target_values(table).tolist() == [1200.5, 900, 1000, 1]
    nothing = infer_schema(table)
    assert (nothing.task, nothing.target, len(nothing.columns)) == (
        "unsupervised",
        "",
        2,
    )
    with pytest.raises(TableError, match="no target"):
        nothing.target_values(table)


def test_rows_with_a_known_target():
    table = pa.table({"a": [1.0, None, np.inf, np.nan, 2.0], "b": [1, 1, 1, 1, None]})
    assert known_rows(table, "a").tolist() == [True, False, False, False, True]
    assert known_rows(table, ["a", "b"]).tolist() == [True] + [False] * 4


def test_numbers_too_large_for_squares_are_missing():
    table = pa.table({"x": [1e200, 2.0, 3.0, 4.0], "y": [1.5, 2.5, 1e180, 3.0]})
    schema = infer_schema(table, "y", "regression")
    assert known_rows(table, "y").tolist() == [True, True, False, True]
    for rows in (table, table[:1]):  # column by column, and row by row
        assert np.isnan(schema.frame(rows).values[0, 0])
    with pytest.raises(TableError, match="larger units"):
        infer_schema(pa.table({"x": [1, 2], "y": [1e200, 2e200]}), "y")


def test_texts_that_look_like_lists_say_how_to_ask_for_labels():
    told = detect_task(["a;b", "a", "b;c", "c", "a;c", "b"], "tags")
    assert told.task == "classification" and "task='multilabel'" in told.why
    assert detect_task(["a;b", "c", "d"]).why == "y holds text"


@pytest.mark.parametrize(
    ("y", "task", "alternative"),
    [
        (["a;b", "a", "b;c", "c", "a;c", "b"], "classification", "multilabel"),
        ([1.0, 2.0, 3.0, 4.0, 5.0] * 5, "ordinal", "regression"),
        ([1.0, 2.0, 30.0], "regression", "classification"),
        ([0, 1, 1, 0], "classification", ""),
        (None, "unsupervised", ""),
    ],
)
def test_what_else_a_target_may_be_is_a_fact_and_not_only_a_sentence(
    y, task, alternative
):
    guess = guess_task(y)
    assert (guess.task, guess.alternative) == (task, alternative)
    assert detect_task(y) == (task, guess.why)
    assert (f"task={alternative!r}" in guess.why) == bool(alternative)


def test_a_column_of_lists_is_several_labels():
    table = pa.table({"x": [1.5, 2, 3, 4], "y": [["a"], None, ["b", "a"], []]})
    schema = infer_schema(table, "y")
    assert (schema.task, schema.labels, schema.targets) == (
        "multilabel", ("a", "b"), ("y",))  # fmt: skip
    known = table.filter(pa.array(known_rows(table, schema.targets)))
    assert schema.target_values(known).tolist() == [[1, 0], [1, 1], [0, 0]]


@pytest.mark.parametrize("values", [[0, 59e306], [1e200, 2e200], [-1e300, 0, 1e160]])
def test_targets_too_large_to_square_are_named(values):
    """They are not taken for missing: what is left may look constant."""
    table = pa.table({"x": np.arange(60), "y": np.resize(np.array(values), 60)})
    with pytest.raises(TableError, match=r"numbers beyond 1e\+150.*larger units"):
        infer_schema(table, "y", task="regression")


def test_targets_too_small_to_square_are_named():
    """Every error of theirs is 0, so that the dummy would look perfect."""
    table = pa.table({"x": np.arange(60), "y": 1e-200 * np.arange(60.0)})
    with pytest.raises(TableError, match=r"less than 1e-150.*smaller units"):
        infer_schema(table, "y", task="regression")


def test_the_rarer_of_two_texts_is_positive():
    ill = ["ill"] * 3 + ["well"] * 9
    cases = [
        (("well", "ill"), ill),
        (("control", "treated"), ["treated"] * 2 + ["control"] * 5),
        (("a", "b"), ["a", "b"] * 4),  # a tie: sorted
        (("no", "yes"), ["yes"] * 9 + ["no"] * 3),  # yes is positive, rare or not
        (("FALSE", "TRUE"), ["TRUE"] * 9 + ["FALSE"] * 3),
        ((0, 1), [1] * 9 + [0] * 3),
        ((False, True), [True] * 9 + [False] * 3),
    ]
    for want, values in cases:
        for column in (pa.array(values), pa.chunked_array([values, values[:0]])):
            table = pa.table({"y": column})
            assert find_target(table, "y", "auto").classes == want
    coded = pa.table({"y": pa.array(ill).dictionary_encode()})
    assert find_target(coded, "y", "auto").classes == ("well", "ill")
    asked = find_target(pa.table({"y": ill}), "y", "auto", positive="well")
    assert asked.classes == ("ill", "well")
    numbers = find_target(pa.table({"y": [0, 1, 1]}), "y", "auto", positive="0")
    assert numbers.classes == (1, 0)


def test_positive_must_be_one_of_two_classes():
    two, three = pa.table({"y": ["a", "b"]}), pa.table({"y": list("abcabc")})
    with pytest.raises(TableError, match="'a' or 'b', got 'c'"):
        find_target(two, "y", "auto", positive="c")
    with pytest.raises(TableError, match="'y' has 3 classes"):
        find_target(three, "y", "auto", positive="a")
    with pytest.raises(TableError, match="holds no classes"):
        find_target(pa.table({"y": [0.5, 1.5, 2.5]}), "y", "auto", positive="a")


@pytest.mark.parametrize("mean", [0.5, 1, 1.5, 2, 4, 8, 12, 20, 30, 60])
def test_whether_counts_are_counts_is_no_luck(mean):
    """One answer for a mean: 3 of 20 tables may differ, in 1 of 10,000 tests."""
    rng = np.random.default_rng(0)
    tasks = [detect_task(rng.poisson(mean, 250)).task for _ in range(20)]
    want = {0.5: "classification", 60: "regression"}.get(mean, "count")
    assert tasks.count(want) >= 18
    why = detect_task(rng.poisson(mean, 250)).why
    assert "ask for task=" in why  # the other reading


def test_counts_that_spread_wider_are_counts():
    rng = np.random.default_rng(0)
    for mean in (1, 2, 5, 10, 20):
        drawn = [rng.negative_binomial(1.5, 1.5 / (1.5 + mean), 250) for _ in range(20)]
        assert sum(detect_task(y).task == "count" for y in drawn) >= 18
    warp_breaks = [26, 30, 54, 25, 70, 52, 51, 26, 67, 18, 21, 29, 17, 12, 18, 35, 30]
    warp_breaks += [36, 36, 21, 24, 18, 10, 43, 28, 15, 26, 27, 14, 29, 19, 29, 31, 41]
    warp_breaks += [20, 44, 42, 26, 19, 16, 39, 28, 21, 39, 29, 20, 21, 24, 17, 13, 15]
    warp_breaks += [15, 16, 28]
    assert detect_task(warp_breaks).task == "count"


AMOUNTS = {
    "ages": lambda r: r.integers(18, 91, 250),
    "years": lambda r: r.integers(1990, 2024, 250),
    "prices": lambda r: r.lognormal(4, 1, 250).round().astype(int),
    "identifiers": lambda r: r.permutation(250) + 1,
    "points of 100": lambda r: r.binomial(100, 0.6, 250),
    "temperatures": lambda r: r.normal(15, 8, 250).round().astype(int),
    "miles a gallon": lambda r: r.normal(22, 6, 250).round().astype(int),
    "weights": lambda r: r.normal(3300, 500, 250).round().astype(int),
}
CODES = {
    "ratings": lambda r: r.choice(5, 250, p=[0.05, 0.1, 0.2, 0.4, 0.25]) + 1,
    "ratings of 10": lambda r: r.binomial(10, 0.7, 250),
    "three classes": lambda r: r.integers(0, 3, 250),
    "digits": lambda r: r.integers(0, 10, 250),
    "dice": lambda r: r.integers(1, 7, 250),
}


@pytest.mark.parametrize("name", [*AMOUNTS, *CODES])
def test_amounts_and_codes_are_no_counts(name):
    rng = np.random.default_rng(0)
    draw = {**AMOUNTS, **CODES}[name]
    tasks = [detect_task(draw(rng)).task for _ in range(20)]
    want = "regression" if name in AMOUNTS else "classification"
    assert tasks.count(want) >= 15  # miles a gallon: 1 of 20 in the mean


@pytest.mark.parametrize(("mean", "spread"), [(3.0, 0.0), (0.7, 0.5), (12.0, 40.0)])
def test_probabilities_of_counts(mean, spread):
    from scipy import stats

    variance = mean + spread
    want = stats.poisson(mean)
    if spread:
        want = stats.nbinom(mean**2 / spread, mean / variance)
    k = np.arange(40)
    assert np.allclose(count_probabilities(mean, variance, 40), want.pmf(k))
