"""Which methods are tried, and why others are not."""

import numpy as np
import pytest

from pansophy.forecasting import Panel
from pansophy.forecasting.comparison.method_table import (
    candidate_methods,
    chosen_methods,
)


def test_a_short_smooth_series():
    found = candidate_methods(Panel.from_list([10 + np.arange(30.0)]), [12.0], 6)
    assert {"theta", "ARIMA", "global ridge"} <= set(found.methods)
    assert "needs 300" in found.skipped["global booster"]
    assert "TSB" in found.skipped and "MSTL" in found.skipped


def test_counts_with_zeros_and_long_seasons(rng):
    counts = rng.poisson(0.3, (20, 800)).astype(float)
    found = candidate_methods(Panel.from_list(list(counts)), [7.0, 365.25], 100)
    assert {"TSB", "Croston (SBA)", "MSTL", "global booster"} <= set(found.methods)
    assert "too many" in found.skipped["ARIMA"]
    assert found.methods["MSTL"].season_lengths == [7, 365]
    assert found.methods["global ridge"].horizon == 30


def test_names():
    found = candidate_methods(Panel.from_list([np.arange(30.0)]), [], 6)
    few = chosen_methods(found, ["theta"])
    assert list(few.methods) == ["seasonal naive", "theta"]
    assert few.skipped["drift"] == "it was not asked for"
    assert chosen_methods(found, None) is found
    with pytest.raises(ValueError, match="no method 'x'"):
        chosen_methods(found, ["x"])
    with pytest.raises(ValueError, match="cannot be tried"):
        chosen_methods(found, ["TSB"])
