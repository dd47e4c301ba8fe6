"""Index of a folder: planted passages are found and cited, changes are followed."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from pansophy.text import FolderIndex, folder_index

MARKDOWN = """# Guide

Some words of introduction, é.

## Installation

Run the installer and restart the machine.

## Removal

Delete the folder. The zebra setting goes too.
"""


@pytest.fixture
def source(tmp_path):
    place = tmp_path / "documents"
    (place / "deep").mkdir(parents=True)
    (place / "guide.md").write_text(MARKDOWN, "utf-8")
    (place / "page.html").write_text(
        "<html><title>Page</title>\n<h1>Colours</h1>\n<p>Indigo is a colour.</p></html>"
    )
    (place / "deep" / "notes.txt").write_text(
        "first line\n\n" + "filler words here. " * 300 + "\n\nthe walrus sentence.\n"
    )
    (place / "picture.png").write_bytes(b"\0\1")
    (place / "data.txt").write_bytes(b"a\0b")
    (place / ".hidden.txt").write_text("hidden")
    return place


@pytest.fixture
def index(source, tmp_path):
    with FolderIndex.create(tmp_path / "index", source) as made:
        yield made


def touch(path, text):
    path.write_text(text, "utf-8")
    later = time.time_ns() + 2_000_000_000
    os.utime(path, ns=(later, later))


def test_planted_passages_are_cited(index):
    seen = []
    report = index.update(lambda done, total, name: seen.append((done, total, name)))
    assert report.added == 3
    assert report.skipped == {"binary": 1, "of other kinds": 1}
    assert seen[-1][0] == seen[-1][1]
    assert "3 added" in str(report)
    for by in ("words", "hybrid"):
        (best, *_) = index.search("zebra setting", by=by)
        assert best.citation == "guide.md:9"
        assert best.heading == "Guide > Removal"
        assert best.text.startswith("## Removal\n")
        assert not best.is_stale
    (best, *_) = index.search("indigo")
    assert best.citation == "page.html:2"
    assert "Indigo is a colour." in best.text
    (best, *_) = index.search("walrus")
    assert best.citation.startswith("deep/notes.txt:")
    assert best.snippet("walrus").highlighted().count("**walrus**") == 1
    (best, *_) = index.search('"restart the machine"')
    assert best.heading == "Guide > Installation"
    assert index.search('"machine the restart"') == []
    assert index.search("nothingofthesort") == []
    # the heading counts although the text does not repeat it
    assert index.search("colours", by="words")[0].path == "page.html"


def test_changes_are_followed(index, source, tmp_path):
    index.update()
    before = len(index)
    again = index.update()
    assert (again.added, again.changed, again.removed, again.unchanged) == (0, 0, 0, 3)
    touch(source / "guide.md", MARKDOWN.replace("zebra", "giraffe"))
    (stale, *_) = index.search("zebra")
    assert stale.is_stale
    (source / "page.html").unlink()
    (source / "new.txt").write_text("a new ocelot")
    report = index.update()
    assert (report.added, report.changed, report.removed, report.unchanged) == (
        1, 1, 1, 1,
    )  # fmt: skip
    assert len(index) == before
    assert index.search("zebra", by="words") == []
    assert index.search("indigo", by="words") == []
    assert index.search("giraffe")[0].citation == "guide.md:9"
    with FolderIndex(tmp_path / "index") as opened:
        assert opened.search("ocelot")[0].citation == "new.txt:1"
    with FolderIndex.create(tmp_path / "fresh", source) as fresh:
        fresh.update()
        for query in ("giraffe setting", "words here", "installer"):
            ours = index.search(query, by="words")
            theirs = fresh.search(query, by="words")
            assert [p.text for p in ours] == [p.text for p in theirs]


def test_small_batches_and_interruptions(source, tmp_path, monkeypatch):
    monkeypatch.setattr(folder_index, "BATCH", 500)
    monkeypatch.setattr(folder_index, "VECTOR_BATCH", 3)
    with FolderIndex.create(tmp_path / "index", source) as index:
        add = folder_index.Batch._add

        def interrupted(self, file, found, title):
            if "walrus" in found.chunk.text:
                raise KeyboardInterrupt
            add(self, file, found, title)

        monkeypatch.setattr(folder_index.Batch, "_add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.update()
    monkeypatch.setattr(folder_index.Batch, "_add", add)
    with FolderIndex(tmp_path / "index") as index:
        report = index.update()
        assert report.added + report.changed + report.unchanged == 3
        assert len(index.search("walrus", by="words")) == 1
        rows = index.database.execute("select count(*) from chunks").fetchone()
        assert rows == (len(index),)
        assert index.update().unchanged == 3
        vectors = folder_index.VectorIndex(tmp_path / "index" / "vectors")
        assert len(vectors) == index.words.size


def test_meaning_finds_what_shares_no_word(tmp_path):
    place = tmp_path / "documents"
    place.mkdir()
    pairs = [("car", "engine road wheel"), ("cake", "sugar oven flour")] * 6
    for i, (word, others) in enumerate(pairs):
        (place / f"{i:02d}.txt").write_text(f"{word} {others}")
    (place / "auto.txt").write_text("automobile engine road wheel")
    with FolderIndex.create(tmp_path / "index", place, n_components=2) as index:
        index.update()
        words = {p.path for p in index.search("car", 20, by="words")}
        meaning = [p.path for p in index.search("car", 20, by="meaning")]
        assert "auto.txt" not in words
        assert "auto.txt" in meaning[:7]
        assert "auto.txt" in {p.path for p in index.search("car", 20)}


def test_large_files_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("pansophy.text.readers.BLOCK_BYTES", 1000)
    monkeypatch.setattr(
        folder_index,
        "read_text_blocks",
        lambda path: __import__(
            "pansophy.text.readers", fromlist=["x"]
        ).read_text_blocks(path, 1000),
    )
    place = tmp_path / "documents"
    place.mkdir()
    lines = [f"## Part {i}\nword{i} ünïcode text here." for i in range(300)]
    text = "# Top\n" + "\n\n".join(lines)
    (place / "large.md").write_text(text, "utf-8")
    with FolderIndex.create(tmp_path / "index", place, n_components=0) as index:
        index.update()
        for i in (0, 7, 123, 299):
            (found, *_) = index.search(f"word{i}", by="words")
            assert found.text == lines[i]
            assert found.heading == f"Top > Part {i}"
            assert text.split("\n")[found.line - 1] == f"## Part {i}"
        with pytest.raises(ValueError, match="no vectors"):
            index.search("word1", by="meaning")


def test_missing_and_bad(index, source, tmp_path):
    assert index.search("anything") == []
    assert len(index) == 0
    index.update()
    (source / "guide.md").unlink()
    (gone, *_) = index.search("zebra")
    assert gone.is_stale
    assert gone.text == ""
    with pytest.raises(FileNotFoundError, match="not an index"):
        FolderIndex(source)
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        FolderIndex.create(tmp_path / "x", source / "nowhere")
    with pytest.raises(ValueError, match="by must be"):
        index.search("a", by="luck")
    (source / "bad.pdf").write_bytes(b"no pdf")
    report = index.update()
    assert sum(report.skipped.values()) == 3
    assert "chunks" in repr(index)


def test_asking_needs_neither_compiler_nor_solvers(index, tmp_path):
    index.update()
    code = (
        "import sys; from pansophy.text import FolderIndex;"
        f"found = FolderIndex({str(tmp_path / 'index')!r}).search('zebra');"
        "heavy = {'numba', 'scipy', 'sklearn', 'torch', 'pandas'} & set(sys.modules);"
        "print(found[0].citation, sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "guide.md:9 []"


def test_vectors_are_those_of_lsa(tmp_path, rng):
    from pansophy.text import LSA, TfidfVectorizer, VectorIndex

    texts = [
        " ".join(rng.choice(["aa", "bb", "cc", "dd", "é日"], 6)) for _ in range(30)
    ]
    index = VectorIndex.create(tmp_path / "v", texts, 3)
    index.append(texts[:10])
    index.append(texts[10:])
    vectorizer = TfidfVectorizer(sublinear_tf=True, max_features=30_000)
    Z = LSA(3, vectorizer=vectorizer, random_state=0).fit(texts).transform(texts)
    np.testing.assert_allclose(np.abs(index.vectors), np.abs(Z), atol=1e-5)
    np.testing.assert_allclose(index.vector(texts[4]), index.vectors[4], atol=1e-5)
    assert index.search(texts[4], 5)[0] == min(
        i for i, t in enumerate(texts) if sorted(t.split()) == sorted(texts[4].split())
    )
    assert index.search("zz", 3) == []
