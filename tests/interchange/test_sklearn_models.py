"""Fitted models of scikit-learn come in with their answers, and can be saved."""

import numpy as np
import pytest
import sklearn.cluster
import sklearn.decomposition
import sklearn.ensemble
import sklearn.linear_model
import sklearn.neighbors
import sklearn.neural_network
import sklearn.svm
import sklearn.tree

from pansophy import persist
from pansophy.interchange import ExportError, from_sklearn

LM, NETS = sklearn.linear_model, sklearn.neural_network
CLASSIFIERS = [
    LM.LogisticRegression(),
    LM.RidgeClassifier(),
    sklearn.svm.LinearSVC(),
    sklearn.tree.DecisionTreeClassifier(max_depth=4, random_state=0),
    sklearn.ensemble.RandomForestClassifier(7, random_state=0),
    sklearn.ensemble.ExtraTreesClassifier(7, random_state=0),
]
REGRESSORS = [
    LM.LinearRegression(),
    LM.Ridge(),
    LM.Lasso(0.01),
    LM.HuberRegressor(),
    sklearn.svm.LinearSVR(),
    sklearn.tree.DecisionTreeRegressor(max_depth=4, random_state=0),
    sklearn.ensemble.RandomForestRegressor(7, random_state=0),
]
name_of = lambda model: type(model).__name__


def rows(rng, n_classes=2):
    X = rng.normal(size=(120, 4))
    f = X[:, 0] + X[:, 1] ** 2
    y = np.digitize(f, np.quantile(f, np.arange(1, n_classes) / n_classes))
    return X, np.array(["a", "b", "c"])[y], f


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_classifiers_answer_as_before_and_are_saved(model, n_classes, rng, tmp_path):
    X, y, _ = rows(rng, n_classes)
    ours = from_sklearn(model.fit(X, y), X)
    assert type(ours).__module__.startswith("pansophy.")
    persist.save(ours, tmp_path / "m.pansophy")
    again = persist.load(tmp_path / "m.pansophy")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("model", REGRESSORS, ids=name_of)
def test_regressors_answer_as_before_and_are_saved(model, rng, tmp_path):
    X, _, y = rows(rng)
    ours = from_sklearn(model.fit(X, y))
    persist.save(ours, tmp_path / "m.pansophy")
    found = persist.load(tmp_path / "m.pansophy").predict(X)
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-6, atol=1e-9)


def test_clusters_components_and_nets(rng):
    X, y, _ = rows(rng, 3)
    kmeans = sklearn.cluster.KMeans(3, n_init=1, random_state=0).fit(X)
    np.testing.assert_array_equal(from_sklearn(kmeans, X).predict(X), kmeans.labels_)
    pca = sklearn.decomposition.PCA(2).fit(X)
    np.testing.assert_allclose(from_sklearn(pca, X).transform(X), pca.transform(X))
    pytest.importorskip("torch")
    net = NETS.MLPClassifier((5,), solver="lbfgs", random_state=0, max_iter=2000)
    net.fit(X, y)
    found = from_sklearn(net, X).predict_proba(X)
    np.testing.assert_allclose(found, net.predict_proba(X), rtol=1e-5, atol=1e-6)


def test_missing_values_take_the_same_way(rng):
    X, y, _ = rows(rng)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = sklearn.tree.DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(from_sklearn(model, X).predict(X), model.predict(X))


def test_what_has_no_equal_is_refused(rng):
    X, y, f = rows(rng)
    with pytest.raises(ExportError, match="KNeighborsClassifier do not mean the same"):
        from_sklearn(sklearn.neighbors.KNeighborsClassifier().fit(X, y))
    several = sklearn.tree.DecisionTreeRegressor().fit(X, np.c_[f, f])
    with pytest.raises(ExportError, match="several targets"):
        from_sklearn(several)
    model = LM.Ridge().fit(X, f)
    model.predict = lambda X: np.zeros(len(X))
    with pytest.raises(ExportError, match=r"Ridge\.predict answers otherwise"):
        from_sklearn(model, X)
