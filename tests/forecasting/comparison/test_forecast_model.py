"""The kept model: saved, loaded, moved on by later rows."""

import numpy as np
import pandas as pd
import pytest

import pansophy
from pansophy.forecasting.comparison.forecast_model import joined_rows
from pansophy.forecasting.panel import as_panel


@pytest.fixture(scope="module")
def result():
    t = pd.date_range("2024-01-01", periods=60)
    y = 30 + 0.2 * np.arange(60) + np.tile([0, 1, 2, 3, 2, 1, 9], 9)[:60]
    rows = [pd.DataFrame({"day": t, "shop": k, "sales": y + 5 * k}) for k in range(3)]
    return pansophy.forecast(
        pd.concat(rows), time="day", target="sales", series=["shop"], horizon=3,
        methods=["theta", "global ridge"],
    )  # fmt: skip


def test_a_saved_model_forecasts_the_same(result, tmp_path):
    pansophy.save(result.model, tmp_path / "m.pansophy")
    again = pansophy.load(tmp_path / "m.pansophy")
    found = again.predict()
    np.testing.assert_array_equal(found.mean, result.forecast.mean)
    np.testing.assert_array_equal(found.intervals[95], result.forecast.intervals[95])
    assert again.predict_table().equals(result.table())
    assert again.predict(7, level=[50]).intervals[50].shape == (3, 7, 2)
    assert "3 steps of Panel(3 series" in repr(again)


def test_later_rows_move_the_end(result):
    later = {
        "day": ["2024-03-01", "2024-03-02"],
        "shop": [1, 1],
        "sales": [60.0, 61.0],
    }
    table = result.model.predict_table(later).to_pandas()
    first = table.groupby("shop").day.first()
    assert result.model.extended(later).notes == []
    older = {"day": ["2024-02-28", "2024-03-01"], "shop": [1, 1], "sales": [9.0, 60.0]}
    (note,) = result.model.extended(older).notes
    assert note.startswith("1 row is not after the end")
    far = {"day": ["2024-03-01", "2024-03-04"], "shop": [1, 1], "sales": [9.0, 60.0]}
    (note,) = result.model.extended(far).notes
    assert note.startswith("2 grid points have no value")
    assert first[1] == pd.Timestamp("2024-03-03")
    assert first[0] == pd.Timestamp("2024-03-01")
    assert result.model.panel.lengths.tolist() == [60, 60, 60]
    with pytest.raises(ValueError, match="series 9 was not there"):
        result.model.predict_table({**later, "shop": [9, 9]})


def test_what_is_known_ahead_needs_no_target():
    t = pd.date_range("2024-01-01", periods=60)
    promo = np.random.default_rng(1).integers(0, 2, 60).astype(float)
    frame = pd.DataFrame({"day": t, "sales": 5 + 3 * promo, "promo": promo})
    frame["sales"] += np.random.default_rng(0).normal(0, 0.1, 60)
    frame.loc[57:, "sales"] = np.nan
    model = pansophy.forecast(
        frame, time="day", target="sales", horizon=3, known=["promo"],
        methods=["global ridge"],
    ).model  # fmt: skip
    frame["promo"] = 1 - frame["promo"]
    later = frame.loc[57:, ["day", "promo"]]
    first, second = model.predict_table(), model.predict_table(later)
    assert first["day"].equals(second["day"])
    assert np.abs(first["sales"].to_numpy() - second["sales"].to_numpy()).min() > 1


def test_a_hierarchy_is_kept_and_moved_on(tmp_path):
    t = pd.date_range("2024-01-01", periods=40)
    rng = np.random.default_rng(0)
    rows = [
        pd.DataFrame({"day": t, "area": "ab"[k // 2], "shop": k,
                      "sales": rng.poisson(5 + k, 40)}) for k in range(4)
    ]  # fmt: skip
    result = pansophy.forecast(
        pd.concat(rows), time="day", target="sales", horizon=3,
        hierarchy=["area", "shop"], methods=["theta"],
    )  # fmt: skip
    pansophy.save(result.model, tmp_path / "m.pansophy")
    model = pansophy.load(tmp_path / "m.pansophy")
    assert model.predict_table().equals(result.table())
    later = pd.DataFrame(
        {"day": "2024-02-10", "area": list("aabb"), "shop": range(4), "sales": 50}
    )
    moved = model.extended(later)
    assert moved.panel.series[0][-1] == 200
    mean = moved.predict().mean
    np.testing.assert_allclose(mean[0], mean[3:].sum(axis=0), rtol=1e-9)
    with pytest.raises(ValueError, match="to the same stamp"):
        model.extended(later.iloc[:2])


def test_rows_already_known_do_not_change_the_past():
    old, new = as_panel([1.0, 2.0, 3.0]), as_panel([9.0, 9.0, 9.0, 4.0])
    y, X = joined_rows(old, 0, new, 0)
    np.testing.assert_array_equal(y, [1, 2, 3, 4])
    assert X is None
