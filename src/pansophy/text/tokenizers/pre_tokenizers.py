"""Pre-tokenisers: rules that cut a text into pieces, which tokens never cross.

    gpt2   contractions ('s, 't, ...), words, numbers and signs, each with one space
           before; white space leaves its last character to what follows
    gpt4   the same with any sign before a word, numbers in threes, line ends with the
           signs before them
    words  runs of letters and digits, of other signs, of white space
    bytes  the whole text is one piece

The first two are those of GPT-2 and of GPT-4 ("cl100k"), which their makers wrote as
regular expressions; here they are loops over code points, linear in any text.

Cost      O(characters)
Refs      [Radford2019]
"""

import re
import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np

from ...params import ParameterError, check_string
from . import _pre_tokenizers as loops

ESCAPED_BYTES = re.compile("([\udc80-\udcff]+)")
RULES = {"gpt2": 0, "gpt4": 1, "words": 2, "bytes": 3}

# the property White_Space of Unicode
WHITE_SPACE = (
    *range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B),
    0x2028, 0x2029, 0x202F, 0x205F, 0x3000,
)  # fmt: skip

KINDS_OF_CATEGORIES = {"L": loops.LETTER, "N": loops.NUMBER}


class Pieces(NamedTuple):
    """Pieces of a text as bytes: piece i is data[ends[i - 1]:ends[i]]."""

    data: bytes
    ends: np.ndarray  # int64

    def texts(self) -> list[bytes]:
        """The pieces."""
        starts = [0, *self.ends[:-1].tolist()]
        return [self.data[i:j] for i, j in zip(starts, self.ends.tolist())]


@cache
def _character_classes(limit):
    """LETTER, NUMBER, SPACE or OTHER of every code point below a limit."""
    category = unicodedata.category
    classes = np.fromiter(
        (
            KINDS_OF_CATEGORIES.get(category(chr(c))[0], loops.OTHER)
            for c in range(limit)
        ),
        np.uint8,
        limit,
    )
    classes[[c for c in WHITE_SPACE if c < limit]] = loops.SPACE
    return classes


def split_text(text, rule="gpt2") -> Pieces:
    """Cut a text into pieces.

    Parameters
    ----------
    text : str
    rule : {"gpt2", "gpt4", "words", "bytes"}, default="gpt2"

    Returns
    -------
    pieces : Pieces
        Their bytes, one after the other, are the text in UTF-8. Bytes that are no
        UTF-8, read with `errors="surrogateescape"`, are themselves again.

    Examples
    --------
    >>> from pansophy.text import split_text
    >>> split_text("Don't stop  at 1000!").texts()
    [b'Don', b"'t", b' stop', b' ', b' at', b' 1000', b'!']
    >>> split_text("at 1000!", "gpt4").texts()
    [b'at', b' ', b'100', b'0', b'!']
    """
    if rule not in RULES:
        raise ParameterError(f"rule must be one of {sorted(RULES)}, got {rule!r}.")
    data = _bytes_of_text(check_string("text", text))
    if rule == "bytes" or not data:
        return Pieces(data, np.array([len(data)] if data else [], dtype=np.int64))
    chars = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    classes = _character_classes(128 if text.isascii() else 0x110000)
    ends = np.empty(len(chars), np.int64)
    count = loops.split_pieces(chars, classes, RULES[rule], ends)
    ends = ends[:count].copy()
    if len(data) < int(ends[-1]):  # the loops count three bytes for an invalid one
        ends = _without_escapes(chars, ends)
    return Pieces(data, ends)


def _bytes_of_text(text) -> bytes:
    """A text in UTF-8, with the bytes that `surrogateescape` had read as characters."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # other surrogates
        parts = ESCAPED_BYTES.split(text)
    return b"".join(
        part.encode("utf-8", "surrogateescape" if i % 2 else "surrogatepass")
        for i, part in enumerate(parts)
    )


def _without_escapes(chars, ends) -> np.ndarray:
    """Ends of pieces in bytes, of which escaped ones are one and not three."""
    sizes = 1 + (chars >= 0x80) + (chars >= 0x800) + (chars >= 0x10000)
    escaped = (chars >= 0xDC80) & (chars <= 0xDCFF)
    piece_index = np.searchsorted(np.cumsum(sizes), ends)
    return np.cumsum(np.where(escaped, 1, sizes))[piece_index]
