"""Changing the word sklearn to pansophy in an import line is all a user does.

For every estimator that scikit-learn has too: the same parameters with the same
defaults (differences are listed with a reason), the same fitted attributes and
methods.
"""

import importlib
import inspect
import warnings

import numpy as np
import pytest

from pansophy.testing import all_estimators

AUTO = "picks the solver by shape; scikit-learn's choices are accepted by name"
# class -> parameter -> why its default is another
DEFAULTS = {
    "LinearRegression": {"tol": "rank is decided by rounding; 1e-6 loses directions"},
    "LogisticRegression": {"solver": AUTO},
    "LogisticRegressionCV": {"solver": AUTO},
    "PoissonRegressor": {"solver": AUTO},
    "GammaRegressor": {"solver": AUTO},
    "TweedieRegressor": {"solver": AUTO},
    "QuantileRegressor": {"solver": AUTO},
}
DEFAULTS["TSNE"] = {"method": "picks the push by number of points; all are accepted"}
DEFAULTS["MDS"] = {"init": "classical scaling, which scikit-learn 1.10 takes as well"}
PROBABLE = "not deprecated here: predict_proba agrees with predict"
DEFAULTS["SVC"] = DEFAULTS["NuSVC"] = {"probability": PROBABLE}
# class -> fitted attribute -> why there is none
ATTRIBUTES: dict[str, dict[str, str]] = {
    "KernelPCA": {"inverse_transform": "there with fit_inverse_transform=True only"},
}
PARTS = "an object of scikit-learn's own; rows, vectors and values are kept instead"
ATTRIBUTES["Isomap"] = {"nbrs_": PARTS, "kernel_pca_": PARTS}
ATTRIBUTES["LocallyLinearEmbedding"] = {"nbrs_": PARTS}
SIGMOIDS = "the sigmoids are there with probability=True only"
ATTRIBUTES["SVC"] = ATTRIBUTES["NuSVC"] = {"probA_": SIGMOIDS, "probB_": SIGMOIDS}
STREAM = "a stream of random numbers is not part of a model"
ATTRIBUTES["LatentDirichletAllocation"] = {"random_state_": STREAM}
ATTRIBUTES["GaussianProcessClassifier"] = {"base_estimator_": PARTS}


def theirs(name, cls):
    """scikit-learn's class of the same name in the module of the same name."""
    domain = cls.__module__.split(".")[1]
    try:
        return getattr(importlib.import_module(f"sklearn.{domain}"), name, None)
    except ImportError:
        return None


PAIRS = [
    pytest.param(cls, theirs(name, cls), id=name)
    for name, cls in all_estimators()
    if theirs(name, cls) is not None
]


def defaults(cls):
    return {
        name: p.default
        for name, p in inspect.signature(cls).parameters.items()
        if p.default is not inspect.Parameter.empty
    }


def test_there_are_many():
    assert len(PAIRS) > 40


@pytest.mark.parametrize(("ours", "peer"), PAIRS)
def test_parameters(ours, peer):
    mine, have = inspect.signature(ours).parameters, defaults(ours)
    missing = [name for name in inspect.signature(peer).parameters if name not in mine]
    assert not missing, f"parameters of scikit-learn's that are missing: {missing}"
    excused = DEFAULTS.get(ours.__name__, {})
    for name, value in defaults(peer).items():
        if name in excused:
            assert len(excused[name]) > 20
            continue
        same = repr(have[name]) == repr(value) or have[name] == value
        assert same, f"{name}: {have[name]!r} here, {value!r} in scikit-learn"


def make(cls):
    """An instance with defaults; some need an estimator inside."""
    from sklearn.base import ClassifierMixin
    from sklearn.linear_model import LinearRegression, LogisticRegression

    if "estimators" in inspect.signature(cls).parameters:
        classes = issubclass(cls, ClassifierMixin)
        return cls([("a", LogisticRegression() if classes else LinearRegression())])
    needs = "estimator" in inspect.signature(cls).parameters
    if needs and cls.__name__ == "SelfTrainingClassifier":
        return cls(LogisticRegression())
    needs = needs and not issubclass(cls, ClassifierMixin)  # those have a default
    return cls(LinearRegression()) if needs else cls()


def table(cls):
    """Rows and targets that the class can be fitted to."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    tags = make(cls).__sklearn_tags__()
    if tags.input_tags.positive_only or cls.__name__ == "CategoricalNB":
        X = np.abs(X).round()
    if tags.estimator_type == "classifier":
        return X, rng.integers(0, 3, size=60)
    y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=60)
    if tags.target_tags.positive_only:
        y = np.abs(y) + 0.1
    if tags.target_tags.single_output is False:
        return X, np.column_stack([y, -y])
    return X, y


def promised(model):
    """Fitted attributes and methods; requests for metadata are made by the base."""
    names = {n for n in dir(model) if not n.startswith(("_", "set_"))}
    is_method = lambda n: inspect.isroutine(getattr(type(model), n, None))
    return {n for n in names if n.endswith("_") or is_method(n)}


@pytest.mark.parametrize(("ours", "peer"), PAIRS)
def test_fitted_attributes_and_methods(ours, peer):
    X, y = table(peer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a, b = make(ours).fit(X, y), make(peer).fit(X, y)
    excused = ATTRIBUTES.get(ours.__name__, {})
    missing = sorted(promised(b) - set(dir(a)) - set(excused))
    assert not missing, f"{ours.__name__} lacks {missing}"
