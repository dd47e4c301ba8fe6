"""Checkpoint files: whole or not at all, and never trusted."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import save_file  # noqa: E402

from pansophy.nn import read_checkpoint, write_checkpoint  # noqa: E402
from pansophy.nn.training import checkpoint  # noqa: E402


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


def killed_run(folder, **options):
    """A run with dropout, averages and a schedule, slow enough to be killed."""
    import numpy as np

    from pansophy import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = nn.Sequential(
        torch.nn.Linear(4, 16), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1)
    )
    X = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    return nn.train(
        net, (X, X[:, :1]), epochs=40, batch_size=16, accumulate=2, seed=0,
        device="cpu", average=nn.WeightAverage(), valid=(X, X[:, :1]),
        schedule=nn.schedules.warmup_cosine(20), checkpoint=folder / "run", resume=True,
        **options,
    )  # fmt: skip


def test_a_killed_run_goes_on_bit_by_bit(tmp_path):
    for name in ("killed", "whole"):
        (tmp_path / name).mkdir()
    file = tmp_path / "killed" / "run"
    reached = 0
    for _ in range(2):  # killed, resumed, killed again
        child = subprocess.Popen([sys.executable, __file__, str(tmp_path / "killed")])
        wanted = reached + 4
        deadline = time.monotonic() + 120
        while reached < wanted and time.monotonic() < deadline:
            time.sleep(0.01)
            if file.exists():
                reached = read_checkpoint(file)[1]["epoch"]
        child.kill()  # SIGKILL: no handler, no clean-up
        child.wait()
        reached = read_checkpoint(file)[1]["epoch"]  # the file is whole
        assert wanted <= reached < 40
    rest = killed_run(tmp_path / "killed")
    whole = killed_run(tmp_path / "whole")
    one, two = rest.state.net.state_dict(), whole.state.net.state_dict()
    assert all(torch.equal(one[k], two[k]) for k in one)
    for name in ("loss", "valid_loss"):
        assert rest.history[name].tolist() == whole.history[name].tolist()


if __name__ == "__main__":
    killed_run(Path(sys.argv[1]), after_step=lambda net: time.sleep(0.1))
