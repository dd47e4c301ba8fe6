"""Features of dates and angles."""

import numpy as np

from pansophy.tables import MixedFrame, Preparation
from tests.tables.small_schemas import columns_of

NAN = np.nan


def test_dates_and_angles():
    days = np.array(
        ["2023-12-31T18:00", "2024-01-01T06:00", "2024-07-01"], dtype="M8[s]"
    )
    V = np.column_stack([np.r_[days.astype(float), NAN], [0.0, 90, 180, NAN]])
    told = columns_of(("date", 0), ("angle", 360.0))
    prepare = Preparation(told).fit(MixedFrame(V))
    names = prepare.get_feature_names_out().tolist()
    got = dict(zip(names, prepare.transform(MixedFrame(V)).T))
    assert names[:3] == ["c0 elapsed", "c0 year", "c0 month sin"]
    assert got["c0 year"].tolist() == [2023, 2024, 2024, 2024]
    np.testing.assert_allclose(got["c0 hour sin"], [-1, 1, 0, 0], atol=1e-12)
    month = np.column_stack([got["c0 month sin"], got["c0 month cos"]])
    near, far = np.linalg.norm(month[0] - month[1]), np.linalg.norm(month[2] - month[1])
    assert near < 0.6 < far  # December lies next to January
    np.testing.assert_allclose(got["c1 sin"], [0, 1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(got["c1 cos"], [1, 0, -1, 0], atol=1e-12)
    assert got["c0 missing"].tolist() == got["c1 missing"].tolist() == [0, 0, 0, 1]
    trees = Preparation(told, native=True).fit(MixedFrame(V))
    plain = dict(zip(trees.get_feature_names_out(), trees.transform(MixedFrame(V)).T))
    assert plain["c0 month"][:3].tolist() == [11, 0, 6]
    assert plain["c0 weekday"][:3].tolist() == [6, 0, 0] and np.isnan(
        plain["c0 hour"][3]
    )
    one_day = Preparation(told[:1]).fit(MixedFrame(V[:1, :1]))
    assert one_day.transform(MixedFrame(V[:2, :1])).shape == (2, 0)
