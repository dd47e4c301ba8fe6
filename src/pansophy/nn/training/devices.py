"""Device, threads and random numbers of a training run."""

import os
import threading
from contextlib import contextmanager

import torch

FLOPS_PER_THREAD = 12e6  # operations that are worth a thread: a tenth of a millisecond

# dense peaks in FLOP/s by a part of the device's name: (bfloat16, float32 on tensor
# cores switched off), as the makers state them; the first name that fits counts
PEAK_FLOPS = {
    "H200": (989e12, 67e12),
    "H100 PCIe": (756e12, 51e12),
    "H100": (989e12, 67e12),
    "B200": (2250e12, 80e12),
    "A100": (312e12, 19.5e12),
    "L40S": (362e12, 91.6e12),
    "L4": (121e12, 30.3e12),
    "A10": (125e12, 31.2e12),
    "RTX 4090": (165e12, 82.6e12),
    "RTX 3090": (71e12, 35.6e12),
}

_lock = threading.Lock()
_runs: list[int] = []  # the threads before the first of the runs now going on


def resolve_device(device) -> torch.device:
    """A torch device from "auto", a name or a device."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError('device is "cuda", but torch finds no CUDA device.')
    return device


def peak_flops(device: torch.device, amp: bool) -> float | None:
    """Most operations per second of a device, or None where it is not known."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    for part, (bfloat16, float32) in PEAK_FLOPS.items():
        if part in name:
            return bfloat16 if amp else float32
    return None


@contextmanager
def seeded_torch(device, seed):
    """Seeded torch inside, the surrounding program's random numbers kept."""
    cudnn = torch.backends.cudnn
    old = cudnn.deterministic, cudnn.benchmark
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        cudnn.deterministic, cudnn.benchmark = True, False
        try:
            yield
        finally:
            cudnn.deterministic, cudnn.benchmark = old


@contextmanager
def deterministic_torch(wanted: bool):
    """Inside, torch refuses operations whose bits depend on the order of threads."""
    if not wanted:
        yield
        return
    was_deterministic = torch.are_deterministic_algorithms_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS asks for it
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was_deterministic)


@contextmanager
def limit_torch_threads(net, device, rows):
    """As many of torch's threads as one step of this net keeps busy.

    Threads of a small step mostly wait for each other, and where other programs use
    the cores they wait long. A net says its work by `flops(rows)`; one that does not
    gets all threads. Runs may overlap: the last to end restores what was found.
    """
    if device.type != "cpu" or not hasattr(net, "flops"):
        yield
        return
    with _lock:
        _runs.append(torch.get_num_threads() if not _runs else _runs[0])
        torch.set_num_threads(
            max(1, min(_runs[0], int(net.flops(rows) // FLOPS_PER_THREAD)))
        )
    try:
        yield
    finally:
        with _lock:
            old_threads = _runs.pop()
            if not _runs:
                torch.set_num_threads(old_threads)
