"""The answer in words and numbers: ranking, ties, what has to be beaten, text, JSON."""

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pansophy.compare import Comparison, Interval
from pansophy.compare.comparison import dataframe_library
from pansophy.compare.evaluation.bayesian_tests import ComparisonProbabilities
from pansophy.compare.evaluation.ranking import (
    RankedMethod,
    Standing,
    choose_model,
    clipped_interval,
    compare_with_baselines,
    interval_over_rows,
    tradeoff_of_best,
)
from pansophy.compare.evaluation.row_level import RowLevelTest
from pansophy.compare.evaluation.wording import join_names
from pansophy.compare.metrics import metrics_for
from pansophy.compare.report.formatting import (
    format_difference_interval,
    format_interval,
    format_mean,
    format_seconds,
    names_by_common_reason,
)
from pansophy.compare.report.sentences import (
    baseline_sentence,
    selection_bias_sentence,
    tradeoff_sentence,
)
from pansophy.compare.report.terminal import print_comparison, render_text
from pansophy.compare.report.verdict import verdict_sentence
from pansophy.diagnose import finding

from .comparisons import EVIL, TASKS, made, ready


@pytest.fixture(scope="module")
def result():
    return made("classification")


def row(rank, method, mean, error, p=1.0, standing="tied", near=True, seconds=1.0):
    score = Interval(mean, mean - 2 * error, mean + 2 * error, error)
    gap = None if rank == 1 else Interval(mean, 0, 2 * mean, error)
    return RankedMethod(
        rank,
        method,
        {"rmse": score},
        gap,
        p,
        Standing(standing),
        seconds,
        1.0,
        within_one_error=near,
    )


def decide(rows, order, *arguments, row_test=None, **named):
    """The name of the method that is kept, and the verdict about it."""
    kept = choose_model(rows, order, *arguments, **named)
    return kept.method, verdict_sentence(rows, kept, row_test)


def test_each_method_is_held_against_the_best_in_both_ways(result):
    best, *rest = result.leaderboard
    assert (
        best.probabilities is None and best.within_one_error and best.difference is None
    )
    for r in rest:
        assert sum(r.probabilities) == pytest.approx(1)
        assert r.within_one_error == (abs(r.difference.mean) <= r.difference.error)
    assert rest[-1].method == "dummy" and rest[-1].probabilities.worse > 0.99
    assert result.rope == pytest.approx(0.01 * best.scores["log loss"].mean)


def test_every_score_has_two_intervals(result):
    for r in result.leaderboard:
        o, f = r.over_rows, r.scores["log loss"]
        assert o.low < o.mean < o.high and f.low < f.mean < f.high
        losses = result.trial(r.method).losses
        assert o.mean == pytest.approx(losses.mean())


def test_intervals_over_rows_of_a_metric_that_grows():
    c = ready("classification")
    accuracy = metrics_for("classification", "accuracy")[0]
    trial = c.trials[1]
    y, p = c.data.y, trial.predictions
    judged = replace(trial, losses=accuracy.row_losses(y, p))
    found = interval_over_rows(judged, accuracy, c.data, 0)
    assert found.mean == pytest.approx(accuracy.score(y, p))
    assert 0 <= found.low < found.mean < found.high <= 1
    half = replace(trial, losses=np.where(np.arange(len(y)) < 50, np.nan, 0.3))
    assert interval_over_rows(half, accuracy, c.data, 0).mean == pytest.approx(0.7)


def test_the_simplest_within_one_standard_error_is_kept():
    rows = [
        row(1, "net", 1.0, 0.1, standing="best", seconds=12.0),
        row(2, "forest", 0.05, 0.1),
        row(3, "tree", 0.2, 0.1, near=False),
        row(4, "dummy", 3.0, 0.1, p=0.0, standing="worse"),
    ]
    kept, words = decide(rows, ["dummy", "tree", "forest", "net"])
    assert kept == "forest"  # the tree is tied too, but farther than one error
    assert "tied with forest and tree" in words
    assert "forest is kept as the simpler one (12 times faster to fit)" in words


def test_what_is_practically_equal_is_as_good_however_sure_the_difference():
    same, apart = (
        ComparisonProbabilities(0.0, 0.99, 0.01),
        ComparisonProbabilities(0.0, 0.5, 0.5),
    )
    rows = [
        row(1, "blend", 1.0, 0.1, standing="best", seconds=9.0),
        row(2, "net", 1.002, 0.1, p=0.01, standing="worse", near=False),
        row(3, "tree", 1.05, 0.1, p=0.01, standing="worse", near=False),
        row(4, "dummy", 1.002, 0.1, p=0.01, standing="worse", near=False),
    ]
    order = ["dummy", "tree", "net", "blend"]
    told = [
        rows[0],
        rows[1]._replace(probabilities=same),
        rows[2]._replace(probabilities=apart),
        rows[3]._replace(probabilities=same),
    ]
    kept, words = decide(told, order)
    assert kept == "net" and words.startswith(
        "blend is better than every other method; net is kept as the simpler one that "
        "is almost certainly practically equal (9 times faster to fit)."
    )
    told[1] = rows[1]._replace(probabilities=apart)
    assert decide(told, order) == ("blend", "blend is better than every other method.")
    kept, words = decide(told, order, rule="best")
    assert kept == "blend" and "asked" not in words


def test_of_what_is_as_good_only_what_beats_the_linear_model_is_kept():
    """The simpler of two does not, beyond the interval; the other does."""
    rows = [
        row(1, "blend", 1.0, 0.1, standing="best"),
        row(2, "forest", 0.05, 0.1),
        row(3, "linear regression", 0.2, 0.1, near=False),
    ]
    order = ["linear regression", "forest", "blend"]
    gaps = {
        "forest": Interval(-0.1, -0.3, 0.1, 0.1),
        "blend": Interval(-0.2, -0.3, -0.1, 0.05),
    }
    assert decide(rows, order, lambda a, b: gaps[a])[0] == "blend"
    gaps["forest"] = Interval(-0.1, -0.2, -0.01, 0.1)
    assert decide(rows, order, lambda a, b: gaps[a])[0] == "forest"
    gaps = dict.fromkeys(gaps, Interval(-0.1, -0.3, 0.1, 0.1))
    kept, words = decide(rows, order, lambda a, b: gaps[a])
    assert kept == "linear regression" and "since nothing beats it" in words


def test_the_top_scorer_is_kept_if_asked_for_and_its_gain_told_if_not():
    rows = [
        row(1, "net", 1.0, 0.1, standing="best"),
        row(2, "tree", 1.05, 0.1)._replace(difference=Interval(0.05, -0.02, 0.12, 0.1)),
        row(3, "dummy", 3.0, 0.1, p=0.0, standing="worse"),
    ]
    order = ["dummy", "tree", "net"]
    assert decide(rows, order)[0] == "tree"
    kept, words = decide(rows, order, rule="best")
    assert kept == "net" and "; net is kept, as asked for." in words
    found = tradeoff_of_best(rows, "tree", False, expected=1.02, metric="rmse")
    assert found == ("net", Interval(0.05, -0.02, 0.12, 0.1), pytest.approx(0.02))
    more = tradeoff_of_best(
        rows, "tree", True
    )  # a greater score is better: that is a loss
    assert (
        more.gain == Interval(-0.05, -0.12, 0.02, 0.1) and more.selection_bias is None
    )
    assert tradeoff_of_best(rows, "net", False) is None


def test_the_answer_tells_what_the_top_scorer_would_gain():
    c = ready("classification")
    best, second = c.leaderboard[:2]
    told = tradeoff_sentence(replace(c, winner=second.method))
    assert told.startswith(
        f"Keeping {best.method} instead of {second.method} would be expected to gain "
        f"{second.difference.mean:.3g} of log loss (95 % interval "
    )
    assert (
        "--keep best" in told
        and tradeoff_sentence(replace(c, winner=best.method)) == ""
    )
    assert c.to_dict()["tradeoff"] is None
    other = replace(c, winner=second.method).to_dict()["tradeoff"]
    assert other["method"] == best.method and other["gain"]["mean"] > 0


def test_intervals_end_where_the_metric_does():
    accuracy, loss = (
        metrics_for("classification", m)[0] for m in ("accuracy", "log loss")
    )
    wide = clipped_interval([1.0, 1.0, 0.9, 1.0, 0.8], 0.25, accuracy)
    assert wide.high == 1.0 and wide.low < 0.9 and wide.mean == pytest.approx(0.94)
    assert clipped_interval([0.01, 0.2, 0.01, 0.01], 0.25, loss).low == 0.0
    r2 = metrics_for("regression", "r2")[0]
    found = clipped_interval([0.9, -0.5, 0.9], 0.5, r2)
    assert found.high == 1.0 and found.low < -1
    assert format_mean(wide) == "0.94 ± 0.17"  # the side that is whole
    c = ready("classification")
    rows = [r._replace(scores={**r.scores, "accuracy": wide}) for r in c.leaderboard]
    assert "would leave what the metric can be (accuracy) it is cut" in render_text(
        replace(c, leaderboard=rows)
    )
    assert "would leave" not in render_text(c)


def test_the_plain_linear_model_is_kept_unless_beaten_beyond_the_interval():
    rows = [
        row(1, "net", 1.0, 0.1, standing="best"),
        row(2, "linear regression", 0.2, 0.15, near=False),
    ]
    order = ["linear regression", "net"]
    unsure = lambda a, b: Interval(-0.2, -0.5, 0.1, 0.15)
    kept, words = decide(rows, order, unsure, greater=False)
    assert kept == "linear regression" and "nothing beats it beyond" in words
    sure = lambda a, b: Interval(-0.2, -0.3, -0.1, 0.05)
    assert decide(rows, order, sure, greater=False)[0] == "net"


def test_names_in_the_plural_get_their_verb():
    rows = [
        row(1, "nearest neighbours", 1.0, 0.1, standing="best"),
        row(2, "extra trees", 0.05, 0.1),
    ]
    assert decide(rows, ["extra trees", "nearest neighbours"])[1] == (
        "nearest neighbours score best but are tied with extra trees: the difference "
        "may be chance; extra trees are kept as the simpler one."
    )


def test_doubt_about_the_dummy_is_said_in_one_voice():
    """Tied when picking is allowed for, though apart if the two are looked at alone."""
    c = made("classification")
    rows = [
        r._replace(standing=Standing.TIED) if r.method == "dummy" else r
        for r in c.leaderboard
    ]
    told = baseline_sentence(replace(c, leaderboard=rows))
    assert "but not when allowing for the best having been picked from 4" in told
    wide = Interval(-0.08, -0.165, 0.006, 0.04)
    assert format_difference_interval(wide) == "0.165 lower to 0.006 higher"


def test_what_has_to_be_beaten():
    paired = lambda a, b: Interval(-0.2, -0.3, -0.1, 0.05)
    found = compare_with_baselines(
        "net", ["net", "dummy", "logistic regression"], paired, False
    )
    assert [b.method for b in found] == ["dummy", "logistic regression"]
    assert all(b.significant for b in found)
    assert not any(
        b.significant for b in compare_with_baselines("net", ["dummy"], paired, True)
    )
    assert compare_with_baselines("dummy", ["dummy"], paired, True) == []


def test_words_say_it(result):
    text = str(result)
    assert "beats the dummy (log loss lower by" in text
    assert "beyond the interval" in text and "Lower is better" in text
    assert "On new rows expect a log loss of about" in text
    assert "Against the runner-up alone" in text
    assert "Disqualified: broken (fold 1 failed)." in text
    assert "Not run (2):" in text and "its kin is tried: Ridge" in text
    assert text.index(result.verdict[5:]) < text.index("method 1  ")  # verdict first
    assert repr(result).startswith("<Comparison of 4 methods for 'y': ")
    assert "\n" not in repr(result)


def test_text_fits_the_screen_and_the_terminal_gets_a_drawn_table(result, monkeypatch):
    result.findings.append(finding("leak", "alarm", "'x1' is the target.", column="x1"))
    narrow = render_text(result, 72)
    assert max(map(len, narrow.splitlines())) <= 72
    assert "brier score" not in narrow and "brier score" in str(result)

    class Screen(io.StringIO):
        def isatty(self):
            return True

    plain, drawn = io.StringIO(), Screen()
    print_comparison(result, plain)
    assert plain.getvalue() == str(result) + "\n"
    monkeypatch.setenv("COLUMNS", "90")
    print_comparison(result, drawn)
    text = drawn.getvalue()
    assert "method 1" in text and "Alarm: 'x1' is the target." in text
    result.findings.clear()


def test_markup_in_names_is_only_text_on_a_terminal():
    c = made("regression", methods=2)
    c.leaderboard[0] = c.leaderboard[0]._replace(warnings={"[red]odd[/nothing]": 1})
    out = type("Screen", (io.StringIO,), {"isatty": lambda self: True})()
    print_comparison(c, out)
    assert "[red]" in out.getvalue()


def test_reasons_are_folded():
    pairs = [("a", "slow"), ("b", "odd"), ("c", "slow")]
    assert names_by_common_reason(pairs) == [("slow", ["a", "c"]), ("odd", ["b"])]
    assert (
        join_names(["a", "b", "c"], 2) == "a, b and 1 more" and join_names(["a"]) == "a"
    )


@pytest.mark.parametrize("task", TASKS)
def test_records_and_json_for_every_task(task):
    c = ready(task)
    again = json.loads(json.dumps(c.to_dict(), allow_nan=False))
    assert again["winner"] == c.winner and again["complete"] is True
    assert len(again["leaderboard"]) == 4 and again["leaderboard"][0]["rank"] == 1
    assert again["folds"]["dummy"][c.metric] == c.trial("dummy").scores[c.metric]
    assert again["baselines"][0]["method"] == "dummy"
    assert [r["kept"] for r in c.records()].count(True) == 1
    assert isinstance(c, Comparison) and str(c) and c._repr_html_()


def test_the_table_is_of_the_kind_that_was_given(result):
    assert isinstance(result.table, pa.Table)
    for like, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        result.library = like
        assert isinstance(result.table, kind)
        assert next(iter(result.table["method"])) == result.leaderboard[0].method
    result.library = "arrow"
    assert isinstance(result.to_pandas(), pd.DataFrame)
    assert [
        dataframe_library(t) for t in (pd.DataFrame(), pl.DataFrame(), {}, "t.csv")
    ] == ["pandas", "polars", "arrow", "arrow"]


def test_notebook_view_is_escaped_and_needs_nothing():
    c = made("regression", names=[EVIL, "b", "c", "d"])
    c.notes.append(EVIL)
    html = c._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html
    assert "http" not in html and "(kept)" in html


@pytest.mark.parametrize("task", TASKS)
def test_pictures_take_axes_and_refuse_what_makes_no_sense(task):
    from matplotlib import pyplot as plt

    c = ready(task)
    numeric = task in ("regression", "count")
    names = ["scores", "quality_time", "importance", "partial_dependence"]
    names += ["residuals"] if numeric else ["roc", "precision_recall", "calibration"]
    names += ["gain"] if not numeric else []
    for name in names:
        ax = plt.figure().add_subplot()
        assert getattr(c, f"plot_{name}")(ax=ax) is ax
        plt.close(ax.figure)
    with pytest.raises(ValueError, match=r"classes|numbers|calibrated"):
        (c.plot_roc if numeric else c.plot_residuals)()
    if task == "multilabel":
        with pytest.raises(ValueError, match="for classes"):
            c.plot_confusion()
    with pytest.raises(ValueError, match="no method 'odd'"):
        c.plot_importance("odd")
    with pytest.raises(ValueError, match="no column of values"):
        c.plot_partial_dependence("odd")


def test_importance_finds_the_column_that_matters():
    c = ready("regression")
    from pansophy.compare.report.plot_data import (
        partial_dependence_data,
        permutation_importances,
    )

    found = permutation_importances(c)
    assert found[0].column == "x0" and found[0].mean > 0.5
    assert all(abs(f.mean) < 1e-9 for f in found[1:])
    d = partial_dependence_data(c)
    slope = np.polyfit(d.values, d.mean[:, 0], 1)[0]
    assert slope == pytest.approx(3, abs=0.1)


def test_numbers_show_meaningful_digits():
    assert format_mean(Interval(0.81234, 0.78, 0.84, 0.01)) == "0.812 ± 0.030"
    assert format_mean(Interval(54.61, 51, 58, 1)) == "54.6 ± 3.5"
    assert format_mean(Interval(12345.6, 12000, 12700, 1)) == "12346 ± 350"
    assert format_mean(Interval(0.5, 0.5, 0.5, 0)) == "0.500 ± 0.000"
    assert format_interval(Interval(0.81234, 0.78, 0.84, 0.01)) == "0.780 to 0.840"
    times = (3.2e-6, 0.0031, 0.1234, 1.23, 75, 600, 9000)
    assert [format_seconds(t) for t in times] == [
        "3.2 µs",
        "3.1 ms",
        "123 ms",
        "1.2 s",
        "75 s",
        "10 min",
        "2.5 h",
    ]


def test_luck_is_not_called_small_beside_a_tie():
    c = made("classification")
    seen = c.leaderboard[0].scores[c.metric].mean
    apart = [
        c.leaderboard[0],
        *(r._replace(standing=Standing.WORSE, p=0.0) for r in c.leaderboard[1:]),
    ]
    clear = selection_bias_sentence(replace(c, expected=seen, leaderboard=apart))
    assert "it was clear enough" in clear
    rows = [
        r._replace(standing=Standing.TIED) if r.method == "dummy" else r for r in apart
    ]
    told = selection_bias_sentence(replace(c, expected=seen, leaderboard=rows))
    assert "clear enough" not in told and "says nothing about the ties" in told


def test_rows_have_a_say_about_the_dummy_where_folds_are_few():
    c = made("classification")
    rows = [
        r._replace(standing=Standing.TIED) if r.method == "dummy" else r
        for r in c.leaderboard
    ]
    test = RowLevelTest(3, 200, 3, {c.winner: 1e-5})
    told = baseline_sentence(replace(c, leaderboard=rows, row_test=test))
    assert "row by row (paired bootstrap of 200 held-out rows, p < 0.001" in told
    assert "not beyond doubt over 3 folds" in told and "picked from" not in told
    kept = replace(c, row_test=test).to_dict()["row_level_test"]
    assert kept == {"folds": 3, "rows": 200, "ranked": 3, "p": {c.winner: 1e-5}}
