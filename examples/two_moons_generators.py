"""Two moons by a flow, a diffusion and a score model, side by side.

All three have the same methods: `fit`, `sample` and `score_samples`. The flow's
densities are exact; those of the other two come from a differential equation.

    python examples/two_moons_generators.py [folder]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from pansophy import plot
from pansophy.diagnose import mmd
from pansophy.generative import DiffusionModel, Flow, ScoreModel


def main(folder="."):
    X, _ = make_moons(1200, noise=0.07, random_state=0)
    fresh, _ = make_moons(600, noise=0.07, random_state=1)
    common = {"random_state": 0, "device": "cpu", "batch_size": 256}
    models = {
        "flow": Flow(n_transforms=3, n_epochs=30, **common),
        "diffusion": DiffusionModel(n_epochs=60, **common),
        "score": ScoreModel(n_epochs=60, **common),
    }
    figure, axes = plt.subplots(
        2, 4, figsize=(11, 5.2), layout="constrained", sharex=True, sharey=True
    )
    axes[0, 0].scatter(*X.T, s=3)
    axes[0, 0].set_title("training rows")
    for (name, model), (top, bottom) in zip(models.items(), axes.T[1:]):
        model.fit(X)
        made = model.sample(600, random_state=0)
        nats = np.mean(model.score_samples(fresh[:100]))
        test = mmd(fresh, made, random_state=0)
        print(f"{name:10s} {nats:6.2f} nats a row, samples against fresh rows: {test}")
        top.scatter(*made.T, s=3)
        top.set_title(f"{name}: samples")
        plot.density_2d(model, bounds=((-2, 3), (-1.5, 2)), resolution=30, ax=bottom)
    plot.score_field(
        lambda x: models["score"].score_function(x, sigma=0.2),
        X, bounds=((-2, 3), (-1.5, 2)), ax=axes[1, 0],
    )  # fmt: skip
    axes[1, 0].set_title("score at sigma 0.2")
    path = Path(folder) / "two_moons_generators.png"
    figure.savefig(path, dpi=110)
    strip = plot.diffusion(models["diffusion"], 1000)[0].figure
    strip.savefig(Path(folder) / "two_moons_denoising.png", dpi=110)
    print(f"figures in {path.parent}")


if __name__ == "__main__":
    main(*sys.argv[1:])
