"""The overview of a table: plain numbers, and clusters where there are some."""

import json

import numpy as np
import pytest

from pansophy.diagnose import overview
from tests.diagnose.small_tables import mixed_columns


def test_overview_is_plain_numbers(rng):
    table = mixed_columns(rng, 3000)
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


def skewed_table(seed=0, n=600):
    """Two clusters in three columns, and one column with a long tail."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 3)) + 6 * z[:, None]
    tail = np.exp(3 * rng.normal(size=n))
    return {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "tail": tail}, z


@pytest.mark.parametrize("tail", ["exp", "zeros", "giant", "heavy"])
def test_one_skewed_column_decides_neither_components_nor_clusters(tail):
    table, z = skewed_table()
    rng = np.random.default_rng(5)
    n = len(z)
    if tail == "zeros":
        table["tail"] = np.where(rng.random(n) < 0.85, 0.0, 1e4 * rng.random(n))
    elif tail == "giant":
        table["tail"] = np.r_[rng.normal(size=n - 3), 1e7, 2e7, 3e7]
    elif tail == "heavy":
        table["tail"] = rng.standard_cauchy(n)
    about = overview(table)
    if tail != "zeros":  # 0 or not is a difference, too
        assert about.clusters["k"] == 2
        assert sorted(about.clusters["sizes"]) == sorted(np.bincount(z).tolist())
    first = {name: abs(v) for name, v, _ in about.components["loadings"]}
    assert first["tail"] < 0.3 and min(first["a"], first["b"], first["c"]) > 0.4
    assert about.components["shares"][0] > 0.5


def test_scales_and_skew_of_the_columns_do_not_matter_to_the_components():
    table, _ = skewed_table()
    table["a"] = 1e6 * table["a"]
    table["b"] = 1e-6 * table["b"]
    about = overview(table)
    first = {name: abs(v) for name, v, _ in about.components["loadings"]}
    assert first["a"] == pytest.approx(first["b"], abs=0.05)
    summary = {c.name: c for c in about.columns}
    assert summary["tail"].skewness > 5 and abs(summary["a"].skewness) < 1
