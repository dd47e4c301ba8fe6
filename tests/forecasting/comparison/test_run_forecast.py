"""The job: from a table to forecasts, honestly."""

import numpy as np
import pandas as pd
import pytest

import pansophy
from pansophy.forecasting.comparison.run_forecast import checked_seasons, least_history

FEW = ["theta", "drift", "window average"]


def shops(n=60, count=12, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    rows = []
    for k in range(count):
        season = 10 * np.sin(2 * np.pi * t / 12)
        y = 60 + 10 * k + 0.4 * (k % 3) * t + season + rng.normal(0, 4, n)
        day = pd.date_range("2019-01-01", periods=n, freq="MS")
        rows.append(pd.DataFrame({"day": day, "shop": f"s{k}", "sales": y}))
    return pd.concat(rows, ignore_index=True)


def run(table, **options):
    options = {"horizon": 4, "methods": FEW, "series": ["shop"], **options}
    return pansophy.forecast(table, time="day", target="sales", **options)


@pytest.fixture(scope="module")
def result():
    return run(shops())


def test_what_comes_out(result):
    assert result.chosen and len(result.origins) == 6
    assert result.ranking[0].method == result.kept
    assert {r.method for r in result.ranking} >= {"seasonal naive", *FEW}
    assert result.forecast.mean.shape == (12, 4)
    assert np.isfinite(result.test_skill) and set(result.coverage) == {80.0, 95.0}
    table = result.table().to_pandas()
    assert list(table.columns[:3]) == ["shop", "day", "sales"] and len(table) == 48
    assert table.day.iloc[0] == pd.Timestamp("2024-01-01")
    assert len(result.per_series["MASE"]) == 12
    assert result.season.lengths == (12.0,) and not result.season.given
    assert result.to_dict()["kept"] == result.kept


def test_the_test_block_has_no_say(result):
    """Whatever its values, the ranking and the choice are the same."""
    table = shops()
    last = table.day >= "2023-09-01"
    table.loc[last, "sales"] *= np.random.default_rng(1).uniform(0.5, 1.5, last.sum())
    other = run(table)
    assert other.kept == result.kept and other.members == result.members
    for a, b in zip(result.ranking, other.ranking, strict=True):
        assert (a.method, a.skill, a.p, a.standing) == (
            b.method,
            b.skill,
            b.p,
            b.standing,
        )
        assert a.test_skill != b.test_skill or a.method == "seasonal naive"


def test_a_method_is_judged_by_forecasts_made_without_what_it_forecasts():
    """A series that jumps in the test block: no origin before it knows."""
    table = shops(count=1)
    table.loc[table.index[-4:], "sales"] = 1e5
    found = run(table, series=[])
    assert found.ranking[0].mase < 5 and found.test_skill < 0.1


def test_runs_go_on_where_they_ended(tmp_path, monkeypatch):
    from pansophy.forecasting.comparison import backtest

    first = run(shops(), folder=tmp_path / "run")
    calls = []
    real = backtest.forecast_origin
    monkeypatch.setattr(
        backtest, "forecast_origin", lambda *a: calls.append(a) or real(*a)
    )
    again = run(shops(), folder=tmp_path / "run", resume=True)
    assert not calls and again.kept == first.kept
    np.testing.assert_array_equal(again.forecast.mean, first.forecast.mean)
    more = run(shops(), folder=tmp_path / "run", resume=True, methods=[*FEW, "naive"])
    assert len(calls) == 6 and len(more.ranking) == len(first.ranking) + 1
    with pytest.raises(ValueError, match="the rows of the table"):
        run(shops(seed=3), folder=tmp_path / "run", resume=True)


def test_too_few_values_for_a_choice():
    table = shops(n=9, count=3)
    found = run(table, methods=None)
    assert not found.chosen and found.kept == "median blend" and found.ranking == []
    assert np.isfinite(found.forecast.mean).all()
    assert "too few values" in str(found)


def test_counts_never_fall_below_zero(rng):
    t = pd.date_range("2024-01-01", periods=120)
    counts = np.concatenate([rng.poisson(3, 60), rng.poisson(0.3, 60)])
    found = run(
        pd.DataFrame({"day": t, "sales": counts}), series=[], horizon=14,
        methods=["drift", "theta", "TSB"],
    )  # fmt: skip
    assert (found.forecast.mean >= 0).all()
    ends = found.forecast.intervals[95]
    assert (ends >= 0).all() and (ends % 1 == 0).all()


def test_known_columns(rng):
    t = pd.date_range("2024-01-01", periods=140)
    promo = (rng.random(140) < 0.3).astype(float)
    sales = 20 + 8 * promo + rng.normal(0, 1, 140)
    table = pd.DataFrame({"day": t, "sales": sales, "promo": promo})
    table.loc[table.index[-7:], "sales"] = np.nan
    options = {"series": [], "horizon": 7, "methods": ["global ridge", "theta"]}
    found = run(table, known=["promo"], **options)
    assert found.ranking[0].method == "global ridge"
    assert np.abs(found.forecast.mean[0] - 20 - 8 * promo[-7:]).mean() < 1.5
    with pytest.raises(ValueError, match="reach 9 steps"):
        run(table, known=["promo"], **{**options, "horizon": 9})


@pytest.mark.parametrize("kind", ["walk", "stationary", "seasonal", "counts"])
def test_intervals_cover(kind):
    """90 % intervals in the test block, over 80 series and two seeds."""
    held = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        n, s = 90, 80
        e = rng.normal(0, 1, (s, n))
        if kind == "walk":
            y = 50 + np.cumsum(e, axis=1)
        elif kind == "seasonal":
            y = 50 + e + 5 * np.sin(2 * np.pi * np.arange(n) / 7)
        elif kind == "counts":
            y = rng.poisson(4, (s, n)).astype(float)
        else:
            y = np.zeros((s, n))
            for t in range(1, n):
                y[:, t] = 0.6 * y[:, t - 1] + e[:, t]
        table = {
            "day": np.tile(np.arange("2024-01-01", "2024-03-31", dtype="M8[D]"), s),
            "shop": np.repeat(np.arange(s), n),
            "sales": y.ravel(),
        }
        found = run(table, horizon=5, level=[90], methods=["theta", "drift", "naive"])
        held.append(found.coverage[90.0])
    held = np.mean(held, axis=0)
    assert (held > 0.84).all()
    if kind != "counts":  # whole ends hold more
        assert (held < 0.96).all()


@pytest.mark.parametrize("value", [0.0, 7.0, -3.0])
def test_constant_series_are_forecast_and_nothing_is_claimed(value):
    found = run(shops(count=1).assign(sales=value), series=[])
    assert not found.chosen and found.ranking == []
    np.testing.assert_allclose(found.forecast.mean, value, atol=1e-9)
    text = str(found)
    assert "No series changes before the last origin" in text and "–" not in text


def test_series_that_repeat_themselves_claim_no_gain():
    table = shops(count=1)
    table["sales"] = np.tile(np.arange(12.0), 5)
    text = str(run(table, series=[], methods=["drift"]))
    assert "The seasonal naive did best on 5 earlier origins." in text
    assert "0 % below" not in text and "No method is better" in text


def test_a_column_without_values_is_refused():
    table = shops(count=2)
    with pytest.raises(ValueError, match="'sales' has no value"):
        run(table.assign(sales=np.nan))
    table.loc[table["shop"] == "s1", "sales"] = np.nan
    text = str(run(table))
    assert "1 of 2 series have no forecast, such as s1: the series has no value" in text


def regions(n=60):
    table = shops(n)
    table["region"] = np.where(table["shop"].str[1:].astype(int) < 5, "north", "south")
    table["sales"] += np.random.default_rng(1).normal(0, 15, len(table))
    return table


@pytest.fixture(scope="module")
def summed():
    return run(regions(), series=(), hierarchy=["region", "shop"])


def test_a_hierarchy_adds_up(summed):
    assert summed.model.level_sizes == [1, 2, 12]
    assert "15 series on 3 levels (1, 2, 12), monthly" in str(summed)
    mean = summed.forecast.mean
    bottom = mean[3:]
    np.testing.assert_allclose(mean[0], bottom.sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(mean[1], bottom[:5].sum(axis=0), rtol=1e-9)
    assert np.isfinite(summed.unreconciled_skill) and np.isfinite(summed.test_skill)
    assert summed.unreconciled_skill != summed.test_skill
    assert "reconciled so that they add up" in str(summed)
    table = summed.table().to_pandas()
    assert table.iloc[0].tolist()[:2] == ["(all)", "(all)"] and len(table) == 60


def test_the_test_block_has_no_say_in_reconciliation(summed):
    table = regions()
    last = table.day >= "2023-09-01"
    table.loc[last, "sales"] *= 1.5
    other = run(table, series=(), hierarchy=["region", "shop"])
    assert other.kept == summed.kept
    np.testing.assert_array_equal(other.model.errors, summed.model.errors)


def test_what_a_hierarchy_refuses():
    table = regions()
    with pytest.raises(ValueError, match="columns of series"):
        run(table, series=["shop"], hierarchy=["region", "shop"])
    short = table[(table["shop"] != "s3") | (table.day < "2023-01-01")]
    with pytest.raises(ValueError, match="1 end before the others, such as north/s3"):
        run(short, series=(), hierarchy=["region", "shop"])
    with pytest.raises(ValueError, match="hierarchy and known"):
        run(table.assign(promo=1), series=(), hierarchy=["region", "shop"],
            known=["promo"])  # fmt: skip


def test_mistakes_are_one_sentence():
    table = shops(count=2)
    with pytest.raises(ValueError, match="horizon"):
        run(table, horizon=0)
    with pytest.raises(ValueError, match="season"):
        run(table, season=[0])
    with pytest.raises(TypeError, match="'seeds'"):
        run(table, seeds=1)
    with pytest.raises(ValueError, match="level"):
        run(table, level=[0])
    with pytest.raises(ValueError, match="share their 'day'"):
        run(table, series=[])


def test_seasons_and_history(result):
    assert checked_seasons(result.panel, [365.25, 7]) == [7.0, 365.25]
    assert least_history(12) == 25 and least_history(168) == 169
