"""Bundled tables: the file is what the generator makes, and it has every trouble."""

import csv

import numpy as np
import pytest

from pansophy import datasets


def test_the_file_is_what_the_generator_makes():
    made = datasets.make_customers(1000, random_state=0)
    with open(datasets.path(), newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == list(made)
    text = [["" if v is None else str(v) for v in row] for row in zip(*made.values())]
    assert rows[1:] == text
    assert datasets.path().stat().st_size < 200_000


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


@pytest.mark.parametrize("name", datasets.names())
def test_every_name_loads(name):
    data = datasets.load(name)
    assert data.target in data.table.column_names
    assert data.table.num_rows >= 14 and data.about


def test_unknown_names():
    with pytest.raises(ValueError, match="name must be one of customers"):
        datasets.load("mnist")
    with pytest.raises(ValueError, match="Only 'customers'"):
        datasets.path("iris")
