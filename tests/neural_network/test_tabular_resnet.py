"""Residual nets for tables: categories, missing values, weights, saving, learning."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn, persist  # noqa: E402
from pansophy.neural_network import (  # noqa: E402
    TabularResNetClassifier,
    TabularResNetRegressor,
)
from pansophy.nn.training.optimisers import spared_parameters  # noqa: E402

SMALL = {
    "hidden_size": 16,
    "n_blocks": 1,
    "n_members": 4,
    "n_epochs": 8,
    "learning_rate_init": 0.01,
}


def small(cls=TabularResNetClassifier, **options):
    return cls(**{**SMALL, "random_state": 0, "device": "cpu", **options})


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 200
    place = rng.choice(["north", "south", "west"], n)
    size = rng.normal(50, 10, n)
    age = rng.integers(1, 9, n).astype(float)
    y = np.where((place == "north") ^ (size > 50), "yes", "no")
    age[rng.random(n) < 0.3] = np.nan
    frame = pd.DataFrame({"place": place, "size": size, "age": age})
    frame.loc[::17, "place"] = None
    return frame, y


def test_categories_of_a_frame_are_embedded_and_interactions_learnt(table):
    X, y = table
    model = small(n_epochs=30).fit(X, y)
    assert model.table_.levels == [4] and len(model.bins_) == 2
    assert model.score(X, y) > 0.9
    assert model.feature_names_in_.tolist() == ["place", "size", "age"]
    new = X.head(3).assign(place=["east", None, "north"])
    p = model.predict_proba(new)
    assert np.isfinite(p).all()
    unknown = model.predict_proba(new.assign(place=[None, None, "north"]))
    np.testing.assert_array_equal(p[0], unknown[0])  # new is what missing is


def test_missing_numbers_are_information():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = rng.integers(0, 2, 200)
    X[y == 1, 0] = np.nan
    assert small().fit(X, y).score(X, y) > 0.95
    with pytest.raises(ValueError, match="infinity"):
        small().fit(np.where(np.isnan(X), np.inf, X), y)
    words = pd.DataFrame({"a": ["x", "y"] * 5})
    with pytest.raises(ValueError, match="column 'a' of X holds text"):
        small(categorical_features=None).fit(words, [0, 1] * 5)


def test_columns_by_number_and_by_name_are_the_same(table):
    X, y = table
    codes = X.assign(place=X["place"].map({"north": 0.0, "south": 1.0, "west": 2.0}))
    by_name = small(categorical_features=["place"]).fit(codes, y).predict_proba(codes)
    array = codes.to_numpy()
    by_index = small(categorical_features=[0]).fit(array, y).predict_proba(array)
    np.testing.assert_allclose(by_name, by_index, atol=1e-6)


@pytest.mark.parametrize(
    ("embedding", "n_members"),
    [("piecewise", 1), ("piecewise", 3), ("periodic", 1), (None, 2)],
)
def test_embeddings_and_weights_that_are_repeated_rows(table, embedding, n_members):
    X, y = table
    exact = {"dtype": "float64", "dropout": 0.0, "batch_size": 1000, "n_epochs": 4}
    exact["early_stopping"] = False
    options = {"embedding": embedding, "n_members": n_members, "alpha": 0.1, **exact}
    w = np.random.default_rng(0).integers(0, 3, 200).astype(float)
    index = np.repeat(np.arange(200), w.astype(int))
    weighted = small(**options).fit(X, y, sample_weight=w).predict_proba(X)
    repeated = small(**options).fit(X.iloc[index], y[index]).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::pansophy.nn.training.stopping.OverfittingWarning")
def test_a_kink_is_learnt_in_every_fold():
    """A linear model explains 0.7 of the variance: the sign, not the kink."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (400, 3))
    y = np.abs(X[:, 0]) + np.sign(X[:, 1])
    model = small(TabularResNetRegressor, n_epochs=25)
    assert cross_val_score(model, X, y, cv=3).min() > 0.85


def test_regression_units_several_outputs_and_std(table):
    X, _ = table
    y = X["size"].to_numpy() * 1000 + 5
    model = small(TabularResNetRegressor, n_estimators=2).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert np.corrcoef(mean, y)[0, 1] > 0.95 and (std >= 0).all() and std.max() > 0
    two = small(TabularResNetRegressor).fit(X, np.stack([y, -y], axis=1))
    assert two.predict(X).shape == (200, 2)


def test_answers_are_the_mean_of_members_that_differ(table):
    X, y = table
    model = small().fit(X, y)
    inputs = [torch.as_tensor(a).float() for a in model.net_inputs(X)]
    with torch.no_grad():
        F = model.nets_[0].member_scores(inputs[0], inputs[1].long())
    assert F.shape == (200, 4, 2)
    p = F.softmax(2).double().numpy()
    assert (p.std(axis=1).max(axis=0) > 1e-3).all()
    np.testing.assert_allclose(model.predict_proba(X), p.mean(axis=1), atol=1e-5)
    single = small(n_members=1).fit(X, y)
    assert not hasattr(single.nets_[0], "factors")
    assert single.predict_proba(X).shape == (200, 2)


def test_members_tell_the_doubt_of_one_net(table):
    X, _ = table
    y = X["size"].to_numpy()
    mean, std = small(TabularResNetRegressor).fit(X, y).predict(X, return_std=True)
    assert mean.shape == std.shape == (200,) and std.min() > 0
    model = small(TabularResNetRegressor, loss="gaussian").fit(X, y)
    _, wider = model.predict(X, return_std=True)
    inputs = [torch.as_tensor(a) for a in model.net_inputs(X)]
    with torch.no_grad():  # what the estimator mixes is what the net says
        _, log_variance = model.nets_[0].double()(*inputs).chunk(2, 1)
    expected = np.exp(log_variance.numpy()[:, 0] / 2) * model.target_scale_[0]
    np.testing.assert_allclose(wider, expected, rtol=1e-5)
    with pytest.raises(ValueError, match="n_members"):
        small(TabularResNetRegressor, n_members=1).fit(X, y).predict(X, return_std=True)


@pytest.mark.parametrize("n_members", [1, 3])
def test_fine_tuning_learns_other_classes_and_freezes_the_rest(table, n_members):
    X, y = table
    model = small(n_members=n_members).fit(X, y)
    three = np.where(X["size"] > 55, "large", y)
    tuned = model.fine_tune(X, three)
    assert tuned.classes_.tolist() == ["large", "no", "yes"]
    assert tuned.predict_proba(X).shape == (200, 3)
    before, after = model.nets_[0].state_dict(), tuned.nets_[0].state_dict()
    for name in before:
        if not name.startswith(("output", "linear")):
            assert torch.equal(before[name], after[name]), name


@pytest.mark.parametrize("n_members", [1, 3])
def test_saved_and_loaded_without_pickle(table, tmp_path, n_members):
    X, y = table
    model = small(n_estimators=2, n_members=n_members).fit(X, y)
    persist.save(model, tmp_path / "m")
    again = persist.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


# trap 9: what decays
def test_embeddings_biases_and_gains_do_not_decay(table):
    X, y = table
    model = small().fit(X, y)
    net = model.nets_[0]
    rule = model.set_params(weight_decay=0.3)._optimiser(net)
    spared = {id(p) for p in spared_parameters(net)}
    decays = {
        name for name, p in net.named_parameters() if p.ndim > 1 and id(p) not in spared
    }
    assert "categories.table.weight" not in decays
    assert "numbers.map.bias" not in decays
    assert "factors" not in decays
    assert "blocks.0.first.weight" in decays and "output.weight" in decays
    assert all(net.get_parameter(name).ndim > 1 for name in decays)
    # without a gradient, AdamW moves exactly what decays
    before = {k: p.detach().clone() for k, p in net.named_parameters()}
    net.losses = lambda batch: {"loss": 0.0 * sum(p.sum() for p in net.parameters())}
    nn.train(net, (np.zeros((4, 1)),), epochs=1, optimiser=rule, device="cpu", seed=0)
    moved = {
        k for k, p in net.named_parameters() if not torch.equal(p.detach(), before[k])
    }
    still = {k for k in decays if not before[k].any()}
    assert moved == decays - still


def test_learning_in_passes(table):
    X, y = table
    model = small()
    for part in np.array_split(np.arange(len(y)), 2):
        model.partial_fit(X.iloc[part], y[part], classes=["no", "yes"])
    assert model.n_iter_ == 1
    for _ in range(15):
        model.partial_fit(X, y)
    assert model.score(X, y) > 0.8
    numbers = small(TabularResNetRegressor)
    target = X["size"].to_numpy()
    for _ in range(10):
        numbers.partial_fit(X, target)
    assert numbers.score(X, target) > 0.9
