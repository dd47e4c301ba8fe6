"""Words of search: every script, the same in documents and queries."""

import pytest

from pansophy.text import BM25Index, FolderIndex, PassageIndex, split_chunks
from pansophy.text.search.search_words import indexed_words, query_words, word_spans
from pansophy.text.search.snippets import best_snippet

POOL = list("aB_9 .-'éßİΣж日本東京都猫ｶﾞカガกำ한국हिन्दी\u0301\u00b2½\t\n\ud800ﬁＡ")


def test_scripts_without_blanks_have_pairs_of_characters():
    assert indexed_words("東京都") == ["東京", "京都", "都"]
    assert query_words("東京都") == ["東京", "京都"]
    assert query_words("猫") == indexed_words("猫") == ["猫"]
    assert indexed_words("Python入門 2") == ["python", "入門", "門", "2"]
    assert query_words("서울에서") == ["서울", "울에", "에서"]


def test_words_keep_their_marks_and_forms_are_one():
    assert indexed_words("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert indexed_words("cafe\u0301") == indexed_words("CAFÉ") == ["café"]
    assert indexed_words("ｐｙｔｈｏｎ") == ["python"]
    assert indexed_words("ｶﾞｽ") == indexed_words("ガス")
    assert indexed_words("") == indexed_words(" \n ") == indexed_words("- ?") == []
    assert indexed_words("C or c?") == query_words("C or c?") == ["c", "or", "c"]


def test_a_text_holds_its_own_words(rng):
    for _ in range(200):
        text = "".join(rng.choice(POOL, 15)).replace("ｶ", "カ")
        words = set(query_words(text))
        documents = set(indexed_words(text))
        assert all(
            w in documents or any(d.startswith(w) for d in documents) for w in words
        )


DOCUMENTS = [
    "東京都は日本の首都です。",
    "京都は古い町です。",
    "庭に黒猫",
    "猫が三匹いる",
    "ฉันชอบกินข้าว",
    "서울에서 고양이를 보았다",
    "a plain English text",
]


@pytest.fixture
def index(tmp_path):
    index = BM25Index.create(tmp_path / "index")
    index.add(DOCUMENTS)
    return index


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("東京", {0}),
        ("京都", {0, 1}),
        ("猫", {2, 3}),  # at the end of a run and within one
        ("黒猫", {2}),
        ("กินข้าว", {4}),
        ("고양이", {5}),
        ("english", {6}),
        ("犬", set()),
        ('"は古い"', {1}),
        ('"日本の首都"', {0}),
        ('"首都日本"', set()),
        ('"庭に黒"', {2}),
        ('"猫"', {2, 3}),
    ],
)
def test_search_finds_words_within_runs(index, query, expected):
    found = index.search(query, 7).documents[0]
    assert set(found[found >= 0].tolist()) == expected
    ranked = PassageIndex(DOCUMENTS, n_components=0).search(query, 7)
    assert {p.number for p in ranked} == expected


def test_a_phrase_goes_on_from_a_run_to_a_word(tmp_path):
    index = BM25Index.create(tmp_path / "index")
    index.add(["入門Python編", "Python入門編", "入門 と Python"])
    assert index.search('"入門Python"').documents[0, :2].tolist() == [0, -1]
    assert index.search('"Python入"').documents[0, :2].tolist() == [1, -1]


def test_a_folder_of_japanese_is_cut_found_and_marked(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    sentence = "これは長い文章の一つです。"
    (folder / "長文.txt").write_text(
        sentence * 300 + "富士山は高い。" + sentence * 300, "utf-8"
    )
    (folder / "b.txt").write_text("琵琶湖は広い。", "utf-8")
    with FolderIndex.create(tmp_path / "index", folder) as index:
        assert index.update().chunks > 10
        best = index.search("富士山")[0]
        assert best.path == "長文.txt"
        assert len(best.text) <= 2 * 200 + 20
        assert "**富士山**" in best.snippet("富士山").highlighted()
        assert index.search("琵琶湖は何ですか")[0].path == "b.txt"


def test_chunks_of_scripts_without_blanks():
    text = "一二三四五。六七八九十！" * 50
    chunks = split_chunks(text, by="sentences", size=10)
    assert "".join(c.text for c in chunks) == text
    assert all(c.text.endswith(("。", "！")) for c in chunks)
    assert max(len(c.text) for c in chunks) <= 20
    assert len(split_chunks("字" * 1000, size=100)) == 5
    assert [c.text for c in split_chunks("字" * 10, by="tokens", size=2)] == [
        "字字字字", "字字字字", "字字",
    ]  # fmt: skip


def test_marks_of_pairs_are_joined():
    assert (
        best_snippet("日本の東京都に", "東京都").highlighted() == "日本の**東京都**に"
    )
    assert list(word_spans("Ｃafe\u0301 ok", {"café"})) == [(0, 5, "café")]
    assert list(word_spans("a cafe\u0301", {"café"})) == [(2, 7, "café")]
