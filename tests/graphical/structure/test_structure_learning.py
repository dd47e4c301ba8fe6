"""Training tables of structure learners, and networks of the parents they found."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pansophy.graphical import PC, StructureSearch
from pansophy.graphical.networks.table_encoding import encode_table
from pansophy.graphical.networks.variables import VariableSpace
from pansophy.graphical.structure.contingency_tables import ContingencyTables
from pansophy.graphical.structure.structure_learning import (
    network_from_counts,
    network_from_regressions,
    permute_parents,
    read_training_table,
)

TABLE = {"rain": ["no", "yes", "yes", "no"], "wet": [0, 1, 1, 1]}


@pytest.mark.parametrize("form", [dict, pd.DataFrame, pa.table])
def test_tables_of_states(form):
    model = StructureSearch()
    codes, space, w = read_training_table(model, form(TABLE), None, gaussian=None)
    assert codes.tolist() == [[0, 0], [1, 1], [1, 1], [0, 1]] and w is None
    assert space.names == ("rain", "wet") and space.states == (("no", "yes"), (0, 1))
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["rain", "wet"]


def test_arrays_have_numbered_columns():
    model = PC()
    codes, space, _ = read_training_table(
        model, np.array([[5, 1], [7, 1]]), None, gaussian=None
    )
    assert codes.tolist() == [[0, 0], [1, 0]] and space.states == ((5, 7), (1,))
    assert model.n_features_in_ == 2 and not hasattr(model, "feature_names_in_")


def test_columns_of_fractions_are_continuous(rng):
    X = rng.normal(size=(30, 2))
    rows, space, _ = read_training_table(PC(), X, None, gaussian=None)
    np.testing.assert_array_equal(rows, X)
    assert not space.is_discrete(0) and not space.is_discrete(1)
    whole = np.array([[1, 2], [3, 4]])
    rows, space, _ = read_training_table(PC(), whole, None, gaussian=True)
    assert rows.dtype == np.float64 and not space.is_discrete(0)
    codes, space, _ = read_training_table(PC(), X, None, gaussian=False)
    assert space.is_discrete(0) and codes.max() == 29
    both = {"number": X[:, 0], "state": np.arange(30) % 2}
    with pytest.raises(
        ValueError, match=r"'number' holds real.*'state' states.*or ask"
    ):
        read_training_table(PC(), both, None, gaussian=None, hint="ask")


def test_refused_tables():
    with pytest.raises(ValueError, match="column 'wet' contains NaN or None"):
        read_training_table(
            PC(), {"rain": [0, 1], "wet": [1, None]}, None, gaussian=None
        )
    with pytest.raises(ValueError, match="0 sample"):
        read_training_table(PC(), {"rain": []}, None, gaussian=False)
    with pytest.raises(ValueError, match="contains NaN or infinity"):
        read_training_table(PC(), {"a": [1.0, np.nan]}, None, gaussian=True)


def test_rows_of_weight_zero_do_not_exist():
    w = [1.0, 2.0, 0.5, 0.0]
    table = {**TABLE, "wet": [0, 1, 1, 2]}
    codes, space, kept = read_training_table(PC(), table, w, gaussian=None)
    assert codes.tolist() == [[0, 0], [1, 1], [1, 1]] and kept.tolist() == w[:3]
    assert space.states[1] == (0, 1)
    with pytest.raises(ValueError, match="weight"):
        read_training_table(PC(), TABLE, [1.0, -1.0, 1.0, 1.0], gaussian=None)


def counted(table):
    codes, space = encode_table(table)
    return ContingencyTables(codes, space.sizes), space


def test_tables_from_counts():
    counts, space = counted(TABLE)
    network = network_from_counts(counts, space, ((), (0,)))
    np.testing.assert_allclose(network.table("rain"), [0.5, 0.5])
    np.testing.assert_allclose(network.table("wet"), [[0.5, 0.5], [0, 1]])
    smooth = network_from_counts(counts, space, ((), (0,)), "bdeu", 4.0)
    # one pseudo-count for each of the four cells
    np.testing.assert_allclose(smooth.table("wet"), [[0.5, 0.5], [0.25, 0.75]])


def test_counts_of_other_columns():
    """Node j is column columns[j] of the counts: here in reverse."""
    counts, space = counted(TABLE)
    swapped = VariableSpace(space.names[::-1], space.states[::-1])
    network = network_from_counts(counts, swapped, ((), (0,)), columns=(1, 0))
    np.testing.assert_allclose(network.table("wet"), [0.25, 0.75])
    np.testing.assert_allclose(network.table("rain"), [[1, 0], [1 / 3, 2 / 3]])


def test_regressions(rng):
    X = rng.normal(size=(50, 3))
    X[:, 2] += 2 * X[:, 0] - X[:, 1] + 3
    w = rng.integers(1, 4, 50).astype(float)
    space = VariableSpace(("a", "b", "c"), ((),) * 3)
    parents = ((), (), (1, 0))
    network = network_from_regressions(X, space, parents, w)
    design = np.column_stack([np.ones(50), X[:, 1], X[:, 0]])
    root = np.sqrt(w)[:, None]
    beta, left, *_ = np.linalg.lstsq(design * root, X[:, 2] * root[:, 0], rcond=None)
    node = network.nodes[2]
    np.testing.assert_allclose(node.intercept, beta[0], rtol=1e-9)
    np.testing.assert_allclose(node.coef, beta[1:], rtol=1e-9)
    np.testing.assert_allclose(node.variance, left[0] / w.sum(), rtol=1e-9)
    np.testing.assert_allclose(
        network.nodes[0].intercept, np.average(X[:, 0], weights=w), rtol=1e-12
    )
    assert network.parents == parents


def test_renumbered_parents():
    # 0 -> 1, 0 -> 2, 1 -> 2 with node k called order[k]
    got = permute_parents(((), (0,), (0, 1)), [2, 0, 1])
    assert got == ((2,), (0, 2), ())
    back = permute_parents(got, np.argsort([2, 0, 1]))
    assert back == ((), (0,), (0, 1))
