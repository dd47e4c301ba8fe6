"""What is asked of a comparison is honoured, or refused in one sentence at once."""

import inspect
import json
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from pansophy.compare import (
    Column,
    compare,
    infer_schema,
    reliability_curve,
)
from pansophy.compare.loading import load_dataset
from pansophy.compare.methods.method import FitContext
from pansophy.compare.methods.method_choice import choose_methods
from pansophy.compare.methods.pipelines import (
    fit_pipeline,
    make_pipeline,
    predict_all_classes,
)
from pansophy.compare.model.kept_model import held_out_predictions
from pansophy.compare.options import Options, command_line_words, options_table
from pansophy.compare.report import plot_data
from pansophy.compare.report.holdout_and_groups import group_fairness
from pansophy.compare.report.methodology import keep_rule_sentence
from pansophy.compare.run_comparison import findings_and_notes
from pansophy.diagnose import make_finding
from pansophy.tables import read_table
from tests.compare.comparisons import rows

QUICK = {"workers": 0, "repeats": 1, "folds": 3, "progress": False}
NB = {"nb": GaussianNB()}


def load(table, **options):
    return load_dataset(table, Options.checked(**options))


class Never(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("nothing should have been fitted")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"gap": 3}, "gap is for folds along time"),
        ({"gap": -1}, "gap must be a whole number of at least 0"),
        ({"costs": {"yes": 1}}, "one number for each of two classes"),
        (
            {"costs": {"yes": -1, "no": 2}},
            "'yes' must be a number of at least 0, got -1",
        ),
        ({"costs": {"yes": "a", "no": 2}}, "'yes' must be a number"),
        ({"costs": {"yes": 0, "no": 0}}, "must not all be 0"),
        ({"costs": [1, 2]}, "costs must be a dict"),
        ({"roles": ["x"]}, "roles must be a dict"),
        ({"by": "q"}, "no column 'q'"),
        ({"metric": 3}, "metric must be a name"),
        ({"methods": "ridge"}, "methods must be a list of names"),
        ({"together": "no"}, "together must be True or False"),
        ({"keep": "worst"}, "keep must be one of 'simplest', 'best', got 'worst'"),
        ({"blend": 3}, "blend must be True or False"),
        ({"tune": 3}, "tune knows the library's methods only"),
        ({"methods": ["blend"]}, "A blend averages methods that are run"),
        ({"calibrate": True, "task": "regression", "target": "x"}, "calibrate is for"),
        ({"memory_limit": 500.0}, "memory_limit needs worker processes"),
        ({"target": None}, "target must name the column"),
        ({"test": {"x": [1.0, 2.0]}}, "test table lacks the target 'y'"),
        ({"test": {"x": [1.0, 2.0], "y": ["yes", "no"]}}, "test table: .* 'k'"),
        ({"weight": "w"}, "'w' is 0 in every row"),
        ({"group": "y"}, "'y' is the target and cannot be more"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_fitted(asked, says):
    table = {**rows(), "w": np.zeros(60)}
    with pytest.raises(ValueError, match=says):
        compare(table, **{"target": "y", "methods": {"own": Never()}, **QUICK, **asked})


def test_a_schema_and_what_is_asked_must_agree(tmp_path):
    table = read_table(rows())
    schema = infer_schema(table, "y")
    for asked, says in [
        ({"group": "g"}, "says None for the group, not 'g'"),
        ({"task": "regression"}, "for the task"),
        ({"ignore": ["k"]}, "role of 'k'"),
        ({"roles": {"k": "text"}}, "role of 'k'"),
    ]:
        with pytest.raises(ValueError, match=says):
            load(table, target="y", schema=schema, **asked)
    same = {"task": "classification", "roles": {"k": "category"}, "group": None}
    assert load(table, target="y", schema=schema, **same).schema == schema
    with pytest.raises(ValueError, match="no column 'y'"):
        load(table.drop(["y"]), target="y", schema=schema)


def test_rows_of_weight_0_are_not_there():
    table = rows()
    w = np.tile([0, 1, 2], 20)
    kept = {k: v[w > 0] for k, v in table.items()}
    told = {"methods": NB, "weight": "w", **QUICK}
    a = compare({**table, "w": w}, "y", **told)
    b = compare({**kept, "w": w[w > 0]}, "y", **told)
    assert "20 rows left out: 'w' is 0." in a.notes
    assert a.row("nb").scores == b.row("nb").scores
    one_class = {**table, "w": (table["y"] == "yes") * 1}
    with pytest.raises(ValueError, match="one value"):
        compare(one_class, "y", **told)


@pytest.mark.parametrize("name", ["naive Bayes", "logistic regression"])
def test_weights_reach_the_preparation_too(name):
    """A row of weight k counts in medians, levels and scales as k rows do."""
    table = {**rows(), "z": np.where(np.arange(60) % 4, np.arange(60.0), np.nan)}
    w = np.tile([1, 5, 2], 20)
    plain = load({**table, "w": w}, target="y", weight="w", counts=False, ignore=["g"])
    many = load(
        {k: np.repeat(v, w) for k, v in table.items()},
        target="y",
        ignore=["g"],
        independent=True,
    )
    (_, method), _ = choose_methods(many.schema, 60, [name])
    fit = lambda t: fit_pipeline(
        make_pipeline(method, t.schema, FitContext("classification", 60, 0)),
        t.data.frame,
        t.data.y,
        t.data.weight,
    )
    p, q = (
        predict_all_classes(fit(t), plain.data.frame, "classification", 2)
        for t in (plain, many)
    )
    assert np.allclose(p, q, atol=1e-6)


def frequency_table(seed=0):
    """Cells of two factors by an answer, with the number of rows of each."""
    rng = np.random.default_rng(seed)
    cells = np.array([(a, b, y) for a in "pqr" for b in "st" for y in ("no", "yes")])
    table = dict(zip(("a", "b", "y"), cells.T, strict=True))
    return table, rng.integers(3, 40, len(cells))


def test_a_frequency_table_is_its_rows_to_the_last_digit():
    table, w = frequency_table()
    whole = {name: np.repeat(v, w) for name, v in table.items()}
    own = {"methods": {"tree": DecisionTreeClassifier()}, **QUICK}
    counted = compare({**table, "w": w}, "y", weight="w", **own)
    repeated = compare(whole, "y", **own)
    assert [r.scores for r in counted.leaderboard] == [
        r.scores for r in repeated.leaderboard
    ]
    assert [r.p for r in counted.leaderboard] == [r.p for r in repeated.leaderboard]
    assert counted.leaderboard[0].units == w.sum()
    new = {"a": ["p", "r"], "b": ["s", "t"]}
    assert (counted.predict(new) == repeated.predict(new)).all()
    assert any(f"12 rows stand for {w.sum()}" in note for note in counted.notes)
    assert not any("duplicates" in f.kind for f in counted.findings)


def test_a_frequency_table_as_the_test_set():
    table, w = frequency_table()
    whole = {name: np.repeat(v, w) for name, v in table.items()}
    other, k = frequency_table(1)
    own = {"methods": {"tree": DecisionTreeClassifier()}, **QUICK}
    counted = compare({**table, "w": w}, "y", weight="w", test={**other, "w": k}, **own)
    test = {name: np.repeat(v, k) for name, v in other.items()}
    repeated = compare(whole, "y", test=test, **own)
    assert counted.holdout.n == repeated.holdout.n == k.sum()
    assert counted.holdout.rows[0].score == repeated.holdout.rows[0].score


def test_weights_that_are_no_counts_stay_weights():
    table, w = frequency_table()
    load_weights = lambda w, **more: load(
        {**table, "w": w}, target="y", weight="w", **more
    )
    assert load_weights(w).data.weight is None
    assert len(load_weights(w, counts=False).data) == len(w)
    assert load_weights(w + 0.5).data.weight is not None
    assert load_weights(np.ones(len(w))).cells is None
    assert load_weights(w, max_rows=100).cells is None  # they would be too many
    with pytest.raises(
        ValueError, match=r"'w' cannot count rows: it is .*\.5 in row 1"
    ):
        load_weights(w + 0.5, counts=True)
    with pytest.raises(ValueError, match="stands for 12,000,000,"):
        load_weights(w * 0 + 1e9, counts=True)
    with pytest.raises(ValueError, match="needs a column of weights"):
        load(table, target="y", counts=True)


def test_an_estimator_that_takes_no_weights_is_left_out_with_the_reason():
    own = {"knn": KNeighborsClassifier(), "lr": LogisticRegression()}
    weights = np.arange(60) + 0.5
    found = compare({**rows(), "w": weights}, "y", methods=own, weight="w", **QUICK)
    assert ("knn", "takes no row weights") in found.not_run
    assert [t.method.name for t in found.trials] == ["dummy", "lr"]


def test_calibration_on_inner_folds_competes_with_none():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1)) + rng.normal(size=(300, 6)) * 0.1  # said seven times
    y = rng.random(300) < 1 / (1 + np.exp(-x.mean(1)))
    table = {f"x{j}": x[:, j] for j in range(6)} | {"y": np.where(y, "yes", "no")}
    asked = {**QUICK, "methods": ["naive Bayes"], "calibrate": True}
    found = compare(table, "y", **asked)
    loss = {r.method: r.scores["log loss"].mean for r in found.leaderboard}
    assert next(iter(loss)) == "calibrated naive Bayes"
    assert loss["naive Bayes"] > loss["calibrated naive Bayes"] + 0.1
    named = {**asked, "methods": ["calibrated naive-Bayes"], "calibrate": False}
    assert [r.method for r in compare(table, "y", **named).leaderboard] == [
        "calibrated naive Bayes",
        "dummy",
    ]
    own = {**asked, "methods": NB}
    names = {r.method for r in compare(table, "y", **own).leaderboard}
    assert names == {"dummy", "nb", "calibrated nb"}


def test_weights_enter_what_is_shown():
    table = {**rows(), "w": np.arange(60) % 5 + 1}
    own = {"lr": LogisticRegression()}
    asked = {**QUICK, "by": "k", "metric": "log loss", "counts": False}
    c = compare(table, "y", methods=own, weight="w", **asked)
    curve, fits = (
        plot_data.learning_curve_data(c, "lr"),
        c.trial("lr").scores["log loss"],
    )
    assert -curve.test[-1] == pytest.approx(fits, rel=1e-3)  # all rows of each fold
    held, w = held_out_predictions(c, "lr"), c.data.weight
    at = reliability_curve(held.y, held.p, bins=1, weights=w)
    assert at.observed == pytest.approx([np.average(held.y, weights=w)])
    assert at.predicted == pytest.approx([np.average(held.p[:, 1], weights=w)])
    c.winner = "dummy"
    found = group_fairness(c)
    mass = {k: w[table["k"] == k].sum() for k in found.groups}
    assert len(mass) >= 2 and found.counts == tuple(mass.values())


def test_a_folder_that_cannot_be_is_found_before_the_table_is_read(tmp_path):
    (tmp_path / "file").write_text("x")
    for folder, resume, says in [
        (tmp_path / "file", False, "is a file, not a folder"),
        (tmp_path / "file" / "run", False, "is a file, not a folder"),
        (tmp_path / "none", True, "no run to resume"),
    ]:
        with pytest.raises(ValueError, match=says):
            compare(tmp_path / "no table", "y", folder=folder, resume=resume)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_the_kept_model_is_the_method_fitted_on_all_rows(tmp_path):
    table, asked = rows(), {"methods": ["logistic regression"], **QUICK}
    found = [compare(table, "y", keep="best", **asked) for _ in range(2)]
    c = found[0]
    method = c.trial(c.winner).method
    setting = FitContext("classification", 60, 0, metric="log loss")
    alone = fit_pipeline(
        make_pipeline(method, c.schema, setting), c.data.frame, c.data.y
    )
    p = predict_all_classes(alone, c.data.frame, "classification", 2)
    assert np.array_equal(c.best.predict_proba(table), p)
    files = [tmp_path / name for name in "ab"]  # and the same is saved, byte for byte
    for made, path in zip(found, files):
        made.save(path)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert c.settings["options"] == {"keep": "best"}
    assert "the best, which is kept" in keep_rule_sentence(c)


def test_the_same_run_twice_writes_the_same_results(tmp_path):
    times = ("fit_seconds", "predict_micros", "seconds", "finished", "source")

    def told(value):
        if isinstance(value, dict):
            return {k: told(v) for k, v in value.items() if k not in times}
        return [told(v) for v in value] if isinstance(value, list) else value

    found = [
        compare(
            rows(),
            "y",
            methods=NB,
            by="k",
            costs={"yes": 3, "no": 1},
            folder=tmp_path / name,
            **QUICK,
        ).to_dict()
        for name in "ab"
    ]
    a, b = (json.dumps(told(f)) for f in found)
    assert a == b


def test_an_excluded_column_is_reported_once():
    columns = (
        Column("n", "other", "values of type struct"),
        Column("id", "id", "all values differ"),
    )
    dataset = SimpleNamespace(schema=SimpleNamespace(columns=columns), notes=["a note"])
    said = make_finding("other type", "note", "'n' holds structs.", column="n")
    findings, notes = findings_and_notes([said], dataset)
    assert [f.text for f in findings] == ["'n' holds structs. It is left out."]
    assert notes == ["a note", "'id' left out: all values differ."]


def test_signature_flags_and_documentation_list_the_same_options():
    names = [f.name for f in fields(Options)]
    signature = inspect.signature(compare)
    assert list(signature.parameters) == ["table", *names, "progress"]
    for f in fields(Options):
        if f.name != "target":
            assert signature.parameters[f.name].default == f.default
        assert f"    {f.name} : {f.metadata['kind']}" in compare.__doc__
        assert f.metadata["flag"] is not None
    with pytest.raises(TypeError, match="has no option 'fold'"):
        compare(rows(), "y", fold=3)


def test_the_page_about_comparisons_lists_every_option():
    page = Path(__file__).parents[2] / "docs" / "compare.md"
    assert options_table() in page.read_text("utf-8")


def test_every_option_can_be_written_as_a_command_line():
    assert command_line_words("roles", {"k": "text"}) == ["--role", "k=text"]
    assert command_line_words("costs", {"a": 2.0, "b": 1}) == ["--costs", "a=2,b=1"]
    assert command_line_words("ignore", ["a, b", "c"]) == ["--ignore", '"a, b",c']
    assert command_line_words("calibrate", True) == ["--calibrate"]
    assert command_line_words("blend", True) == ["--blend"]
    assert command_line_words("blend", False) == ["--no-blend"]


def test_options_that_differ_from_the_default_are_recorded():
    options = Options(target="y", blend=False, gap=2, keep="best", ignore="k", tune=3)
    assert options.changed() == {
        "ignore": ["k"],
        "gap": 2,
        "blend": False,
        "keep": "best",
    }
    recorded = options.recorded("t.csv")
    assert recorded["file"] is True and recorded["tune"] == 3
    assert not {"folder", "resume", "workers", "cluster"} & set(recorded)
    own = Options(target="y", methods=NB, folds=np.int64(3)).recorded(rows())
    assert own["own_methods"] == ["nb"] and own["source"] == "a dict"
    assert type(own["folds"]) is int
