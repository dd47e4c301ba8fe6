"""Passages in memory: extracts, overlapping chunks."""

import pytest

from pansophy.text import RAG, FolderIndex, PassageIndex
from pansophy.text.search.rag import extracted_answer

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


def test_a_rare_word_is_found_among_many_that_begin_alike(tmp_path):
    """Every one of 300 words that share five letters finds its own passage."""
    texts = {f"m{i}": f"text about topic{i} and more words" for i in range(100, 400)}
    index = PassageIndex(texts)
    (tmp_path / "docs").mkdir()
    for name, text in texts.items():
        (tmp_path / "docs" / f"{name}.md").write_text(text)
    folder = FolderIndex.create(tmp_path / "index", tmp_path / "docs")
    folder.update()
    for i in range(100, 400, 25):
        assert index.search(f"topic{i}", 1)[0].path == f"m{i}"
        assert folder.search(f"topic{i}", 1)[0].path == f"m{i}.md"


def test_words_of_one_letter_are_found():
    index = PassageIndex({"c": "C is a language.", "r": "R is another."})
    assert [p.path for p in index.search("C", by="words")] == ["c"]
    assert [p.path for p in index.search("C++", by="words")] == ["c"]
