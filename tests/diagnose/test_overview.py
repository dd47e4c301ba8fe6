"""The overview of a table: plain numbers, and clusters where there are some."""

import json

import numpy as np
import pytest

from pansophy.diagnose import overview


def made(rng, n, d=8):
    table = {f"x{j}": rng.normal(size=n) for j in range(d)}
    table |= {"kind": rng.choice(list("abc"), n), "k": rng.integers(0, 40, n)}
    table["y"] = np.where(table["x0"] + rng.normal(size=n) > 0, "yes", "no")
    return table


def test_overview_is_plain_numbers(rng):
    table = made(rng, 3000)
    table["x1"][:10] = np.nan
    about = overview(table, rows=1500)
    assert (about.rows, about.sampled) == (3000, 1500)
    first, second, kind = about.columns[0], about.columns[1], about.columns[8]
    assert sum(first.counts) == 3000 and len(first.edges) == len(first.counts) + 1
    assert first.quantiles[3] == pytest.approx(np.median(table["x0"]), abs=0.01)
    assert second.missing == 10 and sum(second.counts) == 2990
    assert sum(k for _, k in kind.top) == 3000 and kind.distinct == 3
    points = about.components["points"]
    assert len(points) == len(about.components["rows"]) == 1000
    assert len(about.clusters["labels"]) == len(about.outliers["scores"]) == 1000
    assert len(about.density["log_density"]) == 1000
    matrix = np.array(about.association["matrix"], float)
    assert matrix.shape == (len(about.association["names"]),) * 2
    text = json.dumps(about.to_dict(), allow_nan=False)
    assert len(text) < 300_000


def test_overview_finds_clusters(rng):
    X = rng.normal(size=(600, 3)) + np.repeat([[0], [9], [-9]], 200, axis=0)
    assert overview(X).clusters["sizes"] == [200, 200, 200]
    for lump in (rng.normal(size=(600, 3)), rng.random((600, 2))):
        assert overview(lump).clusters["k"] == 1
