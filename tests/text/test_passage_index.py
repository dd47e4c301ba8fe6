"""Passages in memory: extracts, overlapping chunks."""

import pytest

from pansophy.text import RAG, PassageIndex
from pansophy.text.rag import extracted_answer

PAGES = {
    "animals.md": "# Animals\nThe zebra has stripes. The whale lives in the sea.\n",
    "plants.md": "# Plants\nMoss grows in shade.\n\n## Trees\nOaks grow slowly. "
    "An oak may live for a thousand years.\n",
    "notes.txt": "Unrelated words about nothing in particular.",
}


def test_extracts():
    passages = PassageIndex(PAGES).search("zebra whale oak", 5)
    text = extracted_answer("zebra", passages)
    assert text.startswith("The zebra has stripes. [")
    assert extracted_answer("xylophone", passages) == ""
    assert extracted_answer("the", passages).count("[") >= 1  # common words only


def test_passages_in_memory():
    index = PassageIndex(["one text about cats", "another about dogs"])
    assert index.search("dogs")[0].path == "document 2"
    assert len(index) == 2
    assert index.search("cats", by="meaning")[0].number == 0
    assert PassageIndex(["?"]).search("x") == []
    with pytest.raises(ValueError, match="not one text"):
        PassageIndex("text")
    with pytest.raises(ValueError, match="by must be"):
        index.search("a", by="luck")
    index = PassageIndex(["new york city", "york new city", "city of light", "dog"])
    for by in ("words", "hybrid"):
        assert [p.number for p in index.search('"new york" city', by=by)] == [0]
        assert index.search('"new york" "of light"', by=by) == []
    assert {p.number for p in index.search('"city', by="words")} == {0, 1, 2}


def test_a_sentence_of_overlapping_chunks_is_answered_once():
    text = "One two. The lime is sour. Five six. Seven eight."
    index = PassageIndex({"a.txt": text}, by="sentences", size=6, overlap=4)
    assert sum("sour" in p.text for p in index.passages) == 2
    assert RAG(index).answer("sour lime").text == "The lime is sour. [1]"
