"""Chunks: parts of a document that are indexed, found and cited by themselves.

    tokens      windows of `size` words, the last `overlap` of which come again
    sentences   sentences together up to `size` words
    headings    sections of Markdown, cut by sentences where they are longer

A chunk is text[start:end] of its document, begins in a known line, and stands under the
headings that are open there. Without overlap every word is in one chunk, so that no
word counts twice in a search.

Cost      O(characters)
"""

import re
from typing import Literal, NamedTuple

from ...params import ParameterError, check_count
from .search_words import UNSPACED

SENTENCE_END = re.compile(
    r"[.!?][\"'”’)\]]*\s+|[。！？｡][\"'”’)\]」』）】]*\s*|\n[ \t]*\n\s*"
)
LONGEST_WORD = 200  # characters; what is longer (data without blanks) counts as several
FIRST_UNSPACED = "\u0e00"  # scripts without blanks are above
# two characters of a script without blanks count as a word
WORD_RUN = re.compile(
    rf"[{UNSPACED}]{{1,2}}|(?:(?![{UNSPACED}])\S){{1,{LONGEST_WORD}}}"
)
HEADING = re.compile(
    r"^(?P<marks>\#{1,6})[ \t]+(?P<title>[^\n]+?)[ \t]*\#*[ \t]*$"
    r"|^(?P<over>[^\s#>*\-+|][^\n]*)\n(?P<line>=+|-{3,})[ \t]*$",
    re.MULTILINE,
)
FENCE = re.compile(r"^[ ]{0,3}(```+|~~~+)", re.MULTILINE)

ChunkRule = Literal["tokens", "sentences", "headings"]


class Chunk(NamedTuple):
    """A part text[start:end] of a document, its first line, and the headings above."""

    text: str
    start: int
    end: int
    line: int
    headings: tuple[str, ...] = ()


class Heading(NamedTuple):
    """A heading that is open: 1 for the highest level."""

    level: int
    title: str


def _fenced_spans(text):
    """(start, end) of the code blocks of Markdown, where no heading is."""
    spans = []
    opened = None
    for match in FENCE.finditer(text):
        marks = match.group(1)
        if opened is None:
            opened = (match.start(), marks)
        elif marks[0] == opened[1][0] and len(marks) >= len(opened[1]):
            spans.append((opened[0], match.end()))
            opened = None
    if opened is not None:
        spans.append((opened[0], len(text)))
    return spans


def _find_headings(text):
    """(position, Heading) of the headings of a Markdown text."""
    if "#" not in text and "\n=" not in text and "\n---" not in text:
        return
    spans = _fenced_spans(text)
    span_index = 0
    for match in HEADING.finditer(text):
        while span_index < len(spans) and spans[span_index][1] <= match.start():
            span_index += 1
        if span_index < len(spans) and spans[span_index][0] <= match.start():
            continue
        if match.group("marks"):
            yield match.start(), Heading(len(match["marks"]), match["title"].strip())
        else:
            level = 1 if match["line"][0] == "=" else 2
            yield match.start(), Heading(level, match["over"].strip())


def _sections_of(text, opened: list[Heading]):
    """(start, end, titles) of the sections of a text; `opened` is kept up to date."""
    start = 0
    titles = tuple(h.title for h in opened)
    for position, heading in _find_headings(text):
        if position > start:
            yield start, position, titles
        while opened and opened[-1].level >= heading.level:
            opened.pop()
        opened.append(heading)
        titles = tuple(h.title for h in opened)
        start = position
    if start < len(text):
        yield start, len(text), titles


def _may_be_unspaced(text) -> bool:
    """Whether a text may hold words of a script without blanks."""
    return not text.isascii() and max(text) >= FIRST_UNSPACED


def _most_words(text, start, end) -> int:
    """A number that the words of a part of a text do not exceed, by its blanks."""
    if _may_be_unspaced(text[start:end]):
        return end - start
    blanks = sum(text.count(blank, start, end) for blank in " \n\t")
    return blanks + 1 + (end - start) // LONGEST_WORD


def _count_words(text, start, end) -> int:
    """Words of a part of a text, in which one that is too long is several."""
    part = text[start:end]
    if len(part) <= LONGEST_WORD and not _may_be_unspaced(part):
        return len(part.split())
    return sum(1 for _ in WORD_RUN.finditer(text, start, end))


def _windows_of_words(text, start, end, size, overlap):
    """(start, end) of windows of `size` words."""
    words = [m.span() for m in WORD_RUN.finditer(text, start, end)]
    step = size - overlap
    for i in range(0, max(1, len(words) - overlap), step):
        part = words[i : i + size]
        if part:
            yield part[0][0], part[-1][1]


def sentence_spans(text, start, end, size):
    """(start, end, words) of sentences; one that is too long is cut by words."""
    position = start
    ends = [m.end() for m in SENTENCE_END.finditer(text, start, end)]
    for stop in [*ends, end]:
        if stop <= position:
            continue
        n = _count_words(text, position, stop)
        if n > size:
            for a, b in _windows_of_words(text, position, stop, size, 0):
                yield a, b, size
        else:
            yield position, stop, n
        position = stop


def _packed_sentences(text, start, end, size, overlap):
    """(start, end) of sentences together up to `size` words."""
    if _most_words(text, start, end) <= size:
        yield start, end
        return
    held: list = []
    words = 0
    for span in sentence_spans(text, start, end, size):
        if held and words + span[2] > size:
            yield held[0][0], held[-1][1]
            kept: list = []
            words = 0
            for old in reversed(held):
                if words + old[2] > overlap or words + old[2] + span[2] > size:
                    break
                kept.insert(0, old)
                words += old[2]
            held = kept
        held.append(span)
        words += span[2]
    if held:
        yield held[0][0], held[-1][1]


def check_chunking(by, size, overlap):
    """Refuse chunks that cannot be made."""
    if by not in ("tokens", "sentences", "headings"):
        raise ParameterError(
            f'by must be "tokens", "sentences" or "headings", got {by!r}.'
        )
    check_count("size", size)
    check_count("overlap", overlap, 0)
    if overlap >= size:
        raise ParameterError(f"overlap must be below size, got {overlap} and {size}.")


def split_chunks(
    text, *, by: ChunkRule = "headings", size=200, overlap=0, line=1, opened=None
) -> list[Chunk]:
    """Cut a text into chunks.

    Parameters
    ----------
    text : str
    by : {"headings", "sentences", "tokens"}, default="headings"
        What a chunk is: a section of Markdown, sentences, or a window of words.
    size : int, default=200
        Most words of a chunk.
    overlap : int, default=0
        Words of a chunk, in whole sentences unless by="tokens", that come again in the
        next one.
    line : int, default=1
        The number of the first line.
    opened : list of Heading or None
        Headings above the text, which is a part of a larger one; kept up to date.

    Returns
    -------
    chunks : list of Chunk

    Examples
    --------
    >>> from pansophy.text import split_chunks
    >>> for chunk in split_chunks("# Fruit\\nApples.\\n\\n## Red\\nCherries, too.\\n"):
    ...     print(chunk.line, chunk.headings, repr(chunk.text))
    1 ('Fruit',) '# Fruit\\nApples.'
    4 ('Fruit', 'Red') '## Red\\nCherries, too.'
    """
    check_chunking(by, size, overlap)
    if not isinstance(text, str):
        raise ValueError(f"text must be str, got {text!r}.")
    opened = [] if opened is None else opened
    sections = [(0, len(text), ())]
    if by == "headings":
        sections = list(_sections_of(text, opened))
    cut = _windows_of_words if by == "tokens" else _packed_sentences
    chunks = []
    counted = 0
    for a, b, titles in sections:
        for start, end in cut(text, a, b, size, overlap):
            part = text[start:end]
            body = part.strip()
            if not body:
                continue
            start += len(part) - len(part.lstrip())
            # with an overlap a chunk begins before the end of the one before
            step = 1 if start >= counted else -1
            low, high = sorted((counted, start))
            line += step * text.count("\n", low, high)
            counted = start
            chunks.append(Chunk(body, start, start + len(body), line, titles))
    return chunks
