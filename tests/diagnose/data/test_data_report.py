"""The data report lists what is wrong with a table."""

import numpy as np

from pansophy.diagnose import (
    data_report,
)


def test_data_report_lists_what_is_wrong(rng):
    y, x = rng.normal(size=200), rng.normal(size=200)
    table = {
        "one": ["EUR"] * 200,
        "x": x,
        "again": x,
        "holes": np.where(rng.random(200) < 0.2, np.nan, 1.0 * rng.normal(size=200)),
        "cents": 100 * y,
        "big": 1e9 * rng.normal(size=200),
        "z": rng.normal(size=200),
        "y": y,
    }
    report = data_report(table, "y")
    assert report.constant == ["one"] and report.duplicate == [("again", "x")]
    assert list(report.missing) == ["holes"] and report.leaking == ["cents"]
    assert report.odd_scale == ["big"] and report.repeated_rows == 0
    assert "leaking the target: cents" in str(report)
    assert report.to_dict()["constant"] == ["one"]
