"""Retrieval-augmented generation: answers from documents, with their sources.

    passages = the k best of a search for the question
    prompt   = instruction, passages with numbers, question
    answer   = generator(prompt), with the passages whose numbers it cites

The search is one by words and by meaning whose rankings are fused. The generator is any
function of a prompt, or a language model with a tokenizer. Without one the answer is an
extract: the sentences of the passages that hold most of the question, each word counted
by how rare it is among the passages. Without passages the prompt is the question alone,
so that the answer is that of the generator.

Refs      [Lewis2020]
"""

import re
from collections import Counter
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...params import check_count
from .chunks import sentence_spans
from .folder_index import FolderIndex, Passage, SearchKind
from .search_words import word_spans
from .snippets import words_to_mark

INSTRUCTION = (
    "Answer the question from the numbered passages. Cite the passages you use by "
    "their numbers in square brackets. If they do not answer the question, say so."
)
CITED = re.compile(r"\[(\d+)\]")
# headings of Markdown, titles that are underlined, and lines of signs alone
HEADING_LINE = re.compile(
    r"^#{1,6} [^\n]*$|^(?:[^\s#>|][^\n]*\n)?([=\-~^\"'*+_])\1{2,}[ \t]*$|\u00b6",
    re.MULTILINE,
)
CODE_BLOCK = re.compile(
    r"[ \t]*\n\s*?(```.*?```|(?:(?:[ ]{4}|\t)[^\n]*(?:\n|\Z)|[ \t]*\n(?=[ ]{4}|\t))+)",
    re.DOTALL,
)
LONGEST_SENTENCE = 60  # words


class CitedAnswer(NamedTuple):
    """An answer, the passages it cites, and all that were found."""

    text: str
    cited: list[Passage]
    passages: list[Passage]

    @property
    def citations(self) -> list[str]:
        """Files and lines of the passages that are cited."""
        return [passage.citation for passage in self.cited]

    def __str__(self):
        numbers = {p.number: i + 1 for i, p in enumerate(self.passages)}
        sources = [f"[{numbers[p.number]}] {p.citation}" for p in self.cited]
        return "\n".join([self.text, *sources])


class ScoredSentence(NamedTuple):
    """A sentence of a passage and how much of the question it holds."""

    score: float
    passage: int
    start: int
    text: str


def _held_words(words, text) -> set[str]:
    """Words of a question that a text holds."""
    return {word for _, _, word in word_spans(text, words)}


def _fits_question(words, held, n_passages) -> bool:
    """Whether passages say more about a question than one word that most of them hold.

    `held` counts the passages of each word of the question that occurs.
    """
    if len(words) < 2 or len(held) > 1 or n_passages < 3:
        return True
    return not any(2 * n > n_passages for n in held.values())


def _scored_sentences(question, passages) -> list[ScoredSentence]:
    """Sentences of passages that hold words of a question, or stand under some."""
    words = words_to_mark(question)
    held = Counter(
        w
        for p in passages
        for w in _held_words(words, p.text) | _held_words(words, p.heading)
    )
    weight = {w: np.log(1 + (len(passages) + 1) / n) for w, n in held.items()}
    results = []
    if not _fits_question(words, held, len(passages)):
        return results
    for i, passage in enumerate(passages):
        text = HEADING_LINE.sub("", passage.text)
        heading = _held_words(words, passage.heading)
        for start, end, _ in sentence_spans(text, 0, len(text), LONGEST_SENTENCE):
            sentence = " ".join(text[start:end].split())
            inside = _held_words(words, sentence)
            asks = sentence.endswith("?")
            if not sentence or asks or not (inside | heading):
                continue
            if sentence.endswith(":") and (code := CODE_BLOCK.match(text, end)):
                sentence += f"\n{code[1].rstrip()}\n"
            # the heading says what a sentence is about, and better passages come first;
            # under the same heading a sentence with a word is worth twice one without
            score = sum(weight[w] for w in inside)
            score += (0.5 if inside else 0.4) * sum(weight[w] for w in heading - inside)
            results.append(ScoredSentence(score / (1 + 0.1 * i), i, start, sentence))
    return results


def extracted_answer(question, passages, n_sentences=3) -> str:
    """The sentences of passages that hold most of a question, with citations."""
    result = _scored_sentences(question, passages)
    best = sorted(result, key=lambda s: (-s.score, s.passage, s.start))
    distinct = {s.text: s for s in reversed(best)}
    best = sorted(distinct.values(), key=lambda s: (-s.score, s.passage, s.start))
    best = [s for s in best if s.score >= 0.5 * best[0].score][:n_sentences]
    best = sorted(best, key=lambda s: (s.passage, s.start))
    return " ".join(f"{s.text} [{s.passage + 1}]" for s in best)


def _shortened(text, n_words) -> str:
    """The first words of a text, as they are written."""
    spans = [m.end() for m in re.finditer(r"\S+", text)]
    return text if len(spans) <= n_words else text[: spans[n_words - 1]] + " ..."


@dataclass(eq=False)
class RAG:
    """Answers questions from documents, with citations.

    Parameters
    ----------
    index : FolderIndex, PassageIndex, mapping of names to texts, or list of texts
        What is searched; anything with `search(question, k, by=...)` that gives
        passages.
    generator : function of a prompt, LanguageModel or None, default=None
        What writes the answer; None: sentences of the passages are taken.
    tokenizer : object with encode and decode, or None, default=None
        Of a language model; None: the model itself, if it has them.
    k : int, default=5
        Passages of an answer.
    by : {"hybrid", "words", "meaning"}, default="hybrid"
    max_words : int, default=800
        Words of passages in a prompt, divided evenly.
    max_tokens : int, default=100
        Of the answer of a language model.
    instruction : str
        What the prompt begins with.
    options : dict
        Of `generate`, for a language model.

    Examples
    --------
    >>> from pansophy.text import RAG
    >>> pages = {"fruit.md": "# Limes\\nLimes are green and sour. They grow on trees."}
    >>> print(RAG(pages).answer("which color have limes"))
    Limes are green and sour. [1]
    [1] fruit.md:1
    >>> RAG(pages, generator=str.upper).answer("sour?").text[-14:]
    'SOUR?\\n\\nANSWER:'
    """

    index: Any
    generator: Any = None
    _: KW_ONLY
    tokenizer: Any = None
    k: int = 5
    by: SearchKind = "hybrid"
    max_words: int = 800
    max_tokens: int = 100
    instruction: str = INSTRUCTION
    options: dict = field(default_factory=dict)

    def __post_init__(self):
        for name in ("k", "max_words", "max_tokens"):
            check_count(name, getattr(self, name))
        if isinstance(self.index, (dict, list, tuple)):
            from .passage_index import PassageIndex

            self.index = PassageIndex(self.index)
        if not hasattr(self.index, "search"):
            raise ValueError(
                f"index must be an index or texts, got {type(self.index).__name__}."
            )
        is_model = hasattr(self.generator, "advance")
        if self.generator is not None and not callable(self.generator) and not is_model:
            raise ValueError(
                "generator must be a function of a prompt or a language model, got "
                f"{type(self.generator).__name__}."
            )

    @classmethod
    def from_folder(cls, index, generator=None, **options) -> "RAG":
        """Answers from an index that `pansophy index` or `FolderIndex` made."""
        return cls(FolderIndex(index), generator, **options)

    def retrieve(self, question) -> list[Passage]:
        """The passages for a question, best first."""
        if not isinstance(question, str):
            raise ValueError(f"question must be a text, got {type(question).__name__}.")
        return self.index.search(question, self.k, by=self.by)

    def prompt(self, question, passages=None) -> str:
        """Prompt for the generator."""
        passages = self.retrieve(question) if passages is None else passages
        if not passages:
            return question
        share = max(1, self.max_words // len(passages))
        parts = [self.instruction]
        for i, passage in enumerate(passages):
            heading = f" ({passage.heading})" if passage.heading else ""
            body = _shortened(passage.text, share)
            parts.append(f"[{i + 1}] {passage.citation}{heading}\n{body}")
        return "\n\n".join([*parts, f"Question: {question}", "Answer:"])

    def answer(self, question) -> CitedAnswer:
        """An answer with its sources."""
        passages = self.retrieve(question)
        if self.generator is None:
            text = extracted_answer(question, passages) if passages else ""
        else:
            text = self._generate(self.prompt(question, passages))
        numbers = dict.fromkeys(int(n) for n in CITED.findall(text))
        cited = [passages[n - 1] for n in numbers if 1 <= n <= len(passages)]
        if not text:
            text = "No passage answers the question."
        return CitedAnswer(text, cited, passages)

    def _generate(self, prompt) -> str:
        if not hasattr(self.generator, "advance"):
            text = self.generator(prompt)
            if not isinstance(text, str):
                raise ValueError(
                    "generator must return a text, but it returned "
                    f"{type(text).__name__}."
                )
            return text
        from ..language_models.language_model import generate

        coder = self.generator if self.tokenizer is None else self.tokenizer
        if not hasattr(coder, "encode") or not hasattr(coder, "decode"):
            raise ValueError("a language model needs a tokenizer of its tokens.")
        tokens = coder.encode(prompt)
        generated = generate(
            self.generator, tokens, max_tokens=self.max_tokens, **self.options
        )
        text = coder.decode(generated)
        return text if isinstance(text, str) else " ".join(map(str, text))
