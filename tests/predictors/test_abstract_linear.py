"""What linear models share: the same numbers from a file and from its array."""

import numpy as np
import pytest

from pansophy.linear_model import (
    ARDRegression,
    BayesianRidge,
    LeastSquaresClassifier,
    LinearRegression,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    Tikhonov,
)

MODELS = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    Ridge(),
    Ridge(solver="svd"),
    RidgeCV(),
    RidgeClassifier(),
    RidgeClassifierCV(),
    LeastSquaresClassifier(),
    Tikhonov(),
    BayesianRidge(),
    ARDRegression(),
]


def written(path, X):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table(columns), path, row_group_size=3000)
    return path


@pytest.mark.filterwarnings("ignore:X has rank:numpy.exceptions.RankWarning")
@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("far", [0.0, 1e4])
@pytest.mark.parametrize(
    "shape", [(20_000, 12), (80_000, 3), (300, 20), (90, 4), (30, 45)], ids=str
)
def test_a_file_gives_the_bits_of_its_array(tmp_path, rng, model, shape, far, weighted):
    X = rng.standard_normal(shape) + far
    X[:, 0] = np.sort(X[:, 0])
    score = X[:, 0] - X[:, 1] + rng.standard_normal(len(X))
    is_class = hasattr(model, "predict") and "Classifier" in type(model).__name__
    y = (score > np.median(score)).astype(int) if is_class else score
    w = rng.integers(0, 3, len(X)).astype(float) if weighted else None
    held = model.fit(X, y, sample_weight=w)
    found = {k: getattr(held, k) for k in ("coef_", "intercept_")}
    for name in ("alpha_", "lambda_", "sigma_", "singular_", "best_score_"):
        if hasattr(held, name):
            found[name] = getattr(held, name)
    read = model.fit(written(tmp_path / "x.parquet", X), y, sample_weight=w)
    for name, value in found.items():
        np.testing.assert_array_equal(getattr(read, name), value, err_msg=name)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), RidgeCV()], ids=repr)
def test_a_missing_value_of_a_wide_file_is_refused(tmp_path, rng, model):
    X = rng.standard_normal((5, 8))
    X[2, 3] = np.nan
    path = written(tmp_path / "x.parquet", X)
    with pytest.raises(ValueError, match=r"Column 'x3' of X contains NaN"):
        model.fit(path, np.arange(5.0))
