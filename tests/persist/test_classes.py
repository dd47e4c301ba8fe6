"""The allow-list: strangers are named, registered classes go, others are refused."""

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from pansophy import persist
from pansophy.persist import PersistError, classes
from tests.persist.model_files import attack, forge, refuse, turned


class Stranger(BaseEstimator):
    pass


@dataclass
class Loose:
    x: int = 1


class Pair(NamedTuple):
    a: int
    b: int


@pytest.mark.parametrize(
    "value",
    [Stranger(), Loose(), Pair(1, 2), object(), lambda x: x, os.system, io.StringIO()],
    ids=lambda v: type(v).__name__,
)
def test_strangers_are_named_and_leave_no_file(value, tmp_path):
    pipe = make_pipeline(StandardScaler(), FunctionTransformer(kw_args={"k": value}))
    with pytest.raises(PersistError, match=r"steps\[1\]\[1\]\.kw_args\['k'\]"):
        persist.save(pipe, tmp_path / "m.pansophy")
    assert not list(tmp_path.iterdir())


def test_registered_classes_can_be_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(classes, "_registered", {})
    classes.name_of.cache_clear()
    persist.register(Pair)
    try:
        assert turned(Pair(1, 2), tmp_path) == Pair(1, 2)
    finally:
        classes.name_of.cache_clear()
    monkeypatch.setattr(classes, "_registered", {})
    with pytest.raises(PersistError, match="not an allowed class"):
        persist.load(tmp_path / "trip.pansophy")
    with pytest.raises(TypeError, match="takes a class"):
        persist.register(3)


BAD_CLASSES = [
    "os.system",
    "builtins.eval",
    "builtins.object",
    "numpy.load",
    "subprocess.Popen",
    "sklearn.utils._testing.ignore_warnings",
    "sklearn.base.clone",
    "sklearn.externals.joblib.Memory",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing.scale",
    "sklearn.linear_model.__builtins__",
    "sklearn.datasets.fetch_openml",
    "sklearn.pipeline.Bunch",
    "pansophy.persist.file.os",
    "pansophy.persist.file.save",
    "pansophy.persist.codec.Decoder",
    "pansophy.persist.classes.importlib",
    "pansophy.core.drivers.iterate.np",
    "pansophy.core.drivers.iterate.__class__",
    "pansophy.__init__.x",
    "pansophy..x",
    "pansophy",
    "torch.nn.Module.load_state_dict",
    "torch.nn.functional",
    "torch.load",
    "Ridge",
    "",
    7,
    None,
    ["os", "system"],
]


@pytest.mark.parametrize("name", BAD_CLASSES, ids=str)
@pytest.mark.parametrize("kind", ["object", "record", "module"])
def test_classes_off_the_list_are_refused(name, kind, tmp_path):
    if kind == "module":
        pytest.importorskip("torch")
    refuse(attack(name, kind), tmp_path)


def test_nothing_outside_the_list_is_imported(tmp_path):
    spy = tmp_path / "spyware.py"
    spy.write_text("raise SystemExit('imported')")
    path = tmp_path / "bad.pansophy"
    forge(path, [attack("spyware.Thing")], {})
    code = f"import pansophy; pansophy.load({str(path)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 1 and "PersistError" in done.stderr
    assert "imported" not in done.stderr


def test_a_class_of_ours_is_named_by_its_package():
    from pansophy.cluster import KMeans
    from pansophy.gaussian_process.abstract_gaussian_process import FittedProcess

    assert classes.name_of(KMeans) == "pansophy.cluster.KMeans"
    for cls in KMeans, FittedProcess:  # the second one is not exported
        assert classes.class_of(classes.name_of(cls)) is cls


def test_a_name_that_two_modules_define_names_no_class(monkeypatch):
    from pansophy.optim.stochastic.stochastic import EpochState

    assert classes.name_of(EpochState) == "pansophy.optim.EpochState"
    homes = {"EpochState": [EpochState.__module__, "pansophy.optim.elsewhere"]}
    monkeypatch.setattr(classes, "defining_modules", lambda package: homes)
    for cached in classes.name_of, classes._listed_class:
        cached.cache_clear()
    assert classes.name_of(EpochState) is None
    classes.name_of.cache_clear()
