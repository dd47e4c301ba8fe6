"""The lists of estimators: roles, texts, generators, instances that are quick."""

import pytest

from pansophy.base import Classifier
from pansophy.linear_model import Ridge
from pansophy.testing import estimators


def test_lists_are_sorted_and_apart():
    rows = estimators.all_estimators()
    names = [name for name, _ in rows]
    assert names == sorted(set(names)) and "Ridge" in names
    assert all(not name.startswith(("_", "Abstract")) for name in names)
    texts = {name for name, _ in estimators.text_estimators()}
    assert texts and not texts & set(names)
    assert all(estimators.takes_texts(cls) for _, cls in estimators.text_estimators())


def test_roles():
    some = estimators.all_estimators("classifier")
    assert some and all(issubclass(cls, Classifier) for _, cls in some)
    assert estimators.role_names(Ridge) == ["regressor"]
    with pytest.raises((ValueError, KeyError)):
        estimators.all_estimators("odd")


def test_reasons_and_quick_instances():
    assert "n_iter_" in " ".join(estimators.expected_failures(Ridge()).values())
    for _, cls in estimators.all_estimators("density"):
        assert isinstance(estimators.quick_instance(cls), cls)


def test_an_expected_failure_says_with_what():
    failures = estimators.expected_errors(Ridge())
    assert {k: f.reason for k, f in failures.items()} == estimators.expected_failures(
        Ridge()
    )
    assert all(issubclass(f.error, Exception) and f.message for f in failures.values())
    assert estimators.expected_errors(object()) == {}
