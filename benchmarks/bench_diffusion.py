"""Diffusion models against a plain DDPM loop in torch: the same net, batches, passes.

The plain loop is what single-file implementations write: t uniform over 1000 steps of
the linear schedule, noise prediction, Adam, an average of the weights from the first
step on; samples by all 1000 ancestral steps. Quality is the squared MMD between samples
and held-out rows. Rows of pixels are rounded to whole numbers by both.
"""

import copy

import numpy as np

from .runner import Case

BATCH = 128
RATE = 2e-3
STEPS = 1000  # of the plain loop's schedule
CHANNELS = (32, 64)
HIDDEN = (128, 128, 128)


def digit_rows():
    """Training and held-out digits, (n, 8, 8), whole numbers from 0 to 16."""
    from sklearn.datasets import load_digits

    X = load_digits().images
    order = np.random.default_rng(0).permutation(len(X))
    cut = 3 * len(X) // 4
    return X[order[:cut]], X[order[cut:]]


def digits(size):
    n, epochs = size
    X, held = digit_rows()
    return X[:n], held[:200], epochs  # the plain loop's samples take long


def bent_rows(size):
    """Columns that bend along with one another, the first two as two moons."""
    from .bench_flows import moons_like

    n, d, epochs = size
    rng = np.random.default_rng(0)
    return moons_like(n, d, rng), moons_like(500, d, rng), epochs


def ours(payload, seed=0, device="cpu"):
    from pansophy.generative import DiffusionModel

    X, _, epochs = payload
    return DiffusionModel(
        n_channels=CHANNELS, hidden_layer_sizes=HIDDEN, batch_size=BATCH,
        learning_rate_init=RATE, n_epochs=epochs, random_state=seed, device=device,
    ).fit(X)  # fmt: skip


class PlainDDPM:
    """The loop, written out; `fit` and `sample` are all it has."""

    def __init__(self, epochs, seed=0, device="cpu"):
        self.epochs = epochs
        self.seed = seed
        self.device = device

    def fit(self, X):
        import torch

        from pansophy.generative import DenoisingMLP, UNet

        torch.manual_seed(self.seed)
        self.images = X.ndim == 3
        axis = None if self.images else 0
        self.mean, self.scale = X.mean(axis), X.std(axis)
        rows = torch.as_tensor((X - self.mean) / self.scale, dtype=torch.float32)
        rows = (rows[:, None] if self.images else rows).to(self.device)
        self.low, self.high = rows.min(), rows.max()
        wide = (-1, *(1,) * (rows.ndim - 1))
        self.beta = torch.linspace(1e-4, 0.02, STEPS, dtype=torch.float64)
        self.kept = torch.cumprod(1 - self.beta, 0)
        kept = self.kept.float().to(self.device)
        net = UNet(1, CHANNELS) if self.images else DenoisingMLP(X.shape[1], HIDDEN)
        net = net.to(self.device)
        self.average = copy.deepcopy(net)
        optimiser = torch.optim.Adam(net.parameters(), lr=RATE / 2)
        for _ in range(self.epochs):
            for batch in torch.randperm(len(rows)).split(BATCH):
                x = rows[batch.to(self.device)]
                t = torch.randint(0, STEPS, (len(x),), device=self.device)
                noise = torch.randn_like(x)
                a = kept[t].reshape(wide)
                guess = net(a.sqrt() * x + (1 - a).sqrt() * noise, t / STEPS)
                loss = (guess - noise).square().mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                with torch.no_grad():
                    for p, q in zip(self.average.parameters(), net.parameters()):
                        p.lerp_(q, 0.005)
        self.shape = tuple(rows.shape[1:])
        return self

    def sample(self, n, random_state=0):
        import torch

        torch.manual_seed(random_state)
        x = torch.randn(n, *self.shape, device=self.device)
        with torch.no_grad():
            for t in reversed(range(STEPS)):
                level = torch.full((n,), t / STEPS, device=self.device)
                guess = self.average(x, level)
                a = float(self.kept[t])
                x0 = (x - (1 - a) ** 0.5 * guess) / a**0.5
                x0 = x0.clamp(self.low, self.high)
                before = float(self.kept[t - 1]) if t else 1.0
                b = float(self.beta[t])
                x = (before**0.5 * b * x0 + (1 - b) ** 0.5 * (1 - before) * x) / (1 - a)
                if t:
                    x = x + (b * (1 - before) / (1 - a)) ** 0.5 * torch.randn_like(x)
        x = x.cpu().numpy()
        if not self.images:
            return x * self.scale + self.mean
        made = x[:, 0] * self.scale + self.mean
        return np.clip(np.round(made), 0, 16)  # as ours does by itself


def plain(payload, seed=0):
    return PlainDDPM(payload[2], seed).fit(payload[0])


def held_out_discrepancy(payload, model):
    """MMD^2 between held-out rows and as many samples."""
    from pansophy.kernel_model import mmd

    held = payload[1]
    made = model.sample(len(held), random_state=0)
    flat = (np.asarray(a, float).reshape(len(held), -1) for a in (held, made))
    return mmd(*flat, permutations=0).value


SHARED = {
    "ours": ours,
    "peers": {"plain DDPM loop": plain},
    "quality": held_out_discrepancy,
    "tolerance": 0.002,
    "notes": "equal net, passes and batches; quality: MMD^2 to held-out rows",
    "rounds": 3,
}
CASES = [
    Case(
        name="diffusion_rows",
        what="diffusion of a table, perceptron of 3 blocks of 128, batches of 128",
        sizes=[(1000, 2, 20), (4000, 2, 20), (4000, 6, 20)],
        data=bent_rows,
        written=("plain DDPM loop",),
        **SHARED,
    ),
    Case(
        name="diffusion_digits",
        what="diffusion of 8 x 8 digits, U-Net of 32 and 64 channels, batches of 128",
        sizes=[(256, 20), (1347, 5), (1347, 20)],
        data=digits,
        written=("plain DDPM loop",),
        **SHARED,
    ),
]
