"""Convolutional nets: ours, a plain torch loop, skorch, at equal loss curves."""

import numpy as np

from .runner import Case

EPOCHS, BATCH, RATE = 5, 64, 1e-3
FILTERS, CLASSES = (16, 32), 10


def images(size):
    """Noisy copies of the digits, 8 x 8 or enlarged, float32: (n, side, side)."""
    from sklearn.datasets import load_digits

    n, side = size
    rng = np.random.default_rng(0)
    digits = load_digits()
    rows = rng.integers(len(digits.images), size=n)
    small = digits.images[rows] / 16
    factor = side // 8
    X = np.kron(small, np.ones((1, factor, factor))) if factor > 1 else small
    X = X + 0.3 * rng.normal(size=X.shape)
    return X.astype(np.float32), digits.target[rows]


def ours(payload, seed=0):
    from pansophy.neural_network import ConvClassifier

    model = ConvClassifier(
        FILTERS, hidden_layer_sizes=(), convs_per_block=1, dropout=0.0,
        weight_decay=0.0, learning_rate="constant", learning_rate_init=RATE,
        n_epochs=EPOCHS, batch_size=BATCH, random_state=seed, device="cpu",
    )  # fmt: skip
    return model.fit(*payload).predict_proba


def plain_net(side):
    """The same layers in torch."""
    from torch import nn

    layers = []
    channels = 1
    for filters in FILTERS:
        layers += [
            nn.Conv2d(channels, filters, 3, padding=1, bias=False),
            nn.BatchNorm2d(filters),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
        channels = filters
    width = channels * (side // 4) ** 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(width, CLASSES))


def standardised(X):
    return ((X - X.mean()) / X.std())[:, None]


def torch_loop(payload, seed=0):
    """What one writes without a library: eager, Adam, batches by index."""
    import torch
    from torch.nn import functional

    mean, scale = payload[0].mean(), payload[0].std()
    X = torch.from_numpy((payload[0] - mean) / scale)[:, None]
    y = torch.from_numpy(payload[1])
    torch.manual_seed(seed)
    net = plain_net(X.shape[2])
    optimiser = torch.optim.Adam(net.parameters(), lr=RATE)
    for _ in range(EPOCHS):
        order = torch.randperm(len(X))
        for i in range(0, len(X), BATCH):
            rows = order[i : i + BATCH]
            optimiser.zero_grad()
            loss = functional.cross_entropy(net(X[rows]), y[rows])
            loss.backward()
            optimiser.step()
    net.eval()

    def predict_proba(images):
        with torch.no_grad():
            rows = torch.from_numpy((images - mean) / scale)[:, None]
            return net(rows).softmax(1).numpy()

    return predict_proba


def skorch_net(payload, seed=0):
    import torch
    from skorch import NeuralNetClassifier

    X, y = payload
    torch.manual_seed(seed)
    net = NeuralNetClassifier(
        plain_net(X.shape[1]), criterion=torch.nn.CrossEntropyLoss, lr=RATE,
        optimizer=torch.optim.Adam, max_epochs=EPOCHS, batch_size=BATCH,
        iterator_train__shuffle=True, train_split=None, verbose=0,
    )  # fmt: skip
    mean, scale = X.mean(), X.std()
    net.fit(standardised(X), y)
    return lambda rows: np.exp(
        log_softmax(net.forward(((rows - mean) / scale)[:, None]).numpy())
    )


def log_softmax(F):
    F = F - F.max(axis=1, keepdims=True)
    return F - np.log(np.exp(F).sum(axis=1, keepdims=True))


def cross_entropy(payload, predict_proba):
    """Mean training loss reached."""
    X, y = payload
    p = predict_proba(X)[np.arange(len(y)), y]
    return float(-np.log(np.maximum(p.astype(float), 1e-12)).mean())


CASES = [
    Case(
        name="conv_net",
        what=(
            "two blocks of 16 and 32 3x3 kernels with batch normalisation and pooling, "
            "Adam 1e-3, batch 64, 5 epochs, float32 images (rows, side)"
        ),
        sizes=[(500, 24), (1000, 24), (2000, 24)],
        data=images,
        ours=ours,
        peers={"torch loop": torch_loop, "skorch": skorch_net},
        written=("torch loop",),
        quality=cross_entropy,
        tolerance=0.03,  # spread over seeds
        target=1.0,
        main="torch loop",
        targets={"skorch": 1.0},
    ),
]
