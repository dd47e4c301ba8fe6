"""How it was done: interrupted runs, the command, every setting that matters."""

import shlex
from dataclasses import replace

import numpy as np
import pandas as pd

from pansophy.compare import compare
from pansophy.compare.report.html import render_report
from pansophy.compare.report.methodology import commands_to_repeat, method_paragraphs
from tests.compare.comparisons import made, rows
from tests.compare.report.pages import parsed


def test_an_interrupted_comparison_says_so_and_the_command_is_quoted():
    c = made("classification")
    c.complete = False
    schema = replace(c.schema, target="it's; rm -rf", group="g")
    c.dataset = c.dataset._replace(schema=schema)
    c.settings |= {"source": "my table.csv", "costs": {"k0": 1.0, "k1": 5.0}}
    c.folder = "run 1"
    first, second, third = commands_to_repeat(c)
    assert first.startswith("pansophy rerun 'run 1'")
    words = shlex.split(second)
    assert words[:5] == [
        "pansophy",
        "compare",
        "my table.csv",
        "--target",
        c.schema.target,
    ]
    assert words[words.index("--costs") + 1] == "k0=1,k1=5"
    assert words[words.index("--methods") + 1] == "method 1,method 2,method 3,broken"
    assert repr(c.schema.target) in third and "group='g'" in third
    text = render_report(c)
    parsed(text)
    assert "was interrupted before all methods were done" in text
    assert "With the costs given" in text and "saved model decides by" in text


def test_what_is_pretrained_says_on_what():
    c = made("classification")
    told = lambda: [text for text in method_paragraphs(c) if "made-up tables" in text]
    assert not told()
    method = c.trials[1].method._replace(name="oracle", pretrained=True)
    c.trials[1] = replace(c.trials[1], method=method)
    assert told()[0].startswith("The weights of the oracle come with the library.")


QUICK = {"workers": 0, "repeats": 1, "folds": 3, "progress": False}


def test_the_report_tells_every_setting_that_matters(tmp_path):
    from pansophy.compare.report.methodology import commands_to_repeat

    table = pd.DataFrame({**rows(), "t": np.arange(60), "a, b": 1.5})
    table.to_csv(tmp_path / "t.csv", index=False)
    asked = {
        "methods": ["calibrated naive Bayes"],
        "time": "t",
        "gap": 2,
        "together": True,
        "ignore": ["a, b", "g"],
        "roles": {"k": "text"},
        "max_rows": 50,
        **QUICK,
    }
    shell, python = commands_to_repeat(compare(tmp_path / "t.csv", "y", **asked))
    for words in ("--together", "--gap 2", "--role k=text", "--max-rows 50"):
        assert words in shell
    assert """--ignore '"a, b",g'""" in shell and "--time t" in shell
    for words in ("together=True", "gap=2", "ignore=['a, b', 'g']", "max_rows=50"):
        assert words in python
