"""Nothing that a terminal obeys is left in a text."""

import re

from hypothesis import given
from hypothesis import strategies as st

from pansophy.core.plain_text import plain_text

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def test_escape_sequences_go_and_text_stays():
    cases = {
        "\x1b[31mred\x1b[0m": "red",
        "\x1b[2J\x1b[Hcleared": "cleared",
        "\x1b]0;a title\x07after": "after",
        "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
        "\x9b31mred": "red",
        "\x1bcreset": "reset",
        "a\x08b\x00c": "a b c",
        "over\rwritten": "over written",
        "two\nlines\tand é 日本": "two\nlines\tand é 日本",
        "dos\r\nline": "dos\nline",
        "left\u202eright": "left right",
    }
    assert {text: plain_text(text) for text in cases} == cases


@given(st.text(st.sampled_from("\x1b[]0;m\x07\\\x9b\x9dab \n\u202e\r"), max_size=40))
def test_nothing_obeyed_is_left(text):
    assert not OBEYED.search(plain_text(text))
    assert plain_text(plain_text(text)) == plain_text(text)
