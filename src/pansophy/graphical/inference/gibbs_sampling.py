"""Gibbs sampling of discrete models: draw one variable at a time given the others.

    p(x_v | rest) ~ prod_{f at v} phi_f(x_f)                                       (1)

depends on the neighbours of v alone (its Markov blanket). A sweep redraws every
variable that is not observed; the frequency of a state converges to its probability if
such steps can reach every state. That holds if all tables are positive; a zero may
disconnect the state space, so zeros are reported by an `ErgodicityWarning`.

Where the neighbours have few joint states, eq. (1) is tabulated beforehand as
cumulative sums, and a draw is a table lookup and a comparison.

Cost      O(neighbours) a draw; at most MAX_TABULATED_CELLS cells a variable
Shapes    codes (chains, n, d)
Refs      [Geman1984]
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np

from ...core.drivers.metropolis import ErgodicityWarning
from ...core.loops import threads
from ...core.random import make_rng
from ...graphs.directed import elimination_order
from ..networks.table_encoding import decode_table
from ..networks.variables import VariableSpace, zero_probability_error
from ._gibbs_sampling import gibbs_chain
from .factor_graph import FactorGraph, to_factor_graph
from .factors import factor_product
from .fixed_point import check_chain_lengths
from .variable_elimination import most_likely_states

MAX_TABULATED_CELLS = 1 << 12  # cells of a tabulated conditional


@dataclass(eq=False, repr=False)
class GibbsDraws:
    """Rows drawn by Gibbs sampling.

    Attributes
    ----------
    codes : array of shape (chains, n, d)
        Numbers of states.
    space : Space
        Their names.
    """

    codes: np.ndarray
    space: VariableSpace

    def __getitem__(self, name):
        """The estimated marginal of a variable: frequencies of its states."""
        v = self.space.number(name)
        counts = np.bincount(self.codes[:, :, v].ravel(), minlength=self.space.sizes[v])
        return counts / counts.sum()

    @property
    def marginals(self) -> dict[str, np.ndarray]:
        """The estimated marginals of all variables."""
        return {name: self[name] for name in self.space.names}

    def columns(self) -> dict:
        """States by name, all chains one after the other."""
        return decode_table(self.codes.reshape(-1, self.codes.shape[2]), self.space)

    def __repr__(self):
        m, n, d = self.codes.shape
        return f"GibbsDraws({m} chains of {n} rows, {d} variables)"


def _tabulate_conditionals(graph: FactorGraph, free):
    """Eq. (1) of each free variable as cumulative sums: the `plan` of `gibbs_chain`."""
    factors_at: list[list] = [[] for _ in graph.sizes]
    for f in graph.factors:
        for v in f.variables:
            factors_at[v].append(f)
    first = [0]
    neighbors = []
    strides = []
    starts = []
    tables = []
    size = 0
    for v in free:
        scope = sorted({u for f in factors_at[v] for u in f.variables} | {v})
        cells = math.prod(graph.sizes[u] for u in scope)
        if cells > MAX_TABULATED_CELLS or not factors_at[v]:
            starts.append(-1)
        else:
            f = factor_product(factors_at[v])
            p = np.moveaxis(f.values, f.variables.index(v), -1)
            total = p.sum(axis=-1, keepdims=True)
            p = np.divide(p, total, out=np.ones_like(p) / p.shape[-1], where=total > 0)
            p = np.ascontiguousarray(np.cumsum(p, axis=-1))
            neighbors += [u for u in f.variables if u != v]
            strides += [s // 8 for s in p.strides[:-1]]
            starts.append(size)
            tables.append(p.ravel())
            size += p.size
        first.append(len(neighbors))
    as_int64 = lambda a: np.asarray(a, dtype=np.int64)
    chance = np.concatenate([np.zeros(0), *tables])
    return (
        as_int64(free),
        as_int64(first),
        as_int64(neighbors),
        as_int64(strides),
        as_int64(starts),
        chance,
    )


def _initial_state(graph: FactorGraph, evidence, observed, rng) -> np.ndarray:
    """A joint state of positive probability: a random one, or the most probable."""
    x = rng.integers(0, np.asarray(graph.sizes), dtype=np.int64)
    for v, code in observed.items():
        x[v] = code
    if graph.log_value(x)[0] > -np.inf:
        return x
    order, _ = elimination_order(graph.neighbors(), graph.sizes)
    in_factors = {v for f in graph.factors for v in f.variables}
    best, top = most_likely_states(graph.factors, [v for v in order if v in in_factors])
    if top == -np.inf:
        raise zero_probability_error(evidence or {})
    for v, code in best.items():
        x[v] = code
    return x


def gibbs_sample(
    model,
    n_samples: int = 1000,
    *,
    evidence=None,
    chains: int = 1,
    burn_in: int = 100,
    thin: int = 1,
    random_state=None,
) -> GibbsDraws:
    """Draw joint states of a discrete model given evidence, eq. (1).

    Parameters
    ----------
    model : FactorGraph, BayesianNetwork, MarkovRandomField or grid
    n_samples : int, default=1000
        Rows of each chain.
    evidence : dict, optional
        Observed states, by name.
    chains : int, default=1
        Number of independent chains.
    burn_in : int, default=100
        Sweeps before the first row.
    thin : int, default=1
        Sweeps from one row to the next.
    random_state : int, Generator or None

    Returns
    -------
    GibbsDraws

    Examples
    --------
    >>> from pansophy.graphical import FactorGraph, gibbs_sample
    >>> parts = [("a", [3, 1]), (("a", "b"), [[2, 1], [1, 2]])]
    >>> graph = FactorGraph({"a": 2, "b": 2}, parts)
    >>> draws = gibbs_sample(graph, 20000, random_state=0)
    >>> bool(abs(draws["a"][0] - 0.75) < 0.02)
    True
    """
    check_chain_lengths(n_samples=n_samples, chains=chains, thin=thin, burn_in=burn_in)
    full_graph = to_factor_graph(model)
    observed = full_graph.space.codes(evidence)
    graph = full_graph.reduced(evidence or {}) if observed else full_graph
    rng = make_rng(random_state)
    with_zeros = [f for f in graph.factors if f.variables and (f.values == 0).any()]
    starts = [_initial_state(graph, evidence, observed, rng) for _ in range(chains)]
    if with_zeros:
        names = [graph.space.names[v] for v in with_zeros[0].variables]
        warnings.warn(
            f"the table over {names} has zeros: Gibbs sampling may not reach every "
            "state, and its marginals may be wrong; compare several chains, or use an "
            "exact method.",
            ErgodicityWarning,
            stacklevel=2,
        )
    free = [v for v in range(len(graph.sizes)) if v not in observed]
    plan = _tabulate_conditionals(graph, free)
    with np.errstate(divide="ignore"):
        flat = graph.flat._replace(table=np.log(graph.flat.table))
    largest = max(graph.sizes)
    dtype = np.int8 if largest < 128 else np.int32
    out = np.empty((chains, n_samples, len(graph.sizes)), dtype)
    seeds = rng.integers(0, 2**63, size=(chains, 1)).astype(np.uint64)
    jobs = [
        lambda k=k: gibbs_chain(
            flat, plan, starts[k], seeds[k], burn_in, thin, largest, out[k]
        )
        for k in range(chains)
    ]
    for _ in threads.run_tasks(jobs):
        pass
    return GibbsDraws(out, graph.space)
