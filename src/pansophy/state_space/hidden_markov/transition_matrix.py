"""Analysis of a transition matrix: n-step laws, classes, limits, hitting times.

P (k, k) holds P_ij, the probability of going from state i to state j; its rows sum
to 1. With v a distribution of states,

    v_n = v P^n                                       law after n steps          (1)
    pi = pi P,  sum pi = 1                            stationary                 (2)
    d(n) = max_i 1/2 sum_j |(P^n)_ij - pi_j|          distance from it           (3)
    Q_ji = pi_i P_ij / pi_j                           the chain seen backwards   (4)
    h_i = 0 for i in A,  else 1 + sum_j P_ij h_j      mean time until A is hit   (5)
    a_ij = P(the chain ends in class j | it starts in i)                         (6)

States that reach each other form a class. A class that is never left is recurrent, the
others are transient; the period of a class is the greatest common divisor of the
lengths of its cycles. Each recurrent class has one stationary distribution, found by
elimination without subtractions (Grassmann, Taksar and Heyman), so that even tiny
probabilities keep their digits. A chain with one recurrent class of period 1 is
ergodic: (3) falls to 0, from any start, at the rate of the second eigenvalue.

Cost      O(k^3); d(n) in (3) never rises, so a mixing time takes O(log n) products
Shapes    P (k, k)   v, pi (k,)   a (k, number of recurrent classes)
Refs      [Grassmann1985] [Levin2017]
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ...distributions.information.information import total_variation

MAX_DOUBLINGS = 60  # mixing times are looked for up to 2 ** LONGEST steps


def _check_transition_matrix(P, what="transmat"):
    """P as a square matrix whose rows sum to 1; the first that does not is named."""
    P = np.asarray(P, dtype=float)
    if P.ndim != 2 or P.shape[0] != P.shape[1]:
        raise ValueError(f"{what} must be a square matrix, got shape {P.shape}.")
    bad = ~((P >= 0).all(axis=1) & (np.abs(P.sum(axis=1) - 1) <= 1e-6))
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(
            f"row {i} of {what} must hold probabilities that sum to 1, got "
            f"{P[i].tolist()} with sum {P[i].sum():.6g}."
        )
    return P


def n_step_transitions(P, n):
    """P^n, eq. (1)."""
    return np.linalg.matrix_power(_check_transition_matrix(P), n)


class CommunicatingClasses(NamedTuple):
    """The states sorted into classes that cannot tell their members apart."""

    label: np.ndarray  # (k,) class of each state
    recurrent: np.ndarray  # (c,) whether a class is never left
    period: np.ndarray  # (c,) 0 for a state that is never seen again
    absorbing: np.ndarray  # (k,) whether a state is never left

    @property
    def transient(self):
        """(k,) whether a state is one day left for good."""
        return ~self.recurrent[self.label]

    @property
    def irreducible(self) -> bool:
        return len(self.recurrent) == 1

    @property
    def ergodic(self) -> bool:
        """One recurrent class, of period 1: the start is forgotten."""
        return self.recurrent.sum() == 1 and bool((self.period[self.recurrent] == 1)[0])

    def members(self, recurrent=True) -> list[np.ndarray]:
        """The states of each recurrent (or each transient) class."""
        wanted = np.flatnonzero(self.recurrent == recurrent)
        return [np.flatnonzero(self.label == c) for c in wanted]


def communicating_classes(P) -> CommunicatingClasses:
    """Classes, whether they are left, and their periods."""
    P = _check_transition_matrix(P)
    moves = P > 0
    c, label = connected_components(moves, connection="strong")
    recurrent = np.ones(c, bool)
    i, j = np.nonzero(moves)
    recurrent[label[i[label[i] != label[j]]]] = False
    period = np.array(
        [_class_period(moves, np.flatnonzero(label == a)) for a in range(c)]
    )
    return CommunicatingClasses(label, recurrent, period, np.diag(P) == 1)


def _class_period(moves, states) -> int:
    """Greatest common divisor of the lengths of the cycles among some states.

    With depth the distance from one of them, every edge i -> j closes a walk of
    length depth_i + 1 - depth_j; their divisor is the period.
    """
    inside = moves[np.ix_(states, states)]
    order, predecessor = breadth_first_order(inside, 0)
    depth = np.zeros(len(states), int)
    for i in order[1:]:
        depth[i] = depth[predecessor[i]] + 1
    i, j = np.nonzero(inside)
    return int(np.gcd.reduce(depth[i] + 1 - depth[j])) if len(i) else 0


def stationary_distribution(P):
    """Every pi of eq. (2): (k,) if there is one recurrent class, else one row a class.

    Examples
    --------
    >>> from pansophy.state_space import stationary_distribution
    >>> stationary_distribution([[0.7, 0.3], [0.2, 0.8]]).round(6)
    array([0.4, 0.6])
    """
    P = _check_transition_matrix(P)
    rows = []
    for states in communicating_classes(P).members():
        pi = np.zeros(len(P))
        pi[states] = _gth_stationary(P[np.ix_(states, states)])
        rows.append(pi)
    return rows[0] if len(rows) == 1 else np.array(rows)


def _gth_stationary(P):
    """pi of an irreducible chain: states leave one by one, the last first.

    Without state n the others move by P_ij + P_in P_nj / (sum of P_nj, j < n).
    """
    P = P.copy()
    k = len(P)
    for n in range(k - 1, 0, -1):
        P[:n, n] /= P[n, :n].sum()
        P[:n, :n] += np.outer(P[:n, n], P[n, :n])
    pi = np.zeros(k)
    pi[0] = 1.0
    for n in range(1, k):
        pi[n] = pi[:n] @ P[:n, n]
    return pi / pi.sum()


def unique_stationary_distribution(P):
    """pi, where there must be one."""
    pi = stationary_distribution(P)
    if pi.ndim == 2:
        raise ValueError(
            f"the chain has {len(pi)} recurrent classes, each with a stationary "
            "distribution of its own: what it tends to depends on the start."
        )
    return pi


def distance_to_stationary(P, n, start=None):
    """Distance from pi after 0..n steps, from a start or from the worst state, (3)."""
    P, pi = _check_transition_matrix(P), unique_stationary_distribution(P)
    V = np.eye(len(P)) if start is None else np.atleast_2d(np.asarray(start, float))
    distances = []
    for _ in range(n + 1):
        distances.append(total_variation(V, pi).max())
        V = V @ P
    return np.array(distances)


def mixing_time(P, eps=0.25) -> float:
    """Fewest steps with d(n) <= eps, eq. (3); inf for a chain that is periodic."""
    P, pi = _check_transition_matrix(P), unique_stationary_distribution(P)
    if not 0 < eps < 1:
        raise ValueError(f"eps must lie strictly between 0 and 1, got {eps!r}.")
    if not communicating_classes(P).ergodic:
        return np.inf
    far = lambda M: total_variation(M, pi).max() > eps
    if not far(np.eye(len(P))):
        return 0
    powers = [P]  # P^(2^j)
    while far(powers[-1]) and len(powers) < MAX_DOUBLINGS:
        square = powers[-1] @ powers[-1]
        powers.append(square / square.sum(axis=1, keepdims=True))
    n = 0
    M = np.eye(len(P))  # the largest n with d(n) > eps, bit by bit
    for j in range(len(powers) - 1, -1, -1):
        step = M @ powers[j]
        if far(step):
            n, M = n + 2**j, step
    return n + 1


def second_eigenvalue(P) -> float:
    """Largest modulus of an eigenvalue after the first, the rate of (3)."""
    size = np.sort(np.abs(np.linalg.eigvals(_check_transition_matrix(P))))
    return float(size[-2]) if len(size) > 1 else 0.0


def time_reversal(P):
    """Q of eq. (4), the chain run backwards from its stationary law.

    Examples
    --------
    >>> from pansophy.state_space import time_reversal
    >>> P = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]
    >>> time_reversal(P)
    array([[0.5, 0. , 0.5],
           [0.5, 0.5, 0. ],
           [0. , 0.5, 0.5]])
    """
    P, pi = _check_transition_matrix(P), unique_stationary_distribution(P)
    if not (pi > 0).all():
        raise ValueError(
            f"state {int(pi.argmin())} is transient: seen backwards from the "
            "stationary law, it has no law of its own."
        )
    return (pi[:, None] * P).T / pi[:, None]


def is_reversible(P, tol=1e-9) -> bool:
    """Detailed balance, pi_i P_ij = pi_j P_ji for all i and j."""
    P, pi = _check_transition_matrix(P), unique_stationary_distribution(P)
    flow = pi[:, None] * P
    return bool(np.abs(flow - flow.T).max() <= tol)


def hitting_times(P, targets):
    """Mean number of steps until one of the targets, eq. (5); inf if it may miss."""
    P = _check_transition_matrix(P)
    k = len(P)
    hit = np.zeros(k, bool)
    hit[np.atleast_1d(targets)] = True
    absorbed = np.where(hit[:, None], np.eye(k), P)
    classes = communicating_classes(absorbed)
    lost = np.zeros(k, bool)  # states of recurrent classes without a target
    for states in classes.members():
        lost[states] = not hit[states].any()
    sure = _hitting_probability(absorbed, hit, lost) > 1 - 1e-12
    times = np.where(hit, 0.0, np.inf)
    free = sure & ~hit
    if free.any():
        A = np.eye(int(free.sum())) - P[np.ix_(free, free)]
        times[free] = np.linalg.solve(A, np.ones(len(A)))
    return times


def _hitting_probability(P, good, bad):
    """P(a good state before a bad one) from each state, all of which reach either."""
    probability = good.astype(float)
    free = ~(good | bad)
    if free.any():
        A = np.eye(int(free.sum())) - P[np.ix_(free, free)]
        probability[free] = np.linalg.solve(A, P[np.ix_(free, good)].sum(axis=1))
    return probability


def absorption_probabilities(P):
    """a of eq. (6): the recurrent class in which each state ends up."""
    P = _check_transition_matrix(P)
    groups = communicating_classes(P).members()
    ends = np.zeros(len(P), bool)
    ends[np.concatenate(groups)] = True
    columns = []
    for states in groups:
        good = np.zeros(len(P), bool)
        good[states] = True
        columns.append(_hitting_probability(P, good, ends & ~good))
    return np.stack(columns, axis=1)
