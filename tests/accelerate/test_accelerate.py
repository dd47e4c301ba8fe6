"""Scripts for scikit-learn and hmmlearn run on our classes, unchanged."""

import copy
import importlib
import io
import pickle
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import sklearn
import sklearn.cluster
import sklearn.decomposition
import sklearn.ensemble
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.neighbors
import sklearn.svm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import pansophy
from pansophy.accelerate.accelerated_class import OURS
from pansophy.accelerate.replacement import STATE, find_originals
from pansophy.accelerate.report import FITS
from pansophy.scikit_learn import provider


@pytest.fixture
def accelerated():
    FITS.clear()
    with pansophy.accelerate(show_report=False):
        yield
    FITS.clear()


@pytest.fixture
def table():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 4))
    return X, X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * rng.normal(size=80)


def test_every_class_of_both_libraries_is_replaced():
    names = find_originals()
    assert len(names) > 110
    for name in names:
        if name.startswith("sklearn.") and not name.endswith("Vectorizer"):
            assert provider(name.replace("sklearn", "pansophy", 1)) == "pansophy"


def test_fits_are_ours_and_look_like_the_original(accelerated, table):
    X, y = table
    model = sklearn.linear_model.Ridge(alpha=2.0).fit(X, y)
    original = STATE.originals["sklearn.linear_model.Ridge"]
    assert type(model.accelerated_) is pansophy.linear_model.Ridge
    assert isinstance(model, original)
    assert isinstance(model, sklearn.linear_model.Ridge)
    assert isinstance(original(), sklearn.linear_model.Ridge)
    assert isinstance(model.accelerated_, sklearn.linear_model.Ridge)
    assert not isinstance(model, sklearn.linear_model.Lasso)
    assert issubclass(original, sklearn.linear_model.Ridge)
    np.testing.assert_allclose(model.coef_, original(alpha=2.0).fit(X, y).coef_)
    assert repr(model) == "Ridge(alpha=2.0)"
    check_is_fitted(model)
    with pytest.raises(AttributeError):
        _ = sklearn.linear_model.Ridge().coef_
    with pytest.raises(sklearn.exceptions.NotFittedError):
        sklearn.linear_model.Ridge().predict(X)


def test_clones_copies_and_pickles_hold(accelerated, table):
    X, y = table
    model = sklearn.ensemble.RandomForestRegressor(4, random_state=0).fit(X, y)
    twin = clone(model)
    assert type(twin) is type(model)
    assert OURS not in vars(twin)
    assert twin.get_params() == model.get_params()
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert isinstance(other, sklearn.ensemble.RandomForestRegressor)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_pickles_are_read_without_acceleration(accelerated, table, tmp_path):
    X, y = table
    model = sklearn.linear_model.Lasso(alpha=0.1).fit(X, y)
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    code = """
        import pickle, sys
        import sklearn.linear_model as library
        with open(sys.argv[1], "rb") as file:
            model = pickle.load(file)
        assert isinstance(model, library.Lasso)
        assert library.Lasso.__module__.startswith("sklearn")
        print(repr(float(model.predict([[1.0, 2.0, 3.0, 4.0]])[0])))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), tmp_path / "model.pickle"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == model.predict([[1.0, 2.0, 3.0, 4.0]])[0]


def test_what_ours_refuses_the_original_fits(accelerated, table, monkeypatch):
    X, y = table

    def refuse(self, *args, **keywords):
        raise ValueError("not this table.\nmore")

    model = sklearn.linear_model.Ridge().fit(X, y)
    ours = model.coef_.copy()
    monkeypatch.setattr(pansophy.linear_model.Ridge, "fit", refuse)
    model.fit(X, 2 * y)
    assert OURS not in vars(model)
    np.testing.assert_allclose(model.coef_, 2 * ours, rtol=1e-6)
    counts = FITS["sklearn.linear_model.Ridge"]
    assert counts.ours == 1
    assert counts.original == {"not this table.": 1}
    assert "1 x not this table." in str(pansophy.accelerate.fit_report())
    monkeypatch.undo()
    model.fit(X, 3 * y)  # ours again, and nothing of the other fit is left
    np.testing.assert_allclose(model.coef_, 3 * ours, rtol=1e-6)
    assert "coef_" not in vars(model)


def test_errors_are_those_of_the_original(accelerated):
    with pytest.raises(ValueError, match="Found input variables with inconsistent"):
        sklearn.linear_model.Ridge().fit(np.ones((3, 2)), np.ones(4))
    with pytest.raises(TypeError, match="unexpected keyword"):
        sklearn.linear_model.Ridge(alhpa=1.0)


def test_random_streams_are_those_of_the_original(accelerated, table):
    X, _ = table
    centers = []
    for _ in range(2):
        np.random.seed(3)
        model = sklearn.cluster.KMeans(5, n_init=1, init="random", max_iter=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            centers.append(model.fit(X).cluster_centers_)
    np.testing.assert_array_equal(*centers)


def test_a_block_without(accelerated, table):
    X, y = table
    held = sklearn.linear_model.Ridge
    with pansophy.accelerate(False):
        assert sklearn.linear_model.Ridge is STATE.originals[f"{held.__qualname__}"]
        assert OURS not in vars(held().fit(X, y))
        assert not pansophy.accelerate.is_active()
    assert sklearn.linear_model.Ridge is held
    assert OURS in vars(held().fit(X, y))


def test_parameters_and_attributes_may_be_set(accelerated, table):
    X, y = table
    model = sklearn.neighbors.KNeighborsRegressor(3).fit(X, y)
    model.set_params(n_neighbors=1)
    np.testing.assert_allclose(model.predict(X), y)
    line = sklearn.linear_model.LinearRegression().fit(X, y)
    line.coef_ = np.zeros(4)
    np.testing.assert_allclose(line.predict(X), line.intercept_)
    ridge = sklearn.linear_model.Ridge(alpha=1e6).fit(X, y)
    ridge.set_params(alpha=1.0).fit(X, y)  # back at the default
    fresh = sklearn.linear_model.Ridge().fit(X, y)
    np.testing.assert_array_equal(ridge.coef_, fresh.coef_)


def test_estimators_inside_estimators_are_ours_too(accelerated, table):
    X, y = table
    tree = sklearn.ensemble.BaggingRegressor(
        sklearn.linear_model.Ridge(), n_estimators=2, random_state=0
    ).fit(X, y)
    assert isinstance(tree.estimators_[0], sklearn.linear_model.Ridge)
    assert type(tree.estimators_[0]) is pansophy.linear_model.Ridge


def test_searches_and_pipelines(accelerated, table):
    X, y = table
    labels = (y > 0).astype(int)
    pipeline = make_pipeline(StandardScaler(), sklearn.svm.SVC())
    search = GridSearchCV(pipeline, {"svc__C": [0.01, 1.0]}, cv=2, n_jobs=1)
    search.fit(X, labels)
    assert FITS["sklearn.svm.SVC"].ours == 5
    assert not FITS["sklearn.svm.SVC"].original
    assert not hasattr(search, "predict_proba")  # no probabilities were asked for
    names = sklearn.decomposition.PCA(2).fit(X).get_feature_names_out()
    assert names.tolist() == ["pca0", "pca1"]
    pandas = pytest.importorskip("pandas")
    scores = sklearn.decomposition.PCA(2).set_output(transform="pandas")
    assert isinstance(scores.fit_transform(X), pandas.DataFrame)


def test_partial_fit_goes_on_with_who_began(accelerated, table):
    X, y = table
    labels = (y > 0).astype(int)
    model = sklearn.naive_bayes.GaussianNB()
    model.partial_fit(X[:40], labels[:40], classes=[0, 1])
    model.partial_fit(X[40:], labels[40:])
    whole = sklearn.naive_bayes.GaussianNB().fit(X, labels)
    np.testing.assert_allclose(model.theta_, whole.theta_)
    with pansophy.accelerate(False):
        other = sklearn.naive_bayes.GaussianNB()
        other.partial_fit(X[:40], labels[:40], classes=[0, 1])
    # made before, or read from a pickle of the original: it stays what it is
    held = type(model)()
    vars(held).update(vars(other))
    held.partial_fit(X[40:], labels[40:])
    assert OURS not in vars(held)
    np.testing.assert_allclose(held.theta_, whole.theta_)


def test_subclasses_of_the_user(accelerated, table):
    X = table[0]

    class Counted(sklearn.cluster.KMeans):
        def fit(self, X, y=None, sample_weight=None):
            self.n_rows = len(X)
            return super().fit(X, y, sample_weight)

    class Altered(sklearn.cluster.KMeans):
        def _init_centroids(self, X, **keywords):
            self.was_called = True
            return super()._init_centroids(X, **keywords)

    model = Counted(3, n_init=1, random_state=0).fit(X)
    assert OURS in vars(model)
    assert model.n_rows == 80
    model = Altered(3, n_init=1, random_state=0).fit(X)
    assert model.was_called
    assert OURS not in vars(model)


def test_a_gaussian_process_has_no_prior_of_ours(accelerated, table):
    X, y = table
    gp = importlib.import_module("sklearn.gaussian_process")
    model = gp.GaussianProcessRegressor(alpha=0.1).fit(X, y)
    assert OURS in vars(model)
    with pansophy.accelerate(False):
        other = gp.GaussianProcessRegressor(alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-3)


def test_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(1)
    X = np.repeat([0.0, 5.0, 0.0, 5.0], 30)[:, None] + 0.1 * rng.normal(size=(120, 1))
    with pansophy.accelerate(show_report=False):
        model = hmm.GaussianHMM(2, init_params="", n_iter=5)
        model.startprob_ = np.array([0.5, 0.5])
        model.transmat_ = np.array([[0.9, 0.1], [0.1, 0.9]])
        model.means_ = np.array([[5.5], [-0.5]])
        model.covars_ = np.ones((2, 1))
        assert model.sample(3, random_state=0)[0].shape == (3, 1)
        model.fit(X)
        assert OURS in vars(model)
        np.testing.assert_allclose(model.means_.ravel(), [5.0, 0.0], atol=0.1)
        assert model.predict(X)[0] == 1
        assert model.monitor_.converged in (True, False)


SCRIPT = """
import sys
from sklearn.linear_model import Ridge, Lars
X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]
print(sys.argv[1:], __name__, Ridge().fit(X, y).coef_.round(2), Lars().fit(X, y).coef_)
"""


def test_the_command(tmp_path):
    script = tmp_path / "work.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "pansophy.accelerate"]
    done = subprocess.run(
        [*command, script, "one", "--two"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['one', '--two'] __main__ [0.67] [1.]\n"
    told = done.stderr.splitlines()
    assert told[0].endswith("1 fits by pansophy, 0 by the original classes.")
    assert told[-1].endswith("no class of this name: sklearn.linear_model.Lars")
    done = subprocess.run(
        [*command, "--quiet", "-m", "work", "x"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.stdout.startswith("['x'] __main__")
    assert not done.stderr
    done = subprocess.run([*command, "nowhere.py"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "python -m pansophy.accelerate: no such file: nowhere.py\n"


def test_names_imported_before_are_told(monkeypatch):
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "Ridge", sklearn.linear_model.Ridge, raising=False)
    with (
        pytest.warns(UserWarning, match="Ridge: imported before"),
        pansophy.accelerate(show_report=False),
    ):
        pass


def test_predictions_agree_with_the_original(accelerated, table):
    """One estimator of each family, within what a solver's tolerance leaves."""
    X, y = table
    for module, name, options in (
        ("linear_model", "ElasticNet", {"alpha": 0.1}),
        ("linear_model", "HuberRegressor", {}),
        ("svm", "SVR", {"tol": 1e-6}),
        ("kernel_ridge", "KernelRidge", {"kernel": "rbf"}),
    ):
        cls = getattr(importlib.import_module(f"sklearn.{module}"), name)
        ours = cross_val_predict(cls(**options), X, y, cv=2)
        with pansophy.accelerate(False):
            original = STATE.originals[f"sklearn.{module}.{name}"]
            theirs = cross_val_predict(original(**options), X, y, cv=2)
        np.testing.assert_allclose(ours, theirs, atol=2e-3, err_msg=name)
        assert not FITS[f"sklearn.{module}.{name}"].original


def test_an_empty_report_reads_well(accelerated):
    stream = io.StringIO()
    print(pansophy.accelerate.fit_report(), file=stream)
    assert stream.getvalue().startswith("pansophy.accelerate: 0 fits by pansophy")
