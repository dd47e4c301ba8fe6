"""Bayesian network: a joint distribution as a product over a directed acyclic graph.

    p(x) = prod_i p(x_i | x_parents(i))                                          (1)

Each node is a table, a linear Gaussian, or a linear Gaussian for each configuration
of discrete parents (`nodes`). Every node sums to 1 given its parents, so (1) does
too, and fitting falls apart into one small problem a node: counts or least squares
(`parameters`, EM where values are missing). Queries

    P(Q | E) = p(Q, E) / p(E)                                                    (2)

are answered exactly by elimination or a junction tree (`inference`), through Normals
where nodes are continuous (`linear_gaussian`), or by samples (`ancestral`). Setting a
variable by hand (`do`) cuts the arrows into it: what follows is changed, what comes
before is not.

Cost      a query: cells of its largest tables, shown by `inference_cost`
Shapes    X (n, d)   parents: d tuples   nodes: d
Refs      [Pearl1988]; [KollerFriedman2009]; [Pearl2009] do
"""

import weakref
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Density, Estimator, check_weights
from ..core.random import rng_from
from ..distributions.normal import Normal
from ..graphs.directed import moral_graph, topological_order
from ..params import Count, NonNegative, Positive, check_params
from ..typing import Seed
from . import network_queries as queries
from . import network_rows as rows
from .ancestral import draw_weighted_rows, normalised_weights, systematic_resample
from .clique_tree import InferenceCost
from .conditional_distributions import ConditionalTable, Node
from .d_separation import DSeparation, d_separated, markov_blanket
from .exact_inference import ExactInference
from .factors import Factor, make_factor
from .gaussian_inference import joint_normal_of
from .limits import MAX_TABLE_CELLS, zero_probability_message
from .network_definition import check_network_parts, describe_network, parse_definition
from .network_drawing import network_dot, network_svg
from .network_fit import fit_network
from .posterior import (
    MostProbableExplanation,
    NormalMixture,
    ParameterCounts,
    Posterior,
)
from .variables import VariableSpace

_engines: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


@dataclass(eq=False, repr=False)
class BayesianNetwork(Density, Estimator):
    """Bayesian network of discrete, Gaussian and conditional-linear nodes.

    Written down with `from_tables`, or fitted to a table of rows given the edges.

    Parameters
    ----------
    edges : sequence of pairs (parent, child), or None
        Names (or numbers) of columns. None means that all are independent. A name
        that is no column, and whose `states` are given, is a hidden variable.
    states : dict or None, default=None
        States of discrete variables by name, in the order they are to have; those
        not listed are found in the data.
    kinds : {"auto", "discrete", "gaussian"} or dict by name, default="auto"
        What a column holds. "auto" takes words and whole numbers of few values as
        states, other numbers as Gaussian.
    prior : None, "laplace", "k2", "bdeu" or float, default=None
        Pseudo-counts of the tables; None for the likeliest tables.
    equivalent_size : float, default=10.0
        Rows that the "bdeu" prior is worth.
    min_variance : float, default=0.0
        Least variance of a continuous node.
    evidence : sequence of names or None, default=None
        The variables that are seen at run time: `predict`, `predict_proba` and
        `score_samples` take the other columns as missing even where X has them.
    heuristic : {"min_fill", "min_weight", "min_degree"}, default="min_fill"
        How orders of elimination are found.
    max_table : int, default=2**26
        Exact inference refuses to build a table of more cells.
    max_iter, tol, n_init : int, float, int
        Turns, tolerance and starts of EM, where values are missing.
    random_state : int, Generator or None, default=None
        Seed of EM's starts and of samples.

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
    Parameters(cells=6, free=3)
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
        """A network written down: {"rain": [...], "wet | rain": [[...], [...]]}.

        The table of "C | A, B" has axes A, B, C and sums to 1 along the last, which
        may leave out the last state. Values may be nodes: `LinearGaussian` and
        `ConditionalLinear` for continuous variables.
        """
        return cls.from_nodes(*parse_definition(tables, states), **params)

    @classmethod
    def from_nodes(cls, space, parents, nodes, **params) -> "BayesianNetwork":
        """A network of a `Space`, parents, and nodes (an array is a `Table`)."""
        space, parents, nodes = check_network_parts(space, parents, nodes)
        names = space.names
        edges = [(names[p], names[i]) for i, above in enumerate(parents) for p in above]
        known = {v: list(s) for v, s in zip(*space, strict=True) if s}
        params.setdefault("states", known)
        network = cls(edges, **params)
        check_params(network)
        network.space_, network.parents_, network.nodes_ = space, parents, nodes
        network.n_features_in_ = len(names)
        network.feature_names_in_ = np.array(names, dtype=object)
        return network

    def fit(self, X, y=None, sample_weight=None):
        """Learn the tables and regressions of the graph from rows.

        Parameters
        ----------
        X : array of shape (n, d), data frame, or dict of columns
            NaN and None are missing; tables are then fitted by EM, and continuous
            nodes by the rows that show the node and all its parents.
        y : ignored
        sample_weight : array of shape (n,), optional
        """
        check_params(self)
        columns = rows.check_table_columns(self, X, reset=True)
        n = len(next(iter(columns.values())))
        w = check_weights(sample_weight, np.empty((n, 1)))
        self.space_, self.parents_, self.nodes_ = fit_network(self, columns, w)
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
        """How each variable depends on its parents."""
        return self._fitted().nodes_

    @property
    def order(self) -> list[int]:
        """Variables with parents before children."""
        return topological_order(self.parents)

    def _fitted(self):
        if not hasattr(self, "nodes_"):  # the check takes longer than a query
            check_is_fitted(self)
        return self

    def factors(self) -> list[Factor]:
        """The tables of (1) as factors over variable numbers."""
        bad = [n for n, s in zip(*self.space, strict=True) if not s]
        if bad:
            raise ValueError(f"{bad[0]!r} is continuous: only tables are factors.")
        return list(self._engine().factors.values())

    def _engine(self) -> ExactInference:
        nodes = self.nodes
        held = _engines.get(self)
        settings = (self.heuristic, self.max_table)
        if held is None or held[0] is not nodes or held[1] != settings:
            made = {
                i: make_factor((*self.parents_[i], i), node.prob)
                for i, node in enumerate(nodes)
                if isinstance(node, ConditionalTable)
            }
            engine = ExactInference(made, self.parents_, self.space_, *settings)
            held = _engines[self] = (nodes, settings, engine)
        return held[2]

    # --- probabilities of rows ---

    def score_samples(self, X) -> np.ndarray:
        """Log probability (density) of what each row shows: (n,)."""
        return rows.row_log_prob(self, self._engine(), rows.observed_rows(self, X))

    def score(self, X, y=None) -> float:
        """Mean log probability of the rows."""
        return float(np.mean(self.score_samples(X)))

    def log_prob(self, assignment: Mapping) -> float:
        """Log probability of states by name; variables left out are summed out."""
        seen = queries.evidence_codes(self, assignment)
        row = np.full((1, len(self.space.names)), np.nan)
        row[0, list(seen)] = list(seen.values())
        return float(rows.row_log_prob(self, self._engine(), row)[0])

    def probability(self, event: Mapping, given: Mapping | None = None) -> float:
        """P(event | given) for states by name."""
        return queries.conditional_probability(self, event, given)

    def predict(self, X):
        """X with every missing value filled in: likeliest state, or mean.

        The table comes back in the kind it came in, with all columns of the network.
        """
        return rows.fill_missing(self, self._engine(), X)

    def predict_marginals(self, X, variables=None) -> dict:
        """P(variable | the rest of the row) by name: arrays (n, states).

        For the variables named, or the discrete ones that some row misses. A value
        that is seen has probability 1.
        """
        return rows.row_probabilities(self, self._engine(), X, variables)

    def predict_proba(self, X, variables=None) -> np.ndarray:
        """The same as one array (n, states of all of them, side by side)."""
        found = list(self.predict_marginals(X, variables).values())
        return np.hstack(found) if found else np.empty((len(X), 0))

    # --- queries ---

    def query(
        self, variables, evidence=None, *, method="auto", likelihood=None, order=None,
        n_samples: int = 10_000, random_state=None,
    ) -> Posterior | Normal | NormalMixture:  # fmt: skip
        """P(variables | evidence), eq. (2).

        Parameters
        ----------
        variables : name or names
            All discrete (a table comes back) or all continuous (a Normal, or a
            mixture of Normals where discrete variables are open).
        evidence : dict, optional
            States and values seen, by name.
        method : {"auto", "elimination", "junction_tree", "enumeration",
            "likelihood_weighting", "gibbs", "loopy"}, default="auto"
            The first four are exact.
        likelihood : dict, optional
            Soft evidence: a weight for each state of a variable.
        order : sequence of names, optional
            In which to sum variables out, for "elimination".
        n_samples, random_state : of the methods that sample
        """
        return queries.query_network(
            self, self._engine(), variables, evidence, method, likelihood, order,
            n_samples, random_state,
        )  # fmt: skip

    def inference_cost(
        self, variables, evidence=(), heuristic=None, *, order=None
    ) -> InferenceCost:
        """Order, largest table and work of an exact query, before it runs."""
        space = self.space
        number = None if order is None else space.numbers(order)
        asked, seen = space.numbers(variables), space.numbers(evidence)
        return self._engine().cost(asked, seen, heuristic, number)

    def most_likely(self, evidence=None, variables=None) -> MostProbableExplanation:
        """The likeliest joint state of all other variables (or of some) given evidence.

        By max-product elimination; for some variables the others are summed out first.
        """
        return queries.most_probable_explanation(
            self, self._engine(), evidence, variables
        )

    def do(self, setting=None, **more) -> "BayesianNetwork":
        """The network in which variables are set by hand: arrows into them are cut."""
        return queries.intervene(self, {**(setting or {}), **more})

    def gibbs(self, n_samples: int = 1000, *, evidence=None, **options):
        """Rows by Gibbs sampling; options as in `pansophy.graphical.gibbs_sample`."""
        from .gibbs_sampling import gibbs_sample

        return gibbs_sample(self, n_samples, evidence=evidence, **options)

    def loopy_bp(self, evidence=None, **options):
        """Approximate marginals; options as in `pansophy.graphical.loopy_bp`."""
        from .loopy_belief_propagation import loopy_bp

        return loopy_bp(self, evidence, **options)

    def sample(self, n: int = 1, evidence=None, *, random_state=None):
        """n rows drawn from the network, as an array of labels and numbers.

        With evidence rows are drawn by likelihood weighting and resampled by weight.
        """
        A, w = self._draws(n, evidence, random_state)
        if evidence:
            A = A[systematic_resample(w, rng_from(random_state))]
        return rows.as_table_like(rows.decode_rows(A, self.space), None)

    def weighted_sample(self, n: int, evidence, *, random_state=None):
        """n rows that agree with the evidence, and their weights (sum 1)."""
        A, w = self._draws(n, evidence, random_state)
        return rows.as_table_like(rows.decode_rows(A, self.space), None), w

    def _draws(self, n, evidence, random_state):
        rng = rng_from(self.random_state if random_state is None else random_state)
        A, log_w = draw_weighted_rows(
            self, n, rng, queries.evidence_codes(self, evidence)
        )
        w = normalised_weights(log_w)
        if n and not len(w):
            raise ValueError(zero_probability_message(evidence))
        return A, w

    def joint_normal(self) -> Normal:
        """The joint Normal of a network of linear Gaussian nodes, in column order."""
        return joint_normal_of(self)

    # --- the graph ---

    def n_parameters(self) -> ParameterCounts:
        """Number of entries of all nodes, and of free ones."""
        nodes = self.nodes
        return ParameterCounts(sum(n.cells for n in nodes), sum(n.free for n in nodes))

    def markov_blanket(self, variable) -> set:
        """Parents, children and the children's other parents."""
        return markov_blanket(self, self.space.names[self.space.number(variable)])

    def is_d_separated(self, x, y, given=()) -> DSeparation:
        """Whether the graph makes x and y independent given some variables."""
        return d_separated(self, x, y, given)

    def moral(self) -> list[tuple]:
        """Edges of the moral graph: parents of a node joined, arrows dropped."""
        names, around = self.space.names, enumerate(moral_graph(self.parents))
        pairs = [(i, j) for i, ring in around for j in sorted(ring) if i < j]
        return [(names[i], names[j]) for i, j in pairs]

    def table(self, variable) -> np.ndarray:
        """P(variable | parents): an axis for each parent, own states last."""
        node = self.nodes[self.space.number(variable)]
        if not isinstance(node, ConditionalTable):
            raise ValueError(f"{variable!r} is continuous and has no table.")
        return node.prob

    def to_dot(self) -> str:
        """The graph as DOT text."""
        return network_dot(self)

    def to_svg(self, *, tables: bool = False) -> str:
        """The graph as SVG text, laid out with no further software."""
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
