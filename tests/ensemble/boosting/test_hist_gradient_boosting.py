"""Histogram gradient boosting."""

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble as theirs
from sklearn.datasets import make_classification, make_regression
from sklearn.inspection import PartialDependenceDisplay
from sklearn.metrics import log_loss
from sklearn.model_selection import ShuffleSplit

from pansophy import losses, persist
from pansophy.ensemble import (
    HistGradientBoostingClassifier as Classifier,
)
from pansophy.ensemble import (
    HistGradientBoostingRegressor as Regressor,
)


def numbers(n=400, d=5, seed=0):
    return make_regression(n, d, noise=5.0, random_state=seed)


def classes(n=600, k=3, seed=0):
    return make_classification(
        n, 8, n_informative=5, n_classes=k, flip_y=0.1, random_state=seed
    )


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_numbers_as_scikit_learn(loss):
    X, y = numbers(200)  # every value has its own bin
    a = Regressor(loss, max_iter=30).fit(X, y)
    b = theirs.HistGradientBoostingRegressor(loss=loss, max_iter=30).fit(X, y)
    if loss == "squared_error":
        np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-4)
    assert abs(a.score(X, y) - b.score(X, y)) < 0.01


@pytest.mark.parametrize("k", [2, 3])
def test_classes_as_scikit_learn(k):
    X, y = classes(250, k)
    a = Classifier(max_iter=20).fit(X, y)
    b = theirs.HistGradientBoostingClassifier(max_iter=20).fit(X, y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-3)
    assert a.n_trees_per_iteration_ == (1 if k == 2 else k)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_log_links_as_scikit_learn(loss):
    X, y = numbers(200)
    y = np.exp(y / y.std()) + 0.1
    a = Regressor(loss, max_iter=20).fit(X, y)
    b = theirs.HistGradientBoostingRegressor(loss=loss, max_iter=20).fit(X, y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-3)


def test_quantiles_cover():
    X, y = numbers(2000)
    for level in (0.1, 0.5, 0.9):
        model = Regressor("quantile", quantile=level, min_samples_leaf=50).fit(X, y)
        assert abs(np.mean(y <= model.predict(X)) - level) < 0.03


@pytest.mark.parametrize(
    "loss", [losses.huber(0.5), losses.lp(1.5), losses.tukey(50.0), losses.squared]
)
def test_loss_objects(loss):
    X, y = numbers(300)
    model = Regressor(loss, max_iter=40).fit(X, y)
    first = model.history_["objective"][0]
    assert model.history_["objective"][-1] < 0.7 * first


def test_margin_loss_objects():
    X, y = classes(300, 2)
    for loss in (losses.hinge, losses.modified_huber, losses.exponential):
        model = Classifier(loss, max_iter=30).fit(X, y)
        assert model.score(X, y) > 0.85
    with pytest.raises(AttributeError, match="not probabilities"):
        Classifier(losses.hinge, max_iter=2).fit(X, y).predict_proba(X)
    with pytest.raises(ValueError, match="binary classification"):
        Classifier(losses.hinge).fit(*classes(300, 3))


def test_exponential_probabilities():
    X, y = classes(400, 2)
    p = Classifier("exponential", max_iter=20).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert log_loss(y, p) < 0.45


def test_stages_end_at_the_prediction():
    X, y = classes(300, 3)
    model = Classifier(max_iter=7).fit(X, y)
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_allclose(last, model.predict_proba(X))
    assert len(list(model.staged_predict(X))) == model.n_iter_ == 7
    assert model.apply(X).shape == (300, 7, 3)
    X, y = numbers(100)
    model = Regressor(max_iter=5).fit(X, y)
    *_, last = model.staged_predict(X)
    np.testing.assert_allclose(last, model.predict(X))


def test_warm_start_goes_on_where_it_was():
    X, y = classes(400, 3)
    whole = Classifier(max_iter=12, max_features=0.5, random_state=0).fit(X, y)
    model = Classifier(max_iter=5, max_features=0.5, random_state=0, warm_start=True)
    model.fit(X, y)
    model.set_params(max_iter=12).fit(X, y)
    np.testing.assert_allclose(whole.predict_proba(X), model.predict_proba(X))
    np.testing.assert_allclose(whole.history_["objective"], model.history_["objective"])
    with pytest.raises(ValueError, match="max_iter=3"):
        model.set_params(max_iter=3).fit(X, y)


def test_warm_start_with_other_classes():
    model = Classifier(max_iter=2, warm_start=True).fit(*classes(200, 3))
    with pytest.raises(ValueError, match="warm_start goes on"):
        model.fit(*classes(200, 4))


def test_interruption_leaves_a_model(monkeypatch):
    from pansophy.base import InterruptedFitWarning
    from pansophy.ensemble.boosting import boosting

    X, y = numbers(200)
    step, calls = boosting.Booster.step, []

    def stopped(self, state):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return step(self, state)

    model = Regressor(max_iter=10, warm_start=True)
    monkeypatch.setattr(boosting.Booster, "step", stopped)
    with pytest.warns(InterruptedFitWarning):
        model.fit(X, y)
    assert model.n_iter_ == 3
    assert model.interrupted_
    monkeypatch.undo()
    whole = Regressor(max_iter=10).fit(X, y)
    np.testing.assert_allclose(model.fit(X, y).predict(X), whole.predict(X))


def test_early_stopping_by_own_validation_rows():
    X, y = classes(900, 3)
    model = Classifier(early_stopping=True, max_iter=300, learning_rate=0.3)
    model.fit(X[:600], y[:600], X_val=X[600:], y_val=y[600:])
    assert model.n_iter_ < 300
    assert len(model.validation_score_) == len(model.train_score_) == model.n_iter_ + 1
    held = -log_loss(y[600:], model.predict_proba(X[600:]))
    np.testing.assert_allclose(model.validation_score_.max(), held, rtol=1e-9)
    with pytest.raises(ValueError, match="y_val"):
        model.fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="early_stopping"):
        Classifier(early_stopping=False).fit(X, y, X_val=X, y_val=y)


@pytest.mark.parametrize("share", [0.2, 80, ShuffleSplit(1, random_state=0), None])
@pytest.mark.parametrize("scoring", ["loss", "r2", None])
def test_early_stopping_by_rows_held_out(share, scoring):
    X, y = numbers(400)
    model = Regressor(
        early_stopping=True,
        validation_fraction=share,
        scoring=scoring,
        max_iter=400,
        learning_rate=0.5,
        tol=1e-3,
        random_state=0,
    ).fit(X, y)
    assert model.n_iter_ < 400
    assert model.do_early_stopping_
    assert len(model.validation_score_) == (0 if share is None else model.n_iter_ + 1)


@pytest.mark.parametrize("given", [False, True])
def test_a_stopped_model_ends_with_its_best_round(given):
    X, y = classes(900, 3)
    options = {"early_stopping": True, "learning_rate": 0.5, "random_state": 0}
    held = {"X_val": X[600:], "y_val": y[600:]} if given else {}
    best = Classifier(**options).fit(X[:600], y[:600], **held)
    whole = Classifier(**options, keep_best=False).fit(X[:600], y[:600], **held)
    assert best.n_iter_ == whole.n_iter_ > best.best_iteration_
    np.testing.assert_array_equal(best.validation_score_, whole.validation_score_)
    assert best.best_iteration_ == whole.best_iteration_
    assert best.trees_.n_trees == 3 * best.best_iteration_
    assert whole.trees_.n_trees == 3 * whole.n_iter_
    at_best = list(whole.staged_predict_proba(X))[best.best_iteration_ - 1]
    np.testing.assert_allclose(best.predict_proba(X), at_best, rtol=1e-12)


def test_a_warm_start_goes_on_from_the_best_round():
    X, y = classes(900, 2)
    held = {"X_val": X[600:], "y_val": y[600:]}
    options = {"learning_rate": 0.5, "max_iter": 40, "keep_best": True}
    model = Classifier(**options, warm_start=True).fit(X[:600], y[:600], **held)
    scores, best = model.validation_score_, model.best_iteration_
    assert best < model.n_iter_
    model.fit(X[:600], y[:600], **held)
    np.testing.assert_allclose(model.validation_score_[: len(scores)], scores)
    assert len(model.validation_score_) == model.n_iter_ + 1


def test_no_early_stopping_on_small_tables():
    model = Regressor(max_iter=3).fit(*numbers(100))
    assert not model.do_early_stopping_
    assert len(model.train_score_) == 0


def test_missing_values_are_used():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = np.where(rng.random(500) < 0.3, 3.0, X[:, 0])
    X[y == 3.0, 1] = np.nan
    model = Regressor().fit(X, y)
    assert model.score(X, y) > 0.98


def test_a_column_all_missing_is_harmless():
    X, y = numbers(200)
    plain = Regressor(max_iter=10).fit(X, y)
    X = np.column_stack([X, np.full(200, np.nan)])
    model = Regressor(max_iter=10).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X[:, :-1]))


def test_categories_of_a_frame_and_levels_never_seen():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    levels = np.array(["ash", "beech", "cedar", "elm", "fir"])
    effect = np.array([3.0, -2.0, 5.0, 0.0, 1.0])
    c = rng.integers(0, 5, 800)
    x = rng.normal(size=800)
    y = effect[c] + x
    frame = pd.DataFrame({"tree": levels[c], "x": x})
    frame["tree"] = frame["tree"].astype("category")
    model = Regressor(max_iter=60).fit(frame, y)
    assert model.score(frame, y) > 0.98
    assert list(model.is_categorical_) == [True, False]
    new = pd.DataFrame({"tree": ["oak"], "x": [0.0]})
    assert np.isfinite(model.predict(new)).all()
    names = Regressor(max_iter=60, categorical_features=["tree"]).fit(frame, y)
    np.testing.assert_allclose(names.predict(frame), model.predict(frame))
    codes = Regressor(max_iter=60, categorical_features=[0])
    codes.fit(np.column_stack([c, x]), y)
    np.testing.assert_allclose(
        codes.predict(np.column_stack([c, x])), model.predict(frame)
    )


def test_wrong_targets():
    X, y = numbers(50)
    with pytest.raises(ValueError, match="non-negative"):
        Regressor("poisson").fit(X, y - 1000)
    with pytest.raises(ValueError, match="strictly positive"):
        Regressor("gamma").fit(X, np.zeros(50))
    with pytest.raises(ValueError, match="quantile"):
        Regressor("quantile").fit(X, y)


def test_constant_target():
    X, _ = numbers(60)
    model = Regressor(max_iter=5).fit(X, np.full(60, 2.5))
    np.testing.assert_allclose(model.predict(X), 2.5)


def test_balanced_classes_count_rows_by_weight():
    X, y = classes(300, 3)
    w = np.random.default_rng(0).integers(0, 4, len(y))
    options = {"max_iter": 8, "min_samples_leaf": 1, "class_weight": "balanced"}
    weighted = Classifier(**options).fit(X, y, w)
    repeated = Classifier(**options).fit(np.repeat(X, w, 0), np.repeat(y, w))
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7, atol=1e-9
    )


def test_class_weight_is_sample_weight():
    X, y = classes(300, 2)
    a = Classifier(max_iter=10, class_weight={0: 1, 1: 5}).fit(X, y)
    b = Classifier(max_iter=10).fit(X, y, np.where(y == 1, 5.0, 1.0))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
def test_monotone_constraints_hold(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + np.sin(5 * X[:, 0]) + rng.normal(size=400) - X[:, 1]
    model = Regressor(loss, max_iter=40, monotonic_cst=[1, -1]).fit(X, y)
    line = np.column_stack([np.linspace(-3, 3, 200), np.zeros(200)])
    assert np.all(np.diff(model.predict(line)) >= -1e-9)
    assert np.all(np.diff(model.predict(line[:, ::-1])) <= 1e-9)


def test_monotone_constraints_by_name():
    pd = pytest.importorskip("pandas")
    X, y = numbers(200, 2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    a = Regressor(max_iter=5, monotonic_cst={"b": 1}).fit(frame, y)
    b = Regressor(max_iter=5, monotonic_cst=[0, 1]).fit(X, y)
    np.testing.assert_allclose(a.predict(frame), b.predict(X))
    with pytest.raises(ValueError, match="'c'"):
        Regressor(monotonic_cst={"c": 1}).fit(frame, y)
    with pytest.raises(ValueError, match="multiclass"):
        Classifier(monotonic_cst=[1] * 8).fit(*classes())


@pytest.mark.parametrize("rule", ["no_interactions", [[0], [1, 2]]])
def test_interaction_constraints_hold(rule):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2]
    model = Regressor(max_iter=20, interaction_cst=rule).fit(X, y)
    allowed = [{0}, {1}, {2}] if isinstance(rule, str) else [{0}, {1, 2}]
    for tree in model.trees_.to_list():
        paths = [(0, set())]
        while paths:
            node, used = paths.pop()
            if tree.children_left[node] < 0:
                assert not used or any(used <= group for group in allowed)
                continue
            used = used | {int(tree.feature[node])}
            paths += [(c, used) for c in (tree.children_left[node],
                                          tree.children_right[node])]  # fmt: skip
    with pytest.raises(ValueError, match="specifying the position of features, got 7"):
        Regressor(interaction_cst=[[0, 7]]).fit(X, y)


def test_importances_find_the_columns_that_matter():
    X, y = make_regression(500, 6, n_informative=2, random_state=1)
    share = Regressor().fit(X, y).feature_importances_
    np.testing.assert_allclose(share.sum(), 1)
    assert np.sort(share)[-2:].sum() > 0.9


def test_partial_dependence_display():
    pytest.importorskip("matplotlib").use("Agg")
    X, y = classes(200, 2)
    model = Classifier(max_iter=5).fit(X, y)
    shown = PartialDependenceDisplay.from_estimator(
        model, X, [0, (0, 1)], grid_resolution=10
    )
    assert len(shown.pd_results) == 2
    ax = model.plot()
    assert ax.get_xlabel() == "rounds"
    assert len(ax.lines) == 1


def test_the_model_is_a_sum_of_trees():
    from pansophy.tree.storage.additive_trees import as_additive_trees

    X, y = classes(200, 3)
    model = Classifier(max_iter=4).fit(X, y)
    parts = as_additive_trees(model)
    total = np.tile(parts.offset, (len(X), 1))
    for tree, value, k in zip(parts.trees, parts.values, parts.first):
        total[:, k] += value[tree.apply(parts.rows(X)), 0]
    np.testing.assert_allclose(total, model.decision_function(X))


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_other_frames(kind):
    library = pytest.importorskip(kind)
    rng = np.random.default_rng(0)
    c, x = rng.integers(0, 3, 200), rng.normal(size=200)
    data = {"word": np.array(["a", "b", "c"])[c].tolist(), "x": x.tolist()}
    frame = library.DataFrame(data) if kind == "polars" else library.table(data)
    model = Regressor(max_iter=30).fit(frame, c + 0.1 * x)
    assert list(model.is_categorical_) == [True, False]
    assert model.score(frame, c + 0.1 * x) > 0.95


def test_prints_usefully():
    X, y = classes(200, 2)
    text = str(Classifier(max_iter=5).fit(X, y))
    assert "5 trees" in text
    assert "most gain" in text


def test_save_and_load(tmp_path):
    X, y = classes(200, 3)
    model = Classifier(max_iter=5).fit(X, y)
    persist.save(model, tmp_path / "m.pansophy")
    again = persist.load(tmp_path / "m.pansophy")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again.set_params(warm_start=True, max_iter=6).fit(X, y)
    assert again.n_iter_ == 6


def test_large_targets_start_at_their_mean():
    X, y = numbers()
    y = 250_000 + 1000 * y
    model = Regressor(max_iter=3).fit(X, y)
    np.testing.assert_allclose(model.baseline_, y.mean())
    assert model.score(X, y) > 0.3


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_class_of_weight_zero_is_never_predicted(gone):
    X, y = classes()
    model = Classifier(max_iter=5).fit(X, y, sample_weight=(y != gone) * 1.0)
    p = model.predict_proba(X)
    assert p.shape[1] == 3 and p[:, gone].max() < 1e-6
    only = Classifier(max_iter=5).fit(X, y, sample_weight=(y == gone) * 1.0)
    assert set(only.predict(X)) == {gone}


def test_infinite_values_are_the_extremes_of_their_column(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    ranks = X[:, 0].copy()
    X[ranks > 1, 0] = np.inf
    X[ranks < -1, 0] = -np.inf
    y = (ranks > 1) * 2.0 - (ranks < -1) * 3.0 + X[:, 1]
    model = Regressor(max_iter=20).fit(X, y)
    finite = np.clip(X, -50, 50)
    same = Regressor(max_iter=20).fit(finite, y)
    np.testing.assert_allclose(model.predict(X), same.predict(finite))
    assert np.all(np.isfinite(model.trees_.threshold))
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "u", "v")})
    coded = Regressor(max_iter=20, categorical_features=["b"]).fit(frame, y)
    assert coded.score(frame, y) > 0.8
    pd.DataFrame(X, columns=["a", "b"]).to_parquet(tmp_path / "x.parquet")
    read = Regressor(max_iter=20).fit(tmp_path / "x.parquet", y)
    np.testing.assert_allclose(read.predict(tmp_path / "x.parquet"), model.predict(X))
    X[0, 1] = 1e300  # finite, but not as float32
    for table in (X, pd.DataFrame(X)):
        with pytest.raises(ValueError, match="too large for float32"):
            model.fit(table, y)
        with pytest.raises(ValueError, match="too large for float32"):
            same.predict(table)


@pytest.mark.parametrize("label", ["yes", 1, 0])
def test_one_class_is_always_predicted(label):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = Classifier(max_iter=3).fit(X, np.full(30, label))
    assert set(model.predict(X)) == {label}
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((30, 1)))
    assert all(p.shape == (30, 1) for p in model.staged_predict_proba(X))
    assert model.score(X, np.full(30, label)) == 1.0
