"""Ways for an answer to reach the model that is asked for it: none goes through."""

import json

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from pansophy.compare import Comparison, TableError, compare
from pansophy.compare.execution.fit_fold import PreparationCache, fit_fold
from pansophy.compare.loading import load_dataset
from pansophy.compare.options import Options
from tests.compare.small_tables import table_of_noise

QUICK = {"workers": 0, "repeats": 1, "progress": False}


def accuracy(result, name="cheat"):
    return result.row(name).scores["accuracy"].mean


class Peek(ClassifierMixin, BaseEstimator):
    """Looks wherever an estimator can look for rows that it was not given."""

    def __init__(self, seen=None):
        self.seen = seen  # a list that outlives a fit, unless it is copied

    def fit(self, X, y):
        assert X.base is None and y.base is None, "the rest of the table is in reach"
        assert not self.seen, "what an earlier fold saw is still here"
        self.seen.extend(zip(X[:, 0].tolist(), y.tolist()))
        X[:] = np.nan  # nor may it spoil the rows of others
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        assert X.base is None
        known = dict(self.seen)
        assert not set(X[:, 0].tolist()) & set(known)
        X[:] = np.nan
        return np.full((len(X), 2), 0.5)


@pytest.mark.parametrize("workers", [0, 1])
def test_an_estimator_sees_its_training_rows_and_nothing_else(workers):
    methods = {"cheat": Peek([]), "after": GaussianNB()}
    settings = {**QUICK, "workers": workers, "folds": 3}
    found = compare(table_of_noise(), "y", methods=methods, **settings)
    assert found.disqualified == [] and accuracy(found) <= 0.6
    assert methods["cheat"].seen == []


def frozen_selection(X, y):
    return make_pipeline(FrozenEstimator(SelectKBest(k=2).fit(X, y)), GaussianNB())


class Stubborn(GaussianNB):
    """Refuses to forget."""

    def __sklearn_clone__(self):
        return self


@pytest.mark.parametrize(
    "made",
    [
        lambda X, y: FrozenEstimator(KNeighborsClassifier(1).fit(X, y)),
        frozen_selection,
        lambda X, y: Stubborn().fit(X, y),
    ],
)
def test_what_was_fitted_beforehand_is_refused(made):
    table = table_of_noise()
    X = np.column_stack([table[f"x{j}"] for j in range(3)])
    y = (table["y"] == "yes").astype(int)
    with pytest.raises(TableError, match="'cheat' is frozen"):
        compare(table, "y", methods={"cheat": made(X, y)}, **QUICK)


def test_a_fitted_estimator_forgets():
    table = table_of_noise()
    X = np.column_stack([table[f"x{j}"] for j in range(3)])
    cheat = KNeighborsClassifier(1).fit(X, table["y"])
    assert accuracy(compare(table, "y", methods={"cheat": cheat}, **QUICK)) < 0.7


def test_choosing_columns_by_the_answer_helps_nobody():
    table = table_of_noise(60, 100, seed=1)
    chosen = make_pipeline(SelectKBest(k=5), GaussianNB())
    found = compare(table, "y", methods={"cheat": chosen}, **QUICK)
    assert accuracy(found) < 0.7


def test_many_levels_coded_by_the_answer_help_nobody():
    rng = np.random.default_rng(1)
    table = {
        **table_of_noise(200),
        "town": rng.permutation(np.repeat(np.arange(50), 4)),
    }
    table["town"] = np.char.add("t", table["town"].astype(str))
    found = compare(table, "y", methods={"cheat": GaussianNB()}, **QUICK)
    assert accuracy(found) < 0.6


def test_copies_of_rows_are_named_and_can_be_kept_together():
    table = {k: np.tile(v, 3) for k, v in table_of_noise().items()}
    cheat = {"cheat": KNeighborsClassifier(1)}
    apart = compare(table, "y", methods=cheat, **QUICK)
    assert accuracy(apart) > 0.9
    assert any("duplicate" in f.kind for f in apart.findings)
    assert accuracy(compare(table, "y", methods=cheat, together=True, **QUICK)) < 0.7


def test_encoded_answers_and_future_dates_are_named():
    rng = np.random.default_rng(0)
    table = table_of_noise(300)
    code = np.where(table["y"] == "yes", 0.83, 0.21)
    begun = np.datetime64("2024-01-01") + rng.integers(0, 300, 300)
    table |= {
        "town code": code + rng.normal(size=300) * 1e-3,
        "begun": begun.astype("datetime64[s]"),
        "paid": (begun + rng.integers(1, 40, 300)).astype("datetime64[s]"),
    }
    ask = {"methods": {"nb": GaussianNB()}, "time": "begun", **QUICK}
    found = compare(table, "y", **ask)
    named = {(f.column, f.kind) for f in found.findings}
    assert {("town code", "separating column"), ("paid", "future dates")} <= named


def test_predictions_of_a_fold_do_not_depend_on_its_answers():
    """Other answers in the test rows, the same predictions."""
    from pansophy.compare.execution.fit_fold import Workload, fit_context
    from pansophy.compare.execution.plan import ExecutionLimits
    from pansophy.compare.methods.method_choice import choose_methods
    from pansophy.compare.metrics import metrics_for
    from pansophy.compare.splits import make_splits

    rng = np.random.default_rng(0)
    table = {**table_of_noise(80), "k": rng.choice([f"k{i}" for i in range(15)], 80)}
    dataset = load_dataset(table, Options(target="y"))
    data, schema = dataset.data, dataset.schema
    split = make_splits(data, schema, folds=4)
    methods, _ = choose_methods(
        schema, 60, ["naive Bayes", "calibrated naive Bayes"], tune=3
    )
    run = lambda data: [
        fit_fold(
            Workload(
                data,
                schema,
                metrics_for(schema.task),
                split.folds,
                methods,
                fit_context(schema, split.folds, ExecutionLimits()),
            ),
            m,
            0,
            PreparationCache(),
        ).predictions
        for m in range(len(methods))
    ]
    y = data.y.copy()
    y[split.folds[0][1]] ^= 1
    other = type(data)(data.frame, y)
    for a, b in zip(run(data), run(other), strict=True):
        assert np.array_equal(a, b)


def test_tuning_never_sees_the_rows_held_out(monkeypatch):
    """Every row that is prepared or learned from during a fit is a training row."""
    from pansophy.compare.execution import fit_fold as folds
    from pansophy.compare.execution.plan import ExecutionLimits
    from pansophy.compare.methods.method_choice import choose_methods
    from pansophy.compare.metrics import metrics_for
    from pansophy.compare.splits import make_splits
    from pansophy.tables import Preparation

    table = table_of_noise(60)
    row = {x: i for i, x in enumerate(table["x0"].tolist())}  # which one it is
    dataset = load_dataset(table, Options(target="y"))
    data, schema = dataset.data, dataset.schema
    split = make_splits(data, schema, folds=3)
    named = ["naive Bayes", "logistic regression"]
    methods, _ = choose_methods(schema, 40, named, tune=2)
    seen: list = []
    for name in ("fit", "fit_transform", "transform"):
        real = getattr(Preparation, name)

        def spied(self, frame, *rest, real=real, **more):
            if inside:
                seen.extend(row[x] for x in frame.values[:, 0].tolist())
            return real(self, frame, *rest, **more)

        monkeypatch.setattr(Preparation, name, spied)
    inside, fit = [], folds.fit_pipeline

    def watched(*parts):
        inside.append(1)
        try:
            return fit(*parts)
        finally:
            inside.pop()

    monkeypatch.setattr(folds, "fit_pipeline", watched)
    setting = folds.fit_context(schema, split.folds, ExecutionLimits(), "log loss")
    metrics = metrics_for(schema.task)
    work = folds.Workload(data, schema, metrics, split.folds, methods, setting)
    tuned = [m for m, k in enumerate(methods) if k.trials]
    assert len(tuned) == 2
    for m in tuned:
        seen.clear()
        assert fit_fold(work, m, 0, PreparationCache()).failure == ""
        assert set(seen) == set(split.folds[0][0].tolist())


def test_leaks_are_named_at_the_command_line(tmp_path, monkeypatch):
    """An encoded target, copies of rows across folds, a date after the event."""
    monkeypatch.setattr(Comparison, "report", lambda self, path: path)  # no pictures
    rng = np.random.default_rng(0)
    n, copied = 240, np.r_[np.arange(240), np.arange(20)]
    begun = np.datetime64("2024-01-01") + rng.integers(0, 300, n)
    table = {
        "a": rng.normal(size=n).round(3),
        "begun": begun,
        "paid": begun + rng.integers(1, 40, n),
        "y": rng.permutation(np.repeat(["no", "yes"], n // 2)),
    }
    table = {k: v[copied] for k, v in table.items()}
    town, yes = copied % 80, table["y"] == "yes"  # three rows or a few more
    table["town_code"] = (np.bincount(town, yes) / np.bincount(town))[town]
    found = told_by_shell(table, tmp_path, "--time", "begun")
    named = {("paid", "future dates"), ("town_code", "target encoding")}
    assert named <= found and (None, "duplicates") in found
    found = told_by_shell({k: table[k] for k in "ay"}, tmp_path)
    assert (None, "duplicates across folds") in found


def told_by_shell(table, folder, *more):
    """(column, kind) of what `pansophy compare` finds in a table."""
    from typer.testing import CliRunner

    from pansophy.cli import app

    lines = [",".join(table), *(",".join(map(str, r)) for r in zip(*table.values()))]
    (folder / "t.csv").write_text("\n".join(lines))
    words = [
        "compare",
        folder / "t.csv",
        "--target",
        "y",
        "--methods",
        "dummy",
        "--repeats",
        1,
        "--folds",
        3,
        "--out",
        folder / "run",
        "--json",
        *more,
    ]
    done = CliRunner().invoke(app, [str(w) for w in words])
    assert done.exit_code == 0, done.output
    return {(f["column"], f["kind"]) for f in json.loads(done.stdout)["findings"]}
