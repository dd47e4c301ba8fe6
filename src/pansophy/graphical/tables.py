"""From counts to tables, for each family of a network; see `parameters`."""

import numpy as np

from ..distributions.categorical import frequencies
from ..graphs.directed import topological_order
from .contingency_tables import ContingencyTables, for_each_item


def pseudo_counts(shape, prior=None, equivalent_size: float = 10.0) -> float:
    """Pseudo-counts of a table: None, "k2" or "laplace", "bdeu", or the number."""
    if prior is None:
        return 0.0
    if isinstance(prior, str):
        if prior in ("k2", "laplace"):
            return 1.0
        if prior == "bdeu":
            return equivalent_size / float(np.prod(shape))
        raise ValueError(
            f"prior must be None, 'k2', 'laplace', 'bdeu' or a number: {prior!r}."
        )
    if not prior >= 0:
        raise ValueError(f"prior must be at least 0, got {prior}.")
    return float(prior)


def node_families(parents) -> list[tuple[int, ...]]:
    """The axes of each table: the parents in order, then the node."""
    return [(*above, j) for j, above in enumerate(parents)]


def family_counts(codes, parents, sizes, weights=None) -> list[np.ndarray]:
    """N of eq. (1) for each node; rows that miss a value of a family are left out."""
    counts, whole = ContingencyTables(codes, sizes, weights), node_families(parents)
    known = set(range(counts.d))
    if len(parents) != counts.d or not all(known.issuperset(f) for f in whole):
        raise ValueError(f"parents must be {counts.d} tuples of column numbers.")
    topological_order(parents)
    out: list = [None] * len(whole)

    def one(j):
        out[j] = counts.table(whole[j])

    for_each_item(one, range(len(whole)), counts.n * len(whole))
    return out


def estimate_tables(N, prior=None, equivalent_size=10.0) -> list[np.ndarray]:
    """Relative frequencies of counts and pseudo-counts, for every table."""
    return [frequencies(c + pseudo_counts(c.shape, prior, equivalent_size)) for c in N]
