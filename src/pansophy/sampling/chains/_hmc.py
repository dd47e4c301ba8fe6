"""Compiled trajectories of HMC and NUTS: whole runs of chains, or one step at a time.

A chain is a workspace of vectors V, floats F and integers N, whose entries are named
below. `run_chains` advances chains through their steps. A density with an address is
called from here; without one `run_chains` returns at every position that needs it, and
continues when called again with log pi in F[LP] and the gradient in V[G].

The tree of NUTS is built without recursion. A subtree is an entry of a stack: its sum
of momenta, momenta and velocities at both ends, weight and size. A new leaf goes on
top; while the two entries on top have the same size they are merged, in the order of
the recursion (a leaf, its pair, the pair of pairs, ...). Candidates lie in slots of a
pool, and a merge exchanges slot numbers only. Weights are exp(H0 - H), with H0 - H
capped at MAX_LOG_WEIGHT, so that they do not overflow.
"""

import math

import numpy as np

from ...core._random import random_normal, random_uniform
from ...core.loops._intrinsics import call_density
from ...core.loops.compiled import FASTMATH, compiled


def _int64_range(n):
    """0 .. n - 1 as int64; Numba would compile a version for each plain int."""
    return [np.int64(i) for i in range(n)]


# rows of V: the moving point with gradient, momentum and velocity inv p; both ends of
# the tree, alike; the sum of momenta; the stack; the pool of positions and gradients
Q, G, P, S, LEFT, _, _, _, RIGHT, _, _, _, RHO, STACK = _int64_range(14)
SUM, P_BEGIN, P_END, S_BEGIN, S_END = _int64_range(5)  # rows of a stack entry
LEVEL = len((SUM, P_BEGIN, P_END, S_BEGIN, S_END))
# F; from WEIGHTS on the weights of the stack, then log pi and H of the slots
(LP, H0, WEIGHT, ACCEPT, EPS, SIGN, MU, LOG_EPS, H_BAR, COUNT) = _int64_range(10)
TARGET, LENGTH, JITTER, BETA, WEIGHTS = _int64_range(15)[10:]
# N; from SIZES on the sizes of the stack, then the slots: of its levels, and the tree's
(STEP, WAITING, DEPTH, LEAVES, HEIGHT, LEAPS, DIVERGED, MOVED, PATH) = _int64_range(9)
KIND, LEVELS, PATH_STEPS, TUNE, STREAM, SIZES = _int64_range(15)[9:]
NUTS, HMC, UNADJUSTED = range(3)
# statistics of a step; log pi comes last
INFO = ("acceptance", "accepted", "divergent", "n_steps", "depth", "energy")
MAX_LOG_WEIGHT = 600.0  # of H0 - H
DIVERGENCE_LIMIT = 1000.0  # increase of H that counts as a divergence
MAX_PATH_STEPS = 1023.0  # of a trajectory of given length, as many as NUTS may take


@compiled(inner=True, fastmath=FASTMATH)
def _copy_rows(V, a, b, rows):
    """Copy rows a, a + 1, ... to rows b, b + 1, ..."""
    for k in range(rows):
        for j in range(V.shape[1]):
            V[b + k, j] = V[a + k, j]


@compiled(inner=True, fastmath=FASTMATH)
def _update_velocity(V, inv):
    """S = inv P, and the kinetic energy P S / 2."""
    d = V.shape[1]
    total = 0.0
    if inv.shape[0] == 1:
        for j in range(d):
            V[S, j] = inv[0, j] * V[P, j]
            total += V[S, j] * V[P, j]
    else:
        for j in range(d):
            s = 0.0
            for k in range(d):
                s += inv[j, k] * V[P, k]
            V[S, j] = s
            total += s * V[P, j]
    return 0.5 * total


@compiled(inner=True, fastmath=FASTMATH)
def _leapfrog_drift(V, F, inv):
    """Half a step of the momentum and a full step of the position, eq. (2)."""
    eps = F[EPS] * F[SIGN]
    for j in range(V.shape[1]):
        V[P, j] += 0.5 * eps * V[G, j]
    _update_velocity(V, inv)
    for j in range(V.shape[1]):
        V[Q, j] += eps * V[S, j]


@compiled(inner=True, fastmath=FASTMATH)
def _start_trajectory(stream, V, F, N, inv, root):
    """Draw a momentum at the current position, which becomes a tree of one leaf."""
    d = V.shape[1]
    levels = N[LEVELS]
    slot = N[SIZES + 2 * levels]
    _copy_rows(V, STACK + LEVEL * levels + 2 * slot, Q, 2)
    for j in range(d):
        V[S, j] = random_normal(stream)
    for j in range(d):
        if root.shape[0] == 1:
            V[P, j] = root[0, j] * V[S, j]
        else:
            s = 0.0
            for k in range(d):
                s += root[j, k] * V[S, k]
            V[P, j] = s
    slot_place = WEIGHTS + levels + 2 * slot
    F[H0] = _update_velocity(V, inv) - F[slot_place]
    F[slot_place + 1] = F[H0]
    F[WEIGHT], F[ACCEPT], F[SIGN] = 1.0, 0.0, 1.0
    N[DEPTH] = N[MOVED] = 0
    if N[KIND] == NUTS:
        _copy_rows(V, Q, LEFT, 4)
        _copy_rows(V, Q, RIGHT, 4)
        for j in range(d):
            V[RHO, j] = V[P, j]
        _choose_direction(stream, V, F, N)
        return
    steps = float(N[PATH_STEPS])
    if steps == 0:
        steps = min(F[LENGTH] / F[EPS], MAX_PATH_STEPS)
    if F[JITTER] > 0:
        steps *= 1.0 + F[JITTER] * (2.0 * random_uniform(stream) - 1.0)
    N[PATH] = max(1, int(steps + 0.5))


@compiled(inner=True, fastmath=FASTMATH)
def _choose_direction(stream, V, F, N):
    """Choose a direction at random and move to that end of the tree."""
    right = random_uniform(stream) < 0.5
    F[SIGN] = 1.0 if right else -1.0
    _copy_rows(V, RIGHT if right else LEFT, Q, 4)
    N[LEAVES] = N[HEIGHT] = 0


@compiled(inner=True, fastmath=FASTMATH)
def _is_u_turn(V, a, b, pa1, sa0, sa1):
    """Whether the trajectory a, then b, turns back, as a whole or in the middle, (6).

    a is the row of a sum of momenta, pa1, sa0, sa1 those of the momentum at its end
    and the velocities at both; b is a stack entry.
    """
    whole0 = whole1 = left0 = left1 = right0 = right1 = 0.0
    for j in range(V.shape[1]):
        momentum_sum = V[a, j] + V[b, j]
        left = V[a, j] + V[b + P_BEGIN, j]
        right = V[b, j] + V[pa1, j]
        v0, v1 = V[sa0, j], V[b + S_END, j]
        whole0 += v0 * momentum_sum
        whole1 += v1 * momentum_sum
        left0 += v0 * left
        left1 += V[b + S_BEGIN, j] * left
        right0 += V[sa1, j] * right
        right1 += v1 * right
    if min(whole0, whole1) > 0 and min(left0, left1) > 0:
        return min(right0, right1) <= 0
    return True


@compiled(inner=True, fastmath=FASTMATH)
def _merge_subtrees(stream, V, F, N):
    """Merge the two subtrees on top of the stack; False if the result turns back."""
    N[HEIGHT] -= 1
    level = N[HEIGHT] - 1
    a = STACK + LEVEL * level
    b = a + LEVEL
    if _is_u_turn(V, a, b, a + P_END, a + S_BEGIN, a + S_END):
        return False
    for j in range(V.shape[1]):
        V[a, j] += V[b, j]
        V[a + P_END, j] = V[b + P_END, j]
        V[a + S_END, j] = V[b + S_END, j]
    old, new = F[WEIGHTS + level], F[WEIGHTS + level + 1]
    F[WEIGHTS + level] = old + new
    if random_uniform(stream) * (old + new) < new:
        size_place = SIZES + N[LEVELS] + level
        N[size_place], N[size_place + 1] = N[size_place + 1], N[size_place]
    N[SIZES + level] *= 2
    return True


@compiled(inner=True, fastmath=FASTMATH)
def _join_subtree(stream, V, F, N):
    """Join the finished subtree to the tree; True if the tree may grow further."""
    end, other_end = (RIGHT, LEFT) if F[SIGN] > 0 else (LEFT, RIGHT)
    new = F[WEIGHTS]
    if random_uniform(stream) * F[WEIGHT] < new:
        size_place = SIZES + N[LEVELS]
        N[size_place], N[size_place + N[LEVELS]] = (
            N[size_place + N[LEVELS]],
            N[size_place],
        )
        N[MOVED] = 1
    F[WEIGHT] += new
    N[DEPTH] += 1
    turned = _is_u_turn(V, RHO, STACK, end + P, other_end + S, end + S)
    if turned or N[DEPTH] == N[LEVELS]:
        return False
    for j in range(V.shape[1]):
        V[RHO, j] += V[STACK, j]
    _copy_rows(V, Q, end, 4)
    _choose_direction(stream, V, F, N)
    return True


@compiled(inner=True, fastmath=FASTMATH)
def _store_candidate(V, F, N, level, energy):
    """Store the current point in the slot of a level."""
    levels = N[LEVELS]
    slot = N[SIZES + levels + level]
    _copy_rows(V, Q, STACK + LEVEL * levels + 2 * slot, 2)
    slot_place = WEIGHTS + levels + 2 * slot
    F[slot_place], F[slot_place + 1] = F[LP], energy


@compiled(inner=True, fastmath=FASTMATH)
def _add_leaf(stream, V, F, N, w):
    """Add a leaf to the tree; True if the trajectory continues."""
    row = STACK + LEVEL * N[HEIGHT]
    for j in range(V.shape[1]):
        p, s = V[P, j], V[S, j]
        V[row, j] = V[row + P_BEGIN, j] = V[row + P_END, j] = p
        V[row + S_BEGIN, j] = V[row + S_END, j] = s
    F[WEIGHTS + N[HEIGHT]] = w
    N[SIZES + N[HEIGHT]] = 1
    N[HEIGHT] += 1
    N[LEAVES] += 1
    while N[HEIGHT] > 1 and N[SIZES + N[HEIGHT] - 1] == N[SIZES + N[HEIGHT] - 2]:
        if not _merge_subtrees(stream, V, F, N):
            return False
    if N[LEAVES] < 1 << N[DEPTH]:
        return True
    return _join_subtree(stream, V, F, N)


@compiled(inner=True, fastmath=FASTMATH)
def _finish_leapfrog(stream, V, F, N, inv):
    """Finish a leapfrog step with log pi known; True if the trajectory continues."""
    half = 0.5 * F[EPS] * F[SIGN]
    for j in range(V.shape[1]):
        V[P, j] += half * V[G, j]
    energy = _update_velocity(V, inv) - F[LP]
    change = F[H0] - energy
    if math.isnan(change):
        change = -math.inf
    w = math.exp(min(change, MAX_LOG_WEIGHT))
    N[LEAPS] += 1
    nuts = N[KIND] == NUTS
    # a trajectory of one step is an ordinary proposal, however bad
    N[DIVERGED] = 1 if change < -DIVERGENCE_LIMIT and (nuts or N[PATH] > 1) else 0
    if not nuts and N[LEAPS] < N[PATH] and N[DIVERGED] == 0:
        return True
    F[ACCEPT] += min(w, 1.0)
    if nuts:
        if N[DIVERGED]:
            return False
        _store_candidate(V, F, N, N[HEIGHT], energy)
        return _add_leaf(stream, V, F, N, w)
    accepted = random_uniform(stream) < w
    if accepted or (N[KIND] == UNADJUSTED and not math.isinf(change)):
        _store_candidate(V, F, N, N[LEVELS], energy)
        N[MOVED] = 1
    return False


@compiled(inner=True, fastmath=FASTMATH)
def _update_step_size(F, alpha):
    """Dual averaging of log eps, eq. (1) to (3) of `adaptation.py`."""
    F[COUNT] += 1.0
    t = F[COUNT]
    F[H_BAR] += (F[TARGET] - alpha - F[H_BAR]) / (t + 10.0)
    log_eps = F[MU] - math.sqrt(t) / 0.05 * F[H_BAR]
    F[LOG_EPS] += math.exp(-0.75 * math.log(t)) * (log_eps - F[LOG_EPS])
    F[EPS] = math.exp(min(max(log_eps, -600.0), 600.0))


@compiled(inner=True, fastmath=FASTMATH)
def _record_draw(V, F, N, x, info):
    """Store the draw and the statistics of the step; adapt the step size in warm-up."""
    levels = N[LEVELS]
    slot = N[SIZES + 2 * levels]
    row = STACK + LEVEL * levels + 2 * slot
    for j in range(V.shape[1]):
        x[j] = V[row, j]
    info[0] = F[ACCEPT] / (N[LEAPS] if N[KIND] == NUTS else 1)
    info[1], info[2], info[3] = N[MOVED], N[DIVERGED], N[LEAPS]
    info[4] = N[DEPTH]
    info[5], info[6] = (
        F[WEIGHTS + levels + 2 * slot + 1],
        F[WEIGHTS + levels + 2 * slot],
    )
    if N[TUNE]:
        _update_step_size(F, info[0])
    N[STEP] += 1
    N[LEAPS] = 0


@compiled(fastmath=FASTMATH)
def run_chains(
    first_chain, last_chain, address, table, VS, FS, NS, inv, root, seeds, X, T
):
    """Advance chains first_chain .. last_chain - 1 through steps with `seeds` (m, n).

    X (m, n, d) receives the draws and T (m, n, 7) the statistics of the steps.
    """
    stream = np.empty(1, np.uint64)
    n, d = X.shape[1], X.shape[2]
    for c in range(first_chain, last_chain):
        V = VS[c]
        F = FS[c]
        N = NS[c]
        stream[0] = np.uint64(N[STREAM])
        while N[STEP] < n:
            if N[WAITING] == 0:
                if N[LEAPS] == 0:
                    stream[0] = seeds[c, N[STEP]]
                    _start_trajectory(stream, V, F, N, inv, root)
                _leapfrog_drift(V, F, inv)
                if address == 0:
                    N[WAITING] = 1
                    N[STREAM] = np.int64(stream[0])
                    break
                position_address = V.ctypes.data
                F[LP] = call_density(
                    address,
                    position_address + 8 * d * Q,
                    position_address + 8 * d * G,
                    d,
                    table,
                )
                if F[BETA] != 1.0:
                    F[LP] *= F[BETA]
                    for j in range(d):
                        V[G, j] *= F[BETA]
            N[WAITING] = 0
            if not _finish_leapfrog(stream, V, F, N, inv):
                _record_draw(V, F, N, X[c, N[STEP]], T[c, N[STEP]])
