"""The tiger: beliefs, exact and approximate policies, and what they earn."""

import numpy as np

from pansophy.rl import (
    POMCP,
    BeliefAgent,
    belief_update,
    belief_value_iteration,
    fast_informed_bound,
    point_based_value_iteration,
    qmdp,
    rollout,
    tiger_problem,
)
from pansophy.rl.envs import Tiger

tiger = tiger_problem()
LISTEN, HEARD_LEFT, GAMMA = 0, 0, 0.95

belief = tiger.start
for _ in range(2):
    belief = belief_update(tiger, belief, LISTEN, HEARD_LEFT)
    print("probability that it is on the left:", round(float(belief[0]), 6))

exact = belief_value_iteration(tiger, GAMMA)
points = point_based_value_iteration(tiger, GAMMA, random_state=0)
print("\nvalue of the first belief")
print("  exact       ", round(float(exact.policy.value(tiger.start)), 3))
print("  point-based ", round(points.low, 3))
for name, bound in (("FIB", fast_informed_bound), ("QMDP", qmdp)):
    value = float(bound(tiger, GAMMA).value(tiger.start))
    print(f"  {name:12}", round(value, 3), "(from above)")


def earned(policy, n_episodes):
    """Mean discounted return and its standard error."""
    run = rollout(
        Tiger(max_steps=60),
        BeliefAgent(tiger, policy),
        n_episodes=n_episodes,
        keep=True,
        random_state=0,
    )
    rewards = np.array([t.reward for t in run.transitions]).reshape(n_episodes, 60)
    returns = (rewards * GAMMA ** np.arange(60)).sum(axis=1)
    return returns.mean(), returns.std() / np.sqrt(n_episodes)


print("\nearned when played")
search = POMCP(tiger, GAMMA, n_simulations=500)
for name, policy, n in (
    ("exact", exact.policy, 300),
    ("QMDP", qmdp(tiger, GAMMA), 300),
    ("POMCP", search, 40),
):
    mean, error = earned(policy, n)
    print(f"  {name:6} {mean:7.2f} +- {error:.2f}")
