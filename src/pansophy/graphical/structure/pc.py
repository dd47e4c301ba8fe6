"""PC algorithm: constraint-based structure learning by conditional independence tests.

If the independences of the data are exactly those of the graph, x and y are not
adjacent if and only if they are independent given some subset S of the neighbours of
one of them. So, beginning with the complete graph, for l = 0, 1, 2, ...

    remove x - y  if for some S, |S| = l, in the neighbours of x or of y,
    the test of x and y given S does not reject independence                     (1)

    x -> z <- y  for x - z - y with x, y not adjacent and z not in their S       (2)

and Meek's rules give the directions that follow (`markov_equivalence`). Neighbours are
those at the beginning of the round (the stable variant), a pair keeps the S of its
largest p-value in the round, and an edge that (2) directs both ways stays undirected;
so the result does not depend on the order of the columns. The test for discrete columns
is

    G = 2 sum N_xys log(N_xys N_s / (N_xs N_ys)),   chi-squared under independence (3)

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

from ...base import Estimator
from ...core.drivers.iterate import iterate
from ...params import Fraction, Natural, NonNegative, Positive, Verbosity
from ..networks.dags import edge_pairs
from ..networks.markov_equivalence import (
    EquivalenceClass,
    apply_meek_rules,
    consistent_extension,
)
from .contingency_tables import ContingencyTables, for_each_item, g_statistics
from .structure_learning import (
    network_from_counts,
    network_from_regressions,
    read_training_table,
)


class GTest:
    """p-values of eq. (3) for y and each of several others given S."""

    def __init__(self, counts: ContingencyTables):
        self.counts = counts.pack()
        self.d = counts.d
        self.n = counts.n

    def __call__(self, y: int, given, others) -> np.ndarray:
        G, df = g_statistics(self.counts, y, given, others)
        return np.where(df > 0, chdtrc(np.maximum(df, 1), G), 1.0)


class FisherZTest:
    """p-values of partial correlations of y and each of several others given S."""

    def __init__(self, X, weights=None):
        w = np.ones(len(X)) if weights is None else weights
        self.n = float(w.sum())
        self.d = X.shape[1]
        Z = X - np.average(X, axis=0, weights=w)
        self.S = (Z * w[:, None]).T @ Z

    def __call__(self, y: int, given, others) -> np.ndarray:
        P, Z = list(given), list(others)
        B = np.linalg.lstsq(self.S[np.ix_(P, P)], self.S[P], rcond=None)[0]
        residual = self.S - self.S[:, P] @ B
        sd_product = np.sqrt(np.maximum(np.diag(residual)[Z] * residual[y, y], 1e-300))
        r = np.clip(residual[y, Z] / sd_product, -1 + 1e-15, 1 - 1e-15)
        z = np.arctanh(r) * math.sqrt(max(self.n - len(P) - 3, 0.0))
        return 2 * ndtr(-np.abs(z))


class Skeleton(NamedTuple):
    """The edges that remain after tests with up to `size` conditioning variables."""

    adjacent: np.ndarray  # (d, d)
    separators: dict  # (x, y) with x < y -> (p-value, S)
    size: int
    objective: float  # number of edges
    done: bool = False


def _test_round(tests, adjacent, size, alpha) -> dict:
    """Pairs that some S of this size separates, eq. (1), with their best S."""

    def tests_of_node(y):
        neighbors = np.flatnonzero(adjacent[y])
        separated = {}
        if len(neighbors) - 1 < size:
            return separated
        for S in combinations(neighbors.tolist(), size):
            candidates = [x for x in neighbors.tolist() if x not in S]
            for x, p in zip(candidates, tests(y, S, candidates).tolist(), strict=True):
                pair = (min(x, y), max(x, y))
                if p >= alpha and (-p, S) < separated.get(pair, (1.0, ())):
                    separated[pair] = (-p, S)
        return separated

    separators, results = {}, {}
    for_each_item(
        lambda y: results.update({y: tests_of_node(y)}),
        range(len(adjacent)),
        tests.n * adjacent.sum(),
    )
    for separated in results.values():
        for pair, value in separated.items():
            if pair not in separators or value < separators[pair]:
                separators[pair] = value
    return {pair: (-p, S) for pair, (p, S) in separators.items()}


def orient_edges(adjacent, separators) -> np.ndarray:
    """The CPDAG: directions by eq. (2), then those that follow."""
    d = len(adjacent)
    collider = np.zeros((d, d), dtype=bool)
    for z in range(d):
        for x, y in combinations(np.flatnonzero(adjacent[z]).tolist(), 2):
            if not adjacent[x, y] and z not in separators[x, y][1]:
                collider[x, z] = collider[y, z] = True
    consistent = collider & ~collider.T
    return apply_meek_rules(adjacent & ~consistent.T)


@dataclass(eq=False, repr=False)
class PC(Estimator):
    """Structure learning of a Bayesian network by independence tests (PC algorithm).

    Parameters
    ----------
    alpha : float, default=0.05
        Significance level: p-values of at least this do not reject independence.
    test : {"auto", "g", "fisher_z"}, default="auto"
        G-test for discrete columns, Fisher's z for Gaussian ones; "auto" infers which.
    max_given : int or None, default=None
        Maximum number of conditioning variables.
    prior : None, "laplace", "k2", "bdeu" or float, default=None
        Pseudo-counts of the tables of `network_`.
    equivalent_size : float, default=10.0
        Rows that the prior "bdeu" is worth.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    class_ : EquivalenceClass
        Directions that follow from the data, and edges of undetermined direction.
    separators_ : dict
        The separating set of each pair of names that is not adjacent.
    p_values_ : dict
        The p-value of that test.
    parents_ : tuple of tuples of int, or None
        Parents of one graph of the class; None if contradictory tests leave no graph
        with these directions.
    edges_ : list of pairs of names
    network_ : BayesianNetwork or None
        That graph with fitted tables; None if a table would be too large.
    n_iter_, converged_, history_ : int, bool, dict
        history_["objective"] is the number of edges after each round.
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
        """Find the equivalence class and fit the tables of one member.

        Parameters
        ----------
        X : array of shape (n, d), data frame or dict of columns
        y : ignored
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.
        """
        is_gaussian = None if self.test == "auto" else self.test == "fisher_z"
        hint = 'take all for numbers with test="fisher_z"'
        rows, space, w = read_training_table(
            self, X, sample_weight, gaussian=is_gaussian, hint=hint
        )
        counts = ContingencyTables(rows, space.sizes, w) if space.all_discrete else None
        tests = FisherZTest(rows, w) if counts is None else GTest(counts)
        state = self._find_skeleton(tests)
        pattern = orient_edges(state.adjacent, state.separators)
        self.class_ = EquivalenceClass(space.names, pattern)
        name = lambda v: space.names[v]
        pairs = {(name(x), name(y)): v for (x, y), v in state.separators.items()}
        self.separators_ = {k: tuple(map(name, S)) for k, (_, S) in pairs.items()}
        self.p_values_ = {k: p for k, (p, _) in pairs.items()}
        self.parents_ = consistent_extension(pattern)
        self.network_ = None
        self.edges_ = []
        if self.parents_ is not None:
            self.edges_ = edge_pairs(self.parents_, space.names)
            if counts is None:
                self.network_ = network_from_regressions(rows, space, self.parents_, w)
            else:
                self.network_ = self._network_from_counts(counts, space)
        return self

    def _network_from_counts(self, counts, space):
        """The network with tables from counts, or None if one would be too large."""
        try:
            return network_from_counts(
                counts, space, self.parents_, self.prior, self.equivalent_size
            )
        except ValueError as problem:
            warnings.warn(f"PC leaves network_ None: {problem}", stacklevel=3)
            return None

    def _find_skeleton(self, tests) -> Skeleton:
        """Rounds of eq. (1) with growing conditioning sets."""
        d = tests.d
        max_size = d - 2 if self.max_given is None else min(self.max_given, d - 2)

        def step(state: Skeleton) -> Skeleton:
            size = state.size + 1
            separated = _test_round(tests, state.adjacent, size, self.alpha)
            adjacent = state.adjacent.copy()
            for x, y in separated:
                adjacent[x, y] = adjacent[y, x] = False
            is_done = (
                size >= max_size or adjacent.sum(axis=0).max(initial=0) - 1 <= size
            )
            separators = {**state.separators, **separated}
            return Skeleton(
                adjacent, separators, size, adjacent.sum() / 2, bool(is_done)
            )

        first = Skeleton(~np.eye(d, dtype=bool), {}, -1, d * (d - 1) / 2)
        change = lambda old, new: 0.0 if new.done else 1.0
        run = lambda task: iterate(
            step, first, max_iter=max(d, 1), tol=0.0, change=change, task=task
        )
        return self._run_driver(run, total=None).state
