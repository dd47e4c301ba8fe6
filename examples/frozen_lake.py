"""Q-learning on the slippery lake, compared with the exact solution."""

import gymnasium as gym
import numpy as np

from pansophy.rl import QLearning, value_iteration

env = gym.make("FrozenLake-v1", is_slippery=True)
exact = value_iteration(env.unwrapped.P, gamma=0.99)
agent = QLearning(n_steps=300_000, gamma=0.99, random_state=0).fit(env)
print("value of the start, exact  ", round(float(exact.V[0]), 3))
print("value of the start, learned", round(float(np.max(agent.Q_[0])), 3))
