"""The engine of exact queries: plans made once, tables answered in microseconds.

A network keeps one engine. If the clique tree of the whole network is small, it is
laid out once with all tables multiplied in; a query copies the tables, clamps the
observed variables (a likelihood of 1 at the observed state) and sends messages to a
clique that holds the asked variables. Otherwise, and for joint queries that no clique
holds, each pair (asked, observed) of sets gets a plan of its own: what has no say is
pruned, observed variables do not enter any table, and the plan is kept for the next
evidence on the same variables, and for all rows of a table that share it.

Shapes    answers: an axis for each asked variable, in the order asked
"""

from collections import OrderedDict
from functools import cached_property
from typing import Any

import numpy as np

from . import _clique_tree as loops
from .clique_tree import inference_cost_of, inward_schedule
from .variable_elimination import eliminate_variables, relevant_factors, query_clique_tree
from .factors import Factor, condition_factor
from .limits import check_table_size
from .programs import CliqueTreeLayout

MAX_FULL_TREE_CELLS = 2**15  # cells in all of a tree that is used for every query
MAX_PLANS = 1024  # plans kept


class ExactInference:
    """Exact answers about the discrete nodes of one network."""

    def __init__(self, factors, parents, space, heuristic, max_table):
        self.factors: dict[int, Factor] = factors
        self.parents, self.space = parents, space
        self.heuristic, self.max_table = heuristic, max_table
        self._plans: OrderedDict = OrderedDict()
        self._outputs: dict = {}

    @cached_property
    def whole(self) -> CliqueTreeLayout | None:
        """The program of the whole network, if it is small."""
        factors = list(self.factors.values())
        tree = query_clique_tree(factors, self.space.sizes, (), (), self.heuristic)
        if tree.total > MAX_FULL_TREE_CELLS:
            return None
        return CliqueTreeLayout(tree, factors, self.space.sizes)

    @cached_property
    def _homes(self):
        assert self.whole is not None
        tree, d = self.whole.tree, len(self.space.sizes)
        homes = np.zeros((d, 2), np.int64)
        for v in self.factors:
            c = tree.holding([v])
            assert c is not None  # every table went into the tree
            homes[v] = c, tree.cliques[c].index(v)
        ends = np.cumsum([0, *self.space.sizes]).astype(np.int64)
        return homes, ends, ends.tolist()

    def posterior(self, query: tuple, evidence: dict, like=None, method="auto"):
        """P(query | evidence, like) and the log evidence; see the module text."""
        like = like or {}
        fixed = {v: evidence[v] for v in query if v in evidence}
        asked = tuple([v for v in query if v not in fixed]) if fixed else query
        out = None
        if method in ("auto", "junction_tree"):
            out = self._from_whole(asked, evidence, like)
        if out is None:
            program = self.plan(asked, evidence, like)
            codes = np.array([[evidence[v] for v in program.seen]], dtype=np.int64)
            table, log_z = program.rows(codes, [asked])
            out = table[0], float(log_z[0])
        table, log_z = out
        if not log_z > -np.inf:
            return None, -np.inf
        if len(asked) != 1:
            table = table.reshape([self.space.sizes[v] for v in asked])
        return self.with_observed(table, query, fixed), log_z

    def with_observed(self, table, query, fixed):
        """A table with the axes of asked variables that were observed, too."""
        if not fixed:
            return table
        full = np.zeros([self.space.sizes[v] for v in query])
        full[tuple(fixed.get(v, slice(None)) for v in query)] = table
        return full

    @cached_property
    def _layout(self) -> tuple:
        """What every query of the whole network hands to the loops."""
        program, homes = self.whole, self._homes[0]
        assert program is not None
        base, sent, _ = program.calibrated
        return (base, sent, *program.geometry, *program.links, homes)

    def _reading(self, asked):
        """Where to send messages and read a table; None if no clique holds it."""
        program = self.whole
        home = None if program is None else program.tree.holding(asked)
        if program is None or home is None:
            return None
        plan = inward_schedule(program.tree, home)
        return (plan, *program.output([asked]), program.wide)

    def _from_whole(self, asked, evidence, like):
        try:
            reading = self._outputs[asked]
        except KeyError:
            reading = self._outputs[asked] = self._reading(asked)
        if reading is None:
            return None
        _, ends, begins = self._homes
        weight = np.zeros(begins[-1])
        for v, c in evidence.items():
            weight[begins[v] + c] = 1.0
        for v, w in like.items():
            hit = evidence.get(v)
            at = slice(begins[v], begins[v + 1])
            weight[at] = w if hit is None else weight[at] * w
        observed = np.array([*({**evidence, **like} if like else evidence)], np.int64)
        table, log_z = loops.marginal_from_calibrated(*self._layout, weight, ends, observed, *reading)
        whole: Any = self.whole  # there, or there were no reading
        return table, log_z + whole.calibrated[2]

    def log_evidence(self, evidence: dict) -> float:
        """Log probability of observed codes."""
        if not evidence:
            return 0.0
        program = self.plan((), evidence, whole_evidence=True)
        codes = np.array([[evidence[v] for v in program.seen]], dtype=np.int64)
        return float(program.rows(codes, [])[1][0])

    def plan_each(self, asked, seen) -> CliqueTreeLayout:
        """A program from which every asked variable can be read by itself."""
        return self.plan(asked, seen, together=False)

    def plan(
        self, asked, seen, like=None, *, whole_evidence=False, together=True
    ) -> CliqueTreeLayout:
        """The pruned program of a pair (asked, observed) of sets of variables.

        With `whole_evidence` nothing is left out that scales the log evidence; unless
        `together`, no clique need hold all the asked variables.
        """
        key = (asked, tuple(sorted(seen)), whole_evidence, together)
        if not like and key in self._plans:
            self._plans.move_to_end(key)
            return self._plans[key]
        factors = self._needed(asked, key[1], like or {}, whole_evidence)
        kept = asked if together else ()
        tree = query_clique_tree(factors, self.space.sizes, kept, key[1], self.heuristic)
        check_table_size(self._cost(tree, kept), self.max_table)
        program = CliqueTreeLayout(tree, factors, self.space.sizes, key[1])
        if not like:
            self._plans[key] = program
            if len(self._plans) > MAX_PLANS:
                self._plans.popitem(last=False)
        return program

    def _needed(self, asked, seen, like, whole_evidence=False):
        query = {*asked, *like, *(seen if whole_evidence else ())}
        known = () if whole_evidence else seen
        extra = [Factor((v,), np.asarray(w, dtype=float)) for v, w in like.items()]
        return [*relevant_factors(self.factors, self.parents, query, known), *extra]

    def cost(self, asked, seen, heuristic=None, order=None):
        """What `plan` would need, without building any table."""
        heuristic = heuristic or self.heuristic
        factors = relevant_factors(self.factors, self.parents, asked, seen)
        tree = query_clique_tree(factors, self.space.sizes, asked, seen, heuristic, order)
        return self._cost(tree, asked, heuristic)

    def _cost(self, tree, asked, heuristic=None):
        names = self.space.names
        heuristic = heuristic or self.heuristic
        return inference_cost_of(tree, self.space.sizes, names, asked, heuristic)

    def by_order(self, query, evidence, like, order):
        """P(query | evidence) by `eliminate` in an order of the caller's."""
        factors = self._needed(query, evidence, like or {})
        left = [condition_factor(f, evidence) for f in factors]
        there = {v for f in left for v in f.variables}
        order = [v for v in order if v in there and v not in query]
        missing = there - set(order) - set(query)
        if missing:
            name = self.space.names[min(missing)]
            raise ValueError(f"order must hold every variable to sum out: {name!r}.")
        tree = query_clique_tree(left, self.space.sizes, query, (), order=order)
        check_table_size(self._cost(tree, query), self.max_table)
        f = eliminate_variables(left, order)
        total = float(f.values.sum())
        if total == 0.0:
            return None, -np.inf
        axes = [f.variables.index(v) for v in query]
        return np.transpose(f.values / total, axes), np.log(total) + f.log_scale
