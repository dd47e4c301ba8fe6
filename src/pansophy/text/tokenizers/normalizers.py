"""Normalisation of text: Unicode forms, lower case, accents and white space.

The steps of `Normalizer`, in this order, each optional:

    form            composed (NFC) or compatible (NFKC) characters of Unicode
    lowercase       every character in lower case
    strip_accents   characters decomposed, marks (categories M) left out, composed
    whitespace      runs of white space become one space, none at the ends

Where each character came from is kept, so that tokens of the normalised text have
places in the original one. For that a text is cut where normalisation does not look
across: before a character whose decomposition begins with no mark and with nothing
that composes with what is before it.

Cost      O(characters); with places one step of Python for each character that is not
          ASCII
Refs      [Unicode2022] annex 15
"""

import re
import unicodedata
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

FORMS: dict[str, Literal["NFC", "NFKC"]] = {"nfc": "NFC", "nfkc": "NFKC"}
SPACES = re.compile(r"\s+")
HANGUL = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}  # compose with what is before


class NormalizedText(NamedTuple):
    """A normalised text; places[i]:places[i + 1] of the original made character i."""

    text: str
    places: np.ndarray  # (characters + 1,) int64


@cache
def _composing_characters() -> frozenset[int]:
    """Code points that are no marks and may compose with the character before."""
    result = set(HANGUL)
    for c in range(0x110000):
        parts = unicodedata.decomposition(chr(c))
        if parts and parts[0] != "<":
            second = parts.split()[1:]
            result.update(int(p, 16) for p in second)
    return frozenset(result)


def _begins_segment(character) -> bool:
    """Whether normalisation does not look across the border before a character."""
    if character.isascii():
        return True
    first = unicodedata.normalize("NFKD", character)[0]
    return (
        not unicodedata.combining(first) and ord(first) not in _composing_characters()
    )


def _text_segments(text):
    """(start, segment) parts of a text that are normalised each by itself."""
    start = 0
    for i in range(1, len(text)):
        if _begins_segment(text[i]):
            yield start, text[start:i]
            start = i
    if text:
        yield start, text[start:]


def _is_mark(character) -> bool:
    return unicodedata.category(character)[0] == "M"


@dataclass(frozen=True)
class Normalizer:
    """Steps that make texts alike before they become tokens.

    Parameters
    ----------
    form : {"nfc", "nfkc"} or None, default="nfc"
        Form of Unicode; "nfkc" also replaces ligatures, wide letters and such.
    lowercase : bool, default=False
        Character by character, so that a final sigma is a sigma.
    strip_accents : bool, default=False
    whitespace : bool, default=False
        Whether runs of white space become one space, none at the ends.

    Examples
    --------
    >>> from pansophy.text import Normalizer
    >>> Normalizer("nfkc", lowercase=True, strip_accents=True)("ﬁne CAFÉ №5")
    'fine cafe no5'
    >>> Normalizer(whitespace=True).with_places("a \\t b").places.tolist()
    [0, 1, 4, 5]
    """

    form: Literal["nfc", "nfkc"] | None = "nfc"
    _: KW_ONLY
    lowercase: bool = False
    strip_accents: bool = False
    whitespace: bool = False

    def __post_init__(self):
        if self.form not in ("nfc", "nfkc", None):
            raise ValueError(f'form must be "nfc", "nfkc" or None, got {self.form!r}.')

    def _normalize_segment(self, text) -> str:
        if self.form is not None:
            text = unicodedata.normalize(FORMS[self.form], text)
        if self.lowercase:
            text = text.lower() if text.isascii() else "".join(map(str.lower, text))
        if self.strip_accents and not text.isascii():
            parts = unicodedata.normalize("NFD", text)
            text = "".join(c for c in parts if not _is_mark(c))
            text = unicodedata.normalize(FORMS[self.form or "nfc"], text)
        return text

    def __call__(self, text) -> str:
        """The normalised text."""
        text = self._normalize_segment(text)
        return SPACES.sub(" ", text).strip() if self.whitespace else text

    def with_places(self, text) -> NormalizedText:
        """The normalised text, and where its characters were."""
        if text.isascii():
            normalized = self._normalize_segment(text)
            return self._join_spaces(normalized, np.arange(len(text) + 1))
        parts = []
        places = []
        for start, segment in _text_segments(text):
            normalized = self._normalize_segment(segment)
            parts.append(normalized)
            if len(normalized) == len(segment):
                places.extend(range(start, start + len(normalized)))
            elif normalized:  # the first character stands for all of the segment
                end = start + len(segment)
                places.extend([start] + [end] * (len(normalized) - 1))
            # what is left out belongs to the character before it
        return self._join_spaces("".join(parts), np.array([*places, len(text)]))

    def _join_spaces(self, text, places) -> NormalizedText:
        if not self.whitespace:
            return NormalizedText(text, places.astype(np.int64))
        kept = []
        for match in re.finditer(r"\s+|\S", text):
            start = match.start()
            inside = start > 0 and match.end() < len(text)
            if not match.group().isspace():
                kept.append((match.group(), start))
            elif inside:
                kept.append((" ", start))
        joined = "".join(c for c, _ in kept)
        last = len(text.rstrip()) if kept else len(text)
        source_places = places[
            np.array([*(place for _, place in kept), last], dtype=np.int64)
        ]
        return NormalizedText(joined, source_places.astype(np.int64))
