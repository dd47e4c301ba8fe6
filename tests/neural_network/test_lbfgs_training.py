"""Full-batch training by L-BFGS."""

import numpy as np
import pytest

from pansophy import nn


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 3))
    return X, X @ np.array([[1.0], [-2.0], [0.5]]) + 0.3


def test_penalised_linear_net_is_ridge(data):
    from sklearn.linear_model import Ridge

    from pansophy.neural_network.lbfgs_training import train_lbfgs

    X, Y = data
    net = nn.MLP([np.zeros((3, 1))], [np.zeros(1)], head="identity", alpha=7.0)
    result = train_lbfgs(net, (X, Y), tol=1e-10, device="cpu")
    peer = Ridge(7.0).fit(X, Y[:, 0])  # |y - Xw|^2 + alpha |w|^2, bias exempt
    assert result.converged
    W, b = net.layers[0]
    assert W.detach().numpy()[:, 0] == pytest.approx(peer.coef_, rel=1e-7)
    assert b.item() == pytest.approx(peer.intercept_, rel=1e-7)
