"""Architectures side by side: sizes, and a choice by validation rows alone."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.compare import architectures  # noqa: E402
from pansophy.neural_network import ConvClassifier, MLPRegressor  # noqa: E402


@pytest.fixture(scope="module")
def noisy_line():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60, 5))
    return X, X[:, 0] + 1.0 * rng.normal(size=60)


def small(**options):
    given = {"solver": "lbfgs", "alpha": 0.0, "max_iter": 2000, "tol": 1e-3}
    return MLPRegressor(random_state=0, device="cpu", **{**given, **options})


def test_chosen_by_validation_never_by_training_loss(noisy_line):
    X, y = noisy_line
    found = architectures(small(), X, y, {"hidden_layer_sizes": [(), (60,)]})
    linear, wide = found.table
    assert wide.train_loss < linear.train_loss  # it fits the noise
    assert found.best is linear and linear.score > wide.score
    assert (linear.depth, linear.parameters, linear.flops) == (1, 6, 10.0)
    assert (wide.depth, wide.width, wide.parameters) == (2, 60, 421)
    assert "(best)" in str(found) and "hidden_layer_sizes=()" in str(found)


def test_folds_give_a_standard_error_and_the_simplest(noisy_line):
    X, y = noisy_line
    grid = [
        {"hidden_layer_sizes": (2,), "activation": "tanh"},
        {"hidden_layer_sizes": ()},
    ]
    found = architectures(small(), X, y, grid, cv=3)
    assert [row.activation for row in found.table] == ["tanh", "relu"]
    assert all(row.standard_error >= 0 for row in found.table)
    close = found.best.score - found.best.standard_error
    assert found.simplest.score >= close
    assert found.simplest.parameters <= found.best.parameters


def test_sizes_of_convolutional_nets_and_scoring(rng):
    images = rng.random((40, 6, 6))
    y = np.arange(40) % 2
    model = ConvClassifier(n_epochs=1, device="cpu", random_state=0)
    grid = {"n_filters": [(3,), (3, 4)], "hidden_layer_sizes": [()]}
    found = architectures(model, images, y, grid, scoring="neg_log_loss")
    assert [row.depth for row in found.table] == [3, 5]
    assert [row.width for row in found.table] == [3, 4]
    assert all(row.score < 0 and row.flops > 0 for row in found.table)


def test_bad_grids_are_refused(noisy_line):
    for grid in ([], "deep", [1]):
        with pytest.raises(ValueError, match="grid must be a dict of lists"):
            architectures(small(), *noisy_line, grid)
