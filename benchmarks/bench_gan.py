"""GANs: training against a plain loop in torch, and modes that each objective covers.

The plain loop is what tutorials show: two `torch.optim.Adam`, binary cross-entropy with
labels of ones and zeros, generated rows shared by the two steps, and for R1 a gradient
with `create_graph=True`. Nets, batches, rates, epochs and penalties are the same.

Run as a program it fits each objective to a ring of eight Normals and prints how many
are covered: `python -m benchmarks.bench_gan [figure.png]`.
"""

import sys

import numpy as np

from .runner import Case

RADIUS = 2.0
SPREAD = 0.1
EPOCHS = 10
BATCH = 128
RATE = 0.002
R1 = 0.1


def ring_modes():
    angle = np.arange(8) * np.pi / 4
    return RADIUS * np.c_[np.cos(angle), np.sin(angle)]


def ring_of_normals(n, seed=0):
    rng = np.random.default_rng(seed)
    centres = ring_modes()[rng.integers(8, size=n)]
    return centres + SPREAD * rng.standard_normal((n, 2))


def make_ring(size):
    n, width = size
    X = ring_of_normals(n)
    return {"X": (X - X.mean(0)) / X.std(0), "width": width, "penalty": None}


def make_penalised_ring(size):
    return {**make_ring(size), "penalty": "r1"}


def make_digits(size):
    from sklearn.datasets import load_digits

    images = load_digits().images[: size[0]] / 8 - 1
    return {"X": images.reshape(len(images), -1), "width": size[1], "penalty": None}


def fit_ours(payload, seed=0):
    from pansophy.generative import GAN

    model = GAN(
        16,
        hidden_layer_sizes=(payload["width"],) * 2,
        penalty=payload["penalty"],
        penalty_weight=R1,
        scaling=None,
        batch_size=BATCH,
        learning_rate="constant",
        learning_rate_init=RATE,
        discriminator_rate=1.0,
        ema_decay=0.0,
        n_epochs=EPOCHS,
        random_state=seed,
        device="cpu",
    ).fit(payload["X"])
    return model.history_["discriminator"][-1], model.history_["generator"][-1]


def fit_plain_torch(payload, seed=0):
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(seed)
    X = torch.as_tensor(payload["X"], dtype=torch.float32)
    d, width = X.shape[1], payload["width"]
    generator = nn.Sequential(
        nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, d),
    )  # fmt: skip
    discriminator = nn.Sequential(
        nn.Linear(d, width), nn.LeakyReLU(0.1), nn.Linear(width, width),
        nn.LeakyReLU(0.1), nn.Linear(width, 1),
    )  # fmt: skip
    steps = [
        torch.optim.Adam(net.parameters(), RATE, betas=(0.5, 0.99))
        for net in (discriminator, generator)
    ]
    bce = nn.BCEWithLogitsLoss()
    loader = DataLoader(TensorDataset(X), BATCH, shuffle=True)
    for _ in range(EPOCHS):
        sums = np.zeros(2)
        for (x,) in loader:
            ones, zeros = torch.ones(len(x), 1), torch.zeros(len(x), 1)
            fake = generator(torch.randn(len(x), 16))
            steps[0].zero_grad()
            loss = bce(discriminator(x), ones)
            loss = loss + bce(discriminator(fake.detach()), zeros)
            if payload["penalty"] == "r1":
                at = x.clone().requires_grad_()
                (g,) = torch.autograd.grad(
                    discriminator(at).sum(), at, create_graph=True
                )
                loss = loss + R1 * g.square().sum(1).mean() / 2
            loss.backward()
            steps[0].step()
            steps[1].zero_grad()
            other = bce(discriminator(fake), ones)
            other.backward()
            steps[1].step()
            sums += len(x) * np.array([loss.item(), other.item()])
        means = sums / len(X)
    return means


def distance_from_balance(payload, result):
    """How far both losses are from those of a game in balance."""
    losses = np.asarray(result, float)
    return float(abs(losses[0] - np.log(4)) + abs(losses[1] - np.log(2)))


TRAINING = {
    "ours": fit_ours,
    "peers": {"plain torch loop": fit_plain_torch},
    "written": ("plain torch loop",),
    "quality": distance_from_balance,
    "tolerance": 0.5,  # games end where they end: only runaways are worse
    "target": 1.0,
}
CASES = [
    Case(
        "gan ring",
        "GAN, ring of 8 Normals, 10 epochs (rows, units of a hidden layer)",
        [(5_000, 64), (10_000, 128), (10_000, 256)],
        make_ring,
        **TRAINING,
    ),
    Case(
        "gan ring r1",
        "GAN with the R1 penalty, ring of 8 Normals (rows, units of a hidden layer)",
        [(5_000, 64), (10_000, 128), (10_000, 256)],
        make_penalised_ring,
        **TRAINING,
    ),
    Case(
        "gan digits",
        "GAN, digits as rows of 64 pixels, 10 epochs (rows, units of a hidden layer)",
        [(500, 128), (1_000, 256), (1_797, 256)],
        make_digits,
        **TRAINING,
    ),
]


def covered_modes(n_epochs=150, seed=0):
    """(name, coverage, samples) of each objective on the ring."""
    from pansophy.generative import GAN, WGAN, mode_coverage

    X = ring_of_normals(2_000)
    shared = {"n_epochs": n_epochs, "random_state": seed, "device": "cpu"}
    models = {
        "non_saturating": GAN(8, **shared),
        "minimax": GAN(8, objective="minimax", **shared),
        "hinge": GAN(8, objective="hinge", **shared),
        "least_squares": GAN(8, objective="least_squares", **shared),
        "non_saturating, no penalty": GAN(8, penalty=None, **shared),
        "wasserstein, one-sided": WGAN(8, **{**shared, "n_epochs": 3 * n_epochs}),
        "wasserstein, clip": WGAN(
            8, penalty="clip", clip_value=0.1, **{**shared, "n_epochs": 3 * n_epochs}
        ),
    }
    for name, model in models.items():
        made = model.fit(X).sample(2_000, random_state=0)
        yield name, mode_coverage(made, ring_modes(), reach=3 * SPREAD), made


def main(path=None):
    found = []
    for name, coverage, made in covered_modes():
        print(f"{name:28} {coverage}", flush=True)
        found.append((name, coverage, made))
    if path is not None:
        import matplotlib.pyplot as plt

        from pansophy import plot

        _, axes = plt.subplots(2, 4, figsize=(11, 5.6), layout="constrained")
        real = ring_of_normals(1_000)
        for ax, (name, coverage, made) in zip(axes.flat, found, strict=False):
            plot.samples(made[:1000], real=real, ax=ax)
            ax.set_title(f"{name}: {coverage.covered} of 8", fontsize=8)
            ax.get_legend().remove()
        for ax in axes.flat[len(found) :]:
            ax.set_axis_off()
        plt.savefig(path, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
