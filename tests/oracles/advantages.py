"""Advantages and n-step returns, written as the sums that define them."""

import numpy as np


def advantage_sums(reward, value, after, terminated, truncated, gamma, lam):
    """A[t] = sum_k (gamma lambda)^k delta[t + k], up to the end of the episode."""
    T, N = reward.shape
    A = np.zeros((T, N))
    for i in range(N):
        for t in range(T):
            weight = 1.0
            for u in range(t, T):
                later = 0.0 if terminated[u, i] else gamma * after[u, i]
                A[t, i] += weight * (reward[u, i] + later - value[u, i])
                weight *= gamma * lam
                if terminated[u, i] or truncated[u, i]:
                    break
    return A


def n_step_sums(reward, after, terminated, truncated, gamma, n):
    """Rewards of up to n steps of one episode, and the value after them."""
    T, N = reward.shape
    G = np.zeros((T, N))
    for i in range(N):
        for t in range(T):
            k = 0
            while True:
                G[t, i] += gamma**k * reward[t + k, i]
                done = terminated[t + k, i] or truncated[t + k, i]
                k += 1
                if done or k == n or t + k == T:
                    break
            if not terminated[t + k - 1, i]:
                G[t, i] += gamma**k * after[t + k - 1, i]
    return G
