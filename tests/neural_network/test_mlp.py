"""The perceptron estimators: parity with scikit-learn, and what ours adds."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # nets this small lose time to a second thread

from sklearn import neural_network as peers  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from pansophy import neural_network as ours  # noqa: E402
from pansophy import nn, persist  # noqa: E402
from pansophy.base import InterruptedFitWarning  # noqa: E402
from pansophy.neural_network import MLPClassifier, MLPRegressor  # noqa: E402
from pansophy.params import ParameterError  # noqa: E402

MODELS = [MLPClassifier, MLPRegressor]


def quiet(model, *args, **options):
    """Fit without the note that max_iter was reached."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **options)


@parametrize_with_checks(
    [MLPClassifier(max_iter=40, device="cpu"), MLPRegressor(max_iter=40, device="cpu")]
)
def test_scikit_learn_s_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.mark.parametrize("cls", MODELS)
def test_parameters_and_defaults_are_scikit_learn_s(cls):
    peer = getattr(peers, cls.__name__)()
    given = cls().get_params()
    for name, value in peer.get_params().items():
        assert given[name] == value, name


# -- the same steps as scikit-learn from the same weights ---------------------------


def targets(kind, X):
    rng = np.random.default_rng(5)
    z = rng.integers(0, 3, len(X))
    return {
        "classes": z,
        "two": np.where(X[:, 0] > 0, "yes", "no"),
        "labels": np.stack([X[:, 0] > 0, z > 0, z > 1], 1).astype(int),
        "numbers": X @ rng.normal(size=X.shape[1]),
        "columns": X[:, :2] ** 2,
        "counts": rng.poisson(np.exp(X[:, 0])),
    }[kind]


SAME = [
    ("MLPClassifier", "classes", {"solver": "sgd", "learning_rate_init": 0.1}),
    ("MLPClassifier", "classes", {"solver": "sgd", "nesterovs_momentum": False}),
    ("MLPClassifier", "two", {"solver": "sgd", "momentum": 0, "activation": "tanh"}),
    (
        "MLPClassifier",
        "labels",
        {"solver": "sgd", "learning_rate": "invscaling", "learning_rate_init": 0.5},
    ),
    (
        "MLPClassifier",
        "classes",
        {
            "solver": "sgd",
            "learning_rate": "adaptive",
            "learning_rate_init": 0.5,
            "n_iter_no_change": 1,
            "tol": 0.01,
        },
    ),
    ("MLPClassifier", "classes", {"activation": "tanh"}),
    ("MLPClassifier", "two", {"activation": "logistic", "alpha": 1.0}),
    ("MLPRegressor", "numbers", {"activation": "identity"}),
    ("MLPRegressor", "numbers", {"solver": "sgd", "hidden_layer_sizes": 9}),
    ("MLPRegressor", "columns", {"solver": "sgd", "hidden_layer_sizes": ()}),
    ("MLPRegressor", "counts", {"loss": "poisson", "activation": "tanh"}),
    ("MLPRegressor", "numbers", {"solver": "lbfgs", "max_iter": 15}),
    ("MLPClassifier", "classes", {"solver": "lbfgs", "max_iter": 15}),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "kind", "options"), SAME)
def test_same_path_as_scikit_learn(name, kind, options, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = targets(kind, X)
    w = rng.integers(0, 4, 300).astype(float) if weighted else None
    options = {
        "hidden_layer_sizes": (9, 5),
        "shuffle": False,
        "random_state": 0,
        "max_iter": 12,
        "batch_size": 64,
        **options,
    }
    peer = getattr(peers, name)(**options)
    start = {}
    init = type(peer)._init_coef

    def recorded(self, fan_in, fan_out, dtype):
        W, b = init(self, fan_in, fan_out, dtype)
        start.setdefault("W", []).append(W.copy())
        start.setdefault("b", []).append(b.copy())
        return W, b

    monkeypatch.setattr(type(peer), "_init_coef", recorded)
    quiet(peer, X, y, sample_weight=w)
    monkeypatch.setattr(nn, "glorot_uniform", lambda *_: (start["W"], start["b"]))
    model = quiet(getattr(ours, name)(device="cpu", **options), X, y, sample_weight=w)
    assert model.n_iter_ == peer.n_iter_ and model.t_ == peer.t_
    assert model.out_activation_ == peer.out_activation_
    assert model.n_layers_ == peer.n_layers_ and model.n_outputs_ == peer.n_outputs_
    tight = options.get("solver") != "adam" and "solver" in options
    # Adam: ours adds epsilon after the start is corrected for, theirs before
    close = {"rtol": 1e-7, "atol": 1e-9} if tight else {"rtol": 1e-2, "atol": 1e-4}
    for one, two in zip(model.coefs_, peer.coefs_, strict=True):
        np.testing.assert_allclose(one, two, **close)
    if kind != "columns":  # there the peer's loss is a mean, its gradient a sum
        assert model.loss_ == pytest.approx(peer.loss_, rel=1e-6 if tight else 1e-3)
    if kind in ("numbers", "columns", "counts"):
        np.testing.assert_allclose(model.predict(X), peer.predict(X), **close)
    else:
        np.testing.assert_allclose(
            model.predict_proba(X), peer.predict_proba(X), **close
        )
        assert (model.predict(X) == peer.predict(X)).mean() > 0.99


def test_as_good_as_scikit_learn_on_digits():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    options = {"hidden_layer_sizes": 32, "max_iter": 30, "random_state": 0}
    peer = quiet(peers.MLPClassifier(**options), X[:1200], y[:1200])
    model = quiet(MLPClassifier(device="cpu", **options), X[:1200], y[:1200])
    assert model.loss_ == pytest.approx(peer.loss_, rel=0.15)
    assert model.score(X[1200:], y[1200:]) > peer.score(X[1200:], y[1200:]) - 0.02


# -- data ---------------------------------------------------------------------------


@pytest.fixture
def table():
    X, y = make_classification(200, 8, n_informative=5, n_classes=3, random_state=0)
    return X, y


def classifier(**options):
    settings = {"hidden_layer_sizes": 8, "random_state": 0, "device": "cpu"}
    return MLPClassifier(**{**settings, "max_iter": 5, **options})


def regressor(**options):
    settings = {"hidden_layer_sizes": 8, "random_state": 0, "device": "cpu"}
    return MLPRegressor(**{**settings, "max_iter": 5, **options})


def test_float32_stays(table):
    X, y = table
    model = quiet(classifier(), X.astype(np.float32), y)
    assert all(a.dtype == np.float32 for a in model.coefs_ + model.intercepts_)
    assert model.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert quiet(classifier(), X, y).coefs_[0].dtype == np.float64


def test_sparse_rows_are_the_same_rows(table):
    X, y = table
    X = np.where(np.abs(X) > 1, X, 0)
    dense, sparse = quiet(classifier(), X, y), quiet(classifier(), sp.csr_array(X), y)
    np.testing.assert_allclose(dense.coefs_[0], sparse.coefs_[0])
    np.testing.assert_allclose(
        dense.predict_proba(X), sparse.predict_proba(sp.csc_matrix(X))
    )


def test_tensors_in_tensors_out(table):
    X, y = table
    model = quiet(classifier(), X, y)
    other = quiet(classifier(), torch.as_tensor(X), torch.as_tensor(y))
    np.testing.assert_array_equal(model.coefs_[0], other.coefs_[0])
    found = other.predict(torch.as_tensor(X))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), model.predict(X))
    share = {"early_stopping": True}
    model = quiet(classifier(**share), X, y)
    other = quiet(classifier(**share), torch.as_tensor(X), torch.as_tensor(y))
    np.testing.assert_array_equal(model.coefs_[0], other.coefs_[0])
    numbers = quiet(regressor(**share), torch.as_tensor(X), torch.as_tensor(X[:, 0]))
    assert isinstance(numbers.predict(torch.as_tensor(X)), torch.Tensor)


def test_log_probabilities_do_not_underflow(table):
    X, y = table
    for labels in (y, y > 0):
        model = quiet(classifier(max_iter=30, learning_rate_init=0.1), X, labels)
        far = 1e4 * X
        assert np.isfinite(model.predict_log_proba(far)).all()
        np.testing.assert_allclose(
            np.exp(model.predict_log_proba(X)), model.predict_proba(X), atol=1e-12
        )


def test_one_class_and_unknown_classes(table):
    X, y = table
    lone = quiet(classifier(), X, np.full(len(X), "a"))
    assert (lone.predict(X) == "a").all()
    assert (lone.predict_proba(X) == 1).all()
    with pytest.raises(ValueError, match="does not know"):
        classifier().fit(X, y, validation=(X, y + 1))


def test_bad_values_are_named(table):
    X, y = table
    for wrong in (
        {"hidden_layer_sizes": (3, 0)},
        {"hidden_layer_sizes": 2.5},
        {"activation": "relu6"},
        {"dropout": 1.0},
        {"device": "gpu"},
        {"solver": "rmsprop"},
    ):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            classifier(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="not be negative"):
        regressor(loss="poisson").fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="early_stopping has no effect"):
        stopped = quiet(classifier(solver="lbfgs", early_stopping=True), X, y)
    plain = quiet(classifier(solver="lbfgs"), X, y)
    np.testing.assert_array_equal(stopped.coefs_[0], plain.coefs_[0])
    with pytest.warns(UserWarning, match="batch_size is 999"):
        quiet(classifier(batch_size=999, max_iter=1), X, y)


@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
@pytest.mark.parametrize("make", [classifier, regressor])
def test_values_whose_squares_overflow_are_refused(make, solver, table):
    X, y = table
    model = make(solver=solver)
    one = X.copy()
    one[3, 1] = 1e300
    mixed = X * np.where(np.arange(X.shape[1]) == 1, 1e200, 1.0)
    for A in (1e300 * X, one, mixed, (1e25 * X).astype(np.float32)):
        with pytest.raises(ValueError, match=r"squares overflow float.*Scale"):
            model.fit(A, y)
        with pytest.raises(ValueError, match="squares overflow float"):
            model.fit(sp.csr_matrix(A), y)
    assert not hasattr(model, "coefs_")


@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_training_that_only_diverges_is_refused(solver, table):
    X, y = table
    with pytest.raises(ValueError, match="non-finite parameter weights"):
        regressor(solver=solver).fit(X, 1e300 * X[:, 0])
    if solver == "sgd":
        with pytest.raises(ValueError, match="non-finite parameter weights"):
            regressor(solver=solver).fit(1e30 * X, y)
        with pytest.raises(ValueError, match="non-finite parameter weights"):
            regressor(solver=solver, learning_rate_init=1e6).fit(X, y)


def test_warm_start_refuses_another_net(table):
    X, y = table
    y = np.arange(len(y)) % 3
    model = classifier(warm_start=True, max_iter=2)
    model = quiet(model, X, y)
    for other in (y % 2, np.full(len(y), 1), y + 1, y.astype(str)):
        with pytest.raises(ValueError, match="same classes as in the previous call"):
            model.fit(X, other)
    with pytest.raises(ValueError, match="hidden_layer_sizes"):
        model.set_params(hidden_layer_sizes=(7, 7)).fit(X, y)
    number = quiet(regressor(warm_start=True, max_iter=2), X, X[:, 0])
    with pytest.raises(ValueError, match="2 outputs"):
        number.fit(X, X[:, :2])
    with pytest.raises(ValueError, match="exp"):
        number.set_params(loss="poisson").fit(X, X[:, 0] ** 2)
    with pytest.raises(ValueError, match="features"):
        number.set_params(loss="squared_error").fit(X[:, :2], X[:, 0])


# -- stopping -----------------------------------------------------------------------


def test_early_stopping_by_own_rows(table):
    X, y = table
    mine = X[150:], y[150:]
    model = classifier(max_iter=500, learning_rate_init=0.01, n_iter_no_change=5)
    model.fit(X[:150], y[:150], validation=mine)
    scores = model.validation_scores_
    assert model.converged_ and model.n_iter_ == len(scores) < 500
    assert model.best_validation_score_ == max(scores)
    assert model.score(*mine) == pytest.approx(max(scores))  # the best was restored
    assert model.best_loss_ is None
    speeds = {"rows_per_second", "flops_per_second"}
    assert set(model.history_) - speeds == {"loss", "valid_loss", "validation_score"}
    weights = np.ones(50)
    again = classifier(max_iter=500, learning_rate_init=0.01, n_iter_no_change=5)
    again.fit(X[:150], y[:150], validation=(*mine, weights))
    np.testing.assert_array_equal(again.coefs_[0], model.coefs_[0])


@pytest.mark.parametrize("wrong", [3, (1, 2, 3, 4), ([[1.0]], [1])])
def test_bad_validation(wrong, table):
    with pytest.raises(ValueError, match=r"validation|features"):
        classifier().fit(*table, validation=wrong)


def test_early_stopping_by_a_share(table):
    X, y = table
    model = classifier(early_stopping=True, max_iter=500, learning_rate_init=0.01)
    model.fit(X, y)
    assert model.validation_scores_ and model.t_ == model.n_iter_ * 180
    numbers = regressor(early_stopping=True, max_iter=500, learning_rate_init=0.05)
    numbers.fit(X, X[:, 0])
    assert numbers.best_validation_score_ == max(numbers.validation_scores_)
    with pytest.raises(ValueError, match="too small"):
        classifier(early_stopping=True, validation_fraction=0.001).fit(X, y > 9)


def test_reaching_max_iter_warns(table):
    with pytest.warns(ConvergenceWarning, match="did not converge in 5"):
        classifier().fit(*table)


def test_interrupted_fit_is_usable(table, monkeypatch):
    X, y = table
    calls = []
    gradients = nn.MLP.gradients

    def pull(self, batch):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return gradients(self, batch)

    monkeypatch.setattr(nn.MLP, "gradients", pull)
    with pytest.warns(InterruptedFitWarning, match="interrupted after 3"):
        model = classifier(max_iter=50).fit(X, y)
    assert model.interrupted_ and model.predict(X).shape == (200,)


# -- going on -----------------------------------------------------------------------


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_resumed_fit_is_the_same_fit(table, tmp_path, dropout):
    X, y = table
    options = {"dropout": dropout, "batch_size": 32, "early_stopping": True}
    whole = quiet(classifier(max_iter=8, **options), X, y)
    file = tmp_path / "net"
    quiet(classifier(max_iter=3, checkpoint=file, **options), X, y)
    rest = classifier(max_iter=8, checkpoint=str(file), resume=True, **options)
    quiet(rest, X, y)
    assert rest.n_iter_ == whole.n_iter_ == 8
    assert rest.loss_curve_ == whole.loss_curve_
    for one, two in zip(rest.coefs_, whole.coefs_, strict=True):
        np.testing.assert_array_equal(one, two)


def test_resume_refuses_other_data(table, tmp_path):
    X, y = table
    file = tmp_path / "net"
    quiet(classifier(checkpoint=file), X, y)
    with pytest.raises(ValueError, match="belongs to another run"):
        classifier(checkpoint=file, resume=True).fit(X + 1, y)
    with pytest.raises(ValueError, match="belongs to another run"):
        classifier(checkpoint=file, resume=True, alpha=1.0).fit(X, y)


def test_warm_start_goes_on(table):
    X, y = table
    model = quiet(classifier(warm_start=True), X, y)
    curve = list(model.loss_curve_)
    quiet(model, X, y)
    assert model.n_iter_ == 5 and model.t_ == 2000
    assert model.loss_curve_[:5] == curve and len(model.loss_curve_) == 10
    assert model.loss_curve_[-1] < curve[-1]
    with pytest.raises(ValueError, match="same classes"):
        model.fit(X, y + 1)


def test_partial_fit_keeps_the_optimiser_s_memory(table):
    X, y = table
    model = classifier(shuffle=False)
    for _ in range(5):
        model.partial_fit(X, y, classes=[0, 1, 2])
    whole = quiet(classifier(shuffle=False), X, y)
    for one, two in zip(model.coefs_, whole.coefs_, strict=True):
        np.testing.assert_array_equal(one, two)
    assert model.t_ == whole.t_ and model.loss_curve_ == whole.loss_curve_
    numbers = regressor().partial_fit(X, X[:, 0])
    assert numbers.partial_fit(X, X[:, 0]).t_ == 400


def test_partial_fit_rules(table):
    X, y = table
    with pytest.raises(ValueError, match="first call"):
        classifier().partial_fit(X, y)
    assert not hasattr(classifier(solver="lbfgs"), "partial_fit")
    with pytest.raises(ValueError, match="does not support early_stopping"):
        classifier(early_stopping=True).partial_fit(X, y, classes=[0, 1, 2])
    model = classifier().partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (200, 3)
    with pytest.raises(ValueError, match="not the same"):
        model.partial_fit(X, y, classes=[0, 1])


def test_same_seed_same_model_and_another_one(table):
    X, y = table
    one, two = (quiet(classifier(), X, y) for _ in range(2))
    other = quiet(classifier(random_state=1), X, y)
    np.testing.assert_array_equal(one.coefs_[1], two.coefs_[1])
    assert not np.array_equal(one.coefs_[1], other.coefs_[1])


@pytest.mark.parametrize("model", [classifier(), regressor(hidden_layer_sizes=(4, 3))])
def test_save_and_load(model, table, tmp_path):
    X, y = table
    quiet(model, X, y)
    persist.save(model, tmp_path / "model")
    back = persist.load(tmp_path / "model")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    options = {"classes": [0, 1, 2]} if isinstance(model, MLPClassifier) else {}
    model.partial_fit(X, y, **options)
    back.partial_fit(X, y, **options)  # the optimiser's memory was saved too
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


def test_callbacks_see_a_model_that_predicts(table):
    from sklearn.callback import FitCallback

    X, y = table
    seen = []

    class Watch(FitCallback):
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **_):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, **_):
            if fitted_estimator is not None:
                seen.append(fitted_estimator.score(X, y))
            return len(seen) == 3

        def teardown(self, estimator, context):
            pass

    model = classifier(max_iter=50).set_callbacks(Watch())
    model.fit(X, y)
    assert model.n_iter_ == 3 and len(seen) >= 3
    assert model.score(X, y) == seen[2]


def test_clone_and_print():
    model = classifier(hidden_layer_sizes=(3, 4))
    assert clone(model).hidden_layer_sizes == (3, 4)
    assert "hidden_layer_sizes=(3, 4)" in repr(model)


def test_without_torch_the_message_says_what_to_install():
    code = (
        "from importlib.machinery import PathFinder\n"
        "find = PathFinder.find_spec\n"
        "hidden = lambda name, *a: None if name == 'torch' else find(name, *a)\n"
        "PathFinder.find_spec = staticmethod(hidden)\n"
        "try:\n    from pansophy.neural_network import MLPClassifier\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "pip install 'pansophy[deep]'" in done.stdout


def test_divergence_with_early_stopping_keeps_the_best_epoch(table):
    X, y = table
    model = MLPRegressor(
        activation="identity",
        solver="sgd",
        learning_rate_init=1.0,
        max_iter=20,
        early_stopping=True,
        random_state=0,
        device="cpu",
    )
    with pytest.warns(ConvergenceWarning, match="diverged"):
        model.fit(100 * X, y)
    assert np.isnan(model.validation_scores_[-1])
    assert model.best_validation_score_ == np.nanmax(model.validation_scores_)
    assert all(np.isfinite(W).all() for W in model.coefs_)


def test_log_probabilities_of_labels_tie_where_probabilities_do():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * 1000
    model = quiet(classifier(max_iter=100), X, (X > 0).astype(int))
    p = model.predict_proba(X)
    assert (p == 1).sum() > 10
    some = p > 0
    log_p = model.predict_log_proba(X)
    np.testing.assert_allclose(log_p[some], np.log(p[some]), rtol=1e-9)


def test_verbose_prints_the_loss_of_each_iteration(table, capsys):
    quiet(classifier(max_iter=3, verbose=2), *table)
    out = capsys.readouterr().out
    assert [f"Iteration {i}, objective" in out for i in (1, 2, 3, 4)] == [1, 1, 1, 0]


@pytest.mark.gpu
@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_cuda_agrees_with_cpu(table, solver):
    X, y = table
    here = quiet(classifier(solver=solver, learning_rate_init=0.01), X, y)
    there = quiet(
        classifier(solver=solver, learning_rate_init=0.01, device="cuda"), X, y
    )
    for one, two in zip(here.coefs_, there.coefs_, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-8)


@pytest.mark.gpu
def test_cuda_tensors_and_resume(table, tmp_path):
    X = torch.as_tensor(table[0], device="cuda")
    y = torch.as_tensor(table[1], device="cuda")
    options = {"device": "auto", "dropout": 0.2, "batch_size": 32}
    options["early_stopping"] = True
    whole = quiet(classifier(max_iter=6, **options), X, y)
    file = tmp_path / "net"
    quiet(classifier(max_iter=3, checkpoint=file, **options), X, y)
    rest = quiet(classifier(max_iter=6, checkpoint=file, resume=True, **options), X, y)
    np.testing.assert_array_equal(rest.coefs_[0], whole.coefs_[0])
    assert whole.predict(X).device.type == "cuda"
