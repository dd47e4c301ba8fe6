"""PC: the class of a graph from tests of conditional independence.

If rows come from a network whose independences are just those its graph says, x and y
are not joined if and only if they are independent given some set S of the neighbours
of one of them. So, beginning with all pairs joined, for l = 0, 1, 2, ...

    x - y goes  if for some S, |S| = l, in the neighbours of x or of y,
    the test of x and y given S keeps independence                               (1)

    x -> z <- y  for x - z - y with x, y apart and z not in the S that parted them (2)

and Meek's rules give the arrows that follow (`equivalence`). Neighbours are those at
the beginning of the round (the stable variant), a pair remembers the S of its largest
p-value in the round, and an edge that (2) turns both ways keeps no arrow; so the result
does not depend on the order of the columns. The test for states is

    G = 2 sum N_xys log(N_xys N_s / (N_xs N_ys)),   chi-squared where (1) holds  (3)

with degrees of freedom from the states that occur; for Gaussian columns Fisher's
z-transform of the partial correlation. Counts of y with all its neighbours given one S
are made together.

Cost      tables of counts for each node and each S of up to its largest degree
Shapes    X (n, d)   G pattern (d, d)
Refs      [Spirtes2000]; [ColomboMaathuis2014] stable; [Meek1995]
"""

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr

from ..base import Estimator
from ..core.iterate import iterate
from ..params import Fraction, Natural, NonNegative, Positive, Verbosity
from .contingency_tables import ContingencyTables, for_each_item, g_statistics
from .dags import edge_pairs
from .markov_equivalence import EquivalenceClass, apply_meek_rules, consistent_extension
from .structure_learning import network_from_counts, network_from_regressions
from .structure_search import read_training_table


class GTest:
    """p-values of eq. (3) for y and each of several others given S."""

    def __init__(self, counts: ContingencyTables):
        self.counts, self.d, self.n = counts.ready(), counts.d, counts.n

    def __call__(self, y: int, given, others) -> np.ndarray:
        G, free = g_statistics(self.counts, y, given, others)
        return np.where(free > 0, chdtrc(np.maximum(free, 1), G), 1.0)


class FisherZTest:
    """p-values of partial correlations of y and each of several others given S."""

    def __init__(self, X, weights=None):
        w = np.ones(len(X)) if weights is None else weights
        self.n, self.d = float(w.sum()), X.shape[1]
        Z = X - np.average(X, axis=0, weights=w)
        self.S = (Z * w[:, None]).T @ Z

    def __call__(self, y: int, given, others) -> np.ndarray:
        P, Z = list(given), list(others)
        B = np.linalg.lstsq(self.S[np.ix_(P, P)], self.S[P], rcond=None)[0]
        left = self.S - self.S[:, P] @ B
        scale = np.sqrt(np.maximum(np.diag(left)[Z] * left[y, y], 1e-300))
        r = np.clip(left[y, Z] / scale, -1 + 1e-15, 1 - 1e-15)
        z = np.arctanh(r) * math.sqrt(max(self.n - len(P) - 3, 0.0))
        return 2 * ndtr(-np.abs(z))


class Skeleton(NamedTuple):
    """Edges left after rounds of up to `size` conditions."""

    joined: np.ndarray  # (d, d)
    parted: dict  # (x, y) with x < y -> (p-value, S)
    size: int
    objective: float  # number of edges
    done: bool = False


def test_round(tests, joined, size, alpha) -> dict:
    """Pairs that some S of this size parts, eq. (1), with their best S."""

    def one(y):
        near, found = np.flatnonzero(joined[y]), {}
        if len(near) - 1 < size:
            return found
        for S in combinations(near.tolist(), size):
            others = [x for x in near.tolist() if x not in S]
            for x, p in zip(others, tests(y, S, others).tolist(), strict=True):
                pair = (min(x, y), max(x, y))
                if p >= alpha and (-p, S) < found.get(pair, (1.0, ())):
                    found[pair] = (-p, S)
        return found

    parted, rounds = {}, {}
    for_each_item(
        lambda y: rounds.update({y: one(y)}), range(len(joined)), tests.n * joined.sum()
    )
    for found in rounds.values():
        for pair, value in found.items():
            if pair not in parted or value < parted[pair]:
                parted[pair] = value
    return {pair: (-p, S) for pair, (p, S) in parted.items()}


def orient_edges(joined, parted) -> np.ndarray:
    """The pattern: arrows of eq. (2), then those that follow."""
    d = len(joined)
    into = np.zeros((d, d), dtype=bool)
    for z in range(d):
        for x, y in combinations(np.flatnonzero(joined[z]).tolist(), 2):
            if not joined[x, y] and z not in parted[x, y][1]:
                into[x, z] = into[y, z] = True
    firm = into & ~into.T
    return apply_meek_rules(joined & ~firm.T)


@dataclass(eq=False, repr=False)
class PC(Estimator):
    """Structure of a Bayesian network by tests of independence.

    Parameters
    ----------
    alpha : float, default=0.05
        Level of the tests: p-values of at least this keep independence.
    test : {"auto", "g", "fisher_z"}, default="auto"
        For columns of states, or of Gaussian numbers; "auto" looks which they are.
    max_given : int or None, default=None
        Most variables to condition on.
    prior : None, "laplace", "k2", "bdeu" or float, default=None
        Pseudo-counts of the tables of `network_`.
    equivalent_size : float, default=10.0
        Rows that the prior "bdeu" is worth.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    class_ : EquivalenceClass
        Arrows that follow from the data, and edges whose direction is open.
    separators_ : dict
        For each pair of names not joined, the set that made them independent.
    p_values_ : dict
        And its p-value.
    parents_ : tuple of tuples of int, or None
        Parents of one graph of the class; None if the tests contradict each other so
        that no graph has these arrows.
    edges_ : list of pairs of names
    network_ : BayesianNetwork or None
        That graph with fitted tables; None too where a table would be too large.
    n_iter_, converged_, history_ : int, bool, dict
        Rounds, and how many edges were left after each.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical import PC
    >>> rng = np.random.default_rng(0)
    >>> rain, hose = rng.integers(0, 2, (2, 2000))
    >>> wet = (rain | hose) ^ (rng.random(2000) < 0.05)
    >>> PC(alpha=0.01).fit({"rain": rain, "hose": hose, "wet": wet}).class_.directed
    [('rain', 'wet'), ('hose', 'wet')]
    """

    alpha: Fraction = 0.05
    _: KW_ONLY
    test: Literal["auto", "g", "fisher_z"] = "auto"
    max_given: Natural | None = None
    prior: Literal["laplace", "k2", "bdeu"] | NonNegative | None = None
    equivalent_size: Positive = 10.0
    verbose: Verbosity = 0

    def fit(self, X, y=None, sample_weight=None):
        """Find the class of graphs and fit the tables of one.

        Parameters
        ----------
        X : array of shape (n, d), data frame or dict of columns
        y : ignored
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.
        """
        known = None if self.test == "auto" else self.test == "fisher_z"
        hint = 'take all for numbers with test="fisher_z"'
        rows, space, w = read_training_table(
            self, X, sample_weight, gaussian=known, hint=hint
        )
        counts = ContingencyTables(rows, space.sizes, w) if space.all_discrete else None
        tests = FisherZTest(rows, w) if counts is None else GTest(counts)
        state = self._rounds(tests)
        pattern = orient_edges(state.joined, state.parted)
        self.class_ = EquivalenceClass(space.names, pattern)
        name = lambda v: space.names[v]
        pairs = {(name(x), name(y)): v for (x, y), v in state.parted.items()}
        self.separators_ = {k: tuple(map(name, S)) for k, (_, S) in pairs.items()}
        self.p_values_ = {k: p for k, (p, _) in pairs.items()}
        self.parents_ = consistent_extension(pattern)
        self.network_, self.edges_ = None, []
        if self.parents_ is not None:
            self.edges_ = edge_pairs(self.parents_, space.names)
            if counts is None:
                self.network_ = network_from_regressions(rows, space, self.parents_, w)
            else:
                self.network_ = self._counted(counts, space)
        return self

    def _counted(self, counts, space):
        """The network of tables, or None where one would be too large."""
        prior = self.prior, self.equivalent_size
        try:
            return network_from_counts(counts, space, self.parents_, *prior)
        except ValueError as problem:
            warnings.warn(f"PC leaves network_ None: {problem}", stacklevel=3)
            return None

    def _rounds(self, tests) -> Skeleton:
        d = tests.d
        most = d - 2 if self.max_given is None else min(self.max_given, d - 2)

        def step(state: Skeleton) -> Skeleton:
            size = state.size + 1
            parted = test_round(tests, state.joined, size, self.alpha)
            joined = state.joined.copy()
            for x, y in parted:
                joined[x, y] = joined[y, x] = False
            done = size >= most or joined.sum(axis=0).max(initial=0) - 1 <= size
            both = {**state.parted, **parted}
            return Skeleton(joined, both, size, joined.sum() / 2, bool(done))

        first = Skeleton(~np.eye(d, dtype=bool), {}, -1, d * (d - 1) / 2)
        change = lambda old, new: 0.0 if new.done else 1.0
        run = lambda task: iterate(
            step, first, max_iter=max(d, 1), tol=0.0, change=change, task=task
        )
        return self._drive(run, total=None).state
