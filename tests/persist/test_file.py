"""Model files: every changed byte is noticed, schemas, failures leave the old file."""

import contextlib
import importlib
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import Ridge

import pansophy
from pansophy import persist
from pansophy.persist import PersistError, codec, file, load, save
from tests.persist.model_files import attack, forge, refuse, same

HERE = Path(__file__).parent


def test_save_tells_the_size(tmp_path):
    from pansophy.persist import inspect, save

    small, large = (
        save({"x": np.zeros(k)}, tmp_path / f"{k}.pansophy") for k in (1, 1000)
    )
    assert small == (tmp_path / "1.pansophy").stat().st_size
    assert large == (tmp_path / "1000.pansophy").stat().st_size > 8000
    about = inspect(tmp_path / "1000.pansophy")
    assert (about["bytes"], about["file_bytes"]) == (8000, large)


@pytest.fixture
def saved(tmp_path, data):
    path = tmp_path / "model.pansophy"
    persist.save(Ridge().fit(data[0], data[1]), path)
    return path


def test_every_cut_and_every_changed_byte_is_noticed(saved):
    whole, content = saved.read_bytes(), vars(persist.load(saved))
    for cut in (0, 1, 7, 8, 20, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:cut])
        with pytest.raises(PersistError):
            persist.load(saved)
    rng = np.random.default_rng(0)
    places = {*rng.integers(0, len(whole), 60).tolist(), len(whole) - 1}
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.integers(8).item()
        saved.write_bytes(changed)
        with contextlib.suppress(PersistError):
            # a change that goes through touched nothing but spaces in the header
            assert same(vars(persist.load(saved)), content)
    saved.write_bytes(whole + b"x")
    with pytest.raises(PersistError):
        persist.load(saved)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "foreign"
    save_file({"a": np.ones(2)}, path)
    with pytest.raises(PersistError, match="not a pansophy model"):
        persist.load(path)
    save_file({}, path, metadata={"manifest": "{}", "sha256": "0"})
    with pytest.raises(PersistError, match="malformed"):
        persist.load(path)
    path.write_bytes(b"\x80\x09\x95other")
    with pytest.raises(PersistError, match="cut short"):
        persist.load(path)
    with pytest.raises(FileNotFoundError):
        persist.load(tmp_path / "absent")


def test_a_changed_tensor_fails_the_checksum(saved):
    with safe_open(saved, framework="numpy") as old:
        note = old.metadata()
        tensors = {k: old.get_tensor(k) for k in old.keys()}  # noqa: SIM118
    tensors["0"] = tensors["0"] + 1
    save_file(tensors, saved, metadata=note)
    with pytest.raises(PersistError, match="checksum"):
        persist.load(saved)


def test_newer_schema_asks_to_upgrade(tmp_path):
    refuse(None, tmp_path, schema=file.SCHEMA + 1, match="newer pansophy")


def test_older_schema_is_migrated(tmp_path, monkeypatch):
    path = tmp_path / "old"
    forge(path, {"$": "list", "v": [1]}, {}, schema=-1)
    with pytest.raises(PersistError, match="older pansophy"):
        persist.load(path)
    steps = {
        **dict.fromkeys(range(file.SCHEMA), lambda m: m),
        -1: lambda m: {**m, "model": {"$": "tuple", "v": m["model"]["v"]}},
    }
    monkeypatch.setattr(file, "MIGRATIONS", steps)
    assert persist.load(path) == (1,)


def test_file_of_the_first_schema_gets_one_clear_sentence():
    with pytest.raises(
        PersistError, match=r"schema 1; .* fit the model again and save it"
    ):
        persist.load(HERE / "data" / "schema1.pansophy")


def test_file_of_the_second_schema_still_loads():
    model = persist.load(HERE / "data" / "schema2.pansophy")
    assert np.allclose(model.predict([[1.0, 2.0], [np.nan, 1.0]]), [2.5, 0.75])


def test_other_scikit_learn_release_warns(tmp_path, data):
    encoder = codec.Encoder()
    node = encoder.encode(Ridge().fit(data[0], data[1]))
    path = tmp_path / "m"
    forge(path, node, encoder.tensors, versions={"scikit-learn": "0.1"})
    with pytest.warns(InconsistentVersionWarning):
        persist.load(path)


def test_inspect_tells_without_building(saved):
    told = persist.inspect(saved)
    assert told["classes"] == ["sklearn.linear_model.Ridge"]
    assert told["versions"]["pansophy"] == pansophy.__version__
    assert told["bytes"] > 0
    forge(saved, attack("os.system"), {})
    assert persist.inspect(saved)["classes"] == ["os.system"]


def test_links_and_permissions_are_kept(saved):
    os.chmod(saved, 0o640)
    link = saved.with_name("link")
    link.symlink_to(saved.name)
    persist.save(Ridge(alpha=7), link)
    assert link.is_symlink() and persist.load(saved).alpha == 7
    assert saved.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in saved.parent.iterdir()) == ["link", saved.name]


@pytest.mark.parametrize("step", ["save_file", "flush", "replace"])
def test_failure_at_any_step_leaves_the_old_file(step, saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    targets = {"save_file": "safetensors.numpy.save_file", "replace": "os.replace"}
    monkeypatch.setattr(
        targets.get(step, "pansophy.core.files.atomic_files.flush_to_disk"), fail
    )
    with pytest.raises(KeyboardInterrupt):
        persist.save(Ridge(alpha=5), saved)
    assert saved.read_bytes() == before
    assert len(list(saved.parent.iterdir())) == 1


def test_kill_in_the_middle_leaves_the_old_file(saved):
    before = saved.read_bytes()
    code = f"""
        import os, signal
        import safetensors.numpy as container
        from pansophy import persist
        whole = container.save_file
        def half(tensors, path, **kwargs):
            whole(tensors, path, **kwargs)
            with open(path, "r+b") as file:
                file.truncate(50)
            os.kill(os.getpid(), signal.SIGKILL)
        container.save_file = half
        persist.save([1, 2, 3], {str(saved)!r})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)])
    assert done.returncode == -signal.SIGKILL
    assert saved.read_bytes() == before
    persist.save([1], saved)  # what the dead process left does no harm
    assert persist.load(saved) == [1]


def skops_file(path, parts):
    """A model file whose one part is a zip of skops."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for name, body in parts.items():
            made.writestr(name, body)
    tensors = {"0": np.frombuffer(archive.getvalue(), np.uint8).copy()}
    manifest = {
        "format": "pansophy model",
        "schema": file.SCHEMA,
        "versions": file.library_versions(),
        "model": {"$": "skops", "t": "0"},
    }
    text = json.dumps(manifest)
    note = {"manifest": text, "sha256": file.checksum(text, tensors)}
    file.write_model_file(path, tensors, note)


def test_a_zip_that_unpacks_to_much_is_refused_before_that(tmp_path):
    pytest.importorskip("skops")
    path = tmp_path / "bomb.pansophy"
    skops_file(path, {"schema.json": b"[" + b" " * (64 << 20) + b"]"})
    with pytest.raises(PersistError, match="times its own size"):
        load(path)
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    )
    skops_file(path, {"schema.json": b"{}", "1.npy": head.getvalue()})
    with pytest.raises(PersistError, match="times its own size"):
        load(path)


def test_too_little_memory_is_one_sentence(tmp_path, monkeypatch):
    save({"a": 1}, tmp_path / "m.pansophy")

    def full(path):
        raise MemoryError

    monkeypatch.setattr(file, "read_manifest", full)
    with pytest.raises(PersistError, match="more memory than is free"):
        load(tmp_path / "m.pansophy")


def test_what_is_no_model_file_is_told_by_what_it_is(tmp_path):
    path = tmp_path / "m.pkl"
    path.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(PersistError, match="is a pickle, which is never loaded"):
        load(path)
    with pytest.raises(FileNotFoundError, match=r"^There is no file .*no.pansophy.$"):
        load(tmp_path / "no.pansophy")
    (tmp_path / "model.pansophy").touch()
    with pytest.raises(IsADirectoryError, match=r"is a folder.*its model is .*model.p"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["CountVectorizer", "TfidfVectorizer"])
@pytest.mark.parametrize(
    "package", ["sklearn.feature_extraction.text", "pansophy.text"]
)
def test_no_file_makes_texts_names_of_files(tmp_path, name, package):
    cls = getattr(importlib.import_module(package), name)
    model = cls(input="filename")
    (tmp_path / "a.txt").write_text("some words here")
    model.fit([str(tmp_path / "a.txt")])
    save(model, tmp_path / "m.pansophy")
    with pytest.raises(PersistError, match="takes texts for names of files"):
        load(tmp_path / "m.pansophy")
