"""Compiled bandits: choosing an arm, learning a reward, whole runs."""

import math
from typing import NamedTuple

import numpy as np

from ...core._random import random_normal, random_uniform
from ...core.loops.compiled import compiled
from ..tabular._q_learning import greedy_action, softmax_action

EPSILON_GREEDY, BOLTZMANN, UCB, KL_UCB, THOMPSON, BAYES_UCB, EXPONENTIAL = range(7)
NO_NOISE, NORMAL, BERNOULLI = range(3)


class ArmRewards(NamedTuple):
    """Reward distributions of the arms."""

    noise: int
    means: np.ndarray
    scale: np.ndarray


class ArmBelief(NamedTuple):
    """Assumed distribution of rewards, and the constant step of the means or 0."""

    noise: int
    scale: np.ndarray  # (K,) of normal rewards
    step: float


class Arms(NamedTuple):
    """Counts, means and weights of the arms."""

    counts: np.ndarray  # rewards that have come
    waiting: np.ndarray  # pulls whose reward is still to come
    means: np.ndarray
    log_weights: np.ndarray  # of EXP3
    scores: np.ndarray  # scratch


def new_arms(K) -> Arms:
    """Arms that were never pulled."""
    return Arms(
        np.zeros(K, np.int64),
        np.zeros(K, np.int64),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
    )


@compiled
def bernoulli_kl(p, q):
    """KL(p, q) = p log(p / q) + (1 - p) log((1 - p) / (1 - q))."""
    total = 0.0
    if p > 0:
        total += p * math.log(p / q) if q > 0 else np.inf
    if p < 1:
        total += (1 - p) * math.log((1 - p) / (1 - q)) if q < 1 else np.inf
    return total


@compiled(inner=True)
def _kl_upper_bound(mean, n, target, noise, scale):
    """The greatest q with n KL(mean, q) <= target."""
    if noise == NORMAL:
        return mean + scale * math.sqrt(2 * target / n)
    p = min(max(mean, 0.0), 1.0)
    low = p
    high = 1.0
    for _ in range(40):
        q = 0.5 * (low + high)
        if n * bernoulli_kl(p, q) > target:
            high = q
        else:
            low = q
    return low


@compiled(inner=True)
def _random_gamma(shape, stream):
    """A Gamma(shape, 1) number for shape >= 1: a cubed normal, accepted or not."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = random_normal(stream)
        v = (1.0 + c * x) ** 3
        if v > 0:
            u = random_uniform(stream)
            if math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v


@compiled(inner=True)
def _beta_fraction(a, b, x):
    """Continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    h = d
    for m in range(1, 300):
        even_term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even_term, odd):
            d = 1.0 + step * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + step / c
            c = c if abs(c) > tiny else tiny
            h *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return h


@compiled
def _beta_cdf(a, b, x):
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = math.exp(
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log1p(-x)
    )
    if x < (a + 1.0) / (a + b + 2.0):  # the fraction converges fast on this side
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


@compiled
def beta_quantile(a, b, p):
    """x with I_x(a, b) = p, by Newton's method kept inside a bracket."""
    low = 0.0
    high = 1.0
    mean = a / (a + b)
    spread = math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
    z = normal_upper_quantile(min(p, 1.0 - p))
    x = mean + (z if p > 0.5 else -z) * spread  # that of the normal alike
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    for _ in range(60):
        if not low < x < high:
            x = 0.5 * (low + high)
        excess = _beta_cdf(a, b, x) - p
        if excess < 0.0:
            low = x
        else:
            high = x
        slope = math.exp((a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - log_beta)
        step = excess / slope if slope > 0.0 else 1.0
        x -= step
        if abs(step) < 1e-14 or high - low < 1e-15:
            break
    return min(max(x, low), high)


@compiled
def normal_upper_quantile(p):
    """z with P(Z > z) = p for p up to 1/2, by bisection."""
    low = 0.0
    high = 40.0
    for _ in range(48):
        z = 0.5 * (low + high)
        if 0.5 * math.erfc(z / math.sqrt(2.0)) > p:
            low = z
        else:
            high = z
    return 0.5 * (low + high)


@compiled(inner=True)
def _arm_score(kind, level, belief, arms, arm, t, tail, stream):
    """Index of an arm; tail is the normal quantile of Bayes-UCB."""
    n = arms.counts[arm]
    mean = arms.means[arm]
    if kind == UCB:
        return mean + level * math.sqrt(2.0 * math.log(t) / n)
    if kind == KL_UCB:
        target = math.log(t)
        if level > 0.0 and t > 2:
            target += level * math.log(math.log(t))
        return _kl_upper_bound(
            mean, n, max(target, 0.0), belief.noise, belief.scale[arm]
        )
    if belief.noise == NORMAL:
        spread = belief.scale[arm] / math.sqrt(n)
        return mean + spread * (random_normal(stream) if kind == THOMPSON else tail)
    wins = min(max(mean, 0.0), 1.0) * n
    a = 1.0 + wins
    b = 1.0 + n - wins
    if kind == THOMPSON:
        x = _random_gamma(a, stream)
        return x / (x + _random_gamma(b, stream))
    return beta_quantile(a, b, 1.0 - 1.0 / max(t, 2))


@compiled
def choose_arm(kind, level, belief, arms, t, stream):
    """The arm of pull t = 1, 2, ... and the probability with which it was drawn."""
    arm, chance = _next_arm(kind, level, belief, arms, t, stream)
    arms.waiting[arm] += 1
    return arm, chance


@compiled
def _next_arm(kind, level, belief, arms, t, stream):
    """`choose_arm` without taking note of it."""
    K = len(arms.counts)
    if kind == EPSILON_GREEDY:
        if random_uniform(stream) < level:
            return int(random_uniform(stream) * K), 1.0
        return greedy_action(arms.means, random_uniform(stream)), 1.0
    if kind == BOLTZMANN:
        return softmax_action(arms.means, level, random_uniform(stream)), 1.0
    if kind == EXPONENTIAL:
        top = arms.log_weights.max()
        total = 0.0
        for i in range(K):
            arms.scores[i] = math.exp(arms.log_weights[i] - top)
            total += arms.scores[i]
        u = random_uniform(stream)
        sofar = 0.0
        p = 1.0
        for i in range(K):
            p = (1.0 - level) * arms.scores[i] / total + level / K
            sofar += p
            if sofar > u:
                return i, p
        return K - 1, p
    # a posterior needs a reward where its prior is flat over all numbers
    if kind < THOMPSON or belief.noise != BERNOULLI:
        unknown = -1
        for i in range(K):  # while rewards are late, such arms take turns
            if arms.counts[i] == 0 and (
                unknown < 0 or arms.waiting[i] < arms.waiting[unknown]
            ):
                unknown = i
        if unknown >= 0:
            return unknown, 1.0
    tail = 0.0
    if kind == BAYES_UCB and belief.noise == NORMAL:
        tail = normal_upper_quantile(1.0 / max(t, 2))
    best = -np.inf
    best_arm = 0
    for i in range(K):
        score = _arm_score(kind, level, belief, arms, i, t, tail, stream)
        if score > best:
            best = score
            best_arm = i
    return best_arm, 1.0


@compiled
def learn_reward(kind, level, belief, arms, arm, reward, chance):
    """Move the mean of an arm, and its weight if the strategy is EXP3."""
    arms.counts[arm] += 1
    if arms.waiting[arm] > 0:
        arms.waiting[arm] -= 1
    step = belief.step if belief.step > 0.0 else 1.0 / arms.counts[arm]
    arms.means[arm] += step * (reward - arms.means[arm])
    if kind == EXPONENTIAL:
        arms.log_weights[arm] += level * reward / (chance * len(arms.counts))


@compiled(inner=True)
def draw_reward(source, arm, stream):
    """A reward of an arm."""
    mean = source.means[arm]
    if source.noise == NORMAL:
        return mean + source.scale[arm] * random_normal(stream)
    if source.noise == BERNOULLI:
        return 1.0 if random_uniform(stream) < mean else 0.0
    return mean


@compiled
def play_arms(source, rule, belief, arms, stream, steps, regret):
    """Pull len(levels) times; note the regret after the pulls numbered in `steps`.

    rule = (kind, levels, delay); rewards wait in a ring until they arrive.
    """
    kind, levels, delay = rule
    best = source.means.max()
    total = 0.0
    noted = 0
    ring_arm = np.empty(delay + 1, np.int64)
    ring_reward = np.empty(delay + 1)
    ring_chance = np.empty(delay + 1)
    for t in range(len(levels)):
        arm, chance = choose_arm(kind, levels[t], belief, arms, t + 1, stream)
        total += best - source.means[arm]
        k = t % (delay + 1)
        ring_arm[k] = arm
        ring_reward[k] = draw_reward(source, arm, stream)
        ring_chance[k] = chance
        if t >= delay:
            k = (t - delay) % (delay + 1)
            learn_reward(
                kind, levels[t - delay], belief, arms,
                ring_arm[k], ring_reward[k], ring_chance[k],
            )  # fmt: skip
        if noted < len(steps) and t + 1 == steps[noted]:
            regret[noted] = total
            noted += 1
