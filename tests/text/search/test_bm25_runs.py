"""Runs of an index on disk: postings by hand, and merges equal to one large run."""

import itertools
from collections import Counter

import numpy as np
import pytest

from pansophy.params import ParameterError
from pansophy.text.search import bm25_runs
from pansophy.text.search.bm25_index import IndexSettings, Segment
from pansophy.text.search.bm25_runs import (
    FIELD_BORDER,
    TermCursor,
    blocks_of_documents,
    count_array,
    document_runs,
    join_fields,
    merge_runs,
    read_part,
    write_run,
)
from pansophy.text.vectorizers.token_table import DocumentIds

TEXTS = ["bb aa bb", "cc", "", "aa cc cc aa", "dd bb", "aa"]
PLAIN = IndexSettings()


def one_run(documents, settings=PLAIN):
    (run,) = document_runs(documents, settings, 10**9)
    return run


def postings(terms, starts, documents, counts):
    """{term: [(document, count)]} of sorted terms."""
    return {
        t.decode(): [(int(documents[i]), float(counts[i])) for i in range(a, b)]
        for t, (a, b) in zip(terms, itertools.pairwise(starts))
    }


def expected_postings(texts, first=0, deleted=()):
    found = {}
    for d, text in enumerate(texts, first):
        for word, count in Counter(text.split()).items():
            found.setdefault(word, [])
            if d not in deleted:
                found[word].append((d, float(count)))
    return found


def test_postings_of_a_run():
    run = one_run(TEXTS)
    assert run.terms == [b"aa", b"bb", b"cc", b"dd"]
    p = run.postings
    got = postings(run.terms, p.starts, p.documents, p.frequency)
    assert got == expected_postings(TEXTS)
    assert run.lengths.tolist() == [3, 1, 0, 4, 2, 1]
    assert run.lengths.dtype == np.float32
    words = [t.decode() for t in run.terms]
    parts = np.split(run.tokens.ids, run.tokens.ends[:-1])
    assert [" ".join(words[i] for i in part) for part in parts] == TEXTS
    without = one_run(TEXTS, IndexSettings(positions=False))
    assert without.tokens is None


def test_fields_count_by_their_weights():
    settings = IndexSettings(field_weights={"title": 2.0, "body": 0.5})
    documents = [{"title": "aa", "body": "aa bb"}, {"body": "bb"}, {"title": "cc aa"}]
    run = one_run(documents, settings)
    p = run.postings
    got = postings(run.terms, p.starts, p.documents, p.frequency)
    assert got == {
        "aa": [(0, 2.5), (2, 2.0)], "bb": [(0, 0.5), (1, 0.5)], "cc": [(2, 2.0)],
    }  # fmt: skip
    np.testing.assert_allclose(run.lengths, [3.0, 0.5, 4.0])
    a, b, c, _ = 0, 1, 2, FIELD_BORDER
    first, second, third = np.split(run.tokens.ids, run.tokens.ends[:-1])
    assert first.tolist() == [a, _, a, b, _]  # no phrase goes across a border
    assert second.tolist() == [_, b, _] and third.tolist() == [c, a, _, _]


@pytest.mark.parametrize("weights", [None, {"title": 2.0, "body": 1.0}])
def test_documents_without_words(weights):
    """A run may have no term at all: signs are no words."""
    documents = ["-", "", "?"] if weights is None else [{"title": "-"}, {}, {}]
    run = one_run(documents, IndexSettings(field_weights=weights))
    assert run.terms == [] and run.lengths.tolist() == [0, 0, 0]
    assert len(run.postings.documents) == 0
    borders = 0 if weights is None else 2
    assert run.tokens.ids.tolist() == [FIELD_BORDER] * (3 * borders)


def test_joined_fields():
    one = DocumentIds(np.array([1, 2, 3], np.int32), np.array([2, 3]))
    two = DocumentIds(np.array([4], np.int32), np.array([0, 1]))
    got = join_fields([one, two])
    assert got.ids.tolist() == [1, 2, -1, -1, 3, -1, 4, -1]
    assert got.ends.tolist() == [4, 8] and got.ids.dtype == np.int32
    alone = join_fields([one])
    assert alone.ids.tolist() == [1, 2, 3] and alone.ids is not one.ids


def test_documents_of_the_wrong_kind():
    weighted = IndexSettings(field_weights={"title": 1.0})
    with pytest.raises(ParameterError, match="need an index with field_weights"):
        one_run([{"title": "a"}])
    with pytest.raises(ParameterError, match="needs documents that are mappings"):
        one_run([{"title": "a"}, "a"], weighted)
    with pytest.raises(ValueError, match="documents must be texts, got 3"):
        one_run(["a", 3])


def test_blocks_of_documents(monkeypatch):
    monkeypatch.setattr(bm25_runs, "BLOCK", 4)
    blocks = list(blocks_of_documents(["ab", "cd", "e", "fghij", "k"]))
    assert blocks == [["ab", "cd"], ["e", "fghij"], ["k"]]
    fields = [{"t": "ab", "b": "cd"}, {"t": "e"}]
    assert list(blocks_of_documents(fields)) == [fields[:1], fields[1:]]
    assert list(blocks_of_documents([])) == []


def test_runs_of_bounded_size(monkeypatch):
    monkeypatch.setattr(bm25_runs, "BLOCK", 1)  # every document is a block
    runs = list(document_runs(TEXTS, PLAIN, 4))
    assert [len(r.lengths) for r in runs] == [2, 2, 2]  # 4 tokens, 0 + 4, 3
    assert runs[1].terms == [b"aa", b"cc"] and runs[1].postings.documents.max() == 1
    assert list(document_runs([], PLAIN, 4)) == []


def test_counts_as_they_are_stored():
    counts = np.array([1.0, 65535.0, 65536.0, 1e9])
    got = count_array(counts, PLAIN)
    assert got.dtype == np.uint16 and got.tolist() == [1, 65535, 65535, 65535]
    halves = IndexSettings(field_weights={"a": 0.5})
    assert count_array(counts[:1] / 2, halves).tolist() == [0.5]
    assert count_array(counts, halves).dtype == np.float32


def written(texts, folder, settings=PLAIN, size=2):
    """Segments of a few documents each."""
    segments = []
    for first in range(0, len(texts), size):
        part = texts[first : first + size]
        path = folder / str(first)
        path.mkdir()
        write_run(one_run(part, settings), path, first, settings)
        segments.append(Segment(path, first, len(part), settings.is_weighted))
    return segments


def contents(segment):
    terms = segment.terms.between(0, len(segment.terms))
    return postings(terms, segment.starts, segment.documents, segment.counts)


def test_a_written_run_is_a_segment(tmp_path):
    (segment,) = written(TEXTS, tmp_path, size=6)
    assert contents(segment) == expected_postings(TEXTS)
    assert segment.lengths.tolist() == [3, 1, 0, 4, 2, 1]
    _, second, _ = written(TEXTS, tmp_path / str(0))
    assert contents(second) == expected_postings(TEXTS[2:4], first=2)


@pytest.mark.parametrize("most", [1, 4, 1000])
@pytest.mark.parametrize("deleted", [(), (0, 3)])
@pytest.mark.parametrize("positions", [True, False])
def test_merged_runs_are_one_run(most, deleted, positions, tmp_path, rng):
    words = [f"w{i}" for i in range(12)]
    texts = [" ".join(rng.choice(words, rng.integers(0, 7))) for _ in range(11)]
    settings = IndexSettings(positions=positions)
    segments = written(texts, tmp_path, settings, size=3)
    is_live = np.ones(11, bool)
    is_live[list(deleted)] = False
    merged = tmp_path / "merged"
    merged.mkdir()
    merge_runs(segments, is_live, merged, settings, most)
    got = Segment(merged, 0, 11, is_weighted=False)
    assert contents(got) == expected_postings(texts, deleted=deleted)
    whole = one_run(texts, settings)
    np.testing.assert_array_equal(got.lengths, whole.lengths)
    if positions:
        np.testing.assert_array_equal(got.tokens, whole.tokens.ids)
        np.testing.assert_array_equal(got.token_ends, whole.tokens.ends)
    else:
        assert not (merged / "tokens.bin").exists()


def test_borders_of_fields_stay_in_a_merge(tmp_path, monkeypatch):
    monkeypatch.setattr(bm25_runs, "COPIED_TOKENS", 2)  # several parts
    settings = IndexSettings(field_weights={"title": 2.0, "body": 0.5})
    documents = [{"title": "bb", "body": "aa"}, {"title": "cc"}, {"body": "aa cc"}]
    segments = written(documents, tmp_path, settings, size=1)
    merged = tmp_path / "merged"
    merged.mkdir()
    merge_runs(segments, np.ones(3, bool), merged, settings, 100)
    got = Segment(merged, 0, 3, is_weighted=True)
    whole = one_run(documents, settings)
    np.testing.assert_array_equal(got.tokens, whole.tokens.ids)
    assert FIELD_BORDER in got.tokens
    assert contents(got)["aa"] == [(0, 0.5), (2, 0.5)]


def test_terms_are_taken_by_their_postings(tmp_path):
    (segment,) = written(TEXTS, tmp_path, size=6)  # 3, 2, 2 and 1 postings
    cursor = TermCursor(segment)
    assert cursor.next_terms(1) == [b"aa"]  # one at least
    assert cursor.next_terms(5) == [b"aa", b"bb"]
    assert cursor.next_terms(6) == [b"aa", b"bb"]
    assert cursor.next_terms(100) == [b"aa", b"bb", b"cc", b"dd"]
    cursor.at = 2
    assert cursor.next_terms(2) == [b"cc"] and not cursor.is_done()
    cursor.at = 4
    assert cursor.is_done()


def test_parts_of_a_file(tmp_path):
    np.arange(10, dtype=np.int32).tofile(tmp_path / "f")
    assert read_part(tmp_path / "f", np.int32, 3, 6).tolist() == [3, 4, 5]
    assert read_part(tmp_path / "f", np.int32, 3, 3).tolist() == []
