# ruff: noqa: E501 (lines of the table it writes)
"""Densities in the plane with a known truth: what flows and diffusions reach.

    python -m benchmarks.studies.generative_toys [processes]

For moons, rings and a checkerboard, whose densities are closed forms or quadratures,
and three draws of the rows with a seed of its own each:

- a flow's distance from the truth on fresh rows, mean log p - mean log q, in nats;
- whether a two-sample test (MMD, 1000 rows each) tells a diffusion's samples from
  fresh rows: its p-value, and that of fresh rows against fresh rows.

Writes benchmarks/studies/generative_toys.md (into $OUT if that is set).
"""

import multiprocessing
import os
import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import ive

ROWS = 20_000  # to train on
SEEDS = (0, 1, 2)
NOISE = 0.1
RINGS = (1.0, 2.0, 3.0)


def draw_moons(n, rng):
    t = rng.uniform(0, np.pi, n)
    up = rng.random(n) < 0.5
    x = np.where(up, np.cos(t), 1 - np.cos(t))
    y = np.where(up, np.sin(t), 0.5 - np.sin(t))
    return np.c_[x, y] + NOISE * rng.normal(size=(n, 2))


def log_moons(X):
    """By 2000 points of the arcs, whose distance is a hundredth of the noise."""
    t = (np.arange(2000) + 0.5) * np.pi / 2000
    arcs = [(np.cos(t), np.sin(t)), (1 - np.cos(t), 0.5 - np.sin(t))]
    total = np.zeros(len(X))
    for x, y in arcs:
        gap = (X[:, :1] - x) ** 2 + (X[:, 1:] - y) ** 2
        total += 0.5 * np.exp(-0.5 * gap / NOISE**2).mean(axis=1)
    return np.log(total / (2 * np.pi * NOISE**2))


def draw_rings(n, rng):
    radius = rng.choice(RINGS, n)
    t = rng.uniform(0, 2 * np.pi, n)
    X = radius[:, None] * np.c_[np.cos(t), np.sin(t)]
    return X + NOISE * rng.normal(size=(n, 2))


def log_rings(X):
    """A ring of radius R with normal noise: a Bessel function."""
    rho = np.linalg.norm(X, axis=1)
    total = np.zeros(len(X))
    for R in RINGS:
        decay = np.exp(-0.5 * (rho - R) ** 2 / NOISE**2)
        total += decay * ive(0, rho * R / NOISE**2) / len(RINGS)
    return np.log(total / (2 * np.pi * NOISE**2))


def draw_checkerboard(n, rng):
    row = rng.integers(0, 4, n)
    column = 2 * rng.integers(0, 2, n) + row % 2
    return np.c_[column, row] + rng.random((n, 2)) - 2.0


def log_checkerboard(X):
    return np.full(len(X), -np.log(8.0))


TOYS = {
    "moons": (draw_moons, log_moons),
    "rings": (draw_rings, log_rings),
    "checkerboard": (draw_checkerboard, log_checkerboard),
}


def draw_rows(name, seed):
    """Rows to train on and fresh ones."""
    draw, _ = TOYS[name]
    rng = np.random.default_rng(seed)
    return draw(ROWS, rng), draw(10_000, rng)


def flow_gap(name, seed):
    """Nats lost by a spline flow, and CPU seconds."""
    from pansophy.generative import Flow

    X, fresh = draw_rows(name, seed)
    begun = time.process_time()
    model = Flow(
        "spline", n_transforms=5, hidden_layer_sizes=(64, 64), n_bins=16,
        batch_size=512, n_epochs=150, weight_decay=0.1, random_state=seed, device="cpu",
    ).fit(X)  # fmt: skip
    lost = np.mean(TOYS[name][1](fresh) - model.score_samples(fresh))
    return f"{lost:.3f}", time.process_time() - begun


def diffusion_test(name, seed):
    """p-values of samples and of other fresh rows against fresh rows, CPU seconds."""
    from pansophy.diagnose import mmd
    from pansophy.generative import DiffusionModel

    X, fresh = draw_rows(name, seed)
    begun = time.process_time()
    model = DiffusionModel(
        hidden_layer_sizes=(128, 128, 128), batch_size=512, n_epochs=100,
        learning_rate_init=0.001, random_state=seed, device="cpu",
    ).fit(X)  # fmt: skip
    made = model.sample(1000, random_state=seed)
    seconds = time.process_time() - begun
    ours = mmd(fresh[:1000], made, length_scale=0.3, rows=None)
    null = mmd(fresh[:1000], fresh[1000:2000], length_scale=0.3, rows=None)
    return f"{ours.p:.2f} ({null.p:.2f})", seconds


def run_task(task):
    import torch

    torch.set_num_threads(1)
    function, name, seed = task
    found, seconds = function(name, seed)
    print(name, seed, function.__name__, found, f"{seconds:.0f} s", flush=True)
    return found, seconds


def main(processes=1):
    tasks = [
        (function, name, seed)
        for function in (flow_gap, diffusion_test)
        for name in TOYS
        for seed in SEEDS
    ]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        results = pool.map(run_task, tasks, chunksize=1)
    found = dict(zip(tasks, results, strict=True))
    lines = [
        "# Toys in the plane",
        "",
        f"{ROWS:,} training rows, one thread, draws and seeds {', '.join(map(str, SEEDS))}. Flow: mean log p - mean log q on 10,000 fresh",
        "rows, in nats. Diffusion: p-values of an MMD test of 1,000 samples against 1,000",
        "fresh rows (kernel of width 0.3), in brackets those of other fresh rows. CPU seconds are means and include training.",
        "",
        "| toy | flow: nats lost | CPU s | diffusion: p (of fresh rows) | CPU s |",
        "|---|---|---|---|---|",
    ]
    for name in TOYS:
        line = f"| {name} |"
        for function in (flow_gap, diffusion_test):
            own = [found[function, name, seed] for seed in SEEDS]
            values = ", ".join(value for value, _ in own)
            line += f" {values} | {np.mean([t for _, t in own]):.0f} |"
        lines.append(line)
    out = Path(os.environ.get("OUT", Path(__file__).parent))
    (out / "generative_toys.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
