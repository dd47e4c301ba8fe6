"""Objectives of generative adversarial nets, and their optimal discriminator.

A generator makes rows G(z) of noise z, a discriminator gives rows a score f. With
D = sigmoid(f), the probability that a row is real, the two play for the value

    V(D, G) = E_x log D(x) + E_z log(1 - D(G(z)))                                  (1)

which D raises and G lowers. For a fixed generator with density q and data of density p
the best discriminator and what is then left for the generator are

    D* = p / (p + q),   C(G) = V(D*, G) = -log 4 + 2 JS(p, q)                      (2)

so that C is least, -log 4, where q = p, and D* = 1/2 there. Training takes two losses
that go down, of the scores a = f(x) of real and b = f(G(z)) of generated rows:

                      discriminator                            generator           (3)
    minimax           softplus(-a) + softplus(b)               -softplus(b)
    non_saturating    the same                                 softplus(-b)
    hinge             relu(1 - a) + relu(1 + b)                -b
    least_squares     (a - 1)^2 / 2 + b^2 / 2                  (b - 1)^2 / 2
    wasserstein       -a + b                                   -b

The discriminator's loss of the first is -V. Its generator loss log(1 - D) is flat where
the discriminator rejects (slope sigmoid(b), near 0 for b << 0); the second has the same
fixed point and slope sigmoid(b) - 1 there. The last estimates the Wasserstein-1
distance if f is held to slope 1 (`critic_regularisers`).

Refs      [Goodfellow2014] (1), (2), minimax, non-saturating; [Lim2017] hinge; [Mao2017]
          least squares; [Arjovsky2017] Wasserstein
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor
from torch.nn.functional import relu, softplus

from ...core.arrays.unreadable import array_of_numbers
from ...core.arrays.weighted import check_sample_weight
from ...core.numerics import log1pexp, safe_log
from ...core.quadrature import panel_quadrature
from ...distributions import discriminator_value

PANELS = 256  # of the quadrature of eq. (2)
NODES = 16  # in each panel
SLACK = 1e-3  # by which a density may miss 1 within the limits


class AdversarialObjective(NamedTuple):
    """A row of eq. (3): losses of scores, one value for each row."""

    real: Callable[[Tensor], Tensor]
    fake: Callable[[Tensor], Tensor]
    generator: Callable[[Tensor], Tensor]
    threshold: float | None  # scores above it say "real"; None: scores have no zero
    balance: float  # discriminator loss where it cannot tell the two apart


GAN_OBJECTIVES = {
    "minimax": AdversarialObjective(
        lambda a: softplus(-a), softplus, lambda b: -softplus(b), 0.0, math.log(4)
    ),
    "non_saturating": AdversarialObjective(
        lambda a: softplus(-a), softplus, lambda b: softplus(-b), 0.0, math.log(4)
    ),
    "hinge": AdversarialObjective(
        lambda a: relu(1 - a), lambda b: relu(1 + b), lambda b: -b, 0.0, 2.0
    ),
    "least_squares": AdversarialObjective(
        lambda a: (a - 1).square() / 2,
        lambda b: b.square() / 2,
        lambda b: (b - 1).square() / 2,
        0.5,
        0.25,
    ),
    "wasserstein": AdversarialObjective(
        lambda a: -a, lambda b: b, lambda b: -b, None, 0.0
    ),
}


def gan_value(real, fake, *, logits=False, real_weight=None, fake_weight=None) -> float:
    """V of eq. (1) from what a discriminator says of real and of generated rows.

    Parameters
    ----------
    real, fake : arrays of shape (n,) and (m,), or numbers
        D of the rows: probabilities that they are real; scores f with `logits`.
    logits : bool, default=False
        Whether they are scores, which loses no digits near 0 and 1.
    real_weight, fake_weight : arrays of shape (n,) and (m,), optional

    Examples
    --------
    >>> from pansophy.generative import gan_value
    >>> round(gan_value(0.5, 0.5), 7)  # balance: -log 4
    -1.3862944
    """
    parts = []
    for name, outputs, weight in (
        ("real", real, real_weight),
        ("fake", fake, fake_weight),
    ):
        D = np.atleast_1d(array_of_numbers(outputs, name))
        if not logits and not ((D >= 0) & (D <= 1)).all():
            raise ValueError(
                f"{name} must hold probabilities from 0 to 1; pass scores with "
                "logits=True."
            )
        w = check_sample_weight(weight, len(D), f"{name}_weight")
        if logits:
            log = -log1pexp(-D) if name == "real" else -log1pexp(D)
        else:
            log = safe_log(D) if name == "real" else safe_log(1 - D)
        parts.append(float(np.average(log, weights=w)))
    return sum(parts)


def virtual_criterion(p, q, *, limits=None, samples=None) -> float:
    """C(G) of eq. (2): the value of the game against the best discriminator.

    Parameters
    ----------
    p, q : arrays of shape (m,), or distributions with `log_prob`
        Densities of the data and of the generator: masses of the same m values, or
        distributions, which need `limits` or `samples`.
    limits : (float, float), optional
        For distributions of one number: the interval to integrate over.
    samples : (P, Q), optional
        Rows drawn from p and from q: the two means are taken over them.

    Examples
    --------
    >>> from pansophy.generative import virtual_criterion
    >>> round(virtual_criterion([0.2, 0.8], [0.2, 0.8]), 7)
    -1.3862944
    >>> virtual_criterion([1.0, 0.0], [0.0, 1.0])  # nothing in common: the most
    0.0
    >>> from pansophy.distributions import Normal
    >>> p, q = Normal(0.0, 1.0), Normal(1.0, 1.0)
    >>> round(virtual_criterion(p, q, limits=(-9, 10)), 6)
    -1.163451
    """
    if not hasattr(p, "log_prob"):
        masses = [np.atleast_1d(array_of_numbers(a, n)) for n, a in zip("pq", (p, q))]
        return float(discriminator_value(*masses))
    if not hasattr(q, "log_prob"):
        raise TypeError("p is a distribution with log_prob, so q must be one too.")
    if samples is not None:
        P, Q = samples
        log_real = np.asarray(p.log_prob(P)) - np.asarray(q.log_prob(P))
        log_fake = np.asarray(p.log_prob(Q)) - np.asarray(q.log_prob(Q))
        return gan_value(log_real.ravel(), log_fake.ravel(), logits=True)
    if limits is None:
        raise ValueError(
            "distributions need limits to integrate over, or samples of both."
        )
    low, high = (float(v) for v in limits)
    if not low < high:
        raise ValueError(f"limits must ascend, got {low} and {high}.")
    x, dx = panel_quadrature(np.linspace(low, high, PANELS + 1), NODES)
    log_p, log_q = (_density_on_line(d, x) for d in (p, q))
    for name, log_density in (("p", log_p), ("q", log_q)):
        mass = float(dx @ np.exp(log_density))
        if abs(mass - 1) > SLACK:
            raise ValueError(
                f"{name} has the mass {mass:.4g} within limits {tuple(limits)}: widen "
                "them."
            )
    odds = log_p - log_q
    gain = np.exp(log_p) * -log1pexp(-odds) + np.exp(log_q) * -log1pexp(odds)
    return float(dx @ np.where(np.isfinite(gain), gain, 0.0))


def _density_on_line(distribution: Any, x):
    """Log density of a distribution of one number at the places x (n,)."""
    result = np.asarray(distribution.log_prob(x[:, None]), float)
    if result.shape != x.shape:
        result = result.reshape(len(x), -1)
        if result.shape[1] != 1:
            raise ValueError("limits are for distributions of one number.")
        result = result[:, 0]
    return result
