"""Chunks: exact places, every word once, sections of Markdown."""

import pytest

from pansophy.text import split_chunks
from pansophy.text.search.chunks import LONGEST_WORD

PAGE = """Preface, before any heading.

# One
First text. Second text! Third text?

```
# no heading, a comment
```

Two
===
Body of two.

### Deep
Body of deep.

Two b
-----
Last.
"""


def check_places(text, chunks):
    for chunk in chunks:
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.text == chunk.text.strip() != ""
        assert chunk.line == 1 + text.count("\n", 0, chunk.start)


def test_sections():
    chunks = split_chunks(PAGE)
    check_places(PAGE, chunks)
    assert [c.headings for c in chunks] == [
        (),
        ("One",),
        ("Two",),
        ("Two", "Deep"),
        ("Two", "Two b"),
    ]
    assert "# no heading" in chunks[1].text
    assert chunks[3].text == "### Deep\nBody of deep."


@pytest.mark.parametrize("by", ["tokens", "sentences", "headings"])
@pytest.mark.parametrize("size", [1, 3, 7, 50])
def test_every_word_once_without_overlap(by, size, rng):
    words = [f"w{i}{rng.choice(['', '.', '!', ','])}" for i in range(200)]
    text = "".join(w + str(rng.choice([" ", "\n", "\n\n", "  "])) for w in words)
    chunks = split_chunks(text, by=by, size=size)
    check_places(text, chunks)
    assert " ".join(c.text for c in chunks).split() == words
    assert all(len(c.text.split()) <= size for c in chunks)


def test_overlap():
    text = " ".join(f"w{i}" for i in range(10))
    chunks = split_chunks(text, by="tokens", size=4, overlap=2)
    assert [c.text for c in chunks] == [
        "w0 w1 w2 w3",
        "w2 w3 w4 w5",
        "w4 w5 w6 w7",
        "w6 w7 w8 w9",
    ]
    text = "One two. Three four.\nFive six. Seven eight."
    chunks = split_chunks(text, by="sentences", size=5, overlap=2)
    check_places(text, chunks)
    assert [c.text for c in chunks] == [
        "One two. Three four.",
        "Three four.\nFive six.",
        "Five six. Seven eight.",
    ]


def test_parts_of_a_larger_text_keep_their_headings():
    opened = []
    first = split_chunks("# A\ntext\n## B\nmore\n", opened=opened)
    second = split_chunks("still B\n\n## C\nend\n", opened=opened, line=5)
    assert first[-1].headings == ("A", "B")
    assert [(c.headings, c.line) for c in second] == [(("A", "B"), 5), (("A", "C"), 7)]


def test_edges():
    with pytest.raises(ValueError, match="text must be str"):
        split_chunks(None)
    for by in ("tokens", "sentences", "headings"):
        assert split_chunks("", by=by) == []
        assert split_chunks(" \n\n ", by=by) == []
        assert [c.text for c in split_chunks("x", by=by)] == ["x"]
    (chunk,) = split_chunks("日本語。次の文。", by="sentences")
    assert chunk.text == "日本語。次の文。"
    with pytest.raises(ValueError, match="by must be"):
        split_chunks("a", by="pages")
    with pytest.raises(ValueError, match="overlap must be below size"):
        split_chunks("a", size=3, overlap=3)
    with pytest.raises(ValueError, match="size"):
        split_chunks("a", size=0)


def test_text_without_blanks_is_cut():
    text = "x" * 100_000
    chunks = split_chunks(text, size=10)
    assert "".join(c.text for c in chunks) == text
    assert max(len(c.text) for c in chunks) == 10 * LONGEST_WORD
    mixed = "word. " + "y" * 5000 + " other words. " * 20
    for by in ("sentences", "tokens"):
        parts = split_chunks(mixed, by=by, size=10)
        assert max(len(c.text) for c in parts) <= 10 * (LONGEST_WORD + 1)
        assert "".join("".join(c.text.split()) for c in parts) == "".join(mixed.split())
