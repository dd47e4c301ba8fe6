"""Compiled loops that cut a text into pieces, without regular expressions.

`classes[c]` says what a code point is: LETTER, NUMBER, SPACE or OTHER. A loop writes
where each piece ends, counted in UTF-8 bytes, and gives the number of pieces.
"""

import numpy as np

from ...core.loops.compiled import compiled

OTHER, LETTER, NUMBER, SPACE = range(4)
QUOTE, BLANK, NEWLINE, RETURN = 0x27, 0x20, 0x0A, 0x0D


@compiled(inner=True)
def _byte_length(c):
    """Bytes of a code point in UTF-8."""
    return 1 + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000)


@compiled(inner=True)
def _lower_ascii(c):
    return c + np.uint32(32) if 65 <= c <= 90 else c


@compiled(inner=True)
def _contraction_length(chars, at, n, any_case):
    """Length of 's, 't, 're, 've, 'm, 'll or 'd at a quotation mark, else 0."""
    if at + 1 >= n:
        return 0
    a = chars[at + 1]
    b = chars[at + 2] if at + 2 < n else np.uint32(0)
    if any_case:
        # the long s is an s and the Kelvin sign no letter of these
        a = np.uint32(115) if a == 0x17F else _lower_ascii(a)
        b = _lower_ascii(b)
    if a == 115 or a == 116 or a == 109 or a == 100:  # s t m d
        return 2
    if (a == 114 and b == 101) or (a == 118 and b == 101) or (a == 108 and b == 108):
        return 3  # re ve ll
    return 0


@compiled(inner=True)
def _run_end(chars, classes, start, n, kind):
    """End of a run of code points of one class."""
    while start < n and classes[chars[start]] == kind:
        start += 1
    return start


@compiled(inner=True)
def _end_of_spaces(chars, classes, at, n):
    """End of white space that leaves its last character to a word after it."""
    end = _run_end(chars, classes, at, n, SPACE)
    return end if end == n or end == at + 1 else end - 1


@compiled(inner=True)
def _gpt2_piece(chars, classes, at, n):
    """The end of the piece of GPT-2's rule that begins at `at`."""
    c = chars[at]
    if c == QUOTE:
        size = _contraction_length(chars, at, n, False)
        if size:
            return at + size
    start = at + 1 if c == BLANK and at + 1 < n else at
    kind = classes[chars[start]]
    if kind != SPACE:
        return _run_end(chars, classes, start, n, kind)
    return _end_of_spaces(chars, classes, at, n)


@compiled(inner=True)
def _gpt4_piece(chars, classes, at, n):
    """The end of the piece of GPT-4's rule that begins at `at`."""
    c = chars[at]
    kind = classes[c]
    if c == QUOTE:
        size = _contraction_length(chars, at, n, True)
        if size:
            return at + size
    if kind == LETTER:
        return _run_end(chars, classes, at, n, LETTER)
    may_lead = kind != NUMBER and c != NEWLINE and c != RETURN
    if may_lead and at + 1 < n and classes[chars[at + 1]] == LETTER:
        return _run_end(chars, classes, at + 1, n, LETTER)
    if kind == NUMBER:
        return min(_run_end(chars, classes, at, n, NUMBER), at + 3)
    start = at + 1 if c == BLANK and at + 1 < n else at
    if classes[chars[start]] == OTHER:
        end = _run_end(chars, classes, start, n, OTHER)
        while end < n and (chars[end] == NEWLINE or chars[end] == RETURN):
            end += 1
        return end
    end = _run_end(chars, classes, at, n, SPACE)
    for i in range(end - 1, at - 1, -1):  # up to the last end of a line
        if chars[i] == NEWLINE or chars[i] == RETURN:
            return i + 1
    return end if end == n or end == at + 1 else end - 1


@compiled(inner=True)
def _word_piece(chars, classes, start, n):
    """The end of a run of letters and digits, of other signs, or of white space."""
    kind = classes[chars[start]]
    if kind != LETTER and kind != NUMBER:
        return _run_end(chars, classes, start, n, kind)
    while start < n and (
        classes[chars[start]] == LETTER or classes[chars[start]] == NUMBER
    ):
        start += 1
    return start


@compiled
def split_pieces(chars, classes, rule, ends):
    """Ends in bytes of the pieces of a text; rule 0 is GPT-2's, 1 GPT-4's, 2 words."""
    n = len(chars)
    start = 0
    position = 0
    count = 0
    while start < n:
        if rule == 0:
            end = _gpt2_piece(chars, classes, start, n)
        elif rule == 1:
            end = _gpt4_piece(chars, classes, start, n)
        else:
            end = _word_piece(chars, classes, start, n)
        for i in range(start, end):
            position += _byte_length(chars[i])
        ends[count] = position
        count += 1
        start = end
    return count
