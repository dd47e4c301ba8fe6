"""save -> load gives the same model, and a bad file can only be refused."""

import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
    TargetEncoder,
)

from pansophy import persist
from tests.persist.model_files import turned

HERE = Path(__file__).parent


# --- models -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    return X, X @ [1.0, -2.0, 0.5, 0.0], np.where(X[:, 0] > 0, "yes", "no")


def models(data):
    X, y, c = data
    mixed = np.empty((80, 2), dtype=object)
    mixed[:, 0], mixed[:, 1] = X[:, 0], c
    mixed[3, 0] = math.nan
    columns = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), [0]),
            ("c", OneHotEncoder(handle_unknown="ignore"), [1]),
            ("t", TargetEncoder(random_state=0), [1]),
        ]
    )  # fmt: skip
    select = make_pipeline(
        FunctionTransformer(np.abs), SelectKBest(f_regression, k=2), Ridge()
    )
    search = GridSearchCV(
        Ridge(), {"alpha": [0.1, 1.0]}, cv=KFold(3), scoring="r2", n_jobs=1
    )
    return [
        make_pipeline(columns, LogisticRegression()).fit(mixed, c),
        select.fit(X, y),
        search.fit(X, y),
        CalibratedClassifierCV(LogisticRegression(), cv=3).fit(X, c),
        IsotonicRegression(out_of_bounds="clip").fit(X[:, :1], y),
        HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(X, c),
    ]


def test_unfitted_models_keep_their_parameters(tmp_path):
    back = turned(LogisticRegression(C=2.5), tmp_path)
    assert vars(back) == vars(LogisticRegression(C=2.5))


@pytest.mark.parametrize("i", range(6))
def test_scikit_learn_models_predict_the_same(i, data, tmp_path):
    model = models(data)[i]
    back = turned(model, tmp_path)
    assert repr(back) == repr(model)
    X = data[0][:, : getattr(model, "n_features_in_", 1)]
    X = X.astype(object) if X.shape[1] == 2 else X
    if X.dtype == object:
        X[:, 1] = np.where(np.arange(80) % 3, "yes", "never seen")
    assert np.array_equal(model.predict(X), back.predict(X))
    if hasattr(model, "predict_proba"):
        assert np.array_equal(model.predict_proba(X), back.predict_proba(X))


def ours():
    from pansophy.testing import all_estimators

    return all_estimators()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:y contains no unlabeled samples")
def test_all_of_ours_predict_identically_in_another_process(tmp_path):
    from tools.forge import fit_estimator

    answers = {}
    for name, cls in ours():
        model, X = fit_estimator(cls)
        persist.save(model, tmp_path / f"{name}.pansophy")
        np.save(tmp_path / f"{name}.npy", X)
        answers[name] = answer(model, X)
    assert answers
    code = f"""
        import sys; sys.path.insert(0, {str(HERE)!r})
        import numpy as np, pansophy
        from pathlib import Path
        from test_persist import answer
        folder = Path({str(tmp_path)!r})
        for path in folder.glob("*.pansophy"):
            X = np.load(path.with_suffix(".npy"))
            np.save(folder / f"{{path.stem}}.out.npy", answer(pansophy.load(path), X))
    """
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}  # as here
    command = [sys.executable, "-c", textwrap.dedent(code)]
    subprocess.run(command, check=True, env=one_thread)
    for name, expected in answers.items():
        got = np.load(tmp_path / f"{name}.out.npy")
        assert got.dtype == expected.dtype, name
        assert np.array_equal(got, expected), name


def answer(model, X):
    for method in ("predict_proba", "predict", "transform", "score_samples"):
        if hasattr(model, method):
            found = getattr(model, method)(X)
            return found.toarray() if sp.issparse(found) else np.asarray(found)
    for name in (
        "labels_",
        "embedding_",
        "negative_outlier_factor_",
    ):  # of training rows
        if hasattr(model, name):
            return np.asarray(getattr(model, name))
    raise AssertionError(f"{model} answers nothing")


def test_callbacks_are_not_saved(tmp_path):
    from sklearn.callback import ProgressBar

    model = LogisticRegression().set_callbacks(ProgressBar())
    assert "_skl_callbacks" not in vars(turned(model, tmp_path))
