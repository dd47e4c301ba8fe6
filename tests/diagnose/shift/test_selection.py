"""Selection bias against known statistics of the population."""

import pytest

from pansophy.diagnose import (
    selection_bias,
)
from pansophy.tables import TableError
from tests.diagnose.small_tables import people


def test_selection_bias_against_known_numbers():
    sample = people(1)
    known = {"age": {"mean": 45, "sd": 12}, "height": 170}
    known["town"] = {"Rome": 0.5, "Oslo": 0.3, "Bern": 0.2}
    assert selection_bias(sample, known).biased == []
    known["age"] = {"mean": 39, "sd": 12}
    known["town"] = {"Rome": 0.3, "Oslo": 0.4, "Bern": 0.2, "Linz": 0.1}
    found = selection_bias(sample, known)
    assert set(found.biased) == {"age", "town"}
    assert "'Rome' in" in str(found) and "30.0% in the reference" in str(found)
    assert selection_bias(sample, people(5)).biased == []
    with pytest.raises(TableError, match="did you mean 'age'"):
        selection_bias(sample, {"agee": 3.0})
    with pytest.raises(TableError, match="shares"):
        selection_bias(sample, {"town": 3.0})
