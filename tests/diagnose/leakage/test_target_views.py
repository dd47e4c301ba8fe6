"""Columns against the target: what is drawn, and how strong it is."""

import numpy as np
import pandas as pd
import pytest

from pansophy.compare.report.html import render_exploration
from pansophy.diagnose import explore
from pansophy.diagnose.leakage.target_views import MAX_VIEWS, explained_share


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 200
    t = pd.DataFrame(
        {
            "size": rng.exponential(1000.0, n),
            "city": rng.choice(["Oslo", "Rome", None], n),
            "member": rng.random(n) < 0.4,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), "D"),
            "name": [f"person {i}" for i in range(n)],
            "same": 1.0,
        }
    )
    t["spend"] = t["size"] + 800 * t["member"] + rng.normal(0, 50, n)
    t["kind"] = np.where(t["spend"] > 900, "<big>", "small")
    return t


def test_what_is_drawn_follows_from_what_both_hold(table):
    number = explore(table.drop(columns="kind"), "spend", whole=False).target_views()
    assert {v.column: v.kind for v in number} == {
        "size": "points",
        "member": "target boxes",
        "city": "target boxes",
        "since": "points",
    }
    assert number[0].column == "size" and number[0].strength > 0.7
    classes = explore(table.drop(columns="spend"), "kind", whole=False).target_views()
    assert {v.column: v.kind for v in classes} == {
        "size": "column boxes",
        "member": "bars",
        "city": "bars",
        "since": "column boxes",
    }
    city = next(v for v in classes if v.column == "city")
    assert city.parts[-1] == "missing" and sum(city.rows) == len(table)
    share = (table["kind"][table["city"] == "Rome"] == "<big>").mean()
    at = city.parts.index("Rome"), city.classes.index("<big>")
    assert city.values[at[0]][at[1]] == pytest.approx(share)
    member = next(v for v in classes if v.column == "member")
    assert member.parts == ["no", "yes"]


def test_boxes_are_quantiles_of_the_rows(table):
    views = explore(table, "spend", ignore=["kind"], whole=False).target_views()
    member = next(v for v in views if v.column == "member")
    rows = table["spend"][table["member"]]
    assert member.values[1] == pytest.approx(
        np.quantile(rows, [0.05, 0.25, 0.5, 0.75, 0.95])
    )
    assert "kind" not in {v.column for v in views}


def test_strength_is_what_the_parts_explain_beyond_chance():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 8, 400)
    noise = [explained_share(codes, rng.normal(size=(400, 1))) for _ in range(50)]
    assert np.mean(noise) < 0.01
    y = codes[:, None] + rng.normal(size=(400, 1))
    means = np.array([y[codes == k].mean() for k in range(8)])
    between = np.var(means[codes])
    # 7 parts of 400 rows explain 0.003 of the rest by chance
    assert explained_share(codes, y) == pytest.approx(between / y.var(), abs=0.01)


def test_the_page_draws_the_strongest_columns_and_escapes_names(table):
    rng = np.random.default_rng(2)
    wide = table.assign(**{f"x{j}": rng.normal(size=len(table)) for j in range(40)})
    found = explore(wide.drop(columns="spend"), "kind", whole=False)
    assert len(found.target_views()) == MAX_VIEWS
    page = render_exploration(found)
    assert "Columns against the target" in page and "<big>" not in page
    assert f"The {MAX_VIEWS} of 44 columns" in page
    assert "could not be drawn" not in page and len(page) < 3_000_000


def test_no_target_no_views_and_dates_are_dates(table):
    found = explore(table)
    assert found.target_views() == []
    page = render_exploration(found)
    assert "Columns against the target" not in page
    assert "2020-01-01 to 2020-07-18" in page and "1,577,836,800" not in page
    assert "2020-01-01 to 2020-07-18" in found._repr_html_()
