"""Score-based structure learning of a Bayesian network.

    G* = argmax over acyclic G of  sum_j s(j, P_j(G))                            (1)

with s a family score of `structure_scores` (BIC, AIC, BDeu, K2 and Gaussian scores).
Finding G* is NP-hard. Four methods are available:

    hill_climbing, tabu    single-edge moves, with or without a tabu list, and restarts
                           from randomly perturbed graphs (`hill_climbing`)
    k2                     each node takes the best parents among the nodes before it in
                           a given order, greedily, while the score rises
    exact                  dynamic programming over sets of nodes, for up to 15 columns

For the exact method, every acyclic graph has a node without children, so with b(y, C)
the best score of y with parents in C

    V(S) = max over y in S of  V(S - y) + b(y, S - y),        V of no nodes is 0  (2)
    b(y, C) = max( s(y, C), max over x in C of b(y, C - x) )                     (3)

and V of all nodes is the best score of any graph: 2^d sets rather than some 2^(d^2 / 2)
graphs. All methods score families through one cache, and the counts of all candidate
parents of a node are made together (`contingency_tables`).

The result is one member of a class of graphs with (nearly) the same score, whose common
directions are in `class_`. Columns are searched in the order of their names, so the
result does not depend on the order of the columns.

Cost      greedy: d^2 tables of counts at the start, then about d for each move; K2: d
          tables for each parent; exact: d 2^(d - 1) families
Shapes    X (n, d)
Refs      [CooperHerskovits1992]; [Heckerman1995]; [Chickering2002];
          [SilanderMyllymaki2006]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT, FitTask
from ...core.random import make_rng, spawn_rngs
from ...params import (
    Count,
    Natural,
    NonNegative,
    ParameterError,
    Positive,
    Verbosity,
)
from ...typing import ListLike, Seed
from ..networks.dags import (
    adjacency_matrix,
    edge_pairs,
    parents_from_adjacency,
    parse_parents,
)
from ..networks.markov_equivalence import EquivalenceClass, equivalence_class
from ..networks.variables import VariableSpace
from .contingency_tables import ContingencyTables
from .hill_climbing import EdgeConstraints, hill_climb, random_neighbor
from .structure_learning import (
    network_from_counts,
    network_from_regressions,
    permute_parents,
    read_training_table,
)
from .structure_scores import (
    GAUSSIAN_SCORES,
    CachedFamilyScores,
    DiscreteFamilyScores,
    GaussianFamilyScores,
)

ScoreName = Literal[
    "auto",
    "bic",
    "aic",
    "bdeu",
    "k2",
    "log_likelihood",
    "gaussian_bic",
    "gaussian_aic",
    "bge",
]
MAX_EXACT_COLUMNS = 15  # for method="exact"


def _edge_matrix(pairs, space: VariableSpace, parameter) -> np.ndarray:
    """Edges by name as an adjacency matrix."""
    M = np.zeros((len(space.names),) * 2, dtype=bool)
    for pair in () if pairs is None else pairs:
        if len(pair) != 2:
            raise ParameterError(
                f"{parameter} must list pairs (parent, child): {pair!r}."
            )
        M[space.number(pair[0]), space.number(pair[1])] = True
    return M


@dataclass(eq=False, repr=False)
class StructureSearch(Estimator):
    """Search for the graph of a Bayesian network.

    Parameters
    ----------
    scoring : {"auto", "bic", "aic", "bdeu", "k2", "log_likelihood", "gaussian_bic", \
"gaussian_aic", "bge"}, default="auto"
        What is maximised. The last three are for columns of numbers; "auto" is
        "gaussian_bic" if all columns hold real numbers, and "bic" if they hold states.
    method : {"tabu", "hill_climbing", "k2", "exact"}, default="tabu"
        Greedy moves that continue past a local optimum ("tabu") or stop there;
        "k2" needs an `order`, "exact" takes at most 15 columns.
    max_parents : int or None, default=None
        Maximum number of parents of a node.
    required, forbidden : lists of pairs (parent, child) or None, default=None
        Edges that the graph must have, and must not have.
    start : graph or None, default=None
        Initial graph: parents of each column, edges, or a network.
    order : list of names or None, default=None
        Order of the columns for "k2": parents come before children.
    equivalent_size : float, default=10.0
        Weight of the prior of "bdeu", in rows.
    prior : None, "laplace", "k2", "bdeu" or float, default=None
        Pseudo-counts of the tables of `network_`.
    n_restarts : int, default=0
        Further searches, each from the best graph after random moves.
    n_perturbations : int or None, default=None
        Number of random moves before a restart; a third of the number of columns if
        None.
    tabu_length : int, default=20
        Number of recent graphs that a tabu search may not return to.
    patience : int, default=20
        Moves without improvement after which a tabu search stops.
    epsilon : float, default=1e-4
        Smallest gain of a move.
    max_iter : int, default=1000000
        Maximum number of moves of a search.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random moves.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    network_ : BayesianNetwork
        The learned graph with fitted tables (or regressions).
    parents_ : tuple of tuples of int
        Parents of each column, by number.
    edges_ : list of pairs of names
    class_ : EquivalenceClass
        The graphs that the data cannot distinguish from it.
    score_ : float
    n_iter_, converged_, history_ : int, bool, dict
        history_["score"] is the score after each move.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical import StructureSearch
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 1000)
    >>> hose = rng.integers(0, 2, 1000)
    >>> wet = (rain | hose) ^ (rng.random(1000) < 0.05)
    >>> search = StructureSearch().fit({"rain": rain, "hose": hose, "wet": wet})
    >>> sorted(search.edges_)
    [('hose', 'wet'), ('rain', 'wet')]
    """

    scoring: ScoreName = "auto"
    _: KW_ONLY
    method: Literal["tabu", "hill_climbing", "k2", "exact"] = "tabu"
    max_parents: Count | None = None
    required: ListLike | None = None
    forbidden: ListLike | None = None
    start: Any = None
    order: ListLike | None = None
    equivalent_size: Positive = 10.0
    prior: Literal["laplace", "k2", "bdeu"] | NonNegative | None = None
    n_restarts: Natural = 0
    n_perturbations: Count | None = None
    tabu_length: Count = 20
    patience: Natural = 20
    epsilon: NonNegative = 1e-4
    max_iter: Count = 1_000_000
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, X, y=None, sample_weight=None):
        """Search for a graph and fit its tables.

        Parameters
        ----------
        X : array of shape (n, d), data frame or dict of columns
            Each distinct value of a column is a state, unless `scoring` is Gaussian.
        y : ignored
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.
        """
        scoring = self.scoring
        is_gaussian = None if scoring == "auto" else scoring in GAUSSIAN_SCORES
        hint = 'take all for numbers with scoring="gaussian_bic"'
        rows, space, w = read_training_table(
            self, X, sample_weight, gaussian=is_gaussian, hint=hint
        )
        gaussian = not space.all_discrete
        if is_gaussian is None:
            scoring = "gaussian_bic" if gaussian else "bic"
        by_name = sorted(range(len(space.names)), key=lambda j: space.names[j])
        sizes = [space.sizes[j] for j in by_name]
        counts = None if gaussian else ContingencyTables(rows[:, by_name], sizes, w)
        if counts is None:
            families: Any = GaussianFamilyScores(rows[:, by_name], scoring, w)
        else:
            families = DiscreteFamilyScores(counts, scoring, self.equivalent_size)
        best_state = self._search(CachedFamilyScores(families), space, by_name)
        self.parents_ = permute_parents(best_state.parents, by_name)
        self.score_ = -float(best_state.objective)
        if counts is None:
            self.network_ = network_from_regressions(rows, space, self.parents_, w)
        else:
            self.network_ = network_from_counts(
                counts,
                space,
                self.parents_,
                self.prior,
                self.equivalent_size,
                columns=np.argsort(by_name),
            )
        self.edges_ = edge_pairs(self.parents_, space.names)
        return self

    @property
    def class_(self) -> EquivalenceClass:
        """The class of graphs that the data cannot distinguish from the learned one."""
        return equivalence_class(self.network_)

    def _constraints(self, space: VariableSpace) -> EdgeConstraints:
        required = _edge_matrix(self.required, space, "required")
        forbidden = _edge_matrix(self.forbidden, space, "forbidden")
        if (required & forbidden).any():
            raise ParameterError("an edge is both required and forbidden.")
        max_parents = len(space.names) if self.max_parents is None else self.max_parents
        if required.sum(axis=0).max(initial=0) > max_parents:
            raise ParameterError("required gives a column more than max_parents.")
        return EdgeConstraints(forbidden, required, max_parents)

    def _start(self, space: VariableSpace, constraints: EdgeConstraints) -> tuple:
        """The initial graph, with the required and without the forbidden edges."""
        graph = ((),) * len(space.names) if self.start is None else self.start
        A = adjacency_matrix(parse_parents(graph, space.names)) & ~constraints.forbidden
        A |= constraints.required
        too_many = np.flatnonzero(A.sum(axis=0) > constraints.max_parents)
        if len(too_many):
            raise ParameterError(
                f"{space.names[too_many[0]]!r} starts with more than max_parents."
            )
        return parse_parents(parents_from_adjacency(A), space.names)

    def _order(self, space: VariableSpace) -> list[int]:
        if self.order is None:
            raise ParameterError("method='k2' needs an order of the columns.")
        order = space.numbers(self.order)
        if sorted(order) != list(range(len(space.names))):
            raise ParameterError("order must name every column once.")
        return list(order)

    def _search(self, families: CachedFamilyScores, space: VariableSpace, by_name):
        """Run the search with the columns in the order of their names."""
        d = len(by_name)
        position = np.argsort(by_name).tolist()
        constraints = self._constraints(space)
        start = permute_parents(self._start(space, constraints), position)
        sort = lambda M: M[np.ix_(by_name, by_name)]
        sorted_constraints = EdgeConstraints(
            sort(constraints.forbidden),
            sort(constraints.required),
            constraints.max_parents,
        )
        if self.method == "k2":
            order = [position[j] for j in self._order(space)]
            run = lambda task: _k2_search(families, sorted_constraints, order, task)
            return self._run_driver(run, total=d).state
        if self.method == "exact":
            if d > MAX_EXACT_COLUMNS:
                raise ParameterError(
                    f"method='exact' takes at most {MAX_EXACT_COLUMNS} columns."
                )
            return self._run_driver(
                lambda t: _exact_search(families, sorted_constraints, t), total=d
            ).state
        tabu = self.tabu_length if self.method == "tabu" else 0
        rngs = spawn_rngs(make_rng(self.random_state), self.n_restarts + 1)
        n_perturbations = self.n_perturbations or max(1, d // 3)
        results: list = []

        def run_search(i, task):
            start_graph = start
            if i:
                best = max(results, key=lambda r: -r.objective)
                start_graph = random_neighbor(
                    families,
                    sorted_constraints,
                    best.state.best,
                    n_perturbations,
                    rngs[i],
                )
            result = hill_climb(
                families,
                sorted_constraints,
                start_graph,
                epsilon=self.epsilon,
                tabu_length=tabu,
                patience=self.patience,
                max_iter=self.max_iter,
                task=task,
            )
            results.append(result)
            return result

        n = self.n_restarts + 1
        result = self._run_driver(run_search, n_init=n, total=None)
        return result.state._replace(parents=result.state.best)


class OrderedParents(NamedTuple):
    """Parents of the first `done` nodes of an order."""

    parents: tuple
    done: int
    objective: float


def _k2_search(
    families, constraints: EdgeConstraints, order, task: FitTask = SILENT
) -> Result:
    """K2 search: each node greedily takes the best parents among those before it.

    A step of the driver is a node.
    """
    d = len(order)

    def step(state: OrderedParents) -> OrderedParents:
        y = order[state.done]
        required = [x for x in order if constraints.required[x, y]]
        parents_of_y = tuple(required)
        score = families.score(y, tuple(required))
        while len(parents_of_y) < constraints.max_parents:
            candidates = [
                x
                for x in order[: state.done]
                if x not in parents_of_y and not constraints.forbidden[x, y]
            ]
            if not candidates:
                break
            scores = families.adds(y, parents_of_y, candidates)
            if scores.max() <= score:
                break
            parents_of_y = (*parents_of_y, candidates[int(scores.argmax())])
            score = float(scores.max())
        parents = list(state.parents)
        parents[y] = tuple(sorted(parents_of_y))
        return OrderedParents(tuple(parents), state.done + 1, state.objective - score)

    change = lambda old, new: 0.0 if new.done == d else 1.0
    first = OrderedParents(((),) * d, 0, 0.0)
    return iterate(step, first, max_iter=d, tol=0.0, change=change, task=task)


class SubsetScores(NamedTuple):
    """Best scores of networks on all sets of nodes of one size."""

    best: dict  # set as bits -> (score, last node, its parents)
    objective: float


def _exact_search(
    families, constraints: EdgeConstraints, task: FitTask = SILENT
) -> Result:
    """The best of all graphs, eq. (2). A step of the driver is all sets of one size."""
    d = families.d
    parent_choices = [_best_parent_sets(families, constraints, y) for y in range(d)]

    def step(state: SubsetScores) -> SubsetScores:
        larger: dict = {}
        for C, (score, _, _) in state.best.items():
            for y in range(d):
                if not C >> y & 1:
                    score_of_y, chosen = parent_choices[y][C]
                    new = score + score_of_y
                    S = C | 1 << y
                    if S not in larger or new > larger[S][0]:
                        larger[S] = (new, y, chosen)
        best.update(larger)
        return SubsetScores(larger, -max(v[0] for v in larger.values()))

    best: dict = {0: (0.0, -1, 0)}
    change = lambda old, new: 1.0
    result = iterate(
        step,
        SubsetScores(dict(best), 0.0),
        max_iter=d,
        tol=0.0,
        change=change,
        task=task,
    )
    parents = [()] * d
    C = (1 << d) - 1
    while C and C in best:
        _, y, chosen = best[C]
        parents[y] = tuple(x for x in range(d) if chosen >> x & 1)
        C &= ~(1 << y)
    state = OrderedParents(tuple(parents), d, result.objective)
    reason = "tolerance" if result.n_iter == d else result.reason
    return result._replace(state=state, reason=reason)


def _best_parent_sets(families, constraints: EdgeConstraints, y) -> dict:
    """b(y, C) for all C, eq. (3): sets as bits -> (score, parents as bits)."""
    d = families.d
    required = sum(1 << x for x in range(d) if constraints.required[x, y])
    forbidden = sum(1 << x for x in range(d) if constraints.forbidden[x, y])
    scores = {0: families.score(y, ())}
    for S in range(1 << d):
        if S >> y & 1 or S.bit_count() >= constraints.max_parents:
            continue
        candidates = [z for z in range(S.bit_length(), d) if z != y]
        if candidates:
            parents_of_y = tuple(x for x in range(d) if S >> x & 1)
            added = families.adds(y, parents_of_y, candidates)
            scores.update({S | 1 << z: v for z, v in zip(candidates, added.tolist())})
    best: dict = {}
    for S in range(1 << d):
        if S >> y & 1:
            continue
        legal = S in scores and not S & forbidden and S & required == required
        best_of_S = (scores[S], S) if legal else (-np.inf, 0)
        for x in range(d):
            if S >> x & 1:
                best_of_S = max(best_of_S, best[S ^ 1 << x], key=lambda t: t[0])
        best[S] = best_of_S
    return best
