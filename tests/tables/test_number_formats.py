"""Formats of numbers and dates written as text."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.tables import infer_schema, number_formats


def schema_of(columns, **more):
    n = len(next(iter(columns.values())))
    return infer_schema(pa.table({**columns, "y": np.arange(n) % 2}), "y", **more)


SHOWN = {
    "1,234.5": ["1,234.5", "12", "-1,000,000"],
    "1.5": ["1.5", "-2", "3e5", ".5"],
    "1,5": ["1,25", "2,5", "1000,75"],
    "1.234,5": ["1.234,5", "1.000.000", "2"],
    "1 234,5": ["1\u00a0234,5", "1 000 000,25"],
    "1'234.5": ["1'234.5", "7"],
    "$1.5": ["$1.5", "$2", "-$3.25"],
    "1,5 €": ["1,25 €", "2,5 €"],
    "1.5%": ["1.5%", "20 %"],
}


@pytest.mark.parametrize("form", SHOWN)
def test_forms_of_numbers(form):
    texts = pa.chunked_array([SHOWN[form]])
    found = number_formats.find_number(texts)
    assert found is not None and found.form.replace(" %", "%") == form
    read = number_formats.read_numbers(texts, found.form).to_pylist()
    assert None not in read
    assert [number_formats.parse_value(t, found.form) for t in SHOWN[form]] == read


def test_values_of_forms():
    read = lambda t, f: number_formats.read_numbers(pa.array([t]), f)[0].as_py()
    assert read("-1,000,000", "1,234.5") == -1e6 and read("1000,75", "1,5") == 1000.75
    assert read("1\u202f234,5", "1 234,5") == 1234.5 and read("-$3.25", "$1.5") == -3.25
    assert read("1,23,4", "1,234.5") is None and read("$", "$1.5") is None
    mixed = ["$1.5", "€2"] * 20, ["007", "12"] * 20, ["1.5", "x", "y", "z", "w"] * 9
    assert all(number_formats.find_number(pa.chunked_array([m])) is None for m in mixed)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SHOWN)), st.text("0123456789.,' -+$€%e", max_size=9))
def test_one_text_is_read_as_many_are(form, text):
    many = number_formats.read_numbers(pa.array([text]), form)[0].as_py()
    one = number_formats.parse_value(text, form)
    assert one == many or one is None  # None: the long way is asked


DATES = {
    "31/12/2023": ("%d/%m/%Y", "day/month/year"),
    "12/31/2023": ("%m/%d/%Y", "month/day/year"),
    "31.12.2023": ("%d.%m.%Y", "day.month.year"),
    "2023/12/31": ("%Y/%m/%d", "year/month/day"),
    "31-12-23": ("%d-%m-%y", "day-month-year"),
    "31 Dec 2023": ("%d %b %Y", "day month year"),
    "December 31, 2023": ("%b %d, %Y", "month day, year"),
    "12/31/2023 5:30 PM": ("%m/%d/%Y %I:%M %p", "month/day/year"),
    "31/12/2023 17:30:01": ("%d/%m/%Y %H:%M:%S", "day/month/year"),
    "2023-12-31T17:30:01.250": ("ISO", "dates"),
    "2023-12-31": ("ISO", "dates"),
}


@pytest.mark.parametrize("text", DATES)
def test_forms_of_dates(text):
    form, words = DATES[text]
    found = number_formats.find_date(pa.chunked_array([[text]]))
    assert found is not None and found.form == form and words in found.why
    seconds = number_formats.read_dates(pa.array([text]), form)[0].as_py()
    day = pd.Timestamp("2023-12-31").timestamp()
    assert seconds // 86400 * 86400 == day
    assert number_formats.parse_value(text, form) in (
        seconds,
        None,
    )  # None: the long way is asked


def test_day_and_month_that_cannot_be_told_apart():
    find = lambda texts: number_formats.find_date(pa.chunked_array([texts]))
    guess = find(["03/04/2024", "05/02/2024"])
    assert guess.form == "%m/%d/%Y" and "cannot be told apart" in guess.why
    assert find(["03.04.2024", "05.02.2024"]).form == "%d.%m.%Y"
    rising = [f"0{i % 9 + 1}/0{i // 9 + 1}/2024" for i in range(27)]
    assert find(rising).form == "%d/%m/%Y" and "rise" in find(rising).why
    assert find(["03/04/2024", "25/04/2024"]).form == "%d/%m/%Y"
    assert find(["03/25/2024", "25/04/2024"]) is None and find(["1.5", "2.5"]) is None
    assert find(["31/02/2024"]) is None


def test_long_texts_are_told_quickly():
    for text in ("1" * 200_000 + "x", " " * 200_000 + "x", "1 " * 100_000):
        columns = {"long": [text, text + "y", text + "z"] * 20}
        assert schema_of(columns)["long"].role in ("category", "text")
