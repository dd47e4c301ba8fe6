"""Questions to a network, from names to numbers and back.

ask            P(Q | E), exact or by samples
explanation    argmax_x p(x, E): max-product elimination and a way back
surgery        p(x | do(x_i = v)): node i loses its parents and takes the value
"""

from collections.abc import Mapping

import numpy as np
from sklearn.base import clone

from ..distributions.normal import Normal
from . import gaussian_inference
from .ancestral import draw_weighted_rows, normalised_weights, weighted_state_table
from .conditional_distributions import ConditionalTable, LinearGaussian
from .exact_inference import ExactInference
from .factors import condition_factor
from .junction_tree import soft_evidence_weights
from .limits import check_table_size, zero_probability_message
from .posterior import MostProbableExplanation, NormalMixture, Posterior
from .variable_elimination import enumerate_joint, most_likely_states, query_clique_tree

QUERY_METHODS = (
    "auto", "elimination", "junction_tree", "enumeration", "likelihood_weighting",
    "gibbs", "loopy",
)  # fmt: skip


def evidence_codes(model, evidence) -> dict:
    """Evidence by number: codes of states, values of continuous variables."""
    space, out = model.space, {}
    if evidence is not None and not isinstance(evidence, (dict, Mapping)):
        raise TypeError(
            "evidence must be a dict of states by name, got a "
            f"{type(evidence).__name__}."
        )
    for name, value in (evidence or {}).items():
        i = space.number(name)
        if space.sizes[i]:
            out[i] = space.code_at(i, value)
            continue
        if not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
            raise ValueError(
                f"{name!r} is continuous and needs a number, got {value!r}."
            )
        out[i] = float(value)
    return out


def conditional_probability(model, event, given=None) -> float:
    """P(event | given); 0 where they contradict each other."""
    held, wanted = evidence_codes(model, given), evidence_codes(model, event)
    base = model.log_prob(given) if given else 0.0
    if base == -np.inf:
        raise ValueError(zero_probability_message(given))
    if any(held[v] != wanted[v] for v in held.keys() & wanted.keys()):
        return 0.0
    return float(np.exp(model.log_prob({**(given or {}), **event}) - base))


def query_network(
    model, engine: ExactInference, variables, evidence, method, likelihood, order,
    n_samples, random_state,
):  # fmt: skip
    """P(variables | evidence) by one of the methods."""
    if method not in QUERY_METHODS:
        raise ValueError(
            f"method must be one of {', '.join(QUERY_METHODS)}, got {method!r}."
        )
    space = model.space
    query = space.numbers(variables)
    if not query or len(set(query)) < len(query):
        raise ValueError("ask for one variable or more, each once.")
    seen = evidence_codes(model, evidence)
    like = soft_evidence_weights(likelihood, space) if likelihood else {}
    if order is not None and method not in ("auto", "elimination"):
        raise ValueError("order is for method='elimination'.")
    if not space.all_discrete:
        return query_with_continuous(
            model, engine, query, seen, evidence, like, method, order
        )
    if order is not None:
        asked = tuple(v for v in query if v not in seen)
        found, _ = engine.by_order(asked, seen, like, space.numbers(order))
        held = {v: c for v, c in seen.items() if v in query}
        table = None if found is None else engine.with_observed(found, query, held)
    elif method in ("auto", "elimination", "junction_tree"):
        table, _ = engine.posterior(query, seen, like, method)
    else:
        sampled = n_samples, random_state
        table = APPROXIMATE_QUERIES[method](
            model, query, seen, evidence, like, *sampled
        )
    if table is None:
        raise ValueError(
            zero_probability_message({**(evidence or {}), **(likelihood or {})})
        )
    return named_posterior(space, query, table)


def named_posterior(space, query, table) -> Posterior:
    """A table in names and states."""
    names = tuple([space.names[v] for v in query])
    return Posterior.of(table, names, tuple([space.states[v] for v in query]))


def query_by_enumeration(model, query, seen, evidence, like, n, random_state):
    joint = enumerate_joint(model).prob
    for v, w in like.items():
        shape = [-1 if i == v else 1 for i in range(joint.ndim)]
        joint = joint * w.reshape(shape)
    for v, c in seen.items():
        hit = np.zeros(joint.shape[v])
        hit[c] = 1.0
        joint = joint * hit.reshape([-1 if i == v else 1 for i in range(joint.ndim)])
    gone = tuple(i for i in range(joint.ndim) if i not in query)
    left = [i for i in range(joint.ndim) if i in query]
    table = joint.sum(axis=gone).transpose([left.index(v) for v in query])
    return table / table.sum() if table.sum() > 0 else None


def query_by_likelihood_weighting(model, query, seen, evidence, like, n, random_state):
    from ..core.random import rng_from

    seed = model.random_state if random_state is None else random_state
    A, log_w = draw_weighted_rows(model, n, rng_from(seed), seen)
    with np.errstate(divide="ignore"):
        for v, weight in like.items():
            log_w = log_w + np.log(weight)[A[:, v].astype(np.int64)]
    w = normalised_weights(log_w)
    return weighted_state_table(A, w, query, model.space.sizes) if len(w) else None


def query_by_gibbs(model, query, seen, evidence, like, n, random_state):
    reject_soft_evidence(like)
    draws = model.gibbs(n, evidence=evidence, random_state=random_state)
    rows = np.asarray(draws.codes).reshape(-1, len(model.space.names))
    w = np.full(len(rows), 1.0 / len(rows))
    return weighted_state_table(rows, w, query, model.space.sizes)


def query_by_loopy(model, query, seen, evidence, like, n, random_state):
    reject_soft_evidence(like)
    if len(query) > 1:
        raise ValueError("loopy propagation answers one variable at a time.")
    return model.loopy_bp(evidence)[model.space.names[query[0]]]


def reject_soft_evidence(like):
    if like:
        raise ValueError("likelihood needs an exact method or 'likelihood_weighting'.")


APPROXIMATE_QUERIES = {
    "enumeration": query_by_enumeration,
    "likelihood_weighting": query_by_likelihood_weighting,
    "gibbs": query_by_gibbs,
    "loopy": query_by_loopy,
}


def query_with_continuous(model, engine, query, seen, evidence, like, method, order):
    """The same with continuous nodes about: always exact, see `linear_gaussian`."""
    space = model.space
    if method not in ("auto", "elimination") or order is not None or like:
        raise ValueError(
            "a network with continuous variables is asked with method='auto' alone."
        )
    if len({space.is_discrete(v) for v in query}) > 1:
        raise ValueError("ask for discrete and for continuous variables separately.")
    held = [space.names[v] for v in query if v in seen and not space.is_discrete(v)]
    if held:
        raise ValueError(f"{held[0]!r} is both asked for and observed.")
    found, _ = gaussian_inference.query_mixed_network(model, engine, query, seen)
    if found is None:
        raise ValueError(zero_probability_message(evidence or {}))
    if space.is_discrete(query[0]):
        return named_posterior(space, query, found)
    w, mean, cov = found
    if len(w) == 1:
        return Normal(mean[0], cov[0])
    return NormalMixture(w, Normal(mean, cov), tuple(space.names[v] for v in query))


def most_probable_explanation(
    model, engine: ExactInference, evidence, variables=None
) -> MostProbableExplanation:
    """The likeliest joint state of all variables not observed, or of some."""
    space = model.space
    seen = evidence_codes(model, evidence)
    if not space.all_discrete:
        return most_probable_values(model, engine, seen, evidence, variables)
    if variables is not None:
        query = space.numbers(variables)
        table, _ = engine.posterior(query, seen)
        if table is None:
            raise ValueError(zero_probability_message(evidence or {}))
        at = np.unravel_index(int(np.argmax(table)), table.shape)
        states = {space.names[v]: space.states[v][c] for v, c in zip(query, at)}
        return MostProbableExplanation(states, float(np.log(table[at])))
    left = [condition_factor(f, seen) for f in engine.factors.values()]
    tree = query_clique_tree(left, space.sizes, (), (), model.heuristic)
    check_table_size(engine._cost(tree, ()), model.max_table)
    best, top = most_likely_states(left, tree.order)
    if top == -np.inf:
        raise ValueError(zero_probability_message(evidence or {}))
    states = {space.names[v]: space.states[v][best[v]] for v in sorted(best)}
    return MostProbableExplanation(states, top - engine.log_evidence(seen))


def most_probable_values(model, engine, seen, evidence, variables):
    """The mode of a Gaussian network: the mean of the other variables."""
    space = model.space
    query = [v for v in range(len(space.names)) if v not in seen]
    query = query if variables is None else list(space.numbers(variables))
    if any(space.is_discrete(v) for v in query):
        raise ValueError(
            "most_likely takes networks that are all discrete, or with every discrete "
            "variable observed."
        )
    found, _ = gaussian_inference.query_mixed_network(model, engine, tuple(query), seen)
    if found is None:
        raise ValueError(zero_probability_message(evidence or {}))
    w, mean, cov = found
    if len(w) > 1:
        raise ValueError("observe the discrete variables, or name them all.")
    normal = Normal(mean[0], cov[0])
    states = {space.names[v]: float(m) for v, m in zip(query, mean[0], strict=True)}
    return MostProbableExplanation(states, float(normal.log_prob(mean)[0]))


def intervene(model, setting: Mapping):
    """A copy of the network in which variables are set: they have no parents."""
    fixed = evidence_codes(model, setting)
    space, parents, nodes = model.space, list(model.parents), list(model.nodes)
    for v, value in fixed.items():
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
