"""Saliency: gradients of linear scores, completeness of integrated gradients."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402
from pansophy.neural_network import (  # noqa: E402
    ConvClassifier,
    FTTransformerClassifier,
    MLPClassifier,
    MLPRegressor,
    SequenceClassifier,
    TabularResNetClassifier,
)


def test_gradients_of_a_linear_net_are_its_weights():
    net = torch.nn.Linear(3, 2)
    X = np.random.default_rng(0).normal(size=(4, 3))
    for k in (0, 1):
        found = nn.saliency(net, X, k)
        wanted = np.tile(net.weight[k].detach().numpy(), (4, 1))
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    integrated = nn.saliency(net, X, 0, method="integrated", baseline=1.0, steps=2)
    wanted = (X.astype(np.float32) - 1) * net.weight[0].detach().numpy()
    np.testing.assert_allclose(integrated, wanted, rtol=1e-5)


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(0)
    X = rng.random((40, 5, 5, 2))
    y = (X[..., 0].mean((1, 2)) > 0.5).astype(int)
    options = {"n_filters": (4,), "activation": "elu", "pooling": "average"}
    model = ConvClassifier(**options, n_epochs=8, random_state=0, device="cpu")
    return model.fit(X, y), X


@pytest.mark.parametrize("baseline", [0.0, "image"])
def test_integrated_gradients_are_complete(trained, baseline):
    model, X = trained
    start = X.mean(0) if baseline == "image" else np.zeros(X.shape[1:])
    given = start if baseline == "image" else 0.0
    found = nn.saliency(model, X, 1, method="integrated", baseline=given, steps=64)
    assert found.shape == X.shape
    at, before = (model._raw_outputs(Z)[0][:, 1] for Z in (X, start[None]))
    total = found.reshape(len(X), -1).sum(1)
    np.testing.assert_allclose(total, at - before, atol=1e-3)


def test_gradients_against_differences(trained):
    model, X = trained
    found = nn.saliency(model, X[:2], 0)
    step = 1e-4
    for place in ((0, 0, 0), (2, 3, 1)):
        up, down = X[:2].copy(), X[:2].copy()
        up[(slice(None), *place)] += step
        down[(slice(None), *place)] -= step
        change = model._raw_outputs(up)[0][:, 0] - model._raw_outputs(down)[0][:, 0]
        np.testing.assert_allclose(
            found[(slice(None), *place)], change / (2 * step), rtol=1e-3, atol=1e-6
        )


def test_the_likeliest_class_is_the_default_and_bad_methods_are_refused(trained):
    model, X = trained
    best = model.predict(X[:3])
    assert np.array_equal(nn.saliency(model, X[:3]), nn.saliency(model, X[:3], best))
    with pytest.raises(ValueError, match='method must be "gradient"'):
        nn.saliency(model, X[:3], method="occlusion")


def test_sequences_against_differences(rng):
    X = [rng.normal(2.0, 3.0, size=(n, 2)) for n in rng.integers(3, 7, 30)]
    y = np.array([int(x[0, 0] > 2) for x in X])
    model = SequenceClassifier("gru", hidden_size=4, n_epochs=2, random_state=0)
    model.fit(X, y)
    S = nn.saliency(model, X, 1)
    score = lambda x: model._raw_outputs([x])[0, 0, 1]
    h = 1e-5
    for t, j in ((0, 0), (2, 1)):
        step = np.zeros_like(X[0])
        step[t, j] = h
        slope = (score(X[0] + step) - score(X[0] - step)) / (2 * h)
        assert S[0][t, j] == pytest.approx(slope, rel=1e-5, abs=1e-8)
    assert [s.shape for s in S] == [x.shape for x in X]
    whole = nn.saliency(model, X, 1, method="integrated", baseline=1.0, steps=64)
    gap = score(X[3]) - score(np.ones_like(X[3]))
    assert whole[3].sum() == pytest.approx(gap, rel=1e-6)
    cube = np.stack([x[:3] for x in X])
    assert nn.saliency(model, cube).shape == cube.shape
    features = nn.FeatureExtractor(model)
    F = features.fit_transform(X)
    assert F.shape == (30, 4)
    np.testing.assert_allclose(features.transform(X[4:5]), F[4:5], atol=1e-6)
    words = SequenceClassifier("gru", hidden_size=4, n_epochs=1)
    with pytest.raises(ValueError, match="not tokens"):
        nn.saliency(words.fit([["a", "b"], ["b", "a"]], [0, 1]), [["a", "b"]])


@pytest.fixture(
    scope="module", params=[TabularResNetClassifier, FTTransformerClassifier]
)
def of_a_table(request):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(50, 20, 60)})
    table["city"] = rng.choice(["Bern", "Pune"], 60)
    table["b"] = rng.normal(size=60)
    y = (table.a / 20 + 3 * (table.city == "Bern") + table.b > 4).astype(int)
    model = request.param(n_epochs=3, embedding=None, random_state=0, dtype="float64")
    return model.fit(table, y), table


def net_score(model, table):
    """The score of the second class by the net itself, from scaled numbers."""
    numbers, codes = map(torch.from_numpy, model.net_inputs(table))
    with torch.no_grad():
        return model.nets_[0](numbers, codes)[:, 1].numpy()


def test_saliency_of_a_table_is_in_its_units(of_a_table):
    """Against differences, but across kinks of units; categories have no slope."""
    model, table = of_a_table
    found = nn.saliency(model, table, 1)
    assert found.shape == table.shape and np.isnan(found[:, 1]).all()
    for j, step in ((0, 1e-4), (2, 1e-5)):
        up, down = table.copy(), table.copy()
        up.iloc[:, j] += step
        down.iloc[:, j] -= step
        change = net_score(model, up) - net_score(model, down)
        close = np.isclose(found[:, j], change / (2 * step), rtol=1e-3, atol=1e-6)
        assert close.mean() > 0.9


@pytest.mark.parametrize("baseline", [10.0, "row"])
def test_integrated_gradients_of_a_table_are_complete(of_a_table, baseline):
    """They sum to the change of the score from the baseline of the same category."""
    model, table = of_a_table
    start = table.copy()
    start["a"], start["b"] = (10.0, 10.0) if baseline == 10.0 else (40.0, -1.0)
    given = baseline if baseline == 10.0 else start.iloc[:1]
    found = nn.saliency(model, table, 1, method="integrated", baseline=given, steps=256)
    at, before = net_score(model, table), net_score(model, start)
    np.testing.assert_allclose(np.nansum(found, axis=1), at - before, atol=0.02)


def test_saliency_of_perceptrons():
    """A net without hidden layers has its weights; one with them, its differences."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X @ [1.0, -2.0, 0.5] + X[:, 0] ** 2
    linear = MLPRegressor(hidden_layer_sizes=(), max_iter=20, random_state=0)
    deep = MLPClassifier(
        hidden_layer_sizes=(6,), activation="tanh", max_iter=20, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        linear.fit(X, y)
        deep.fit(X, (y > 0) + 1 * (y > 2))
    weights = np.tile(linear.coefs_[0][:, 0], (80, 1))
    np.testing.assert_allclose(nn.saliency(linear, X), weights)
    found = nn.saliency(deep, X, 1)
    for j in range(3):
        step = 1e-5 * np.eye(3)[j]
        change = (deep._scores(X + step) - deep._scores(X - step))[:, 1]
        np.testing.assert_allclose(found[:, j], change / 2e-5, rtol=1e-4, atol=1e-7)
    features = nn.FeatureExtractor(deep).fit_transform(X)
    hidden = np.tanh(X @ deep.coefs_[0] + deep.intercepts_[0])
    np.testing.assert_allclose(features, hidden)
