"""Tensors, modules and compiled leaves: with and without torch and skops."""

import sys

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from pansophy import persist
from pansophy.persist import PersistError, foreign
from tests.persist.model_files import turned


def test_torch_tensors_and_modules_survive(tmp_path):
    torch = pytest.importorskip("torch")
    values = [
        torch.arange(3),
        torch.ones(2, 3, dtype=torch.bfloat16),
        torch.ones(2, dtype=torch.complex64) * 1j,
        torch.tensor(2.5),
        torch.nn.Parameter(torch.zeros(2)),
        torch.float32,
        torch.device("cpu"),
    ]
    for old, new in zip(values, turned(values, tmp_path)):
        assert type(old) is type(new)
        if isinstance(old, torch.Tensor):
            assert old.dtype == new.dtype and torch.equal(old, new)
        else:
            assert old == new
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.BatchNorm1d(4)
    ).eval()
    back = turned(net, tmp_path)
    x = torch.randn(5, 3)
    assert torch.equal(net(x), back(x)) and not back.training
    stream = torch.Generator().manual_seed(3)
    again = turned(stream, tmp_path)
    a, b = (torch.randn(2, generator=g) for g in (stream, again))
    assert torch.equal(a, b)


def test_tensors_become_arrays_without_torch(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    path = tmp_path / "t.pansophy"
    persist.save([torch.ones(2), torch.ones(2, dtype=torch.complex64)], path)
    monkeypatch.setattr(foreign, "import_torch", lambda: None)
    a, b = persist.load(path)
    assert a.tolist() == [1.0, 1.0] and b.dtype == np.complex64
    persist.save(torch.ones(2, dtype=torch.bfloat16), path)
    with pytest.raises(PersistError, match="install torch"):
        persist.load(path)


def test_skops_writes_compiled_leaves(data, tmp_path):
    pytest.importorskip("skops")
    X, _, c = data
    for model in (
        RandomForestClassifier(3, random_state=0),
        KNeighborsClassifier(algorithm="kd_tree"),
    ):
        back = turned(model.fit(X, c), tmp_path)
        assert np.array_equal(model.predict_proba(X), back.predict_proba(X))


def test_without_skops_saving_says_so(data, tmp_path, monkeypatch):
    X, _, c = data
    model = RandomForestClassifier(2, random_state=0).fit(X, c)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(PersistError, match="install skops") as caught:
        persist.save(model, tmp_path / "m")
    assert "model.estimators_[0].tree_" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_leaves_that_point_outside_are_refused(data):
    from sklearn.tree import DecisionTreeClassifier

    X, _, c = data
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, c).tree_
    assert foreign.checked_leaf(tree) is tree
    tree.feature[0] = 99
    with pytest.raises(PersistError, match="points outside"):
        foreign.checked_leaf(tree)
    boosted = HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(X, c)
    foreign.check_predictors(boosted)
    boosted._predictors[0][0].nodes["left"][0] = 10_000
    with pytest.raises(PersistError, match="points outside"):
        foreign.check_predictors(boosted)
