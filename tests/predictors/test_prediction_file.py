"""Predictions written to a file in blocks, for models fitted anywhere."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression as Peer

from pansophy.core.arrays import rows as floor
from pansophy.decomposition import PCA
from pansophy.linear_model import LinearRegression
from pansophy.neighbors import KNeighborsClassifier
from pansophy.predictors.prediction_file import write_predictions


@pytest.fixture
def data(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(floor, "BLOCK_BYTES", 1 << 13)
    X = rng.normal(size=(900, 3))
    path = tmp_path / "x.parquet"
    columns = {name: X[:, j] for j, name in enumerate("abc")}
    pq.write_table(pa.table({"more": X[:, 0], **columns}), path)
    return X, path, np.where(X[:, 0] > 0, "yes", "no")


def written(path):
    table = pq.read_table(path)
    return table.column_names, np.column_stack([c.to_numpy() for c in table.columns])


def test_a_model_of_any_kind(data, tmp_path):
    pd = pytest.importorskip("pandas")
    X, path, y = data
    frame = pd.DataFrame(X, columns=list("abc"))
    out = tmp_path / "p.parquet"
    for model in (Peer().fit(frame, y), KNeighborsClassifier().fit(frame, y)):
        assert write_predictions(model, path, out) == 900
        assert written(out)[0] == ["predict"]
        np.testing.assert_array_equal(written(out)[1][:, 0], model.predict(frame))
        write_predictions(model, path, out, method="predict_proba")
        assert written(out)[0] == ["no", "yes"]
        np.testing.assert_allclose(written(out)[1], model.predict_proba(frame))


def test_columns_that_are_made(data, tmp_path):
    X, path, _ = data
    out = tmp_path / "z.parquet"
    rows = floor.DatasetRows(path, columns=list("abc"))
    model = PCA(2).fit(rows)
    write_predictions(model, path, out, method="transform")
    assert written(out)[0] == ["pca0", "pca1"]
    np.testing.assert_allclose(written(out)[1], model.transform(rows))
    both = LinearRegression().fit(X, X[:, :2])
    write_predictions(both, rows, out)
    assert written(out)[0] == ["predict0", "predict1"]


def test_bad_calls_leave_no_file(data, tmp_path):
    X, path, y = data
    out = tmp_path / "p.parquet"
    model = KNeighborsClassifier().fit(X, y)
    with pytest.raises(ValueError, match="has 4 columns, but KNeighbors"):
        write_predictions(model, path, out)
    with pytest.raises(ValueError, match="no method 'transform'"):
        write_predictions(model, path, out, method="transform")
    with pytest.raises(ValueError, match=r"must end in \.parquet"):
        write_predictions(model, X, tmp_path / "p.csv")
    rows = floor.DatasetRows(path, columns=list("abc"))
    with pytest.raises(ValueError, match="cannot be written row by row"):
        write_predictions(model, rows, out, method="kneighbors")
    assert not list(tmp_path.glob("*p.parquet*"))
