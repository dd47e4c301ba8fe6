"""Handwritten digits made by every family of generative models, side by side.

Each model sees 1,500 of the 8 x 8 digits for some seconds and draws new ones. The rest
of the digits judges them: how far the samples are (Frechet distance, on the features of
a convolutional classifier), whether a forest can tell them from real ones (C2ST: 0.5 is
perfect, 1 hopeless), how many look real (precision) and how many kinds of digits are
among them (recall).

    python examples/generative_digits.py [figure.png]
"""

import sys
import time

import numpy as np
from sklearn.datasets import load_digits

from pansophy.generative import (
    GAN,
    VAE,
    WGAN,
    ConvAutoencoder,
    DiffusionModel,
    Flow,
    classifier_two_sample_accuracy,
    frechet_distance,
    precision_recall,
)
from pansophy.mixture import GaussianMixture
from pansophy.neural_network import ConvClassifier

N_TRAIN = 1_500


def models():
    """A model of each family, small enough for a few seconds of one core."""
    shared = {"random_state": 0, "device": "cpu"}
    return {
        "Gaussian mixture": GaussianMixture(20, reg_covar=0.3, random_state=0),
        "autoencoder": ConvAutoencoder(8, n_epochs=15, **shared),
        "VAE": VAE(8, n_epochs=30, **shared),
        "GAN": GAN(16, n_epochs=40, architecture="dense", **shared),
        "Wasserstein GAN": WGAN(16, n_epochs=60, architecture="dense", **shared),
        "flow": Flow(n_epochs=10, **shared),
        "diffusion": DiffusionModel(n_epochs=15, **shared),
    }


def drawn_digits(model, n):
    """n digits (n, 8, 8) from a model of rows or of images."""
    if isinstance(model, GaussianMixture):
        rows, _ = model.sample(n)  # component after component
        rows = np.random.default_rng(0).permutation(rows)
    else:
        rows = model.sample(n, random_state=0)
    return np.clip(np.round(rows), 0, 16).reshape(n, 8, 8)  # pixels are whole numbers


def main(path=None):
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.images))
    train, test = order[:N_TRAIN], order[N_TRAIN:]
    real = digits.images[test]
    judge = ConvClassifier((8, 16), n_epochs=5, random_state=0, device="cpu")
    judge.fit(digits.images[train], digits.target[train])
    names = ("seconds", "Frechet", "C2ST", "precision", "recall")
    print(f"{'model':18}" + "".join(f"{name:>10}" for name in names))
    shown = {"real": real}
    for name, model in models().items():
        begun = time.perf_counter()
        images = digits.images[train]
        flat = isinstance(model, (GaussianMixture, Flow))
        model.fit(images.reshape(N_TRAIN, -1) if flat else images)
        seconds = time.perf_counter() - begun
        made = drawn_digits(model, len(real))
        report(name, seconds, real, made, judge)
        shown[name] = made
    half = digits.images[train[: len(real)]]
    report("(real digits)", 0.0, real, half, judge)
    if path is not None:
        draw(shown, path)


def report(name, seconds, real, made, judge):
    frechet = frechet_distance(real, made, features=judge)
    told = classifier_two_sample_accuracy(real, made).accuracy
    shares = precision_recall(real, made)
    print(
        f"{name:18}{seconds:10.1f}{frechet:10.2f}{told:10.2f}{shares.precision:10.2f}"
        f"{shares.recall:10.2f}",
        flush=True,
    )


def draw(shown, path):
    """Twelve digits of each model in a row."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(len(shown), 12, figsize=(9, 0.8 * len(shown)))
    for row, (name, images) in zip(axes, shown.items()):
        for ax, image in zip(row, images):
            ax.imshow(image, cmap="Greys", vmin=0, vmax=16)
            ax.set(xticks=[], yticks=[])
        row[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
    plt.tight_layout()
    plt.savefig(path, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
