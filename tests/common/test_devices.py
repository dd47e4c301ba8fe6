"""The rule of devices: X decides, and what cannot compute there says so.

Every estimator is handed a tensor of a stand-in device, which computes in main memory
and counts what crosses to the host, so that a machine without a GPU guards the rule.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pansophy.base import ON_DEVICES  # noqa: E402
from pansophy.testing import all_estimators  # noqa: E402
from pansophy.testing.device_survey import device_answer  # noqa: E402
from pansophy.testing.stand_in_device import StandInDevice  # noqa: E402

# what crosses to the host although it is as much as X, and why that is no silent move
KERNEL_ROWS = "the dual is solved on the host over kernel rows made on the device"
CROSSES = {
    "BisectingKMeans": "labels and weights of the rows, not the rows",
    "GaussianMixtureClassifier": "the labelled rows start the components",
    "LinearSVR": "multipliers of the rows, not the rows",
    "MLPClassifier": "the weights of the net",
    "MLPRegressor": "the weights of the net",
    "MiniBatchKMeans": "weights and the rows that start the centres",
    "MixedNB": "the columns of categories, which are counted",
    "CategoricalNB": "the columns of categories, which are counted",
    "MixtureRegressor": "the means given the rows",
    "NegativeBinomialRegressor": "residuals of the dispersion, not the rows",
    "NuSVC": KERNEL_ROWS,
    "NuSVR": KERNEL_ROWS,
    "Nystroem": "the kernel among the component rows",
    "OneClassSVM": KERNEL_ROWS,
    "SVC": KERNEL_ROWS,
    "SVR": KERNEL_ROWS,
}
SLOW = {"GaussianProcessRegressor", "NegativeBinomialRegressor", "TSNE"}
ESTIMATORS = [
    pytest.param(name, cls, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name, cls in all_estimators()
]


@pytest.mark.parametrize(("name", "cls"), ESTIMATORS)
@pytest.mark.filterwarnings("ignore")
def test_answers_where_x_is_or_says_what_can(name, cls):
    with StandInDevice() as counts:
        found = device_answer(cls, "standin", counts, n_rows=500)
    wanted = ("there", "refuses", *(["moves"] if name in CROSSES else []))
    assert found.outcome in wanted, found.detail


def test_the_list_of_what_crosses_names_estimators():
    assert set(CROSSES) <= {name for name, _ in all_estimators()}


@pytest.mark.parametrize("names", ON_DEVICES.values())
@pytest.mark.filterwarnings("ignore")
def test_methods_that_a_refusal_names_compute_there(names):
    known = dict(all_estimators())
    for name in names.replace(" or ", ", ").split(", "):
        with StandInDevice() as counts:
            found = device_answer(known[name], "standin", counts, n_rows=2000)
        assert found.outcome == "there", found.detail


def test_a_refusal_is_one_sentence_that_names_methods():
    from pansophy.ensemble import RandomForestClassifier

    with StandInDevice():
        X = torch.ones((4, 2), device="standin")
        with pytest.raises(TypeError) as error:
            RandomForestClassifier().fit(X, [0, 1, 0, 1])
    assert str(error.value) == (
        "RandomForestClassifier computes with NumPy, but X is a tensor on standin:0: "
        "pass X.cpu(), or take LogisticRegression, KNeighborsClassifier or "
        "MLPClassifier, which computes there."
    )


def test_a_model_of_numpy_rows_answers_on_the_device():
    from pansophy.linear_model import LogisticRegression
    from pansophy.tree import DecisionTreeClassifier

    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    linear = LogisticRegression().fit(X, y)
    tree = DecisionTreeClassifier().fit(X, y)
    with StandInDevice():
        there = torch.as_tensor(X).to("standin")
        found = linear.predict(there)
        assert found.device.type == "standin"
        np.testing.assert_array_equal(found.cpu().numpy(), linear.predict(X))
        with pytest.raises(TypeError, match="DecisionTreeClassifier computes with"):
            tree.predict(there)


STRICT = {
    "KMeans": {"n_clusters": 3, "random_state": 0},
    "LinearRegression": {},
    "LogisticRegression": {},
    "PCA": {"n_components": 2},
    "Ridge": {},
}


@pytest.mark.parametrize("name", STRICT)
def test_arrays_of_a_second_device_stay_there(name):
    """`array_api_strict` refuses to show NumPy what is on another device."""
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = (X[:, 0] > 0).astype(float) if name == "LogisticRegression" else X[:, 0]
    away = strict.Device("device1")
    model = dict(all_estimators())[name](**STRICT[name])
    model.fit(strict.asarray(X, device=away), strict.asarray(y, device=away))
    method = "transform" if name == "PCA" else "predict"
    found = getattr(model, method)(strict.asarray(X, device=away))
    assert found.device == away
