"""Pictures of alignments."""

import pytest

from pansophy import plot
from pansophy.text import edit_alignment


def test_symbols_and_costs():
    ax = plot.alignment("kitten", "sitting")
    assert ax.get_title() == "cost 3: 4 kept, 2 substituted, 1 inserted"
    texts = [t.get_text() for t in ax.texts]
    assert "".join(texts[0::2]) == "kitten–"
    assert "".join(texts[1::2]) == "sitting"
    assert len(ax.patches) == 14
    swapped = plot.alignment("ab", "ba", kind="osa")
    assert "1 swapped" in swapped.get_title()
    words = plot.alignment(["a", "cat"], ["the", "cat"])
    assert [t.get_text() for t in words.texts][2:] == ["cat", "cat"]
    assert plot.alignment("", "").get_title() == "cost 0: nothing to do"


def test_an_alignment_that_was_made():
    made = edit_alignment("carr", "cat", "indel")
    ax = plot.alignment(made)
    assert ax.get_title() == "cost 3: 2 kept, 2 deleted, 1 inserted"
    with pytest.raises(ValueError, match="as it is"):
        plot.alignment(made, "cat")
    with pytest.raises(ValueError, match="two sequences"):
        plot.alignment("a")
