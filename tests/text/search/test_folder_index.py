"""Index of a folder: planted passages are found and cited, changes are followed."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from pansophy.core.files.folder_lock import FolderLockedError, holding_folder
from pansophy.text import FolderIndex
from pansophy.text.search import folder_index

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
    for by in ("words", "hybrid"):
        (only,) = index.search('"restart the machine" folder setting words', by=by)
        assert only.heading == "Guide > Installation"
        assert index.search('"restart the machine" "zebra setting"', by=by) == []
        assert index.search('zebra ""', by=by)[0].heading == "Guide > Removal"
    assert index.search('"zebra setting"', by="meaning")
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
        add = folder_index.ChunkBatch._add

        def interrupted(self, file, found, title):
            if "walrus" in found.chunk.text:
                raise KeyboardInterrupt
            add(self, file, found, title)

        monkeypatch.setattr(folder_index.ChunkBatch, "_add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.update()
    monkeypatch.setattr(folder_index.ChunkBatch, "_add", add)
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
    monkeypatch.setattr("pansophy.text.search.readers.BLOCK_BYTES", 1000)
    monkeypatch.setattr(
        folder_index,
        "read_text_blocks",
        lambda path: __import__(
            "pansophy.text.search.readers", fromlist=["x"]
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


def test_one_update_at_a_time(index, source, tmp_path):
    index.update()
    with holding_folder(tmp_path / "index"):
        with pytest.raises(FolderLockedError, match="written by another process"):
            index.update()
        assert index.search("zebra")[0].path == "guide.md"
    # the file of a lock that nobody holds is no lock
    assert (tmp_path / "index" / ".lock").exists()
    touch(source / "guide.md", MARKDOWN.replace("zebra", "giraffe"))
    with FolderIndex(tmp_path / "index") as other:
        assert other.update().changed == 1
    # a former view of the index is brought up to date before it writes
    (source / "new.txt").write_text("a new ocelot")
    assert index.update().added == 1
    assert index.search("giraffe", by="words")[0].path == "guide.md"
    with FolderIndex.create(tmp_path / "fresh", source) as fresh:
        fresh.update()
        assert len(fresh) == len(index)


KILLED = """
import os, signal, sys
from pansophy.text import BM25Index, FolderIndex
from pansophy.text.search import folder_index
folder_index.BATCH = 500
add = BM25Index.add

def killed(self, documents, merge):
    add(self, documents, merge=merge)
    os.kill(os.getpid(), signal.SIGKILL)

BM25Index.add = killed
FolderIndex(sys.argv[1]).update()
"""


class Killed(BaseException):
    """Stands for the end of the process."""


def interrupt_call(monkeypatch, owner, name, number, when):
    """Let a call of a method end in `Killed`, before or after its work."""
    method = getattr(owner, name)
    calls = []

    def interrupted(self, *args, **kwargs):
        calls.append(name)
        if len(calls) != number:
            return method(self, *args, **kwargs)
        if when == "after":
            method(self, *args, **kwargs)
        raise Killed

    monkeypatch.setattr(owner, name, interrupted)


def change_documents(source):
    touch(source / "guide.md", MARKDOWN.replace("zebra", "giraffe"))
    touch(source / "deep" / "notes.txt", "otters. " * 500 + "\n\nthe walrus sentence.")
    (source / "page.html").unlink()
    (source / "more.md").write_text("".join(f"# Head {i}\nyak\n" for i in range(40)))


def assert_usable_and_recovers(place, source, fresh_place):
    """Former or new passages are found, and an update makes the index a new one."""
    with FolderIndex(place) as opened:
        assert opened.search("introduction words", by="words")[0].path == "guide.md"
        assert opened.search("installer", 1)[0].heading == "Guide > Installation"
        assert opened.search("walrus sentence", 1)[0].path == "deep/notes.txt"
        opened.update()
        with FolderIndex.create(fresh_place, source) as fresh:
            fresh.update()
            assert len(fresh) == len(opened)
            for query in ("giraffe setting", "walrus", "yak", "otters", "installer"):
                ours = opened.search(query, 60, by="words")
                theirs = fresh.search(query, 60, by="words")
                np.testing.assert_allclose(
                    [p.score for p in ours], [p.score for p in theirs]
                )
                assert {p.citation for p in ours} == {p.citation for p in theirs}
        assert opened.search("indigo", by="words") == []
        assert opened.update().unchanged == 3
        assert len(opened.vectors) == opened.words.size


@pytest.mark.parametrize(
    ("owner", "name", "number", "when"),
    [
        (folder_index.BM25Index, "add", 2, "before"),
        (folder_index.BM25Index, "_write", 2, "before"),
        (folder_index.BM25Index, "_write", 2, "after"),
        (folder_index.BM25Index, "_delete", 1, "before"),
        (folder_index.BM25Index, "_delete", 1, "after"),
        (folder_index.BM25Index, "_merge_segments", 1, "before"),
        (folder_index.ChunkBatch, "_add", 30, "after"),
        (FolderIndex, "_remove_files", 2, "after"),
        (folder_index.VectorIndex, "append", 1, "after"),
    ],
)
def test_interrupted_update_leaves_the_former_index(
    index, source, tmp_path, monkeypatch, owner, name, number, when
):
    index.update()
    change_documents(source)
    with monkeypatch.context() as patch:
        patch.setattr(folder_index, "BATCH", 500)
        interrupt_call(patch, owner, name, number, when)
        with pytest.raises(Killed):
            index.update()
    index.database.rollback()
    assert_usable_and_recovers(tmp_path / "index", source, tmp_path / "fresh")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_killed_update_leaves_the_former_index(index, source, tmp_path):
    index.update()
    change_documents(source)
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "index")])
    assert done.returncode == -signal.SIGKILL
    assert_usable_and_recovers(tmp_path / "index", source, tmp_path / "fresh")


def test_searches_go_on_during_an_update(index, source, tmp_path, monkeypatch):
    index.update()
    change_documents(source)
    monkeypatch.setattr(folder_index, "BATCH", 500)
    found = []

    def search_elsewhere(done, total, name):
        with FolderIndex(tmp_path / "index") as other:
            found.append([p.path for p in other.search("walrus installer")])

    index.update(search_elsewhere)
    assert len(found) > 3
    for paths in found:
        assert {"guide.md", "deep/notes.txt"} <= set(paths)


def test_making_can_be_interrupted(source, tmp_path, monkeypatch):
    monkeypatch.setattr(folder_index, "open_database", lambda folder: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        FolderIndex.create(tmp_path / "index", source)
    monkeypatch.undo()
    with FolderIndex.create(tmp_path / "index", source) as index:
        assert index.update().added == 3
    with pytest.raises(FileExistsError, match="is not empty"):
        FolderIndex.create(tmp_path / "index", source)
    with pytest.raises(FileExistsError, match="is not empty"):
        FolderIndex.create(source, source)


def test_a_search_goes_on_while_segments_are_merged(index, source, tmp_path):
    index.update()
    with FolderIndex(tmp_path / "index") as other:  # nothing of it is mapped yet
        for i in range(12):
            (source / f"more{i}.txt").write_text(f"text about subject{i}")
            index.update()
        assert other.search("zebra")[0].path == "guide.md"
    database = (tmp_path / "index" / "documents.sqlite").read_bytes()
    (tmp_path / "index" / "documents.sqlite").write_bytes(b"x" * 5000)
    with pytest.raises(ValueError, match="sqlite is damaged; make the index anew"):
        FolderIndex(tmp_path / "index")
    (tmp_path / "index" / "documents.sqlite").write_bytes(database)
    (tmp_path / "index" / "words" / "index.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged; make the index anew"):
        FolderIndex(tmp_path / "index")


def test_odd_files(tmp_path):
    place = tmp_path / "documents"
    (place / "deep").mkdir(parents=True)
    (place / "latin.txt").write_bytes("das Café am Müllerplatz".encode("latin-1"))
    (place / "wide.txt").write_bytes("Der Bär schläft\n\nim Wald".encode("utf-16"))
    (place / "wide.md").write_bytes("# Tür\nauf\n# Tor\nzu".encode("utf-32"))
    (place / "marked.md").write_bytes(b"\xef\xbb\xbf# Title\nplatypus\n")
    (place / "broken.txt").write_bytes(b"echidna \xff\xfe\xf0\x9f end \xe2\x82")
    (place / "page.html").write_bytes("<p>Gürteltier\xa0hier</p>".encode("cp1252"))
    (place / "odd.html").write_text("<![x]> wombat")
    (place / "empty.txt").write_bytes(b"")
    (place / "blank.md").write_text(" \n\n\t")
    (place / "long.txt").write_text("abc" * 200_000 + " quokka")
    (place / "signs.txt").write_text("!!! ??? ---")
    (place / "null.txt").write_bytes(b"a\0b")
    os.mkfifo(place / "pipe.txt")
    (place / "deep" / "loop").symlink_to(place)
    (place / "round.txt").symlink_to(place / "round.txt")
    (place / "nowhere.txt").symlink_to(place / "missing.txt")
    (place / "linked.txt").symlink_to(place / "marked.md")
    named = os.fsencode(place) + b"/num\xe9.txt"
    with open(named, "wb") as file:
        file.write(b"numbat")
    with FolderIndex.create(tmp_path / "index", place) as index:
        report = index.update()
        assert report.skipped == {
            "binary": 1, "of other kinds": 1, "links to folders": 1,
            "that cannot be read": 3,
        }  # fmt: skip
        assert report.added == 12
        assert "1 binary (null.txt)" in str(report)
        assert "3 that cannot be read (nowhere.txt, round.txt, " in str(report)
        assert len(report.skipped_files["that cannot be read"]) == 3
        for query, path in {
            "café": "latin.txt", "müllerplatz": "latin.txt", "schläft": "wide.txt",
            "tür": "wide.md", "platypus": "linked.txt", "echidna": "broken.txt",
            "gürteltier": "page.html", "quokka": "long.txt",
        }.items():  # fmt: skip
            assert index.search(query, by="words")[0].path == path
        assert index.search("café")[0].text == "das Café am Müllerplatz"
        assert index.search("wald")[0].citation == "wide.txt:1"
        assert [p.citation for p in index.search("tor", by="words")] == ["wide.md:3"]
        assert index.search("platypus")[0].text.startswith("# Title")
        assert all(len(p.text) < 45_000 for p in index.search("quokka", 50))
        (found,) = index.search("numbat", by="words")
        assert os.fsencode(found.path) == b"num\xe9.txt"
        assert not found.is_stale
        assert index.update().unchanged == 12
        for path in place.iterdir():
            if path.is_file() or path.is_symlink():
                path.unlink()
        report = index.update()
        assert report.removed == 12
        assert len(index) == 0
        assert index.search("platypus") == []
        assert index.search("") == []


@pytest.mark.parametrize("damage", ["gone", "empty", "half", "zeros", "ones", "random"])
def test_damaged_files_are_one_sentence(tmp_path, rng, damage):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Tea\nGreen tea is hot.\n# Ice\nIce is cold.\n")
    (folder / "b.txt").write_text("東京は日本の首都です。", "utf-8")
    whole = tmp_path / "whole"
    with FolderIndex.create(whole, folder) as index:
        index.update()
    for path in sorted(p for p in whole.rglob("*") if p.is_file()):
        broken = tmp_path / "broken"
        shutil.copytree(whole, broken)
        place = broken / path.relative_to(whole)
        data = place.read_bytes()
        if damage == "gone":
            place.unlink()
        else:
            changed = {
                "empty": b"",
                "half": data[: len(data) // 2],
                "zeros": bytes(len(data)),
                "ones": b"\x7f" * len(data),
                "random": rng.integers(0, 256, len(data)).astype(np.uint8).tobytes(),
            }
            place.write_bytes(changed[damage])
        for query in ("green tea", '"green tea"', "首都"):
            try:
                with np.errstate(all="ignore"), FolderIndex(broken) as index:
                    assert len(index.search(query)) <= 3
            except (ValueError, OSError) as error:
                assert str(error) and "\n" not in str(error), path
        shutil.rmtree(broken)


def test_files_without_a_suffix_go_by_their_names(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in ("README", "Makefile", "NOTES", "more.PY"):
        (source / name).write_text(f"about {name}")
    with FolderIndex.create(
        tmp_path / "index", source, also=(".readme", ".py")
    ) as made:
        report = made.update()
        assert report.added == 2
        assert report.skipped_files == {"of other kinds": ["Makefile", "NOTES"]}


def test_names_of_many_files_that_are_left_out(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for i in range(105):
        (source / f"{i:03}.xyz").write_text("a")
    with FolderIndex.create(tmp_path / "index", source) as made:
        report = made.update()
    assert report.skipped == {"of other kinds": 105}
    assert len(report.skipped_files["of other kinds"]) == 100
    assert "105 of other kinds (000.xyz, 001.xyz, 002.xyz, ...)" in str(report)
