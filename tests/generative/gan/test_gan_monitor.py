"""Monitor of an adversarial game: balance, level losses, alarms."""

import math

import numpy as np
import pytest

from pansophy.generative import WGAN, gan_monitor


def history(n=30, **changed):
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.normal(size=(2, n))
    usual = {
        "discriminator": math.log(4) + noise[0],
        "generator": math.log(2) + noise[1],
        "real_accuracy": np.full(n, 0.52),
        "fake_accuracy": np.full(n, 0.47),
    }
    return usual | changed


def test_balance_is_log_2_for_each_term():
    found = gan_monitor(history())
    assert found.verdict == "balanced" and not found.alarms
    assert found.accuracy == pytest.approx(0.495)
    assert found.balance == pytest.approx(1.3862944, abs=1e-7)
    assert found.discriminator_loss / 2 == pytest.approx(math.log(2), abs=0.01)
    assert found.is_level
    assert "half of the time" in str(found)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("discriminator", "discriminator_won"), ("generator", "generator_won")],
)
def test_a_loss_that_collapses_raises_the_alarm(name, kind):
    fallen = np.r_[np.full(20, 0.7), np.full(10, 1e-4)]
    found = gan_monitor(history(**{name: fallen}))
    assert found.verdict == kind
    assert found.alarms[0][:3] == (kind, 21, name)
    assert f"alarm from epoch 21: {name}" in str(found)


def test_other_alarms():
    sure = np.full(30, 0.99)
    found = gan_monitor(history(real_accuracy=sure, fake_accuracy=sure))
    assert found.verdict == "discriminator_won" and found.alarms[0].name == "accuracy"
    growing = 1.4 * np.exp(0.2 * np.arange(30))
    assert gan_monitor(history(discriminator=growing)).verdict == "diverged"
    broken = np.r_[np.ones(10), np.nan, np.ones(19)]
    assert gan_monitor(history(discriminator=broken)).alarms[0].epoch == 11
    passing = np.r_[np.full(10, 1.4), np.full(5, 1e-4), np.full(15, 1.4)]
    assert not gan_monitor(history(discriminator=passing)).alarms  # it recovered


def test_level_and_moving_without_accuracies():
    losses = history()
    del losses["real_accuracy"]
    assert gan_monitor(losses).verdict == "level"
    falling = np.linspace(3, 1, 30)
    found = gan_monitor({**losses, "generator": falling})
    assert found.verdict == "moving" and math.isnan(found.accuracy)


def test_objectives_have_balances_of_their_own():
    hinge = history(discriminator=np.full(30, 2.0), generator=np.zeros(30))
    found = gan_monitor(hinge, objective="hinge")
    assert found.verdict == "balanced" and found.balance == 2  # 0 is no alarm here
    critic = {"discriminator": np.zeros(30), "generator": np.zeros(30)}
    assert not gan_monitor(critic, objective="wasserstein").alarms


def test_refusals():
    with pytest.raises(ValueError, match="no history of the loss 'generator'"):
        gan_monitor({"discriminator": [1.0]})
    with pytest.raises(ValueError, match="no history"):
        gan_monitor(object())
    with pytest.raises(ValueError, match="no epochs"):
        gan_monitor({"discriminator": [], "generator": []})
    with pytest.raises(ValueError, match="objective must be"):
        gan_monitor(history(), objective="mean")


def test_epochs_without_a_step_of_the_generator_are_no_alarm():
    """A critic of many steps: some epochs have no loss of the generator."""
    some = np.where(np.arange(20) % 3 == 2, 0.69, np.nan)
    history = {"discriminator": np.full(20, 1.38), "generator": some}
    report = gan_monitor(history)
    assert not report.alarms and report.verdict == "level"
    lost = np.where(np.arange(20) % 3 == 2, 1e-4, np.nan)
    (alarm,) = gan_monitor({**history, "generator": lost}).alarms
    assert alarm.kind == "generator_won" and alarm.epoch == 3
    nothing = np.full(20, np.nan)
    assert gan_monitor({**history, "generator": nothing}).verdict == "diverged"
    X = np.random.default_rng(0).normal(size=(60, 2))
    few = WGAN(2, hidden_layer_sizes=(8,), n_epochs=4, device="cpu", random_state=0)
    assert np.isnan(few.fit(X).history_["generator"]).any()
    assert gan_monitor(few).verdict != "diverged"
