"""Every estimator through scikit-learn's checks; nothing fails without a reason."""

import inspect
from dataclasses import fields, is_dataclass
from pathlib import Path
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from pansophy.base import Estimator
from pansophy.params import rules_of
from pansophy.testing import (
    all_estimators,
    expected_errors,
    quick_instance,
    role_names,
)

ESTIMATORS = all_estimators()

# The checks that ask how well an estimator learns. All others ask for the same numbers,
# shapes and errors whatever the amount of training, of which little is then enough.
JUDGES = {
    "check_class_weight_classifiers",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_clustering",
    "check_regressors_train",
}
BRIEF_ITERATIONS = {"MLPClassifier", "MLPRegressor"} | {
    "MixtureOfExperts",
    "MixtureOfExpertsClassifier",
}


def check_name(check):
    return getattr(check, "func", check).__name__


def barely_trained(cls):
    """A `quick_instance` that is fitted by two passes over the rows."""
    model = quick_instance(cls)
    if "n_epochs" in model.get_params(deep=False):
        model.set_params(n_epochs=min(model.n_epochs, 2))
    elif cls.__name__ in BRIEF_ITERATIONS:
        model.set_params(max_iter=2)
    return model


CHECKS = [
    pytest.param(
        quick_instance(cls) if check_name(check) in JUDGES else est,
        check,
        id=f"{name}-{check_name(check)}",
    )
    for name, cls in ESTIMATORS
    for est, check in estimator_checks_generator(barely_trained(cls))
]


@pytest.mark.filterwarnings("ignore")  # the checks fit odd data on purpose
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_check(estimator, check):
    failure = expected_errors(estimator).get(check_name(check))
    if failure is None:
        check(estimator)
        return
    try:
        check(estimator)
    except failure.error as error:
        assert failure.message in " ".join(messages(error))
    else:
        assert not failure.certain, f"{check_name(check)} passes"


def messages(error):
    """What an exception and those that led to it say."""
    while error is not None:
        yield str(error)
        error = error.__cause__ or error.__context__


def test_expected_failures_name_real_checks_and_give_reasons():
    for _, cls in ESTIMATORS:
        names = {check_name(check) for _, check in estimator_checks_generator(cls())}
        for check, failure in expected_errors(cls()).items():
            assert check in names, f"{cls.__name__} has no check {check}"
            assert len(failure.reason) > 20, f"say why {cls.__name__} fails {check}"
            assert len(failure.message) >= 10, f"say how {cls.__name__} fails {check}"
            assert issubclass(failure.error, Exception)
            assert failure.error not in (Exception, SkipTest), cls.__name__


@pytest.mark.parametrize(("name", "cls"), ESTIMATORS)
def test_anatomy(name, cls):
    """A final dataclass with typed parameters, its roles left of Estimator."""
    assert is_dataclass(cls)
    assert cls.__eq__ is object.__eq__, "use @dataclass(eq=False, repr=False)"
    assert role_names(cls)
    last = cls.__bases__[-1]
    assert last is Estimator or last.__name__.startswith("Abstract")
    heirs = [c for c in cls.__subclasses__() if c.__module__.startswith("pansophy.")]
    assert not heirs, "concrete classes are final"
    parameters = {f.name for f in fields(cls)}
    assert set(rules_of(cls)) == parameters
    assert name == cls.__name__


TESTS = Path(__file__).parents[1]
# estimators that are tested beside a relative
TESTED_WITH = {
    "MultiTaskElasticNetCV": "linear_model/lasso/test_lasso_cv.py",
    "MultiTaskLassoCV": "linear_model/lasso/test_lasso_cv.py",
}


@pytest.mark.parametrize(("name", "cls"), ESTIMATORS)
def test_the_tests_of_a_module_have_its_name(name, cls):
    module = Path(*cls.__module__.split(".")[1:])
    places = [module.with_name(f"test_{module.name}.py"), TESTED_WITH.get(name, "")]
    files = [TESTS / place for place in places if (TESTS / place).is_file()]
    named = any(name in file.read_text("utf-8") for file in files)
    assert named, f"{name} is not tested in tests/{places[0]}"


@pytest.mark.parametrize(("name", "cls"), ESTIMATORS)
def test_every_parameter_is_described(name, cls):
    text = inspect.getdoc(cls) or ""
    assert "Parameters\n" in text
    assert "Examples\n" in text
    assert ">>>" in text
    missing = [f.name for f in fields(cls) if f"{f.name} : " not in text]
    shared = [m for m in missing if f", {m}" not in text and f"{m}, " not in text]
    assert not shared, f"{name}: describe {', '.join(shared)}"


@pytest.mark.parametrize(("name", "cls"), ESTIMATORS)
def test_signature_shows_plain_types_and_a_misspelt_keyword_is_explained(name, cls):
    signature = inspect.signature(cls)
    assert set(signature.parameters) == {f.name for f in fields(cls)}
    assert "Annotated" not in str(signature)
    for parameter in signature.parameters:
        for misspelt in (parameter.swapcase(), parameter + "s", parameter[:-1]):
            if misspelt in signature.parameters or len(parameter) < 5:
                continue
            with pytest.raises(TypeError, match=f"{name} got.*'{misspelt}'.*Did you"):
                cls(**{misspelt: None})
    with pytest.raises(TypeError, match=f"{name} got an unexpected.*It takes"):
        cls(wxyz0123=None)
