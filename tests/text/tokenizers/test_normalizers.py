"""Normalisation: Unicode forms, where characters came from, tokenizers' results."""

import unicodedata

import numpy as np
import pytest

from pansophy.text import Normalizer

TEXTS = [
    "",
    "plain",
    "Caf\u00e9 cafe\u0301 \uff21\uff22 \ufb01ne \u2460",
    "\u1112\u1161\u11ab \ud55c",
    "\u0915\u093c \u09c7\u09be",
    "\uff76\uff9e\uff77",
    "A\u030a\u0323 \u212b \u1e9b\u0323",
    "\u03a3\u0391\u03a3 \u0130stanbul",
    "a \t\n b  c ",
    "  ",
    " \u0301x",
]
ALL = [
    Normalizer(form, lowercase=lower, strip_accents=accents, whitespace=spaces)
    for form in ("nfc", "nfkc", None)
    for lower in (False, True)
    for accents in (False, True)
    for spaces in (False, True)
]


@pytest.mark.parametrize("normalizer", ALL, ids=repr)
def test_places_belong_to_the_normalised_text(normalizer):
    random = np.random.default_rng(0)
    pool = "abZ \t\n\u00e9e\u0301\u0323\uff9e\uff76\ufb01\u1112\u1161\u11ab\u09c7"
    pool += "\u09be\u0130\u212b日"
    drawn = ["".join(random.choice(list(pool), 12)) for _ in range(60)]
    for text in [*TEXTS, *drawn]:
        whole = normalizer(text)
        made, places = normalizer.with_places(text)
        assert made == whole
        assert len(places) == len(made) + 1
        assert (np.diff(places) >= 0).all()
        assert places[0] >= 0
        assert places[-1] <= len(text)


def test_forms_are_those_of_unicodedata():
    for text in TEXTS:
        assert Normalizer("nfc")(text) == unicodedata.normalize("NFC", text)
        assert Normalizer("nfkc")(text) == unicodedata.normalize("NFKC", text)
        assert Normalizer(None)(text) == text


def test_worked_places():
    made, places = Normalizer("nfc").with_places("xe\u0301y")
    assert made == "x\u00e9y"
    assert places.tolist() == [0, 1, 3, 4]
    made, places = Normalizer("nfkc").with_places("\ufb01t")
    assert made == "fit"
    assert places.tolist() == [0, 1, 1, 2]
    made, places = Normalizer(None, strip_accents=True, whitespace=True).with_places(
        "  \u00e9  a\u0308 "
    )
    assert made == "e a"
    assert places.tolist() == [2, 3, 5, 7]


def test_equal_to_tokenizers():
    tokenizers = pytest.importorskip("tokenizers")
    n = tokenizers.normalizers
    pairs = [
        (Normalizer("nfc"), n.NFC()),
        (Normalizer("nfkc"), n.NFKC()),
        (Normalizer("nfc", lowercase=True), n.Sequence([n.NFC(), n.Lowercase()])),
        (
            Normalizer("nfc", strip_accents=True),
            n.Sequence([n.NFC(), n.NFD(), n.StripAccents(), n.NFC()]),
        ),
    ]
    for ours, theirs in pairs:
        for text in TEXTS:
            if text:
                assert ours(text) == theirs.normalize_str(text), (ours, text)


def test_unknown_form():
    with pytest.raises(ValueError, match="form must be"):
        Normalizer("nfz")
