"""What estimators are said to take, tried."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.utils import get_tags

from pansophy.compare.methods.capabilities import (
    FLAGS,
    capability_of,
    estimator_classes,
    find_estimators,
)
from pansophy.testing import all_estimators, quick_instance

N, D = 80, 4
rng = np.random.default_rng(0)
X = rng.integers(0, 3, (N, D)).astype(float)
CODES = (X[:, 0] + rng.normal(size=N) > 1).astype(int)
VALUES = X @ [1.0, 2, 0, 1] + rng.random(N) + 0.1
SEVERAL = np.c_[VALUES, 2 * VALUES + rng.random(N)]
LABELS = np.c_[CODES, rng.integers(0, 2, N)]
# need something that this small table does not have (a symbol column, steps, bags)
SPECIAL = {"CategoricalHMM", "ExhaustiveSelector", "SequentialFeatureSelector"}
FAST = [
    "LinearRegression",
    "Ridge",
    "LogisticRegression",
    "GaussianNB",
    "BernoulliNB",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "KNeighborsClassifier",
    "RandomForestClassifier",
    "LinearSVC",
    "RidgeClassifier",
    "Lasso",
    "QuadraticDiscriminantAnalysis",
    "PoissonRegressor",
    "KMeans",
    "PCA",
    "HistGradientBoostingRegressor",
]


def attempts(c, path):
    """Flag -> what shows that it is true, for the flags of one estimator."""
    y = CODES if c.kind == "classifier" else VALUES
    if c.name.startswith("MultiTask"):
        y = SEVERAL
    cls = estimator_classes()[c.name]
    args = (y,) if get_tags(cls()).target_tags.required else ()
    new = lambda: quick_instance(cls)
    holes = X.copy()
    holes[3, 1] = np.nan
    first = {"classes": np.unique(y)} if c.kind == "classifier" else {}
    return {
        "missing": lambda: new().fit(holes, *args),
        "categories": lambda: new().set_params(categorical_features=[0]).fit(X, *args),
        "sparse": lambda: new().fit(sp.csr_array(X), *args),
        "weights": lambda: new().fit(X, *args, sample_weight=np.ones(N)),
        "outputs": lambda: new().fit(X, SEVERAL).predict(X).shape == (N, 2) or 1 / 0,
        "labels": lambda: new().fit(X, LABELS).predict(X).shape == (N, 2) or 1 / 0,
        "probabilities": lambda: new().fit(X, *args).predict_proba(X),
        "batches": lambda: new().partial_fit(X, *args, **first),
        "files": lambda: new().fit(path, *args),
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("rows") / "x.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(D)}), file)
    return str(file)


def check(name, path):
    c = capability_of(estimator_classes()[name])
    for flag, try_it in attempts(c, path).items():
        if not getattr(c, flag):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                try_it()
            except Exception as error:
                raise AssertionError(f"{name} does not do {flag}: {error}") from error


@pytest.mark.parametrize("name", FAST)
def test_claims_are_true(name, path):
    check(name, path)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(dict(all_estimators())) - SPECIAL))
def test_claims_of_all_are_true(name, path):
    check(name, path)


@pytest.mark.parametrize(
    "name",
    [
        "LinearSVC",
        "KNeighborsClassifier",
        "LassoCV",
        "KMedoids",
        "DBSCAN",
        "KernelDensity",
        "StabilitySelection",
    ],
)
def test_files_are_refused_where_not_claimed(name, path):
    c = capability_of(estimator_classes()[name])
    assert not c.files
    for source in (path, [path], ds.dataset(path)):
        with pytest.raises((TypeError, ValueError, AttributeError), match="in memory"):
            attempts(c, source)["files"]()
    attempts(c, pq.read_table(path))["files"]()  # it is in memory


def test_every_estimator_is_known():
    assert set(estimator_classes()) >= {name for name, _ in all_estimators()}


def test_finding():
    assert all(
        c.weights and c.files
        for c in find_estimators("count", weights=True, files=True)
    )
    assert "PoissonRegressor" in {
        c.name for c in find_estimators("count", weights=True)
    }
    assert {
        c.name for c in find_estimators("regression", missing=True, categories=True)
    } >= {
        "DecisionTreeRegressor",
        "HistGradientBoostingRegressor",
    }
    with pytest.raises(ValueError, match="no capability 'wings'"):
        find_estimators(wings=True)
    assert set(FLAGS) <= set(capability_of(estimator_classes()["PCA"])._fields)
