"""Data frames that hold words."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pansophy.core.frames import text_column
from pansophy.linear_model import Ridge
from pansophy.tree import DecisionTreeRegressor

FRAME = pd.DataFrame({"age": [1.0, 2.0, 3.0], "city": ["a", "b", "a"]})


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        FRAME.astype({"city": "category"}),
        FRAME.astype({"city": object}),
        pl.from_pandas(FRAME),
    ],
    ids=["text", "category", "object", "polars"],
)
def test_the_column_of_words_is_named(frame):
    assert text_column(frame) == "city"
    with pytest.raises(ValueError, match="column 'city' of X holds text"):
        Ridge().fit(frame, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="categorical_features"):
        DecisionTreeRegressor().fit(frame, [1.0, 2.0, 3.0])


def test_tables_of_numbers_have_none():
    assert text_column(FRAME[["age"]]) is None
    assert text_column(np.ones((2, 2))) is None
    model = DecisionTreeRegressor().fit(FRAME[["age"]], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAME)
