"""Names that load on first use."""

import sys
import types

import pytest

from pansophy.core.lazy_names import lazy_names


@pytest.fixture
def package(monkeypatch):
    module = types.ModuleType("made_package")
    monkeypatch.setitem(sys.modules, "made_package", module)
    return module


def test_a_name_is_kept_after_its_first_use(package):
    _, load, _ = lazy_names("made_package", {"pansophy.core.numerics": "softmax"})
    assert load("softmax") is package.softmax


def test_an_unknown_name_is_an_attribute_error(package):
    _, load, _ = lazy_names("made_package", {})
    with pytest.raises(AttributeError, match="no attribute 'nine'"):
        load("nine")


def test_names_of_a_missing_distribution_are_not_listed(package):
    homes = {"pansophy.core.numerics": "softmax sigmoid"}
    listed, _, names = lazy_names("made_package", homes, {"no_such_one": "softmax"})
    assert listed == ["sigmoid"]
    assert "softmax" not in names()


def test_a_missing_distribution_is_named_with_its_extra(package, monkeypatch, tmp_path):
    (tmp_path / "needs_torch.py").write_text("import torch\n\nname = torch\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)

    class WithoutTorch:
        def find_spec(self, name, path=None, target=None):
            if name == "torch":
                raise ModuleNotFoundError("no torch", name="torch")

    monkeypatch.setattr(sys, "meta_path", [WithoutTorch(), *sys.meta_path])
    _, load, _ = lazy_names("made_package", {"needs_torch": "name"})
    with pytest.raises(ImportError, match=r"name needs torch.*pansophy\[deep\]"):
        load("name")
