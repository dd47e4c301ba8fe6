"""Devices and threads."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


class Linear(torch.nn.Module):
    """y = X w + b on squared error, by autograd."""

    def __init__(self, d=3, k=1):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(d, k, dtype=torch.float64))
        self.b = torch.nn.Parameter(torch.zeros(k, dtype=torch.float64))

    def losses(self, batch):
        X, Y = batch
        return {"loss": (X @ self.w + self.b - Y).square().mean()}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 3))
    return X, X @ np.array([[1.0], [-2.0], [0.5]]) + 0.3


def train(net, data, **options):
    return nn.train(net, data, **{"device": "cpu", "seed": 0, **options})


def test_small_steps_take_few_threads_and_give_them_back(rng):
    seen = []
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        for width in (8, 400):
            coefs, intercepts = nn.glorot_uniform([50, width, width, 3], rng)
            data = rng.normal(size=(256, 50)), rng.integers(0, 3, 256)
            watch = lambda net: seen.append(torch.get_num_threads())
            net = nn.MLP(coefs, intercepts)
            train(net, data, epochs=1, batch_size=256, after_step=watch)
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 2]


def test_missing_device_is_a_clear_error(data):
    if torch.cuda.is_available():
        assert nn.train(Linear(), data, device="cuda", epochs=1).n_iter == 1
        return
    with pytest.raises(ValueError, match="no CUDA device"):
        nn.train(Linear(), data, device="cuda")


def test_peaks_are_looked_up_by_name(monkeypatch):
    from pansophy.nn.devices import peak_flops

    gpu = torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda d: "NVIDIA H200")
    assert peak_flops(gpu, amp=True) == 989e12 and peak_flops(gpu, amp=False) == 67e12
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda d: "NVIDIA H100 PCIe")
    assert peak_flops(gpu, amp=True) == 756e12
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda d: "Something else")
    assert peak_flops(gpu, amp=True) is None
    assert peak_flops(torch.device("cpu"), amp=True) is None


def test_deterministic_runs_refuse_what_is_not_and_leave_no_trace():
    from pansophy import nn

    seen = []

    class Watching(torch.nn.Linear):
        def losses(self, batch):
            seen.append(torch.are_deterministic_algorithms_enabled())
            return {"loss": self(batch[0]).square().mean()}

    nn.train(
        Watching(2, 1), (torch.ones(4, 2),), epochs=1, deterministic=True, device="cpu"
    )
    assert seen == [True] and not torch.are_deterministic_algorithms_enabled()
