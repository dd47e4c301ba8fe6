"""A linear net and its training, which tests of the training loop share."""

import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402


class LinearNet(torch.nn.Module):
    """y = X w + b on squared error, by autograd."""

    def __init__(self, d=3, k=1):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(d, k, dtype=torch.float64))
        self.b = torch.nn.Parameter(torch.zeros(k, dtype=torch.float64))

    def losses(self, batch):
        X, Y = batch
        return {"loss": (X @ self.w + self.b - Y).square().mean()}


def train(net, data, **options):
    """`nn.train` on the processor, with a seed."""
    return nn.train(net, data, **{"device": "cpu", "seed": 0, **options})
