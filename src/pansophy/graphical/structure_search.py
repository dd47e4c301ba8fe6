"""Learning the graph of a Bayesian network: the best score among acyclic graphs.

    G* = argmax over acyclic G of  sum_j s(j, P_j(G))                            (1)

with s a family score of `scores` (BIC, AIC, BDeu, K2 and Gaussian relatives). Finding
G* is NP-hard, so a few ways are at hand: greedy moves of single edges, with or without
a tabu list and restarts from shaken graphs (`climbing`); the greedy choice of parents
along a known order, and the exact optimum of up to fifteen columns (`orders`). All ask
for families through one memory, so no family is scored twice, and the counts of all
candidates for a node are made together (`counts`).

What is found is one member of a class of graphs with (nearly) the same score
(`equivalence`), whose common arrows are in `class_`. Columns are searched in the order
of their names, so the result does not depend on how a frame is arranged.

Cost      d^2 tables of counts at the start, then about d for each move
Shapes    X (n, d)
Refs      [CooperHerskovits1992]; [Heckerman1995]; [Chickering2002];
          [SilanderMyllymaki2006]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import validate_data

from ..base import Estimator, check_weights
from ..core.iterate import best_of
from ..core.random import rng_from, spawn
from ..params import Count, Natural, NonNegative, ParameterError, Positive, Verbosity, check_params
from ..typing import Seed, Words
from .structure_learning import network_from_counts, network_from_regressions, permute_parents
from .hill_climbing import EdgeConstraints, adjacency_matrix, parents_from_adjacency, random_neighbor, hill_climb
from .table_encoding import columns_are_continuous, encode_table, numeric_columns, drop_zero_weight_rows
from .contingency_tables import ContingencyTables
from .dags import edge_pairs, parse_parents
from .markov_equivalence import EquivalenceClass, equivalence_class
from .variables import VariableSpace
from .orders import k2_search, exact_search
from .structure_scores import GAUSSIAN_SCORES, DiscreteFamilyScores, GaussianFamilyScores, CachedFamilyScores

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
MAX_EXACT_COLUMNS = 15  # most columns of the exact search


def read_training_table(model, data, weights, *, gaussian: bool | None, hint=""):
    """A table checked for a search: codes or numbers, names, weights.

    Sets n_features_in_ and feature_names_in_. Missing values are refused. `gaussian`
    says whether columns are numbers; None looks (`are_numbers`).
    """
    check_params(model)
    if hasattr(data, "columns") and not isinstance(data, dict):
        validate_data(model, data, skip_check_array=True)
    elif isinstance(data, dict) or hasattr(data, "column_names"):
        names = list(getattr(data, "column_names", data))
        model.n_features_in_ = len(names)
        model.feature_names_in_ = np.array([str(v) for v in names], dtype=object)
    else:
        kind = np.float64 if gaussian else None
        data = validate_data(model, data, dtype=kind)
    if gaussian is None:
        gaussian = columns_are_continuous(data, hint)
    X, space = numeric_columns(data) if gaussian else encode_table(data)
    if len(X) == 0:
        raise ValueError("Found array with 0 sample(s), at least one is needed.")
    if not gaussian and (X < 0).any():
        name = space.names[int(np.flatnonzero((X < 0).any(axis=0))[0])]
        raise ValueError(
            f"column {name!r} contains NaN or None, which a search of graphs cannot "
            "use: fill the values in or leave those rows out."
        )
    w = check_weights(weights, np.empty((len(X), 1)))
    return (X, space, w) if gaussian else drop_zero_weight_rows(X, space, w)


def edge_matrix(pairs, space: VariableSpace, what) -> np.ndarray:
    """Edges by name as a matrix."""
    M = np.zeros((len(space.names),) * 2, dtype=bool)
    for pair in () if pairs is None else pairs:
        if len(pair) != 2:
            raise ParameterError(f"{what} must list pairs (parent, child): {pair!r}.")
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
        Greedy moves that go on past an optimum, or end there; "k2" needs an `order`,
        "exact" takes at most 15 columns.
    max_parents : int or None, default=None
        Most parents of a node.
    required, forbidden : lists of pairs (parent, child) or None, default=None
        Edges that must be there, and edges that must not.
    start : graph or None, default=None
        Graph to start from: parents of each column, edges, or a network.
    order : list of names or None, default=None
        Order of the columns for "k2": parents come before children.
    equivalent_size : float, default=10.0
        Rows that the prior of "bdeu" is worth.
    prior : None, "laplace", "k2", "bdeu" or float, default=None
        Pseudo-counts of the tables of `network_`.
    n_restarts : int, default=0
        Further walks, each from the best graph shaken by random moves.
    shakes : int or None, default=None
        Number of random moves; a third of the number of columns if None.
    tabu_length : int, default=20
        Graphs that a tabu walk may not return to.
    patience : int, default=20
        Moves without a new best after which a tabu walk ends.
    epsilon : float, default=1e-4
        Least gain of a move.
    max_iter : int, default=1000000
        Most moves of a walk.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the shakes.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    network_ : BayesianNetwork
        The graph found, with fitted tables (or regressions).
    parents_ : tuple of tuples of int
        Parents of each column, by number.
    edges_ : list of pairs of names
    class_ : EquivalenceClass
        The graphs that the data cannot tell from it.
    score_ : float
    n_iter_, converged_, history_ : int, bool, dict
        How the search went: history_["score"] after each move.
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
    required: Words | None = None
    forbidden: Words | None = None
    start: Any = None
    order: Words | None = None
    equivalent_size: Positive = 10.0
    prior: Literal["laplace", "k2", "bdeu"] | NonNegative | None = None
    n_restarts: Natural = 0
    shakes: Count | None = None
    tabu_length: Count = 20
    patience: Natural = 20
    epsilon: NonNegative = 1e-4
    max_iter: Count = 1_000_000
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, X, y=None, sample_weight=None):
        """Find a graph and fit its tables.

        Parameters
        ----------
        X : array of shape (n, d), data frame or dict of columns
            Each different value of a column is a state, unless `scoring` is Gaussian.
        y : ignored
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.
        """
        scoring = self.scoring
        known = None if scoring == "auto" else scoring in GAUSSIAN_SCORES
        hint = 'take all for numbers with scoring="gaussian_bic"'
        rows, space, w = read_training_table(self, X, sample_weight, gaussian=known, hint=hint)
        gaussian = not space.all_discrete
        if known is None:
            scoring = "gaussian_bic" if gaussian else "bic"
        by_name = sorted(range(len(space.names)), key=lambda j: space.names[j])
        sizes = [space.sizes[j] for j in by_name]
        counts = None if gaussian else ContingencyTables(rows[:, by_name], sizes, w)
        if counts is None:
            families: Any = GaussianFamilyScores(rows[:, by_name], scoring, w)
        else:
            families = DiscreteFamilyScores(counts, scoring, self.equivalent_size)
        found = self._search(CachedFamilyScores(families), space, by_name)
        self.parents_ = permute_parents(found.parents, by_name)
        self.score_ = -float(found.objective)
        if counts is None:
            self.network_ = network_from_regressions(rows, space, self.parents_, w)
        else:
            self.network_ = network_from_counts(
                counts, space, self.parents_, self.prior, self.equivalent_size,
                columns=np.argsort(by_name),
            )  # fmt: skip
        self.edges_ = edge_pairs(self.parents_, space.names)
        return self

    @property
    def class_(self) -> EquivalenceClass:
        """The class of graphs that the data cannot tell from the one found."""
        return equivalence_class(self.network_)

    def _rules(self, space: VariableSpace) -> EdgeConstraints:
        required = edge_matrix(self.required, space, "required")
        forbidden = edge_matrix(self.forbidden, space, "forbidden")
        if (required & forbidden).any():
            raise ParameterError("an edge is both required and forbidden.")
        most = len(space.names) if self.max_parents is None else self.max_parents
        if required.sum(axis=0).max(initial=0) > most:
            raise ParameterError("required gives a column more than max_parents.")
        return EdgeConstraints(forbidden, required, most)

    def _start(self, space: VariableSpace, rules: EdgeConstraints) -> tuple:
        """The first graph: the one given with what is required and without the rest."""
        given = ((),) * len(space.names) if self.start is None else self.start
        A = adjacency_matrix(parse_parents(given, space.names)) & ~rules.forbidden
        A |= rules.required
        over = np.flatnonzero(A.sum(axis=0) > rules.max_parents)
        if len(over):
            raise ParameterError(
                f"{space.names[over[0]]!r} starts with more than max_parents."
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
        """The search proper, with the columns in the order of their names."""
        d, place = len(by_name), np.argsort(by_name).tolist()
        told = self._rules(space)
        start = permute_parents(self._start(space, told), place)
        sort = lambda M: M[np.ix_(by_name, by_name)]
        rules = EdgeConstraints(sort(told.forbidden), sort(told.required), told.max_parents)
        if self.method == "k2":
            order = [place[j] for j in self._order(space)]
            run = lambda task: k2_search(families, rules, order, task)
            return self._drive(run, total=d).state
        if self.method == "exact":
            if d > MAX_EXACT_COLUMNS:
                raise ParameterError(f"method='exact' takes at most {MAX_EXACT_COLUMNS} columns.")
            return self._drive(lambda t: exact_search(families, rules, t), total=d).state
        tabu = self.tabu_length if self.method == "tabu" else 0
        rngs = spawn(rng_from(self.random_state), self.n_restarts + 1)
        shakes = self.shakes or max(1, d // 3)
        held: list = []

        def one(i, task):
            first = start
            if i:
                best = max(held, key=lambda r: -r.objective)
                first = random_neighbor(families, rules, best.state.best, shakes, rngs[i])
            held.append(
                hill_climb(
                    families, rules, first, epsilon=self.epsilon, tabu_length=tabu,
                    patience=self.patience, max_iter=self.max_iter, task=task,
                )
            )  # fmt: skip
            return held[-1]

        n = self.n_restarts + 1
        result = self._drive(
            lambda task: best_of(n, one, task=task), total=n if n > 1 else None
        )
        return result.state._replace(parents=result.state.best)
