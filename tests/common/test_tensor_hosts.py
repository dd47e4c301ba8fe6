"""Tensors given to models that compute with NumPy: the same answer, or one sentence."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from pansophy.testing import all_estimators, quick_instance

torch = pytest.importorskip("torch")

HOSTS = [(name, cls) for name, cls in all_estimators() if not cls._tensors]


def problem(cls):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(40, 3)))
    tags = quick_instance(cls).__sklearn_tags__()
    X = np.floor(3 * X) if tags.input_tags.categorical else X
    y = (X[:, 0] > 0.7).astype(int)
    X = X[:, :1] if cls.__name__ == "CategoricalHMM" else X  # a column of symbols
    return X, y, {"groups": np.arange(40)} if cls.__name__ == "MultipleInstance" else {}


@pytest.mark.parametrize(("name", "cls"), HOSTS, ids=[name for name, _ in HOSTS])
def test_tensors_in_main_memory_are_the_same_rows(name, cls):
    X, y, extra = problem(cls)
    seed = {"random_state": 0} if "random_state" in cls().get_params() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = quick_instance(cls).set_params(**seed).fit(X, y, **extra)
        given = torch.asarray(X), torch.asarray(y)
        model = quick_instance(cls).set_params(**seed).fit(*given, **extra)
        for method in ("predict", "transform"):
            if hasattr(plain, method):
                one = getattr(plain, method)(X)
                two = getattr(model, method)(torch.asarray(X))
                if sparse.issparse(one):
                    one, two = one.toarray(), two.toarray()
                np.testing.assert_array_equal(two, one)


@pytest.mark.parametrize(("name", "cls"), HOSTS, ids=[name for name, _ in HOSTS])
def test_tensors_elsewhere_are_refused_in_one_sentence(name, cls):
    X, y, extra = problem(cls)
    away = torch.empty(X.shape, device="meta")  # stands for a GPU
    says = f"{name} computes with NumPy, but X is a tensor on meta: pass X.cpu()"
    with pytest.raises(TypeError, match=says):
        quick_instance(cls).fit(away, y, **extra)


def test_a_model_of_numpy_arrays_predicts_tensors():
    from pansophy.naive_bayes import GaussianNB

    X, y, _ = problem(GaussianNB)
    model = GaussianNB().fit(X, y)
    np.testing.assert_array_equal(model.predict(torch.asarray(X)), model.predict(X))
    with pytest.raises(TypeError, match="GaussianNB computes with NumPy"):
        model.predict(torch.empty(X.shape, device="meta"))
