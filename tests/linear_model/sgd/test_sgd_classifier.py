"""SGDClassifier: worked steps, scikit-learn, partial_fit, options."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

from pansophy.core.loops import threads
from pansophy.linear_model import (
    LogisticRegression,
    SGDClassifier,
    SGDRegressor,
)
from pansophy.params import ParameterError
from tests.linear_model.sgd_objective import sgd_objective
from tests.linear_model.small_problems import linear_rows

PENALTIES = ("l2", "l1", "elasticnet", None)


TWO = np.array([[1.0, 2.0], [1.0, -1.0]])  # two points, constant first


@pytest.fixture(scope="module")
def data():
    return linear_rows()


def one_batch_step(loss):
    model = SGDClassifier(
        loss,
        penalty=None,
        learning_rate="constant",
        eta0=1.0,
        fit_intercept=False,
        batch_size=2,
        max_iter=1,
        tol=None,
    )
    return model.fit(TWO, [1, -1])


def test_one_batch_step_of_hinge_and_logistic():
    np.testing.assert_allclose(one_batch_step("hinge").coef_, [[0, 1.5]])
    model = one_batch_step("log_loss")
    np.testing.assert_allclose(model.coef_, [[0, 0.75]])
    np.testing.assert_allclose(model.history_["objective"], [np.log(2)])
    loss = np.logaddexp(0, -np.array([1, -1]) * (TWO @ model.coef_[0])).mean()
    np.testing.assert_allclose(loss, 0.2941421, atol=5e-8)


def logistic_points(**options):
    X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([0, 1, 0])
    model = SGDClassifier(
        "log_loss",
        penalty=None,
        learning_rate="constant",
        batch_size=3,
        tol=None,
        **options,
    )
    return model.fit(X, y)


def test_logistic_gradient_at_zero_and_the_irls_optimum():
    model = logistic_points(eta0=3.0, max_iter=1)  # 3 times the mean is the sum
    np.testing.assert_allclose(model.intercept_, [-0.5])
    np.testing.assert_allclose(model.coef_, [[0.0]], atol=1e-15)
    model = logistic_points(eta0=1.0, max_iter=2000)
    np.testing.assert_allclose(model.intercept_, [-0.950033], atol=1e-6)
    np.testing.assert_allclose(model.coef_, [[0.338548]], atol=1e-6)


def test_hinge_reaches_zero_loss_only_where_rows_separate():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    how = {"penalty": None, "learning_rate": "constant", "eta0": 0.5, "tol": None}
    model = SGDClassifier(max_iter=200, random_state=0, **how)
    model.fit(X, [0, 0, 0, 1])
    assert model.history_["objective"][-1] == 0
    model.fit(X, [0, 1, 1, 0])
    assert model.history_["objective"].min() > 0.5


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "modified_huber"])
def test_objective_of_scikit_learn(data, loss, penalty, average):
    """Not above that of scikit-learn: a rank test that errs once in a million tries.

    Where the penalty does not hold the weights, runs of both end far apart.
    """
    X, y = data[0], (data[1] > 0).astype(int)
    how = {"penalty": penalty, "alpha": 0.02, "average": average}
    how |= {"max_iter": 60, "tol": None}
    mine, right = [], []
    for seed in range(12):
        ours = SGDClassifier(loss, random_state=seed, **how).fit(X, y)
        theirs = peer.SGDClassifier(loss=loss, random_state=seed, **how).fit(X, y)
        mine.append(sgd_objective(ours, X, y))
        ours.coef_, ours.intercept_ = theirs.coef_, theirs.intercept_
        right.append(sgd_objective(ours, X, y))
    allowed = 1.02 * np.array(right) + 1e-3
    assert stats.mannwhitneyu(mine, allowed, alternative="greater").pvalue > 1e-6


def test_log_loss_comes_to_logistic_regression(data):
    X, y = data[0], (data[1] > 0).astype(int)
    model = SGDClassifier("log_loss", alpha=0.01, average=True, random_state=0)
    model.set_params(max_iter=200, tol=None).fit(X, y)
    exact = LogisticRegression(C=1 / (0.01 * len(y)), tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=0.03)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)


@pytest.mark.parametrize("loss", ["log_loss", "modified_huber"])
def test_probabilities_of_several_classes_are_those_of_scikit_learn(data, loss):
    X, y = data[0], np.digitize(data[1], [-1, 1])
    ours = SGDClassifier(loss, random_state=0).fit(X, y)
    theirs = peer.SGDClassifier(loss=loss, random_state=0).fit(X, y)
    theirs.coef_, theirs.intercept_ = ours.coef_, ours.intercept_
    far = np.vstack([X, 100 * X])
    p, q = ours.predict_proba(far), theirs.predict_proba(far)
    np.testing.assert_allclose(p, q, atol=1e-300)
    with pytest.raises(AttributeError, match="predict_proba"):
        SGDClassifier("hinge").fit(X, y).predict_proba(X)


def test_pa_steps_are_those_of_scikit_learn(data):
    X, y = data
    how = {"shuffle": False, "max_iter": 1, "tol": None, "penalty": None, "eta0": 0.3}
    for step in ("pa1", "pa2"):
        ours = SGDClassifier(learning_rate=step, **how).fit(X, y > 0)
        theirs = peer.SGDClassifier(learning_rate=step, **how).fit(X, y > 0)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-10)
        more = {"loss": "epsilon_insensitive", "learning_rate": step, **how}
        ours, theirs = (m(**more).fit(X, y) for m in (SGDRegressor, peer.SGDRegressor))
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-10)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-10)


@pytest.mark.parametrize("average", [False, 10])
def test_unshuffled_rows_give_the_numbers_of_scikit_learn(data, average):
    X, y = data[0], np.digitize(data[1], [-1, 1])
    how = {"shuffle": False, "max_iter": 3, "tol": None, "average": average}
    how |= {"class_weight": {0: 2.0, 2: 0.5}}
    ours = SGDClassifier(**how).fit(X, y)
    theirs = peer.SGDClassifier(**how).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8)
    assert ours.t_ == theirs.t_ and ours.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("step", ["optimal", "adagrad", "adam", "momentum"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_chunks_in_order_are_one_pass(data, penalty, step, average):
    X, y = data[0], np.digitize(data[1], [-1, 1])
    how = {"shuffle": False, "penalty": penalty, "learning_rate": step}
    how |= {"average": average, "alpha": 0.01}
    whole = SGDClassifier(max_iter=1, tol=None, **how).fit(X, y)
    parts = SGDClassifier(**how)
    for rows in np.array_split(np.arange(len(X)), 7):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-9)
    assert parts.t_ == whole.t_


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("step", ["optimal", "constant", "adam"])
def test_sparse_is_dense(data, penalty, step):
    X, y = data[0] * (np.abs(data[0]) > 1), np.digitize(data[1], [-1, 1])
    how = {"penalty": penalty, "learning_rate": step, "random_state": 3, "alpha": 0.01}
    dense = SGDClassifier(max_iter=5, tol=None, **how).fit(X, y)
    sparse = SGDClassifier(max_iter=5, tol=None, **how).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(sparse.coef_ == 0, dense.coef_ == 0)
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_matrix(X)), dense.decision_function(X)
    )


def test_float32_stays_and_threads_change_nothing(data):
    X, y = data[0], np.digitize(data[1], [-1, 1])
    how = {"random_state": 0, "max_iter": 20, "tol": None, "alpha": 0.01}
    wide = SGDClassifier("log_loss", **how).fit(X, y)
    narrow = SGDClassifier("log_loss", **how).fit(X.astype(np.float32), y)
    assert narrow.coef_.dtype == narrow.intercept_.dtype == np.float32
    np.testing.assert_allclose(narrow.coef_, wide.coef_, atol=1e-3)
    one = SGDClassifier("log_loss", n_jobs=1, **how).fit(X, y)
    np.testing.assert_array_equal(one.coef_, wide.coef_)
    assert threads.available_threads() >= 1


def test_weights_are_repetition_in_expectation(data):
    X, y = data[0], (data[1] > 0).astype(int)
    w = np.arange(len(y)) % 3
    how = {"average": True, "alpha": 0.05, "random_state": 0, "tol": None}
    weighted = SGDClassifier("log_loss", max_iter=300, **how)
    weighted.fit(X, y, sample_weight=w * (len(w) / w.sum()))
    repeated = SGDClassifier("log_loss", max_iter=300, **how)
    repeated.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=0.02)


def test_l1_gives_exact_zeros_and_sparsify_keeps_predictions(data):
    X, y = data
    model = SGDRegressor(penalty="l1", alpha=0.1, random_state=0).fit(X, y)
    assert np.all(model.coef_[[2, 4, 5]] == 0) and np.all(model.coef_[[0, 1]] != 0)
    before = model.predict(X)
    for rows in (X, sp.csr_matrix(X)):
        np.testing.assert_allclose(model.sparsify().predict(rows), before)
    assert sp.issparse(model.coef_)
    np.testing.assert_allclose(np.ravel(model.densify().coef_), model.coef_.ravel())
    model.partial_fit(X, y)
    clf = SGDClassifier(penalty="l1", random_state=0).fit(X, y > 0)
    before = clf.decision_function(X)
    np.testing.assert_allclose(clf.sparsify().decision_function(X), before)


def test_early_stopping_warm_start_and_callers_start(data):
    X, y = data[0], (data[1] > 0).astype(int)
    model = SGDClassifier(early_stopping=True, random_state=0).fit(X, y)
    assert model.converged_ and model.score(X, y) > 0.9
    again = SGDClassifier(warm_start=True, random_state=0, max_iter=5, tol=None)
    again.fit(X, y)
    first = again.history_["objective"][0]
    again.fit(X, y)
    assert again.history_["objective"][0] < first
    start = SGDClassifier(max_iter=1, tol=None, learning_rate="constant", eta0=1e-9)
    start.fit(X, y, coef_init=np.arange(6.0), intercept_init=[2.0])
    np.testing.assert_allclose(start.coef_, [np.arange(6.0)], atol=1e-5)
    with pytest.raises(ValueError, match="coef_init does not match"):
        start.fit(X, y, coef_init=np.zeros(5))
    smooth = SGDRegressor(early_stopping=True, random_state=0).fit(X, data[1])
    assert smooth.score(X, data[1]) > 0.9


def test_limits_are_told(data):
    X, y = data[0], data[1] > 0
    with pytest.warns(ConvergenceWarning, match="before convergence"):
        SGDClassifier(max_iter=2, tol=1e-9).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SGDClassifier(max_iter=2, tol=None).fit(X, y)
    for wrong, words in (
        ({"alpha": 0}, "alpha must be > 0"),
        ({"learning_rate": "pa1", "loss": "log_loss"}, "only works with"),
        ({"learning_rate": "pa2", "batch_size": 4}, "batch_size"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be set"),
        ({"loss": "nothing"}, "loss of SGDClassifier"),
    ):
        with pytest.raises(ParameterError, match=words):
            SGDClassifier(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="of at least 0"):
        SGDRegressor("poisson").fit(X, data[1])


def test_tensors(data):
    torch = pytest.importorskip("torch")
    X, y = data[0], (data[1] > 0).astype(int)
    a = SGDClassifier(random_state=0).fit(X, y)
    b = SGDClassifier(random_state=0).fit(torch.asarray(X), torch.asarray(y))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.predict(X), b.predict(torch.asarray(X)))


def test_losses_are_listed_as_in_scikit_learn():
    assert set(peer.SGDClassifier.loss_functions) <= set(SGDClassifier.loss_functions)
    assert SGDClassifier.loss_functions["huber"][1] == SGDClassifier().epsilon


def test_hinge_steps_reach_the_soft_margin():
    """Steps of 1 / (alpha t) on alpha / 2 |w|^2 + the mean hinge; worked optimum."""
    X = np.array([[2.0, 2], [3, 3], [0, 0], [1, 0], [2.5, 2]])
    y = np.array([1, 1, -1, -1, -1])
    options = {"learning_rate": "invscaling", "eta0": 10.0, "power_t": 1.0}
    model = SGDClassifier(
        "hinge",
        alpha=0.1,
        batch_size=5,
        max_iter=20_000,
        tol=None,
        random_state=0,
        **options,
    ).fit(X, y)
    assert sgd_objective(model, X, y) == pytest.approx(0.41944444, abs=2e-3)
    assert sgd_objective(model, X, y) >= 0.41944444 - 5e-9  # no value is below it


def test_steps_of_single_rows_are_the_batch_step_on_average():
    X = np.array([[2.0, 2], [3, 3], [0, 0], [1, 0], [2.5, 2]])
    y = np.array([1, 1, -1, -1, -1])
    options = {"learning_rate": "constant", "eta0": 0.1, "alpha": 0.1}

    def second_step(rows):
        """After a step with all rows, one with some of them."""
        model = SGDClassifier("hinge", batch_size=5, **options)
        model.partial_fit(X, y, classes=[-1, 1])
        model.partial_fit(X[rows], y[rows])
        return np.append(model.coef_, model.intercept_)

    mean = np.mean([second_step([i]) for i in range(5)], axis=0)
    np.testing.assert_allclose(mean, second_step(np.arange(5)), atol=1e-12)
    assert np.ptp([second_step([i]) for i in range(5)], axis=0).min() > 0.1
