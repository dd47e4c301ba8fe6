"""Attacks: exact on linear models, within the budget, victims untouched."""

import copy

import numpy as np
import pytest
import torch

from pansophy.ensemble import RandomForestClassifier
from pansophy.generative import (
    VAE,
    Autoencoder,
    AutoencoderDetector,
    fgsm,
    pgd,
    robustness,
)
from pansophy.generative.attacks.adversarial_attacks import victim_of, wrong_log_odds
from pansophy.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from pansophy.mixture import GaussianMixture
from pansophy.neural_network import (
    ConvClassifier,
    MLPClassifier,
    TabularResNetClassifier,
)
from pansophy.svm import LinearSVC


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    centres = np.array([[0.0, 0, 0], [2, 0, 1], [0, 2, -1]])
    return centres[y] + rng.normal(size=(150, 3)), np.array(["a", "b", "c"])[y]


@pytest.fixture(scope="module")
def perceptron(blobs):
    net = MLPClassifier(
        (16,), activation="tanh", solver="lbfgs", max_iter=5000, random_state=0
    )
    return net.fit(*blobs)


def test_fgsm_is_exact_on_a_linear_model(blobs):
    """The margin y (w x + b) falls by e |w|_1 (inf) and by e |w|_2 (2)."""
    X, labels = blobs
    y = (labels == "a").astype(int)
    for make in (LogisticRegression(), LinearSVC(), RidgeClassifier()):
        model = make.fit(X, y)
        w = np.ravel(model.coef_)
        sign = 2 * y - 1
        before = sign * model.decision_function(X)
        for norm, length in (("inf", np.abs(w).sum()), ("2", np.linalg.norm(w))):
            after = sign * model.decision_function(fgsm(model, X, y, 0.3, norm=norm))
            np.testing.assert_allclose(before - after, 0.3 * length, rtol=1e-9)
            again = sign * model.decision_function(pgd(model, X, y, 0.3, norm=norm))
            slack = 1e-9 if norm == "inf" else 0.02  # slides along the ball
            np.testing.assert_allclose(after, again, rtol=1e-6, atol=slack)


def test_direction_is_that_of_cross_entropy(perceptron, blobs):
    X, y = blobs
    victim = victim_of(perceptron, X)
    x = torch.as_tensor(X).requires_grad_()
    Y = victim.targets(y)
    (F,) = victim.scores(x)
    loss = torch.nn.functional.cross_entropy(F, Y, reduction="none")
    (g,) = torch.autograd.grad(loss.sum(), x, retain_graph=True)
    m = wrong_log_odds(F, Y, "softmax")
    torch.testing.assert_close(torch.nn.functional.softplus(m), loss)
    (h,) = torch.autograd.grad(m.sum(), x)
    both = torch.nn.functional.cosine_similarity(g, h)
    assert float(both[loss.detach() > 1e-6].min()) > 1 - 1e-9
    # where the model is sure, cross-entropy has no gradient, the log odds do
    sure = torch.tensor([[200.0, 0.0, 0.0]], requires_grad=True)
    (flat,) = torch.autograd.grad(
        torch.nn.functional.cross_entropy(sure, torch.tensor([0])), sure
    )
    (slope,) = torch.autograd.grad(
        wrong_log_odds(sure, torch.tensor([0]), "softmax").sum(), sure
    )
    assert float(flat.abs().max()) == 0 and float(slope.abs().max()) == 1


@pytest.mark.parametrize("attack", [fgsm, pgd])
@pytest.mark.parametrize("norm", ["inf", "2"])
def test_changes_stay_within_budget_and_bounds(perceptron, blobs, attack, norm):
    X, y = blobs
    before = copy.deepcopy(perceptron.coefs_)
    low, high = X.min(), X.max()
    bad = attack(perceptron, X, y, 0.5, norm=norm, bounds=(low, high))
    change = bad - X
    size = (
        np.abs(change).max(axis=1) if norm == "inf" else np.linalg.norm(change, axis=1)
    )
    assert size.max() <= 0.5 + 1e-12 and size.max() > 0.45
    assert bad.min() >= low and bad.max() <= high
    assert perceptron.score(bad, y) < perceptron.score(X, y) - 0.1
    for a, b in zip(before, perceptron.coefs_):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(attack(perceptron, X, y, 0.0), X)


def test_many_steps_beat_one_and_restarts_do_not_hurt(perceptron, blobs):
    X, y = blobs
    victim = victim_of(perceptron, X)

    def odds(rows):
        return victim.log_odds(torch.as_tensor(rows), victim.targets(y)).numpy()

    one, many = fgsm(perceptron, X, y, 0.8), pgd(perceptron, X, y, 0.8, n_steps=30)
    assert odds(many).mean() > odds(one).mean()
    assert (odds(many) >= odds(X)).all()  # never helps the model
    more = pgd(perceptron, X, y, 0.8, n_steps=30, n_restarts=3)
    assert odds(more).mean() >= odds(many).mean() - 1e-9
    np.testing.assert_array_equal(many, pgd(perceptron, X, y, 0.8, n_steps=30))


def test_targeted_attacks_reach_their_label(perceptron, blobs):
    X, y = blobs
    goal = np.full(len(X), "b")
    bad = pgd(perceptron, X, goal, 2.0, targeted=True, n_restarts=5)
    assert np.mean(perceptron.predict(bad) == "b") > 0.85
    step = fgsm(perceptron, X, goal, 0.5, targeted=True)
    assert np.mean(perceptron.predict(step) == "b") > np.mean(y == "b")


def test_nets_of_images_tables_and_torch(blobs):
    rng = np.random.default_rng(0)
    images = rng.random((60, 6, 6))
    y = np.arange(60) % 2
    images[y == 1, :3] += 0.5
    net = ConvClassifier((4,), hidden_layer_sizes=(8,), n_epochs=8, device="cpu",
                         random_state=0).fit(images, y)  # fmt: skip
    bad = pgd(net, images, y, 0.3, n_steps=5)
    assert bad.shape == images.shape and np.abs(bad - images).max() <= 0.3 + 1e-12
    assert net.score(bad, y) < net.score(images, y)
    flat = fgsm(net, images.reshape(60, -1), y, 0.3)
    np.testing.assert_allclose(
        flat.reshape(images.shape), fgsm(net, images, y, 0.3), atol=1e-12
    )
    X, labels = blobs
    table = TabularResNetClassifier(
        n_blocks=1, hidden_size=8, n_epochs=5, device="cpu", random_state=0
    ).fit(X * [1, 100, 0.01], labels)  # standardised inside: budgets are of X
    scaled = X * [1, 100, 0.01]
    bad = fgsm(table, scaled, labels, 0.5)
    np.testing.assert_allclose(np.abs(bad - scaled), 0.5, rtol=1e-6)
    module = torch.nn.Linear(3, 3)
    before = module.weight.detach().clone()
    codes = np.arange(150) % 3
    found = fgsm(module, X.astype(np.float32), codes, 0.1)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(module.weight.detach(), before)


def test_regression_victims():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=40)
    model = LinearRegression().fit(X, y)
    bad = fgsm(model, X, y, 0.2)
    error, worse = np.abs(model.predict(X) - y), np.abs(model.predict(bad) - y)
    np.testing.assert_allclose(worse, error + 0.2 * np.abs(model.coef_).sum())


def test_refusals(perceptron, blobs):
    X, y = blobs
    with pytest.raises(TypeError, match="cannot be attacked by gradients"):
        fgsm(RandomForestClassifier(5).fit(X, y), X, y, 0.1)
    with pytest.raises(ValueError, match="budget must be"):
        fgsm(perceptron, X, y, -1)
    with pytest.raises(ValueError, match="norm must be"):
        pgd(perceptron, X, y, 0.1, norm="1")
    with pytest.raises(ValueError, match="outside of bounds"):
        fgsm(perceptron, X, y, 0.1, bounds=(0, 0.1))
    with pytest.raises(ValueError, match="X has 150 rows, but y has 3"):
        fgsm(perceptron, X, y[:3], 0.1)
    with pytest.raises(ValueError, match="n_steps"):
        pgd(perceptron, X, y, 0.1, n_steps=0)


@pytest.mark.parametrize("member", ["autoencoder", "vae"])
def test_detectors_are_attacked_by_their_decision_function(member):
    """Hidden outliers and false alarms, within the budget, the detector untouched."""
    rng = np.random.default_rng(0)
    t = rng.uniform(-2, 2, (200, 1))
    usual = np.hstack([t, t**2]) + 0.05 * rng.normal(size=(200, 2))
    models = {"autoencoder": Autoencoder(1, n_epochs=30), "vae": VAE(1, n_epochs=30)}
    detector = AutoencoderDetector(
        models[member], n_estimators=2, contamination=0.05, random_state=0
    ).fit(usual)
    X = np.vstack([usual[:20], [[0.0, 2.0], [1.5, 0.5]]])
    y = np.r_[np.ones(20), -np.ones(2)]
    victim = victim_of(detector, X)
    seen = victim.scores(torch.as_tensor(X))[0][:, 0].numpy()
    np.testing.assert_allclose(seen, detector.decision_function(X), atol=1e-4)
    moved = pgd(detector, X, y, 0.5, n_steps=5)
    assert np.abs(moved - X).max() <= 0.5 + 1e-12
    gain = detector.decision_function(moved) - detector.decision_function(X)
    assert (gain[:20] <= 1e-6).all() and (gain[20:] > 0).all()
    curve = robustness(detector, X, y, [0.2, 1.0], attack="fgsm")
    assert (np.diff(curve.accuracy) <= 0).all() and curve.accuracy[-1] < 1
    with pytest.raises(ValueError, match="usual"):
        fgsm(detector, X, np.zeros(22), 0.1)


def test_detectors_of_other_models_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 2))
    detector = AutoencoderDetector(GaussianMixture(1)).fit(X)
    with pytest.raises(TypeError, match="GaussianMixture in AutoencoderDetector"):
        fgsm(detector, X, np.ones(40), 0.1)


def test_norms_by_number_and_wrong_columns(rng):
    X = rng.standard_normal((40, 3))
    y = (X[:, 0] > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    for name, number in (("2", 2), ("inf", np.inf)):
        np.testing.assert_array_equal(
            fgsm(model, X, y, 0.3, norm=number), fgsm(model, X, y, 0.3, norm=name)
        )
    with pytest.raises(ValueError, match="X has 2 features, but LogisticRegression"):
        fgsm(model, X[:, :2], y, 0.1)
