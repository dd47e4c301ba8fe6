"""Spans of tags, repaired as conlleval repairs them, and their measures."""

import numpy as np
import pytest

from pansophy.text import Span, span_report, spans_to_tags, tag_report, tags_to_spans


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("O O", []),
        ("B-A B-A", [(0, 1, "A"), (1, 2, "A")]),
        ("B-A I-A O I-A", [(0, 2, "A"), (3, 4, "A")]),
        ("B-A I-B", [(0, 1, "A"), (1, 2, "B")]),
        ("I-A I-A", [(0, 2, "A")]),
        ("S-A S-A", [(0, 1, "A"), (1, 2, "A")]),
        ("B-A E-A I-A", [(0, 2, "A"), (2, 3, "A")]),
        ("B-A I-A E-A", [(0, 3, "A")]),
        ("E-A", [(0, 1, "A")]),
        ("B-A L-A U-B", [(0, 2, "A"), (2, 3, "B")]),
        ("B-A-1 I-A-1", [(0, 2, "A-1")]),
        ("B I O", [(0, 2, "")]),
    ],
)
def test_spans_of_tags(tags, spans):
    assert tags_to_spans(tags.split()) == [Span(*span) for span in spans]


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_round_trip(scheme):
    rng = np.random.default_rng(0)
    for _ in range(50):
        spans, at = [], 0
        while at < 10:
            stop = at + int(rng.integers(1, 4))
            if rng.random() < 0.6:
                spans.append(Span(at, stop, str(rng.choice(["A", "B"]))))
            at = stop
        tags = spans_to_tags(spans, 13, scheme)
        assert len(tags) == 13
        assert tags_to_spans(tags) == spans


def test_report_by_hand():
    true = [["B-P", "I-P", "O", "B-L"], ["O", "B-P"], ["O"]]
    found = [["B-P", "I-P", "O", "B-P"], ["B-L", "B-P"], ["O"]]
    report = span_report(true, found)
    assert report.types["P"][:2] == (2 / 3, 1.0)
    assert report.types["P"].f1 == pytest.approx(0.8)
    assert report.types["L"] == (0.0, 0.0, 0.0, 1, 1, 0)
    assert report.micro == (0.5, 2 / 3, 4 / 7, 3, 4, 2)
    assert report.macro_f1 == pytest.approx(0.4)
    assert "all" in str(report) and "0.571" in str(report)
    perfect = span_report(true, true)
    assert perfect.micro.f1 == perfect.macro_f1 == 1.0
    nothing = span_report([["O"]], [["O"]])
    assert nothing.micro.f1 == 0.0 and nothing.types == {}


def test_report_against_scikit_learn():
    from sklearn.metrics import precision_recall_fscore_support

    rng = np.random.default_rng(1)
    true = [rng.choice(["D", "N", "V"], 7).tolist() for _ in range(20)]
    found = [rng.choice(["D", "N", "V"], 7).tolist() for _ in range(20)]
    report = tag_report(true, found)
    flat = lambda tags: [t for part in tags for t in part]
    wanted = precision_recall_fscore_support(flat(true), flat(found))
    got = np.array([report.types[t][:4] for t in ("D", "N", "V")]).T
    np.testing.assert_allclose(got, wanted)
    assert report.micro.f1 == pytest.approx(np.mean(np.equal(flat(true), flat(found))))


def test_what_is_refused():
    with pytest.raises(ValueError, match="got 'X-A'"):
        tags_to_spans(["X-A"])
    with pytest.raises(ValueError, match="got 'NOUN'"):
        span_report([["NOUN"]], [["O"]])
    with pytest.raises(ValueError, match="y_pred has 0"):
        span_report([["O"]], [])
    with pytest.raises(ValueError, match="sentence 0 has 1 true tags, but 2"):
        span_report([["O"]], [["O", "O"]])
    with pytest.raises(ValueError, match="overlaps"):
        spans_to_tags([(0, 2, "A"), (1, 3, "B")], 4)
    with pytest.raises(ValueError, match="not inside"):
        spans_to_tags([(0, 5, "A")], 4)
    with pytest.raises(ValueError, match="scheme"):
        spans_to_tags([], 4, "iob")
