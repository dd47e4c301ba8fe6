"""Two processes on the CPU (gloo) do what one does on the whole batch."""

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.training.parallel import joined_processes  # noqa: E402

torch.set_num_threads(1)


class Blocks(torch.nn.Module):
    """A net with a list of blocks, which are divided one by one."""

    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
            for _ in range(2)
        )
        self.head = torch.nn.Linear(3, 1, bias=False)

    def losses(self, batch):
        X, Y = batch
        for block in self.blocks:
            X = X + block(X)
        return {"loss": (self.head(X) - Y).square().mean()}


def made(seed):
    torch.manual_seed(seed)
    return Blocks().double()


def rows():
    X = np.random.default_rng(0).normal(size=(41, 3))
    return X, np.sin(X[:, :1])


def train(net, **options):
    data = rows()  # 41 rows in batches of 10: the last batch is one row
    usual = {"epochs": 4, "batch_size": 10, "device": "cpu", "valid": data}
    usual |= {"optimiser": nn.AdamW(0.02), "clip": 0.5, "seed": 0}
    return nn.train(net, data, **{**usual, **options})


def weights(result):
    tensors = nn.parallel.whole_tensors(dict(result.state.net.named_parameters()))
    return {name: t.detach().numpy() for name, t in tensors.items()}


CASES = {
    "data": {"parallel": "data"},
    "fsdp": {"parallel": "fsdp"},
    "accumulated": {"batch_size": 5, "accumulate": 2, "parallel": "fsdp"},
    "averaged": {"average": nn.WeightAverage(), "parallel": "auto"},
}


def one_of_two(rank, folder):
    """What each of the two processes runs."""
    import torch.distributed as dist

    place = f"file://{folder / 'group'}"
    dist.init_process_group("gloo", init_method=place, rank=rank, world_size=2)
    answers = {}
    for name, options in CASES.items():
        # other weights and another seed: those of process 0 must count
        result = train(made(rank), **{**options, "seed": rank})
        for key, value in weights(result).items():
            answers[f"{name}/{key}"] = value
        for key in ("loss", "valid_loss"):
            answers[f"{name}/{key}"] = result.history[key]
        file = folder / name
        train(made(rank), **{**options, "checkpoint": file, "epochs": 2})
        rest = train(made(7), **{**options, "checkpoint": file, "resume": True})
        same = all(
            np.array_equal(value, answers[f"{name}/{key}"])
            for key, value in weights(rest).items()
        )
        answers[f"{name}/resumed"] = np.array(same)
    np.savez(folder / f"answers{rank}.npz", **answers)
    # Divided parameters hold their group, whose threads must have ended when the
    # interpreter does; and neither process leaves while the other still needs it.
    del result, rest
    gc.collect()
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    command = [sys.executable, __file__]
    root = str(Path(__file__).parents[3])
    running = [
        subprocess.Popen([*command, str(rank), str(folder)], cwd=root)
        for rank in (0, 1)
    ]
    codes = [process.wait(timeout=300) for process in running]
    assert codes == [0, 0]
    return [dict(np.load(folder / f"answers{rank}.npz")) for rank in (0, 1)]


@pytest.mark.parametrize("name", CASES)
def test_two_processes_are_one(name, answers):
    options = {**CASES[name], "parallel": "none"}
    alone = train(made(0), **options)
    for found in answers:
        for key, value in weights(alone).items():
            assert found[f"{name}/{key}"] == pytest.approx(value, rel=1e-9, abs=1e-12)
        for key in ("loss", "valid_loss"):
            assert found[f"{name}/{key}"] == pytest.approx(alone.history[key])
        assert found[f"{name}/resumed"]


def test_processes_must_have_been_started():
    with pytest.raises(ValueError, match="torchrun"):
        joined_processes("data")
    with pytest.raises(ValueError, match="parallel must be"):
        joined_processes("all")
    assert not joined_processes("auto").several


if __name__ == "__main__":
    one_of_two(int(sys.argv[1]), Path(sys.argv[2]))
