"""Common style: names of columns, models and classes are safe."""

import json
import warnings
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from pansophy import plot
from pansophy.plot.style import figure_svg, short_name

HARM = [
    "<script>alert(1)</script>",
    "$\\frac{",
    "_hidden",
    "a\nb\tc",
    "x" * 200,
    "100 %",
]


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_names_do_no_harm(rng):
    y = rng.integers(0, 2, 60)
    m, v = len(HARM), np.linspace(0.1, 0.9, len(HARM))
    C = np.eye(m, dtype=int)
    D = SimpleNamespace(column=HARM[0], values=HARM, mean=v[:, None], outputs=[HARM[1]])
    draws = {
        "roc": lambda ax: plot.roc(y, {h: rng.random(60) for h in HARM}, ax=ax),
        "gain": lambda ax: plot.gain(y, {h: rng.random(60) for h in HARM}, ax=ax),
        "confusion": lambda ax: plot.confusion_matrix(C, labels=HARM, ax=ax),
        "importance": lambda ax: plot.importance(HARM, v, label=HARM[1], ax=ax),
        "intervals": lambda ax: plot.score_intervals(HARM, v, v, v, ax=ax),
        "time": lambda ax: plot.quality_time(HARM, v, v, label=HARM[1], ax=ax),
        "dependence": lambda ax: plot.partial_dependence(D, ax=ax),
    }
    for what, draw in draws.items():
        text = figure_svg(draw, label=HARM[0])
        assert "<script" not in text and "&lt;script" in text, what
        assert "$\\frac{" in text, what  # no mathematics
        assert "xxxx" in text and "x" * 60 not in text, what
    assert text == figure_svg(draw, label=HARM[0])  # the same picture is the same bytes
    assert "_hidden" in figure_svg(draws["roc"])
    assert short_name("\x00 a \u202e b") == "a b"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure_svg(lambda ax: ax.set_title("日本語 😀"))
    json.dumps(short_name(HARM[0]))
