"""State diagrams: arrows of what is likely enough, names of the states."""

import numpy as np

from pansophy import plot


def test_arrows_and_probabilities():
    P = np.array([[0.9, 0.1], [0.001, 0.999]])
    ax = plot.state_diagram(P, states=["dry", "wet"])
    texts = {text.get_text() for text in ax.texts}
    assert {"dry", "wet"} <= texts
    counts = [
        len(plot.state_diagram(P, states=["dry", "wet"], least=least).texts)
        for least in (0.0005, 0.005, 0.5)
    ]
    plain = len(ax.texts)  # the default leaves out the move of 0.001
    assert counts[0] > counts[1] == plain > counts[2]
