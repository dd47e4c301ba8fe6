"""Synthetic customers have the troubles of real tables and follow their seed."""

import numpy as np
import pytest

from pansophy import datasets


def test_customers_have_the_troubles_of_real_tables():
    table = datasets.load("customers").table
    assert table.column("age").null_count and table.column("payment").null_count
    assert len(table.column("city").unique()) > 10
    assert len(table.column("plan").unique()) == 3
    share = np.mean([v == "yes" for v in table.column("left").to_pylist()])
    assert 0.2 < share < 0.45


def test_generator_follows_its_seed():
    a, b, c = (datasets.make_customers(50, random_state=s) for s in (1, 1, 2))
    assert a == b != c
    with pytest.raises(ValueError, match="n_rows"):
        datasets.make_customers(0)
