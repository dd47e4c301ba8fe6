"""Words of a text as search has them, in every script.

    normalise    NFKC (wide, half-width and composed forms are one), lower case
    words        runs of letters, digits and underscores with their combining marks
    unspaced     scripts without blanks between words (Chinese, Japanese, Thai, Lao,
                 Khmer, Burmese) and Korean, whose words grow by their endings: every
                 character of a run with the one behind it, the last one alone

So "東京都" is indexed as 東京, 京都, 都. Every character begins one term, which makes a
single character a prefix of all terms that it begins. A query of two characters or more
needs no last term. Words of one letter count too: a language called C is found.

Cost      O(characters); text without marks and unspaced scripts goes through compiled
          loops (`text/search/search_analysis.py`)
Refs      [Nie2000] bigrams of characters
"""

import re
import unicodedata
from functools import cache

# kana, ideographs, Hangul; Thai, Lao, Burmese, Khmer with their marks
UNSPACED = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uac00-\ud7af\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
FIRST_MARK = "\u0300"  # all characters below are of scripts with blanks
LAST_MARK = 0x1F000
WORD = re.compile(r"\b\w+\b")
IS_UNSPACED = re.compile(f"[{UNSPACED}]")


@cache
def _combining_marks() -> str:
    """All combining marks, as a part of a character class."""
    codes = range(ord(FIRST_MARK), LAST_MARK)
    return "".join(
        re.escape(chr(c)) for c in codes if unicodedata.category(chr(c))[0] == "M"
    )


@cache
def _run_pattern() -> re.Pattern:
    """Runs of unspaced characters, or of other characters of words with their marks."""
    letter = f"[^\\W{UNSPACED}]"
    return re.compile(f"[{UNSPACED}]+|{letter}(?:{letter}|[{_combining_marks()}])*")


@cache
def _special_character() -> re.Pattern:
    """A character that belongs to words in another way than letters do."""
    return re.compile(f"[{UNSPACED}{_combining_marks()}]")


def normalized(text) -> str:
    """A text in NFKC and lower case."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return text.lower()


def has_plain_words(text) -> bool:
    """Whether words of a normalised text are runs of letters, digits, underscores."""
    if text.isascii() or max(text) < FIRST_MARK:
        return True
    return _special_character().search(text) is None


def is_unspaced(word) -> bool:
    """Whether a word is of a script without blanks between words."""
    return not word.isascii() and IS_UNSPACED.match(word) is not None


def begins_terms(word) -> bool:
    """Whether a word is one character that stands for all terms that begin with it."""
    return len(word) == 1 and is_unspaced(word)


def terms_of(text, *, as_query=False) -> list[str]:
    """The terms of a normalised text in order; see `indexed_words`, `query_words`."""
    if has_plain_words(text):
        return WORD.findall(text)
    words = []
    for run in _run_pattern().findall(text):
        if is_unspaced(run):
            n = max(1, len(run) - 1) if as_query else len(run)
            words += [run[i : i + 2] for i in range(n)]
        else:
            words.append(run)
    return words


def indexed_words(text) -> list[str]:
    """The terms of a document in order.

    Examples
    --------
    >>> from pansophy.text.search.search_words import indexed_words
    >>> indexed_words("A cat in 東京都")
    ['a', 'cat', 'in', '東京', '京都', '都']
    """
    return terms_of(normalized(text))


def query_words(text) -> list[str]:
    """The terms that a query asks for.

    Examples
    --------
    >>> from pansophy.text.search.search_words import query_words
    >>> query_words("東京都 or 猫")
    ['東京', '京都', 'or', '猫']
    """
    return terms_of(normalized(text), as_query=True)


def word_spans(text, words):
    """(start, end, word) of the terms of a query in a text as it was written."""
    if has_plain_words(text):
        for match in WORD.finditer(text):
            word = normalized(match.group())
            if word in words:
                yield match.start(), match.end(), word
        return
    for match in _run_pattern().finditer(text):
        run = match.group()
        sizes = [1, 2] if is_unspaced(run) else [len(run)]
        for i in range(len(run) if is_unspaced(run) else 1):
            for size in sizes:
                word = normalized(run[i : i + size])
                if i + size <= len(run) and word in words:
                    yield match.start() + i, match.start() + i + size, word
