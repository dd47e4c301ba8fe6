"""Queries, explanations, interventions and samples of a Bayesian network, by name.

    query_network               P(Q | E), exact or approximate
    most_probable_explanation   argmax_x p(x, E) by max-product elimination
    intervene                   p(x | do(x_i = v)): node i loses its parents

Ancestral sampling draws every variable given its parents, in topological order, and
likelihood weighting sets the observed variables E instead of drawing them:

    x_i ~ P(x_i | x_parents)      all rows at once                               (1)
    w = prod_{i in E} P(e_i | x_parents)                                         (2)

Rows of (1) have the joint distribution; with evidence, rows weighted by (2) represent
the posterior. Their effective number (sum w)^2 / sum w^2 is small where the evidence is
unlikely given its ancestors.

Cost      sampling: O(n (parents + states)) for each node
Shapes    A (n, d)   w (n,)
Refs      [Henrion1988] (1); [FungChang1990]; [ShachterPeot1990] (2)
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ...core.numerics import normalize_log_weights
from ...core.random import make_rng
from ...distributions.gaussian.normal import Normal
from ..inference import gaussian_inference
from ..inference.clique_tree import check_table_size
from ..inference.factors import condition_factor
from ..inference.junction_tree import soft_evidence_weights
from ..inference.posterior import MostProbableExplanation, NormalMixture, Posterior
from ..inference.variable_elimination import (
    enumerate_joint,
    most_likely_states,
    query_clique_tree,
)
from .conditional_distributions import ConditionalTable, LinearGaussian
from .variables import zero_probability_error

EXACT_METHODS = ("auto", "elimination", "junction_tree")


class ParsedQuery(NamedTuple):
    """A query in numbers, and the options of sampling."""

    variables: tuple[int, ...]
    observed: dict[int, Any]  # codes of states, values of continuous variables
    likelihood: dict[int, np.ndarray]  # soft evidence
    evidence: Mapping | None  # as the user gave it
    n_samples: int = 0
    random_state: Any = None


def evidence_codes(model, evidence) -> dict:
    """Evidence by variable number: codes of states, values of continuous variables."""
    if evidence is not None and not isinstance(evidence, (dict, Mapping)):
        raise TypeError(
            "evidence must be a dict of states by name, got a "
            f"{type(evidence).__name__}."
        )
    space = model.space
    codes = {}
    for name, value in (evidence or {}).items():
        i = space.number(name)
        if space.sizes[i]:
            codes[i] = space.code_at(i, value)
            continue
        if not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
            raise ValueError(
                f"{name!r} is continuous and needs a number, got {value!r}."
            )
        codes[i] = float(value)
    return codes


def conditional_probability(model, event, given=None) -> float:
    """P(event | given); 0 where they contradict each other."""
    known = evidence_codes(model, given)
    wanted = evidence_codes(model, event)
    log_given = model.log_prob(given) if given else 0.0
    if log_given == -np.inf:
        raise zero_probability_error(given)
    if any(known[v] != wanted[v] for v in known.keys() & wanted.keys()):
        return 0.0
    return float(np.exp(model.log_prob({**(given or {}), **event}) - log_given))


def query_network(
    model, variables, evidence, method, likelihood, order, n_samples, random_state
):
    """P(variables | evidence) by one of the methods."""
    if method not in EXACT_METHODS and method not in OTHER_QUERIES:
        known_methods = ", ".join((*EXACT_METHODS, *OTHER_QUERIES))
        raise ValueError(f"method must be one of {known_methods}, got {method!r}.")
    space = model.space
    numbers = space.numbers(variables)
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError("ask for one variable or more, each once.")
    observed = evidence_codes(model, evidence)
    weights = soft_evidence_weights(likelihood, space) if likelihood else {}
    if order is not None and method not in ("auto", "elimination"):
        raise ValueError("order is for method='elimination'.")
    if not space.all_discrete:
        query = ParsedQuery(numbers, observed, weights, evidence)
        return _query_with_continuous(model, query, method, order)
    engine = model._engine()
    if order is not None:
        unobserved = tuple(v for v in numbers if v not in observed)
        table, _ = engine.by_order(unobserved, observed, weights, space.numbers(order))
        if table is not None:
            fixed = {v: c for v, c in observed.items() if v in numbers}
            table = engine.with_observed(table, numbers, fixed)
    elif method in EXACT_METHODS:
        table, _ = engine.posterior(numbers, observed, weights, method)
    else:
        query = ParsedQuery(
            numbers, observed, weights, evidence, n_samples, random_state
        )
        table = OTHER_QUERIES[method](model, query)
    if table is None:
        raise zero_probability_error({**(evidence or {}), **(likelihood or {})})
    return _named_posterior(space, numbers, table)


def _named_posterior(space, variables, table) -> Posterior:
    """A table with the names and states of its axes."""
    names = tuple([space.names[v] for v in variables])
    return Posterior.of(table, names, tuple([space.states[v] for v in variables]))


def _query_by_enumeration(model, query: ParsedQuery):
    """Sums over the whole joint table."""
    joint = enumerate_joint(model).prob
    along_axis = lambda v: [-1 if i == v else 1 for i in range(joint.ndim)]
    for v, w in query.likelihood.items():
        joint = joint * w.reshape(along_axis(v))
    for v, c in query.observed.items():
        indicator = np.zeros(joint.shape[v])
        indicator[c] = 1.0
        joint = joint * indicator.reshape(along_axis(v))
    summed = tuple(i for i in range(joint.ndim) if i not in query.variables)
    kept = [i for i in range(joint.ndim) if i in query.variables]
    table = joint.sum(axis=summed).transpose([kept.index(v) for v in query.variables])
    return table / table.sum() if table.sum() > 0 else None


def _query_by_likelihood_weighting(model, query: ParsedQuery):
    """Weighted frequencies of rows drawn by eq. (1) and (2)."""
    seed = query.random_state
    seed = model.random_state if seed is None else seed
    A, log_w = draw_weighted_rows(
        model, query.n_samples, make_rng(seed), query.observed
    )
    with np.errstate(divide="ignore"):
        for v, weight in query.likelihood.items():
            log_w = log_w + np.log(weight)[A[:, v].astype(np.int64)]
    w, log_total = normalize_log_weights(log_w)
    if log_total == -np.inf:
        return None
    return _weighted_state_table(A, w, query.variables, model.space.sizes)


def _query_by_gibbs(model, query: ParsedQuery):
    """Frequencies of rows drawn by Gibbs sampling."""
    _reject_soft_evidence(query.likelihood)
    draws = model.gibbs(
        query.n_samples, evidence=query.evidence, random_state=query.random_state
    )
    rows = np.asarray(draws.codes).reshape(-1, len(model.space.names))
    w = np.full(len(rows), 1.0 / len(rows))
    return _weighted_state_table(rows, w, query.variables, model.space.sizes)


def _query_by_loopy(model, query: ParsedQuery):
    """The marginal of one variable by loopy belief propagation."""
    _reject_soft_evidence(query.likelihood)
    if len(query.variables) > 1:
        raise ValueError("loopy propagation answers one variable at a time.")
    return model.loopy_bp(query.evidence)[model.space.names[query.variables[0]]]


def _reject_soft_evidence(likelihood):
    """Raise where a method cannot use soft evidence."""
    if likelihood:
        raise ValueError("likelihood needs an exact method or 'likelihood_weighting'.")


OTHER_QUERIES = {
    "enumeration": _query_by_enumeration,
    "likelihood_weighting": _query_by_likelihood_weighting,
    "gibbs": _query_by_gibbs,
    "loopy": _query_by_loopy,
}


def _query_with_continuous(model, query: ParsedQuery, method, order):
    """P(variables | evidence) of a network with continuous nodes: always exact."""
    space = model.space
    variables, observed = query.variables, query.observed
    exact = method in ("auto", "elimination")
    if not exact or order is not None or query.likelihood:
        raise ValueError(
            "a network with continuous variables is asked with method='auto' alone."
        )
    if len({space.is_discrete(v) for v in variables}) > 1:
        raise ValueError("ask for discrete and for continuous variables separately.")
    clash = [v for v in variables if v in observed and not space.is_discrete(v)]
    if clash:
        raise ValueError(f"{space.names[clash[0]]!r} is both asked for and observed.")
    answer, _ = gaussian_inference.query_mixed_network(
        model, model._engine(), variables, observed
    )
    if answer is None:
        raise zero_probability_error(query.evidence or {})
    if space.is_discrete(variables[0]):
        return _named_posterior(space, variables, answer)
    w, mean, cov = answer
    if len(w) == 1:
        return Normal(mean[0], cov[0])
    return NormalMixture(w, Normal(mean, cov), tuple(space.names[v] for v in variables))


def most_probable_explanation(
    model, evidence, variables=None
) -> MostProbableExplanation:
    """The most probable joint state of all unobserved variables, or of some."""
    space = model.space
    observed = evidence_codes(model, evidence)
    if not space.all_discrete:
        return _most_probable_values(model, observed, evidence, variables)
    engine = model._engine()
    if variables is not None:
        query = space.numbers(variables)
        table, _ = engine.posterior(query, observed)
        if table is None:
            raise zero_probability_error(evidence or {})
        cell = np.unravel_index(int(np.argmax(table)), table.shape)
        states = {space.names[v]: space.states[v][c] for v, c in zip(query, cell)}
        return MostProbableExplanation(states, float(np.log(table[cell])))
    factors = [condition_factor(f, observed) for f in engine.factors.values()]
    tree = query_clique_tree(factors, space.sizes, (), (), model.heuristic)
    check_table_size(engine.plan_cost(tree, ()), model.max_table)
    best, log_top = most_likely_states(factors, tree.order)
    if log_top == -np.inf:
        raise zero_probability_error(evidence or {})
    states = {space.names[v]: space.states[v][best[v]] for v in sorted(best)}
    return MostProbableExplanation(states, log_top - engine.log_evidence(observed))


def _most_probable_values(model, observed, evidence, variables):
    """The mode of a Gaussian network: the conditional mean of the other variables."""
    space = model.space
    query = [v for v in range(len(space.names)) if v not in observed]
    query = query if variables is None else list(space.numbers(variables))
    if any(space.is_discrete(v) for v in query):
        raise ValueError(
            "most_likely takes networks that are all discrete, or with every discrete "
            "variable observed."
        )
    answer, _ = gaussian_inference.query_mixed_network(
        model, model._engine(), tuple(query), observed
    )
    if answer is None:
        raise zero_probability_error(evidence or {})
    w, mean, cov = answer
    if len(w) > 1:
        raise ValueError("observe the discrete variables, or name them all.")
    normal = Normal(mean[0], cov[0])
    states = {space.names[v]: float(m) for v, m in zip(query, mean[0], strict=True)}
    return MostProbableExplanation(states, float(normal.log_prob(mean)[0]))


def intervene(model, setting: Mapping):
    """A copy of the network in which variables are set and lose their parents."""
    space = model.space
    parents = list(model.parents)
    nodes = list(model.nodes)
    for v, value in evidence_codes(model, setting).items():
        parents[v] = ()
        if space.is_discrete(v):
            prob = np.zeros(space.sizes[v])
            prob[value] = 1.0
            nodes[v] = ConditionalTable(prob)
        else:
            nodes[v] = LinearGaussian(value, (), 0.0)
    params = clone(model).get_params()
    params.pop("edges")
    return type(model).from_nodes(space, parents, nodes, **params)


def draw_weighted_rows(model, n: int, rng: np.random.Generator, evidence=None):
    """n rows and the logarithms of their weights, eq. (1) and (2).

    `model` has `space`, `parents`, `nodes` and `order`; evidence is by number.
    """
    evidence = evidence or {}
    A = np.empty((n, len(model.nodes)), order="F")
    log_w = np.zeros(n)
    for i in model.order:
        U = A[:, list(model.parents[i])]
        if i in evidence:
            A[:, i] = evidence[i]
            log_w += model.nodes[i].log_prob(A[:, i], U)
        else:
            A[:, i] = model.nodes[i].draw(U, rng)
    return A, log_w


def _weighted_state_table(A, w, variables, sizes) -> np.ndarray:
    """Weighted frequencies of the joint states of some variables in rows A."""
    shape = [sizes[v] for v in variables]
    codes = tuple(A[:, v].astype(np.int64) for v in variables)
    cell = np.ravel_multi_index(codes, shape)
    return np.bincount(cell, w, int(np.prod(shape))).reshape(shape)
