"""Evaluation of retrieval: nDCG, reciprocal rank and recall.

An evaluation set is made of titles: a title is the question and the entry under it the
answer. The title is taken out of the entry, since a search would otherwise be asked for
words that it was given (the leak of the question's own document). Measures are those of
`metrics.ranking_metrics` for each question; intervals are percentiles of the mean
over questions drawn with replacement (the bootstrap), and two searches are compared
question by question.

Refs      [Jarvelin2002] nDCG; [Voorhees1999] reciprocal rank; [Efron1987] bootstrap
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from ...core.random import make_rng
from ...metrics.ranking_metrics import (
    ndcg_at_k,
    recall_at_k,
    reciprocal_rank_at_k,
)
from ...params import ParameterError, check_count, check_list

MEASURES = {
    "ndcg": ndcg_at_k,
    "reciprocal_rank": reciprocal_rank_at_k,
    "recall": recall_at_k,
}


class EvaluationSet(NamedTuple):
    """Questions, the documents to search, and which of them answer each question."""

    questions: list[str]
    documents: list[str]
    relevant: list[set[int]]


class BootstrapInterval(NamedTuple):
    """A mean over questions with the limits of its interval."""

    mean: float
    low: float
    high: float

    def __str__(self):
        return f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"


class RetrievalReport(NamedTuple):
    """Measures at k, and their values for each question."""

    k: int
    ndcg: BootstrapInterval
    reciprocal_rank: BootstrapInterval
    recall: BootstrapInterval
    values: dict[str, np.ndarray]

    def __str__(self):
        lines = [f"{len(self.values['ndcg'])} questions, the first {self.k}"]
        for name in MEASURES:
            lines.append(f"{name.replace('_', ' '):<17}{getattr(self, name)}")
        return "\n".join(lines)


def title_questions(
    entries: Iterable[tuple[str, str]], *, min_words=5, max_questions=None,
    random_state=0,
) -> EvaluationSet:  # fmt: skip
    """An evaluation set of entries with titles: find the entry, given the title.

    Parameters
    ----------
    entries : list of (title, text)
        All of them are searched; those whose title occurs once are asked for.
    min_words : int, default=5
        Least number of words of an entry that is asked for.
    max_questions : int or None
        Draw so many; None: all.
    random_state : int, Generator or None

    Examples
    --------
    >>> from pansophy.text import title_questions
    >>> entries = [("Lime", "Lime: a sour fruit. A lime is green."), ("Fig", "Purple.")]
    >>> made = title_questions(entries, min_words=2)
    >>> made.questions, made.documents[0]
    (['Lime'], 'a sour fruit. A is green.')
    """
    pairs = [
        check_list(f"entries[{i}]", entry, "a pair (title, text)")
        for i, entry in enumerate(
            check_list("entries", entries, "a list of (title, text)")
        )
    ]
    wrong = next((pair for pair in pairs if len(pair) != 2), None)
    if wrong is not None:
        raise ParameterError(f"an entry must be a pair (title, text), got {wrong!r}.")
    entries = [(str(title).strip(), str(text)) for title, text in pairs]
    documents = [_without_title(title, text) for title, text in entries]
    times = Counter(title.lower() for title, _ in entries)
    questions = [
        i
        for i, (title, _) in enumerate(entries)
        if title
        and times[title.lower()] == 1
        and len(documents[i].split()) >= min_words
    ]
    if max_questions is not None and len(questions) > max_questions:
        rng = make_rng(random_state)
        chosen = rng.permutation(len(questions))[
            : check_count("max_questions", max_questions)
        ]
        questions = [questions[i] for i in np.sort(chosen)]
    # a title in quotation marks would be asked for as a phrase
    return EvaluationSet(
        [entries[i][0].replace('"', " ").strip() for i in questions],
        documents,
        [{i} for i in questions],
    )


def _without_title(title, text) -> str:
    """A text without its title, wherever it occurs as whole words."""
    if not title:
        return text
    pattern = rf"(?i)(?<!\w){re.escape(title)}(?!\w)"
    body = re.sub(pattern, " ", text)
    return " ".join(body.split()).lstrip(":#=- ")


def _interval_of_mean(values, n_resamples, level, rng) -> BootstrapInterval:
    """The mean of values over questions, with percentiles of resampled means."""
    n = len(values)
    means = np.array([values[rng.integers(0, n, n)].mean() for _ in range(n_resamples)])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return BootstrapInterval(float(values.mean()), float(low), float(high))


def evaluate_retrieval(
    search: Callable, evaluation: EvaluationSet, k=10, *, n_resamples=1000, level=0.95,
    random_state=0,
) -> RetrievalReport:  # fmt: skip
    """Measures of a search on an evaluation set.

    Parameters
    ----------
    search : function (question, k) -> documents, best first
        Numbers of documents; -1 is an empty place.
    evaluation : EvaluationSet
    k : int, default=10
    n_resamples : int, default=1000
    level : float, default=0.95
        Of the intervals.
    random_state : int, Generator or None

    Examples
    --------
    >>> from pansophy.text import BM25, evaluate_retrieval, title_questions
    >>> entries = [("Lime fruit", "A sour green fruit."), ("Plum", "A purple thing.")]
    >>> made = title_questions(entries, min_words=1)
    >>> model = BM25().fit(made.documents)
    >>> report = evaluate_retrieval(
    ...     lambda question, k: model.search(question, k).documents[0], made
    ... )
    >>> report.recall.mean
    0.5
    """
    check_count("k", k)
    if not evaluation.questions:
        raise ValueError("the evaluation set has no questions.")
    ranked = [
        [int(d) for d in search(question, k) if d >= 0]
        for question in evaluation.questions
    ]
    rng = make_rng(random_state)
    values = {
        name: np.asarray(measure(evaluation.relevant, ranked, k, average=False))
        for name, measure in MEASURES.items()
    }
    intervals = {
        name: _interval_of_mean(v, n_resamples, level, rng)
        for name, v in values.items()
    }
    return RetrievalReport(k, **intervals, values=values)


def retrieval_difference(
    report: RetrievalReport, baseline: RetrievalReport, *, n_resamples=1000, level=0.95,
    random_state=0,
) -> dict[str, BootstrapInterval]:  # fmt: skip
    """Paired difference of two searches, question by question.

    Parameters
    ----------
    report, baseline : RetrievalReport
        Of the same questions.
    n_resamples, level, random_state
        As in `evaluate_retrieval`.

    Returns
    -------
    differences : dict of BootstrapInterval
        By measure; above 0 where `report` is better.
    """
    rng = make_rng(random_state)
    intervals = {}
    for name in MEASURES:
        a = report.values[name]
        b = baseline.values[name]
        if len(a) != len(b):
            raise ValueError("both reports must be of the same questions.")
        intervals[name] = _interval_of_mean(a - b, n_resamples, level, rng)
    return intervals
