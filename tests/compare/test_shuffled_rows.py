"""Rows that certainly depend on each other decide the folds; both scores are told."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pansophy.compare import compare
from pansophy.params import ParameterError

QUICK = {"workers": 0, "repeats": 1, "folds": 3, "progress": False}


def patients(rng, count=80, visits=3):
    """Noise in every column; the answer belongs to the person."""
    who = np.repeat(np.arange(count), visits)
    return {
        "Nr": who + 1000,
        "weight": rng.normal(size=count)[who],
        "sex": rng.integers(0, 2, count)[who],
        "visit": np.tile(np.arange(visits), count),
        "ill": np.array(["no", "yes"])[rng.permutation(np.arange(count) % 2)][who],
    }


def test_people_are_not_parted_though_nobody_said_so(rng):
    table = patients(rng)
    tree = {"methods": {"tree": DecisionTreeClassifier(random_state=0)}, **QUICK}
    tree["metric"] = "accuracy"
    c = compare(table, "ill", **tree)
    assert c.schema.group == "Nr" and c.split.kind == "stratified grouped"
    named = compare(table, "ill", group="Nr", **tree)
    assert [r.scores for r in c.leaderboard] == [r.scores for r in named.leaderboard]
    assert named.shuffled_score is None
    # what a tree learns by heart is of no use for new people
    assert c.shuffled_score.method == "tree" and c.shuffled_score.score > 0.8
    assert c.row("tree").scores["accuracy"].mean < 0.7
    text = str(c)
    assert "rows of one were never parted" in text and "--independent" in text
    assert "rows of a new 'Nr'" in text
    free = compare(table, "ill", independent=True, **tree)
    assert free.schema.group is None and free.shuffled_score is None
    assert free.row("tree").scores["accuracy"].mean > 0.8
    assert any(
        f.kind == "repeated group" and f.severity == "alarm" for f in free.findings
    )


def test_pairs_of_columns_name_the_group(rng, tmp_path):
    who = np.repeat(np.arange(40), 5)
    table = {
        "site": np.array(list("ABCD"))[who % 4],
        "no": who // 4,
        "age": rng.integers(20, 90, 40)[who],
        "weight": rng.normal(70, 9, 40)[who].round(1),
        "y": rng.normal(size=40)[who] + 0.1 * rng.normal(size=200),
    }
    tree = {"methods": {"tree": DecisionTreeRegressor(random_state=0)}, **QUICK}
    c = compare(table, "y", folder=tmp_path / "run", **tree)
    assert c.schema.group == "site,no" and c.split.kind == "grouped"
    for train, test in c.split.folds:
        assert not set(who[train]) & set(who[test])
    assert "Pairs of 'site' and 'no' come in 5.0 rows each" in str(c)
    assert len(c.predict({k: v[:3] for k, v in table.items() if k != "y"})) == 3
    means = [r.scores["rmse"].mean for r in c.leaderboard]
    named = compare(table, "y", group="site, no", **tree)
    assert [r.scores["rmse"].mean for r in named.leaderboard] == means
    again = compare(table, "y", schema=tmp_path / "run/schema.toml", **tree)
    assert [r.scores["rmse"].mean for r in again.leaderboard] == means


def test_later_rows_are_predicted_from_earlier_ones(rng):
    table = {"year": np.arange(1800, 2000), "y": np.cumsum(rng.normal(size=200))}
    tree = {"methods": {"tree": DecisionTreeRegressor(random_state=0)}, **QUICK}
    c = compare(table, "y", **tree)
    assert c.schema.time == "year" and c.split.kind == "time-ordered"
    assert c.shuffled_score.method == "tree"
    assert c.shuffled_score.score < c.row("tree").scores["rmse"].mean
    assert "follow each other along 'year'" in str(c)
    assert c.to_dict()["shuffled_score"]["method"] == "tree"


def test_prices_without_a_date_are_predicted_from_earlier_ones(rng, tmp_path):
    n = 600
    walk = np.cumsum(rng.normal(size=n))
    table = {"trend": np.arange(n) // 20 + rng.integers(0, 2, n), "y": walk}
    tree = {"methods": {"tree": DecisionTreeRegressor(random_state=0)}, **QUICK}
    c = compare(table, "y", folder=tmp_path / "run", **tree)
    assert c.schema.time == "row order" and c.split.kind == "time-ordered"
    assert [column.name for column in c.schema.used] == ["trend"]
    assert c.shuffled_score.score < c.row("tree").scores["rmse"].mean / 2
    assert "follow each other in the file" in str(c)
    assert len(c.predict({"trend": [1, 2]})) == 2
    scores = [r.scores for r in c.leaderboard]
    named = compare(table, "y", time="row order", **tree)
    assert [r.scores for r in named.leaderboard] == scores
    again = compare(table, "y", schema=tmp_path / "run/schema.toml", **tree)
    assert [r.scores for r in again.leaderboard] == scores
    mixed = rng.permutation(n)
    free = compare({k: v[mixed] for k, v in table.items()}, "y", **tree)
    assert free.schema.time is None


def test_panels_tell_the_same_units_from_new_ones(rng):
    pig = np.repeat(np.arange(30), 12)
    week = np.tile(np.arange(12), 30)
    weight = 10 * rng.normal(size=30)[pig] + 0.2 * week + rng.normal(size=360)
    table = {"Pig": pig, "Time": week, "start": (pig * 7) % 30, "y": weight}
    tree = {"methods": {"tree": DecisionTreeRegressor(random_state=0)}, **QUICK}
    c = compare(table, "y", group="Pig", time="Time", **tree)
    assert c.split.units == "same" and c.row("tree").scores["rmse"].mean < 4
    assert c.other_units_score.score > 8
    text = str(c)
    assert "on rows of the same 'Pig', up to 3 steps ahead" in text
    assert "of new 'Pig'" in text and "--units new" in text
    new = compare(table, "y", group="Pig", time="Time", units="new", **tree)
    assert new.split.units == "new" and "--units same" in str(new)
    assert new.row("tree").scores["rmse"].mean > 8
    assert len(c.predict({"Time": [13], "start": [1]})) == 1
    with pytest.raises(ParameterError, match="units is for panels"):
        compare(table, "y", group="Pig", units="new", **tree)


def test_a_design_that_cannot_be_cut_is_left(rng):
    table = patients(rng)
    table["ill"] = np.where(table["Nr"] < 1002, "yes", "no")  # of two people
    table["ill"][:3] = "yes"
    table["ill"][3:6] = "no"
    tree = {"methods": {"tree": DecisionTreeClassifier(random_state=0)}, **QUICK}
    c = compare(table, "ill", **tree)  # one ill person cannot be learned and tested
    assert c.schema.group is None
    assert any("taken as independent" in note for note in c.notes)


def test_the_duration_of_a_time_to_an_event_is_left_out(rng):
    event, end = rng.exponential(900, 150), rng.uniform(300, 1500, 150)
    table = {
        "age": rng.normal(60, 8, 150).round(1),
        "time": np.minimum(event, end).round(1),
        "status": (event < end).astype(int),
    }
    tree = {"methods": {"tree": DecisionTreeClassifier(random_state=0)}, **QUICK}
    c = compare(table, "status", **tree)
    assert [column.name for column in c.schema.used] == ["age"]
    assert c.schema.time is None and c.shuffled_score is None
    assert "look like time to an event" in str(c) and "survival" in str(c)
    for taken in ({"roles": {"time": "number"}}, {"independent": True}):
        names = [
            column.name
            for column in compare(table, "status", **tree, **taken).schema.used
        ]
        assert names == ["age", "time"]
