"""Tables as nets take them: weighted scales, codes, what training rows teach."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.neural_network import TabularResNetClassifier  # noqa: E402
from pansophy.neural_network.table_inputs import (  # noqa: E402
    check_new_table,
    check_table,
    encode_table_rows,
    learn_table,
)


def test_numbers_are_standardised_by_weight_and_categories_coded_from_one():
    X = pd.DataFrame({"a": [1.0, 3.0, np.nan, 5.0], "b": ["x", "y", None, "x"]})
    y = [0, 1, 0, 1]
    model = TabularResNetClassifier()
    inputs, _, w = check_table(model, X, y, [1.0, 1.0, 1.0, 2.0])
    numbers, codes = learn_table(model, inputs, w)
    mean = (1 + 3 + 2 * 5) / 4
    spread = np.sqrt(((1 - mean) ** 2 + (3 - mean) ** 2 + 2 * (5 - mean) ** 2) / 4)
    np.testing.assert_allclose(numbers[[0, 3], 0], (np.array([1, 5]) - mean) / spread)
    assert np.isnan(numbers[2, 0]) and codes[:, 0].tolist() == [1, 2, 0, 1]
    assert model.table_.levels == [3]
    new = pd.DataFrame({"a": [mean], "b": ["z"]})
    found = encode_table_rows(model, check_new_table(model, new))
    assert found[0].tolist() == [[0.0]] and found[1].tolist() == [[0]]


def test_constant_and_empty_columns_have_scale_one():
    X = np.array([[7.0, np.nan], [7.0, np.nan], [7.0, np.nan]])
    model = TabularResNetClassifier()
    inputs, _, w = check_table(model, X, [0, 1, 0], None)
    numbers, _ = learn_table(model, inputs, w)
    assert model.table_.scale.tolist() == [1.0, 1.0]
    assert numbers[:, 0].tolist() == [0.0, 0.0, 0.0]


def test_rows_are_held_out_by_default_where_there_are_enough():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    model = TabularResNetClassifier(
        hidden_size=4, n_blocks=1, n_members=2, n_epochs=2, random_state=0, device="cpu"
    )
    assert "valid_loss" in model.fit(X, y).history_
    assert "valid_loss" not in model.fit(X[:199], y[:199]).history_
    fresh = clone(model)
    assert "valid_loss" not in fresh.partial_fit(X, y).history_
    model.set_params(early_stopping=False)
    assert "valid_loss" not in model.fit(X, y).history_
    model.set_params(early_stopping=True)
    assert "valid_loss" in model.fit(X[:50], y[:50]).history_
    with pytest.raises(ValueError, match="early_stopping"):
        model.set_params(early_stopping="maybe").fit(X, y)
