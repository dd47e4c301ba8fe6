"""Doors for LightGBM and XGBoost users: words, validation sets, own losses."""

import inspect

import numpy as np
import pytest

import pansophy
from pansophy import losses, plot
from pansophy.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from pansophy.ensemble.boosting.booster_words import (
    FIT_WORDS,
    PARAMETER_WORDS,
    WITHOUT_COUNTERPART,
)


def table(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, 2 * X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=n)


def test_words_of_others_are_answered_with_ours():
    """Every entry of the tables leads to a parameter that there is, or to a reason."""
    known = inspect.signature(HistGradientBoostingClassifier).parameters
    known = {*known, *inspect.signature(HistGradientBoostingRegressor).parameters}
    for word, ours in PARAMETER_WORDS.items():
        assert ours in known, word
        classes = HistGradientBoostingClassifier, HistGradientBoostingRegressor
        cls = next(c for c in classes if ours in inspect.signature(c).parameters)
        with pytest.raises(TypeError, match=f"{word!r}.* Did you mean {ours!r}"):
            cls(**{word: 1})
    for word, reason in WITHOUT_COUNTERPART.items():
        with pytest.raises(TypeError) as error:
            HistGradientBoostingRegressor(**{word: 1})
        assert str(error.value).endswith(reason)
    X, y = table(40)
    for word, advice in FIT_WORDS.items():
        with pytest.raises(TypeError) as error:
            HistGradientBoostingRegressor().fit(X, y, **{word: 1})
        assert str(error.value).endswith(advice)
    with pytest.raises(TypeError, match="Did you mean 'n_estimators'"):
        GradientBoostingRegressor(num_boost_round=3)


def test_rounds_after_the_best_are_left_out():
    X, y = table()
    y = (y > 0).astype(int)
    options = {"max_iter": 200, "learning_rate": 0.5, "n_iter_no_change": 8}
    rows = {"eval_set": [(X[300:], y[300:])]}
    cut = HistGradientBoostingClassifier(**options).fit(X[:300], y[:300], **rows)
    whole = HistGradientBoostingClassifier(keep_best=False, **options)
    whole.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    best = int(whole.validation_score_.argmax())
    assert cut.best_iteration_ == whole.best_iteration_ == cut.trees_.n_trees == best
    assert whole.n_iter_ > best
    assert cut.best_score_ == whole.validation_score_.max()
    np.testing.assert_array_equal(
        cut.predict_proba(X), whole.predict_proba(X, n_rounds=best)
    )
    stages = list(whole.staged_predict(X))
    np.testing.assert_array_equal(stages[2], whole.predict(X, n_rounds=3))
    assert len(cut.validation_score_) == cut.n_iter_ + 1
    with pytest.raises(ValueError, match="n_rounds must be from 0 to"):
        cut.predict(X, n_rounds=best + 1)
    held_out = HistGradientBoostingClassifier(early_stopping=True, **options)
    held_out.fit(X, y)  # rows of the training table
    assert held_out.n_iter_ > held_out.best_iteration_ == held_out.trees_.n_trees
    assert not hasattr(cut.set_params(early_stopping=False).fit(X, y), "best_score_")


def test_eval_set_is_checked():
    X, y = table(60)
    model = HistGradientBoostingRegressor(max_iter=2)
    with pytest.raises(ValueError, match="one set of rows is watched"):
        model.fit(X, y, eval_set=[(X, y), (X, y)])
    with pytest.raises(ValueError, match="not both"):
        model.fit(X, y, eval_set=(X, y), X_val=X, y_val=y)


def test_a_plain_function_is_the_loss_that_it_is_the_gradient_of():
    """Squared error written by hand, from the same start: the same model."""
    X, y = table()
    w = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    mean = np.average(y, weights=w)
    own = HistGradientBoostingRegressor(squared_error, max_iter=15)
    own.fit(X, y, w, init_score=mean)
    named = HistGradientBoostingRegressor(max_iter=15).fit(X, y, w)
    np.testing.assert_allclose(own.predict(X), named.predict(X), atol=1e-6)
    assert own.history_["objective"][-1] < own.history_["objective"][0]
    logcosh = lambda y, f: (np.tanh(f - y), np.ones_like(f))
    model = HistGradientBoostingRegressor(logcosh, max_iter=200).fit(X, y)
    assert model.score(X, y) > 0.7
    with pytest.raises(ValueError, match=r"must return \(gradient, curvature\)"):
        HistGradientBoostingRegressor(lambda y, f: f - y).fit(X, y)
    with pytest.raises(ValueError, match="of the shape"):
        HistGradientBoostingRegressor(lambda y, f: (1.0, 1.0)).fit(X, y)


def squared_error(y, f):
    return f - y, np.ones_like(f)


def test_a_model_with_a_registered_function_is_saved(tmp_path):
    X, y = table(80)
    model = HistGradientBoostingRegressor(squared_error, max_iter=3).fit(X, y)
    pansophy.persist.register(squared_error)
    pansophy.save(model, tmp_path / "m")
    np.testing.assert_array_equal(
        pansophy.load(tmp_path / "m").predict(X), model.predict(X)
    )


def test_starting_scores():
    """Rounds from scores of rows fit what these leave, here the same as residuals."""
    X, y = table()
    start = 2 * X[:, 0]
    offset = HistGradientBoostingRegressor(max_iter=10).fit(X, y, init_score=start)
    residual = HistGradientBoostingRegressor(max_iter=10)
    residual.fit(X, y - start, init_score=0.0)
    np.testing.assert_allclose(offset.predict(X), residual.predict(X), atol=1e-6)
    constant = HistGradientBoostingRegressor(max_iter=1).fit(X, y, init_score=7.0)
    assert constant.baseline_ == [7.0]
    with pytest.raises(ValueError, match="init_score must be a number or have"):
        offset.fit(X, y, init_score=start[1:])
    with pytest.raises(ValueError, match="validation rows have none"):
        offset.fit(X, y, init_score=start, eval_set=(X, y))


def test_the_gain_of_a_split():
    """A split of a column of zeros and ones has the gain of eq. (3), by hand."""
    X = np.repeat([0.0, 1.0], 50)[:, None]
    y = np.repeat([-1.0, 2.0], [50, 50])
    g = y - y.mean()
    a = 3.0
    gain = g[:50].sum() ** 2 / (50 + a) + g[50:].sum() ** 2 / (50 + a)
    for factor, leaves in ((0.99, 2), (1.01, 1)):
        model = HistGradientBoostingRegressor(
            max_iter=1, min_split_gain=factor * gain, l2_regularization=a
        ).fit(X, y)
        assert np.sum(model.trees_.children_left < 0) == leaves


def test_rows_drawn_for_each_round():
    X, y = table(2000)
    X_new, y_new = table(2000, seed=1)
    options = {"random_state": 3, "max_iter": 60}
    model = HistGradientBoostingRegressor(subsample=0.4, **options).fit(X, y)
    again = HistGradientBoostingRegressor(subsample=0.4, **options).fit(X, y)
    np.testing.assert_array_equal(model.predict(X_new), again.predict(X_new))
    assert model.trees_.tree(0).n_node_samples[0] == 800
    whole = HistGradientBoostingRegressor(**options).fit(X, y)
    assert not np.array_equal(model.predict(X_new), whole.predict(X_new))
    assert abs(model.score(X_new, y_new) - whole.score(X_new, y_new)) < 0.05
    stages = list(model.staged_predict(X))  # rows not drawn are predicted, too
    loss = np.mean((y - stages[-1]) ** 2) / 2
    assert model._loss().name == losses.half_squared.name
    assert loss < np.mean((y - stages[0]) ** 2) / 2


def test_the_plot_of_a_model():
    X, y = table(100)
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    ax = plot.importance(model)
    shown = [t.get_text() for t in ax.get_yticklabels()]
    assert shown[0] == "x0"
    assert len(shown) == 4
