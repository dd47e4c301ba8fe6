"""The no-U-turn sampler as its recursion, with the random numbers of the fast one."""

import numpy as np
from numba import njit

from pansophy.core._random import random_normal, random_uniform


@njit
def draw(stream, gaussian):
    return random_normal(stream) if gaussian else random_uniform(stream)


def transition(value_and_grad, x, seed, eps, inv, max_depth=10):
    """New position, number of leapfrog steps, depth, divergence, mean acceptance."""
    stream = np.array([seed], dtype=np.uint64)
    one = lambda x: [a[0] for a in value_and_grad(x[None])]
    lp, g = one(x)
    p = np.array([draw(stream, True) for _ in x]) / np.sqrt(inv)
    H0 = 0.5 * p @ (inv * p) - lp
    told = {"steps": 0, "accept": 0.0, "divergent": False}

    def leaf(z, sign):
        x, p, g = z
        p = p + 0.5 * sign * eps * g
        x = x + sign * eps * inv * p
        lp, g = one(x)
        p = p + 0.5 * sign * eps * g
        change = H0 - (0.5 * p @ (inv * p) - lp)
        told["steps"] += 1
        told["accept"] += min(1.0, np.exp(min(change, 600)))
        z = (x, p, g)
        if not change > -1000:
            told["divergent"] = True
            return z, None
        return z, {"rho": p, "p": (p, p), "w": np.exp(change), "x": x}

    def turns(a, b):
        ok = lambda v, u, rho: (inv * v) @ rho > 0 and (inv * u) @ rho > 0
        (a0, a1), (b0, b1) = a["p"], b["p"]
        return not (
            ok(a0, b1, a["rho"] + b["rho"])
            and ok(a0, b0, a["rho"] + b0)
            and ok(a1, b1, b["rho"] + a1)
        )

    def build(z, depth, sign):
        if depth == 0:
            return leaf(z, sign)
        z, a = build(z, depth - 1, sign)
        if a is None:
            return z, None
        z, b = build(z, depth - 1, sign)
        if b is None or turns(a, b):
            return z, None
        w = a["w"] + b["w"]
        x = b["x"] if draw(stream, False) * w < b["w"] else a["x"]
        joined = {"rho": a["rho"] + b["rho"], "p": (a["p"][0], b["p"][1])}
        return z, joined | {"w": w, "x": x}

    ends = {-1: (x, p, g), 1: (x, p, g)}
    tree = {"rho": p, "p": {-1: p, 1: p}, "w": 1.0, "x": x}
    for depth in range(max_depth):
        sign = 1 if draw(stream, False) < 0.5 else -1
        ends[sign], b = build(ends[sign], depth, sign)
        if b is None:
            break
        if draw(stream, False) * tree["w"] < b["w"]:
            tree["x"] = b["x"]
        a = {"rho": tree["rho"], "p": (tree["p"][-sign], tree["p"][sign])}
        tree["w"] += b["w"]
        tree["rho"] = tree["rho"] + b["rho"]
        tree["p"][sign] = b["p"][1]
        told["depth"] = depth + 1
        if turns(a, b):
            break
    return tree["x"], told
