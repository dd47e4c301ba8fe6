"""Devices and threads."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


class Linear(torch.nn.Module):
    """y = X w + b on squared error, by autograd."""

    def __init__(self, d=3, k=1):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(d, k, dtype=torch.float64))
        self.b = torch.nn.Parameter(torch.zeros(k, dtype=torch.float64))

    def losses(self, batch):
        X, Y = batch
        return {"loss": (X @ self.w + self.b - Y).square().mean()}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 3))
    return X, X @ np.array([[1.0], [-2.0], [0.5]]) + 0.3


def train(net, data, **options):
    return nn.train(net, data, **{"device": "cpu", "seed": 0, **options})


def test_small_steps_take_few_threads_and_give_them_back(rng):
    seen = []
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        for width in (8, 400):
            coefs, intercepts = nn.glorot_uniform([50, width, width, 3], rng)
            data = rng.normal(size=(256, 50)), rng.integers(0, 3, 256)
            watch = lambda net: seen.append(torch.get_num_threads())
            net = nn.MLP(coefs, intercepts)
            train(net, data, epochs=1, batch_size=256, after_step=watch)
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 2]


def test_missing_device_is_a_clear_error(data):
    if torch.cuda.is_available():
        assert nn.train(Linear(), data, device="cuda", epochs=1).n_iter == 1
        return
    with pytest.raises(ValueError, match="no CUDA device"):
        nn.train(Linear(), data, device="cuda")
