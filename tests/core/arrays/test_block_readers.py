"""Who reads rows in blocks, and what Arrow tables are to all others."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pansophy.base import Estimator
from pansophy.cluster import DBSCAN
from pansophy.core.arrays.block_readers import BLOCK_READERS, reads_blocks
from pansophy.decomposition import FastICA
from pansophy.ensemble import GradientBoostingRegressor, RandomForestClassifier
from pansophy.linear_model import Lasso, LinearRegression, Ridge, SGDClassifier
from pansophy.neighbors import KNeighborsClassifier
from pansophy.svm import SVC
from pansophy.testing import all_estimators
from pansophy.tree import DecisionTreeClassifier


def test_names_are_those_of_estimators():
    known = {base.__name__ for _, cls in all_estimators() for base in cls.__mro__}
    assert known >= BLOCK_READERS


def test_derived_classes_read_blocks_too():
    class Mine(Ridge):
        pass

    assert reads_blocks(Mine)
    assert not reads_blocks(Lasso)


MODELS = [
    DBSCAN(),
    DecisionTreeClassifier(random_state=0),
    FastICA(2, random_state=0),
    GradientBoostingRegressor(n_estimators=3, random_state=0),
    KNeighborsClassifier(),
    Lasso(0.01),
    RandomForestClassifier(3, random_state=0),
    SGDClassifier(random_state=0),
    SVC(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_an_arrow_table_is_what_its_array_is(rng, model):
    X = rng.random((80, 3))
    table = pa.table({name: X[:, j] for j, name in enumerate("abc")})
    y = (X[:, 0] > 0.5).astype(int)

    def answers(rows, values):
        model.fit(rows, y)
        if hasattr(model, "labels_"):
            return model.labels_
        return (model.predict if hasattr(model, "predict") else model.transform)(values)

    held = answers(X, X)
    np.testing.assert_array_equal(answers(table, table), held)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_an_arrow_table_is_still_read_in_blocks_where_that_is_done(rng, monkeypatch):
    X = rng.random((80, 3))
    table = pa.table({name: X[:, j] for j, name in enumerate("abc")})
    right = Ridge().fit(X, X[:, 0]).coef_
    monkeypatch.delattr(Estimator, "_check_numpy")  # where all rows become an array
    np.testing.assert_array_equal(Ridge().fit(table, X[:, 0]).coef_, right)


def test_a_list_of_files_is_one_table(rng, tmp_path):
    X, y = rng.random((90, 3)), rng.random(90)
    paths = []
    for i in range(3):
        part = X[30 * i : 30 * i + 30]
        paths.append(tmp_path / f"{i}.parquet")
        pq.write_table(pa.table({n: part[:, j] for j, n in enumerate("abc")}), paths[i])
    right = LinearRegression().fit(X, y)
    for given in (paths, tuple(map(str, paths))):
        model = LinearRegression().fit(given, y)
        np.testing.assert_array_equal(model.coef_, right.coef_)
        np.testing.assert_allclose(model.predict(given), right.predict(X))
    with pytest.raises(TypeError, match="in memory"):
        SVC().fit(paths, y > 0.5)
