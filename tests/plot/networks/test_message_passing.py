"""Factor graphs with messages."""

import pytest

from pansophy import plot
from pansophy.graphical import (
    FactorGraph,
    MarkovRandomField,
    loopy_bp,
    sum_product,
)


@pytest.mark.parametrize("loop", [False, True])
def test_messages(loop):
    T = [[2, 1], [1, 2]]
    if loop:
        edges = {("a", "b"): T, ("b", "c"): T, ("c", "a"): T}
        out = loopy_bp(MarkovRandomField(edges, {"a": [3, 1]}))
    else:
        parts = [(("a", "b"), T), (("b", "c"), T), ("a", [3, 1])]
        out = sum_product(FactorGraph({"a": 2, "b": 2, "c": 2}, parts))
    ax = plot.message_passing(out)
    assert len(ax.lines) == len(out.messages)  # edges
    assert len(ax.patches) == 3 + len(out.graph.factors)
    texts = [t.get_text() for t in ax.texts]
    a = out["a"]
    assert f"a\n{a[0]:.2f} {a[1]:.2f}" in texts
    assert sum(t == "0.75 0.25" for t in texts) >= 1
