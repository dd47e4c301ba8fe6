"""One fit from a laptop to a cluster: array, file and cluster give the same bits.

Every estimator that reads blocks is fitted to an array, to a Parquet file that holds it
and to a dask array of odd chunks, one of them empty, on a cluster of three workers.
Blocks are made small, so that a few thousand rows are many blocks.
"""

import inspect

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import is_classifier

import pansophy
from pansophy.core.arrays import rows as floor
from pansophy.core.arrays.block_readers import reads_blocks
from pansophy.core.arrays.cluster_rows import ClusterRows
from pansophy.decomposition import moments
from pansophy.testing import all_estimators, quick_instance
from pansophy.tree.growing import prepared_columns

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore")

N, D = 1501, 4
CHUNKS = (400, 0, 301, 1, N - 702)
PARAMETERS = {"n_estimators": 3, "max_iter": 10, "random_state": 0}
WHOLE_NUMBERS = {
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "JointTableClassifier",
    "MixedNB",
    "MultinomialNB",
    "MultipleInstance",
    "NaiveBayes",
    "TreeAugmentedNB",
}
# by how much a file and the array differ, relative to the largest entry
NOT_TO_THE_BIT = {"TruncatedSVD": 1e-9}
METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "score_samples",
)
READERS = [(name, cls) for name, cls in all_estimators() if reads_blocks(cls)]


@pytest.fixture(scope="module")
def client():
    options = {"processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(3, threads_per_worker=1, **options) as cluster:
        client = distributed.Client(cluster)
        yield client
        client.close()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """By kind of numbers: an array, its file and its dask array; y by kind of task."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("scale")
    X = np.abs(rng.normal(size=(N, D)) + 3.0 * rng.integers(0, 3, N)[:, None])
    sources = {}
    for kind, A in (("whole", np.floor(X) % 3), ("real", X)):
        path = folder / f"{kind}.parquet"
        columns = {f"x{j}": A[:, j] for j in range(D)}
        pq.write_table(pa.table(columns), path, row_group_size=333)
        sources[kind] = (A, path, da.from_array(A, chunks=(CHUNKS, (1, D - 1))))
    labels = (X[:, 0] + rng.normal(size=N) > 2).astype(int)
    numbers = np.exp(0.2 * X[:, 0]) + 0.1 * rng.exponential(size=N)
    return sources, labels, numbers


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(floor, "BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(moments, "BLOCK_BYTES", 1 << 12)


def instance(cls):
    model = quick_instance(cls)
    known = model.get_params()
    return model.set_params(**{k: v for k, v in PARAMETERS.items() if k in known})


def arguments(name, cls, data):
    """The array, file and dask array for an estimator, and what follows X in `fit`."""
    sources, labels, numbers = data
    takes_y = "y" in inspect.signature(cls.fit).parameters
    of_classes = is_classifier(cls()) or name in ("FeatureThenClassify", "LabelModel")
    y = (labels if of_classes else numbers,) if takes_y else ()
    return sources["whole" if name in WHOLE_NUMBERS else "real"], y


def outcome(model, X):
    """All fitted numbers and the answers to the rows X."""
    found = {k: v for k, v in vars(model).items() if k.endswith("_")}
    found.pop("feature_names_in_", None)
    found.pop("n_rows_seen_", None)
    for method in METHODS:
        if hasattr(model, method):
            found[method] = getattr(model, method)(X)
    return found


def numeric_parts(value):
    """The arrays and numbers in a fitted attribute."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        yield value
    elif isinstance(value, (bool, int, float, np.generic)):
        yield np.asarray(value)
    elif isinstance(value, dict):
        for part in value.values():
            yield from numeric_parts(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from numeric_parts(part)


def differences(right, found, tol):
    """Names of attributes and answers that are not the same."""
    bad = []
    for name, value in right.items():
        parts = list(numeric_parts(value))
        others = list(numeric_parts(found.get(name)))
        same = len(parts) == len(others) and all(
            a.shape == b.shape
            and (
                np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
                if not tol
                else np.allclose(a, b, rtol=tol, atol=tol * np.abs(a).max(initial=0))
            )
            for a, b in zip(parts, others, strict=True)
        )
        if not same:
            bad.append(name)
    return bad


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("name", "cls"), READERS, ids=[name for name, _ in READERS])
def test_a_file_and_a_cluster_are_the_array(name, cls, data, client):
    (X, path, chunks), y = arguments(name, cls, data)
    tol = NOT_TO_THE_BIT.get(name, 0.0)
    right = outcome(instance(cls).fit(X, *y), X)
    model = instance(cls).fit(path, *y)
    if name != "CostSensitiveClassifier":  # the estimator in it has it
        assert model.n_rows_seen_ == N
    assert not differences(right, outcome(model, path), tol)
    with pansophy.cluster(client):
        model = instance(cls).fit(chunks, *y)
        assert not differences(right, outcome(model, chunks), tol)


@pytest.mark.usefixtures("small_blocks")
def test_most_families_add_up_on_the_workers(data, client, monkeypatch):
    seen = []
    begin = ClusterRows.__init__

    def watched(self, *args):
        begin(self, *args)
        seen.append(self)

    monkeypatch.setattr(ClusterRows, "__init__", watched)
    for name, cls in READERS:
        if name in ("LogisticRegression", "PCA", "GaussianMixture", "PoissonRegressor"):
            (_, path, _), y = arguments(name, cls, data)
            with pansophy.cluster(client):
                instance(cls).fit(path, *y)
            assert seen[-1].passes["cluster"] > 0
            assert seen[-1].passes["home"] == 0


def test_files_named_by_column_on_a_cluster(data, client, tmp_path):
    (X, _, _), (y,) = arguments("Ridge", pansophy.linear_model.Ridge, data)
    columns = {f"x{j}": X[:, j] for j in range(D)}
    pq.write_table(pa.table(columns | {"y": y}), tmp_path / "t.parquet")
    right = pansophy.linear_model.Ridge().fit(X, y)
    with pansophy.cluster(client):
        model = pansophy.linear_model.Ridge().fit(tmp_path / "t.parquet", "y")
        assert model.score(tmp_path / "t.parquet", "y") == right.score(X, y)
    np.testing.assert_array_equal(model.coef_, right.coef_)


@pytest.mark.usefixtures("small_blocks")
def test_workers_code_the_columns_for_boosting(data, client, monkeypatch):
    monkeypatch.setattr(prepared_columns, "SAMPLE_ROWS", 700)
    model = pansophy.ensemble.HistGradientBoostingRegressor(max_iter=3, max_bins=20)
    (X, path, chunks), (y,) = arguments("boosting", type(model), data)
    right = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(model.fit(path, y).predict(X), right)
    with pansophy.cluster(client):
        np.testing.assert_array_equal(model.fit(chunks, y).predict(X), right)
