"""What held-out rows say about the dummy where folds are too few."""

from types import SimpleNamespace

import numpy as np

from pansophy.compare.evaluation.ranking import (
    choose_model,
    paired_intervals,
    rank_methods,
)
from pansophy.compare.evaluation.row_level import FEW_FOLDS, row_level_test
from pansophy.compare.metrics import metrics_for
from pansophy.compare.report.verdict import verdict_sentence
from pansophy.compare.samples import Samples
from pansophy.tables import MixedFrame

METRIC = metrics_for("classification")[0]


def trials(gains, n=300, folds=3, noise=0.5, swing=0.25, seed=0):
    """Row losses about log 2 less a gain each; `swing` parts the scores of folds."""
    rng = np.random.default_rng(seed)
    out = []
    for name, gain in {"dummy": 0.0, **gains}.items():
        losses = np.log(2) - gain + noise * (name != "dummy") * rng.normal(size=n)
        parts = np.array([part.mean() for part in np.array_split(losses, folds)])
        uneven = swing * (name != "dummy") * np.linspace(-1, 1, folds)
        out.append(
            SimpleNamespace(
                method=SimpleNamespace(name=name, blend_weights={}),
                scores={"log loss": parts + uneven},
                losses=losses,
                failure="",
                warned={},
                fit_seconds=[1.0],
                predict_seconds=[1e-6],
            )
        )
    return out


def told(made, **how):
    rows = rank_methods(made, [METRIC], 0.5)
    found = row_level_test(made, rows, METRIC, **how)
    paired = paired_intervals(made, METRIC, 0.5)
    order = [t.method.name for t in made]
    kept = choose_model(rows, order, paired)
    return found, verdict_sentence(rows, kept, found), rows


def test_rows_speak_for_a_model_that_three_folds_cannot_tell_from_the_dummy():
    found, words, rows = told(trials({"forest": 0.3, "tree": 0.25}))
    assert rows[-1].method == "dummy" and rows[-1].standing == "tied"
    assert found.folds == 3 and found.rows == 300 and found.ranked == 2
    assert (
        found.beats_dummy("forest")
        and found.beats_dummy("tree")
        and not found.beats_dummy("dummy")
    )
    assert "tied with tree: " in words and "dummy: the difference" not in words
    assert "3 folds are too few to tell it from the dummy" in words
    assert "it beats it (paired bootstrap of 300 held-out rows, p < 0.001" in words
    assert "Nothing here beats" not in words


def test_rows_do_not_speak_where_there_is_nothing_to_say():
    found, words, _ = told(trials({"forest": 0.02}))
    assert not found.beats_dummy("forest")
    assert "beyond doubt: not over folds, nor row by row (paired" in words
    made = trials({"forest": 0.3})
    rows = rank_methods(made, [METRIC], 0.5)
    assert row_level_test(made, rows, METRIC, kind="time-ordered") is None
    area = metrics_for("classification", "roc auc")[0]
    made[0].scores["roc auc"] = made[0].scores["log loss"]
    assert row_level_test(made, rows, area) is None
    many = trials({"forest": 0.01}, folds=FEW_FOLDS)
    assert row_level_test(many, rank_methods(many, [METRIC], 0.1), METRIC) is None


def all_tied(made):
    """Rows as `rank` gives them, without their intervals."""
    names = ["a", *(t.method.name for t in made if t.method.name != "a")]
    return [SimpleNamespace(method=n, standing="tied") for n in names]


def test_groups_and_weights_are_drawn_as_they_are():
    made = trials({"a": 0.1}, noise=0.3)
    group = np.repeat(np.arange(6), 50)
    made[1].losses = made[1].losses + np.linspace(-0.3, 0.3, 6)[group]
    frame, y = MixedFrame(np.zeros((300, 1))), np.zeros(300, int)
    ask = lambda **how: row_level_test(
        made, all_tied(made), METRIC, Samples(frame, y, **how)
    )
    alone, few = ask(), ask(group=group)
    assert alone.beats_dummy("a") and not few.beats_dummy("a")  # six draws, not 300
    assert ask(weight=np.full(300, 2.0)) == alone


def test_equals_of_the_dummy_are_rarely_called_better():
    wrong = 0
    for seed in range(60):
        made = trials(dict.fromkeys("abc", 0.0), n=60, seed=seed)
        found = row_level_test(made, all_tied(made), METRIC, seed=seed)
        wrong += any(found.beats_dummy(n) for n in found.p)
    assert wrong <= 8  # 5 % of 60, and three standard errors
