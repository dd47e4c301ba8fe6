"""Checkpoint files: whole or not at all, and never trusted."""

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import save_file  # noqa: E402

from pansophy.nn import checkpoint, read_checkpoint, write_checkpoint  # noqa: E402


def test_round_trip(tmp_path):
    shared = torch.arange(6.0)
    tensors = {"a": shared[:3], "b": shared, "c": torch.tensor(3, dtype=torch.int64)}
    write_checkpoint(tmp_path / "f", tensors, {"epoch": 3, "best": None})
    back, facts = read_checkpoint(tmp_path / "f")
    assert facts == {"epoch": 3, "best": None}
    assert all(torch.equal(back[k], v) for k, v in tensors.items())


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "f"
    write_checkpoint(file, {"a": torch.ones(2)}, {"epoch": 1})

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(checkpoint, "save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        write_checkpoint(file, {"a": torch.zeros(2)}, {"epoch": 2})
    assert read_checkpoint(file)[1] == {"epoch": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_bad_files_are_named(tmp_path):
    file = tmp_path / "f"
    with pytest.raises(FileNotFoundError, match="no such checkpoint"):
        read_checkpoint(file)
    write_checkpoint(file, {"a": torch.ones(99)}, {"epoch": 1})
    whole = file.read_bytes()
    file.write_bytes(whole[:-40])
    with pytest.raises(ValueError, match="damaged"):
        read_checkpoint(file)
    file.write_bytes(b"\x80\x04pickle")
    with pytest.raises(ValueError, match="damaged"):
        read_checkpoint(file)
    save_file({"a": torch.ones(1)}, file)
    with pytest.raises(ValueError, match="not a checkpoint of pansophy"):
        read_checkpoint(file)
    meta = {"format": "pansophy.checkpoint", "version": "99", "facts": "{}"}
    save_file({"a": torch.ones(1)}, file, metadata=meta)
    with pytest.raises(ValueError, match="newer pansophy"):
        read_checkpoint(file)
