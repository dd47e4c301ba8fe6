"""The saved winner: what it holds, how it answers, what it says about other tables."""

import warnings
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pansophy
from pansophy.compare import choose_threshold
from pansophy.compare.model.streaming import predict_stream
from pansophy.persist import PersistError, inspect
from pansophy.tables import TableError
from tests.compare.table_models import fitted, people

INPUTS = ["age", "pay", "city", "day", "note"]
HERE = Path(__file__).parent
TABLE = people()


@pytest.fixture(scope="module")
def score():
    return fitted(TABLE.select([*INPUTS, "score"]), "score", "linear regression")


def test_saved_and_loaded_answers_are_the_same(yes, score, tmp_path):
    for model in (yes, score.with_threshold(None)):
        path = tmp_path / "winner.pansophy"
        pansophy.save(model, path)
        back = pansophy.load(path)
        told = {"level": 0.8, "explain": True}
        assert back.answer(TABLE, **told).equals(model.answer(TABLE, **told))
        assert str(back) == str(model)
        assert path.stat().st_size < 60_000
        assert not [c for c in inspect(path)["classes"] if "pickle" in c]


def test_a_file_of_an_earlier_schema_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"Cannot load .*winner1\.pansophy.*: .*\.$"):
        pansophy.load(HERE / "data" / "winner1.pansophy")


def test_parts_that_an_older_file_lacks_are_empty(yes):
    bare = object.__new__(type(yes))
    for name in ("schema", "method", "pipeline", "facts"):
        object.__setattr__(bare, name, getattr(yes, name))
    assert bare.predict(TABLE).tolist() == yes.predict(TABLE).tolist()
    assert bare.check(TABLE.select(INPUTS)) == []
    for ask in (bare.predict_set, bare.explain):
        with pytest.raises(AttributeError, match="saved without"):
            ask(TABLE)


def test_a_field_added_since_has_its_default(yes, tmp_path, monkeypatch):
    from pansophy.tables import Column

    path = tmp_path / "w.pansophy"
    short = Column("a", "number", "numbers")
    pansophy.save(short, path)
    text = path.read_bytes()
    assert b'\\"missing\\"' in text
    monkeypatch.setattr(pansophy.persist.codec.classes, "may_hold", lambda *_: True)
    from pansophy.persist.codec import Decoder, Encoder

    node = Encoder().encode(short)
    del node["v"]["missing"], node["v"]["form"]
    assert Decoder({}).decode(node) == short
    node["v"]["never"] = 1
    with pytest.raises(PersistError, match="never"):
        Decoder({}).decode(node)


def test_predictions_follow_the_probabilities_and_the_threshold(yes):
    p = yes.predict_proba(TABLE)
    assert np.allclose(p.sum(axis=1), 1)
    assert (yes.predict(TABLE) == np.where(p[:, 1] > 0.5, "yes", "no")).all()
    y = yes.schema.target_values(TABLE)
    chosen = choose_threshold(y, p, "recall", precision=0.99)
    strict = yes.with_threshold(chosen)
    assert (strict.predict(TABLE) == "yes").sum() == (p[:, 1] >= chosen.threshold).sum()
    assert strict.answer(TABLE).column("yes").to_pylist() == list(strict.predict(TABLE))
    assert "from" in str(strict)


def test_intervals_and_sets_keep_their_promise(yes, score):
    fresh = people(2000, seed=7)
    low, high = score.predict_interval(fresh, 0.8).T
    truth = fresh.column("score").to_numpy()
    assert 0.75 < np.mean((low <= truth) & (truth <= high)) < 0.87
    sets = yes.predict_set(fresh, 0.9)
    truth = fresh.column("yes").to_pylist()
    assert 0.87 < np.mean([t in s for t, s in zip(truth, sets)]) < 0.97
    with pytest.raises(AttributeError, match="predict_set"):
        yes.predict_interval(fresh)
    with pytest.raises(AttributeError, match="no class"):
        score.predict_proba(fresh)


def test_rows_of_training_have_not_drifted(yes):
    assert yes.check(TABLE.select(INPUTS)) == []
    wrong = sum(bool(yes.check(people(400, seed=s).select(INPUTS))) for s in range(20))
    assert wrong <= 1


def test_what_is_different_is_named(yes):
    n = TABLE.num_rows
    other = TABLE.select(INPUTS)
    put = lambda name, values: other.set_column(
        other.column_names.index(name), name, pa.array(values)
    )
    found = yes.check(put("age", np.linspace(200, 300, n)))
    assert [(f.kind, f.column) for f in found] == [("drift", "age")]
    assert "median" in found[0].text and found[0].severity == "warning"
    found = yes.check(put("city", ["Ulm"] * (n // 2) + ["Bonn"] * (n - n // 2)))
    assert [f.kind for f in found] == ["unknown levels"] and "50 %" in found[0].text
    found = yes.check(put("pay", [None] * n).cast(other.schema))
    assert [f.column for f in found] == ["pay"] and "missing" in found[0].text
    found = yes.check(put("note", ["a"] * n))
    assert [f.column for f in found] == ["length of note"]
    found = yes.check(put("age", ["old"] * n))
    assert [(f.kind, f.column) for f in found] == [("wrong type", "age")]
    found = yes.check(other.drop(["age"]).append_column("aeg", other.column("age")))
    assert [f.kind for f in found] == ["missing column", "unknown column"]
    with pytest.raises(TableError, match="lacks the column 'age'"):
        yes.predict(other.drop(["age"]))


def test_counts_and_labels():
    table = TABLE.select(["age", "city", "visits"])
    model = fitted(table, "visits", "poisson regression", task="count")
    low = model.predict_interval(table, 0.99)[:, 0]
    assert low.min() >= 0 and model.predict(table).min() > 0
    rng = np.random.default_rng(0)
    both = table.select(["age", "city"])
    for name in ("a", "b"):
        flag = (both.column("age").to_numpy() + rng.normal(size=300) > 40).astype(int)
        both = both.append_column(name, pa.array(flag))
    labels = fitted(both, ["a", "b"], "decision tree", task="multilabel")
    answer = labels.answer(both)
    assert answer.column_names == ["a", "b", "p(a)", "p(b)"]
    assert (labels.predict(both) == (labels.predict_proba(both) >= 0.5)).all()
    with pytest.raises(AttributeError, match="multilabel"):
        labels.answer(both, level=0.9)


def test_it_prints_what_it_is(yes):
    text = str(yes)
    assert "logistic regression for 'yes' (classification: no, yes)" in text
    assert "300 rows" in text and "0.5 (0.4 to 0.6)" in text
    assert repr(yes) == "TableModel('logistic regression', target='yes')"
    assert yes.schema.target == "yes"


def test_no_warning_reaches_the_user(yes):
    odd = TABLE.slice(0, 3).set_column(2, "city", pa.array(["Ulm", None, "Bonn"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert yes.answer(odd, level=0.9, explain=True).num_rows == 3


def test_a_threshold_needs_two_classes(score):
    with pytest.raises(ValueError, match="two classes"):
        score.with_threshold(0.3)
    assert replace(score, threshold=None) == score.with_threshold(None)


def test_levels_thresholds_and_reasons_that_make_no_sense_are_refused(yes, score):
    for level in (-0.5, 0, 1, 2.0, float("nan")):
        with pytest.raises(ValueError, match=f"level must .*{level}"):
            score.predict_interval(TABLE, level)
    for value in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="threshold is a probability"):
            yes.with_threshold(value)
    with pytest.raises(ValueError, match="explain must"):
        yes.answer(TABLE, explain=-1)
    labels = replace(yes.schema, task="multilabel", classes=(), labels=("a", "b"))
    many = replace(yes, schema=labels).with_threshold(0.3)
    assert "says 'yes' from 0.3 on" in str(many)


def test_values_far_outside_the_range_of_training_are_counted(yes):
    rows = TABLE.select(INPUTS)
    age, day = (rows.column(k).to_pylist() for k in ("age", "day"))
    age[3], age[7], day[0] = 9999.0, -500.0, datetime(2099, 1, 1)
    put = lambda t, name, values: t.set_column(
        INPUTS.index(name), name, pa.array(values, t.schema.field(name).type)
    )
    odd = put(put(rows, "age", age), "day", day)
    found = yes.check(odd)
    assert [(f.kind, f.column, f.facts["rows"]) for f in found] == [
        ("out of range", "age", 2),
        ("out of range", "day", 1),
    ]
    assert f"2 of {len(age)} rows (such as 9999, where training had " in found[0].text
    assert "such as 2099-01-01, where training had 2024-0" in found[1].text
    streamed = predict_stream(yes, odd, lambda part: None, batch=64).findings
    assert [str(f) for f in streamed] == [str(f) for f in found]
    one = yes.check(odd.slice(3, 1))  # a single row is enough
    assert [f.column for f in one] == ["age"]
