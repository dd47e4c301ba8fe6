# ruff: noqa: E501 (lines of the table it writes)
"""Digits of 8 x 8 pixels by a diffusion: can a classifier tell them from real ones?

    python -m benchmarks.studies.generative_digits [epochs]
    python -m benchmarks.studies.generative_digits seeds [first last [device]]   prints a table

A U-Net denoiser is trained on three quarters of scikit-learn's digits with the defaults
of `DiffusionModel`, from three seeds. A forest is then trained to tell samples from
held-out digits (classifier two-sample test of the library, 5 folds; 0.5 is the ideal).
Beside it the same net is trained by a plain DDPM loop (`bench_diffusion.PlainDDPM`).

Writes benchmarks/studies/generative_digits.md and the picture docs/generative_digits.png.

The MMD of a model differs from seed to seed by more than models differ, and that of 450
samples is mostly its own bias. "seeds" therefore takes 4,000 samples, the unbiased
estimate and several seeds: of the reported split, or (seeds from 7 on) of splits of the
training digits alone, on which settings may be chosen.
"""

import sys
import time
from pathlib import Path

import numpy as np

from ..bench_diffusion import BATCH, CHANNELS, STEPS, PlainDDPM, digit_rows, ours

SEEDS = (0, 1, 2)
INNER_SPLITS = 7  # the first seed whose digits are a part of the training digits
PICTURE = Path(__file__).parents[2] / "docs" / "generative_digits.png"


def measures(held, made, train):
    """C2ST accuracy, MMD^2 and distances to training rows over those of held-out rows."""
    from pansophy.generative import classifier_two_sample_accuracy, memorisation_report
    from pansophy.kernel_model import mmd

    held, made, train = (a.reshape(len(a), -1) for a in (held, made, train))
    told = classifier_two_sample_accuracy(held, made).accuracy
    gap = mmd(held, made, permutations=0).value
    return told, gap, memorisation_report(train, made, held)


def unbiased_mmd(held, made):
    """Unbiased MMD^2; the kernel has the mean distance between held-out rows."""
    from pansophy.kernels import RBF

    X, Z = (a.reshape(len(a), -1) for a in (held, made))
    pairs = np.triu_indices(len(X), 1)
    square = (X**2).sum(1)
    distances = np.sqrt(square[:, None] + square - 2 * X @ X.T)[pairs]
    k = RBF(float(distances.mean()))

    def mean_of_pairs(A):
        return (k(A).sum() - len(A)) / (len(A) * (len(A) - 1))

    return mean_of_pairs(X) + mean_of_pairs(Z) - 2 * k(X, Z).mean()


def over_seeds(first=0, last=6, device="cpu", epochs=100, n=4000):
    """MMD and C2ST of samples by both models, and by two samplers of ours."""
    from pansophy.generative import classifier_two_sample_accuracy

    outer, test = digit_rows()
    print("| seed | model | MMD^2, 1e-5 | C2ST |\n|---|---|---|---|")
    for seed in range(first, last):
        train, held = outer, test
        if seed >= INNER_SPLITS:
            order = np.random.default_rng(seed).permutation(len(outer))
            cut = 3 * len(outer) // 4
            train, held = outer[order[:cut]], outer[order[cut:]]
        model = ours((train, held, epochs), seed, device)
        made = {
            "DiffusionModel, 18 Heun steps": model.sample(n, random_state=1),
            "DiffusionModel, 20 DPM++ steps": model.sample(
                n, random_state=1, sampler="dpmpp_2m", n_steps=20
            ),
            "plain DDPM loop": PlainDDPM(epochs, seed, device).fit(train).sample(n, 1),
        }
        for name, rows in made.items():
            gap = 1e5 * unbiased_mmd(held, rows)
            told = classifier_two_sample_accuracy(held, rows[: len(held)]).accuracy
            print(f"| {seed} | {name} | {gap:.0f} | {told:.3f} |", flush=True)


def table_row(name, held, train, made, seconds, steps):
    told, gap, copies = measures(held, made, train)
    training, sampling, evaluations = seconds
    return (
        f"| {name} | {told:.3f} | {gap:.5f} | {copies.distance_ratio:.2f}, {copies.n_copies} "
        f"| {training:.0f} | {1000 * training / steps:.1f} | {sampling:.1f} | {evaluations} |"
    )


def timed(make, n):
    """A fitted model's samples, and CPU seconds of training and sampling."""
    begun = time.process_time()
    model = make()
    trained = time.process_time()
    made = model.sample(n, random_state=0)
    return made, trained - begun, time.process_time() - trained


def draw_samples(shown, path):
    """Sets of digits by their names, one below the other."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(len(shown), 1, figsize=(7.2, 1.07 * len(shown)))
    for ax, (name, images) in zip(axes, shown.items()):
        strips = np.pad(images[:32], ((0, 0), (1, 1), (1, 1)))
        ax.imshow(
            np.vstack([np.hstack(strips[:16]), np.hstack(strips[16:])]), cmap="Greys"
        )
        ax.set(xticks=[], yticks=[])
        ax.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
    fig.tight_layout()
    fig.savefig(path, dpi=80)


def main(epochs=100):
    import torch

    torch.set_num_threads(1)
    train, held = digit_rows()
    n = len(held)
    steps = epochs * -(-len(train) // BATCH)
    real, gap, copies = measures(held, train[:n], train[n:])
    lines = [
        "# Digits by diffusion",
        "",
        f"{len(train)} digits of 8 x 8 pixels, U-Net of {CHANNELS} channels, batches of {BATCH},",
        f"{epochs} passes ({steps} steps), one thread, CPU seconds of a busy machine. C2ST: accuracy",
        f"of a forest that tells {n} samples from {n} held-out digits, standard error {0.5 / (2 * n) ** 0.5:.3f}.",
        "Distance: median distance of samples to the nearest training digit over that of",
        "held-out digits, and samples that equal one. Both models round pixels to whole numbers.",
        "",
        "| | C2ST | MMD^2 | distance, copies | training s | ms a step | sampling s | evaluations |",
        "|---|---|---|---|---|---|---|---|",
        f"| real digits | {real:.3f} | {gap:.5f} | {copies.distance_ratio:.2f}, {copies.n_copies} | | | | |",
    ]
    print(lines[-1], flush=True)
    for seed in SEEDS:
        fit = lambda s=seed: ours((train, held, epochs), s)
        made, *seconds = timed(fit, n)
        name = f"DiffusionModel, 18 Heun steps, seed {seed}"
        lines.append(table_row(name, held, train, made, (*seconds, 35), steps))
        print(lines[-1], flush=True)
    plain, *seconds = timed(lambda: PlainDDPM(epochs).fit(train), n)
    name = "plain DDPM loop, 1000 steps, seed 0"
    lines.append(table_row(name, held, train, plain, (*seconds, STEPS), steps))
    print(lines[-1], flush=True)
    lines += ["", "![samples](../../docs/generative_digits.png)"]
    shown = {"held out": held, "DiffusionModel": made, "plain DDPM": plain}
    draw_samples(shown, PICTURE)
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["seeds"]:
        over_seeds(*map(int, sys.argv[2:4]), *sys.argv[4:])
    else:
        main(*map(int, sys.argv[1:]))
