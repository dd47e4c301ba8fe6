"""Compiled temporal differences: targets, traces and planning in one table."""

from typing import NamedTuple

import numpy as np

from ...core._random import random_uniform
from ...core.loops.compiled import compiled
from ._q_learning import greedy_action, sample_outcome, softmax_action

Q_LEARNING, SARSA, EXPECTED_SARSA, DOUBLE_Q = range(4)


class TDRule(NamedTuple):
    """Update rule of the values and choice of actions."""

    method: int
    gamma: float
    trace_decay: float
    planning: int  # updates from the remembered model after each step
    power: float  # the rate is divided by visits^power
    kind: int  # 0 epsilon-greedy, 1 Boltzmann


class TDTables(NamedTuple):
    """All that is learnt; pairs are numbered s A + a."""

    Q: np.ndarray  # (1 or 2, S, A)
    visits: np.ndarray  # (S, A)
    trace: np.ndarray  # (S A,) or empty
    active: np.ndarray  # pairs whose trace is above 0
    next_state: np.ndarray  # (S A,) last outcome of each pair, or empty
    reward: np.ndarray
    ended: np.ndarray
    known: np.ndarray  # pairs that were tried
    count: np.ndarray  # (2,) how many are active, how many known


def new_td_tables(S, A, *, double, traces, planning, initial) -> TDTables:
    """Tables of the first value; those that are not needed are empty."""
    n = S * A
    return TDTables(
        np.full((2 if double else 1, S, A), float(initial)),
        np.zeros((S, A), np.int64),
        np.zeros(n if traces else 0),
        np.zeros(n if traces else 0, np.int64),
        np.full(n if planning else 0, -1, np.int64),
        np.zeros(n if planning else 0),
        np.zeros(n if planning else 0, np.bool_),
        np.zeros(n if planning else 0, np.int64),
        np.zeros(2, np.int64),
    )


@compiled(inner=True)
def _double_greedy(Q, s, u):
    """A best action by the sum of two tables."""
    best = -np.inf
    ties = 0
    for a in range(Q.shape[2]):
        value = Q[0, s, a] + Q[1, s, a]
        if value > best:
            best = value
            ties = 1
        elif value == best:
            ties += 1
    wanted = int(u * ties)
    for a in range(Q.shape[2]):
        if Q[0, s, a] + Q[1, s, a] == best:
            if wanted == 0:
                return a
            wanted -= 1
    return 0


@compiled
def choose_td_action(Q, s, kind, level, stream):
    """An action by epsilon-greedy or Boltzmann."""
    u = random_uniform(stream)
    v = random_uniform(stream)
    if len(Q) == 2:  # double learning acts by both tables
        if kind == 1:
            return softmax_action(0.5 * (Q[0, s] + Q[1, s]), level, v)
        return int(v * Q.shape[2]) if u < level else _double_greedy(Q, s, v)
    if kind == 1:
        return softmax_action(Q[0, s], level, v)
    return int(v * Q.shape[2]) if u < level else greedy_action(Q[0, s], v)


@compiled(inner=True)
def _greatest_value(q):
    """The greatest entry; `max` would need an array that is counted."""
    top = q[0]
    for a in range(1, len(q)):
        top = max(top, q[a])
    return top


@compiled(inner=True)
def _expected_value(q, kind, level):
    """Mean of q under the exploring policy."""
    top = _greatest_value(q)
    total = 0.0
    value = 0.0
    if kind == 1:
        for a in range(len(q)):
            w = np.exp((q[a] - top) / level)
            total += w
            value += w * q[a]
        return value / total
    for a in range(len(q)):
        value += q[a]
    return level * value / len(q) + (1.0 - level) * top  # ties share the greedy part


@compiled(inner=True)
def _clear_traces(tables):
    """No pair is remembered any longer."""
    for k in range(tables.count[0]):
        tables.trace[tables.active[k]] = 0.0
    tables.count[0] = 0


@compiled(inner=True)
def _move_traced(tables, i, step, decay):
    """Move every traced pair by step times its trace; pair i has just been taken."""
    A = tables.Q.shape[2]
    if tables.trace[i] == 0.0:
        tables.active[tables.count[0]] = i
        tables.count[0] += 1
    tables.trace[i] = 1.0  # a replacing trace
    kept = 0
    for k in range(tables.count[0]):
        j = tables.active[k]
        tables.Q[0, j // A, j % A] += step * tables.trace[j]
        tables.trace[j] *= decay
        if tables.trace[j] > 1e-10:
            tables.active[kept] = j
            kept += 1
        else:
            tables.trace[j] = 0.0
    tables.count[0] = kept


@compiled(inner=True)
def _plan_in_model(tables, rule, rate, stream):
    """Q-learning from remembered outcomes of pairs drawn at random."""
    A = tables.Q.shape[2]
    for _ in range(rule.planning):
        i = tables.known[int(random_uniform(stream) * tables.count[1])]
        target = tables.reward[i]
        if not tables.ended[i]:
            target += rule.gamma * _greatest_value(tables.Q[0, tables.next_state[i]])
        tables.Q[0, i // A, i % A] += rate * (target - tables.Q[0, i // A, i % A])


@compiled(inner=True)
def _td_target(tables, rule, level, which, step, stream):
    """Reward and the value that follows, by the method's equation."""
    _, _, reward, next_state, ended, next_action = step
    if ended:
        return reward
    Q = tables.Q
    if rule.method == SARSA:
        value = Q[0, next_state, next_action]
    elif rule.method == EXPECTED_SARSA:
        value = _expected_value(Q[0, next_state], rule.kind, level)
    elif rule.method == DOUBLE_Q:
        best = greedy_action(Q[which, next_state], random_uniform(stream))
        value = Q[1 - which, next_state, best]
    else:
        value = _greatest_value(Q[0, next_state])
    return reward + rule.gamma * value


@compiled
def td_update(tables, rule, rate, level, step, stream):
    """Learn from step = (s, a, reward, next state, ended, next action)."""
    s, a, reward, next_state, ended, next_action = step
    Q = tables.Q
    updated_table = 0
    if rule.method == DOUBLE_Q and random_uniform(stream) < 0.5:
        updated_table = 1
    target = _td_target(tables, rule, level, updated_table, step, stream)
    tables.visits[s, a] += 1
    if rule.power > 0.0:
        rate *= tables.visits[s, a] ** -rule.power
    change = rate * (target - Q[updated_table, s, a])
    i = s * Q.shape[2] + a
    if len(tables.trace):
        _move_traced(tables, i, change, rule.gamma * rule.trace_decay)
        if ended:
            _clear_traces(tables)
        elif rule.method == Q_LEARNING and Q[
            0, next_state, next_action
        ] < _greatest_value(Q[0, next_state]):
            _clear_traces(tables)  # Watkins: what follows is not the greedy policy
    else:
        Q[updated_table, s, a] += change
    if rule.planning:
        if tables.next_state[i] < 0:
            tables.known[tables.count[1]] = i
            tables.count[1] += 1
        tables.next_state[i] = next_state
        tables.reward[i] = reward
        tables.ended[i] = ended
        _plan_in_model(tables, rule, rate, stream)


@compiled
def forget_traces(tables):
    """A new episode begins: traces of the last must not learn from it."""
    _clear_traces(tables)


@compiled
def td_control_steps(table, tables, rule, rates, levels, stream, carry, episodes):
    """Learn for up to len(rates) steps in a `TransitionTable`.

    carry = (position, total): position = [state or -1, its action or -1, steps of the
    episode], total = [its rewards]; episodes = (returns, lengths) to fill. Returns the
    numbers of steps and of episodes.
    """
    offset, next_state, cumulative, pay, terminal, start, A, max_steps = table
    position, total = carry
    returns, lengths = episodes
    s = position[0]
    a = position[1]
    length = position[2]
    gain = total[0]
    ended = 0
    steps = 0
    chooses_next = rule.method == SARSA or len(tables.trace) > 0
    for t in range(len(rates)):
        if s < 0:
            s = sample_outcome(start, 0, len(start), random_uniform(stream))
            a = -1
        if a < 0:
            a = choose_td_action(tables.Q, s, rule.kind, levels[t], stream)
        i = s * A + a
        k = sample_outcome(cumulative, offset[i], offset[i + 1], random_uniform(stream))
        successor = next_state[k]
        next_action = -1
        if chooses_next and not terminal[k]:
            next_action = choose_td_action(
                tables.Q, successor, rule.kind, levels[t], stream
            )
        step = (s, a, pay[k], successor, terminal[k], next_action)
        td_update(tables, rule, rates[t], levels[t], step, stream)
        gain += pay[k]
        length += 1
        steps += 1
        s = successor
        a = next_action
        if terminal[k] or length == max_steps:
            _clear_traces(tables)
            returns[ended] = gain
            lengths[ended] = length
            ended += 1
            s, a, length, gain = -1, -1, 0, 0.0
            if ended == len(returns):
                break
    position[0] = s
    position[1] = a
    position[2] = length
    total[0] = gain
    return steps, ended
