"""Answers from documents: citations, prompts, generators, extracts."""

import pytest

from pansophy.text import RAG, FolderIndex, NGramModel

PAGES = {
    "animals.md": "# Animals\nThe zebra has stripes. The whale lives in the sea.\n",
    "plants.md": "# Plants\nMoss grows in shade.\n\n## Trees\nOaks grow slowly. "
    "An oak may live for a thousand years.\n",
    "notes.txt": "Unrelated words about nothing in particular.",
}


def test_empty_index_equals_plain_generation():
    generator = lambda prompt: f"<{prompt}>"
    answer = RAG({}, generator).answer("why?")
    assert answer.text == "<why?>"
    assert answer.passages == answer.cited == []
    assert RAG([], generator).prompt("why?") == "why?"
    assert RAG({}).answer("why?").text == "No passage answers the question."


def test_planted_passage_is_found_and_cited():
    for by in ("words", "hybrid"):
        answer = RAG(PAGES, by=by).answer("how long may an oak live")
        assert answer.citations == ["plants.md:4"]
        assert "thousand years" in answer.text
        assert str(answer).endswith("[1] plants.md:4")
        assert answer.passages[0].heading == "Plants > Trees"


def test_prompt_and_cited_numbers():
    seen = []

    def generator(prompt):
        seen.append(prompt)
        return "Stripes [1], says no. [7] and [2] [1]."

    rag = RAG(PAGES, generator, k=2, instruction="Be brief.")
    answer = rag.answer("zebra stripes sea")
    (prompt,) = seen
    assert prompt.startswith("Be brief.\n\n[1] animals.md:1 (Animals)\n# Animals\n")
    assert prompt.endswith("Question: zebra stripes sea\n\nAnswer:")
    assert answer.cited == answer.passages[: len(answer.cited)]
    assert answer.citations[0] == "animals.md:1"
    assert len(answer.passages) <= 2
    short = RAG(PAGES, generator, k=1, max_words=3).prompt("zebra")
    assert "# Animals\nThe ..." in short


def test_language_models():
    model = NGramModel(2, smoothing="mle").fit(["a b c"])

    class Coder:
        def encode(self, text):
            return [model.vocabulary_["a"]]

        def decode(self, tokens):
            return model.decode(tokens)

    rag = RAG(PAGES, model, tokenizer=Coder(), options={"temperature": 0})
    assert rag.answer("zebra").text == "b c"
    with pytest.raises(ValueError, match="tokenizer"):
        RAG(PAGES, type("M", (), {"advance": None})()).answer("zebra")


def test_folders(tmp_path):
    place = tmp_path / "documents"
    place.mkdir()
    for name, text in PAGES.items():
        (place / name).write_text(text)
    with FolderIndex.create(tmp_path / "index", place) as index:
        index.update()
    rag = RAG.from_folder(tmp_path / "index")
    assert rag.answer("where does the whale swim").citations == ["animals.md:1"]
    rag.index.close()


def test_sentences_under_a_heading_that_answers():
    pages = {
        "clock.md": "# Clock\nTo set it press both buttons.\n\n## Reset\n"
        "Hold the left button for five seconds.\n",
        "other.md": "# Lamp\nIt shines. The clock stands beside it.\n",
    }
    answer = RAG(pages).answer("how do I reset the clock")
    assert "Hold the left button for five seconds. [1]" in answer.text
    assert answer.citations[0] == "clock.md:4"


def test_bad_input():
    with pytest.raises(ValueError, match="index must be"):
        RAG(3)
    with pytest.raises(ValueError, match="generator must be"):
        RAG({}, 3)
    with pytest.raises(ValueError, match="k must be"):
        RAG({}, k=0)


def test_extracts_leave_out_questions_and_underlines_and_keep_code():
    pages = {
        "a.md": "# Install\nHow do I install the zebra package? "
        "Install the zebra package with:\n\n```\npip install zebra\n```\n",
        "b.rst": "Zebra dataset\n-------------\n\nThe zebra dataset has 569 samples.\n",
    }
    text = RAG(pages).answer("how to install the zebra package").text
    assert "pip install zebra" in text and "?" not in text
    text = RAG(pages).answer("how many samples has the zebra dataset").text
    assert "569 samples" in text and "---" not in text


def test_one_common_word_is_no_answer():
    pages = {
        f"{i}.md": f"The letter {c} is a capital letter." for i, c in enumerate("ABCD")
    }
    answer = RAG(pages).answer("what is the capital of France")
    assert answer.text == "No passage answers the question." and not answer.cited
    assert RAG(pages).answer("capital letter B").cited


def test_questions_and_answers_must_be_texts():
    pages = {"fruit.md": "# Limes\nLimes are green and sour."}
    with pytest.raises(ValueError, match="question must be a text, got NoneType"):
        RAG(pages).answer(None)
    with pytest.raises(
        ValueError, match="must return a text, but it returned NoneType"
    ):
        RAG(pages, generator=lambda prompt: None).answer("sour?")
