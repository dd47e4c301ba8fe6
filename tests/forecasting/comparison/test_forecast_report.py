"""The report says what was found."""

import json

import numpy as np
import pandas as pd
import pytest

import pansophy
from pansophy.forecasting.comparison.forecast_report import (
    fallback_sentence,
    forecast_table,
    share_text,
    shown_series,
    stamp_texts,
)


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    t = pd.date_range("2021-01-01", periods=48, freq="MS")
    rows = [
        pd.DataFrame(
            {"month": t, "shop": f"<b>{k}", "sales": 50 + rng.normal(0, 5, 48)}
        )
        for k in range(8)
    ]
    rows[3] = rows[3].tail(2)
    rows[5] = rows[5].drop(rows[5].index[20:23])
    return pansophy.forecast(
        pd.concat(rows), time="month", target="sales", series=["shop"], horizon=3,
        methods=["theta", "drift"],
    )  # fmt: skip


def test_page_and_files(result, tmp_path):
    written = result.write(tmp_path / "out")
    page = written["Report"].read_text("utf-8")
    assert page.count("<svg") >= 8 and "could not be drawn" not in page
    assert "<b>0" not in page and "&lt;b&gt;0" in page
    assert "3 grid points in 1 of 8 series have no row" in page
    assert "test block" in page and "it was not asked for" in page
    rows = pd.read_csv(written["Forecasts"])
    assert len(rows) == 24 and (rows["low 95"] <= rows["sales"]).all()
    assert json.loads(written["Results"].read_text("utf-8"))["kept"] == result.kept
    assert pansophy.load(written["Model"]).horizon == 3
    result.write(tmp_path / "out")
    assert (tmp_path / "out" / "previous" / "forecast.html").exists()


def test_words(result):
    text = str(result)
    assert "8 series, monthly, of 2 to 48 values" in text
    assert result.kept in text and "80 % intervals held" in text
    assert "such as <b>3: 2 values are too few" in fallback_sentence(result)
    assert len(shown_series(result)) == 6
    table = forecast_table(result)
    assert table.head[:3] == ["series", "time", "forecast"] and len(table.body) == 24
    assert share_text(0.123, 1) == "12.3 %" and share_text(np.nan) == "–"
    assert stamp_texts(np.array(["2024-01-01"], "M8[s]")) == ["2024-01-01"]
    assert "<svg" in result._repr_html_()
