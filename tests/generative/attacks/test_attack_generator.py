"""A net that attacks: within its budget, without touching its victim."""

import warnings

import numpy as np
import pytest

from pansophy import load, save
from pansophy.base import InterruptedFitWarning
from pansophy.generative import AttackGenerator, fgsm
from pansophy.generative.attacks.attack_generator import AttackLosses
from pansophy.linear_model import LinearRegression, LogisticRegression
from pansophy.neural_network import ConvClassifier


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, np.where(X[:, 0] - X[:, 1] > 0, "yes", "no")


@pytest.mark.parametrize("norm", ["inf", "2"])
def test_linear_victim_falls_nearly_as_far_as_by_its_gradient(rows, norm):
    X, y = rows
    victim = LogisticRegression().fit(X[:200], y[:200])
    before = victim.coef_.copy()
    attack = AttackGenerator(
        victim, budget=0.4, norm=norm, n_epochs=40, random_state=0
    ).fit(X[:200], y[:200])
    bad = attack.transform(X[200:])
    change = bad - X[200:]
    size = (
        np.abs(change).max() if norm == "inf" else np.linalg.norm(change, axis=1).max()
    )
    assert size <= 0.4 + 1e-9
    best = victim.score(fgsm(victim, X[200:], y[200:], 0.4, norm=norm), y[200:])
    found, clean = victim.score(bad, y[200:]), victim.score(X[200:], y[200:])
    assert found < clean - 0.5 * (clean - best)
    np.testing.assert_array_equal(victim.coef_, before)
    assert attack.history_["loss"][-1] < attack.history_["loss"][0]


def test_images_bounds_and_saving(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.random((60, 6, 6))
    y = np.arange(60) % 2
    images[y == 1, :3] *= 0.5
    net = ConvClassifier((4,), hidden_layer_sizes=(8,), n_epochs=8, random_state=0,
                         device="cpu").fit(images, y)  # fmt: skip
    kept = {k: v.clone() for k, v in net.nets_[0].state_dict().items()}
    attack = AttackGenerator(
        net, budget=0.3, bounds=(0, 1), n_epochs=20, random_state=0
    )
    bad = attack.fit(images, y).transform(images)
    assert bad.shape == images.shape and bad.min() >= 0 and bad.max() <= 1
    assert np.abs(bad - images).max() <= 0.3 + 1e-9
    assert net.score(bad, y) < net.score(images, y)
    for key, value in net.nets_[0].state_dict().items():
        assert (value == kept[key]).all()
    save(attack, tmp_path / "attack.pansophy")
    again = load(tmp_path / "attack.pansophy")
    np.testing.assert_array_equal(again.transform(images), bad)


def test_weights_defaults_and_regression(rows):
    X, y = rows
    own = AttackGenerator(budget=0.3, n_epochs=5, random_state=0).fit(X, y)
    assert own.victim_.score(own.transform(X), y) < own.victim_.score(X, y)
    w = np.ones(len(X))
    same = AttackGenerator(budget=0.3, n_epochs=5, random_state=0).fit(X, y, w)
    np.testing.assert_allclose(same.transform(X), own.transform(X), atol=1e-4)
    number = X @ [1.0, 2.0, 0.0, 0.0] + 0.1
    line = LinearRegression().fit(X, number)
    bad = AttackGenerator(line, n_epochs=3, random_state=0).fit(X, number).transform(X)
    assert np.abs(line.predict(bad) - number).mean() > 0.05


def test_refusals(rows):
    X, y = rows
    with pytest.raises(ValueError, match="model of AttackGenerator must be"):
        AttackGenerator(LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="bounds of AttackGenerator must be"):
        AttackGenerator(bounds=(1, 0)).fit(X, y)


@pytest.mark.parametrize("steps", [0, 5])
def test_an_interrupted_fit_leaves_an_attack(rows, steps, monkeypatch):
    X, y = rows
    losses, calls = AttackLosses.losses, []

    def interrupted(self, batch):
        calls.append(1)
        if len(calls) > steps:
            raise KeyboardInterrupt
        return losses(self, batch)

    monkeypatch.setattr(AttackLosses, "losses", interrupted)
    attack = AttackGenerator(budget=0.3, batch_size=100, random_state=0)
    with pytest.warns(InterruptedFitWarning, match="usable as it stands"):
        attack.fit(X, y)
    assert attack.interrupted_ and attack.n_iter_ == steps // 3
    bad = attack.transform(X)
    assert np.isfinite(bad).all() and np.abs(bad - X).max() <= 0.3 + 1e-9


def test_an_interrupted_victim_is_not_attacked(rows, monkeypatch):
    X, y = rows
    fit = LogisticRegression.fit

    def interrupted(self, X, y, sample_weight=None):
        fit(self, X, y, sample_weight)
        warnings.warn("interrupted", InterruptedFitWarning, stacklevel=2)

    monkeypatch.setattr(LogisticRegression, "fit", interrupted)
    attack = AttackGenerator(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        attack.fit(X, y)
    assert not hasattr(attack, "net_")
