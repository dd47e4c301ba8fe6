# ruff: noqa: E501 (lines of the table it writes)
"""Densities in the plane with a known truth: what flows and diffusions reach.

    python -m benchmarks.generative_toys [name ...]

For moons, rings and a checkerboard, whose densities are closed forms or quadratures:

- a flow's distance from the truth on fresh rows, mean log p - mean log q, in nats;
- whether a two-sample test (MMD, 1000 rows each) tells a diffusion's samples from
  fresh rows: its p-value, and that of fresh rows against fresh rows.

Writes benchmarks/generative_toys.md.
"""

import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import ive

ROWS = 20_000  # to train on; as many steps as 300 passes through half of them
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


def flow_gap(X, fresh, truth):
    """Nats lost by a spline flow, and CPU seconds."""
    from pansophy.generative import Flow

    begun = time.process_time()
    model = Flow(
        "spline", n_transforms=5, hidden_layer_sizes=(64, 64), n_bins=16,
        batch_size=512, n_epochs=150, weight_decay=0.3, random_state=0, device="cpu",
    ).fit(X)  # fmt: skip
    return float(
        np.mean(truth - model.score_samples(fresh))
    ), time.process_time() - begun


def diffusion_test(X, fresh, others):
    """p-values of samples and of other fresh rows against fresh rows, CPU seconds."""
    from pansophy.diagnose import mmd
    from pansophy.generative import DiffusionModel

    begun = time.process_time()
    model = DiffusionModel(
        hidden_layer_sizes=(128, 128, 128), batch_size=512, n_epochs=100,
        learning_rate_init=0.001, random_state=0, device="cpu",
    ).fit(X)  # fmt: skip
    made = model.sample(len(fresh), random_state=0)
    seconds = time.process_time() - begun
    ours = mmd(fresh, made, length_scale=0.3, rows=None)
    null = mmd(fresh, others, length_scale=0.3, rows=None)
    return ours, null, seconds


def main(names):
    import torch

    torch.set_num_threads(1)
    lines = [
        "# Toys in the plane",
        "",
        f"{ROWS:,} training rows, one thread. Flow: mean log p - mean log q on 10,000 fresh",
        "rows, in nats. Diffusion: p-value of an MMD test of 1,000 samples against 1,000",
        "fresh rows (kernel of width 0.3), beside that of other fresh rows. CPU seconds include training.",
        "",
        "| toy | flow: nats lost | CPU s | diffusion: MMD^2, p | fresh rows: MMD^2, p | CPU s |",
        "|---|---|---|---|---|---|",
    ]
    for name in names or list(TOYS):
        draw, log_density = TOYS[name]
        rng = np.random.default_rng(0)
        X, fresh = draw(ROWS, rng), draw(10_000, rng)
        lost, flow_seconds = flow_gap(X, fresh, log_density(fresh))
        print(name, "flow", lost, flow_seconds, flush=True)
        ours, null, seconds = diffusion_test(X, fresh[:1000], fresh[1000:2000])
        print(name, "diffusion", ours, null, seconds, flush=True)
        show = lambda t: f"{t.value:.5f}, {t.p:.2f}"
        lines.append(
            f"| {name} | {lost:.3f} | {flow_seconds:.0f} | {show(ours)} | {show(null)} | "
            f"{seconds:.0f} |"
        )
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
