"""Enumeration of directed acyclic graphs."""

from pansophy.graphical import (
    all_dags,
)


def test_numbers_of_graphs():
    for d, count in ((1, 1), (2, 3), (3, 25), (4, 543)):
        graphs = set(all_dags(d))
        assert len(graphs) == count == sum(1 for _ in all_dags(d))
