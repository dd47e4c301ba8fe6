"""Texts of the pages: every key in every language, with the same places."""

import re
import string
from importlib import resources

import pytest

from pansophy.studio.texts import Texts, chosen_language, languages, texts_of

NAMES = {"pansophy", "studio", "folds", "framed"}
TEMPLATES = resources.files("pansophy.studio").joinpath("templates")


def places(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


@pytest.mark.parametrize("code", list(languages()))
def test_translations_have_the_same_keys_and_places(code):
    english, other = texts_of("en"), texts_of(code)
    assert english.keys() == other.keys()
    for key, text in english.items():
        assert places(text) == places(other[key]), key


def test_pages_hold_no_text_of_their_own():
    used = set()
    for file in TEMPLATES.iterdir():
        text = file.read_text("utf-8")
        used |= set(re.findall(r'(?<![\w.])t\("(\w+)"[,)]', text))
        shown = re.sub(r"\{[{%].*?[%}]\}|<svg.*?</svg>|<[^>]*>", " ", text, flags=re.S)
        words = re.findall(r"[A-Za-z]{4,}", shown)
        assert set(words) <= NAMES, (file.name, words)
    assert used <= texts_of("en").keys()


def test_numbers_are_written_as_the_language_does():
    english, german = Texts("en"), Texts("de")
    assert english.number(1234567) == "1,234,567"
    assert german.number(1234567) == "1.234.567"
    assert english.number(0.56412) == "0.5641" and german.number(0.5) == "0,5"
    assert english.number(53940.7) == "53,941" and english.number(1e-9) == "1e-09"
    assert german.fixed(1234.5, 2) == "1.234,50"
    assert english.bytes(2_500_000) == "2.5 MB" and english.bytes(10) == "1 kB"
    assert [english.duration(s) for s in (5, 150, 5400)] == ["5 s", "2 min", "1.5 h"]


def test_languages_are_chosen_or_accepted():
    assert chosen_language("de", "en") == "de" and chosen_language("xx", None) == "en"
    assert chosen_language(None, "fr;q=1, en") == "en"
    assert Texts("xx").code == "en"
