"""Pictures of training runs."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn, plot  # noqa: E402

torch.set_num_threads(1)


def test_report_and_range(rng):
    X = rng.normal(size=(40, 2))
    data = (X, X[:, :1])
    net = nn.MLP(*nn.glorot_uniform([2, 4, 1], rng), head="identity")
    report = nn.training_report(net, data, steps=3, seed=0, device="cpu")
    ax = plot.training_report(report)
    assert len(ax.lines) == 4  # a line for each parameter
    found = nn.learning_rate_range_test(net, data, steps=20, seed=0, device="cpu")
    ax = plot.learning_rates(found)
    assert ax.lines[2].get_xdata()[0] == found.suggestion
    assert np.array_equal(ax.lines[0].get_xdata(), found.rates)
