"""Pieces of text: worked cases, and the rules as regular expressions."""

import random

import pytest

from pansophy.text import split_text

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CASES = {
    "gpt2": [
        ("I'll go", ["I", "'ll", " go"]),
        ("I'LL", ["I", "'", "LL"]),
        ("a  b", ["a", " ", " b"]),
        ("x = 12345!\n", ["x", " =", " 12345", "!", "\n"]),
        ("end  ", ["end", "  "]),
    ],
    "gpt4": [
        ("I'LL", ["I", "'LL"]),
        ("12345", ["123", "45"]),
        ("$abc", ["$abc"]),
        ("x);\n\ny", ["x", ");\n\n", "y"]),
        ("a \n b", ["a", " \n", " b"]),
    ],
    "words": [("don't 3x", ["don", "'", "t", " ", "3x"])],
    "bytes": [("a b", ["a b"]), ("", [])],
}


@pytest.mark.parametrize("rule", CASES)
def test_worked_cases(rule):
    for text, expected in CASES[rule]:
        assert [p.decode() for p in split_text(text, rule).texts()] == expected


@pytest.mark.parametrize("rule", CASES)
def test_pieces_are_the_text(rule):
    text = "naïve 日本\u3000\n x\ud800y  "
    pieces = split_text(text, rule)
    assert b"".join(pieces.texts()) == text.encode("utf-8", "surrogatepass")


def test_unknown_rule():
    with pytest.raises(ValueError, match="rule must be one of"):
        split_text("a", "gpt5")


@pytest.mark.parametrize(("rule", "pattern"), [("gpt2", GPT2), ("gpt4", GPT4)])
def test_equal_to_the_regular_expression(rule, pattern):
    tokenizers = pytest.importorskip("tokenizers")
    peer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    draw = random.Random(0)
    letters = list("ab'sSTtrevlLdmM  \n\r\t1290.,!?éßΣ日ſ२٣½\u00a0\u2003\u3000_-")
    for _ in range(2000):
        text = "".join(draw.choices(letters, k=draw.randint(0, 25)))
        expected = [piece.encode() for piece, _ in peer.pre_tokenize_str(text)]
        assert split_text(text, rule).texts() == expected
