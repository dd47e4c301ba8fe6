"""Tables as they are, without options: those bundled with scikit-learn and statsmodels,
a messy one, and a large synthetic one.
"""

import numpy as np
import pytest

from benchmarks.studies.rival_tables import TABLES, synthetic
from pansophy.compare import compare
from pansophy.datasets import make_messy

pytest.importorskip("statsmodels")

CHEAP = {
    "classification": ["logistic regression", "decision tree"],
    "regression": ["linear regression", "decision tree"],
    "count": ["poisson regression", "decision tree"],
}
# the best score over that of the dummy, at most: what these tables are known to give
GAIN = {
    "iris": 0.25,
    "wine": 0.15,
    "breast cancer": 0.2,
    "diabetes": 0.75,
    "anes96": 0.45,
    "fair": 0.9,
    "spector": 1.0,
    "modechoice": 0.7,
    "star98": 0.6,
    "ccard": 1.0,
    "engel": 0.5,
    "randhie": 0.95,
}
SECONDS = 180  # of one real table with all methods, on two free cores
LARGE = 800  # of 200,000 rows with 50 columns: twice what docs/compare.md states


def gain(found) -> float:
    """The best score over that of the dummy; all first metrics are losses."""
    score = lambda row: row.scores[found.metric].mean
    return score(found.leaderboard[0]) / score(found.row("dummy"))


def check_model(found, table, target):
    """The kept model answers rows in the words of the target, or with numbers."""
    rows = table.slice(0, 50)
    said = np.asarray(found.model.predict(rows.drop_columns([target])))
    assert len(said) == len(rows)
    if found.schema.task == "classification":
        assert set(map(str, said)) <= set(map(str, found.schema.classes))
    else:
        assert np.isfinite(said).all()


@pytest.mark.parametrize("name", GAIN)
def test_real_tables_need_no_options(name):
    spec = TABLES[name]
    table = spec.make()
    found = compare(table, spec.target, methods=CHEAP[spec.task], repeats=1, workers=0)
    assert found.schema.task == spec.task
    assert found.complete and not found.disqualified
    assert len(found.leaderboard) == 3
    assert gain(found) < GAIN[name]
    row = found.row(found.winner).scores[found.metric]
    assert row.low <= row.mean <= row.high
    check_model(found, table, spec.target)


def test_messy_table_from_a_file(tmp_path):
    """Quoted newlines, accents, HTML and formulas in names, from CSV as from memory."""
    from pyarrow import csv

    table = make_messy(600)
    path = tmp_path / "messy \u00e9t\u00e9.csv"
    csv.write_csv(table, path)
    assert path.read_text("utf-8").count("\n") > table.num_rows + 1  # quoted newlines
    methods = CHEAP["classification"]
    found = compare(path, "quit?", methods=methods, repeats=1, workers=0)
    same = compare(table, "quit?", methods=methods, repeats=1, workers=0)
    assert [c.name for c in found.schema.columns] == [
        c.name for c in same.schema.columns
    ]
    assert {c.role for c in found.schema.columns} >= {
        "number",
        "category",
        "date",
        "text",
        "id",
        "constant",
    }
    assert gain(found) == pytest.approx(gain(same), rel=0.02)
    assert gain(found) < 0.95


def full(table, target, seconds):
    """Compare all methods in workers; that it took no longer than stated."""
    found = compare(table, target, repeats=1, workers=2)
    assert found.complete and not found.disqualified
    assert found.settings["seconds"] < seconds
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", [*GAIN, "digits", "messy"])
def test_all_methods_on_real_tables(name, monkeypatch):
    """Three minutes each at most, on two cores."""
    monkeypatch.delenv("PANSOPHY_WORKERS")
    spec = TABLES[name]
    table = spec.make()
    found = full(table, spec.target, SECONDS)
    assert len(found.leaderboard) >= 10
    assert gain(found) < GAIN.get(name, 0.9)
    check_model(found, table, spec.target)


@pytest.mark.slow
def test_all_methods_on_200_000_rows(monkeypatch):
    """Twice the stated eight minutes at most, on two free cores.

    What takes too long is listed, not begun. The classes are drawn from known scores:
    30,000 new rows of the same law say whether the interval of the kept method holds
    the truth.
    """
    monkeypatch.delenv("PANSOPHY_WORKERS")
    table = synthetic()()
    found = full(table, "y", LARGE)
    ranked = {row.method for row in found.leaderboard}
    assert {"logistic regression", "nearest neighbours", "gradient boosting"} <= ranked
    dear = [why for _, why in found.not_run if why.startswith("would take about ")]
    assert all("name it in --methods" in why for why in dear)
    assert gain(found) < 0.75
    new = synthetic(30_000, seed=1)()
    y = np.asarray(new.column("y").to_pylist())
    p = found.model.predict_proba(new.drop_columns(["y"]))
    codes = np.searchsorted(np.asarray(found.model.classes_, dtype=str), y)
    score = found.metrics[0].score(codes, p)
    said = found.row(found.winner).scores["log loss"]
    assert said.low - 0.01 < score < said.high + 0.01
