"""Q-learning in a table of outcomes, one obvious step at a time."""

import math


def choose(kind, level, q, u, v):
    if kind == 1:
        weights = [math.exp((x - max(q)) / level) for x in q]
        aim, sofar = v * sum(weights), 0.0
        for a, weight in enumerate(weights):
            sofar += weight
            if sofar > aim:
                return a
        return len(q) - 1
    if u < level:
        return int(v * len(q))
    ties = [a for a, x in enumerate(q) if x == max(q)]
    return ties[int(v * len(ties))]


def pick(pairs, u):
    """The first thing whose running sum of probabilities exceeds u."""
    sofar = 0.0
    for probability, thing in pairs:
        sofar += probability
        if sofar > u:
            return thing
    return pairs[-1][1]


def learn(P, start, U, *, kind, level, rate, power, gamma, max_steps=0):
    """Q, visits, returns and lengths after len(U) steps; U as in the loop."""
    Q = {s: [0.0] * len(P[s]) for s in P}
    visits = {s: [0] * len(P[s]) for s in P}
    returns, lengths = [], []
    s, total, length = None, 0.0, 0
    for t, (explore, which, outcome, first) in enumerate(U):
        if s is None:
            s = pick([(p, i) for i, p in enumerate(start)], first)
        a = choose(kind, level[t], Q[s], explore, which)
        after, reward, done = pick([(o[0], o[1:]) for o in P[s][a]], outcome)
        target = reward if done else reward + gamma * max(Q[after])
        visits[s][a] += 1
        alpha = rate[t] * visits[s][a] ** -power
        Q[s][a] += alpha * (target - Q[s][a])
        total, length, s = total + reward, length + 1, after
        if done or length == max_steps:
            returns.append(total)
            lengths.append(length)
            s, total, length = None, 0.0, 0
    return Q, visits, returns, lengths
