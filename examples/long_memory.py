"""Memory over hundreds of steps: an LSTM forgets, state-space layers do not.

A symbol is shown in the first step, steps of noise in another channel follow, and the
last output must name the symbol. The gradient that an LSTM gets from its last step to
its first is a product of hundreds of factors below 1; the eigenvalues of S4D lie close
to the unit circle by construction, and Mamba's steps start short.

    python examples/long_memory.py [length]
"""

import sys
import time

import numpy as np
import torch

from pansophy import nn

SYMBOLS, WIDTH, ROWS = 8, 16, 512


class LastStep(torch.nn.Module):
    """A sequence layer between two linear maps, read at its last step."""

    def __init__(self, layer):
        super().__init__()
        self.read = torch.nn.Linear(SYMBOLS + 1, WIDTH)
        self.layer = layer
        self.name = torch.nn.Linear(WIDTH, SYMBOLS)

    def forward(self, X):
        H = self.layer(self.read(X))
        H = H[0] if isinstance(H, tuple) else H  # recurrent nets give a state too
        return self.name(H[:, -1])

    def losses(self, batch):
        X, y = batch
        return {"loss": torch.nn.functional.cross_entropy(self(X), y)}


LAYERS = {
    "LSTM": lambda: nn.LSTM(WIDTH, WIDTH),
    "S4D": lambda: nn.S4D(WIDTH, 8, dt_min=1e-4, dt_max=1e-2),
    "Mamba": lambda: nn.Mamba(
        WIDTH, n_states=8, head_size=16, dt_min=1e-4, dt_max=1e-3
    ),
}


def sequences(n, length, rng):
    """Noise with a symbol in the first step."""
    y = rng.integers(SYMBOLS, size=n)
    X = np.zeros((n, length, SYMBOLS + 1))
    X[:, :, -1] = 0.1 * rng.standard_normal((n, length))
    X[np.arange(n), 0, y] = 1.0
    return X.astype(np.float32), y


def accuracy(net, X, y):
    with torch.no_grad():
        scores = net(torch.from_numpy(X)).numpy()
    return float((scores.argmax(1) == y).mean())


def recall(name, length=250, epochs=18):
    """Accuracy on new sequences after training a net with this layer."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    net = LastStep(LAYERS[name]())
    options = {"epochs": epochs, "batch_size": 32, "optimiser": nn.Adam(1e-2)}
    nn.train(net, sequences(ROWS, length, rng), seed=0, device="cpu", **options)
    return accuracy(net.eval(), *sequences(200, length, rng))


if __name__ == "__main__":
    length = int(sys.argv[1]) if len(sys.argv) > 1 else 250
    print(f"recall of one of {SYMBOLS} symbols after {length} steps of noise")
    for name in LAYERS:
        begun = time.perf_counter()
        share = recall(name, length)
        print(f"{name:6s} {share:6.1%}  {time.perf_counter() - begun:5.1f} s")
