"""BM25 search in an index on disk, larger than memory.

The index is a folder of segments, each with the postings of some documents:

    terms.bin, term_ends.bin     the sorted terms, one after the other, and their ends
    starts.bin                   where the postings of each term begin
    documents.bin, counts.bin    documents of each term, ascending, and f of eq. (1)
    lengths.bin                  length of each document
    tokens.bin, token_ends.bin   terms of each document in order, if `positions`

Files are mapped, not read: opening costs the same for any size, and a query touches the
postings of its terms. Scores are those of `BM25`, eqs. (1) and (2) of
`text/search/bm25_formulas.py`; terms are those of `text/search/search_words.py`.

Documents are added in runs of bounded memory. A run becomes a segment with its terms in
order; segments are merged as sorted streams, a range of terms at a time, when there are
many. A deleted document is marked and left out at the next merge. The file `index.json`
says which segments there are and is replaced in one step, so that an interruption
leaves the index as it was before the last run. One process writes at a time, while
others search: they see the index as it was when they opened it.

A query adds up its terms from rare to frequent. With R the most that the terms still to
come can add, and v the k-th best score so far, documents that have not occurred yet are
out as soon as v > R; the postings of the remaining, frequent terms are then looked up
for the documents with a score of at least v - R alone (MaxScore), which leaves the
result as it is.

Terms are sorted, so that those with the same first letters are neighbours and so are
their postings: words can be compared by their first letters without another index.

Cost      build O(characters) and O(postings log) to merge, memory of one run; a query
          at most O(postings of its terms)
Refs      [Robertson2009]; [Turtle1995] MaxScore; [Witten1999] sorted runs
"""

import contextlib
import functools
import itertools
import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...core.files.atomic_files import replacing_file, write_text_file
from ...core.files.folder_lock import holding_folder
from ...core.files.own_files import remove_own_files
from ...params import ParameterError, check_count
from .bm25_formulas import METHODS, SearchResult, TermFormula, check_query, query_list
from .search_words import begins_terms, indexed_words, query_words

FORMAT = 3  # 2: no words of one letter; 1: other words of scripts without blanks
SEGMENTS = 8  # more are merged
RUN_TOKENS = 3_000_000  # tokens whose postings are made in memory
MERGED_POSTINGS = 2_000_000  # that are in memory at a time while merging
DENSE_SHARE = 16  # a prefix has dense postings with one for so many documents
SAMPLE_STRIDE = 16  # a limit of many scores is read off every so many
# errors that numbers out of a damaged file end in
DAMAGE = (IndexError, KeyError, TypeError, AttributeError, OverflowError)
QUOTED = re.compile(r'"([^"]*)"')
SEGMENT_NAME = r"segment-\d{6}"
# of the files of an index below its folder
OWN_PATHS = (
    rf"index\.json|deleted\.bin|\.lock|{SEGMENT_NAME}/[a-z_]+\.bin"
    r"|\.(index\.json|deleted\.bin)\.[0-9a-f]{8}\.tmp"
)

DTYPES = {
    "starts": np.int64,
    "documents": np.int32,
    "lengths": np.float32,
    "tokens": np.int32,
    "token_ends": np.int64,
}


def map_array(path, dtype):
    """An array in a file, mapped; one that is not there is empty.

    Raises
    ------
    FileNotFoundError
        If its folder is not there: it was merged with others.
    """
    n = path.stat().st_size // np.dtype(dtype).itemsize if path.exists() else 0
    if n == 0:
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path.parent} is not there any more.")
        return np.empty(0, dtype)
    mapped = np.memmap(path, dtype, mode="r", shape=(n,))
    return mapped.view(np.ndarray)  # indexing is quicker


class SortedTerms:
    """Distinct terms in the order of their bytes, in the files of a folder."""

    def __init__(self, folder):
        self.data = map_array(Path(folder) / "terms.bin", np.uint8)
        self.ends = map_array(Path(folder) / "term_ends.bin", np.int64)

    def __len__(self):
        return len(self.ends)

    def term(self, i) -> bytes:
        """The bytes of term i."""
        start = int(self.ends[i - 1]) if i else 0
        return self.data[start : int(self.ends[i])].tobytes()

    def between(self, i, j) -> list[bytes]:
        """The bytes of terms i, ..., j - 1."""
        if i >= j:
            return []
        bounds = np.asarray(self.ends[max(i - 1, 0) : j])
        if i == 0:
            bounds = np.concatenate([[0], bounds])
        first = int(bounds[0])
        data = self.data[first : int(bounds[-1])].tobytes()
        bounds = (bounds - first).tolist()
        return [data[a:b] for a, b in itertools.pairwise(bounds)]

    def position(self, term: bytes) -> int:
        """Number of terms that sort before a text."""
        low = 0
        high = len(self)
        while low < high:
            middle = (low + high) // 2
            if self.term(middle) < term:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, term: bytes) -> int:
        """The number of a term, or -1."""
        i = self.position(term)
        return i if i < len(self) and self.term(i) == term else -1

    def range_of_prefix(self, prefix: bytes):
        """(first, end) of the terms that begin with a text."""
        upper_bound = prefix + b"\xff"  # no byte of UTF-8 is as large
        return self.position(prefix), self.position(upper_bound)

    @staticmethod
    def write(folder, terms) -> None:
        """Write sorted terms."""
        ends = np.cumsum([len(t) for t in terms], dtype=np.int64)
        (folder / "terms.bin").write_bytes(b"".join(terms))
        ends.tofile(folder / "term_ends.bin")


class Segment:
    """Postings of the documents first, ..., first + n - 1, in files of a folder."""

    def __init__(self, folder, first, n, is_weighted):
        self.folder = Path(folder)
        self.first = first
        self.n = n
        self.count_type = np.float32 if is_weighted else np.uint16

    @cached_property
    def terms(self) -> SortedTerms:
        """The terms of the segment; the sizes of its files are checked at first use."""
        terms = SortedTerms(self.folder)
        n_postings = int(self.starts[-1]) if len(self.starts) else 0
        sizes = [
            (len(terms.data), int(terms.ends[-1]) if len(terms) else 0),
            (len(self.starts), len(terms) + 1),
            (len(self.documents), n_postings),
            (len(self.counts), n_postings),
            (len(self.lengths), self.n),
        ]
        if any(result != expected for result, expected in sizes):
            raise ValueError(f"{self.folder} is damaged; make the index anew.")
        return terms

    @cached_property
    def starts(self) -> np.ndarray:
        """Starts of the postings of each term, and the last end."""
        return map_array(self.folder / "starts.bin", DTYPES["starts"])

    @cached_property
    def documents(self) -> np.ndarray:
        """Documents of the terms, one term after the other."""
        return map_array(self.folder / "documents.bin", DTYPES["documents"])

    @cached_property
    def lengths(self) -> np.ndarray:
        """Length of each document."""
        return map_array(self.folder / "lengths.bin", DTYPES["lengths"])

    @cached_property
    def tokens(self) -> np.ndarray:
        """Numbers of the terms of documents in order."""
        return map_array(self.folder / "tokens.bin", DTYPES["tokens"])

    @cached_property
    def token_ends(self) -> np.ndarray:
        """Ends of the tokens of each document."""
        return map_array(self.folder / "token_ends.bin", DTYPES["token_ends"])

    @cached_property
    def counts(self) -> np.ndarray:
        """Counts of the terms in `documents`."""
        return map_array(self.folder / "counts.bin", self.count_type)

    @property
    def n_postings(self):
        return len(self.documents)

    def postings(self, term: bytes):
        """Documents of a term and its counts in them."""
        i = self.terms.find(term)
        if i < 0:
            return np.empty(0, np.int32), np.empty(0, self.count_type)
        cut = slice(int(self.starts[i]), int(self.starts[i + 1]))
        return self.documents[cut], self.counts[cut]

    def prefix_postings(self, prefix: bytes):
        """Documents of all terms that begin alike, and the sums of their counts."""
        i, j = self.terms.range_of_prefix(prefix)
        if i >= j:
            return np.empty(0, np.int32), np.empty(0, self.count_type)
        cut = slice(int(self.starts[i]), int(self.starts[j]))
        documents = self.documents[cut]
        counts = self.counts[cut]
        if j == i + 1 or not len(documents):
            return documents, counts
        if len(documents) > self.n // DENSE_SHARE:  # adding up is quicker than sorting
            sums = np.bincount(documents - self.first, counts, self.n)
            held = np.flatnonzero(sums)
            return (held + self.first).astype(np.int32), sums[held].astype(np.float32)
        order = np.argsort(documents, kind="stable")
        documents = documents[order]
        first = np.flatnonzero(np.diff(documents, prepend=-1))
        sums = np.add.reduceat(counts[order].astype(np.float32), first)
        return documents[first], sums

    def term_range(self, term: bytes, is_prefix):
        """(first, end) of the numbers of a term, or of those that begin with it."""
        if is_prefix:
            return self.terms.range_of_prefix(term)
        i = self.terms.find(term)
        return (i, i + 1) if i >= 0 else (0, 0)

    def tokens_of(self, document):
        """Numbers of the terms of a document in order."""
        row = document - self.first
        start = int(self.token_ends[row - 1]) if row else 0
        return self.tokens[start : int(self.token_ends[row])]


class IndexSettings(NamedTuple):
    """Settings that an index on disk was made with."""

    k1: float = 1.5
    b: float = 0.75
    method: str = "bm25"
    delta: float = 0.5
    field_weights: dict | None = None
    positions: bool = True

    def formula(self) -> TermFormula:
        return TermFormula(self.k1, self.b, self.method, self.delta)

    @property
    def is_weighted(self):
        """Whether counts need not be whole numbers."""
        weights = (self.field_weights or {}).values()
        return any(w != int(w) for w in weights)


class TermPostings(NamedTuple):
    """Live documents of one term of a query, what it adds to them, and how much."""

    documents: np.ndarray
    counts: np.ndarray
    weight: float  # idf times how often the term is in the query

    def restricted(self, kept) -> "TermPostings":
        """The postings that a mask keeps."""
        return self._replace(documents=self.documents[kept], counts=self.counts[kept])


class BM25Index:
    """BM25 search in a folder on disk, which is mapped and not read into memory.

    Make one with `BM25Index.create`, open one that is there with `BM25Index(folder)`.

    Parameters
    ----------
    folder : path

    Attributes
    ----------
    n_documents : int
        Documents without deleted ones.
    settings : IndexSettings

    Examples
    --------
    >>> import tempfile
    >>> from pansophy.text import BM25Index
    >>> folder = tempfile.TemporaryDirectory()
    >>> index = BM25Index.create(folder.name + "/index")
    >>> index.add(["the cat sat on the mat", "the dog sat", "cats and dogs"])
    range(0, 3)
    >>> index.search("cat sat", k=2).documents
    array([[0, 1]])
    >>> index.delete([0]).search('"dog sat"').scores.round(3)[0, 0]
    np.float64(0.693)
    >>> BM25Index(folder.name + "/index").n_documents
    2
    >>> folder.cleanup()
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self._read()

    def _read(self):
        """Read index.json, at first or after another process has replaced it."""
        path = self.folder / "index.json"
        if not path.is_file():
            raise FileNotFoundError(f"{self.folder} is not an index of documents.")
        self._version = path.stat().st_mtime_ns, path.stat().st_ino
        content = read_index_json(path)
        if content.get("format") != FORMAT:
            raise ValueError(
                f"{path} has format {content.get('format')!r}, {FORMAT} is read here."
            )
        with damage_as_one_sentence(self.folder):
            self._set_content(content)

    def _set_content(self, content):
        self.__dict__.pop("is_live", None)
        self.settings = IndexSettings(**content["settings"])
        self.size = int(content["size"])  # documents ever added
        self.n_documents = int(content["n_documents"])
        self._total_length = float(content["total_length"])
        self._next_name = int(content["next_name"])
        self._segments = [self._segment(**s) for s in content["segments"]]

    @classmethod
    def create(cls, folder, **settings) -> "BM25Index":
        """Make an empty index in a new or empty folder.

        Parameters
        ----------
        folder : path
        k1, b, method, delta
            As in `BM25`.
        field_weights : mapping or None
            Weight of each field of documents that are mappings of fields to texts.
        positions : bool, default=True
            Whether to keep the order of words, which phrases in quotation marks need.
        """
        settings_made = IndexSettings(**settings)
        _check_settings(settings_made)
        folder = Path(folder)
        if folder.exists() and any(folder.iterdir()):
            raise FileExistsError(f"{folder} is not empty.")
        folder.mkdir(parents=True, exist_ok=True)
        self = cls.__new__(cls)
        self.folder = folder
        self.settings = settings_made
        self.size = 0
        self.n_documents = 0
        self._total_length = 0.0
        self._next_name = 0
        self._segments = []
        self._write()
        return self

    def __repr__(self):
        return f"BM25Index({str(self.folder)!r}, {self.n_documents} documents)"

    def __len__(self):
        return self.n_documents

    @contextlib.contextmanager
    def _writing(self):
        """Holds the folder, and reads what other processes have done to it."""
        with holding_folder(self.folder):
            status = (self.folder / "index.json").stat()
            if self._version != (status.st_mtime_ns, status.st_ino):
                self._read()
            yield

    def _segment(self, name, first, n) -> Segment:
        folder = self.folder / name
        return Segment(folder, first, n, self.settings.is_weighted)

    def _write(self):
        """Replace index.json, then remove the folders that it does not name."""
        names = [s.folder.name for s in self._segments]
        content = {
            "format": FORMAT,
            "settings": self.settings._asdict(),
            "size": self.size,
            "n_documents": self.n_documents,
            "total_length": self._total_length,
            "next_name": self._next_name,
            "segments": [
                {"name": s.folder.name, "first": s.first, "n": s.n}
                for s in self._segments
            ],
        }
        path = self.folder / "index.json"
        write_text_file(path, json.dumps(content, indent=1))
        self._version = path.stat().st_mtime_ns, path.stat().st_ino
        for path in self.folder.glob("segment-*"):
            if path.name not in names and re.fullmatch(SEGMENT_NAME, path.name):
                remove_own_files(path, r"[a-z_]+\.bin")

    @cached_property
    def is_live(self):
        """Mask of the documents that have not been deleted, of all ever added."""
        live = np.ones(self.size, dtype=bool)
        live[self._deleted()] = False
        return live

    def _deleted(self):
        """Numbers of the deleted documents, in the order in which they were deleted.

        There may be more in the file, of a deletion that was interrupted before
        `index.json` was written.
        """
        listed = map_array(self.folder / "deleted.bin", np.int64)
        return np.asarray(listed[: self.size - self.n_documents])

    @property
    def _has_deleted(self):
        return self.n_documents < self.size

    def _new_folder(self):
        """A folder for a new segment, empty even after an interruption."""
        name = f"segment-{self._next_name:06d}"
        self._next_name += 1
        folder = self.folder / name
        if folder.is_dir():
            remove_own_files(folder, r"[a-z_]+\.bin")
        folder.mkdir(exist_ok=True)
        return folder

    def add(self, documents, *, merge=True) -> range:
        """Add documents, which may come from an iterator; their numbers.

        Parameters
        ----------
        documents : iterable of str, or of mappings of fields to texts
        merge : bool, default=True
            Whether to merge segments if there are many; `merge_segments` does it later.
        """
        from .bm25_runs import document_runs, write_run

        if isinstance(documents, str):
            raise ValueError("documents must be a list of texts, not one text.")
        with self._writing():
            first = self.size
            for run in document_runs(documents, self.settings, RUN_TOKENS):
                folder = self._new_folder()
                write_run(run, folder, self.size, self.settings)
                n = len(run.lengths)
                self._segments.append(self._segment(folder.name, self.size, n))
                self.size += n
                self.n_documents += n
                self._total_length += float(run.lengths.sum(dtype=float))
                self.__dict__.pop("is_live", None)
                self._write()
            if merge:
                self._merge_segments(SEGMENTS)
        return range(first, self.size)

    def delete(self, documents):
        """Take documents out, by their numbers."""
        numbers = np.unique(np.asarray(documents, dtype=np.int64).ravel())
        if len(numbers):
            with self._writing():
                self._delete(numbers)
        return self

    def _delete(self, numbers):
        live = self.is_live
        known = (numbers >= 0) & (numbers < self.size)
        wrong = [int(d) for d in numbers if not (0 <= d < self.size and live[d])]
        if wrong or not known.all():
            raise ValueError(f"there are no documents with the numbers {wrong[:5]}.")
        for segment in self._segments:
            inside = numbers[
                (numbers >= segment.first) & (numbers < segment.first + segment.n)
            ]
            gone = segment.lengths[inside - segment.first]
            self._total_length -= float(gone.sum(dtype=float))
        listed = np.concatenate([self._deleted(), numbers])
        with replacing_file(self.folder / "deleted.bin") as draft:
            listed.astype(np.int64).tofile(draft)
        live[numbers] = False
        self.n_documents -= len(numbers)
        self._write()

    def merge_segments(self, most=SEGMENTS):
        """Merge neighbouring segments until there are at most so many.

        1 leaves one segment without the postings of deleted documents.
        """
        max_segments = check_count("most", most)
        with self._writing():
            self._merge_segments(max_segments)
        return self

    def _merge_segments(self, most):
        while len(self._segments) > most or (most == 1 and self._has_dead_postings()):
            from .bm25_runs import merge_runs

            first, count = self._cheapest_merge(most)
            chosen = self._segments[first : first + count]
            folder = self._new_folder()
            merge_runs(chosen, self.is_live, folder, self.settings, MERGED_POSTINGS)
            n = sum(s.n for s in chosen)
            merged = self._segment(folder.name, chosen[0].first, n)
            self._segments[first : first + count] = [merged]
            self._write()

    def _has_dead_postings(self):
        """Whether the only segment holds postings of deleted documents."""
        if len(self._segments) != 1 or not self._has_deleted:
            return False
        (segment,) = self._segments
        step = 1 << 22
        return any(
            not self.is_live[segment.documents[start : start + step]].all()
            for start in range(0, segment.n_postings, step)
        )

    def _cheapest_merge(self, most):
        """(first, number) of neighbouring segments to merge, fewest postings first."""
        count = max(2, len(self._segments) - most + 1)
        count = min(count, len(self._segments))
        sizes = [s.n_postings for s in self._segments]
        starts = range(len(sizes) - count + 1)
        return min(starts, key=lambda i: sum(sizes[i : i + count])), count

    def _mean_length(self):
        mean = self._total_length / self.n_documents if self.n_documents else 0.0
        return mean if mean > 0 else 1.0

    def _lengths_of(self, documents):
        """Lengths of documents, which ascend."""
        out = np.empty(len(documents))
        for s in self._segments:
            i, j = np.searchsorted(documents, [s.first, s.first + s.n])
            out[i:j] = s.lengths[documents[i:j] - s.first]
        return out

    def _postings_of(self, term: bytes, is_prefix=False):
        """Live documents of a term, ascending, and its counts."""
        if is_prefix:
            parts = [s.prefix_postings(term) for s in self._segments]
        else:
            parts = [s.postings(term) for s in self._segments]
        parts = [p for p in parts if len(p[0])]
        if len(parts) == 1:
            documents, counts = parts[0]
        else:
            empty = np.empty(0, np.int32)
            documents = np.concatenate([empty, *(p[0] for p in parts)])
            counts = np.concatenate([empty.astype("u2"), *(p[1] for p in parts)])
        if self._has_deleted and len(documents):
            live = self.is_live[documents]
            documents, counts = documents[live], counts[live]
        return documents, counts

    def _terms_of_query(self, query, prefix, all_phrases) -> list[TermPostings]:
        """Postings of the terms and phrases of a query, rare ones first.

        With `all_phrases` those of documents that hold every phrase.
        """
        words = Counter(w[:prefix] for w in query_words(QUOTED.sub(" ", query)))
        results = [
            (
                self._postings_of(
                    encode_term(w),
                    begins_terms(w) or (prefix is not None and len(w) >= prefix),
                ),
                n,
            )
            for w, n in words.items()
        ]
        phrases = [
            self._phrase_postings(words)
            for words in map(indexed_words, QUOTED.findall(query))
            if words or not all_phrases
        ]
        results += [(postings, 1) for postings in phrases]
        formula = self.settings.formula()
        terms = [
            TermPostings(d, c, times * float(formula.idf(self.n_documents, len(d))))
            for (d, c), times in results
            if len(d)
        ]
        if all_phrases and phrases:
            holders = functools.reduce(np.intersect1d, [d for d, _ in phrases])
            terms = [t.restricted(np.isin(t.documents, holders)) for t in terms]
            terms = [t for t in terms if len(t.documents)]
        return sorted(terms, key=lambda t: len(t.documents))

    def _phrase_postings(self, words):
        """Documents that hold a run of words, and how often."""
        if not self.settings.positions:
            raise ParameterError("phrases in quotation marks need positions=True.")
        empty = (np.empty(0, np.int32), np.empty(0, np.uint16))
        # the last character of an unspaced run may go on behind the phrase
        is_prefix = [False] * (len(words) - 1) + [begins_terms(w) for w in words[-1:]]
        terms = [encode_term(w) for w in words]
        lists = [self._postings_of(*pair)[0] for pair in zip(terms, is_prefix)]
        if not lists or not all(map(len, lists)):
            return empty
        by_length: list[np.ndarray] = sorted(lists, key=len)
        holders = by_length[0]
        for documents in by_length[1:]:
            place = np.minimum(np.searchsorted(documents, holders), len(documents) - 1)
            holders = holders[documents[place] == holders]
        counts = np.zeros(len(holders), np.uint16)
        for s in self._segments:
            i, j = np.searchsorted(holders, [s.first, s.first + s.n])
            if i == j:
                continue
            ranges = [s.term_range(*pair) for pair in zip(terms, is_prefix)]
            for place in range(i, j):
                counts[place] = _count_run(s.tokens_of(int(holders[place])), ranges)
        return holders[counts > 0], counts[counts > 0]

    def search(self, queries, k=10, *, prefix=None, all_phrases=False) -> SearchResult:
        """The k best documents of each query that share a term with it.

        Parameters
        ----------
        queries : str or list of str
            Words, and phrases in quotation marks.
        k : int
        prefix : int or None, default=None
            Words with the same first letters, so many, are the same term; phrases
            remain exact. It joins forms of a word as a stemmer does.
        all_phrases : bool, default=False
            Whether documents must hold all phrases in quotation marks.
        """
        if prefix is not None:
            check_count("prefix", prefix)
        queries = query_list(queries)
        k = min(check_count("k", k), max(1, self.size))
        best = np.full((len(queries), k), -1, np.int64)
        scores = np.full((len(queries), k), np.nan)
        for row, query in enumerate(queries):
            check_query(query)
            with damage_as_one_sentence(self.folder):
                try:
                    documents, values = self._best(query, k, prefix, all_phrases)
                except FileNotFoundError:  # another process has merged segments
                    self._read()
                    documents, values = self._best(query, k, prefix, all_phrases)
            best[row, : len(documents)] = documents
            scores[row, : len(documents)] = values
        return SearchResult(best, scores)

    def scores(self, query, documents, *, prefix=None, all_phrases=False):
        """Scores of some documents; 0 for those without a term of the query."""
        documents = np.asarray(documents, dtype=np.int64)
        wanted = np.unique(documents)
        formula = self.settings.formula()
        document_scores = np.zeros(len(wanted))
        held = np.zeros(len(wanted), dtype=bool)
        with damage_as_one_sentence(self.folder):
            terms = self._terms_of_query(query, prefix, all_phrases)
            for term in terms:
                term = term.restricted(np.isin(term.documents, wanted))
                lengths = self._lengths_of(term.documents)
                gains = formula.gains(
                    term.counts.astype(float), lengths, self._mean_length()
                )
                places = np.searchsorted(wanted, term.documents)
                document_scores[places] += term.weight * gains
                held[places] = True
            base = sum(t.weight for t in terms) * formula.absent()
        document_scores = np.where(held, document_scores + base, 0.0)
        return document_scores[np.searchsorted(wanted, documents)]

    def _best(self, query, k, prefix, all_phrases):
        """Documents and scores of the k best for one query."""
        terms = self._terms_of_query(query, prefix, all_phrases)
        formula = self.settings.formula()
        largest = formula.largest_gain()
        bounds = [max(0.0, t.weight) * largest for t in terms]
        # a negative weight would lower scores again: then nothing can be left out
        may_prune = all(t.weight >= 0 for t in terms)
        average = self._mean_length()
        candidates = Candidates(self.size)
        for i, term in enumerate(terms):
            rest = sum(bounds[i:])
            may_exceed = sum(bounds[:i]) > rest  # else no score so far is large enough
            if may_prune and may_exceed and candidates.kth_best(k) > rest:
                candidates.keep_from(candidates.kth_best(k) - rest)
                documents, counts = candidates.restrict(term)
            else:
                documents, counts = term.documents, term.counts
            lengths = self._lengths_of(documents)
            gains = formula.gains(counts.astype(float), lengths, average)
            candidates.add(documents, term.weight * gains)
        base = sum(t.weight for t in terms) * formula.absent()
        documents, values = candidates.best(k)
        return documents, values + base


class Candidates:
    """Scores of the documents that a query has met so far."""

    def __init__(self, size):
        self.scores = np.full(size, -np.inf)
        self.documents = np.empty(0, np.int64)
        self._kth = (0, -np.inf)

    def add(self, documents, values):
        """Add to the scores of documents, each of which occurs once."""
        old_values = self.scores[documents]
        is_new = old_values == -np.inf
        self.scores[documents] = np.where(is_new, 0.0, old_values) + values
        if is_new.any():
            self.documents = np.concatenate([self.documents, documents[is_new]])
        self._kth = (0, -np.inf)

    def kth_best(self, k) -> float:
        """The k-th largest score, -inf if there are fewer."""
        if self._kth[0] != k:
            self._kth = (k, kth_largest(self.scores[self.documents], k))
        return self._kth[1]

    def keep_from(self, score):
        """Forget documents with lower scores."""
        # rounding of sums must not decide
        kept = self.scores[self.documents] >= score - 1e-9 * abs(score)
        self.documents = self.documents[kept]

    def restrict(self, term: TermPostings):
        """The postings of a term in the documents there are."""
        wanted = np.sort(self.documents)
        places = np.searchsorted(term.documents, wanted)
        places = np.minimum(places, len(term.documents) - 1)
        is_present = term.documents[places] == wanted
        return wanted[is_present], term.counts[places[is_present]]

    def best(self, k):
        """The k best documents, ties by their number, and their scores."""
        values = self.scores[self.documents]
        if len(values) > k:
            chosen = values >= kth_largest(values, k)
            self.documents, values = self.documents[chosen], values[chosen]
        order = np.lexsort((self.documents, -values))[:k]
        return self.documents[order], values[order]


@contextlib.contextmanager
def damage_as_one_sentence(folder, *kinds):
    """Turn the errors that a damaged file of an index causes into one sentence.

    `kinds` are further classes of errors; one that says that a database is locked tells
    of another process.
    """
    try:
        yield
    except ParameterError:  # a TypeError, too
        raise
    except Exception as error:
        if not isinstance(error, (*DAMAGE, *kinds)):
            raise
        if "locked" in str(error):
            raise OSError(f"{folder} is in use by another process.") from error
        raise ValueError(f"{folder} is damaged; make the index anew.") from error


def kth_largest(values, k) -> float:
    """The k-th largest of some numbers, -inf if there are fewer.

    Of many numbers those that reach a limit, read off every SAMPLE_STRIDE-th of them,
    are enough if they are k or more, which is much quicker than a partition of all.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.text.search.bm25_index import kth_largest
    >>> kth_largest(np.array([3.0, 1.0, 2.0]), 2)
    2.0
    """
    if len(values) < k:
        return -np.inf
    if len(values) > 2 * SAMPLE_STRIDE * k:
        sample = values[::SAMPLE_STRIDE]
        rank = 4 * k // SAMPLE_STRIDE + 4
        if rank < len(sample):
            upper = values[values >= np.partition(sample, -rank)[-rank]]
            if len(upper) >= k:
                values = upper
    return float(np.partition(values, -k)[-k])


def read_index_json(path) -> dict:
    """The content of a file of JSON that belongs to an index."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged; make the index anew.") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged; make the index anew.")
    return content


def encode_term(word) -> bytes:
    """A term as it is stored."""
    return word.encode("utf-8", "surrogatepass")


def _count_run(tokens, ranges) -> int:
    """Number of times numbers that lie in ranges (first, end) follow each other."""
    n = len(tokens) - len(ranges) + 1
    if n <= 0:
        return 0
    is_match = np.ones(n, dtype=bool)
    for i, (first, end) in enumerate(ranges):
        is_match &= (tokens[i : i + n] >= first) & (tokens[i : i + n] < end)
    return min(int(is_match.sum()), np.iinfo(np.uint16).max)


def _check_settings(settings: IndexSettings):
    """Refuse settings that no index can have."""
    if settings.method not in METHODS:
        raise ParameterError(
            f"method must be one of {sorted(METHODS)}, got {settings.method!r}."
        )
    if not settings.k1 >= 0 or not settings.delta >= 0:
        raise ParameterError("k1 and delta must be at least 0.")
    if not 0 <= settings.b <= 1:
        raise ParameterError(f"b must be from 0 to 1, got {settings.b!r}.")
    weights = settings.field_weights
    if weights is not None and not isinstance(weights, Mapping):
        raise ParameterError("field_weights must be a mapping of fields to weights.")
    if weights is not None and not all(w >= 0 for w in weights.values()):
        raise ParameterError("field_weights must be numbers of at least 0.")
