"""The door for tables: every kind of source, y and weights by name."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from pansophy.core.arrays.open_rows import columns_by_name, open_rows
from pansophy.ensemble import HistGradientBoostingClassifier
from pansophy.linear_model import LinearRegression, LogisticRegression, Ridge
from pansophy.naive_bayes import GaussianNB
from pansophy.neighbors import KNeighborsClassifier

N = 90


@pytest.fixture
def table(rng):
    X = rng.normal(size=(N, 2))
    columns = {"a": X[:, 0], "b": X[:, 1], "price": X @ [1.0, -2.0], "w": rng.random(N)}
    return pa.table(columns)


def sources(table, folder):
    """The same table in every form that is read in blocks."""
    pl = pytest.importorskip("polars")
    nw = pytest.importorskip("narwhals")
    path = folder / "t.parquet"
    pq.write_table(table, path, row_group_size=40)
    many = folder / "many"
    many.mkdir()
    for i in range(3):
        pq.write_table(table.slice(30 * i, 30), many / f"{i}.parquet")
    return {
        "path": path,
        "text": str(path),
        "folder": many,
        "pattern": str(many / "*.parquet"),
        "files": sorted(many.glob("*")),
        "dataset": ds.dataset(path),
        "table": table,
        "reader": table.to_reader(17),
        "polars": pl.scan_parquet(path),
        "narwhals": nw.from_native(pl.scan_parquet(path)),
        "opened": open_rows(path),
    }


def test_every_source_with_names_is_the_array(table, tmp_path):
    arrays = {name: table[name].to_numpy() for name in table.column_names}
    X = np.column_stack([arrays["a"], arrays["b"]])
    right = Ridge().fit(X, arrays["price"], arrays["w"])
    for kind, source in sources(table, tmp_path).items():
        model = Ridge().fit(source, "price", sample_weight="w")
        np.testing.assert_array_equal(model.coef_, right.coef_, err_msg=kind)
        assert model.feature_names_in_.tolist() == ["a", "b"]
        assert model.n_rows_seen_ == N
        if kind != "reader":  # which is read once
            assert model.score(source, "price", "w") == right.score(
                X, arrays["price"], arrays["w"]
            )
            np.testing.assert_array_equal(model.predict(source), right.predict(X))


def test_labels_may_be_text_and_whole_numbers(table, tmp_path):
    price = table["price"].to_numpy()
    words = np.where(price > 0, "dear", "cheap")
    table = table.drop_columns(["price", "w"])
    X = np.column_stack([table["a"].to_numpy(), table["b"].to_numpy()])
    labels = {
        "text": pa.array(words),
        "dictionary": pa.array(words).dictionary_encode(),
        "boolean": pa.array(price > 0),
        "whole": pa.array((price > 0).astype(int)),
    }
    for kind, column in labels.items():
        path = tmp_path / f"{kind}.parquet"
        pq.write_table(table.append_column("y", column), path)
        for model in (GaussianNB(), HistGradientBoostingClassifier(max_iter=2)):
            model.fit(path, "y")
            right = type(model)(**model.get_params()).fit(X, np.asarray(column))
            np.testing.assert_array_equal(model.classes_, right.classes_)
            np.testing.assert_array_equal(model.predict(path), right.predict(X))
            assert model.score(path, "y") == right.score(X, np.asarray(column))


def test_several_targets_by_name(table, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    model = LinearRegression().fit(path, ["price", "w"])
    assert model.coef_.shape == (2, 2)
    _, y, _ = columns_by_name(path, ["price", "w"])
    np.testing.assert_array_equal(y[:, 1], table["w"].to_numpy())


def test_missing_labels_and_names_are_one_sentence(table, tmp_path):
    path = tmp_path / "t.parquet"
    label = pa.array([None, *["a", "b"] * 44, "a"])
    pq.write_table(table.append_column("y", label), path)
    with pytest.raises(ValueError, match="no column named 'cost'"):
        Ridge().fit(path, "cost")
    with pytest.raises(ValueError, match="no column named 'cost'"):
        Ridge().fit(path, "price", sample_weight="cost")
    with pytest.raises(ValueError, match="'y'"):
        Ridge().fit(path, "price")  # a column of text is left in X
    with pytest.raises((ValueError, TypeError)):
        GaussianNB().fit(open_rows(path, ["a", "b"]), "y")


def test_what_cannot_stream_names_what_can(table, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    with pytest.raises(TypeError, match=r"KNeighborsClassifier.*HistGradientBoosting"):
        KNeighborsClassifier().fit(path, "price")


def test_other_columns_of_rows_that_are_open(table):
    rows = open_rows(table)
    assert open_rows(rows) is rows
    assert rows.with_columns(rows.columns) is rows
    np.testing.assert_array_equal(
        open_rows(rows, ["b"]).map(lambda x: x)[:, 0], table["b"].to_numpy()
    )
    assert rows.column("w").tolist() == table["w"].to_pylist()


def test_temporary_files_of_readers_are_removed(table, tmp_path, monkeypatch):
    import gc
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = open_rows(table.to_reader())
    assert len(list(tmp_path.iterdir())) == 1
    del rows
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_fit_by_name_can_be_saved(table, tmp_path):
    import pansophy

    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    y = (table["price"].to_numpy() > 0).astype(int)
    rows = open_rows(path, ["a", "b"])
    model = LogisticRegression().fit(rows, y)
    pansophy.save(model, tmp_path / "m.safetensors")
    again = pansophy.load(tmp_path / "m.safetensors")
    assert again.n_rows_seen_ == N
    np.testing.assert_array_equal(again.predict(path), model.predict(rows))
