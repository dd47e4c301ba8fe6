"""Log probabilities, marginals and imputations of the rows of a Bayesian network.

A row is a vector of numbers: codes of discrete variables, values of continuous ones,
NaN where missing. Rows that miss the same columns share one plan for

    log p(x_o) and P(x_m | x_o)    o observed, m missing                         (1)

which runs compiled over all rows of the pattern for discrete networks, through the
joint Normal for Gaussian ones, and row by row for mixed ones.

Shapes    A (n, d)
"""

import numpy as np

from ..networks.table_encoding import (
    as_table_like,
    check_table_columns,
    decode_rows,
    encode_rows,
)
from .gaussian_inference import joint_normal_of, query_mixed_network


def observed_rows(model, X) -> np.ndarray:
    """Rows A of a table, NaN in columns that are not observed at prediction time."""
    A = encode_rows(check_table_columns(model, X, reset=False), model.space)
    if model.evidence is not None:
        hidden = set(range(A.shape[1])) - set(model.space.numbers(model.evidence))
        A[:, sorted(hidden)] = np.nan
    return A


def incomplete_columns(A) -> list[int]:
    """Columns with a missing value."""
    return np.flatnonzero(np.isnan(A).any(axis=0)).tolist()


def fill_missing(model, engine, X):
    """The table with missing values at their most probable state, or mean."""
    A = observed_rows(model, X)
    columns = incomplete_columns(A)
    discrete = [j for j in columns if model.space.is_discrete(j)]
    continuous = [j for j in columns if j not in discrete]
    filled = A.copy()
    for j, table in row_marginals(model, engine, A, discrete).items():
        filled[:, j] = table.argmax(axis=1)
    for j, mean in row_means(model, engine, A, continuous).items():
        filled[:, j] = mean
    return as_table_like(decode_rows(filled, model.space), X)


def row_probabilities(model, engine, X, variables=None) -> dict:
    """P(variable | the rest of the row) by name: arrays (n, states)."""
    A = observed_rows(model, X)
    space = model.space
    if variables is None:
        query = [j for j in incomplete_columns(A) if space.is_discrete(j)]
    else:
        query = list(space.numbers(variables))
        continuous = [space.names[j] for j in query if not space.is_discrete(j)]
        if continuous:
            raise ValueError(f"{continuous[0]!r} is continuous and has no states.")
    marginals = row_marginals(model, engine, A, query)
    return {space.names[j]: marginals[j] for j in query}


def missing_row_patterns(A):
    """Pairs (mask of the missing columns, rows with this pattern)."""
    patterns, pattern = np.unique(np.isnan(A), axis=0, return_inverse=True)
    pattern = pattern.reshape(-1)
    order = np.argsort(pattern, kind="stable")
    ends = np.searchsorted(pattern[order], np.arange(len(patterns) + 1))
    for k, missing in enumerate(patterns):
        yield missing, order[ends[k] : ends[k + 1]]


def complete_row_log_prob(model, A) -> np.ndarray:
    """log p of complete rows: a term for each node."""
    total = np.zeros(len(A))
    for i, node in enumerate(model.nodes):
        total += node.log_prob(A[:, i], A[:, list(model.parents[i])])
    return total


def row_log_prob(model, engine, A) -> np.ndarray:
    """log p of the observed values of each row, eq. (1)."""
    log_prob = np.empty(len(A))
    space = model.space
    for missing, rows in missing_row_patterns(A):
        observed = np.flatnonzero(~missing).tolist()
        if not missing.any():
            log_prob[rows] = complete_row_log_prob(model, A[rows])
        elif all(space.is_discrete(j) for j in observed):
            plan = engine.plan((), tuple(observed), whole_evidence=True)
            codes = A[np.ix_(rows, list(plan.observed))]
            log_prob[rows] = plan.marginals_of_rows(codes, [])[1]
        else:
            for r in rows:
                evidence = row_evidence(space, A[r], observed)
                log_prob[r] = query_mixed_network(model, engine, (), evidence)[1]
    return log_prob


def row_evidence(space, row, observed) -> dict:
    """The observed entries of a row: codes as integers, values as floats."""
    value = lambda j: int(row[j]) if space.is_discrete(j) else float(row[j])
    return {j: value(j) for j in observed}


def row_marginals(model, engine, A, query) -> dict:
    """P(x_j | observed values of the row) for discrete j in query: arrays (n, size)."""
    space = model.space
    marginals = {j: np.zeros((len(A), space.sizes[j])) for j in query}
    for missing, rows in missing_row_patterns(A):
        observed = np.flatnonzero(~missing).tolist()
        for j in set(query) & set(observed):
            marginals[j][rows, A[rows, j].astype(np.int64)] = 1.0
        hidden = [j for j in query if missing[j]]
        if not hidden:
            continue
        if all(space.is_discrete(j) for j in observed):
            plan = engine.plan(tuple(hidden), tuple(observed), together=False)
            codes = A[np.ix_(rows, list(plan.observed))]
            tables, log_z = plan.marginals_of_rows(codes, [(j,) for j in hidden])
            impossible = rows[~(log_z > -np.inf)]
            if len(impossible):
                raise ValueError(
                    f"row {impossible.min()} has probability 0 under the network."
                )
            ends = np.cumsum([0, *(space.sizes[j] for j in hidden)])
            for k, j in enumerate(hidden):
                marginals[j][rows] = tables[:, ends[k] : ends[k + 1]]
            continue
        for r in rows:
            evidence = row_evidence(space, A[r], observed)
            for j in hidden:
                table = query_mixed_network(model, engine, (j,), evidence)[0]
                if table is None:
                    raise ValueError(f"row {r} has probability 0 under the network.")
                marginals[j][r] = table
    return marginals


def row_means(model, engine, A, query) -> dict:
    """E(x_j | observed values of the row) for continuous j in query: arrays (n,)."""
    space = model.space
    means = {j: A[:, j].copy() for j in query}
    for missing, rows in missing_row_patterns(A):
        hidden = tuple(j for j in query if missing[j])
        if not hidden:
            continue
        observed = np.flatnonzero(~missing).tolist()
        if not any(space.sizes):
            filled = normal_row_means(model, A[rows], observed, hidden)
            for k, j in enumerate(hidden):
                means[j][rows] = filled[:, k]
            continue
        for r in rows:
            evidence = row_evidence(space, A[r], observed)
            answer = query_mixed_network(model, engine, hidden, evidence)[0]
            if answer is None:
                raise ValueError(f"row {r} has probability 0 under the network.")
            weights, component_means, _ = answer
            for k, j in enumerate(hidden):
                means[j][r] = weights @ component_means[:, k]
    return means


def normal_row_means(model, A, observed, hidden) -> np.ndarray:
    """Conditional means of the hidden columns of rows of a Gaussian network."""
    normal = joint_normal_of(model)
    S = normal.cov
    gap = A[:, observed] - normal.mean[observed]
    S_oo = S[np.ix_(observed, observed)]
    gain = np.linalg.lstsq(S_oo, S[np.ix_(observed, hidden)], rcond=None)[0]
    return normal.mean[list(hidden)] + gap @ gain
