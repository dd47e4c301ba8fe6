"""Which arm pays best? Strategies compared by their regret, and a policy from a log."""

import numpy as np
from sklearn.linear_model import LinearRegression

from pansophy.rl import (
    EXP3,
    KLUCB,
    UCB1,
    Bandit,
    BanditLog,
    BayesUCB,
    EpsilonGreedy,
    LinUCB,
    ThompsonSampling,
    cross_fitted_rewards,
    evaluate_off_policy,
    lai_robbins_bound,
    play_bandit,
)

arms = Bandit([0.9, 0.8, 0.7, 0.5], noise="bernoulli")
T = 5000
print(f"mean regret after {T} pulls (20 runs), alone and with rewards 100 pulls late")
for strategy in (
    EpsilonGreedy(0.1),
    UCB1(),
    KLUCB(),
    BayesUCB(),
    ThompsonSampling(),
    EXP3(0.05),
):
    now, late = (
        play_bandit(arms, strategy, T, n_runs=20, delay=delay, random_state=0)
        for delay in (0, 100)
    )
    name = type(strategy).__name__
    print(f"  {name:17} {now.mean_regret[-1]:7.1f} {late.mean_regret[-1]:7.1f}")
print(f"  no strategy below {lai_robbins_bound(arms, T):7.1f} in the long run")

# the best arm depends on what is seen first
rng = np.random.default_rng(0)
theta = rng.normal(size=(3, 4))
learner = LinUCB(3, 4)
gained, possible = 0.0, 0.0
for _ in range(1000):
    x = rng.normal(size=4)
    arm = learner.act(x)
    learner.learn(x, arm, theta[arm] @ x + rng.normal())
    gained += theta[arm] @ x
    possible += (theta @ x).max()
print(f"\nLinUCB: {gained / possible:.0%} of what was possible in 1000 pulls")

# what would another policy have earned? from the log of random pulls
n = 5000
X = rng.normal(size=(n, 4))
pulled = rng.integers(3, size=n)
rewards = (X @ theta.T)[np.arange(n), pulled] + rng.normal(size=n)
log = BanditLog(X, pulled, rewards, np.full(n, 1 / 3))
policy = np.eye(3)[(X @ learner.coef.T).argmax(axis=1)]
q = cross_fitted_rewards(log, LinearRegression(), 3)
print("\nvalue of the learnt policy, from a log of random pulls")
for method in ("ips", "snips", "dr"):
    found = evaluate_off_policy(log, policy, method=method, rewards=q)
    print(f"  {method:6} {found.value:.3f} +- {found.standard_error:.3f}")
print(f"  truth  {(X @ theta.T).max(axis=1).mean():.3f} at best")
