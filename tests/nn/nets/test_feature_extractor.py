"""Nets as feature extractors: deterministic, in a pipeline as by hand."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402
from pansophy.linear_model import LogisticRegression  # noqa: E402
from pansophy.neural_network import ConvClassifier  # noqa: E402


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(0)
    X = rng.random((60, 6, 6)).astype(np.float32)
    y = (X[:, :3].mean((1, 2)) > X[:, 3:].mean((1, 2))).astype(int)
    options = {"n_filters": (4,), "hidden_layer_sizes": (5,), "n_estimators": 2}
    model = ConvClassifier(**options, n_epochs=10, random_state=0, device="cpu")
    return model.fit(X, y), X, y


def test_a_pipeline_equals_the_two_steps_by_hand(trained):
    model, X, y = trained
    extractor = nn.FeatureExtractor(model)
    features = extractor.fit_transform(X)
    assert features.shape == (60, 10)  # the units of two nets
    assert np.array_equal(features, extractor.transform(X))
    by_hand = LogisticRegression().fit(features, y).predict_proba(features)
    pipeline = make_pipeline(nn.FeatureExtractor(model), LogisticRegression())
    assert np.array_equal(pipeline.fit(X, y).predict_proba(X), by_hand)
    assert extractor.get_feature_names_out()[0] == "featureextractor0"


def test_clones_and_cross_validation_keep_the_trained_net(trained):
    model, X, y = trained
    extractor = nn.FeatureExtractor(model, layer="blocks.0.0")
    copied = clone(extractor)
    assert copied.model is model and copied.layer == "blocks.0.0"
    assert extractor.fit_transform(X).shape == (60, 2 * 4 * 36)
    pipeline = make_pipeline(nn.FeatureExtractor(model), LogisticRegression())
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.6


def test_features_of_a_torch_module_and_of_the_last_layer(trained):
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    )
    X = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    with torch.no_grad():
        wanted = net[:2](torch.from_numpy(X)).numpy()
    found = nn.FeatureExtractor(net).fit_transform(X)
    np.testing.assert_array_equal(found, wanted)
    model, images, _ = trained
    parts = np.split(nn.FeatureExtractor(model).fit_transform(images), 2, axis=1)
    with torch.no_grad():
        pairs = zip(model.nets_, map(torch.from_numpy, parts), strict=True)
        scores = np.concatenate([net.output(part).numpy() for net, part in pairs])
    raw = model._raw_outputs(images).reshape(scores.shape)
    np.testing.assert_allclose(scores, raw, atol=1e-5)


def test_what_is_no_net_is_refused():
    with pytest.raises(ValueError, match="model of FeatureExtractor must be"):
        nn.FeatureExtractor(LogisticRegression()).fit(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="no linear layer"):
        nn.FeatureExtractor(torch.nn.Tanh()).fit(np.zeros((3, 2), np.float32))
