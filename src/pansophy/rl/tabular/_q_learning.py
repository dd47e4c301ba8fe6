"""Compiled Q-learning in a tabular environment."""

from typing import NamedTuple

import numpy as np

from ...core.loops.compiled import compiled


class LearningRule(NamedTuple):
    """Update rule of the table and choice of actions, step by step."""

    gamma: float
    rate: np.ndarray  # learning rate of each step
    power: float  # the rate is divided by visits^power
    kind: int  # 0 epsilon-greedy, 1 Boltzmann
    level: np.ndarray  # epsilon or temperature of each step


@compiled
def sample_outcome(cum, lo, hi, u):
    """The first k in lo..hi-1 with cum[k] > u."""
    for k in range(lo, hi - 1):
        if cum[k] > u:
            return k
    return hi - 1


@compiled
def greedy_action(q, v):
    """A best action, v in [0, 1) choosing among ties; and the best value."""
    best = q[0]
    ties = 1
    best_action = 0
    for a in range(1, len(q)):
        if q[a] > best:
            best = q[a]
            ties = 1
            best_action = a
        elif q[a] == best:
            ties += 1
    if ties > 1:
        wanted = int(v * ties)
        for a in range(len(q)):
            if q[a] == best:
                if wanted == 0:
                    best_action = a
                    break
                wanted -= 1
    return best_action


@compiled
def softmax_action(q, temperature, v):
    """An action with probability proportional to exp(q / temperature)."""
    top = q.max()
    total = 0.0
    for a in range(len(q)):
        total += np.exp((q[a] - top) / temperature)
    u = v * total
    sofar = 0.0
    for a in range(len(q) - 1):
        sofar += np.exp((q[a] - top) / temperature)
        if sofar > u:
            return a
    return len(q) - 1


@compiled
def q_learning_steps(
    table, Q, visits, rule, U, position, total, n_episodes, returns, lengths
):
    """Q-learning for up to len(U) steps; returns the numbers of steps and episodes.

    `table` is a `TransitionTable`. U[t] has four uniform numbers: explore or not,
    which action, which outcome, which first state. position = [state, or -1 before a
    reset; steps in this episode] and total = [its rewards so far] carry an episode
    over to the next call.
    """
    offset, next_state, cum, reward, terminal, start, _, max_steps = table
    gamma, rate, power, kind, level = rule
    A = Q.shape[1]
    s, length = position
    gain = total[0]
    episodes, steps = 0, 0
    for t in range(len(U)):
        if s < 0:
            s = sample_outcome(start, 0, len(start), U[t, 3])
        q = Q[s]
        if kind == 1:
            a = softmax_action(q, level[t], U[t, 1])
        elif U[t, 0] < level[t]:
            a = int(U[t, 1] * A)
        else:
            a = greedy_action(q, U[t, 1])
        i = s * A + a
        k = sample_outcome(cum, offset[i], offset[i + 1], U[t, 2])
        target = reward[k]
        if not terminal[k]:
            target += gamma * Q[next_state[k]].max()
        visits[s, a] += 1
        alpha = rate[t]
        if power > 0.0:
            alpha *= visits[s, a] ** -power
        Q[s, a] += alpha * (target - Q[s, a])
        gain += reward[k]
        length += 1
        steps += 1
        s = next_state[k]
        if terminal[k] or length == max_steps:
            returns[episodes] = gain
            lengths[episodes] = length
            episodes += 1
            s, length, gain = -1, 0, 0.0
            if episodes == n_episodes:
                break
    position[0], position[1] = s, length
    total[0] = gain
    return steps, episodes
