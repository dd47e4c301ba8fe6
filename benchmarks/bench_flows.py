"""Normalising flows against zuko: the same layers, parameters and steps.

Both are trained for the same number of passes with Adam, batches of 128 and a rate that
rises and falls; quality is minus the mean log density of held-out rows. Flows of few
steps end in different places for different seeds (costs spread by some 0.05 nats, of
affine ones by 0.09), so that each contender fits three, and the mean of their costs
counts. Over nine seeds the affine flows of both cost 2.50.
"""

import numpy as np

from .runner import Case

LAYERS = 3
HIDDEN = (64, 64)
BINS = 8
RATE = 0.005
BATCH = 128
SEEDS = (0, 1, 2)


def moons_like(n, d, rng):
    """Two moons in the first two columns; the others bend along with them."""
    t = rng.uniform(0, np.pi, n)
    up = rng.random(n) < 0.5
    X = np.c_[
        np.where(up, np.cos(t), 1 - np.cos(t)), np.where(up, np.sin(t), 0.5 - np.sin(t))
    ]
    X += 0.1 * rng.normal(size=X.shape)
    columns = [X[:, 0], X[:, 1]]
    for j in range(2, d):
        bend = np.sin(2 * columns[j - 1]) + columns[j - 2] ** 2 / 2
        columns.append(bend + 0.3 * rng.normal(size=n))
    return np.column_stack(columns[:d]).astype(np.float32)


def data(size):
    n, d, epochs = size
    rng = np.random.default_rng(0)
    return moons_like(n, d, rng), moons_like(4000, d, rng), epochs


def ours(kind):
    def fit(payload):
        from pansophy.generative import Flow

        X, _, epochs = payload
        return [
            Flow(
                kind, n_transforms=LAYERS, hidden_layer_sizes=HIDDEN, n_bins=BINS,
                learning_rate_init=RATE, batch_size=BATCH, n_epochs=epochs,
                random_state=seed, device="cpu", dequantize="none",
            ).fit(X)
            for seed in SEEDS
        ]  # fmt: skip

    return fit


class ZukoModel:
    """A flow of zuko's with the standardisation of the rows."""

    def __init__(self, flow, mean, scale):
        self.flow, self.mean, self.scale = flow, mean, scale

    def score_samples(self, X):
        import torch

        with torch.no_grad():
            Z = torch.as_tensor((X - self.mean) / self.scale)
            return self.flow().log_prob(Z).numpy() - np.log(self.scale).sum()


def zuko(kind):
    return lambda payload: [fit_zuko(kind, payload, seed) for seed in SEEDS]


def fit_zuko(kind, payload, seed):
    import math

    import torch
    import zuko as library

    X, _, epochs = payload
    torch.manual_seed(seed)
    mean, scale = X.mean(0), X.std(0)
    Z = torch.as_tensor((X - mean) / scale)
    options = {"transforms": LAYERS, "hidden_features": HIDDEN}
    if kind == "NSF":
        options["bins"] = BINS
    flow = getattr(library.flows, kind)(X.shape[1], **options)
    optimiser = torch.optim.Adam(flow.parameters(), lr=RATE)
    total = epochs * math.ceil(len(Z) / BATCH)
    warm = total // 10

    def factor(i):
        if i < warm:
            return (i + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * (i - warm) / (total - warm)))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, factor)
    for _ in range(epochs):
        for rows in torch.randperm(len(Z)).split(BATCH):
            loss = -flow().log_prob(Z[rows]).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return ZukoModel(flow, mean, scale)


def held_out_cost(payload, models):
    """Nats of held-out rows, the mean over the seeds."""
    return -float(np.mean([m.score_samples(payload[1]) for m in models]))


SIZES = [(1000, 2, 20), (4000, 2, 20), (4000, 6, 20)]
COMMON = {"sizes": SIZES, "data": data, "quality": held_out_cost}
CASES = [
    Case(
        name="flow_spline",
        what="autoregressive spline flow, 3 layers of 64-64, 8 bins",
        ours=ours("spline"),
        peers={"zuko NSF": zuko("NSF")},
        tolerance=0.02,
        notes="equal layers, passes and rates; quality: held-out nats, mean of 3 seeds",
        **COMMON,
    ),
    Case(
        name="flow_affine",
        what="masked autoregressive flow, 3 layers of 64-64",
        ours=ours("maf"),
        peers={"zuko MAF": zuko("MAF")},
        tolerance=0.15,
        notes="equal layers, passes and rates; quality: held-out nats, mean of 3 seeds",
        **COMMON,
    ),
]
