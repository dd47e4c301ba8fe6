"""Layered layouts of directed acyclic graphs."""

import numpy as np
from hypothesis import given, settings

from pansophy.graphs.layered_layout import layered_layout
from tests.graphs.random_dags import random_dags


@settings(max_examples=40, deadline=None)
@given(random_dags())
def test_layers_do_not_overlap_and_arrows_go_down(parents):
    widths = [30.0 + 7 * i for i in range(len(parents))]
    page = layered_layout(parents, widths)
    for i, above in enumerate(parents):
        for p in above:
            assert page.y[p] < page.y[i]
            path = page.paths[p, i]
            assert path[0] == (page.x[p], page.y[p])
            assert path[-1] == (page.x[i], page.y[i])
        for j in range(i):
            if page.y[i] == page.y[j]:
                gap = abs(page.x[i] - page.x[j])
                assert gap >= (widths[i] + widths[j]) / 2 + 20
    assert (page.x - np.array(widths) / 2 >= -1e-9).all()
    assert (page.x + np.array(widths) / 2 <= page.width + 1e-9).all()
