"""Texts longer than a block are cut where tokens begin anyway."""

import itertools

import numpy as np
import pytest

from pansophy.text import BPE
from pansophy.text.tokenizers import abstract_byte_tokenizer as module

WORDS = "one two three 4 5 six  seven\n eight nine-ten eleven"


@pytest.mark.parametrize("size", [1, 5, 12, 1000])
def test_blocks_are_cut_at_spaces_between_letters(size, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", size)
    blocks = list(module.blocks_at_spaces(WORDS * 3))
    assert "".join(blocks) == WORDS * 3
    assert (len(blocks) > 1) == (size < 1000)
    for left, right in itertools.pairwise(blocks):
        assert left[-1].isalpha() and right[0] == " " and right[1].isalpha()
        assert len(left) >= size
    assert list(module.blocks_at_spaces("12345678 9 0")) == ["12345678 9 0"]


@pytest.mark.parametrize("size", [1, 7])
def test_the_size_of_a_block_changes_no_token(size, monkeypatch):
    text = "the cat and the other cat sat on that mat with a hat, 12 34 times. " * 20
    model = BPE(300).fit([text])
    expected = model.encode(text)
    monkeypatch.setattr(module, "BLOCK", size)
    np.testing.assert_array_equal(model.encode(text), expected)
