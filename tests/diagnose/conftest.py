"""Tables that tests of leaks and shortcuts share."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def photos(rng):
    """A sign of the class, a stamp that goes with it in 9 of 10 rows, and noise."""
    y = rng.integers(0, 2, 600)
    stamp = np.where(rng.random(600) < 0.9, y, 1 - y)
    table = pd.DataFrame({
        "sign": y + 0.6 * rng.normal(size=600), "stamp": stamp,
        "noise": rng.normal(size=600),
    })  # fmt: skip
    return table, y


@pytest.fixture
def honest(rng):
    """800 rows of which no column tells the target."""
    n = 800
    table = {f"x{j}": rng.normal(size=n) for j in range(10)}
    table |= {"kind": rng.choice(list("abcdefghijkl"), n), "k": rng.integers(0, 9, n)}
    return table
