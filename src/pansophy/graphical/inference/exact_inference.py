"""Exact inference about the discrete nodes of a network, with plans that are reused.

A network keeps one engine. If the clique tree of the whole network is small, it is laid
out and calibrated once; a query copies its tables, multiplies in the evidence (a
likelihood of 1 at the observed state) and sends messages to a clique that contains the
query variables. Otherwise, and for joint queries that no clique contains, each pair of
sets (query, observed) gets a clique tree of its own: irrelevant factors are pruned,
observed variables do not enter any table, and the plan is kept for the next evidence on
the same variables, and for all rows of a table that share it.

Shapes    answers: an axis for each query variable, in the order of the query
"""

from collections import OrderedDict
from functools import cached_property
from typing import Any

import numpy as np

from . import _clique_tree as loops
from .clique_tree import (
    CliqueTreeLayout,
    check_table_size,
    inference_cost_of,
    inward_schedule,
)
from .factors import Factor, condition_factor
from .variable_elimination import (
    eliminate_variables,
    query_clique_tree,
    relevant_factors,
)

MAX_FULL_TREE_CELLS = 2**15  # total cells of a tree that is used for every query
MAX_PLANS = 1024  # plans that are kept


class ExactInference:
    """Exact answers about the discrete nodes of one network."""

    def __init__(self, factors, parents, space, heuristic, max_table):
        self.factors: dict[int, Factor] = factors
        self.parents = parents
        self.space = space
        self.heuristic = heuristic
        self.max_table = max_table
        self._plans: OrderedDict = OrderedDict()
        self._reading_plans: dict = {}

    @cached_property
    def full_tree(self) -> CliqueTreeLayout | None:
        """The clique tree of the whole network, if it is small."""
        factors = list(self.factors.values())
        tree = query_clique_tree(factors, self.space.sizes, (), (), self.heuristic)
        if tree.total > MAX_FULL_TREE_CELLS:
            return None
        return CliqueTreeLayout(tree, factors, self.space.sizes)

    @cached_property
    def _homes(self):
        """Clique and axis of each variable; where its states begin, twice."""
        assert self.full_tree is not None
        tree = self.full_tree.tree
        d = len(self.space.sizes)
        homes = np.zeros((d, 2), np.int64)
        for v in self.factors:
            c = tree.containing([v])
            assert c is not None  # every table went into the tree
            homes[v] = c, tree.cliques[c].index(v)
        ends = np.cumsum([0, *self.space.sizes]).astype(np.int64)
        return homes, ends, ends.tolist()

    def posterior(self, query: tuple, evidence: dict, likelihood=None, method="auto"):
        """P(query | evidence, likelihood) and the log evidence; see the module text."""
        likelihood = likelihood or {}
        fixed = {v: evidence[v] for v in query if v in evidence}
        free = tuple([v for v in query if v not in fixed]) if fixed else query
        answer = None
        if method in ("auto", "junction_tree"):
            answer = self._from_full_tree(free, evidence, likelihood)
        if answer is None:
            plan = self.plan(free, evidence, likelihood)
            codes = np.array([[evidence[v] for v in plan.observed]], dtype=np.int64)
            tables, log_zs = plan.marginals_of_rows(codes, [free])
            answer = tables[0], float(log_zs[0])
        table, log_z = answer
        if not log_z > -np.inf:
            return None, -np.inf
        if len(free) != 1:
            table = table.reshape([self.space.sizes[v] for v in free])
        return self.with_observed(table, query, fixed), log_z

    def with_observed(self, table, query, fixed):
        """A table with an axis for every query variable, also the observed ones."""
        if not fixed:
            return table
        full = np.zeros([self.space.sizes[v] for v in query])
        full[tuple(fixed.get(v, slice(None)) for v in query)] = table
        return full

    @cached_property
    def _calibrated_arrays(self) -> tuple:
        """Calibrated tables and messages, geometry, links, homes of the variables."""
        layout = self.full_tree
        assert layout is not None
        tables, messages, _ = layout.calibrated
        return (tables, messages, layout.geometry, layout.links, self._homes[0])

    def _reading_plan(self, query):
        """Schedule, output and scratch size of a query; None if no clique fits it."""
        layout = self.full_tree
        clique = None if layout is None else layout.tree.containing(query)
        if layout is None or clique is None:
            return None
        schedule = inward_schedule(layout.tree, clique)
        return (schedule, layout.output([query]), layout.widest_message)

    def _from_full_tree(self, query, evidence, likelihood):
        """Table and log evidence from the calibrated tree; None if no clique fits."""
        try:
            reading_plan = self._reading_plans[query]
        except KeyError:
            reading_plan = self._reading_plans[query] = self._reading_plan(query)
        if reading_plan is None:
            return None
        _, state_ptr, starts = self._homes
        weight = np.zeros(starts[-1])
        for v, c in evidence.items():
            weight[starts[v] + c] = 1.0
        for v, w in likelihood.items():
            states = slice(starts[v], starts[v + 1])
            weight[states] = weight[states] * w if v in evidence else w
        weighted = {**evidence, **likelihood} if likelihood else evidence
        observed = np.array([*weighted], np.int64)
        table, log_z = loops.marginal_from_calibrated(
            *self._calibrated_arrays, weight, state_ptr, observed, *reading_plan
        )
        layout: Any = self.full_tree  # not None, or there were no reading plan
        return table, log_z + layout.calibrated[2]

    def log_evidence(self, evidence: dict) -> float:
        """Log probability of observed codes."""
        if not evidence:
            return 0.0
        plan = self.plan((), evidence, whole_evidence=True)
        codes = np.array([[evidence[v] for v in plan.observed]], dtype=np.int64)
        return float(plan.marginals_of_rows(codes, [])[1][0])

    def plan(
        self, query, observed, likelihood=None, *, whole_evidence=False, together=True
    ) -> CliqueTreeLayout:
        """The pruned clique tree of a pair of sets of variables (query, observed).

        With `whole_evidence` nothing is pruned that scales the log evidence; unless
        `together`, no clique need contain all the query variables.
        """
        observed = tuple(sorted(observed))
        key = (query, observed, whole_evidence, together)
        if not likelihood and key in self._plans:
            self._plans.move_to_end(key)
            return self._plans[key]
        factors = self._relevant(query, observed, likelihood or {}, whole_evidence)
        kept = query if together else ()
        sizes = self.space.sizes
        tree = query_clique_tree(factors, sizes, kept, observed, self.heuristic)
        check_table_size(self.plan_cost(tree, kept), self.max_table)
        plan = CliqueTreeLayout(tree, factors, sizes, observed)
        if not likelihood:
            self._plans[key] = plan
            if len(self._plans) > MAX_PLANS:
                self._plans.popitem(last=False)
        return plan

    def _relevant(self, query, observed, likelihood, whole_evidence=False):
        """The factors that matter to a query, and those of its soft evidence."""
        kept = {*query, *likelihood, *(observed if whole_evidence else ())}
        known = () if whole_evidence else observed
        soft = [Factor((v,), np.asarray(w, dtype=float)) for v, w in likelihood.items()]
        return [*relevant_factors(self.factors, self.parents, kept, known), *soft]

    def cost(self, query, observed, heuristic=None, order=None):
        """The cost of `plan`, without building any table."""
        heuristic = heuristic or self.heuristic
        factors = relevant_factors(self.factors, self.parents, query, observed)
        tree = query_clique_tree(
            factors, self.space.sizes, query, observed, heuristic, order
        )
        return self.plan_cost(tree, query, heuristic)

    def plan_cost(self, tree, query, heuristic=None):
        """The cost of a clique tree, by name."""
        names = self.space.names
        heuristic = heuristic or self.heuristic
        return inference_cost_of(tree, self.space.sizes, names, query, heuristic)

    def by_order(self, query, evidence, likelihood, order):
        """P(query | evidence) by `eliminate_variables` in a given order."""
        relevant = self._relevant(query, evidence, likelihood or {})
        factors = [condition_factor(f, evidence) for f in relevant]
        variables = {v for f in factors for v in f.variables}
        order = [v for v in order if v in variables and v not in query]
        missing = variables - set(order) - set(query)
        if missing:
            name = self.space.names[min(missing)]
            raise ValueError(f"order must hold every variable to sum out: {name!r}.")
        tree = query_clique_tree(factors, self.space.sizes, query, (), order=order)
        check_table_size(self.plan_cost(tree, query), self.max_table)
        f = eliminate_variables(factors, order)
        total = float(f.values.sum())
        if total == 0.0:
            return None, -np.inf
        axes = [f.variables.index(v) for v in query]
        return np.transpose(f.values / total, axes), np.log(total) + f.log_scale
