"""`pansophy forecast` and `predict` of its model."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pansophy.cli.app import app
from pansophy.cli.forecast_command import split_numbers, split_path


@pytest.fixture
def table(tmp_path):
    t = pd.date_range("2022-01-01", periods=40, freq="MS")
    rows = [
        pd.DataFrame({"month": t, "shop": k, "sales": 20.0 + np.arange(40) % 12 + k})
        for k in range(3)
    ]
    path = tmp_path / "sales.csv"
    pd.concat(rows).to_csv(path, index=False)
    return path


def invoke(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


def test_forecast_then_predict(table, tmp_path):
    out = tmp_path / "run"
    words = [
        "forecast", table, "--time", "month", "--target", "sales", "--series", "shop",
        "--horizon", 3, "--methods", "theta,drift", "--out", out,
    ]  # fmt: skip
    found = invoke(*words, "-q")
    assert found.exit_code == 0, found.output
    assert "3 series, monthly, of 40 values; 3 steps ahead." in found.output
    assert (out / "forecast.html").exists() and (out / "results.jsonl").exists()
    again = invoke(*words, "--resume", "--json", "-q")
    assert json.loads(again.stdout)["series"] == 3
    later = tmp_path / "later.csv"
    later.write_text("month,shop,sales\n2025-05-01,1,25\n")
    found = invoke("predict", out, later, "-o", tmp_path / "answers.csv")
    assert found.exit_code == 0, found.output
    answers = pd.read_csv(tmp_path / "answers.csv")
    assert answers.groupby("shop").month.first()[1].startswith("2025-06-01")
    refused = invoke("predict", out, later, "-o", tmp_path / "answers.csv")
    assert refused.exit_code == 2 and "--overwrite" in refused.output


def test_mistakes(table, tmp_path):
    base = ["forecast", table, "--time", "month", "-t", "sales", "--horizon", 3]
    found = invoke(*base, "--out", tmp_path / "x")
    assert found.exit_code == 2 and "share their 'month'" in found.output
    found = invoke(*base, "--season", "a", "--out", tmp_path / "x")
    assert found.exit_code == 2 and "--season" in found.output
    assert split_numbers("--season", "7, 365.25") == [7.0, 365.25]
    assert split_numbers("--season", None) is None
    assert split_path("region / store/item") == ["region", "store", "item"]


def test_hierarchy_and_what_predict_refuses(table, tmp_path):
    out = tmp_path / "run"
    found = invoke(
        "forecast", table, "--time", "month", "-t", "sales", "--hierarchy", "shop",
        "--horizon", 2, "--methods", "theta,drift", "--out", out, "-q",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "4 series on 2 levels (1, 3)" in found.output
    later = tmp_path / "later.csv"
    later.write_text("month,shop\n2025-05-01,1\n")
    for word in ("--explain", "--keep=shop"):
        refused = invoke("predict", out, later, word)
        assert refused.exit_code == 2 and "--keep" in refused.output
    answers = tmp_path / "answers.parquet"
    found = invoke("predict", out, later, "-o", answers, "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["rows"] == len(pd.read_parquet(answers)) == 8
