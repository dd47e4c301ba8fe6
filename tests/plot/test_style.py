"""Common style: names of columns, models and classes are safe."""

import json
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

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


@pytest.mark.parametrize("name", plot.__all__)
def test_every_figure_has_the_common_style(name):
    assert hasattr(getattr(plot, name), "__wrapped__"), "draw_styled is missing"


@pytest.mark.parametrize("path", sorted(Path(plot.__file__).parent.glob("*.py")))
def test_no_figure_has_colors_or_mathematics_of_its_own(path):
    text = path.read_text(encoding="utf-8")
    own = re.findall(
        r'"C\d"|f"C\{|tab:|tab10|tab20|"0\.\d+"|color="[rgbk]"|"r\*"', text
    )
    assert not own and not re.search(r'xscale="log|set_xscale\("log', text)
    if path.name != "style.py":
        assert not re.search(r'"[^"\n]*\$[^"\n]+\$[^"\n]*"', text)


def test_lines_take_the_palette_and_frames_are_open():
    from pansophy.plot.style import COLORS, GROUPS, series_color

    alphas = np.geomspace(1e-3, 1, 8)
    coefs = np.arange(24.0).reshape(3, 8)
    for ax in (
        plot.regularization_path(alphas, coefs, names=["a", "_b", "$c$"]),
        plot.validation_curve(alphas, coefs.T, coefs.T, log=True),
        plot.losses(),
        plot.embedding(np.eye(6)[:, :2], list("abcdef")),
    ):
        assert not ax.spines["top"].get_visible()
        ax.figure.draw_without_rendering()
        ticks = ax.get_xticklabels() + ax.get_yticklabels()
        assert not any("$" in text.get_text() for text in ticks)
        drawn = {line.get_color() for line in ax.lines if line.get_label()[0] != "_"}
        assert drawn <= {*COLORS, *GROUPS, "#30343b", "#b9bec6"}
    assert len({series_color(k) for k in range(12)}) == 12
