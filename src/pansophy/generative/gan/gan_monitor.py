"""Convergence monitor of an adversarial game: balance, level losses, alarms.

Neither loss of a game tells how good the samples are, but together they tell whether
the game goes on. With L_D the discriminator's loss, L_G the generator's, and A the
share of real and generated rows that the discriminator judges rightly,

    balance    A = 1/2, where D = 1/2 and L_D = log 4: log 2 for each of its terms (1)
    level      neither loss moves by more than a tenth of its size over the last
               epochs                                                              (2)
    alarms     L_D near 0, or A near 1: the discriminator has won, and the generator
               gets hardly a gradient;  L_G near 0: the generator has won against a
               discriminator that no longer looks;  a loss grows tenfold, or is not
               finite: the game diverges                                           (3)

(1) holds for the objectives "minimax" and "non_saturating"; the others have balances of
their own (`GAN_OBJECTIVES`). Balance is necessary, not enough: a generator that has
dropped modes can be in balance, too, so look at `precision_recall` besides.
"""

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from ...params import check_count
from .gan_objectives import GAN_OBJECTIVES

NEAR_ZERO = 0.05  # of the loss at balance
NEAR_HALF = 0.1  # from 1/2
NEAR_ONE = 0.97
LEVEL = 0.1  # of the size of a loss
GROWTH = 10.0

AlarmKind = Literal["discriminator_won", "generator_won", "diverged"]
Verdict = Literal[
    "balanced", "level", "moving", "discriminator_won", "generator_won", "diverged"
]

SENTENCES = {
    "balanced": "balanced: the discriminator is right about half of the time",
    "level": "level: both losses have stopped moving, but not at the balance",
    "moving": "moving: the losses have not levelled off yet",
    "discriminator_won": (
        "the discriminator has won: lower discriminator_rate or n_critic, or raise "
        "penalty_weight"
    ),
    "generator_won": (
        "the generator has won against a discriminator that no longer looks: raise "
        "discriminator_rate or n_critic"
    ),
    "diverged": "the losses diverge: lower learning_rate_init or raise penalty_weight",
}


class GANAlarm(NamedTuple):
    """Something wrong with a game, eq. (3)."""

    kind: AlarmKind
    epoch: int  # the first from which it holds to the end
    name: str  # what was measured
    value: float  # its mean since then


class GANReport(NamedTuple):
    """Verdict on the adversarial game, with its losses and alarms."""

    verdict: Verdict
    accuracy: float  # A of the last epochs; NaN if it was not measured
    discriminator_loss: float
    generator_loss: float
    balance: float  # the discriminator's loss at balance
    is_level: bool
    alarms: tuple[GANAlarm, ...]

    def __str__(self):
        lines = [SENTENCES[self.verdict] + "."]
        lines.append(
            f"discriminator loss {self.discriminator_loss:.4f} (balance "
            f"{self.balance:.4f}), generator loss {self.generator_loss:.4f}, accuracy "
            f"{self.accuracy:.3f}."
        )
        for alarm in self.alarms:
            lines.append(
                f"alarm from epoch {alarm.epoch}: {alarm.name} is {alarm.value:.4g}."
            )
        return "\n".join(lines)


def gan_monitor(model, *, objective=None, window=None) -> GANReport:
    """Verdict and alarms of an adversarial game, eq. (1) to (3).

    Parameters
    ----------
    model : fitted GAN, or a dict of its history
        With the losses `discriminator` and `generator` of each epoch (NaN where an
        epoch had no step of the generator) and, where they
        were measured, `real_accuracy` and `fake_accuracy`.
    objective : str, optional
        One of `GAN_OBJECTIVES`; that of the model, "non_saturating" for a dict.
    window : int, optional
        Epochs that are looked at; the last fifth by default, at least 5.

    Examples
    --------
    >>> from pansophy.generative import gan_monitor
    >>> history = {
    ...     "discriminator": [1.4] * 20, "generator": [0.69] * 20,
    ...     "real_accuracy": [0.52] * 20, "fake_accuracy": [0.49] * 20,
    ... }
    >>> gan_monitor(history).verdict
    'balanced'
    >>> collapsed = [1.4] * 10 + [0.001] * 10
    >>> alarm = gan_monitor({**history, "discriminator": collapsed}).alarms[0]
    >>> alarm.kind, alarm.epoch
    ('discriminator_won', 11)
    """
    history: Any = model if isinstance(model, dict) else getattr(model, "history_", {})
    for name in ("discriminator", "generator"):
        if name not in history:
            raise ValueError(
                f"there is no history of the loss {name!r}: give a fitted GAN or its "
                "history_."
            )
    if objective is None:
        net: Any = getattr(model, "net_", None)
        objective = getattr(net, "objective", "non_saturating")
    if objective not in GAN_OBJECTIVES:
        raise ValueError(
            f"objective must be one of {', '.join(GAN_OBJECTIVES)}, got {objective!r}."
        )
    rule = GAN_OBJECTIVES[objective]
    losses = {n: np.asarray(history[n], float) for n in ("discriminator", "generator")}
    n = len(losses["discriminator"])
    if n == 0:
        raise ValueError("the history has no epochs.")
    width = max(5, n // 5) if window is None else check_count("window", window)
    last = slice(-width, None)
    accuracies = _discriminator_accuracy(history, n)
    alarms = tuple(_find_alarms(losses, accuracies, objective))
    accuracy = mean_of(accuracies[last])
    level = all(is_level(measured(values)[0][last]) for values in losses.values())
    if alarms:
        verdict = alarms[0].kind
    elif abs(accuracy - 0.5) <= NEAR_HALF:
        verdict = "balanced"
    else:
        verdict = "level" if level else "moving"
    return GANReport(
        verdict,
        accuracy,
        mean_of(losses["discriminator"][last]),
        mean_of(losses["generator"][last]),
        rule.balance,
        level,
        alarms,
    )


def _discriminator_accuracy(history, n):
    """A of each epoch: the mean of both sets' shares, NaN where not measured."""
    absent = np.full(n, math.nan)
    parts = [
        np.asarray(history.get(name, absent), float)
        for name in ("real_accuracy", "fake_accuracy")
    ]
    return np.mean(parts, axis=0)


def measured(values):
    """Values that are no NaN, and their epochs from 1 on.

    A generator is not trained in every epoch if the critic takes many steps for each
    of its own and an epoch has few.
    """
    epochs = np.flatnonzero(~np.isnan(values))
    return values[epochs], epochs + 1


def mean_of(values) -> float:
    """The mean of the finite values; NaN if there are none."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else math.nan


def is_level(values) -> bool:
    """Whether a line through the values rises or falls by less than eq. (2) says."""
    if len(values) < 3 or not np.isfinite(values).all():
        return False
    slope = np.polyfit(np.arange(len(values)), values, 1)[0]
    size = max(abs(float(values.mean())), 1e-3)
    return abs(slope) * (len(values) - 1) <= LEVEL * size


def _find_alarms(losses, accuracies, objective):
    """Alarms of eq. (3), the gravest first."""
    rule = GAN_OBJECTIVES[objective]
    for name, values in losses.items():
        seen, _ = measured(values)
        broken = np.isinf(values) if name == "generator" else ~np.isfinite(values)
        if broken.any() or not len(seen):
            yield GANAlarm("diverged", int(broken.argmax()) + 1, name, math.nan)
            continue
        usual = np.median(np.abs(seen[: max(1, len(seen) // 2)]))
        far = lambda v, usual=usual: np.abs(v) > GROWTH * max(usual, 1.0)
        yield from _lasting_alarm("diverged", name, values, far)
    if rule.balance > 0:
        low = lambda v: v < NEAR_ZERO * rule.balance
        values = losses["discriminator"]
        yield from _lasting_alarm("discriminator_won", "discriminator", values, low)
    high = lambda v: v > NEAR_ONE
    yield from _lasting_alarm("discriminator_won", "accuracy", accuracies, high)
    if objective in ("non_saturating", "least_squares"):  # whose loss is at least 0
        at_balance = math.log(2) if objective == "non_saturating" else 0.125
        low = lambda v: v < NEAR_ZERO * at_balance
        yield from _lasting_alarm(
            "generator_won", "generator", losses["generator"], low
        )


def _lasting_alarm(kind: AlarmKind, name, values, is_wrong):
    """An alarm if the last three measured values are wrong, or all of fewer."""
    seen, epochs = measured(values)
    wrong = is_wrong(seen)
    begin = len(wrong) - int(np.argmin(wrong[::-1])) if not wrong.all() else 0
    if len(wrong) and len(wrong) - begin >= min(3, len(wrong)):
        yield GANAlarm(kind, int(epochs[begin]), name, float(seen[begin:].mean()))
