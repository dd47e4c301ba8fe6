"""Multi-armed bandits: which of K arms pays best, found out by pulling them.

Arm i pays a reward of mean mu_i. With mu* the greatest mean, the regret after T pulls
a_1, ..., a_T is what was given up on average, by the means and not by the draws,

    R_T = sum_t (mu* - mu_{a_t}).                                                (1)

After n_i pulls arm i has the running mean m_i, moved by each reward as m <- m + (r - m)
/ n. At pull t the strategies take the arm of the greatest

    UCB1         m_i + c sqrt(2 log t / n_i)                                     (2)
    KL-UCB       max { q : n_i KL(m_i, q) <= log t + c log log t }               (3)
    Thompson     one draw from the posterior of mu_i
    Bayes-UCB    the quantile 1 - 1/t of the posterior of mu_i                   (4)

(the first of equals; arms of which no reward is known first, in turn), or draw it:
epsilon-greedy and Boltzmann from the means, EXP3 with probabilities that need no chance
in the rewards at all,

    p_i = (1 - g) w_i / sum_j w_j + g / K,  w_i <- w_i exp(g r / (p_i K)) if pulled. (5)

The posterior is Beta(1 + wins, 1 + losses) for rewards of 0 and 1, and Normal(m_i,
scale^2 / n_i) for normal ones; KL and posterior are those of rewards of 0 and 1 for all
rewards from 0 to 1, those of normal ones for others. For Bernoulli and normal arms no
strategy that is good everywhere has a regret below the bound of Lai and Robbins,

    R_T >= log T sum_{i: mu_i < mu*} (mu* - mu_i) / KL(mu_i, mu*)    for large T.  (6)

If the means are known there is nothing to try; deterministic rewards are known after
one pull of each arm (`find_best_arm`).

Refs      [Auer2002] (2); [Garivier2011] (3); [Thompson1933]; [Kaufmann2012] (4);
          [Auer2002a] (5); [Lai1985] (6)
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.loops import threads
from ...core.random import make_rng
from ...params import (
    Count,
    Natural,
    NonNegative,
    PositiveFraction,
    check_argument,
)
from ..planning.mdp import check_index
from ..tabular.schedules import ScheduleReader, schedule_values
from . import _bandits as loops

NOISES = {"none": 0, "normal": 1, "bernoulli": 2}
ASSUMES_NOISE = (loops.KL_UCB, loops.THOMPSON, loops.BAYES_UCB)


class Bandit:
    """K arms with rewards of given means.

    Parameters
    ----------
    means : array of shape (K,)
        mu_i.
    noise : {"none", "normal", "bernoulli"}
        Rewards are the means themselves, normal around them, or 1 with the mean as
        probability and else 0.
    scale : float or array of shape (K,)
        Standard deviations of normal rewards.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.rl import Bandit
    >>> Bandit([1.0, 3.0, 2.0]).pull(1, np.random.default_rng(0))
    3.0
    """

    def __init__(
        self,
        means,
        *,
        noise: Literal["none", "normal", "bernoulli"] = "none",
        scale=1.0,
    ):
        self.means = np.asarray(means, dtype=float)
        if self.means.ndim != 1 or not len(self.means):
            raise ValueError("means must be a list of numbers, one for each arm.")
        if not np.isfinite(self.means).all():
            raise ValueError("means contains NaN or infinity.")
        if noise not in NOISES:
            raise ValueError(f"noise must be one of {list(NOISES)}, got {noise!r}.")
        if noise == "bernoulli" and not ((self.means >= 0) & (self.means <= 1)).all():
            raise ValueError("means of Bernoulli arms must be from 0 to 1.")
        self.noise = noise
        self.scale = _check_scale(scale, len(self.means))

    @property
    def n_arms(self) -> int:
        return len(self.means)

    @property
    def gaps(self) -> np.ndarray:
        """mu* - mu_i of every arm."""
        return self.means.max() - self.means

    def pull(self, arm, rng) -> float:
        """A reward of an arm."""
        check_index("arm", arm, self.n_arms)
        mean = float(self.means[arm])
        if self.noise == "normal":
            return float(rng.normal(mean, self.scale[arm]))
        if self.noise == "bernoulli":
            return float(rng.random() < mean)
        return mean

    def divergence(self) -> np.ndarray:
        """KL(mu_i, mu*) of every arm; infinite for deterministic rewards."""
        best = self.means.max()
        if self.noise == "normal":
            return (best - self.means) ** 2 / (2 * self.scale**2)
        if self.noise == "bernoulli":
            return np.array([loops.bernoulli_kl(m, best) for m in self.means])
        return np.where(self.means < best, np.inf, 0.0)

    def __repr__(self):
        return f"Bandit of {self.n_arms} arms, noise {self.noise!r}"


def _check_scale(scale, n_arms) -> np.ndarray:
    """Standard deviations of the arms, (K,); the clear error otherwise."""
    scale = np.asarray(scale, float)
    if scale.shape not in ((), (n_arms,)):
        raise ValueError(f"scale must be a number or one for each of {n_arms} arms.")
    scale = np.broadcast_to(scale, (n_arms,)).copy()
    if not ((scale > 0) & (scale < np.inf)).all():
        raise ValueError("scale must be above 0 and finite.")
    return scale


@dataclass(frozen=True)
class UCB1:
    """Upper confidence bounds, eq. (2), for rewards in an interval of length c."""

    c: float = 1.0
    kind = 2

    def __post_init__(self):
        check_argument("c of UCB1", self.c, NonNegative)

    @property
    def level(self):
        return self.c


@dataclass(frozen=True)
class KLUCB:
    """Upper confidence bounds by divergence, eq. (3)."""

    c: float = 0.0
    kind = 3

    def __post_init__(self):
        check_argument("c of KLUCB", self.c, NonNegative)

    @property
    def level(self):
        return self.c


@dataclass(frozen=True)
class ThompsonSampling:
    """The arm that is best in one draw from the posterior."""

    kind = 4
    level = 0.0


@dataclass(frozen=True)
class BayesUCB:
    """A rising quantile of the posterior, eq. (4)."""

    kind = 5
    level = 0.0


@dataclass(frozen=True)
class EXP3:
    """Exponential weights, eq. (5), for rewards from 0 to 1 of any origin."""

    g: float | Callable = 0.1
    kind = 6

    def __post_init__(self):
        check_argument("g of EXP3", self.g, PositiveFraction | Callable)

    @property
    def level(self):
        return self.g


class Pull(NamedTuple):
    """A pull whose reward is still to come."""

    arm: int
    chance: float  # probability with which it was drawn, for EXP3; else 1
    level: float = 0.0  # g of EXP3 when it was drawn


def check_reward(reward) -> float:
    """A reward as a number; the clear error if it is none."""
    if not np.isfinite(reward):
        raise ValueError(f"a reward must be a finite number, got {reward!r}.")
    return float(reward)


def _check_strategy(strategy):
    """A strategy of this module or of `exploration`; the clear error otherwise."""
    if isinstance(strategy, type) or not hasattr(strategy, "kind"):
        raise TypeError(
            "strategy must be an EpsilonGreedy, Boltzmann, UCB1, KLUCB, "
            f"ThompsonSampling, BayesUCB or EXP3, got {strategy!r}."
        )
    return strategy


class BanditLearner:
    """An agent that learns which arm to pull; rewards may come late.

    Parameters
    ----------
    n_arms : int
        K.
    strategy : EpsilonGreedy, Boltzmann, UCB1, KLUCB, ThompsonSampling, BayesUCB or EXP3
        How arms are chosen.
    noise : {"bernoulli", "normal"}
        What posteriors and divergences (KL-UCB, Thompson, Bayes-UCB) assume of the
        rewards: "bernoulli" is for rewards from 0 to 1.
    scale : float or array of shape (K,)
        Standard deviations of normal rewards.
    step : float or None
        Constant step of the means, for rewards that drift; None: running means.

    Attributes
    ----------
    counts, means : ndarray of shape (K,)
        n_i and m_i.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.rl import Bandit, BanditLearner, UCB1
    >>> rng = np.random.default_rng(0)
    >>> arms = Bandit([0.2, 0.8], noise="bernoulli")
    >>> learner = BanditLearner(2, UCB1())
    >>> for _ in range(200):
    ...     pull = learner.pull(rng)
    ...     learner.learn(pull, arms.pull(pull.arm, rng))
    >>> learner.best_arm
    1
    """

    def __init__(
        self, n_arms, strategy: Any = None, *, noise="bernoulli", scale=1.0, step=None
    ):
        check_argument("n_arms", n_arms, Count)
        check_argument("noise", noise, Literal["bernoulli", "normal"])
        scales = _check_scale(scale, int(n_arms))
        check_argument("step", step, PositiveFraction | None)
        self.strategy = _check_strategy(UCB1() if strategy is None else strategy)
        self.bounded = noise == "bernoulli" and self.strategy.kind in ASSUMES_NOISE
        self.level = ScheduleReader(self.strategy.level)
        self.belief = loops.ArmBelief(NOISES[noise], scales, float(step or 0.0))
        self.arms = loops.new_arms(int(n_arms))
        self.t = 0

    @property
    def counts(self) -> np.ndarray:
        return self.arms.counts

    @property
    def means(self) -> np.ndarray:
        return self.arms.means

    @property
    def best_arm(self) -> int:
        """The arm of the greatest mean."""
        pulled = np.where(self.counts > 0, self.means, -np.inf)
        return int(np.argmax(pulled))

    def pull(self, rng) -> Pull:
        """Choose an arm; hand the result to `learn` when its reward is there."""
        stream = rng.integers(2**64, size=1, dtype=np.uint64)
        level = self.level.at(self.t)
        self.t += 1
        arm, chance = loops.choose_arm(
            self.strategy.kind, level, self.belief, self.arms, self.t, stream
        )
        return Pull(int(arm), float(chance), float(level))

    def learn(self, pull: Pull, reward) -> None:
        """Learn from the reward of a pull, at once or later."""
        check_index("arm", pull.arm, len(self.counts))
        reward = check_reward(reward)
        if self.bounded and not 0 <= reward <= 1:
            raise ValueError(
                f"with noise='bernoulli' rewards must be from 0 to 1, got {reward!r}: "
                "set noise='normal' and scale."
            )
        loops.learn_reward(
            self.strategy.kind,
            pull.level,
            self.belief,
            self.arms,
            pull.arm,
            reward,
            pull.chance,
        )

    def act(self, observation, rng) -> int:
        """`pull` for `rollout`, whose rewards come at once."""
        self.last = self.pull(rng)
        return self.last.arm

    def update(self, transition) -> None:
        self.learn(self.last, transition.reward)


class BanditRun(NamedTuple):
    """Regret of repeated runs, made by `play_bandit`."""

    steps: np.ndarray  # (m,) numbers of pulls at which regret was noted
    regret: np.ndarray  # (runs, m) eq. (1)
    counts: np.ndarray  # (runs, K)
    means: np.ndarray  # (runs, K)
    seconds: float

    @property
    def mean_regret(self) -> np.ndarray:
        return self.regret.mean(axis=0)

    @property
    def best_arms(self) -> np.ndarray:
        """The arm of the greatest mean in each run."""
        return np.where(self.counts > 0, self.means, -np.inf).argmax(axis=1)


def play_bandit(
    bandit: Bandit,
    strategy: Any,
    n_pulls,
    *,
    n_runs=1,
    delay=0,
    step=None,
    n_points=200,
    random_state=None,
) -> BanditRun:
    """Let a strategy pull the arms of a bandit, in compiled loops.

    Parameters
    ----------
    bandit : Bandit
    strategy : EpsilonGreedy, Boltzmann, UCB1, KLUCB, ThompsonSampling, BayesUCB or EXP3
    n_pulls : int
        T.
    n_runs : int
        Runs from the beginning, each with its own random numbers, on threads.
    delay : int
        Pulls after which a reward arrives; 0: at once.
    step : float or None
        Constant step of the means; None: running means.
    n_points : int
        At how many pulls, evenly spaced in the logarithm, the regret is noted.
    random_state : int, Generator, RandomState or None
        Same seed, same runs, whatever the number of threads.

    Returns
    -------
    BanditRun
        steps, regret, counts, means.

    Examples
    --------
    >>> from pansophy.rl import Bandit, UCB1, lai_robbins_bound, play_bandit
    >>> arms = Bandit([0.9, 0.6], noise="bernoulli")
    >>> run = play_bandit(arms, UCB1(), 10_000, n_runs=20, random_state=0)
    >>> bool(run.mean_regret[-1] > lai_robbins_bound(arms, 10_000))
    True
    """
    check_argument("n_pulls", n_pulls, Count)
    check_argument("n_runs", n_runs, Count)
    check_argument("delay", delay, Natural)
    check_argument("n_points", n_points, Count)
    check_argument("step", step, PositiveFraction | None)
    _check_strategy(strategy)
    start_time = time.perf_counter()
    rng = make_rng(random_state)
    T = int(n_pulls)
    K = bandit.n_arms
    steps = np.unique(np.geomspace(1, T, min(n_points, T)).round().astype(np.int64))
    levels = schedule_values(strategy.level, 0, T)
    regret = np.zeros((n_runs, len(steps)))
    counts = np.zeros((n_runs, K), np.int64)
    means = np.zeros((n_runs, K))
    streams = rng.integers(2**64, size=(n_runs, 1), dtype=np.uint64)
    source = loops.ArmRewards(NOISES[bandit.noise], bandit.means, bandit.scale)
    outside = bool(((bandit.means < 0) | (bandit.means > 1)).any())
    normal = bandit.noise == "normal" or outside
    family = NOISES["normal" if normal else "bernoulli"]
    belief = loops.ArmBelief(family, bandit.scale, float(step or 0.0))

    def one_run(i):
        arms = loops.new_arms(K)
        loops.play_arms(
            source,
            (strategy.kind, levels, int(delay)),
            belief,
            arms,
            streams[i],
            steps,
            regret[i],
        )
        counts[i], means[i] = arms.counts, arms.means

    list(threads.run_tasks(lambda i=i: one_run(i) for i in range(n_runs)))
    return BanditRun(steps, regret, counts, means, time.perf_counter() - start_time)


class BestArm(NamedTuple):
    """Result of `find_best_arm`."""

    arm: int
    trials: int  # pulls that it took
    means: np.ndarray  # (K,) known or estimated


def find_best_arm(bandit: Bandit, *, known=False, repeats=1, random_state=None):
    """The best arm by the least work: the four cases of one-state decisions.

    Parameters
    ----------
    bandit : Bandit
    known : bool
        Whether the means are known: then nothing is tried.
    repeats : int
        Pulls of each arm where rewards are random and unknown; one is enough where
        they are not random.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    BestArm
        arm, trials (0, K, 0 or K repeats) and means.

    Examples
    --------
    >>> from pansophy.rl import Bandit, find_best_arm
    >>> certain, noisy = Bandit([1, 3, 2]), Bandit([1, 3, 2], noise="normal")
    >>> for arms in (certain, noisy):
    ...     for known in (True, False):
    ...         print(find_best_arm(arms, known=known, repeats=50, random_state=0)[:2])
    (1, 0)
    (1, 3)
    (1, 0)
    (1, 150)
    """
    check_argument("repeats", repeats, Count)
    if known:
        return BestArm(int(np.argmax(bandit.means)), 0, bandit.means)
    repeats = 1 if bandit.noise == "none" else int(repeats)
    rng = make_rng(random_state)
    means = np.array(
        [
            running_mean([bandit.pull(arm, rng) for _ in range(repeats)])[-1]
            for arm in range(bandit.n_arms)
        ]
    )
    return BestArm(int(np.argmax(means)), bandit.n_arms * repeats, means)


def running_mean(rewards, step=None) -> np.ndarray:
    """The mean after each reward: m <- m + (r - m) / n, or the constant step for 1 / n.

    Examples
    --------
    >>> from pansophy.rl import running_mean
    >>> running_mean([1, 0, 2, 5])
    array([1. , 0.5, 1. , 2. ])
    """
    check_argument("step", step, PositiveFraction | None)
    m = 0.0
    means = []
    for n, reward in enumerate(rewards, 1):
        m += (float(reward) - m) * (1 / n if step is None else step)
        means.append(m)
    return np.array(means)


def lai_robbins_bound(bandit: Bandit, n_pulls):
    """Eq. (6): what no good strategy stays below, for many pulls.

    Examples
    --------
    >>> from pansophy.rl import Bandit, lai_robbins_bound
    >>> arms = Bandit([0.0, 1.0], noise="normal")
    >>> round(float(lai_robbins_bound(arms, 1000)), 4)  # 2 log T / gap
    13.8155
    """
    worse = bandit.gaps > 0
    rate = (bandit.gaps[worse] / bandit.divergence()[worse]).sum()
    return rate * np.log(n_pulls)


def ucb1_bound(bandit: Bandit, n_pulls):
    """Regret bound of UCB1, for rewards from 0 to 1, by its authors.

    Examples
    --------
    >>> from pansophy.rl import Bandit, ucb1_bound
    >>> round(float(ucb1_bound(Bandit([0.5, 1.0], noise="bernoulli"), 1000)), 2)
    112.67
    """
    gaps = bandit.gaps[bandit.gaps > 0]
    return (8 / gaps).sum() * np.log(n_pulls) + (1 + np.pi**2 / 3) * gaps.sum()


def exp3_bound(n_arms, n_pulls):
    """Regret bound of EXP3 in any world, with g set for n_pulls.

    g = min(1, sqrt(K log K / ((e - 1) T))) gives a regret of at most
    2 sqrt((e - 1) T K log K).
    """
    return 2 * np.sqrt((np.e - 1) * np.asarray(n_pulls) * n_arms * np.log(n_arms))
