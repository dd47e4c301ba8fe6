"""Findings: plain data, the gravest first."""

import json

import numpy as np
import pytest

from pansophy.diagnose import (
    as_dicts,
    by_severity,
    findings_text,
    json_ready,
    make_finding,
    worst_severity,
)
from pansophy.diagnose.findings import merge_notes
from pansophy.diagnose.intervals import (
    fold_interval,
    holm,
    mean_gap,
    rate_gap,
    rate_interval,
)


def test_order_words_and_json():
    found = [
        make_finding("b", "note", "small", column=3, n=np.int64(4)),
        make_finding("a", "alarm", "<b>big</b>", value=np.nan, rows=np.arange(3)),
        make_finding("c", "warning", "middle", of=rate_interval(1, 4)),
    ]
    assert [f.kind for f in by_severity(found)] == ["a", "c", "b"]
    assert worst_severity(found) == "alarm" and worst_severity([]) is None
    assert findings_text(found).splitlines()[0] == "alarm: <b>big</b>"
    assert findings_text([], "none") == "none"
    read = json.loads(json.dumps(as_dicts(found)))
    assert read[0]["facts"] == {"value": None, "rows": [0, 1, 2]}
    assert read[2]["column"] == "3" and read[1]["facts"]["of"]["mean"] == 0.25
    assert json_ready({1: (np.bool_(True), None, object)})["1"][:2] == [True, None]
    with pytest.raises(ValueError, match="severity"):
        make_finding("a", "bad", "text")


def test_intervals_are_those_of_their_books(rng):
    from scipy import stats

    from pansophy.compare import corrected_interval
    from pansophy.compare import holm_adjust as reference

    s = rng.normal(size=10)
    ours, theirs = fold_interval(s, 0.25), corrected_interval(s, 0.25)
    assert ours == pytest.approx(tuple(theirs), rel=1e-12)
    p = rng.random(7) / 5
    np.testing.assert_allclose(holm(p), reference(p))
    r = rate_interval(15, 50)
    exact = stats.binomtest(15, 50).proportion_ci(method="wilson")
    assert (r.low, r.high) == pytest.approx((exact.low, exact.high), abs=1e-12)
    # Newcombe's own example: 56/70 against 48/80
    gap = rate_gap(rate_interval(56, 70), rate_interval(48, 80))
    assert (gap.low, gap.high) == pytest.approx((0.0524, 0.3339), abs=1e-4)
    a, b = rng.normal(size=20), rng.normal(1, 3, size=30)
    ci = stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    gap = mean_gap(a, b)
    assert (gap.low, gap.high) == pytest.approx((ci.low, ci.high), rel=1e-9)


def test_notes_of_one_kind_are_one_line():
    note = lambda c, kind="skewed": make_finding(kind, "note", f"{c} is.", column=c)
    warn = make_finding("skewed", "warning", "w is.", column="w")
    found = [note("a"), warn, note("b"), note("c", "other"), note("d")]
    text = findings_text(found).splitlines()
    assert text == ["warning: w is.", "note: a is. Likewise: 'b', 'd'.", "note: c is."]
    many = merge_notes([note(f"x{i}") for i in range(12)])
    assert len(many) == 1 and many[0].text.endswith("'x8' and 3 more.")
    plain = make_finding("rows", "note", "Rows.")
    assert merge_notes([plain, plain]) == [plain, plain]  # about no column
