"""Fitted scikit-learn estimators as ours, where the learned arrays mean the same.

The arrays are taken as they are and the answers compared on rows: nothing is fitted
again. So an estimator that was fitted elsewhere can be saved without pickle, explained,
exported and served.
"""

import importlib

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..tree.growing.input_encoding import InputEncoder
from ..tree.storage.packed_forest import KEEP_ALL, pack_forest
from ..tree.storage.tree import Tree
from .onnx_graph import ExportError

CHECK_ROWS = 256  # rows made up for the check where none are given
LIMIT = 1e-6

LINEAR = (
    "LinearRegression",
    "Ridge",
    "RidgeCV",
    "Lasso",
    "LassoCV",
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "QuantileRegressor",
    "TheilSenRegressor",
    "PoissonRegressor",
    "GammaRegressor",
    "TweedieRegressor",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "RidgeClassifier",
    "LinearSVC",
    "Perceptron",
)
# learned attributes that a prediction needs, by class
ARRAYS = {
    **dict.fromkeys(LINEAR, ("coef_", "intercept_")),
    "KMeans": ("cluster_centers_", "labels_", "inertia_", "n_iter_"),
    "PCA": (
        "components_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "mean_",
        "n_components_",
        "noise_variance_",
        "n_samples_",
    ),
    "MLPClassifier": (
        "coefs_",
        "intercepts_",
        "n_outputs_",
        "n_layers_",
        "out_activation_",
    ),
    "MLPRegressor": (
        "coefs_",
        "intercepts_",
        "n_outputs_",
        "n_layers_",
        "out_activation_",
    ),
}
TREES = (
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
)
FORESTS = (
    "RandomForestClassifier",
    "RandomForestRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
)


def from_sklearn(model, X=None):
    """A fitted scikit-learn estimator as the estimator of ours of the same name.

    Parameters
    ----------
    model : fitted estimator of scikit-learn
        Linear models and machines, trees and forests, perceptrons, k-means, PCA.
    X : rows, optional
        Rows to compare answers on; by default made-up ones.

    Returns
    -------
    estimator
        Ours, fitted: its answers are those of `model` to a relative 1e-6.

    Raises
    ------
    ExportError
        If there is no such estimator here, or if answers differ.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from pansophy.interchange import from_sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> theirs = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> ours = from_sklearn(theirs, X)
    >>> type(ours).__module__, bool((ours.predict(X) == theirs.predict(X)).all())
    ('pansophy.ensemble.forests.forest', True)
    """
    check_is_fitted(model)
    name = type(model).__name__
    if not type(model).__module__.startswith("sklearn."):
        raise ExportError(f"{name} is no estimator of scikit-learn.")
    if name in ARRAYS:
        converted = _same_parameters(model)
        _copy_arrays(converted, model, ARRAYS[name])
    elif name in TREES:
        converted = _same_parameters(model)
        _take_tree(converted, model)
    elif name in FORESTS:
        converted = _same_parameters(model)
        _take_forest(converted, model)
    else:
        raise ExportError(
            f"The learned arrays of {name} do not mean the same here, or it has no "
            "equal: docs/interchange.md lists those that do."
        )
    _check_answers(converted, model, _made_up_rows(model) if X is None else X)
    return converted


def _same_parameters(model):
    """Our estimator of that name with the parameters that it shares."""
    package = type(model).__module__.split(".")[1]
    counterpart = getattr(
        importlib.import_module(f"pansophy.{package}"), type(model).__name__, None
    )
    if counterpart is None or not counterpart.__module__.startswith("pansophy."):
        raise ExportError(f"pansophy.{package} has no {type(model).__name__} of ours.")
    known = counterpart().get_params(deep=False)
    parameters = model.get_params(deep=False)
    return counterpart(**{k: v for k, v in parameters.items() if k in known})


def _copy_arrays(converted, model, names) -> None:
    for name in ("n_features_in_", "feature_names_in_", "classes_", "n_iter_", *names):
        if hasattr(model, name):
            setattr(converted, name, getattr(model, name))
    if type(converted).__name__ == "RidgeClassifier":
        if model.classes_ is not None and np.ndim(model._label_binarizer.classes_) != 1:
            raise ExportError("Classifiers for several labels do not come in.")
        converted._multilabel = False
    if type(converted).__name__.startswith("MLP"):
        if type(getattr(model, "_label_binarizer", None)).__name__ == "LabelBinarizer":
            converted._multilabel = False
        if model.out_activation_ == "logistic" and hasattr(model, "classes_"):
            kind = getattr(model._label_binarizer, "y_type_", "")
            if kind.startswith("multilabel"):
                raise ExportError("Nets for several labels do not come in.")


def _tree_arrays(tree) -> Tree:
    """The arrays of a scikit-learn tree, which ours are called after."""
    missing = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count, bool))
    return Tree(
        tree.children_left.astype(np.int64),
        tree.children_right.astype(np.int64),
        tree.feature.astype(np.int64),
        tree.threshold.astype(float),
        tree.impurity.astype(float),
        tree.n_node_samples.astype(np.int64),
        tree.weighted_n_node_samples.astype(float),
        tree.value.astype(float),
        np.asarray(missing).astype(bool),
        int(tree.n_features),
    )


def _take_common(converted, model, largest_split) -> None:
    if model.n_outputs_ > 1:
        raise ExportError("Trees for several targets do not come in.")
    _copy_arrays(converted, model, ("n_outputs_", "n_classes_"))
    converted.max_features_ = largest_split
    converted.inputs_ = InputEncoder(np.zeros(model.n_features_in_, np.int8))


def _take_tree(converted, model) -> None:
    _take_common(converted, model, model.max_features_)
    converted.tree_ = _tree_arrays(model.tree_)


def _take_forest(converted, model) -> None:
    _take_common(converted, model, model.estimators_[0].max_features_)
    trees = [_tree_arrays(member.tree_) for member in model.estimators_]
    converted.forest_ = pack_forest(trees, KEEP_ALL)


def _made_up_rows(model) -> np.ndarray:
    """Made-up rows for the check."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(CHECK_ROWS, model.n_features_in_))


def _check_answers(converted, model, X) -> None:
    """Raise unless the two give the same answers."""
    for method in ("predict_proba", "decision_function", "predict", "transform"):
        if not (hasattr(model, method) and hasattr(converted, method)):
            continue
        theirs = np.asarray(getattr(model, method)(X))
        counterpart = np.asarray(getattr(converted, method)(X))
        if theirs.dtype.kind not in "fc":
            is_equal = (
                theirs.shape == counterpart.shape
                and (theirs == counterpart).mean() > 1 - 1e-3
            )
        else:
            is_equal = theirs.shape == counterpart.shape and np.allclose(
                counterpart, theirs, rtol=LIMIT, atol=LIMIT
            )
        if not is_equal:
            raise ExportError(
                f"{type(model).__name__}.{method} answers otherwise here; nothing is "
                "taken over."
            )
