"""Compiled recursions backwards in time for returns and advantages."""

from ...core.loops.compiled import compiled


@compiled
def advantage_recursion(delta, going_on, decay, advantage):
    """A[t] = delta[t] + decay going_on[t] A[t+1], of every column; A[T] = 0."""
    T, N = delta.shape
    for i in range(N):
        later = 0.0
        for t in range(T - 1, -1, -1):
            later = delta[t, i] + decay * going_on[t, i] * later
            advantage[t, i] = later


@compiled
def n_step_recursion(reward, next_value, terminated, done, gamma, n, G):
    """r[t] + ... + gamma^(k-1) r[t+k-1] + gamma^k V, k <= n ending with the episode."""
    T, N = reward.shape
    for i in range(N):
        for t in range(T):
            total = 0.0
            weight = 1.0
            for u in range(t, min(t + n, T)):
                total += weight * reward[u, i]
                weight *= gamma
                if done[u, i] or u == t + n - 1 or u == T - 1:
                    if not terminated[u, i]:
                        total += weight * next_value[u, i]
                    break
            G[t, i] = total
