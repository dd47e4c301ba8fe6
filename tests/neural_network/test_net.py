"""Estimators around a torch module of the user's."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pansophy
from pansophy import losses, persist
from pansophy.neural_network import NetClassifier, NetRegressor


class Scores(torch.nn.Module):
    def __init__(self, n_features, n_classes, hidden=8, dropout=0.0):
        super().__init__()
        self.hidden = torch.nn.Linear(n_features, hidden)
        self.dropout = torch.nn.Dropout(dropout)
        self.scores = torch.nn.Linear(hidden, n_classes)

    def forward(self, X):
        return self.scores(self.dropout(torch.relu(self.hidden(X))))


def pinball(output, target):
    error = target - output
    return torch.maximum(0.9 * error, -0.1 * error)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["a", "b", "c"])[y]


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 2))
    return X, 3 + 2 * X[:, 0] + 0.5 * rng.normal(size=400)


FAST = {"n_epochs": 30, "device": "cpu", "random_state": 0}

LONG = FAST | {"n_epochs": 60, "learning_rate_init": 0.1}


def test_search_over_arguments_of_the_class(iris):
    X, y = iris
    net = NetClassifier(Scores, module_options={"dropout": 0.1}, **FAST)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), net),
        {"netclassifier__module__hidden": [1, 16]},
        cv=2,
    ).fit(X, y)
    best = search.best_estimator_[-1]
    assert search.best_params_ == {"netclassifier__module__hidden": 16}
    assert best.module_options == {"dropout": 0.1, "hidden": 16}
    assert best.nets_[0].hidden.out_features == 16
    assert search.score(X, y) > 0.9
    assert net.module_options == {"dropout": 0.1}


@pytest.mark.parametrize(
    "loss",
    [
        "auto",
        "cross_entropy",
        torch.nn.CrossEntropyLoss,
        torch.nn.CrossEntropyLoss(label_smoothing=0.05),
        lambda output, target: torch.nn.functional.cross_entropy(output, target),
    ],
)
def test_losses_of_classes(iris, loss):
    X, y = iris
    model = NetClassifier(Scores, loss=loss, **FAST).fit(X, y)
    assert model.score(X, y) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_one_column_for_two_classes_equals_two(iris):
    """The same function of X as one score or as the difference of two."""
    X, y = iris
    X, y = X[y != "a"], y[y != "a"]
    one = NetClassifier(torch.nn.Linear(4, 1), **FAST).fit(X, y)
    p = one.predict_proba(X)
    F = one.nets_[0](torch.from_numpy(X).float()).detach().numpy().ravel()
    np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-F)), rtol=1e-4)
    assert (one.predict(X) == np.where(p[:, 1] > 0.5, "c", "b")).all()


def test_log_softmax_outputs_are_left_as_they_are(iris):
    X, y = iris
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LogSoftmax(1))
    model = NetClassifier(net, loss=torch.nn.NLLLoss(), **FAST).fit(X, y)
    out = model.nets_[0].double()(torch.from_numpy(X)).detach().numpy()
    np.testing.assert_allclose(model.predict_proba(X), np.exp(out), rtol=1e-4)


def test_a_quantile_by_a_loss_of_ones_own(line):
    X, y = line
    net = torch.nn.Sequential(torch.nn.LazyLinear(1))
    model = NetRegressor(net, loss=pinball, **LONG).fit(X, y)
    assert abs(np.mean(y <= model.predict(X)) - 0.9) < 0.03
    assert model.target_scale_ == [1.0]  # the loss is in the units of y
    ours = NetRegressor(net, loss=losses.quantile(0.9), **LONG).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), model.predict(X), atol=0.05)


def test_weights_count_rows_and_need_a_loss_per_row(line):
    X, y = line
    w = (X[:, 1] > 0).astype(float)
    all_rows = {"batch_size": 400, "dtype": "float64", **FAST}
    net = torch.nn.Linear(2, 1)
    weighted = NetRegressor(net, **all_rows).fit(X, y, sample_weight=2 * w)
    part = NetRegressor(net, **all_rows).fit(X[w > 0], y[w > 0])
    np.testing.assert_allclose(weighted.predict(X), part.predict(X), rtol=1e-6)
    whole = lambda output, target: ((output - target) ** 2).mean()
    with pytest.raises(ValueError, match="a loss with a value for each row"):
        NetRegressor(net, loss=whole, **FAST).fit(X, y, sample_weight=w + 1)


def test_validation_rows_with_and_without_weights(line):
    X, y = line
    model = NetRegressor(torch.nn.Linear(2, 1), **FAST)
    model.fit(X, y, np.ones(400), validation=(X[:50], y[:50]))
    assert "valid_loss" in model.history_


def test_words_reach_an_embedding_as_whole_numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(200, 5))
    y = (X == 3).any(axis=1)
    net = torch.nn.Sequential(
        torch.nn.Embedding(6, 4), torch.nn.Flatten(), torch.nn.Linear(20, 2)
    )
    model = NetClassifier(net, **(FAST | {"n_epochs": 60})).fit(X, y)
    assert model.score(X, y) > 0.9


def test_images_and_their_shape():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 1, 6, 6))
    y = X[:, 0, :3].mean(axis=(1, 2)) > 0
    net = torch.nn.Sequential(
        torch.nn.LazyConv2d(4, 3), torch.nn.Flatten(), torch.nn.LazyLinear(2)
    )
    model = NetClassifier(net, **FAST).fit(torch.from_numpy(X), y)
    assert model.input_shape_ == (1, 6, 6)
    assert model.score(X, y) > 0.8
    with pytest.raises(ValueError, match="but the module was trained on"):
        model.predict(X.reshape(80, 6, 6, 1))


def test_ensembles_and_dropout_give_the_spread_of_probabilities(iris):
    X, y = iris
    model = NetClassifier(
        Scores, module_options={"dropout": 0.3}, mc_dropout=8, **FAST
    ).fit(X, y)
    mean, spread = model.predict_proba(X, return_std=True)
    assert spread.max() > 0.01
    np.testing.assert_array_equal(mean, model.predict_proba(X))
    linear = NetClassifier(torch.nn.Linear(4, 3), n_estimators=3, **FAST).fit(X, y)
    assert linear.predict_proba(X, return_std=True)[1].max() > 0
    single = NetClassifier(torch.nn.Linear(4, 3), **FAST).fit(X, y)
    with pytest.raises(ValueError, match="n_estimators or mc_dropout"):
        single.predict_proba(X, return_std=True)


def test_optimisers_and_schedules_by_name_or_class(iris):
    X, y = iris
    seen = []
    for optimiser in ("sgd", "rmsprop", torch.optim.Adagrad):
        model = NetClassifier(
            Scores, optimiser=optimiser, learning_rate="one_cycle", **FAST
        ).fit(X, y)
        seen.append(model.loss_)
    assert len(set(seen)) == 3
    with pytest.raises(ValueError, match="Did you mean 'adam"):
        NetClassifier(Scores, optimiser="adamv", **FAST).fit(X, y)
    with pytest.raises(ValueError, match="Did you mean 'cross_entropy'"):
        NetClassifier(Scores, loss="cros_entropy", **FAST).fit(X, y)


def test_what_does_not_fit_is_said(iris):
    X, y = iris
    with pytest.raises(ValueError, match="gives 5 scores for a row, but y has 3"):
        NetClassifier(torch.nn.Linear(4, 5), **FAST).fit(X, y)
    with pytest.raises(ValueError, match="module_options are arguments of a class"):
        NetClassifier(torch.nn.Linear(4, 3), module_options={"bias": False}).fit(X, y)
    with pytest.raises(TypeError, match="no torch module"):
        NetClassifier(lambda: 3, **FAST).fit(X, y)
    with pytest.raises(ValueError, match="gives 2 numbers for a row, but y has 1"):
        NetRegressor(torch.nn.Linear(4, 2), **FAST).fit(X, X[:, 0])
    with pytest.raises(TypeError, match="Did you mean 'loss'"):
        NetClassifier(Scores, criterion="cross_entropy")


def test_training_goes_on(iris):
    X, y = iris
    model = NetClassifier(Scores, **FAST)
    model.partial_fit(X[::2], y[::2], classes=["a", "b", "c"])
    before = model.nets_[0].hidden.weight.clone()
    model.partial_fit(X[1::2], y[1::2])
    assert not torch.equal(before, model.nets_[0].hidden.weight)
    tuned = model.fine_tune(X, y, layers=("scores",))
    assert torch.equal(model.nets_[0].hidden.weight, tuned.nets_[0].hidden.weight)
    assert not torch.equal(model.nets_[0].scores.weight, tuned.nets_[0].scores.weight)


MODULE = """
    import torch
    from pansophy import persist

    @persist.register
    class Halves(torch.nn.Module):
        def __init__(self, n_features, n_outputs):
            super().__init__()
            self.linear = torch.nn.Linear(n_features, n_outputs)

        def forward(self, X):
            return self.linear(X / 2)

    @persist.register
    def absolute(output, target):
        return (output - target).abs()
"""


def test_saved_models_are_read_where_the_class_is_registered(
    line, tmp_path, monkeypatch
):
    X, y = line
    (tmp_path / "halves_of_mine.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(tmp_path)
    import halves_of_mine

    model = NetRegressor(halves_of_mine.Halves, loss=halves_of_mine.absolute, **FAST)
    model.fit(X, y)
    pansophy.save(model, tmp_path / "model.pansophy")
    code = """
        import sys
        sys.path.insert(0, sys.argv[1])
        {}
        import pansophy
        model = pansophy.load(sys.argv[1] + "/model.pansophy")
        print(repr(float(model.predict([[1.0, -1.0]])[0])))
    """
    run = lambda line: subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code).format(line), tmp_path],
        capture_output=True,
        text=True,
    )
    done = run("import halves_of_mine")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(
        float(done.stdout), model.predict([[1.0, -1.0]])[0], rtol=1e-6
    )
    refused = run("")
    assert "which is not an allowed" in refused.stderr


def test_an_unregistered_class_is_not_saved(line, tmp_path):
    X, y = line
    model = NetRegressor(Unknown, **FAST).fit(X, y)
    with pytest.raises(persist.PersistError, match="cannot be saved"):
        pansophy.save(model, tmp_path / "model.pansophy")


class Unknown(torch.nn.Linear):
    def __init__(self, n_features, n_outputs):
        super().__init__(n_features, n_outputs)
