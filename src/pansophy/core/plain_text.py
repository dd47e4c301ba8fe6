"""Text from outside made harmless for a terminal and a page.

Messages of exceptions, names of columns and levels may hold escape sequences, which a
terminal obeys: they move the cursor, change the title or recolour what follows.
"""

import re

# CSI ... letter; OSC and other strings up to their end; two-character escapes
ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?"
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\x9c|$)"
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]?"
    r"|[\x9d\x90\x98\x9e\x9f].*?(?:\x07|\x1b\\|\x9c|$)",
    re.DOTALL,
)
# control characters but tab and newline, and marks that turn the direction of text
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


def plain_text(text) -> str:
    """Text without escape sequences and control characters but tabs and newlines.

    Examples
    --------
    >>> from pansophy.core.plain_text import plain_text
    >>> plain_text("\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07and\\rback")
    'red and back'
    """
    text = str(text)
    if text.isascii() and text.isprintable():
        return text
    text = ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n"))
    return CONTROL.sub(" ", text)


def counted_noun(k, noun) -> str:
    """A number and what it counts.

    Examples
    --------
    >>> from pansophy.core.plain_text import counted_noun
    >>> counted_noun(1, "row"), counted_noun(20, "row")
    ('1 row', '20 rows')
    """
    return f"{k:,} {noun}" if k == 1 else f"{k:,} {noun}s"
