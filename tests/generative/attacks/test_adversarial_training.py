"""Adversarial training: a firmer copy, the first model unchanged."""

import copy

import numpy as np
import pytest

from pansophy.base import InterruptedFitWarning
from pansophy.generative import adversarial_training, robustness
from pansophy.generative.attacks.adversarial_training import AdversarialLosses
from pansophy.linear_model import LogisticRegression
from pansophy.neural_network import (
    ConvClassifier,
    MLPClassifier,
    TabularResNetClassifier,
)


@pytest.fixture(scope="module")
def rows():
    """One strong noisy column and many that help a little and are easily moved."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    sign = (2 * y - 1)[:, None]
    weak = 0.15 * sign + 0.05 * rng.normal(size=(400, 8))
    return np.c_[sign + 0.4 * rng.normal(size=(400, 1)), weak], y


def test_a_hardened_perceptron_withstands_more(rows):
    X, y = rows
    plain = MLPClassifier((16,), solver="lbfgs", max_iter=200, random_state=0).fit(X, y)
    before = copy.deepcopy(plain.coefs_)
    firm = adversarial_training(plain, X, y, 0.3, n_epochs=15, learning_rate=0.01)
    curves = [robustness(m, X, y, [0.15, 0.3], n_steps=10) for m in (plain, firm)]
    assert curves[1].accuracy[-1] > curves[0].accuracy[-1] + 0.2
    for a, b in zip(before, plain.coefs_):
        np.testing.assert_array_equal(a, b)
    assert len(firm.history_["loss"]) == firm.n_iter_ == 15
    again = adversarial_training(plain, X, y, 0.3, n_epochs=15, learning_rate=0.01)
    np.testing.assert_array_equal(firm.coefs_[0], again.coefs_[0])


def test_no_budget_is_plain_training(rows):
    """With budget 0 attacked rows are the rows themselves."""
    X, y = rows
    plain = MLPClassifier((8,), solver="lbfgs", max_iter=200, random_state=0).fit(X, y)
    a = adversarial_training(plain, X, y, 0.0, n_epochs=2)
    b = adversarial_training(plain, X, y, 0.0, n_epochs=2, clean_share=1.0)
    np.testing.assert_allclose(a.coefs_[0], b.coefs_[0], atol=1e-9)


@pytest.mark.parametrize("norm", ["inf", "2"])
def test_images_weights_and_bounds(norm):
    rng = np.random.default_rng(0)
    images = rng.random((80, 6, 6))
    y = np.arange(80) % 2
    images[y == 1, :3] *= 0.4
    net = ConvClassifier((4,), hidden_layer_sizes=(8,), n_epochs=6, random_state=0,
                         device="cpu").fit(images, y)  # fmt: skip
    kept = net.nets_[0].state_dict()["output.weight"].clone()
    firm = adversarial_training(
        net, images, y, 0.3, norm=norm, bounds=(0, 1), n_steps=3, n_epochs=10,
        sample_weight=np.ones(80), clean_share=0.2,
    )  # fmt: skip
    options = {"norm": norm, "bounds": (0, 1), "n_steps": 5}
    scores = [robustness(m, images, y, [0.3], **options).score for m in (net, firm)]
    assert scores[1] >= scores[0]
    assert (net.nets_[0].state_dict()["output.weight"] == kept).all()


def test_refusals(rows):
    X, y = rows
    with pytest.raises(TypeError, match="holds no net"):
        adversarial_training(LogisticRegression().fit(X, y), X, y, 0.1)
    plain = MLPClassifier((4,), solver="lbfgs", max_iter=200).fit(X, y)
    with pytest.raises(ValueError, match="clean_share"):
        adversarial_training(plain, X, y, 0.1, clean_share=2)


def test_an_interrupted_training_keeps_the_nets_that_were_attacked(rows, monkeypatch):
    X, y = rows
    plain = TabularResNetClassifier(
        n_blocks=1,
        hidden_size=8,
        n_estimators=3,
        n_epochs=2,
        random_state=0,
        device="cpu",
    ).fit(X, y)
    attacked, seen = AdversarialLosses.losses, []

    def interrupted(self, batch):
        seen.append(self.net)
        if len({id(net) for net in seen}) == 2:  # Ctrl-C while the second is trained
            raise KeyboardInterrupt
        return attacked(self, batch)

    monkeypatch.setattr(AdversarialLosses, "losses", interrupted)
    with pytest.warns(InterruptedFitWarning, match="after 0 epochs of net 2; the mod"):
        firm = adversarial_training(plain, X, y, 0.1, n_epochs=2)
    assert firm.interrupted_ and len(firm.nets_) == 2 and len(plain.nets_) == 3
    assert len({id(net) for net in seen}) == 2  # no third was begun
    assert np.isfinite(firm.predict_proba(X)).all()
