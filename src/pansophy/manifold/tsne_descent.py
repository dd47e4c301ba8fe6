"""Gradient descent of t-SNE: from affinities P and a start Y to an embedding.

    KL(P | Q) = sum_ij p_ij log(p_ij / q_ij),                                       (1)
    q_ij = w_ij / Z,   w_ij = (1 + |y_i - y_j|^2 / a)^(-(a+1)/2),   Z = sum w       (2)

with a = max(m - 1, 1) degrees of freedom in m dimensions. Its gradient is an
attraction along P less a repulsion between all pairs, c = 2 (a + 1) / a:

    dKL / dy_i = c (sum_j p_ij u_ij (y_i - y_j) - (1/Z) sum_j w_ij u_ij (y_i - y_j)) (3)
    u_ij = 1 / (1 + |y_i - y_j|^2 / a)                                              (4)

Each coordinate has a momentum and a gain that grows by 0.2 while its slope keeps its
sign and shrinks by a fifth when it turns [Jacobs1988]. For the first EARLY steps P is
exaggerated, which gathers clusters, with momentum 0.5; then 0.8. The second phase has
another objective: it begins with no momentum and with gains of 1.

Steps must fit the curvature, which exaggeration e multiplies: the rate is n / 4 over e
[Belkina2019]. If every row is a neighbour of every other (a perplexity near n),
exaggeration pulls all points into one, which tells nothing about their order: the
second phase then begins where the first did.

Shapes    P (n, n)   Y (m, n), points in columns
Refs      [vanDerMaaten2008]; [Belkina2019] step sizes
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from ..core.arrays import arrays
from ..core.drivers.iterate import Result, iterate
from ..core.drivers.progress import SILENT
from ..core.loops import threads, worker_pool
from . import _tsne
from .tsne_affinities import SparseAffinities
from .tsne_repulsion import point_ranges

EARLY = 250  # steps with exaggeration
CHECK = 50  # steps between two evaluations of the objective
LEAST_EARLY_RATE, LEAST_RATE = 4.0, 50.0  # of learning, in the two phases
COLLAPSED = 1e-4  # spread of the points below which they are one
SMALL = 200  # points below which handing work to threads costs more than it saves


class TSNEState(NamedTuple):
    """State carried from CHECK steps of descent to the next."""

    Y: Any  # (m, n)
    U: Any  # the last step
    G: Any  # the gains
    objective: float  # KL, without exaggeration
    steps: int  # steps taken
    norm: float  # of the gradient
    best_objective: float  # the lowest objective since exaggeration ended
    best_step: int


class DescentPlan(NamedTuple):
    """When to stop, and how large the steps are."""

    max_iter: int = 1000
    exaggeration: float = 12.0
    rate: Any = "auto"  # of learning; "auto" is n / 4 over the exaggeration
    patience: int = 300  # steps without a lower objective
    min_grad_norm: float = 1e-7  # norm of the gradient at which it stops


def attraction_and_repulsion(P, Y, a, repel):
    """Attraction, repulsion and Z of eq. (3); P is CSR or dense."""
    n = Y.shape[1]
    A = np.empty_like(Y)
    if isinstance(P, SparseAffinities):
        pull = lambda lo, hi: _tsne.attraction(
            P.indptr, P.indices, P.data, Y, a, lo, hi, A
        )
    else:
        pull = lambda lo, hi: _tsne.attraction_dense(P, Y, a, lo, hi, A)
    F, tasks, _ = repel(Y)
    pushes = len(tasks)
    tasks = [*tasks, *(lambda c=c: pull(*c) for c in point_ranges(n))]
    parts = [t() for t in tasks] if n < SMALL else list(threads.run_tasks(tasks))
    return A, F, sum(parts[:pushes])


def _affinity_entropy(P):
    """sum_ij p_ij log p_ij and sum_ij p_ij: the part of KL without Y."""
    p = (P.data if isinstance(P, SparseAffinities) else P).ravel().astype(np.float64)
    return float(np.sum(xlogy(p, p))), float(np.sum(p))


def kl_divergence(P, Y, a, Z, entropy=None):
    """KL of eq. (1); `entropy` is `_affinity_entropy(P)`, to compute that only once."""
    cuts = point_ranges(Y.shape[1])
    if isinstance(P, SparseAffinities):
        part = lambda c: _tsne.cross_entropy_sparse(
            P.indptr, P.indices, P.data, Y, a, *c
        )
    else:
        part = lambda c: _tsne.cross_entropy_dense(P, Y, a, *c)
    self_term, mass = entropy or _affinity_entropy(P)
    rest = sum(threads.run_tasks([lambda c=c: part(c) for c in cuts]))
    return self_term + rest + mass * math.log(Z)


def kl_gradient(P, Y, a, repel):
    """Eq. (3) and KL, for points in columns."""
    A, F, Z = attraction_and_repulsion(P, Y, a, repel)
    return 2 * (a + 1) / a * (A - F / Z), kl_divergence(P, Y, a, Z)


def phase_schedule(step, plan, n):
    """(exaggeration, momentum, rate of learning) of a step."""
    early = step < EARLY
    e = plan.exaggeration if early else 1.0
    least_rate = LEAST_EARLY_RATE if early else LEAST_RATE
    rate = max(n / 4 / e, least_rate) if plan.rate == "auto" else plan.rate
    return e, 0.5 if early else 0.8, rate


def compiled_steps(P, a, repel, plan):
    """A function that takes steps of descent in place, by compiled loops.

    Where the push is direct all steps are taken in one compiled call.
    """
    c = 2 * (a + 1) / a
    known = _affinity_entropy(P)

    def run(Y, U, G, first, last):
        e, momentum, rate = phase_schedule(first, plan, Y.shape[1])
        norm = 0.0
        if isinstance(P, SparseAffinities) and repel(Y)[2]:
            norm = _direct_steps(P, Y, U, G, a, (c, e, rate, momentum), last - first)
        else:
            for _ in range(first, last):
                A, F, Z = attraction_and_repulsion(P, Y, a, repel)
                norm = _tsne.descent_step(Y, U, G, A, F, c * e, c / Z, rate, momentum)
        tasks = repel(Y)[1]
        Z = sum(threads.run_tasks(tasks))
        return Y, U, G, math.sqrt(norm), kl_divergence(P, Y, a, Z, known)

    return run


def _direct_steps(P, Y, U, G, a, rates, steps):
    """Steps with direct sums, shared by threads that stay; the squared norm.

    `rates` is the constant of eq. (3), the exaggeration, the learning rate and the
    momentum.
    """
    n = Y.shape[1]
    width = max(64, -(-n // 12))
    forces = (np.empty_like(Y), np.empty_like(Y), np.empty(-(-n // width)))
    shared = (tuple(P), (Y, U, G), a, width, forces, rates, steps)
    return worker_pool.run_with_workers(
        lambda board: _tsne.direct_descent(board, True, *shared),
        lambda board, _: _tsne.direct_descent(board, False, *shared),
        n_workers=0 if n < SMALL else None,
    )


def array_steps(P, a, plan):
    """Descent steps in array mathematics: P and Y^T (n, m) on any device."""
    xp = arrays.namespace(P)
    n = P.shape[0]
    c = 2 * (a + 1) / a
    identity = xp.eye(n, dtype=P.dtype, device=arrays.device(P))
    zero = xp.zeros_like(P)
    known = float(
        xp.sum(xp.where(P > 0, P * xp.log(xp.where(P > 0, P, identity + 1)), zero))
    )

    def weights(Y):
        s = xp.sum(Y * Y, axis=1)
        D = s[:, None] + s[None, :] - 2 * Y @ xp.matrix_transpose(Y)
        D = xp.where(D > 0, D, zero)
        u = 1 / (1 + D / a)
        w = u ** (0.5 * (a + 1)) * (1 - identity)
        return u, w, xp.sum(w)

    def run(Y, U, G, first, last):
        norm = 0.0
        for step in range(first, last):
            e, momentum, rate = phase_schedule(step, plan, n)
            u, w, Z = weights(Y)
            M = (e * P - w / Z) * u
            g = c * (xp.sum(M, axis=1)[:, None] * Y - M @ Y)
            G = xp.where(U * g < 0, G + 0.2, G * 0.8)
            G = xp.where(G < 0.01, xp.full_like(G, 0.01), G)
            U = momentum * U - rate * G * g
            Y = Y + U
            norm = xp.sum(g * g)
        u, _, Z = weights(Y)
        rest = 0.5 * (a + 1) * float(xp.sum(P * xp.log(u)))
        kl = known - rest + float(xp.sum(P)) * math.log(float(Z))
        return Y, U, G, math.sqrt(float(norm)), kl

    return run


def _is_collapsed(Y) -> bool:
    """Whether all points are one; Y (m, n), or (n, m) on a device."""
    axis = 0 if arrays.is_foreign(Y) else 1
    return float(arrays.namespace(Y).max(arrays.namespace(Y).std(Y, axis=axis))) < (
        COLLAPSED
    )


def run_descent(take_steps, Y, plan, *, task=SILENT) -> Result:
    """Take steps from Y until the plan says to stop; an element of history per CHECK.

    Reaching max_iter is the ordinary end: the reason is then "finished".
    """
    xp = arrays.namespace(Y)
    first_Y = xp.asarray(Y, copy=True)

    def next_steps(state):
        if state.steps == EARLY:
            points = first_Y if _is_collapsed(state.Y) else state.Y
            Y = xp.asarray(points, copy=True)
            state = state._replace(Y=Y, U=xp.zeros_like(Y), G=xp.ones_like(Y))
        last = min(state.steps + CHECK, plan.max_iter)
        Y, U, G, norm, kl = take_steps(state.Y, state.U, state.G, state.steps, last)
        if last <= EARLY or kl < state.best_objective:
            return TSNEState(Y, U, G, kl, last, norm, kl, last)
        return TSNEState(Y, U, G, kl, last, norm, state.best_objective, state.best_step)

    def change(_, new):
        if new.norm <= plan.min_grad_norm and new.steps > EARLY:
            return 0.0
        waited = new.steps - new.best_step
        return 0.0 if new.steps > EARLY and waited > plan.patience else 1.0

    start = TSNEState(Y, xp.zeros_like(Y), xp.ones_like(Y), math.inf, 0, 1, math.inf, 0)
    run = iterate(
        next_steps,
        start,
        max_iter=-(-plan.max_iter // CHECK),
        tol=0.0,
        change=change,
        watch=("steps", "norm"),
        task=task,
    )
    return run.as_planned()
