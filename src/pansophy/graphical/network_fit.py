"""Fitting a network with a known graph: every node by itself.

Tables by counts with pseudo-counts, or by EM where values are missing or a variable
is hidden (`parameters`); continuous nodes by least squares on the rows that show the
node and all its parents (`nodes`).
"""

import numpy as np

from ..graphs.directed import topological_order
from ..params import ParameterError
from .conditional_distributions import (
    ConditionalLinearGaussian,
    ConditionalTable,
    LinearGaussian,
)
from .network_definition import NetworkDefinition
from .network_rows import encode_training_columns
from .parameter_learning import fit_tables, fit_tables_em
from .table_encoding import filter_column, stack_codes
from .variables import VariableSpace


def fit_network(model, columns: dict, w) -> NetworkDefinition:
    """Names, parents and nodes of a model fitted to columns with weights w or None."""
    if w is not None and not (w > 0).all():
        kept = w > 0
        columns = {name: filter_column(c, kept) for name, c in columns.items()}
        w = w[kept]
    edges = check_edge_list(model.edges)
    hidden = hidden_variables(edges, columns, model.states)
    space, rows = encode_training_columns(columns, model.kinds, model.states, hidden)
    parents = parents_from_edges(edges, space)
    nodes: list = [None] * len(space.names)
    fit_discrete_nodes(model, rows, space, parents, w, nodes)
    for i in range(len(nodes)):
        if not space.is_discrete(i):
            nodes[i] = fit_continuous_node(
                rows, i, parents[i], space, w, model.min_variance
            )
    return NetworkDefinition(space, parents, tuple(nodes))


def check_edge_list(edges) -> list[tuple]:
    """Pairs (parent, child), each once."""
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


def hidden_variables(edges, columns, states) -> tuple:
    """Names in edges that no column has but whose states are known."""
    found = dict.fromkeys(v for e in edges for v in e if isinstance(v, str))
    return tuple(v for v in found if v not in columns and v in (states or {}))


def parents_from_edges(edges, space: VariableSpace) -> tuple[tuple[int, ...], ...]:
    """Parents of each variable, checked: no cycle, none continuous above a discrete."""
    parents: list[tuple[int, ...]] = [() for _ in space.names]
    for a, b in edges:
        i, j = space.number(a), space.number(b)
        if space.is_discrete(j) and not space.is_discrete(i):
            raise ValueError(
                f"discrete {space.names[j]!r} cannot have the continuous parent "
                f"{space.names[i]!r}."
            )
        if i not in parents[j]:
            parents[j] += (i,)
    topological_order(parents, space.names)
    return tuple(parents)


def fit_discrete_nodes(model, rows, space: VariableSpace, parents, w, nodes) -> None:
    """Tables of the discrete variables, by counts or EM."""
    own = [i for i in range(len(space.names)) if space.is_discrete(i)]
    model.n_iter_ = 1
    if not own:
        return
    place = {v: k for k, v in enumerate(own)}
    above = [tuple(place[p] for p in parents[i]) for i in own]
    sizes = tuple(space.sizes[i] for i in own)
    n = len(next(column for column in rows if column is not None))
    codes = stack_codes([rows[i] for i in own], [space.states[i] for i in own], n)
    how = {
        "weights": w,
        "prior": model.prior,
        "equivalent_size": model.equivalent_size,
    }
    if (codes >= 0).all():
        tables = fit_tables(codes, above, sizes, **how)
    else:
        more = {k: getattr(model, k) for k in ("max_iter", "tol", "n_init")}
        more["random_state"] = model.random_state
        result = model._drive(
            lambda task: fit_tables_em(codes, above, sizes, **how, **more, task=task),
            total=model.max_iter,
        )
        tables = result.state.params
    for i, table in zip(own, tables, strict=True):
        nodes[i] = ConditionalTable(table)


def fit_continuous_node(rows, i, above, space: VariableSpace, w, floor):
    """The regression of a continuous variable on its parents."""
    unseen = np.full(len(rows[i]), -1)  # of a hidden parent
    held = [unseen if rows[p] is None else rows[p] for p in above]
    gone = [v < 0 if space.is_discrete(p) else np.isnan(v) for p, v in zip(above, held)]
    seen = ~np.any([np.isnan(rows[i]), *gone], axis=0)
    if not seen.any():
        raise ValueError(
            f"no row shows {space.names[i]!r} and all its parents: nothing to fit."
        )
    U = np.column_stack([np.empty((len(seen), 0)), *held])[seen]
    x = rows[i][seen]
    w = None if w is None else w[seen]
    places = tuple(k for k, p in enumerate(above) if space.is_discrete(p))
    if not places:
        node = LinearGaussian(0.0, np.zeros(len(above)), 1.0)
    else:
        shape = tuple(space.sizes[above[k]] for k in places)
        coef = np.zeros((*shape, len(above) - len(places)))
        node = ConditionalLinearGaussian(np.zeros(shape), coef, np.ones(shape), places)
    return node.from_stats(node.stats(x, U, w), floor)
