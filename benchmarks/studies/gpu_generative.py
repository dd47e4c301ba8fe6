"""Generative models on a CUDA device: epochs against a plain torch loop.

    python -m benchmarks.studies.gpu_generative          writes gpu_generative.md
    python -m benchmarks.studies.gpu_generative --toy    small sizes, also without a GPU

Nets, batches and the optimiser (AdamW) are the same; the plain loop is what a tutorial
writes: rows on the device, a permutation for each epoch, `zero_grad`, `backward` and a
fused `step`. Ours is `nn.train`, which records a step as a CUDA graph where the net
says that every step does the same. Rounds of both alternate; medians of epochs.
"""

import argparse
import os
import platform
import statistics
import time
from pathlib import Path

import numpy as np
import torch

from pansophy import generative, nn

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
ROUNDS, EPOCHS, BATCH = 5, 5, 256

MODELS = {  # estimator with the settings of a small problem, rows, columns
    "VAE 784-512-32": (
        lambda: generative.VAE(32, hidden_layer_sizes=(512,)), 60_000, 784
    ),
    "autoencoder 784-512-32": (
        lambda: generative.Autoencoder(32, hidden_layer_sizes=(512,)), 60_000, 784
    ),
    "diffusion, MLP of 64 columns": (
        lambda: generative.DiffusionModel(hidden_layer_sizes=(256, 256)), 30_000, 64
    ),
    "flow, splines of 8 columns": (lambda: generative.Flow("spline"), 30_000, 8),
    "flow, RealNVP of 8 columns": (lambda: generative.Flow("realnvp"), 30_000, 8),
}  # fmt: skip


def wait():
    if ON_GPU:
        torch.cuda.synchronize()


def plain_epochs(net, X, epochs):
    """Seconds of an epoch of the plain loop."""
    optimiser = torch.optim.AdamW(
        net.parameters(), lr=1e-3, weight_decay=1e-4, fused=ON_GPU
    )
    wait()
    start = time.perf_counter()
    for _ in range(epochs):
        order = torch.randperm(len(X), device=X.device)
        for i in range(0, len(X), BATCH):
            optimiser.zero_grad(set_to_none=True)
            sum(net.losses({"X": X[order[i : i + BATCH]]}).values()).backward()
            optimiser.step()
    wait()
    return (time.perf_counter() - start) / epochs


def our_epochs(net, X, epochs):
    """Seconds of an epoch of `nn.train`, and how its steps were run."""
    wait()
    start = time.perf_counter()
    result = nn.train(
        net, {"X": X}, epochs=epochs, batch_size=BATCH, device=DEVICE, seed=0,
        optimiser=nn.Adam(1e-3, decay=1e-4),
    )  # fmt: skip
    wait()
    return (time.perf_counter() - start) / epochs, result.state.execution


def compare_loops(name, toy):
    """A line of the table."""
    make, n, d = MODELS[name]
    n = 600 if toy else n
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    model = make().set_params(n_epochs=1, batch_size=BATCH, random_state=0)
    fitted = model.fit(X[:1000])
    rows = torch.as_tensor(X, device=DEVICE)
    fresh = lambda: fitted._inference_net(torch.float32).train()
    ours, plain = [], []
    execution = ""
    for _ in range(1 if toy else ROUNDS):
        plain.append(plain_epochs(fresh(), rows, EPOCHS))
        seconds, execution = our_epochs(fresh(), rows, EPOCHS)
        ours.append(seconds)
    a, b = statistics.median(ours), statistics.median(plain)
    return (
        f"| {name} | {n} x {d} | {1000 * a:.1f} | {1000 * b:.1f} | **{b / a:.2f}** | "
        f"{execution} |"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--toy", action="store_true")
    toy = parser.parse_args().toy
    device = torch.cuda.get_device_name() if ON_GPU else platform.machine()
    lines = [
        "# Generative models on a CUDA device",
        "",
        f"Device: {device}; torch {torch.__version__}; batches of {BATCH}, medians of "
        f"{ROUNDS} rounds. Made by `python -m benchmarks.studies.gpu_generative`.",
        "",
        "| net | rows | ours, ms an epoch | plain torch loop | ratio | steps are |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    for name in MODELS:
        try:
            line = compare_loops(name, toy)
        except Exception as error:  # the other rows are still worth having
            line = f"| {name}: {type(error).__name__}: {error} |"
        print(line, flush=True)
        lines.append(line)
    if not toy:
        out = Path(os.environ.get("OUT", Path(__file__).parent))
        (out / "gpu_generative.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
