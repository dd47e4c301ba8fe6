"""Constraints read texts byte by byte; tokens are allowed if their bytes are."""

import itertools
import re

import pytest

from pansophy.text import Grammar, StringSet, allowed_tokens

JSON = r"""
value = "true" | "false" | number | string | "[" "]" | "[" items "]"
items = value | value "," items
number = digits | "-" digits
digits = [0-9] | [0-9] digits
string = "\"" characters "\""
characters = "" | character characters
character = [a-z ] | "\\" [n"]
"""


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("true", True), ("[1,-20,[],[false]]", True), ('"a\\"b"', True), ('""', True),
        ("[1,]", False), ("tru", False), ("[1", False), ("", False), ("--1", False),
    ],
)  # fmt: skip
def test_grammar_of_nested_values(text, fits):
    assert Grammar(JSON).accepts(text) is fits


def test_grammar_against_a_regular_expression():
    grammar = Grammar('s = "" | a s | "b" b\na = "a" | "" "c"\nb = "" | "b" b')
    wanted = re.compile(r"[ac]*b*")
    for n in range(5):
        for letters in itertools.product("abcd", repeat=n):
            text = "".join(letters)
            assert grammar.accepts(text) is bool(wanted.fullmatch(text)), text


def test_ambiguous_and_left_recursive_grammar():
    grammar = Grammar('s = s s | "a" |')
    assert grammar.accepts("") and grammar.accepts("aaaa")
    assert not grammar.accepts("ab")


def test_nested_brackets_count():
    grammar = Grammar('s = "" | "(" s ")" s')
    assert grammar.accepts("(()())()")
    assert not grammar.accepts("(()")
    assert not grammar.accepts("())")


def test_characters_beyond_ascii():
    assert Grammar("s = [äöü] | [äöü] s").accepts("äöü")
    assert not Grammar("s = [äöü]").accepts("a")
    assert StringSet(["日本"]).accepts("日本")


def test_allowed_tokens_are_those_that_some_text_goes_on_with():
    tokens = [b"r", b"e", b"d", b"re", b"red", b"o", b"rose", b"x", b""]
    strings = ["red", "rose", "re"]
    allowed = allowed_tokens(tokens, StringSet(strings), end=9)
    for prefix in [(), (0,), (3,), (0, 1), (0, 5), (4,), (3, 2)]:
        so_far = b"".join(tokens[i] for i in prefix)
        rest = [s.encode() for s in strings if s.encode().startswith(so_far)]
        wanted = [
            i
            for i, token in enumerate(tokens)
            if token and any(s.startswith(so_far + token) for s in rest)
        ]
        wanted += [9] if so_far in rest else []
        assert allowed(prefix) == wanted, prefix
    assert allowed((4, 9)) == [9]
    assert allowed((7,)) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no rules"),
        ('"a"', "no name before"),
        ("s = b", "names 'b', which has no rule"),
        ("s = ?", "cannot be read at '\\?'"),
    ],
)
def test_grammars_that_are_none(text, words):
    with pytest.raises(ValueError, match=words):
        Grammar(text)


def test_sets_that_are_none():
    with pytest.raises(ValueError, match="got one text"):
        StringSet("red")
    with pytest.raises(ValueError, match="must not be empty"):
        StringSet([])


def test_reversed_ranges_are_refused():
    with pytest.raises(ValueError, match=r"\[0-9z-a\].*from z to a"):
        Grammar("x = [0-9z-a]")
    assert Grammar("x = [a-a]").accepts("a")
