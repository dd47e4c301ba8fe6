"""GAN: the two halves move apart, samples match the data, labels, images, resuming."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from pansophy import load, nn, save
from pansophy.generative import GAN, gan_monitor, sample_quality
from pansophy.nn.training.gradient_step import GradientStep, LossTotals
from tests.generative.small_gans import small_gan

QUICK = {"random_state": 0, "device": "cpu"}


def state_of(module):
    return {k: v.clone() for k, v in module.state_dict().items()}


def is_unchanged(module, before):
    return all(torch.equal(v, before[k]) for k, v in module.state_dict().items())


def test_gradients_of_the_other_half_are_untouched():
    """Trap 11."""
    net = small_gan()
    rules = {"discriminator": nn.SGD(0.0), "generator": nn.SGD(0.0)}
    GradientStep(net, rules, LossTotals())  # makes .grad views of one vector
    for p in net.parameters():
        p.grad.fill_(7.0)
    losses = net.losses({"X": torch.randn(8, 2)})
    losses["discriminator"].backward(inputs=list(net.discriminator.parameters()))
    assert all((p.grad == 7).all() for p in net.generator.parameters())
    before = [p.grad.clone() for p in net.discriminator.parameters()]
    losses["generator"]().backward(inputs=list(net.generator.parameters()))
    for p, kept in zip(net.discriminator.parameters(), before):
        assert torch.equal(p.grad, kept)
    assert not all((p.grad == 7).all() for p in net.generator.parameters())


def test_alternation_is_that_of_a_plain_loop():
    """Same seed: our step equals optimisers of torch, discriminator first."""
    net, twin = small_gan().double(), small_gan().double()
    data = torch.randn(40, 2).double()
    batches = data.split(8)
    for p, q in zip(net.parameters(), twin.parameters()):
        assert torch.equal(p, q)
    rules = {"discriminator": nn.SGD(0.1), "generator": nn.SGD(0.1)}
    step = GradientStep(net, rules, LossTotals())
    torch.manual_seed(1)
    for x in batches:
        step([({"X": x}, 8)], 1.0)
    by_torch = {
        name: torch.optim.SGD(getattr(twin, name).parameters(), 0.1)
        for name in ("discriminator", "generator")
    }
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    torch.manual_seed(1)
    for x in batches:
        fake = twin.generator(torch.randn(8, 3, dtype=torch.float64))
        a, b = twin.discriminator(x), twin.discriminator(fake.detach())
        loss = bce(a, torch.ones_like(a)) + bce(b, torch.zeros_like(b))
        by_torch["discriminator"].zero_grad()
        loss.backward()
        by_torch["discriminator"].step()
        b = twin.discriminator(fake)
        by_torch["generator"].zero_grad()
        bce(b, torch.ones_like(b)).backward()
        by_torch["generator"].step()
    for p, q in zip(net.parameters(), twin.parameters()):
        torch.testing.assert_close(p, q, rtol=1e-10, atol=1e-12)


def test_critic_steps_for_each_step_of_the_generator():
    net = small_gan(n_critic=3).train()
    names = [sorted(net.losses({"X": torch.randn(4, 2)})) for _ in range(6)]
    both = ["discriminator", "generator"]
    assert names == [["discriminator"], ["discriminator"], both] * 2
    assert int(net.steps) == 6  # a buffer: a resumed run goes on counting
    net.eval()
    assert sorted(net.losses({"X": torch.randn(4, 2)})) == both


def test_weights_of_rows_count_as_repeated_rows():
    net = small_gan().double().eval()
    x = torch.randn(6, 2).double()
    w = torch.tensor([1.0, 2, 1, 3, 1, 2]).double()
    z = torch.randn(6, 3).double()
    fake = net.generate(z).detach()
    found = net.discriminator_loss({"X": x, "w": w}, z, fake)
    again = x.repeat_interleave(w.long(), 0)
    plain = torch.nn.functional.softplus(-net.discriminator(again)).mean()
    plain = plain + torch.nn.functional.softplus(net.discriminator(fake)).mean()
    torch.testing.assert_close(found, plain)


def test_one_dimensional_normal_is_matched_in_mean_and_spread():
    X = np.random.default_rng(0).normal(5, 2, (1500, 1))
    model = GAN(4, hidden_layer_sizes=(32, 32), n_epochs=60, **QUICK).fit(X)
    made = model.sample(4000, random_state=1)
    assert abs(made.mean() - 5) < 0.3
    assert abs(made.std() - 2) < 0.35
    history = model.history_
    assert history["discriminator"][-1] == pytest.approx(math.log(4), abs=0.1)
    assert history["generator"][-1] == pytest.approx(math.log(2), abs=0.15)
    report = gan_monitor(model)
    assert not report.alarms and abs(report.accuracy - 0.5) < 0.15
    D = model.discriminate(X)
    assert D.shape == (1500,) and abs(np.mean(D) - 0.5) < 0.1
    np.testing.assert_allclose(np.log(D / (1 - D)), model.score_samples(X), rtol=1e-4)


@pytest.mark.parametrize("objective", ["minimax", "hinge", "least_squares"])
@pytest.mark.parametrize("penalty", ["gradient", "spectral", "clip", None])
def test_every_objective_and_penalty_trains(objective, penalty):
    X = np.random.default_rng(0).normal(size=(64, 2))
    model = GAN(
        2, objective=objective, penalty=penalty, hidden_layer_sizes=(8,), n_epochs=2,
        clip_value=0.02, **QUICK,
    ).fit(X)  # fmt: skip
    assert np.isfinite(model.sample(5, random_state=0)).all()
    assert {"real_accuracy", "fake_accuracy"} <= model.history_.keys()
    if penalty == "clip":
        weights = [
            p.detach().abs().max() for p in model.net_.discriminator.parameters()
        ]
        assert max(weights) <= 0.02
    if objective != "minimax":
        with pytest.raises(ValueError, match="no log odds"):
            model.discriminate(X)


def test_labels_condition_the_samples():
    rng = np.random.default_rng(0)
    y = np.array(["left", "right"])[(np.arange(800) % 4 == 0).astype(int)]
    X = rng.normal(0, 0.3, (800, 1)) + np.where(y == "left", -3, 3)[:, None]
    model = GAN(2, hidden_layer_sizes=(32,), n_epochs=60, **QUICK).fit(X, y)
    left, right = (model.sample(300, y=c, random_state=0) for c in ("left", "right"))
    assert left.mean() < -2 and right.mean() > 2
    mixed = model.sample(2000, random_state=0)
    assert np.mean(mixed < 0) == pytest.approx(0.75, abs=0.06)
    Z = np.zeros((3, 2))
    decoded = model.decode(Z, y=["left", "right", "left"])
    assert decoded[1] > 0 > decoded[0]
    np.testing.assert_allclose(decoded[0], decoded[2], rtol=1e-5)
    with pytest.raises(ValueError, match="pass y"):
        model.decode(Z)
    with pytest.raises(ValueError, match="codes have 5 numbers"):
        model.decode(np.zeros((3, 5)), y="left")


def test_images_go_through_convolutions():
    rng = np.random.default_rng(0)
    images = np.zeros((60, 7, 6))
    images[:, 2:5, 1:4] = rng.uniform(5, 9, (60, 1, 1))
    model = GAN(4, n_filters=(4, 8), n_epochs=3, **QUICK).fit(images)
    made = model.sample(5, random_state=0)
    assert made.shape == (5, 7, 6)
    assert made.min() >= 0 and made.max() <= 9  # bounded by the range of the data
    convs = [m for m in model.net_.modules() if isinstance(m, nn.Conv)]
    assert len(convs) == 2
    flat = GAN(4, n_filters=(4, 8), n_epochs=3, image_shape=(7, 6), **QUICK)
    rows = flat.fit(images.reshape(60, -1)).sample(5, random_state=0)
    np.testing.assert_allclose(rows.reshape(made.shape), made, atol=1e-5)
    dense = GAN(4, architecture="dense", n_epochs=2, **QUICK).fit(images)
    assert dense.sample(2, random_state=0).shape == (2, 7, 6)
    colours = rng.random((30, 5, 5, 3))
    spectral = GAN(2, n_filters=(4,), penalty="spectral", n_epochs=2, **QUICK)
    assert spectral.fit(colours).sample(3, random_state=0).shape == (3, 5, 5, 3)


def test_running_mean_of_the_generator_draws_the_samples(tmp_path):
    """Trap: averaged weights are used and saved; the discriminator is not averaged."""
    X = np.random.default_rng(0).normal(size=(64, 2))
    options = {"hidden_layer_sizes": (8,), "n_epochs": 4, **QUICK}
    mean = GAN(2, ema_decay=0.9, **options).fit(X)
    last = GAN(2, ema_decay=0.0, **options).fit(X)
    assert is_unchanged(mean.net_.discriminator, state_of(last.net_.discriminator))
    assert not is_unchanged(mean.net_.generator, state_of(last.net_.generator))
    save(mean, tmp_path / "gan.pansophy")
    np.testing.assert_array_equal(
        load(tmp_path / "gan.pansophy").sample(4, random_state=0),
        mean.sample(4, random_state=0),
    )


def test_a_resumed_run_is_the_same_run(tmp_path):
    X = np.random.default_rng(0).normal(size=(64, 2))
    options = {"hidden_layer_sizes": (8,), "n_critic": 3, "learning_rate": "constant"}
    options = {**options, **QUICK}
    whole = GAN(2, n_epochs=6, **options).fit(X)
    path = tmp_path / "run"
    GAN(2, n_epochs=3, checkpoint=path, **options).fit(X)
    resumed = GAN(2, n_epochs=3, checkpoint=path, resume=True, **options)
    assert resumed.fit(X).n_iter_ == 3  # done already
    longer = GAN(2, n_epochs=6, **options).fit(X)
    assert is_unchanged(longer.net_, state_of(whole.net_))


def test_early_stopping_looks_at_the_samples():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = GAN(
        2, hidden_layer_sizes=(8,), n_epochs=30, early_stopping=True,
        n_iter_no_change=3, quality_every=2, **QUICK,
    ).fit(X)  # fmt: skip
    held = model.history_["valid_mmd"]
    assert len(held) == model.n_iter_ and np.isfinite(held).all()
    assert np.isfinite(model.history_["c2st"]).sum() == model.n_iter_ // 2


def test_samples_of_a_ring_are_better_than_before_training():
    rng = np.random.default_rng(0)
    angle = rng.integers(4, size=800) * np.pi / 2
    X = 3 * np.c_[np.cos(angle), np.sin(angle)] + 0.3 * rng.normal(size=(800, 2))
    first = GAN(4, hidden_layer_sizes=(32, 32), n_epochs=1, **QUICK).fit(X)
    later = GAN(4, hidden_layer_sizes=(32, 32), n_epochs=50, **QUICK).fit(X)
    quality = [
        sample_quality(X, m.sample(800, random_state=0), permutations=0)
        for m in (first, later)
    ]
    assert quality[1]["mmd"] < 0.5 * quality[0]["mmd"]
    assert quality[1]["c2st"] < quality[0]["c2st"]


def test_samples_that_are_not_finite_never_look_best():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    model = GAN(2, hidden_layer_sizes=(4,), n_epochs=1, random_state=0).fit(rows)
    model._generate = lambda net, n, y: torch.full((n, 2), float("nan"))
    held_out = SimpleNamespace(take=lambda part: SimpleNamespace(X=rows, y=None))
    assert np.isnan(model._held_out_monitor(held_out)(model.net_)["valid_mmd"])
