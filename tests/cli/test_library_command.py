"""The command methods: words, questions, families."""

import json

from pansophy.catalogue import read_catalogue
from tests.cli.commands import call


def test_methods_finds_by_words():
    assert "CategoricalHMM" in call("methods", "hidden", "markov".upper()).stdout
    done = call("methods", "hidden markov")
    assert done.exit_code == 0 and "GaussianHMM" in done.stdout
    for nothing in ("zzzzzz", "?!"):
        done = call("methods", nothing)
        assert done.exit_code == 2 and "Nothing in the catalogue" in done.stderr


def test_methods_prints_wrapped_lines_without_ids(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = call("methods", "gaussian mixture", "--all").stdout.splitlines()
    assert max(len(line) for line in lines) <= 60
    assert not any(e.id in line for e in read_catalogue() for line in lines)
    few = call("methods", "gaussian mixture").stdout.splitlines()
    assert few[-1].endswith("more with --all.") and len(few) < len(lines)


def test_methods_answers_questions_with_a_guide():
    done = call("methods", "which model for counts?")
    assert done.stdout.startswith("COUNTS") and "PoissonRegressor" in done.stdout
    assert "pansophy compare" in done.stdout


def test_methods_lists_the_catalogue():
    entries = read_catalogue()
    done = " ".join(call("methods").stdout.split())
    assert all(" ".join(e.topic.split()) in done for e in entries)
    family = entries[0].family
    some = json.loads(call("methods", "--family", family, "--json").stdout)
    assert {e["family"] for e in some} == {family}
    assert len(some) == sum(e.family == family for e in entries)


def test_methods_asks_back_at_a_slip():
    done = call("methods", "logistic", "regresion")
    assert done.stdout.startswith("Did you mean 'logistic regression'?")
    assert "LogisticRegression" in done.stdout
    assert "Did you mean" not in call("methods", "logistic regression").stdout
