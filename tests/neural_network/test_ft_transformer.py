"""FT-transformer estimators: learning, categories, missing values, saving."""

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import persist  # noqa: E402
from pansophy.neural_network import (  # noqa: E402
    FTTransformerClassifier,
    FTTransformerRegressor,
)


def small(cls=FTTransformerClassifier, **options):
    given = {"hidden_size": 8, "n_heads": 2, "n_blocks": 1, "learning_rate_init": 0.01}
    return cls(
        **{**given, "n_epochs": 15, "random_state": 0, "device": "cpu", **options}
    )


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    place = rng.choice(["north", "south"], 200)
    size = rng.normal(50, 10, 200)
    size[::19] = np.nan
    y = (place == "north").astype(int) ^ (np.nan_to_num(size) > 50)
    return pd.DataFrame({"place": place, "size": size}), y


@pytest.mark.filterwarnings("ignore::pansophy.nn.training.stopping.OverfittingWarning")
def test_learns_an_interaction_and_is_saved(table, tmp_path):
    X, y = table
    model = small(n_epochs=40, learning_rate_init=0.02).fit(X, y)
    assert model.score(X, y) > 0.8  # 0.5 by chance and without the interaction
    persist.save(model, tmp_path / "m")
    again = persist.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_weights_are_repeated_rows(table):
    X, y = table
    exact = {"dtype": "float64", "dropout": 0.0, "batch_size": 1000, "n_epochs": 3}
    exact["early_stopping"] = False
    w = np.random.default_rng(0).integers(0, 3, 200).astype(float)
    index = np.repeat(np.arange(200), w.astype(int))
    weighted = small(**exact).fit(X, y, sample_weight=w).predict_proba(X)
    repeated = small(**exact).fit(X.iloc[index], y[index]).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)


@pytest.mark.parametrize("embedding", ["piecewise", "periodic", None])
def test_numbers(table, embedding):
    X, _ = table
    y = np.nan_to_num(X["size"].to_numpy(), nan=80.0)
    model = small(FTTransformerRegressor, embedding=embedding, n_epochs=30).fit(X, y)
    assert model.score(X, y) > 0.8


def test_heads_must_divide_the_width(table):
    with pytest.raises(ValueError, match="multiple of n_heads"):
        small(hidden_size=9).fit(*table)
