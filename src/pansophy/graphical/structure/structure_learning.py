"""Base class of structure learners: reading the training table, the fitted network.

`StructureSearch`, `PC` and `chow_liu` find the parents of each column; the network of
these parents gets its tables from counts, or its regressions from numbers.
"""

import numpy as np
from sklearn.utils.validation import validate_data

from ...core.arrays.rows import refuse_table_on_disk
from ...core.arrays.weighted import check_sample_weight
from ...params import (
    check_params,
)
from ..networks.bayesian_network import BayesianNetwork
from ..networks.conditional_distributions import LinearGaussian
from ..networks.dags import parents_from_adjacency
from ..networks.table_encoding import (
    columns_are_continuous,
    continuous_columns,
    drop_zero_weight_codes,
    encode_table,
)
from .contingency_tables import ContingencyTables
from .parameter_learning import estimate_tables, node_families


def read_training_table(model, data, weights, *, gaussian: bool | None, hint=""):
    """The training table of a structure learner: codes or numbers, variables, weights.

    Sets n_features_in_ and feature_names_in_. Missing values raise. `gaussian` says
    whether columns are continuous; None infers it (`columns_are_continuous`).
    """
    check_params(model)
    refuse_table_on_disk(data)
    if hasattr(data, "columns") and not isinstance(data, dict):
        validate_data(model, data, skip_check_array=True)
    elif isinstance(data, dict) or hasattr(data, "column_names"):
        names = list(getattr(data, "column_names", data))
        model.n_features_in_ = len(names)
        model.feature_names_in_ = np.array([str(v) for v in names], dtype=object)
    else:
        kind = np.float64 if gaussian else None
        data = validate_data(model, data, dtype=kind)
    if gaussian is None:
        gaussian = columns_are_continuous(data, hint)
    X, space = continuous_columns(data) if gaussian else encode_table(data)
    if len(X) == 0:
        raise ValueError("Found array with 0 sample(s), at least one is needed.")
    if not gaussian and (X < 0).any():
        name = space.names[int(np.flatnonzero((X < 0).any(axis=0))[0])]
        raise ValueError(
            f"column {name!r} contains NaN or None, which a search of graphs cannot "
            "use: fill the values in or leave those rows out."
        )
    w = check_sample_weight(weights, len(X))
    return (X, space, w) if gaussian else drop_zero_weight_codes(X, space, w)


def network_from_counts(
    counts: ContingencyTables,
    space,
    parents,
    prior=None,
    equivalent_size=10.0,
    columns=None,
):
    """A network with tables from counts; node j is column columns[j] (or j)."""
    column_of = range(len(parents)) if columns is None else columns
    N = [
        counts.table([column_of[v] for v in family])
        for family in node_families(parents)
    ]
    tables = estimate_tables(N, prior, equivalent_size)
    return BayesianNetwork.from_nodes(
        space, parents, tables, prior=prior, equivalent_size=equivalent_size
    )


def network_from_regressions(X, space, parents, weights=None):
    """A network of linear Gaussian nodes fitted to columns of numbers."""
    nodes = []
    for j, node_parents in enumerate(parents):
        template = LinearGaussian(0.0, np.zeros(len(node_parents)))
        stats = template.stats(X[:, j], X[:, list(node_parents)], weights)
        nodes.append(LinearGaussian.from_stats(stats))
    return BayesianNetwork.from_nodes(space, parents, nodes, kinds="gaussian")


def permute_parents(parents, order) -> tuple:
    """Parents after renumbering: node k of the graph becomes node order[k]."""
    A = np.zeros((len(order), len(order)), dtype=bool)
    for j, node_parents in enumerate(parents):
        A[[order[p] for p in node_parents], order[j]] = True
    return parents_from_adjacency(A)
