"""Markov random field: a distribution over an undirected graph, defined or learned.

    p(x) = (1 / Z) prod_v exp(t_v(x_v)) prod_c exp(t_c(x_c))                       (1)

with a table t for each variable and each clique c (most often an edge). A variable
is independent of all others given its neighbours. Learning maximises the mean
log-likelihood of rows,

    L(t) = sum_c <t_c, m_c> - log Z(t) - (a / 2) |t|^2                             (2)

where m_c are the frequencies of the joint states of c among the rows. L is concave and
its gradient is m_c minus the model's marginal of c (minus a t): at the optimum without
penalty the moments match. Z needs inference in every step, by enumeration or a junction
tree. The pseudo-likelihood needs no Z,

    PL(t) = mean over rows of sum_v log p(x_v | x_rest)                            (3)

costs O(rows edges) a step and is consistent in the limit of many rows.

Cost      exact: a junction tree a step; pseudo: O(different rows * edges)
Shapes    codes (n, d)   t_c one axis a variable
Refs      [KollerFriedman2009] ch. 20; [Besag1975] eq. (3)
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from ...base import Estimator
from ...core.arrays.weighted import check_sample_weight
from ...params import Count, NonNegative, ParameterError, check_params
from ..inference.factor_graph import FactorGraph
from ..inference.factors import Factor, broadcast_factor, make_factor
from ..inference.junction_tree import JunctionTree
from ..networks.table_encoding import encode_table
from ..networks.variables import VariableSpace

MAX_ENUMERATED_STATES = 1 << 14  # up to which learning enumerates all joint states


@dataclass(eq=False, repr=False)
class MarkovRandomField(Estimator):
    """Markov random field with a table for each edge or clique.

    Parameters
    ----------
    cliques : dict or list
        Non-negative tables by tuples of names, which define the field; or tuples of
        names alone, whose tables `fit` learns. The order of the names in a tuple is
        that of the axes.
    unary : dict, optional
        Tables of single variables by name.
    states : dict, optional
        States of variables by name; 0, 1, ... if not given.
    method : {"exact", "pseudo"}, default="exact"
        What `fit` maximises: eq. (2) or eq. (3).
    alpha : float, default=0.0
        a: weight of the penalty on the logarithms of the tables.
    max_iter : int, default=500
        Maximum number of iterations of `fit`.
    tol : float, default=1e-8
        Norm of the gradient at which `fit` stops.

    Attributes
    ----------
    space : Space
        Names and states, known from the tables or from the rows of `fit`.
    run_ : Result
        The Result of the optimisation.

    Examples
    --------
    >>> from pansophy.graphical import MarkovRandomField
    >>> T = [[2, 1], [1, 2]]
    >>> edges = {("a", "b"): T, ("b", "c"): T, ("c", "d"): T, ("d", "a"): T}
    >>> field = MarkovRandomField(edges, {"a": [3, 1]})
    >>> import math
    >>> round(math.exp(field.log_partition()))
    164
    """

    cliques: dict | list
    unary: dict | None = None
    _: KW_ONLY
    states: dict | None = None
    method: Literal["exact", "pseudo"] = "exact"
    alpha: NonNegative = 0.0
    max_iter: Count = 500
    tol: NonNegative = 1e-8

    def _graph(self) -> FactorGraph:
        fitted = getattr(self, "graph_", None)
        return fitted if fitted is not None else self._defined()

    def _defined(self):
        check_params(self)
        if not isinstance(self.cliques, dict):
            raise ValueError(
                "this field has cliques but no tables: give a dict of tables, or call "
                "fit first."
            )
        tables = [(_clique_names(c), t) for c, t in self.cliques.items()]
        tables += [((v,), t) for v, t in (self.unary or {}).items()]
        sizes: dict[str, Any] = {}
        for names, table in tables:
            shape = np.shape(table)
            if len(shape) != len(names):
                raise ValueError(
                    f"the table over {list(names)} must have {len(names)} axes, got "
                    f"shape {shape}."
                )
            for name, size in zip(names, shape, strict=True):
                sizes.setdefault(name, size)
        space: Any = {**sizes, **(self.states or {})}
        return FactorGraph(space, tables)

    @property
    def space(self) -> VariableSpace:
        """Names and states."""
        return self._graph().space

    def factors(self) -> list[Factor]:
        """The tables as factors over numbered variables."""
        return self._graph().factors

    def log_partition(self) -> float:
        """log Z."""
        return self._graph().log_partition()

    def joint(self) -> np.ndarray:
        """The joint table of a small field, one axis a variable."""
        return self._graph().joint()

    def score_samples(self, X) -> np.ndarray:
        """log p of each row."""
        graph = self._graph()
        codes, _ = encode_table(X, graph.space)
        _reject_missing_codes(codes)
        return graph.log_value(codes) - graph.log_partition()

    def fit(self, X, y=None, sample_weight=None):
        """Learn the tables of the cliques from rows.

        Parameters
        ----------
        X : array of shape (n, d), data frame or dict of columns
            Rows without missing values.
        y : None
            Ignored, present for API consistency.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self : MarkovRandomField
        """
        check_params(self)
        codes, space = encode_table(X)
        _reject_missing_codes(codes)
        n = len(codes)
        weight = check_sample_weight(sample_weight, n)
        weight = np.ones(n) if weight is None else weight
        scopes = [(v,) for v in range(len(space.names))]
        scopes += [tuple(sorted(space.numbers(_clique_names(c)))) for c in self.cliques]
        scopes = list(dict.fromkeys(scopes))
        rows, back = np.unique(codes, axis=0, return_inverse=True)
        share = np.bincount(back.ravel(), weight) / weight.sum()
        problem = FieldLikelihood(
            scopes, space.sizes, rows.astype(np.int64), share, self.alpha
        )
        from ...optim import minimize  # imported when needed

        loss = problem.exact if self.method == "exact" else problem.pseudo
        start = np.zeros(problem.start[-1])
        run = minimize(loss, start, "lbfgs", max_iter=self.max_iter, tol=self.tol)
        self.run_ = run
        self.n_features_in_ = len(space.names)
        t = problem.tables(run.state.position)
        factors = [
            Factor(s, np.exp(v - v.max()), float(v.max()))
            for s, v in zip(scopes, t, strict=True)
        ]
        self.graph_ = FactorGraph(space, factors)
        return self

    def sample(self, n_samples: int = 1, *, random_state=None, **gibbs_options):
        """Rows of states drawn by Gibbs sampling, as a dict of columns."""
        from ..inference.gibbs_sampling import gibbs_sample

        graph = self._graph()
        draws = gibbs_sample(
            graph, n_samples, random_state=random_state, **gibbs_options
        )
        return draws.columns()

    def __repr__(self):
        if not isinstance(self.cliques, dict) and not hasattr(self, "graph_"):
            return f"MarkovRandomField({len(self.cliques)} cliques, not fitted)"
        graph = self._graph()
        return (
            f"MarkovRandomField({len(graph.sizes)} variables, "
            f"{len(graph.factors)} tables)"
        )


def _clique_names(clique) -> tuple[str, ...]:
    """A clique as a tuple of names."""
    return (clique,) if isinstance(clique, str) else tuple(clique)


def _reject_missing_codes(codes):
    """Raise if a code is missing."""
    if (codes < 0).any():
        j = int(np.argmax((codes < 0).any(axis=0)))
        raise ParameterError(
            f"column {j} has missing values, which a field cannot use."
        )


class FieldLikelihood:
    """Objectives of learning and their gradients, as functions of one vector."""

    def __init__(self, scopes, sizes, rows, share, alpha):
        self.scopes = scopes
        self.sizes = sizes
        self.rows = rows
        self.share = share
        self.alpha = alpha
        self.shapes = [tuple(sizes[v] for v in s) for s in scopes]
        cells = [math.prod(s) for s in self.shapes]
        self.start = np.concatenate([[0], np.cumsum(cells)])
        self.place = [
            np.ravel_multi_index(tuple(rows[:, v] for v in s), shape)
            for s, shape in zip(scopes, self.shapes, strict=True)
        ]
        counted = [
            np.bincount(p, share, minlength=c)
            for p, c in zip(self.place, cells, strict=True)
        ]
        self.moments = np.concatenate(counted)  # m of eq. (2)

    def tables(self, t):
        parts = zip(np.split(t, self.start[1:-1]), self.shapes, strict=True)
        return [part.reshape(shape) for part, shape in parts]

    def exact(self, t):
        """-L and its gradient, eq. (2)."""
        log_z, model = self.marginals(self.tables(t))
        value = log_z - t @ self.moments + 0.5 * self.alpha * (t @ t)
        return value, model - self.moments + self.alpha * t

    def marginals(self, tables):
        """log Z and the marginals of all scopes under the model, end to end."""
        d = len(self.sizes)
        if math.prod(self.sizes) <= MAX_ENUMERATED_STATES:
            all_variables = tuple(range(d))
            logs = np.zeros(self.sizes)
            for s, t in zip(self.scopes, tables, strict=True):
                logs = logs + broadcast_factor(Factor(s, t), all_variables)
            top = logs.max()
            p = np.exp(logs - top)
            total = p.sum()
            p /= total
            rest = [tuple(v for v in all_variables if v not in s) for s in self.scopes]
            marginals = [p.sum(axis=r).ravel() for r in rest]
            return float(np.log(total) + top), np.concatenate(marginals)
        factors = [
            make_factor(s, np.exp(t - t.max()), float(t.max()))
            for s, t in zip(self.scopes, tables, strict=True)
        ]
        space = VariableSpace.of_sizes(self.sizes)
        tree = JunctionTree(factors, space)
        marginals = [
            tree.marginal(*[space.names[v] for v in s]).prob for s in self.scopes
        ]
        return tree.log_evidence, np.concatenate([p.ravel() for p in marginals])

    def pseudo(self, t):
        """-PL and its gradient, eq. (3)."""
        tables = self.tables(t)
        grad = np.zeros_like(t)
        value = 0.0
        n = np.arange(len(self.rows))
        for v, size in enumerate(self.sizes):
            logits = np.zeros((len(n), size))
            uses = []
            for k, s in enumerate(self.scopes):
                if v not in s:
                    continue
                axis = s.index(v)
                step = math.prod(self.shapes[k][axis + 1 :])
                base = self.place[k] - self.rows[:, v] * step
                cells = base[:, None] + step * np.arange(size)
                logits += tables[k].ravel()[cells]
                uses.append((k, cells))
            logits -= logits.max(axis=1, keepdims=True)
            log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
            value -= self.share @ log_p[n, self.rows[:, v]]
            error = np.exp(log_p)
            error[n, self.rows[:, v]] -= 1.0
            error *= self.share[:, None]
            for k, cells in uses:
                width = self.start[k + 1] - self.start[k]
                add = np.bincount(cells.ravel(), error.ravel(), minlength=width)
                grad[self.start[k] : self.start[k + 1]] += add
        return value + 0.5 * self.alpha * (t @ t), grad + self.alpha * t
