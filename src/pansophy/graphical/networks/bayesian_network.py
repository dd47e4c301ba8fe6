"""Bayesian network: a joint distribution that factorises over a directed acyclic graph.

    p(x) = prod_i p(x_i | x_parents(i))                                          (1)

Each factor of (1) is a conditional distribution (`conditional_distributions`): a table,
a linear Gaussian, or a linear Gaussian for each configuration of discrete parents. The
log-likelihood of (1) is a sum over nodes, so `fit` estimates each node by itself:

    tables               relative frequencies with pseudo-counts, or EM where values
                         are missing or a variable is hidden (`parameter_learning`)
    continuous nodes     least squares on the rows that show the node and its parents

Queries

    P(Q | E) = p(Q, E) / p(E)                                                    (2)

are answered exactly by variable elimination or a junction tree (`exact_inference`),
with continuous nodes through joint Normals (`gaussian_inference`), or approximately by
sampling (`network_queries`). An intervention `do` removes the edges into the variables
that it sets, so it changes their descendants and leaves their ancestors as they are.

Cost      a query: cells of its largest table, shown by `inference_cost`
Shapes    X (n, d)   parents: d tuples   nodes: d
Refs      [Pearl1988]; [KollerFriedman2009]; [Pearl2009] do
"""

import weakref
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Density, Estimator
from ...core.arrays.weighted import check_sample_weight
from ...core.numerics import normalize_log_weights
from ...core.random import make_rng
from ...distributions.gaussian.normal import Normal
from ...graphs.directed import moral_graph, topological_order
from ...params import Count, NonNegative, ParameterError, Positive, check_params
from ...sampling.particles.resampling import systematic_copies
from ...typing import Seed
from ..inference import row_inference
from ..inference.clique_tree import MAX_TABLE_CELLS, InferenceCost
from ..inference.exact_inference import ExactInference
from ..inference.factors import Factor, make_factor
from ..inference.gaussian_inference import joint_normal_of
from ..inference.posterior import (
    MostProbableExplanation,
    NormalMixture,
    ParameterCounts,
    Posterior,
)
from ..structure.parameter_learning import fit_tables, fit_tables_em
from . import network_queries as queries
from .conditional_distributions import (
    ConditionalLinearGaussian,
    ConditionalTable,
    LinearGaussian,
    Node,
)
from .d_separation import DSeparation, d_separated, markov_blanket
from .network_definition import (
    check_network_parts,
    describe_network,
    parse_definition,
)
from .network_drawing import network_dot, network_svg
from .table_encoding import (
    as_table_like,
    check_table_columns,
    decode_rows,
    encode_training_columns,
    filter_column,
    stack_codes,
)
from .variables import VariableSpace, zero_probability_error

# inference engines are kept outside the estimator, so that it stays small to copy
_engines: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


@dataclass(eq=False, repr=False)
class BayesianNetwork(Density, Estimator):
    """Bayesian network of discrete, Gaussian and conditional linear Gaussian nodes.

    Defined by hand with `from_tables`, or fitted to rows given the edges.

    Parameters
    ----------
    edges : sequence of pairs (parent, child), or None
        Names (or numbers) of columns. None means that all are independent. A name
        that is not a column, and whose `states` are given, is a hidden variable.
    states : dict or None, default=None
        States of discrete variables by name, in order. Variables that are not
        listed have the states that occur in the data.
    kinds : {"auto", "discrete", "gaussian"} or dict by name, default="auto"
        Type of each variable. "auto" treats text and integers with few distinct
        values as discrete, and other numbers as Gaussian.
    prior : None, "laplace", "k2", "bdeu" or float, default=None
        Pseudo-counts of the tables; None is maximum likelihood.
    equivalent_size : float, default=10.0
        Weight of the "bdeu" prior, in rows.
    min_variance : float, default=0.0
        Lower bound of the variance of a continuous node.
    evidence : sequence of names or None, default=None
        The variables that are observed at prediction time: `predict`,
        `predict_proba` and `score_samples` treat all other columns as missing.
    heuristic : {"min_fill", "min_weight", "min_degree"}, default="min_fill"
        Heuristic for elimination orders.
    max_table : int, default=2**26
        Exact inference raises a MemoryError rather than build a larger table.
    max_iter, tol, n_init : int, float, int
        Iterations, tolerance and initialisations of EM, if values are missing.
    random_state : int, Generator or None, default=None
        Seed of EM's initialisations and of samples.

    Attributes
    ----------
    space_ : Space
        Names and states.
    parents_ : tuple of tuples of int
    nodes_ : tuple of Table, LinearGaussian or ConditionalLinear

    Examples
    --------
    >>> from pansophy.graphical import BayesianNetwork
    >>> network = BayesianNetwork.from_tables(
    ...     {
    ...         "rain": [0.8, 0.2],
    ...         "wet | rain": [[0.9, 0.1], [0.2, 0.8]],
    ...     },
    ...     states={"rain": ["no", "yes"], "wet": ["dry", "wet"]},
    ... )
    >>> network.query("rain", {"wet": "wet"})
    P(rain)
      yes: 0.666667
      no: 0.333333
    >>> network.n_parameters()
    ParameterCounts(cells=6, free=3)
    """

    edges: Any = None
    _: KW_ONLY
    states: dict | None = None
    kinds: Literal["auto", "discrete", "gaussian"] | dict = "auto"
    prior: Literal["laplace", "k2", "bdeu"] | NonNegative | None = None
    equivalent_size: Positive = 10.0
    min_variance: NonNegative = 0.0
    evidence: list | tuple | None = None
    heuristic: Literal["min_fill", "min_weight", "min_degree"] = "min_fill"
    max_table: Count = MAX_TABLE_CELLS
    max_iter: Count = 100
    tol: NonNegative = 1e-6
    n_init: Count = 1
    random_state: Seed = None

    @classmethod
    def from_tables(cls, tables, states=None, **params) -> "BayesianNetwork":
        """A network defined by its tables: {"rain": [...], "wet | rain": [[...]]}.

        The table of "C | A, B" has axes A, B, C and sums to 1 along the last, which
        may leave out the last state. Values may also be `LinearGaussian` and
        `ConditionalLinear` for continuous variables.
        """
        return cls.from_nodes(*parse_definition(tables, states), **params)

    @classmethod
    def from_nodes(cls, space, parents, nodes, **params) -> "BayesianNetwork":
        """A network of a `VariableSpace`, parents and nodes; an array is a table."""
        space, parents, nodes = check_network_parts(space, parents, nodes)
        names = space.names
        edges = [
            (names[p], names[i])
            for i, node_parents in enumerate(parents)
            for p in node_parents
        ]
        states = {v: list(s) for v, s in zip(*space, strict=True) if s}
        params.setdefault("states", states)
        network = cls(edges, **params)
        check_params(network)
        network.space_, network.parents_, network.nodes_ = space, parents, nodes
        network.n_features_in_ = len(names)
        network.feature_names_in_ = np.array(names, dtype=object)
        return network

    def fit(self, X, y=None, sample_weight=None):
        """Estimate the tables and regressions of the graph from rows.

        Parameters
        ----------
        X : array of shape (n, d), data frame, or dict of columns
            NaN and None are missing values: tables are then fitted by EM, and
            continuous nodes on the rows that show the node and all its parents.
        y : ignored
        sample_weight : array of shape (n,), optional
        """
        check_params(self)
        columns = check_table_columns(self, X, reset=True)
        n = len(next(iter(columns.values())))
        w = check_sample_weight(sample_weight, n)
        if w is not None and not (w > 0).all():
            kept = w > 0
            columns = {name: filter_column(c, kept) for name, c in columns.items()}
            w = w[kept]
        edges = _check_edge_list(self.edges)
        hidden = _hidden_variables(edges, columns, self.states)
        space, rows = encode_training_columns(columns, self.kinds, self.states, hidden)
        parents = _parents_from_edges(edges, space)
        nodes = _fit_discrete_nodes(self, rows, space, parents, w)
        for i in range(len(space.names)):
            if not space.is_discrete(i):
                nodes[i] = _fit_continuous_node(
                    rows, i, parents[i], space, w, self.min_variance
                )
        self.space_ = space
        self.parents_ = parents
        self.nodes_ = tuple(nodes[i] for i in range(len(space.names)))
        return self

    @property
    def space(self) -> VariableSpace:
        """Names and states of the variables."""
        return self._fitted().space_

    @property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the parents of each variable."""
        return self._fitted().parents_

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The conditional distribution of each variable given its parents."""
        return self._fitted().nodes_

    @property
    def order(self) -> list[int]:
        """Variables in topological order."""
        return topological_order(self.parents)

    def _fitted(self):
        if not hasattr(self, "nodes_"):  # check_is_fitted takes longer than a query
            check_is_fitted(self)
        return self

    def factors(self) -> list[Factor]:
        """The tables of (1) as factors over variable numbers."""
        continuous = [n for n, s in zip(*self.space, strict=True) if not s]
        if continuous:
            raise ValueError(
                f"{continuous[0]!r} is continuous: only tables are factors."
            )
        return list(self._engine().factors.values())

    def _engine(self) -> ExactInference:
        """The inference engine, made anew when the nodes or settings have changed."""
        nodes = self.nodes
        cached = _engines.get(self)
        settings = (self.heuristic, self.max_table)
        if cached is None or cached[0] is not nodes or cached[1] != settings:
            factors = {
                i: make_factor((*self.parents_[i], i), node.prob)
                for i, node in enumerate(nodes)
                if isinstance(node, ConditionalTable)
            }
            engine = ExactInference(factors, self.parents_, self.space_, *settings)
            cached = _engines[self] = (nodes, settings, engine)
        return cached[2]

    # --- rows ---

    def score_samples(self, X) -> np.ndarray:
        """Log probability (or density) of the observed values of each row: (n,)."""
        rows = row_inference.observed_rows(self, X)
        return row_inference.row_log_prob(self, self._engine(), rows)

    def score(self, X, y=None) -> float:
        """Mean log probability of the rows."""
        return float(np.mean(self.score_samples(X)))

    def log_prob(self, assignment: Mapping) -> float:
        """Log probability of states by name; variables left out are summed out."""
        codes = queries.evidence_codes(self, assignment)
        row = np.full((1, len(self.space.names)), np.nan)
        row[0, list(codes)] = list(codes.values())
        return float(row_inference.row_log_prob(self, self._engine(), row)[0])

    def probability(self, event: Mapping, given: Mapping | None = None) -> float:
        """P(event | given) for states by name."""
        return queries.conditional_probability(self, event, given)

    def predict(self, X):
        """X with every missing value imputed: the most probable state, or the mean.

        The result has the type of X, and all columns of the network.
        """
        return row_inference.fill_missing(self, self._engine(), X)

    def predict_marginals(self, X, variables=None) -> dict:
        """P(variable | the rest of the row) by name: arrays (n, states).

        For the given variables, or the discrete ones with missing values. An
        observed value has probability 1.
        """
        return row_inference.row_probabilities(self, self._engine(), X, variables)

    def predict_proba(self, X, variables=None) -> np.ndarray:
        """`predict_marginals` as one array, the states of all variables in a row."""
        tables = list(self.predict_marginals(X, variables).values())
        return np.hstack(tables) if tables else np.empty((len(X), 0))

    # --- queries ---

    def query(
        self,
        variables,
        evidence=None,
        *,
        method="auto",
        likelihood=None,
        order=None,
        n_samples: int = 10_000,
        random_state=None,
    ) -> Posterior | Normal | NormalMixture:
        """P(variables | evidence), eq. (2).

        Parameters
        ----------
        variables : name or names
            All discrete (a table comes back) or all continuous (a Normal, or a
            mixture of Normals if discrete variables are unobserved).
        evidence : dict, optional
            Observed states and values, by name.
        method : {"auto", "elimination", "junction_tree", "enumeration",
            "likelihood_weighting", "gibbs", "loopy"}, default="auto"
            The first four are exact.
        likelihood : dict, optional
            Soft evidence: a likelihood for each state of a variable.
        order : sequence of names, optional
            Elimination order, for method="elimination".
        n_samples, random_state : of the methods that sample
        """
        return queries.query_network(
            self,
            variables,
            evidence,
            method,
            likelihood,
            order,
            n_samples,
            random_state,
        )

    def inference_cost(
        self, variables, evidence=(), heuristic=None, *, order=None
    ) -> InferenceCost:
        """Elimination order, largest table and total work of an exact query."""
        space = self.space
        number = None if order is None else space.numbers(order)
        query = space.numbers(variables)
        observed = space.numbers(evidence)
        return self._engine().cost(query, observed, heuristic, number)

    def most_likely(self, evidence=None, variables=None) -> MostProbableExplanation:
        """The most probable joint state of all other variables given the evidence.

        By max-product elimination. With `variables`, that of these variables alone
        (MAP): the others are summed out first.
        """
        return queries.most_probable_explanation(self, evidence, variables)

    def do(self, setting=None, **settings) -> "BayesianNetwork":
        """The network under an intervention: edges into the set variables are cut."""
        return queries.intervene(self, {**(setting or {}), **settings})

    def gibbs(self, n_samples: int = 1000, *, evidence=None, **options):
        """Rows by Gibbs sampling; options as in `pansophy.graphical.gibbs_sample`."""
        from ..inference.gibbs_sampling import gibbs_sample

        return gibbs_sample(self, n_samples, evidence=evidence, **options)

    def loopy_bp(self, evidence=None, **options):
        """Approximate marginals; options as in `pansophy.graphical.loopy_bp`."""
        from ..inference.loopy_belief_propagation import loopy_bp

        return loopy_bp(self, evidence, **options)

    def sample(self, n: int = 1, evidence=None, *, random_state=None):
        """n rows drawn from the network, as an array of labels and numbers.

        With evidence, rows are drawn by likelihood weighting and then resampled.
        """
        A, w = self._weighted_rows(n, evidence, random_state)
        if evidence:
            copies = systematic_copies(w, len(w), make_rng(random_state))
            A = A[np.repeat(np.arange(len(w)), copies)]
        return as_table_like(decode_rows(A, self.space), None)

    def weighted_sample(self, n: int, evidence, *, random_state=None):
        """n rows that agree with the evidence, and their weights, which sum to 1."""
        A, w = self._weighted_rows(n, evidence, random_state)
        return as_table_like(decode_rows(A, self.space), None), w

    def _weighted_rows(self, n, evidence, random_state):
        rng = make_rng(self.random_state if random_state is None else random_state)
        codes = queries.evidence_codes(self, evidence)
        A, log_w = queries.draw_weighted_rows(self, n, rng, codes)
        w, log_total = normalize_log_weights(log_w)
        if n and log_total == -np.inf:
            raise zero_probability_error(evidence)
        return A, w

    def joint_normal(self) -> Normal:
        """The joint Normal of a linear Gaussian network, in column order."""
        return joint_normal_of(self)

    # --- the graph ---

    def n_parameters(self) -> ParameterCounts:
        """Number of parameters of all nodes, and of free parameters."""
        nodes = self.nodes
        return ParameterCounts(sum(n.cells for n in nodes), sum(n.free for n in nodes))

    def markov_blanket(self, variable) -> set:
        """Parents, children and the other parents of the children."""
        return markov_blanket(self, self.space.names[self.space.number(variable)])

    def is_d_separated(self, x, y, given=()) -> DSeparation:
        """Whether the graph makes x and y independent given some variables."""
        return d_separated(self, x, y, given)

    def moral(self) -> list[tuple]:
        """Edges of the moral graph: parents of a node joined, directions dropped."""
        names = self.space.names
        neighbors = enumerate(moral_graph(self.parents))
        pairs = [(i, j) for i, near in neighbors for j in sorted(near) if i < j]
        return [(names[i], names[j]) for i, j in pairs]

    def table(self, variable) -> np.ndarray:
        """P(variable | parents): an axis for each parent, then one of own states."""
        node = self.nodes[self.space.number(variable)]
        if not isinstance(node, ConditionalTable):
            raise ValueError(f"{variable!r} is continuous and has no table.")
        return node.prob

    def to_dot(self) -> str:
        """The graph as DOT text."""
        return network_dot(self)

    def to_svg(self, *, tables: bool = False) -> str:
        """The graph as SVG text, laid out without other software."""
        return network_svg(self, tables=tables)

    def _repr_mimebundle_(self, **_):
        drawn = {"image/svg+xml": self.to_svg()} if hasattr(self, "nodes_") else {}
        return {"text/plain": repr(self), **drawn}

    def __str__(self):
        return describe_network(self) if hasattr(self, "nodes_") else repr(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _check_edge_list(edges) -> list[tuple]:
    """Pairs (parent, child) without repetitions; raises if they are not pairs."""
    try:
        pairs = [tuple(e) for e in (() if edges is None else edges)]
    except TypeError:
        pairs = [()]
    wrong = [e for e in pairs if len(e) != 2]
    if wrong or isinstance(edges, str):
        raise ParameterError(
            "edges of BayesianNetwork must be pairs (parent, child) or None, got "
            f"{edges!r}."
        )
    return list(dict.fromkeys(pairs))


def _hidden_variables(edges, columns, states) -> tuple:
    """Names in edges that are not columns but whose states are known."""
    names = dict.fromkeys(v for e in edges for v in e if isinstance(v, str))
    return tuple(v for v in names if v not in columns and v in (states or {}))


def _parents_from_edges(edges, space: VariableSpace) -> tuple[tuple[int, ...], ...]:
    """Parents of each variable; raises at a cycle or a continuous parent of a discrete
    variable."""
    parents: list[tuple[int, ...]] = [() for _ in space.names]
    for parent, child in edges:
        i, j = space.number(parent), space.number(child)
        if space.is_discrete(j) and not space.is_discrete(i):
            raise ValueError(
                f"discrete {space.names[j]!r} cannot have the continuous parent "
                f"{space.names[i]!r}."
            )
        if i not in parents[j]:
            parents[j] += (i,)
    topological_order(parents, space.names)
    return tuple(parents)


def _fit_discrete_nodes(model, rows, space: VariableSpace, parents, w) -> dict:
    """Tables of the discrete variables by number, from counts or by EM."""
    discrete = [i for i in range(len(space.names)) if space.is_discrete(i)]
    model.n_iter_ = 1
    if not discrete:
        return {}
    place = {v: k for k, v in enumerate(discrete)}
    local_parents = [tuple(place[p] for p in parents[i]) for i in discrete]
    sizes = tuple(space.sizes[i] for i in discrete)
    n = len(next(column for column in rows if column is not None))
    states = [space.states[i] for i in discrete]
    codes = stack_codes([rows[i] for i in discrete], states, n)
    if (codes >= 0).all():
        tables = fit_tables(
            codes,
            local_parents,
            sizes,
            weights=w,
            prior=model.prior,
            equivalent_size=model.equivalent_size,
        )
    else:
        run = lambda task: fit_tables_em(
            codes,
            local_parents,
            sizes,
            weights=w,
            prior=model.prior,
            equivalent_size=model.equivalent_size,
            max_iter=model.max_iter,
            tol=model.tol,
            n_init=model.n_init,
            random_state=model.random_state,
            task=task,
        )
        tables = model._run_driver(run, total=model.max_iter).state.params
    return {i: ConditionalTable(t) for i, t in zip(discrete, tables, strict=True)}


def _fit_continuous_node(rows, i, parents, space: VariableSpace, w, min_variance):
    """The linear regression of continuous variable i on its parents."""
    hidden = np.full(len(rows[i]), -1)  # codes of a hidden parent
    columns = [hidden if rows[p] is None else rows[p] for p in parents]
    missing = [
        v < 0 if space.is_discrete(p) else np.isnan(v)
        for p, v in zip(parents, columns, strict=True)
    ]
    complete = ~np.any([np.isnan(rows[i]), *missing], axis=0)
    if not complete.any():
        raise ValueError(
            f"no row shows {space.names[i]!r} and all its parents: nothing to fit."
        )
    U = np.column_stack([np.empty((len(complete), 0)), *columns])[complete]
    x = rows[i][complete]
    w = None if w is None else w[complete]
    discrete = tuple(k for k, p in enumerate(parents) if space.is_discrete(p))
    if not discrete:
        node = LinearGaussian(0.0, np.zeros(len(parents)), 1.0)
    else:
        shape = tuple(space.sizes[parents[k]] for k in discrete)
        coef = np.zeros((*shape, len(parents) - len(discrete)))
        node = ConditionalLinearGaussian(
            np.zeros(shape), coef, np.ones(shape), discrete
        )
    return node.from_stats(node.stats(x, U, w), min_variance)
