"""Numbers and lists as the report writes them."""

import numpy as np

from pansophy.compare import Interval
from pansophy.compare.evaluation.wording import join_names
from pansophy.compare.report.formatting import (
    format_differences,
    format_interval,
    format_mean,
    format_seconds,
    names_by_common_reason,
)


def test_reasons_are_folded():
    pairs = [("a", "slow"), ("b", "odd"), ("c", "slow")]
    assert names_by_common_reason(pairs) == [("slow", ["a", "c"]), ("odd", ["b"])]
    assert (
        join_names(["a", "b", "c"], 2) == "a, b and 1 more" and join_names(["a"]) == "a"
    )


def test_numbers_show_meaningful_digits():
    assert format_mean(Interval(0.81234, 0.78, 0.84, 0.01)) == "0.812 ± 0.030"
    assert format_mean(Interval(54.61, 51, 58, 1)) == "54.6 ± 3.5"
    assert format_mean(Interval(12345.6, 12000, 12700, 1)) == "12346 ± 350"
    assert format_mean(Interval(0.5, 0.5, 0.5, 0)) == "0.500 ± 0.000"
    assert format_interval(Interval(0.81234, 0.78, 0.84, 0.01)) == "0.780 to 0.840"
    times = (3.2e-6, 0.0031, 0.1234, 1.23, 75, 600, 9000)
    assert [format_seconds(t) for t in times] == [
        "3.2 µs",
        "3.1 ms",
        "123 ms",
        "1.2 s",
        "75 s",
        "10 min",
        "2.5 h",
    ]


def test_numbers_of_a_sentence_have_the_same_decimals():
    assert format_differences(0.0124, 0.000904, 0.0239) == [
        "0.0124",
        "0.0009",
        "0.0239",
    ]
    assert format_differences(-0.00004, 0.02) == ["-0.00004", "0.02000"]  # keeps a sign
    assert format_differences(0.0, 0.5) == ["0.000", "0.500"]
    assert format_differences(25123.4, 812.0) == ["25,123", "812"]
    assert format_differences(0.0, 0.0) == ["0", "0"]
    assert format_differences(np.nan, 1.0) == ["nan", "1.00"]
