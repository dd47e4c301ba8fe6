"""InfoGAN: equals the GAN without its bound, and finds clusters with it."""

import math

import numpy as np
import pytest
import torch

from pansophy.generative import GAN, InfoGAN
from pansophy.generative.gan.adversarial_net import (
    AdversarialNet,
    AdversarialShape,
    NoiseCodes,
    build_halves,
)

QUICK = {"random_state": 0, "device": "cpu"}


def test_without_weight_it_is_the_gan():
    """The same nets to the last bit, with continuous codes as part of the noise."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    options = {"hidden_layer_sizes": (16, 16), "n_epochs": 5, **QUICK}
    gan = GAN(6, **options).fit(X)
    info = InfoGAN(
        4, n_categories=0, n_continuous=2, information_weight=0.0, **options
    ).fit(X)
    ours = info.net_.state_dict()
    for name, value in gan.net_.state_dict().items():
        torch.testing.assert_close(ours[name], value, rtol=0, atol=0)
    np.testing.assert_array_equal(
        gan.sample(5, random_state=0), info.sample(5, random_state=0)
    )


@pytest.mark.parametrize("codes", [NoiseCodes(3, 0), NoiseCodes(2, 2)])
def test_losses_differ_by_the_bound(codes):
    torch.manual_seed(0)
    shape = AdversarialShape(2, 5, (8,), n_codes=codes.n_outputs)
    halves = build_halves(shape)
    nets = [
        AdversarialNet(
            *halves, n_components=5, codes=codes, information_weight=v
        ).eval()
        for v in (0.0, 0.7)
    ]
    plain = AdversarialNet(*halves, n_components=5).eval()
    z = nets[0].noise(9)
    x, fake = torch.randn(9, 2), halves[0](z).detach()
    values = [n.discriminator_loss({"X": x}, z, fake) for n in (plain, *nets)]
    torch.testing.assert_close(values[0], values[1], rtol=0, atol=0)
    bound = nets[0].information(halves[1].features(fake), z)
    torch.testing.assert_close(values[2], values[0] - 0.7 * bound)
    if not codes.n_continuous:
        assert float(bound.detach()) <= codes.entropy == math.log(3)
        assert (z[:, 2:].sum(1) == 1).all()  # one of three


def test_codes_name_the_clusters():
    rng = np.random.default_rng(0)
    cluster = rng.integers(3, size=900)
    X = np.array([[-4.0, 0], [4, 0], [0, 5]])[cluster] + 0.4 * rng.normal(size=(900, 2))
    model = InfoGAN(
        2, n_categories=3, n_continuous=0, hidden_layer_sizes=(32, 32), n_epochs=80,
        **QUICK,
    ).fit(X)  # fmt: skip
    bound = model.history_["information"]
    assert bound[-1] <= math.log(3) + 1e-9 and bound[-1] > 0.8 * math.log(3)
    found = model.infer_codes(X).category.argmax(axis=1)
    table = np.zeros((3, 3))
    np.add.at(table, (cluster, found), 1)
    assert table.max(axis=1).sum() > 0.95 * len(X)
    assert len(set(table.argmax(axis=1))) == 3
    Z = model.draw_codes(50, category=1, random_state=0)
    assert Z.shape == (50, 5) and (Z[:, 3] == 1).all()
    made = model.decode(Z)
    guessed = model.infer_codes(made).category.argmax(axis=1)
    assert np.mean(guessed == 1) > 0.9


def test_codes_can_be_fixed_and_are_checked():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = InfoGAN(2, n_categories=4, n_continuous=1, n_epochs=1, **QUICK).fit(X)
    Z = model.draw_codes(6, category=[0, 1, 2, 3, 0, 1], continuous=[0.5])
    assert Z.shape == (6, 7) and (Z[:, 6] == 0.5).all()
    assert Z[:, 2:6].argmax(axis=1).tolist() == [0, 1, 2, 3, 0, 1]
    inferred = model.infer_codes(X)
    np.testing.assert_allclose(inferred.category.sum(axis=1), 1, rtol=1e-6)
    assert inferred.continuous.shape == (50, 1)
    with pytest.raises(ValueError, match="category must be"):
        model.draw_codes(2, category=4)
    with pytest.raises(ValueError, match="without a code"):
        InfoGAN(n_categories=0, n_continuous=0).fit(X)
