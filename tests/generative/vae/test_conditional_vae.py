"""The conditional VAE: p(x | y), and the VAE where there is one class."""

import numpy as np
import pytest

from pansophy.generative import VAE, ConditionalVAE

OPTIONS = {"random_state": 0, "device": "cpu", "n_epochs": 40}


def two_classes(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.75, "many", "few")
    X = rng.normal(size=(n, 2)) + np.where(y == "many", 0, 6)[:, None]
    return X, y


def test_rows_of_a_class():
    X, y = two_classes()
    model = ConditionalVAE(1, **OPTIONS).fit(X, y)
    assert list(model.classes_) == ["few", "many"]
    few = model.sample(500, y="few", random_state=0)
    assert few.mean() == pytest.approx(6, abs=0.5)
    labels = np.array(["few", "many"] * 50)
    made = model.sample(100, y=labels, random_state=0)
    assert made[labels == "few"].mean() > 4 > 2 > made[labels == "many"].mean()
    mixed = model.sample(4000, random_state=0)
    share = (mixed.mean(axis=1) > 3).mean()
    assert share == pytest.approx(model.class_prior_[0], abs=0.05)


def test_scores_without_labels_are_those_of_the_mixture():
    X, y = two_classes()
    model = ConditionalVAE(1, **OPTIONS).fit(X, y)
    each = np.stack(
        [model.score_samples(X, np.full(len(X), c)) for c in model.classes_], axis=1
    )
    joint = each + np.log(model.class_prior_)
    np.testing.assert_allclose(
        model.score_samples(X), np.logaddexp(joint[:, 0], joint[:, 1])
    )
    assert model.score(X, y) > model.score(X)
    bound, error = model.log_prob_bound(X, n_samples=200, return_std_error=True)
    gap = bound - model.score_samples(X)
    assert np.abs(gap).mean() < 0.2 and (error > 0).all()


def test_a_constant_label_is_the_vae():
    """The same rows, one class: the same bound after the same training."""
    X, _ = two_classes()
    options = {
        **OPTIONS, "hidden_layer_sizes": (), "dtype": "float64", "batch_size": 1000,
        "n_epochs": 400, "learning_rate_init": 0.1,
    }  # fmt: skip
    vae = VAE(1, **options).fit(X)
    one = ConditionalVAE(1, **options).fit(X, np.zeros(len(X)))
    assert one.loss_ == pytest.approx(vae.loss_, abs=1e-3)
    assert one.score(X) == pytest.approx(vae.score(X), abs=2e-3)


def test_labels_are_needed_and_must_be_known():
    X, y = two_classes()
    with pytest.raises(ValueError, match="ConditionalVAE requires y to be passed"):
        ConditionalVAE().fit(X)
    model = ConditionalVAE(1, **{**OPTIONS, "n_epochs": 2}).fit(X, y)
    with pytest.raises(ValueError, match=r"'none'.*do not exist"):
        model.sample(2, y="none")
    with pytest.raises(ValueError, match="y must be a label or 3 labels"):
        model.sample(3, y=["few", "many"])
    with pytest.raises(ValueError, match="codes are of rows and their labels"):
        model.encode(X)
    assert model.reconstruct(X, y).shape == X.shape
