"""Junction tree: all marginals of a network or field at once, in two passes.

    p(x) = prod_c T_c(x_c) / prod_S m_S(x_S)                                     (1)

over cliques c and separators S of a triangulated graph. Messages to a root and back
(eq. (3) of `clique_tree`) leave the ratio (1) as it is and end with

    T_c = p(x_c, e),   m_S = p(x_S, e) = sum of either neighbour                 (2)

The tree is then calibrated: neighbours agree on their separators. New evidence is a
likelihood multiplied into one clique; messages outwards from that clique alone restore
(2), so entering evidence one variable at a time costs one pass each. On a chain the two
passes are the forward and the backward recursion.

Cost      memory: cells of all cliques; a pass: that times neighbours
Shapes    tables: one array a clique
Refs      [LauritzenSpiegelhalter1988]; [Jensen1990]
"""

import numpy as np

from ...distributions.joint_table import JointTable
from ...graphs.directed import Heuristic
from ..networks.variables import VariableSpace, zero_probability_error
from . import _clique_tree as loops
from .clique_tree import (
    MAX_TABLE_CELLS,
    CliqueTree,
    CliqueTreeLayout,
    check_table_size,
    clique_tree,
    inference_cost_of,
    inward_schedule,
    outward_schedule,
)
from .factors import Factor


class JunctionTree:
    """A calibrated junction tree: marginals of all variables given evidence.

    Parameters
    ----------
    model : BayesianNetwork, MarkovRandomField, FactorGraph or sequence of Factor
        Anything with `factors()` and `space`, or factors over numbered variables.
    space : Space, optional
        Names and states, if the model is a list of factors.
    heuristic : {"min_fill", "min_weight", "min_degree"}, default="min_fill"
        Heuristic of the triangulation.
    max_table : int, default=2**26
        Raise a MemoryError rather than build a clique with more cells.

    Attributes
    ----------
    cliques : list of tuples of names
    separators : list of tuples of names
        One for each edge.
    edges : list of pairs
        Numbers of neighbouring cliques.
    cost : InferenceCost
        Known before any table is built.
    log_evidence : float
        Log probability of the evidence entered so far (log Z with none).

    Examples
    --------
    >>> from pansophy.graphical import JunctionTree, sprinkler_network
    >>> tree = JunctionTree(sprinkler_network())
    >>> tree.cliques
    [('cloudy', 'sprinkler', 'rain'), ('sprinkler', 'rain', 'wet')]
    >>> tree.observe(wet=True).marginal("rain").prob.round(4)
    array([0.2921, 0.7079])
    >>> tree.observe(sprinkler=True).marginal("rain").prob.round(4)
    array([0.6796, 0.3204])
    """

    def __init__(
        self,
        model,
        space=None,
        *,
        heuristic: Heuristic = "min_fill",
        max_table: int = MAX_TABLE_CELLS,
    ):
        factors = getattr(model, "factors", model)
        factors = list(factors() if callable(factors) else factors)
        space = getattr(model, "space", None) if space is None else space
        self.space = _space_of_factors(factors) if space is None else space
        sizes = self.space.sizes
        scopes = [f.variables for f in factors]
        scopes += [(i,) for i in range(len(sizes)) if self.space.is_discrete(i)]
        self.tree: CliqueTree = clique_tree(scopes, sizes, heuristic=heuristic)
        self.cost = inference_cost_of(self.tree, sizes, self.space.names, (), heuristic)
        check_table_size(self.cost, max_table)
        self._layout = CliqueTreeLayout(self.tree, factors, sizes)
        self._homes = np.zeros((len(sizes), 2), np.int64)
        for v in range(len(sizes)):
            c = self.tree.containing([v])
            if c is not None:
                self._homes[v] = c, self.tree.cliques[c].index(v)
        self._like_ptr = np.cumsum([0, *sizes]).astype(np.int64)
        self._roots: dict = {}
        self.reset()

    @property
    def cliques(self) -> list[tuple]:
        return [tuple(self.space.names[v] for v in c) for c in self.tree.cliques]

    @property
    def edges(self) -> list[tuple[int, int]]:
        return list(self.tree.edges)

    @property
    def separators(self) -> list[tuple]:
        shared = [self.tree.separator(e) for e in range(len(self.tree.edges))]
        return [tuple(self.space.names[v] for v in s) for s in shared]

    def reset(self) -> "JunctionTree":
        """Forget all evidence."""
        self.evidence: dict = {}
        self._tables: np.ndarray | None = None
        self._messages = np.empty(0)
        self._log_z = 0.0
        return self

    def observe(self, evidence=None, *, likelihood=None, **states) -> "JunctionTree":
        """Enter evidence in addition to what was entered before.

        Parameters
        ----------
        evidence : dict, optional
            States of variables by name; further ones as keywords.
        likelihood : dict, optional
            Soft evidence: a likelihood of at least 0 for each state of a variable.
        """
        new_evidence = {**(evidence or {}), **states}
        codes = self.space.codes(new_evidence)
        weights = {
            v: _one_hot_weights(c, self.space.sizes[v]) for v, c in codes.items()
        }
        weights |= soft_evidence_weights(likelihood, self.space)
        T, _ = self._calibrated()
        for v, weight in weights.items():
            share = float(self.marginal(v).prob @ weight)
            if share == 0.0:
                raise zero_probability_error({**self.evidence, **new_evidence})
            self._enter(T, v, weight)
            schedule = outward_schedule(self._inward(int(self._homes[v, 0])))
            self._layout.pass_messages(T, self._messages, schedule)
            self._log_z += float(np.log(share))
        self.evidence |= new_evidence
        return self

    @property
    def log_evidence(self) -> float:
        return float(self._calibrated()[1])

    def marginal(self, *variables) -> JointTable:
        """The joint table of variables that share a clique, given the evidence."""
        numbers = self.space.numbers(variables)
        table, _ = self._read([tuple(numbers)])
        shape = [self.space.sizes[v] for v in numbers]
        return JointTable(table.reshape(shape), [self.space.names[v] for v in numbers])

    def marginals(self) -> dict[str, np.ndarray]:
        """The distribution of every variable by name, given the evidence."""
        names = self.space.names
        discrete = [v for v in range(len(names)) if self.space.is_discrete(v)]
        tables, ends = self._read([(v,) for v in discrete])
        return {names[v]: tables[ends[k] : ends[k + 1]] for k, v in enumerate(discrete)}

    def _read(self, targets):
        """Marginals of tuples of variables, end to end, and where each begins."""
        T, _ = self._calibrated()
        geometry = self._layout.geometry
        output = self._layout.output(targets)
        out = np.empty(output[1][-1])
        digit = np.zeros(len(geometry[1]) + 1, np.int64)
        loops.read_marginals(out, T, geometry, output, digit)
        return out, output[1]

    def beliefs(self) -> list[Factor]:
        """The normalised table of every clique, eq. (2)."""
        T, _ = self._calibrated()
        ptr = self._layout.geometry[0]
        beliefs = []
        for c, scope in enumerate(self.tree.cliques):
            table = T[ptr[c] : ptr[c + 1]]
            shape = [self.space.sizes[v] for v in scope]
            beliefs.append(Factor(scope, (table / table.sum()).reshape(shape)))
        return beliefs

    def _calibrated(self) -> tuple[np.ndarray, float]:
        """Tables of the cliques given the evidence so far, and its log probability."""
        if self._tables is None:
            T, M, self._log_z = self._layout.calibrated
            self._tables = T.copy()
            self._messages = M.copy()
        return self._tables, self._log_z

    def _inward(self, root):
        if root not in self._roots:
            self._roots[root] = inward_schedule(self.tree, root)
        return self._roots[root]

    def _enter(self, T, v, weight):
        """Multiply the likelihood of one variable into its home table."""
        likelihood = np.zeros(self._like_ptr[-1])
        likelihood[self._like_ptr[v] : self._like_ptr[v + 1]] = weight
        geometry = self._layout.geometry
        digit = np.zeros(len(geometry[1]) + 1, np.int64)
        observed = np.array([v], dtype=np.int64)
        loops.multiply_likelihoods(
            T, geometry, self._homes, likelihood, self._like_ptr, observed, digit
        )

    def __repr__(self):
        return f"JunctionTree({len(self.tree.cliques)} cliques; {self.cost})"


def _one_hot_weights(code, size):
    """1 at the observed state, 0 elsewhere."""
    weights = np.zeros(size)
    weights[code] = 1.0
    return weights


def soft_evidence_weights(likelihood, space: VariableSpace) -> dict[int, np.ndarray]:
    """Soft evidence by variable number: a likelihood for each state, checked."""
    weights = {}
    for name, weight in (likelihood or {}).items():
        i = space.number(name)
        if isinstance(weight, dict):
            weight = [weight.get(s, 0.0) for s in space.states[i]]
        weight = np.asarray(weight, dtype=np.float64)
        if weight.shape != (space.sizes[i],) or not (weight >= 0).all():
            raise ValueError(
                f"the likelihood of {name!r} needs {space.sizes[i]} weights of at "
                f"least 0, got {weight.tolist()}."
            )
        weights[i] = weight
    return weights


def _space_of_factors(factors) -> VariableSpace:
    """Names and states for factors over numbered variables."""
    sizes: dict[int, int] = {}
    for f in factors:
        sizes.update(zip(f.variables, f.values.shape, strict=True))
    return VariableSpace.of_sizes(
        [sizes.get(i, 1) for i in range(max(sizes, default=-1) + 1)]
    )
