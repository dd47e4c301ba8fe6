"""The messy table: its troubles are there, and its probabilities are true."""

import numpy as np
import pytest

from pansophy.datasets import make_messy


def test_probabilities_are_those_of_the_answers():
    table, p = make_messy(4000, truth=True)
    quits = np.array(table.column("quit?").to_pylist()) == "yes"
    for low in (0.0, 0.25, 0.5, 0.75):
        some = (p >= low) & (p < low + 0.25)
        assert quits[some].mean() == pytest.approx(p[some].mean(), abs=0.04)
    gone = np.array([v is None for v in table.column("収入").to_pylist()])
    assert gone[quits].mean() > 2 * gone[~quits].mean()  # missing by the answer


def test_seeds_and_troubles():
    table = make_messy(200, seed=1)
    assert table.equals(make_messy(200, seed=1))
    assert not table.equals(make_messy(200, seed=2))
    assert len(set(table.column("customer").to_pylist())) == 200
    assert table.column("empty").null_count == 200
    assert all(v.startswith("$") for v in table.column("price").to_pylist())
    assert any("\n" in (v or "") for v in table.column("review").to_pylist())
    with pytest.raises(ValueError, match="n"):
        make_messy(0)
