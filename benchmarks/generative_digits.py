# ruff: noqa: E501 (lines of the table it writes)
"""Digits of 8 x 8 pixels by a diffusion: can a classifier tell them from real ones?

    python -m benchmarks.generative_digits [epochs]

A U-Net denoiser is trained on three quarters of scikit-learn's digits. A random forest
is then trained to tell samples from held-out digits (classifier two-sample test, 5
folds; 0.5 is the ideal), and the same net is trained by a plain DDPM loop, written out here as
the well-known single-file implementations do it: t uniform, noise prediction, Adam,
EMA from the first step on, all T steps of ancestral sampling.

Writes benchmarks/generative_digits.md.
"""

import copy
import sys
import time
from pathlib import Path

import numpy as np

CHANNELS = (32, 64)
BATCH = 128
RATE = 2e-3
STEPS = 1000  # of the plain loop's schedule


def digits():
    from sklearn.datasets import load_digits

    X = load_digits().images / 16.0
    order = np.random.default_rng(0).permutation(len(X))
    cut = 3 * len(X) // 4
    return X[order[:cut]], X[order[cut:]]


def two_sample_accuracy(real, made):
    """Accuracy of a random forest that tells made rows from real ones, 5-fold."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_score

    n = min(len(real), len(made))
    X = np.r_[real[:n], made[:n]].reshape(2 * n, -1)
    y = np.repeat([0, 1], n)
    order = np.random.default_rng(0).permutation(2 * n)
    forest = RandomForestClassifier(200, random_state=0)
    return float(cross_val_score(forest, X[order], y[order], cv=5).mean())


def by_ours(X, n, epochs):
    from pansophy.generative import DiffusionModel

    begun = time.process_time()
    model = DiffusionModel(
        n_channels=CHANNELS, batch_size=BATCH, learning_rate_init=RATE,
        n_epochs=epochs, random_state=0, device="cpu",
    ).fit(X)  # fmt: skip
    trained = time.process_time()
    made = model.sample(n, random_state=0)
    return made, trained - begun, time.process_time() - trained


def by_plain_loop(X, n, epochs):
    import torch

    from pansophy.generative import UNet

    torch.manual_seed(0)
    mean, scale = X.mean(), X.std()
    rows = torch.as_tensor((X - mean) / scale, dtype=torch.float32)[:, None]
    beta = torch.linspace(1e-4, 0.02, STEPS, dtype=torch.float64)
    kept = torch.cumprod(1 - beta, 0)
    net = UNet(1, CHANNELS)
    average = copy.deepcopy(net)
    optimiser = torch.optim.Adam(net.parameters(), lr=RATE / 2)
    begun = time.process_time()
    for _ in range(epochs):
        for batch in torch.randperm(len(rows)).split(BATCH):
            x = rows[batch]
            t = torch.randint(0, STEPS, (len(x),))
            noise = torch.randn_like(x)
            a = kept[t].float()[:, None, None, None]
            guess = net(a.sqrt() * x + (1 - a).sqrt() * noise, t / STEPS)
            loss = (guess - noise).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            with torch.no_grad():
                for p, q in zip(average.parameters(), net.parameters()):
                    p.lerp_(q, 0.005)
    trained = time.process_time()
    x = torch.randn(n, 1, 8, 8)
    with torch.no_grad():
        for t in reversed(range(STEPS)):
            guess = average(x, torch.full((n,), t / STEPS))
            a = float(kept[t])
            x0 = (x - (1 - a) ** 0.5 * guess) / a**0.5
            x0 = x0.clamp(rows.min(), rows.max())
            before = float(kept[t - 1]) if t else 1.0
            b = float(beta[t])
            x = (before**0.5 * b * x0 + (1 - b) ** 0.5 * (1 - before) * x) / (1 - a)
            if t:
                x = x + (b * (1 - before) / (1 - a)) ** 0.5 * torch.randn_like(x)
    made = x[:, 0].numpy() * scale + mean
    return made, trained - begun, time.process_time() - trained


def main(epochs=400):
    import torch

    torch.set_num_threads(1)
    X, held = digits()
    lines = [
        "# Digits by diffusion",
        "",
        f"{len(X)} digits of 8 x 8 pixels, U-Net of {CHANNELS} channels, batches of {BATCH},",
        f"{epochs} passes, one thread, CPU seconds. Accuracy of a random forest that tells",
        f"{len(held)} samples from {len(held)} held-out digits (0.5 is ideal; two sets of",
        f"real digits: {two_sample_accuracy(held, X):.3f}).",
        "",
        "| | accuracy | training s | ms a step | sampling s | evaluations |",
        "|---|---|---|---|---|---|",
    ]
    steps = epochs * -(-len(X) // BATCH)
    for name, make, evaluations in (
        ("DiffusionModel, 18 Heun steps", by_ours, 35),
        ("plain DDPM loop, 1000 steps", by_plain_loop, STEPS),
    ):
        made, training, sampling = make(X, len(held), epochs)
        accuracy = two_sample_accuracy(held, made)
        lines.append(
            f"| {name} | {accuracy:.3f} | {training:.0f} | {1000 * training / steps:.1f} "
            f"| {sampling:.1f} | {evaluations} |"
        )
        print(lines[-1], flush=True)
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
