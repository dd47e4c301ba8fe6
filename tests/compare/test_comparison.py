"""`Comparison`: records, JSON, tables and figures for every task."""

import inspect
import json
import re
from dataclasses import fields

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pansophy
from pansophy.compare import Comparison
from pansophy.compare.comparison import dataframe_library
from pansophy.compare.options import Options
from pansophy.diagnose import explore

from .comparisons import EVIL, TASKS, made, ready


@pytest.fixture(scope="module")
def result():
    return made("classification")


@pytest.mark.parametrize("task", TASKS)
def test_records_and_json_for_every_task(task):
    c = ready(task)
    again = json.loads(json.dumps(c.to_dict(), allow_nan=False))
    assert again["winner"] == c.winner and again["complete"] is True
    assert len(again["leaderboard"]) == 4 and again["leaderboard"][0]["rank"] == 1
    assert again["folds"]["dummy"][c.metric] == c.trial("dummy").scores[c.metric]
    assert again["baselines"][0]["method"] == "dummy"
    assert [r["kept"] for r in c.records()].count(True) == 1
    assert isinstance(c, Comparison) and str(c) and c._repr_html_()


def test_the_table_is_of_the_kind_that_was_given(result):
    assert isinstance(result.table, pa.Table)
    for like, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        result.library = like
        assert isinstance(result.table, kind)
        assert next(iter(result.table["method"])) == result.leaderboard[0].method
    result.library = "arrow"
    assert isinstance(result.to_pandas(), pd.DataFrame)
    assert [
        dataframe_library(t) for t in (pd.DataFrame(), pl.DataFrame(), {}, "t.csv")
    ] == ["pandas", "polars", "arrow", "arrow"]


def test_notebook_view_is_escaped_and_needs_nothing():
    c = made("regression", names=[EVIL, "b", "c", "d"])
    c.notes.append(EVIL)
    html = c._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html
    links = set(re.findall(r'"(http[^"]*)"', html))
    assert links <= {"http://www.w3.org/1999/xlink", "http://www.w3.org/2000/svg"}
    assert "(kept)" in html


@pytest.mark.parametrize("task", TASKS)
def test_pictures_take_axes_and_refuse_what_makes_no_sense(task):
    from matplotlib import pyplot as plt

    c = ready(task)
    numeric = task in ("regression", "count")
    names = ["scores", "quality_time", "importance", "partial_dependence"]
    names += ["residuals"] if numeric else ["roc", "precision_recall", "calibration"]
    names += ["gain"] if not numeric else []
    for name in names:
        ax = plt.figure().add_subplot()
        assert getattr(c, f"plot_{name}")(ax=ax) is ax
        plt.close(ax.figure)
    with pytest.raises(ValueError, match=r"classes|numbers|calibrated"):
        (c.plot_roc if numeric else c.plot_residuals)()
    if task == "multilabel":
        with pytest.raises(ValueError, match="for classes"):
            c.plot_confusion()
    with pytest.raises(ValueError, match="no method 'odd'"):
        c.plot_importance("odd")
    with pytest.raises(ValueError, match="no column of values"):
        c.plot_partial_dependence("odd")


def test_help_and_signature_are_those_of_the_function():
    given = inspect.signature(pansophy.compare).parameters
    assert list(given)[:2] == ["table", "target"]
    assert {f.name for f in fields(Options)} <= set(given)
    text = inspect.getdoc(pansophy.compare)
    assert text.startswith("Try every suitable method") and "folds : int" in text
    assert "nouns         `options`" in text  # the text of the package follows


def test_notebooks_see_a_picture_and_no_markup_of_names():
    c = made("classification")
    page = c._repr_html_()
    assert page.count("<svg") == 1 and "Keep method 1" in page
    table = {EVIL: [1.0, 2.0, None] * 20, "b": ["u", "v", "w"] * 20}
    page = explore(table)._repr_html_()
    assert "<script" not in page and "&lt;script" in page and "<svg" in page
    assert "60 rows, 2 columns" in page
