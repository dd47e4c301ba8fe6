"""The comparison: same folds, no leaks, honest words, a model to keep, a report."""

import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

import pansophy
from pansophy.compare import Column, Schema, TableError, compare
from pansophy.compare.methods.method_choice import choose_methods
from pansophy.compare.methods.pipelines import raw_predictions
from pansophy.compare.metrics import METRICS, metrics_for
from pansophy.compare.splits import folds_of
from pansophy.datasets import load, make_customers
from pansophy.params import ParameterError

NUMBERS = Schema("y", "regression", "", (Column("x", "number", ""),))


def classes(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    c = rng.choice(["u", "v", "w"], n)
    y = np.where(x + (c == "u") + 0.5 * rng.normal(size=n) > 0.3, "yes", "no")
    x[rng.random(n) < 0.1] = np.nan
    city = rng.choice([f"city {i}" for i in range(15)], n)
    return pa.table({"x": x, "c": c, "city": city, "y": y})


def numbers(n=100, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    return pa.table({"x": x, "z": z, "y": 3 * x + rng.normal(size=n)})


@pytest.fixture(scope="module")
def result():
    own = {"logit": LogisticRegression(), "strong": LogisticRegression(C=1e-6)}
    return compare(classes(), "y", methods=own, repeats=2)


def test_leaderboard_tells_the_truth(result):
    assert result.leaderboard[0].method == "logit"
    assert result.winner == "logit" and result.complete
    best, *rest = result.leaderboard
    assert best.standing == "best" and best.p == 1.0 and best.difference is None
    assert {r.standing for r in rest} <= {"worse", "below dummy"}
    for row in result.leaderboard:
        assert list(row.scores)[:2] == ["log loss", "accuracy"]
        assert all(s.low <= s.mean <= s.high for s in row.scores.values())
    assert result.expected_score.mean >= best.scores["log loss"].mean
    assert result.settings["repeats"] == 2 and result.settings["split"] == "stratified"
    assert len(result.settings["data_hash"]) == 16


def test_scores_are_those_of_the_folds(result):
    """One method by hand, on the folds that the engine reports."""
    y = result.data.y
    splits = folds_of(y, "classification", 5, 2, 0)
    share = [
        np.mean(y[test] == np.bincount(y[train]).argmax()) for train, test in splits
    ]
    row = next(r for r in result.leaderboard if r.method == "dummy")
    assert row.scores["accuracy"].mean == pytest.approx(np.mean(share))
    base = np.mean([np.bincount(y[t]) / len(t) for t, _ in splits], axis=0)
    assert row.scores["log loss"].mean == pytest.approx(
        -(base * np.log(base)).sum(), 1e-2
    )


def test_same_seed_same_table(result):
    own = {"logit": LogisticRegression(), "strong": LogisticRegression(C=1e-6)}
    again = compare(classes(), "y", methods=own, repeats=2)
    for a, b in zip(result.leaderboard, again.leaderboard):
        assert a.scores == b.scores and a.p == b.p
    other = compare(classes(), "y", methods=own, repeats=2, random_state=1)
    assert other.leaderboard[0].scores != result.leaderboard[0].scores


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers which rows it saw."""

    seen = []

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.rows_ = X.copy()
        return self

    def predict_proba(self, X):
        Spy.seen.append((self.rows_, X))
        return np.full((len(X), 2), 0.5)


def test_preparation_is_fitted_inside_the_fold():
    Spy.seen.clear()
    n = 60
    x = np.arange(n, dtype=float) ** 2
    x[0] = np.nan
    table = pa.table({"x": x, "y": ["a", "b"] * (n // 2)})
    compare(table, "y", methods={"spy": Spy()}, repeats=1)
    assert len(Spy.seen) == 5
    for train, test in Spy.seen:
        # standardised with the training rows only
        assert np.allclose(train[:, 0].mean(), 0) and np.allclose(train[:, 0].std(), 1)
        assert abs(test[:, 0].mean()) > 1e-6


def test_all_methods_see_the_same_folds():
    Spy.seen.clear()
    compare(classes(60), "y", methods={"a": Spy(), "b": Spy()}, repeats=1)
    a, b = Spy.seen[:5], Spy.seen[5:]
    for (p, q), (r, s) in zip(a, b):
        assert np.array_equal(p, r) and np.array_equal(q, s)


def test_ties_are_called_ties_and_the_simpler_is_kept():
    own = {"plain": LinearRegression(), "ridge": Ridge(alpha=1e-3)}
    r = compare(numbers(), "y", methods=own, repeats=2)
    assert [row.standing for row in r.leaderboard] == ["best", "tied", "worse"]
    assert r.winner == "plain" and "practically equal" in r.verdict
    assert r.metric == "rmse" and r.schema.task == "regression"


def test_a_method_below_the_dummy_is_never_tied():
    own = {"line": LinearRegression(), "wild": Wild()}
    r = compare(numbers(), "y", methods=own, repeats=1)
    last = r.leaderboard[-1]
    assert (last.method, last.standing) == ("wild", "below dummy")
    assert last.p > 0.05 and "wild" not in r.verdict


class Wild(RegressorMixin, BaseEstimator):
    """Right, but for one fold in which it is far off."""

    calls = 0

    def fit(self, X, y):
        Wild.calls += 1
        self.n_calls_ = Wild.calls
        self.line_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.line_.predict(X) + (100 if self.n_calls_ % 5 == 2 else 0)


def test_arrays_lists_and_columns_are_tables_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.1 * rng.normal(size=60) > 0, "b", "a")
    small = {"methods": ["logistic regression"], "repeats": 1, "workers": 0}
    columns = {"x0": X[:, 0], "x1": X[:, 1], "x2": X[:, 2]}
    ways = [
        (X, y),
        (X.tolist(), list(y)),
        (columns, y),
        (columns | {"target": y}, "target"),
        ([dict(zip(("x0", "x1", "x2", "target"), (*r, v))) for r, v in zip(X, y)],)
        + ("target",),
    ]
    found = [compare(*way, **small) for way in ways]
    assert {r.schema.target for r in found} == {"target"}
    assert len({r.leaderboard[0].scores["log loss"].mean for r in found}) == 1
    import pandas as pd

    named = compare(pd.DataFrame(X), pd.Series(y, name="kind"), **small)
    assert named.schema.target == "kind" and named.winner == "logistic regression"


@pytest.mark.parametrize(
    ("table", "target", "says"),
    [
        (np.zeros((4, 2)), np.arange(3), "X has 4 rows, but y has 3"),
        (np.zeros((4, 2)), np.zeros((4, 2)), "one value for each row"),
        (np.zeros((4, 2, 2)), np.arange(4), "must have rows and columns"),
        ({"a": [1, 2, 3], "y": [1, 2, 3]}, "y", "3 different values in 3 rows"),
        ({"a": [1, 2, 3], "y": [1, 2, 3]}, "y", "task='regression' if they are"),
    ],
)
def test_arrays_that_do_not_fit_get_one_sentence(table, target, says):
    with pytest.raises(TableError, match=says):
        compare(table, target)


def test_methods_can_be_left_out_and_must_be_installed():
    rows = numbers()
    r = compare(
        rows, "y", exclude=["ridge"], max_fits=10, repeats=1, folds=2, workers=0
    )
    ran = {t.method.name for t in r.trials}
    assert "ridge" not in ran and "dummy" in ran
    assert dict(r.not_run)["ridge"] == "left out, as asked"
    for wrong, says in (("dummy", "must not name"), ("rigde", "did you mean 'ridge'")):
        with pytest.raises((TableError, ParameterError), match=says):
            compare(rows, "y", exclude=[wrong])
    with pytest.raises(ParameterError, match="can be run here: last value"):
        compare(rows, "y", methods=["last value"])


def test_a_booster_that_is_named_but_absent_stops_the_run(monkeypatch):
    from pansophy.compare.methods import method_choice

    absent = lambda m: "not installed: pip install lightgbm" if m.needs else ""
    monkeypatch.setattr(method_choice, "missing_requirement", absent)
    with pytest.raises(ParameterError, match="LightGBM is not installed: pip install"):
        compare(numbers(), "y", methods=["lightgbm"])


def test_ordered_classes_end_to_end():
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    stars = np.digitize(1.5 * x + rng.logistic(size=200), [-1.5, 0, 1.5]) + 1.0
    table = pa.table({"x": x, "z": rng.normal(size=200), "stars": stars})
    r = compare(
        table,
        "stars",
        methods=["proportional odds", "decision tree"],
        repeats=1,
        workers=0,
    )
    assert r.schema.ordered and r.metric == "ranked probability score"
    assert r.winner == "proportional odds"
    assert r.baselines[0].significant and r.to_dict()["ordered"] is True
    assert set(np.unique(r.predict(table))) <= {1.0, 2.0, 3.0, 4.0}
    plain = compare(
        table, "stars", task="classification", methods=["dummy"], repeats=1, workers=0
    )
    assert plain.metric == "log loss" and not plain.schema.ordered


def test_along_time_the_past_of_the_target_is_ranked_too():
    rng = np.random.default_rng(2)
    t = np.arange(180.0)
    y = np.cumsum(rng.normal(size=180)) + 3 * np.sin(np.pi * t / 6)
    table = pa.table({"day": t, "noise": rng.normal(size=180), "y": y})
    names = ["last value", "seasonal", "drift", "moving average", "ridge with lags"]
    r = compare(
        table, "y", time="day", methods=[*names, "linear regression"], workers=0
    )
    assert set(names) <= {row.method for row in r.leaderboard}
    assert r.leaderboard[0].method in names
    assert str(r.leaderboard[0].test) == "along time"
    assert "last value" in [b.method for b in r.baselines] or r.winner == "last value"
    later = pa.table({"day": t[-5:] + 5, "noise": np.zeros(5)})
    assert np.isfinite(r.predict(later)).all()
    assert not r.level_promised and r.to_dict()["level_promised"] is False
    assert "do not promise their level for later rows" in str(r)
    held = r.level_reached(0.9)
    assert 0.5 < held <= 1 and f"held {100 * held:.0f} % of the later rows" in str(r)
    assert r.to_dict()["level_reached"] == held
    # answers that were missed widen the next intervals, those that fitted do not
    wide = np.ptp(r.model.predict_interval(later, 0.8)[0])
    far = later.append_column("y", pa.array(r.predict(later) + 50.0))
    near = later.append_column("y", pa.array(r.predict(later)))
    missed, fitted = (
        r.model.update_intervals(t).predict_interval(later, 0.8) for t in (far, near)
    )
    assert np.ptp(missed[0]) > wide >= np.ptp(fitted[0])
    with pytest.raises(ValueError, match="there is no 'y'"):
        r.model.update_intervals(later)


def test_noise_is_called_noise():
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=80), "y": rng.choice(["a", "b"], 80)})
    r = compare(table, "y", methods={"logit": LogisticRegression()}, repeats=2)
    assert "Nothing here beats the dummy" in r.verdict


class Failing(RegressorMixin, BaseEstimator):
    def __init__(self, at=3, how="raise"):
        self.at = at
        self.how = how

    calls = 0

    def fit(self, X, y):
        Failing.calls += 1
        if Failing.calls == self.at:
            if self.how == "raise":
                raise FloatingPointError("went\nwrong")
            if self.how == "sleep":
                time.sleep(5)
            if self.how == "ctrl-c":
                raise KeyboardInterrupt
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        bad = self.how == "nan" and Failing.calls == self.at
        return np.full(len(X), np.nan if bad else self.mean_)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("raise", "fold 3 failed: FloatingPointError: went wrong"),
        ("nan", "fold 3 failed: ValueError: predictions are not finite"),
        ("sleep", "took more than 0.5 s (fold 3 of 5)"),
    ],
)
def test_one_bad_fold_disqualifies_with_the_reason(how, says):
    Failing.calls = 0
    limit = 0.5 if how == "sleep" else None
    own = {"bad": Failing(how=how), "ok": LinearRegression()}
    r = compare(numbers(), "y", methods=own, repeats=1, time_limit=limit)
    assert r.disqualified == [("bad", says)]
    assert {row.method for row in r.leaderboard} == {"ok", "dummy"}
    assert f"Disqualified: bad ({says})." in str(r)


def test_ctrl_c_keeps_what_is_finished():
    Failing.calls = 0
    own = {"ok": LinearRegression(), "bad": Failing(how="ctrl-c"), "late": Ridge()}
    r = compare(numbers(), "y", methods=own, repeats=1)
    assert not r.complete and r.winner == "ok"
    assert dict(r.disqualified) == {
        "bad": "interrupted in fold 3 of 5",
        "late": "interrupted before it began",
    }
    assert "INCOMPLETE" in str(r)
    Failing.calls = 2
    engine_only = {"dummy": None, "bad": Failing(how="ctrl-c")}
    with pytest.raises(KeyboardInterrupt):
        compare_first(engine_only)


def compare_first(own):
    """Interrupted before anything finished: nothing to show."""
    methods = choose_methods(NUMBERS, 80, own)[0][1:]
    import pansophy.compare.run_comparison as experiment

    before = experiment.choose_methods
    experiment.choose_methods = lambda *a, **k: (methods, [])
    try:
        compare(numbers(), "y", repeats=1)
    finally:
        experiment.choose_methods = before


def test_no_method_finished():
    import pansophy.compare.run_comparison as experiment

    methods = choose_methods(NUMBERS, 80, {"bad": Failing(at=1)})[0][1:]
    Failing.calls = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "choose_methods", lambda *a, **k: (methods, []))
        with pytest.raises(TableError, match="No method finished: bad"):
            compare(numbers(), "y", repeats=1)


def test_warnings_are_counted_in_the_table():
    own = {"logit": LogisticRegression(max_iter=1)}
    r = compare(classes(), "y", methods=own, repeats=1)
    row = next(row for row in r.leaderboard if row.method == "logit")
    assert row.warnings == {"did not converge": 5} and row.n_fits == 5
    assert r.records()[0]["remarks"] == "did not converge in 5 of 5 fits"


# --- the table as it is ------------------------------------------------------------


def test_troubles_are_noted():
    table = make_customers(120)
    table["left"][3] = None
    table["left"][5] = "maybe"
    r = compare(table, "left", methods={"logit": LogisticRegression()}, repeats=1)
    notes = " ".join(r.notes)
    assert "One row without a known 'left' left out" in notes
    assert "One row left out: the only one of its class" in notes
    assert "'customer_id' left out" in notes and "currency" not in notes
    told = [f.text for f in r.findings if f.column == "currency"]
    assert told == ["'currency' is constant: 'EUR' in all 118 rows. It is left out."]
    assert r.schema.classes == ("no", "yes")


def test_a_rare_class_keeps_the_folds_unless_it_is_one_of_two():
    x = np.random.default_rng(0).normal(size=83)
    own = {"methods": {"logit": LogisticRegression()}, "repeats": 1}
    three = {"x": x, "y": ["a"] * 40 + ["b"] * 40 + ["c"] * 3}
    r = compare(three, "y", **own)
    assert r.settings["folds"] == 5
    assert any("'c' (3 rows) cannot be among the test rows" in n for n in r.notes)
    r = compare({"x": x, "y": ["a"] * 80 + ["c"] * 3}, "y", **own)
    assert r.settings["folds"] == 3 and any("3 folds, since" in n for n in r.notes)


def test_repeats_follow_the_size():
    from pansophy.compare.run_comparison import default_repeats

    sizes = [100, 300, 1000, 20_000, 50_000, 10**6]
    assert [default_repeats(n) for n in sizes] == [10, 10, 5, 5, 2, 1]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"task": "ranking"}, "task must be one of"),
        ({"folds": 1}, "folds must be"),
        ({"repeats": 0}, "repeats must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"metric": "f7"}, "metric must be one of log loss"),
        ({"methods": ["oracle"]}, "no method 'oracle' for classification"),
        ({"methods": {"r": Ridge()}}, "'r' is no estimator for classification"),
    ],
)
def test_bad_settings_get_one_sentence(change, says):
    with pytest.raises(ValueError, match=says) as caught:
        compare(classes(), "y", **change)
    assert "\n" not in str(caught.value)


def test_too_few_rows():
    with pytest.raises(TableError, match="9 rows are too few for 5 folds"):
        compare(numbers(9), "y")


def test_empty_target():
    table = pa.table({"x": [1.0, 2.0], "y": pa.array([None, None], pa.string())})
    with pytest.raises(TableError, match="'y' is empty"):
        compare(table, "y")


@pytest.mark.parametrize(
    "metric", [m.name for m in METRICS if m.task in ("classification", "regression")]
)
def test_every_metric_can_rank(metric):
    task = next(m.task for m in METRICS if m.name == metric)
    table = classes() if task == "classification" else numbers()
    own = {
        "m": LogisticRegression() if task == "classification" else LinearRegression()
    }
    r = compare(table, "y", methods=own, metric=metric.replace(" ", "_"), repeats=1)
    assert r.metric == metric and next(iter(r.leaderboard[0].scores)) == metric
    assert r.winner == "m"


def test_row_losses_agree_with_scores():
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 3, 50), rng.dirichlet(np.ones(3), 50)
    for m in metrics_for("classification"):
        if m.row_losses:
            assert m.from_mean_loss(m.row_losses(y, p).mean()) == pytest.approx(
                m.score(y, p)
            )
    t, q = rng.normal(size=(2, 50))
    for m in metrics_for("regression"):
        if m.row_losses:
            assert m.from_mean_loss(m.row_losses(t, q).mean()) == pytest.approx(
                m.score(t, q)
            )


def test_many_classes_with_words_and_missing_levels():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 150)
    word = np.where(rng.random(150) < 0.7, y, "z").astype(object)
    word[::9] = None
    table = pd.DataFrame({"w": word, "n": rng.normal(size=150), "y": y})
    r = compare(table, "y", methods={"logit": LogisticRegression()}, repeats=1)
    assert r.winner == "logit" and r.leaderboard[0].scores["accuracy"].mean > 0.6
    new = pl.DataFrame({"w": ["a", "never", None], "n": [0.0, None, 1.0]})
    assert set(r.predict(new)) <= {"a", "b", "c"}


# --- what it leaves ----------------------------------------------------------------


def test_saved_winner_predicts_the_same_elsewhere(result, tmp_path):
    result.save(tmp_path / "m.pansophy")
    model = pansophy.load(tmp_path / "m.pansophy")
    new = pa.table({"c": ["u", "new", None], "x": [1.0, None, -2.0], "city": ["?"] * 3})
    assert model.predict(new).tolist() == result.predict(new).tolist()
    p = model.predict_proba(new)
    assert np.allclose(p.sum(1), 1) and model.schema.classes == ("no", "yes")
    assert model.method == "logit" and model.facts["rows"] == 120
    with pytest.raises(TableError, match="lacks the column 'city'"):
        model.predict(new.drop_columns(["city"]))
    line = compare(numbers(), "y", methods={"line": LinearRegression()}, repeats=1)
    assert line.predict(numbers()).shape == (100,)
    with pytest.raises(AttributeError, match="no class probabilities"):
        line.model.predict_proba(numbers())


def test_progress_is_silent_unless_asked(capsys):
    own = {"line": LinearRegression()}
    compare(numbers(), "y", methods=own, repeats=1)
    assert capsys.readouterr() == ("", "")
    compare(numbers(), "y", methods=own, repeats=1, progress=True)
    assert "line" in capsys.readouterr().err


# --- our methods -------------------------------------------------------------------


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_all_of_ours_run_and_can_be_saved(task, tmp_path):
    data = load("customers" if task == "classification" else "diabetes")
    r = compare(data.table.slice(0, 300), data.target, repeats=1, folds=3)
    assert r.disqualified == []
    assert r.winner != "dummy" and len(r.leaderboard) >= 3
    for trial in r.trials:
        path = tmp_path / "t.pansophy"
        pansophy.save(trial.model, path)
        again = pansophy.load(path)
        X = r.data.frame[:20]
        p, q = (raw_predictions(m, X, task) for m in (trial.model, again))
        assert np.array_equal(p, q), trial.method.name
    names = dict(r.not_run)
    assert "does not predict a target" in names["pansophy.cluster"]


def test_methods_can_be_named():
    r = compare(numbers(), "y", methods=["ridge"], repeats=1)
    assert {row.method for row in r.leaderboard} == {"ridge", "dummy"}
    assert dict(r.not_run)["linear regression"] == "not asked for"
    assert dict(r.not_run)["LogisticRegression"] == "predicts classes"


@pytest.mark.slow
def test_a_hundred_thousand_rows():
    begun = time.perf_counter()
    r = compare(make_customers(100_000), "left", methods=["logistic regression"])
    assert r.settings["repeats"] == 2 and r.winner == "logistic regression"
    assert time.perf_counter() - begun < 120
