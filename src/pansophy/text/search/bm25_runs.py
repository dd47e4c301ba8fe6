"""Runs of an index on disk: postings made in memory, written, and merged as streams.

A run holds the documents that fit in memory. Its terms are sorted, so that runs are
merged like sorted lists: a range of terms is taken of each, no more than a number of
postings together, and their postings are joined in the order of the runs, which is
that of the documents. See `text/search/bm25_index.py` for the files.
"""

import bisect
import contextlib
import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...params import ParameterError
from ..vectorizers.token_table import (
    BLOCK,
    DocumentIds,
    IdCounter,
    concatenate_documents,
)
from . import _bm25 as loops
from .bm25 import sum_of_fields
from .bm25_index import IndexSettings, SortedTerms, encode_term
from .search_analysis import SearchAnalysis

COPIED_TOKENS = 1 << 22
FIELD_BORDER = -1  # between the fields of a document, where no phrase goes across


class PostingRun(NamedTuple):
    """Documents in memory: terms in order, their postings, lengths and tokens."""

    terms: list[bytes]
    postings: loops.Postings  # documents from 0
    lengths: np.ndarray
    tokens: DocumentIds | None


class RunBuilder:
    """Collects documents until a run is full."""

    def __init__(self, settings: IndexSettings):
        self.settings = settings
        weights = settings.field_weights
        self.weights = [1.0] if weights is None else list(map(float, weights.values()))
        self.analysis = SearchAnalysis()
        self.counters = [IdCounter() for _ in self.weights]
        self.order = []  # DocumentIds, block by block
        self.n_tokens = 0

    def add(self, documents):
        """Count the words of a block of documents."""
        fields = [self.analysis.known_or_new(t) for t in self._fields(documents)]
        for counter, of_field in zip(self.counters, fields):
            counter.add(of_field, self.analysis.size)
            self.n_tokens += len(of_field.ids)
        if self.settings.positions:
            self.order.append(join_fields(fields))

    def _fields(self, documents):
        """Texts of every field."""
        weights = self.settings.field_weights
        is_mapping = [isinstance(d, Mapping) for d in documents]
        if weights is None:
            if any(is_mapping):
                raise ParameterError(
                    "documents with fields need an index with field_weights."
                )
            wrong = next((d for d in documents if not isinstance(d, str)), None)
            if wrong is not None:
                raise ValueError(f"documents must be texts, got {wrong!r}.")
            return [documents]
        if not all(is_mapping):
            raise ParameterError(
                "an index with field_weights needs documents that are mappings of "
                "fields to texts."
            )
        return [[d.get(field, "") for d in documents] for field in weights]

    def run(self) -> PostingRun:
        """The documents so far."""
        texts = [encode_term(t) for t in self.analysis.terms()]
        order = sorted(range(len(texts)), key=texts.__getitem__)
        rank = np.empty(len(texts), np.int32)
        rank[order] = np.arange(len(texts), dtype=np.int32)
        X = sum_of_fields(self.weights, [c.result() for c in self.counters])
        arrays = loops.postings_of_rows(
            X.indptr.astype(np.int64), rank[X.indices], X.data, len(texts), 0
        )
        tokens = None
        if self.settings.positions:
            result = concatenate_documents(self.order)
            # the last entry is the border of fields, which stays
            numbers = np.append(rank, np.int32(FIELD_BORDER))
            tokens = DocumentIds(numbers[result.ids], result.ends)
        lengths = np.asarray(X.sum(axis=1)).ravel().astype(np.float32)
        return PostingRun(
            [texts[i] for i in order], loops.Postings(*arrays), lengths, tokens
        )


def join_fields(fields) -> DocumentIds:
    """Tokens of the fields of documents one after the other, with borders between."""
    if len(fields) == 1:
        (result,) = fields
        return DocumentIds(result.ids.copy(), result.ends)
    parts = []
    border = np.array([FIELD_BORDER], np.int32)
    starts = [np.concatenate([[0], f.ends[:-1]]) for f in fields]
    for d in range(len(fields[0].ends)):
        for f, start in zip(fields, starts):
            parts += [f.ids[start[d] : f.ends[d]], border]
    sizes = [len(p) for p in parts]
    ends = np.cumsum(sizes)[2 * len(fields) - 1 :: 2 * len(fields)]
    return DocumentIds(np.concatenate(parts).astype(np.int32), ends)


def blocks_of_documents(documents):
    """Lists of consecutive documents of about a block of characters together."""
    block = []
    size = 0
    for document in documents:
        block.append(document)
        is_mapping = isinstance(document, Mapping)
        parts = document.values() if is_mapping else [document]
        size += sum(len(p) for p in parts if isinstance(p, str))
        if size >= BLOCK:
            yield block
            block = []
            size = 0
    if block:
        yield block


def document_runs(documents, settings, run_tokens):
    """`PostingRun`s of documents of about so many tokens each."""
    builder = RunBuilder(settings)
    is_empty = True
    for block in blocks_of_documents(documents):
        builder.add(block)
        is_empty = False
        if builder.n_tokens >= run_tokens:
            yield builder.run()
            builder = RunBuilder(settings)
            is_empty = True
    if not is_empty:
        yield builder.run()


def count_array(counts, settings):
    """Counts as they are stored."""
    if settings.is_weighted:
        return counts.astype(np.float32)
    return np.minimum(counts, np.iinfo(np.uint16).max).astype(np.uint16)


def write_run(run: PostingRun, folder, first, settings) -> None:
    """Write a run as a segment whose documents are numbered from `first`."""
    SortedTerms.write(folder, run.terms)
    run.postings.starts.tofile(folder / "starts.bin")
    (run.postings.documents + np.int32(first)).tofile(folder / "documents.bin")
    count_array(run.postings.frequency, settings).tofile(folder / "counts.bin")
    run.lengths.tofile(folder / "lengths.bin")
    if run.tokens is not None:
        run.tokens.ids.tofile(folder / "tokens.bin")
        run.tokens.ends.tofile(folder / "token_ends.bin")


class TermCursor:
    """Where the merge is in the terms of a segment."""

    def __init__(self, segment):
        self.segment = segment
        self.at = 0
        self.new_numbers = np.empty(len(segment.terms), np.int32)

    def is_done(self):
        return self.at >= len(self.segment.terms)

    def next_terms(self, n_postings) -> list[bytes]:
        """The next terms, with at most so many postings together, one at least."""
        starts = self.segment.starts
        limit = int(starts[self.at]) + n_postings
        end = int(np.searchsorted(starts, limit, side="right")) - 1
        last = min(self.at + n_postings, len(self.segment.terms))
        return self.segment.terms.between(self.at, min(max(end, self.at + 1), last))


def merge_runs(segments, is_live, folder, settings, most_postings) -> None:
    """Merge neighbouring segments into a new one, without deleted documents."""
    cursors = [TermCursor(s) for s in segments]
    share = max(1, most_postings // len(segments))
    n_terms = 0
    n_postings = 0
    term_bytes = 0
    all_live = bool(is_live.all())
    names = ("terms", "term_ends", "starts", "documents", "counts")
    with contextlib.ExitStack() as stack:
        files = {
            name: stack.enter_context(open(folder / f"{name}.bin", "wb"))
            for name in names
        }
        np.zeros(1, np.int64).tofile(files["starts"])
        while not all(c.is_done() for c in cursors):
            terms_of_cursors = [
                [] if c.is_done() else c.next_terms(share) for c in cursors
            ]
            # up to here every segment has shown all of its terms
            bound = min(t[-1] for t in terms_of_cursors if t)
            terms_of_cursors = [
                t[: bisect.bisect_right(t, bound)] for t in terms_of_cursors
            ]
            union = sorted(set(itertools.chain(*terms_of_cursors)))
            joined = _join_postings(cursors, terms_of_cursors, union, n_terms)
            documents, counts, ends = joined
            if not all_live:
                kept = is_live[documents]
                passed = np.concatenate([[0], np.cumsum(kept)])
                documents, counts, ends = documents[kept], counts[kept], passed[ends]
            files["terms"].write(b"".join(union))
            sizes = np.cumsum([len(t) for t in union], dtype=np.int64)
            (sizes + term_bytes).tofile(files["term_ends"])
            (ends + n_postings).astype(np.int64).tofile(files["starts"])
            documents.tofile(files["documents"])
            counts.tofile(files["counts"])
            term_bytes += int(sizes[-1])
            n_terms += len(union)
            n_postings += len(documents)
    _copy_documents(cursors, folder, settings)


def read_part(path, dtype, start, stop):
    """Numbers start, ..., stop - 1 of a file.

    Read and not mapped: pages of a mapped file would count as memory until the end.
    """
    size = np.dtype(dtype).itemsize
    return np.fromfile(path, dtype, stop - start, offset=start * size)


def _join_postings(cursors, terms_of_cursors, union, n_terms):
    """Postings of the terms of `union`; moves the cursors on.

    Returns documents and counts, and where the postings of each term end.
    """
    number = {term: i for i, term in enumerate(union)}
    spans = []
    sizes = np.zeros(len(union), np.int64)
    for cursor, terms in zip(cursors, terms_of_cursors):
        term_numbers = np.fromiter((number[t] for t in terms), np.int64, len(terms))
        cut = slice(cursor.at, cursor.at + len(terms))
        cursor.new_numbers[cut] = n_terms + term_numbers
        starts = np.asarray(cursor.segment.starts[cut.start : cut.stop + 1])
        cursor.at = cut.stop
        spans.append((term_numbers, starts))
        sizes[term_numbers] += np.diff(starts)
    ends = np.cumsum(sizes)
    place = ends - sizes
    total = int(ends[-1])
    documents = np.empty(total, np.int32)
    counts = np.empty(total, cursors[0].segment.count_type)
    for cursor, (term_numbers, starts) in zip(cursors, spans):
        if len(term_numbers):
            segment = cursor.segment
            cut = (int(starts[0]), int(starts[-1]))
            loops.copy_postings(
                read_part(segment.folder / "documents.bin", np.int32, *cut),
                read_part(segment.folder / "counts.bin", segment.count_type, *cut),
                starts - starts[0],
                place[term_numbers],
                documents,
                counts,
            )
            place[term_numbers] += np.diff(starts)
    return documents, counts, ends


def _copy_documents(cursors, folder, settings) -> None:
    """Lengths and tokens of the documents of all segments, one after the other."""
    with open(folder / "lengths.bin", "wb") as file:
        for cursor in cursors:
            np.asarray(cursor.segment.lengths).tofile(file)
    if not settings.positions:
        return
    with (
        open(folder / "tokens.bin", "wb") as file,
        open(folder / "token_ends.bin", "wb") as ends,
    ):
        n_tokens_before = 0
        for cursor in cursors:
            n_tokens = len(cursor.segment.tokens)
            path = cursor.segment.folder / "tokens.bin"
            # the last entry is the border of fields, which stays
            numbers = np.append(cursor.new_numbers, np.int32(FIELD_BORDER))
            for start in range(0, n_tokens, COPIED_TOKENS):
                end = min(start + COPIED_TOKENS, n_tokens)
                numbers[read_part(path, np.int32, start, end)].tofile(file)
            (np.asarray(cursor.segment.token_ends) + n_tokens_before).tofile(ends)
            n_tokens_before += n_tokens
