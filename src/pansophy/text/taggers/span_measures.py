"""Spans of tagged words, and how well predicted spans agree with true ones.

A tag is a prefix and a type: B-PER begins a span of type PER, I-PER goes on with it, O
is outside ("bio"); E- ends a span and S- is one of a single word ("bioes", also called
BILOU with L and U). Tags that do not fit together are repaired: an I or E that does not
go on with a span of its type begins one.

A predicted span is right if a true one has the same sentence, ends and type. With tp
right ones of p predicted and t true ones,

    precision = tp / p,   recall = tp / t,   F1 = 2 tp / (p + t)                  (1)

for each type, over all spans (micro), and as the mean over types (macro). Measures of
single words flatter taggers, as most words are outside of spans.

Refs      [TjongKimSang2003]
"""

from typing import NamedTuple

import numpy as np

from ...params import check_count, check_list

PREFIXES = {"B": "B", "I": "I", "E": "E", "L": "E", "S": "S", "U": "S", "M": "I"}


class Span(NamedTuple):
    """Words start to stop - 1 of a sentence, of one type."""

    start: int
    stop: int
    type: str


def _read_tag(tag: str) -> tuple[str, str]:
    """Prefix (B, I, E, S or O) and type of a tag."""
    if tag == "O":
        return "O", ""
    prefix, dash, kind = tag.partition("-")
    if prefix not in PREFIXES or not (dash or tag in PREFIXES):
        raise ValueError(
            f'a tag must be "O" or a prefix and a type, such as "B-PER"; got {tag!r}.'
        )
    return PREFIXES[prefix], kind


def tags_to_spans(tags) -> list[Span]:
    """The spans of a sentence's tags, in order; tags that do not fit are repaired.

    Examples
    --------
    >>> from pansophy.text import tags_to_spans
    >>> tags_to_spans(["B-PER", "I-PER", "O", "I-LOC", "S-ORG"])
    [Span(start=0, stop=2, type='PER'), Span(start=3, stop=4, type='LOC'),
     Span(start=4, stop=5, type='ORG')]
    """
    spans = []
    start = None
    kind = ""
    for i, tag in enumerate(
        [*map(str, check_list("tags", tags, "a list of tags")), "O"]
    ):
        prefix, tag_kind = _read_tag(tag)
        goes_on = start is not None and prefix in "IE" and tag_kind == kind
        if start is not None and not goes_on:
            spans.append(Span(start, i, kind))
            start = None
        if prefix != "O" and start is None:
            start = i
            kind = tag_kind
        if start is not None and prefix in "ES":
            spans.append(Span(start, i + 1, kind))
            start = None
    return spans


def spans_to_tags(spans, n_words: int, scheme="bio") -> list[str]:
    """Tags of the words of a sentence with these spans.

    Parameters
    ----------
    spans : iterable of Span or (start, stop, type)
        They must not overlap.
    n_words : int
    scheme : {"bio", "bioes"}, default="bio"

    Examples
    --------
    >>> from pansophy.text import spans_to_tags
    >>> spans_to_tags([(0, 1, "PER"), (2, 4, "LOC")], 4, scheme="bioes")
    ['S-PER', 'O', 'B-LOC', 'E-LOC']
    """
    if scheme not in ("bio", "bioes"):
        raise ValueError(f'scheme must be "bio" or "bioes", got {scheme!r}.')
    tags = ["O"] * check_count("n_words", n_words, 0)
    for span in check_list("spans", spans, "a list of (start, stop, type)"):
        parts = check_list("a span", span, "(start, stop, type)")
        if len(parts) != 3:
            raise ValueError(f"a span must be (start, stop, type), got {span!r}.")
        start, stop = check_count("start", parts[0], 0), check_count("stop", parts[1])
        kind = parts[2]
        if not 0 <= start < stop <= n_words:
            raise ValueError(f"span {start} to {stop} is not inside {n_words} words.")
        if any(tag != "O" for tag in tags[start:stop]):
            raise ValueError(f"span {start} to {stop} overlaps another.")
        inside = [f"I-{kind}"] * (stop - start)
        inside[0] = f"B-{kind}"
        if scheme == "bioes":
            inside[-1] = f"S-{kind}" if stop - start == 1 else f"E-{kind}"
        tags[start:stop] = inside
    return tags


class SpanScore(NamedTuple):
    """Eq. (1), and the numbers of spans."""

    precision: float
    recall: float
    f1: float
    true: int
    predicted: int
    right: int


def _span_score(true, predicted, right) -> SpanScore:
    """Eq. (1) from numbers of spans; 0 where there is nothing to divide by."""
    share = lambda a, b: a / b if b else 0.0
    f1 = share(2 * right, true + predicted)
    return SpanScore(
        share(right, predicted), share(right, true), f1, true, predicted, right
    )


class SpanReport(NamedTuple):
    """Scores of each type of span, of all spans together, and their mean."""

    types: dict[str, SpanScore]
    micro: SpanScore
    macro_f1: float

    def __str__(self):
        lines = [f"{'':12s} precision  recall      F1   spans"]
        for name, score in [*self.types.items(), ("all", self.micro)]:
            lines.append(
                f"{name:12s} {score.precision:9.3f} {score.recall:7.3f} "
                f"{score.f1:7.3f} {score.true:7d}"
            )
        return "\n".join(lines)


def _check_pairs(y_true, y_pred):
    """True and predicted tags as lists, of equal numbers of sentences and words."""
    pairs = [
        [
            check_list(f"{name}[{i}]", part, "a list of tags")
            for i, part in enumerate(check_list(name, tags, "a list of lists of tags"))
        ]
        for name, tags in (("y_true", y_true), ("y_pred", y_pred))
    ]
    if len(pairs[0]) != len(pairs[1]):
        raise ValueError(
            f"y_true has {len(pairs[0])} sentences, but y_pred has {len(pairs[1])}."
        )
    for i, (a, b) in enumerate(zip(*pairs)):
        if len(a) != len(b):
            raise ValueError(
                f"sentence {i} has {len(a)} true tags, but {len(b)} predicted ones."
            )
    return pairs


def _report_of_counts(counts) -> SpanReport:
    """The report from numbers of true, predicted and right spans of each type."""
    types = {name: _span_score(*map(int, counts[name])) for name in sorted(counts)}
    totals = sum(counts.values(), np.zeros(3, int))
    macro = float(np.mean([score.f1 for score in types.values()])) if types else 0.0
    return SpanReport(types, _span_score(*map(int, totals)), macro)


def span_report(y_true, y_pred) -> SpanReport:
    """Precision, recall and F1 of predicted spans, eq. (1).

    Parameters
    ----------
    y_true, y_pred : lists of sequences of tags, one for each sentence

    Examples
    --------
    >>> from pansophy.text import span_report
    >>> true = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> found = [["B-PER", "O", "O", "B-LOC"]]
    >>> report = span_report(true, found)
    >>> report.micro.f1, report.types["LOC"].f1, report.types["PER"].f1
    (0.5, 1.0, 0.0)
    """
    counts: dict[str, np.ndarray] = {}
    for a, b in zip(*_check_pairs(y_true, y_pred)):
        true, predicted = set(tags_to_spans(a)), set(tags_to_spans(b))
        for place, spans in enumerate((true, predicted, true & predicted)):
            for span in spans:
                counts.setdefault(span.type, np.zeros(3, int))[place] += 1
    return _report_of_counts(counts)


def tag_report(y_true, y_pred) -> SpanReport:
    """Report on single words: each word is a span whose type is its tag.

    Examples
    --------
    >>> from pansophy.text import tag_report
    >>> report = tag_report([["D", "N", "V"]], [["D", "N", "N"]])
    >>> report.types["N"].precision, report.types["N"].recall, report.micro.f1
    (0.5, 1.0, 0.6666666666666666)
    """
    counts: dict[str, np.ndarray] = {}
    for a, b in zip(*_check_pairs(y_true, y_pred)):
        for true, predicted in zip(map(str, a), map(str, b)):
            counts.setdefault(true, np.zeros(3, int))[0] += 1
            counts.setdefault(predicted, np.zeros(3, int))[1] += 1
            counts[true][2] += true == predicted
    return _report_of_counts(counts)
