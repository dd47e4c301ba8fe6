"""Every exported method gives the answers of the model through onnxruntime."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

import pansophy as ps
from pansophy.interchange import to_onnx

pytest.importorskip("onnxruntime")
LM, TREE, ENSEMBLE, SVM = ps.linear_model, ps.tree, ps.ensemble, ps.svm
N = 150

CLASSIFIERS = {
    "logistic": lambda: LM.LogisticRegression(),
    "discriminant": lambda: ps.discriminant_analysis.LinearDiscriminantAnalysis(),
    "linear machine": lambda: SVM.LinearSVC(),
    "ridge": lambda: LM.RidgeClassifier(),
    "gaussian": lambda: ps.naive_bayes.GaussianNB(),
    "bernoulli": lambda: ps.naive_bayes.BernoulliNB(binarize=0.2),
    "rbf machine": lambda: SVM.SVC(),
    "pairs of a machine": lambda: SVM.SVC(decision_function_shape="ovo"),
    "polynomial machine": lambda: SVM.SVC(kernel="poly", degree=2, coef0=1.0),
    "linear kernel": lambda: SVM.SVC(kernel="linear"),
    "tree": lambda: TREE.DecisionTreeClassifier(max_leaf_nodes=9),
    "stump of one leaf": lambda: TREE.DecisionTreeClassifier(min_samples_leaf=100),
    "forest": lambda: ENSEMBLE.RandomForestClassifier(7, random_state=0),
    "extra trees": lambda: ENSEMBLE.ExtraTreesClassifier(7, random_state=0),
    "histograms": lambda: ENSEMBLE.HistGradientBoostingClassifier(max_iter=7),
    "boosting": lambda: ENSEMBLE.GradientBoostingClassifier(n_estimators=7),
    "pipeline": lambda: make_pipeline(StandardScaler(), LM.LogisticRegression()),
}
REGRESSORS = {
    "least squares": lambda: LM.LinearRegression(),
    "ridge": lambda: LM.Ridge(),
    "lasso": lambda: LM.Lasso(alpha=0.05),
    "bayes": lambda: LM.BayesianRidge(),
    "huber": lambda: LM.HuberRegressor(),
    "rbf machine": lambda: SVM.SVR(),
    "linear machine": lambda: SVM.LinearSVR(),
    "tree": lambda: TREE.DecisionTreeRegressor(max_leaf_nodes=9),
    "forest": lambda: ENSEMBLE.RandomForestRegressor(7, random_state=0),
    "histograms": lambda: ENSEMBLE.HistGradientBoostingRegressor(max_iter=7),
    "boosting": lambda: ENSEMBLE.GradientBoostingRegressor(n_estimators=7),
}
COUNTS = {
    "poisson": lambda: LM.PoissonRegressor(),
    "tweedie": lambda: LM.TweedieRegressor(power=1.0),
    "poisson trees": lambda: ENSEMBLE.HistGradientBoostingRegressor(
        loss="poisson", max_iter=7
    ),
}
TRANSFORMERS = {
    "components": lambda: ps.decomposition.PCA(2),
    "white components": lambda: ps.decomposition.PCA(2, whiten=True),
    "standard": lambda: StandardScaler(),
    "robust": lambda: RobustScaler(),
    "range": lambda: MinMaxScaler(clip=True),
    "largest": lambda: MaxAbsScaler(),
}


def classes_of(X, n_classes, rng):
    noisy = X[:, 0] + 0.7 * X[:, 1] ** 2 + 0.3 * rng.normal(size=len(X))
    return np.digitize(noisy, np.quantile(noisy, np.arange(1, n_classes) / n_classes))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name, n_classes, rng):
    X = rng.normal(size=(N, 4))
    y = np.array(["no", "yes", "perhaps"])[classes_of(X, n_classes, rng)]
    report = to_onnx(CLASSIFIERS[name]().fit(X, y), X)
    assert report.difference < 1e-9 and report.rows == N
    assert report.outputs[0] == "label"
    assert report.outputs[1] in ("probabilities", "scores")


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name, rng):
    X = rng.normal(size=(N, 4))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=N)
    assert to_onnx(REGRESSORS[name]().fit(X, y), X).difference < 1e-9


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name, rng):
    X = rng.normal(size=(N, 4))
    y = rng.poisson(np.exp(0.5 + 0.4 * X[:, 0])).astype(float)
    assert to_onnx(COUNTS[name]().fit(X, y), X).difference < 1e-9


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(name, rng):
    X = 3 + rng.normal(size=(N, 4)) * [1, 5, 0.1, 100]
    assert to_onnx(TRANSFORMERS[name]().fit(X), X).difference < 1e-9


def test_several_targets_and_counts_of_words(rng):
    X = rng.normal(size=(N, 4))
    assert to_onnx(LM.Ridge().fit(X, X[:, :2] ** 2), X).difference < 1e-9
    words = rng.poisson(1.0, size=(N, 6)).astype(float)
    y = (words[:, 0] > words[:, 1]).astype(int)
    report = to_onnx(ps.naive_bayes.MultinomialNB().fit(words, y), words)
    assert report.difference < 1e-9


def test_clusters_and_their_labels(rng):
    X = rng.normal(size=(N, 3))
    report = to_onnx(ps.cluster.KMeans(4, n_init=1, random_state=0).fit(X), X)
    assert report.outputs == ["label"]


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_perceptrons(activation, rng):
    pytest.importorskip("torch")
    nets = ps.neural_network
    X = rng.normal(size=(N, 4)).astype(np.float32)
    options = {
        "hidden_layer_sizes": (6, 5),
        "activation": activation,
        "max_iter": 3,
        "random_state": 0,
    }
    y = classes_of(X, 3, rng)
    for model, target in (
        (nets.MLPClassifier(**options), y),
        (nets.MLPClassifier(**options), (y > 0).astype(int)),
        (nets.MLPRegressor(**options), X[:, 0]),
    ):
        with pytest.warns(ConvergenceWarning):
            model.fit(X, target)
        report = to_onnx(model, X, limit=1e-5)  # the net itself has float32 weights
        assert report.difference < 1e-5
