"""Devices and threads."""

import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from tests.nn.linear_net import LinearNet, train  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


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
        assert nn.train(LinearNet(), data, device="cuda", epochs=1).n_iter == 1
        return
    with pytest.raises(ValueError, match="no CUDA device"):
        nn.train(LinearNet(), data, device="cuda")


def test_peaks_are_looked_up_by_name(monkeypatch):
    from pansophy.nn.training.devices import peak_flops

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
