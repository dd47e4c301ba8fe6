"""Bundled tables: every name loads, and the file is what the generator makes."""

import csv

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
