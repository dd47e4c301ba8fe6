"""Search in a folder of documents: by words, by meaning, and by both.

Files are read (`text/search/readers.py`) and cut into chunks (`text/search/chunks.py`).
An index is a folder with

    words/            the chunks, for BM25 (`text/search/bm25_index.py`), with their
                      headings
    vectors/          their vectors (`text/search/vector_index.py`)
    documents.sqlite  files with size and time, and where each chunk is
    settings.json     what the index was made with

`update` looks at size and time of every file: chunks of new and changed files are
added, those of changed and vanished files are deleted. Work is committed a batch at a
time, so that memory is bounded and an interruption, even by kill, loses the last batch
alone; a file that was not finished is read again. The former version of a changed file
is found until the new one is there. One process updates an index at a time (a lock of
the operating system), while others may search in it.

A query ranks chunks by its words, by the first letters of its words and by meaning; the
rankings are joined by score fusion (`text/search/rank_fusion.py`), with all scores of
every chunk that any of them holds. Texts of chunks are read from the files themselves,
those of HTML and PDF from the index.

Cost      see `text/search/bm25_index.py`; reading, memory of a batch
"""

import contextlib
import itertools
import json
import os
import re
import sqlite3
import stat
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ...core.files.atomic_files import write_text_file
from ...core.files.folder_lock import LOCK_NAME, holding_folder
from ...core.files.own_files import foreign_path, foreign_sentence, remove_own_files
from ...core.files.previous_files import numbered_names
from ...params import ParameterError, check_count
from .bm25_formulas import check_query
from .bm25_index import OWN_PATHS as WORD_PATHS
from .bm25_index import QUOTED, BM25Index, damage_as_one_sentence, read_index_json
from .chunks import Chunk, check_chunking, split_chunks
from .rank_fusion import score_fusion
from .readers import (
    decode_text,
    document_kind,
    has_wide_characters,
    is_binary,
    read_html,
    read_pdf,
    read_text_blocks,
    readable_text,
)
from .snippets import Snippet, best_snippet
from .vector_index import OWN_PATHS as VECTOR_PATHS
from .vector_index import VectorIndex

FORMAT = 3
BATCH = 24 << 20  # characters of chunks that are added at a time
SAMPLE = 8000  # chunks that directions of meaning are learned from
VECTOR_BATCH = 4000  # chunks that become vectors at a time
FUSED = 100  # best of each ranking that are fused
PREFIX = 5  # letters in which forms of a word agree
FUSION_WEIGHTS = {"words": 0.25, "prefixes": 1.0, "meaning": 0.5}  # of the rankings
FIELDS = {"title": 2, "text": 1}
NAMES_KEPT = 100  # of the files that are left out for one reason
NAMES_IN_TEXT = 3
# kinds of files whose text is kept in the index; wide: UTF-16 and UTF-32
EXTRACTED = {"html", "pdf", "wide text", "wide markdown"}
VECTOR_FOLDERS = ("vectors", "vectors-draft", "vectors-old")
# of the files of an index below its folder
OWN_PATHS = (
    rf"documents\.sqlite(-journal|-wal|-shm)?|{re.escape(LOCK_NAME)}"
    r"|\.settings\.json\.[0-9a-f]{8}\.tmp"
    rf"|words/({WORD_PATHS})"
)
WITH_VECTORS = (
    rf"settings\.json|{OWN_PATHS}|({'|'.join(VECTOR_FOLDERS)})/({VECTOR_PATHS})"
)
TABLES = """
create table if not exists files(
    id integer primary key, path text unique, size integer, time integer, kind text);
create table if not exists chunks(
    number integer primary key, file integer, start integer, end integer,
    line integer, heading text);
create table if not exists texts(file integer primary key, content blob);
create index if not exists chunks_of_file on chunks(file);
"""

SearchKind = Literal["hybrid", "words", "meaning"]


class Passage(NamedTuple):
    """A chunk that was found: where it is, what it says, and how well it fits."""

    number: int
    path: str
    line: int  # page of a PDF
    heading: str
    text: str
    score: float
    is_stale: bool = False  # whether the file has changed since it was indexed

    @property
    def citation(self) -> str:
        """The file and the line of the passage."""
        return f"{self.path}:{self.line}"

    def snippet(self, query, width=240) -> Snippet:
        """The part that answers a query best."""
        return best_snippet(self.text, query, width=width)


class IndexReport(NamedTuple):
    """Result of an update: numbers of files, and why files were left out."""

    added: int
    changed: int
    removed: int
    unchanged: int
    chunks: int
    characters: int
    skipped: dict[str, int]
    skipped_files: dict[str, list[str]] = {}  # the first of each reason

    def __str__(self):
        words = [
            f"{n} {name}"
            for name in ("added", "changed", "removed", "unchanged")
            if (n := getattr(self, name))
        ]
        lines = [f"files: {', '.join(words) or 'none'}; {self.chunks} chunks"]
        for reason, n in sorted(self.skipped.items()):
            names = self.skipped_files.get(reason, [])[:NAMES_IN_TEXT]
            ellipsis = ["..."] if n > len(names) else []
            example = f" ({', '.join([*names, *ellipsis])})" if names else ""
            lines.append(f"left out: {n} {reason}{example}")
        return "\n".join(lines)


class FileChunk(NamedTuple):
    """A chunk with its place in a file, in bytes of its text."""

    chunk: Chunk
    start: int
    end: int


class FolderSettings(NamedTuple):
    """Settings that an index of a folder was made with."""

    source: str
    by: str = "headings"
    size: int = 200
    overlap: int = 0
    also: tuple = ()
    n_components: int = 128
    positions: bool = True


class FoundFile(NamedTuple):
    """A file that is to be read, and the number of its former version, if any."""

    path: Path
    name: str
    kind: str
    size: int
    time: int
    former: int | None = None


class SkippedFiles:
    """Number of files that are left out for each reason, and the first names."""

    def __init__(self):
        self.counts: Counter[str] = Counter()
        self.files: dict[str, list[str]] = {}

    def add(self, reason, name) -> None:
        """Count a file."""
        self.counts[reason] += 1
        names = self.files.setdefault(reason, [])
        if len(names) < NAMES_KEPT:
            names.append(str(name))


def _files_below(folder, hidden, skipped: SkippedFiles) -> list[Path]:
    """All files of a folder but hidden ones and those of an index, sorted.

    Links to folders are not followed: they may lead back.
    """
    results = []

    def unreadable(error):
        skipped.add("folders that cannot be read", error.filename)

    for root, folders, names in os.walk(folder, onerror=unreadable):
        kept = []
        for name in sorted(folders):
            path = Path(root, name)
            if name.startswith("."):
                continue
            if path.is_symlink():
                skipped.add("links to folders", path)
            elif path.resolve() != hidden:
                kept.append(name)
        folders[:] = kept
        results += [Path(root, n) for n in sorted(names) if not n.startswith(".")]
    return results


def _stored_name(name: str) -> str | bytes:
    """The name of a file as SQLite takes it: bytes, if it is not UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return os.fsencode(name)
    return name


def _name_from_store(stored: str | bytes) -> str:
    """The name of a file out of SQLite."""
    return os.fsdecode(stored) if isinstance(stored, bytes) else stored


def _located_chunks(text, first_byte, settings, line=1, opened=None):
    """`FileChunk`s of a text that begins at a byte of its file."""
    position = 0
    place = first_byte
    for chunk in split_chunks(
        text,
        by=settings.by,
        size=settings.size,
        overlap=settings.overlap,
        line=line,
        opened=opened,
    ):
        if chunk.start >= position:
            place += _byte_length_of(text[position : chunk.start])
        else:
            place -= _byte_length_of(text[chunk.start : position])
        position = chunk.start
        yield FileChunk(chunk, place, place + _byte_length_of(chunk.text))


def _byte_length_of(text) -> int:
    """Bytes of a text in UTF-8, with those that were not UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def _shown_text(data: bytes) -> str:
    """Bytes of a file as text that can be printed."""
    return readable_text(data.decode("utf-8", "surrogateescape"))


class FolderIndex:
    """An index of the documents of a folder, on disk.

    Make one with `FolderIndex.create`, open one that is there with
    `FolderIndex(folder)`.

    Parameters
    ----------
    folder : path
        Of the index.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pansophy.text import FolderIndex
    >>> place = tempfile.TemporaryDirectory()
    >>> page = Path(place.name, "fruit.md")
    >>> _ = page.write_text("# Cherries\\nRed, sweet.\\n# Limes\\nGreen and sour.\\n")
    >>> index = FolderIndex.create(place.name + "/index", place.name)
    >>> print(index.update())
    files: 1 added; 2 chunks
    >>> best = index.search("which fruit is sour")[0]
    >>> best.citation, best.heading
    ('fruit.md:3', 'Limes')
    >>> index.close()
    >>> place.cleanup()
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        path = self.folder / "settings.json"
        if not path.is_file():
            raise FileNotFoundError(f"{self.folder} is not an index of a folder.")
        content = read_index_json(path)
        if content.pop("format", None) != FORMAT:
            raise ValueError(
                f"{path} is of another version; make the index anew (--rebuild)."
            )
        with damage_as_one_sentence(self.folder):
            content["also"] = tuple(content["also"])
            self.settings = FolderSettings(**content)
            self.source = Path(self.settings.source)
        self.words = BM25Index(self.folder / "words")
        self.database = open_database(self.folder)

    @classmethod
    def create(cls, folder, source, **settings) -> "FolderIndex":
        """Make an empty index of a folder.

        Parameters
        ----------
        folder : path
            Where the index goes; new or empty.
        source : path
            Folder of the documents.
        by, size, overlap
            What chunks are, as in `split_chunks`.
        also : tuple of str
            Further suffixes of plain text, such as ".py"; ".readme" takes files that
            are called README.
        n_components : int, default=128
            Numbers of a vector; 0: no search by meaning.
        positions : bool, default=True
            Whether to keep the order of words, for phrases in quotation marks.
        """
        new_settings = FolderSettings(str(Path(source).resolve()), **settings)
        check_chunking(new_settings.by, new_settings.size, new_settings.overlap)
        check_count("n_components", new_settings.n_components, 0)
        if not Path(source).is_dir():
            raise NotADirectoryError(f"{source} is not a folder.")
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with holding_folder(folder):
            _remove_unfinished_index(folder)
            BM25Index.create(
                folder / "words", field_weights=FIELDS, positions=new_settings.positions
            )
            with contextlib.closing(open_database(folder)) as database:
                database.executescript(TABLES)
            content = {
                "format": FORMAT,
                **new_settings._asdict(),
                "also": list(new_settings.also),
            }
            write_text_file(folder / "settings.json", json.dumps(content, indent=1))
        return cls(folder)

    def close(self):
        """Close the files of the index."""
        self.database.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def __repr__(self):
        return f"FolderIndex({str(self.folder)!r}, {len(self)} chunks)"

    def __len__(self):
        return self.words.n_documents

    # ---- indexing

    def update(self, report: Callable | None = None) -> IndexReport:
        """Bring the index up to date with the files of the folder.

        Parameters
        ----------
        report : function (done, total, path) or None
            Called with bytes that were read and bytes in all.

        Returns
        -------
        report : IndexReport
        """
        if not self.source.is_dir():
            raise NotADirectoryError(f"{self.source} is not a folder.")
        with holding_folder(self.folder):
            self.words = BM25Index(self.folder / "words")  # others may have written
            with damage_as_one_sentence(self.folder, sqlite3.Error):
                # a transaction that goes to disk before its end would lock searches out
                self.database.execute("pragma cache_spill = off")
                self._remove_unfinished()
                report_made = self._read_files(report)
                self.words.merge_segments()
                self._update_vectors()
        return report_made._replace(chunks=len(self))

    def _read_files(self, report) -> IndexReport:
        """Read new and changed files, forget vanished ones."""
        known = {
            _name_from_store(path): (number, size, time)
            for number, path, size, time in self.database.execute(
                "select id, path, size, time from files"
            )
        }
        counts = Counter()
        skipped = SkippedFiles()
        waiting: list[FoundFile] = []
        for path in _files_below(self.source, self.folder.resolve(), skipped):
            name = path.relative_to(self.source).as_posix()
            kind, refusal, status = _examine_file(path, self.settings.also)
            if refusal is not None:
                skipped.add(refusal, name)
                continue
            known_file = known.pop(name, None)
            if known_file is not None and known_file[1:] == (
                status.st_size,
                status.st_mtime_ns,
            ):
                counts["unchanged"] += 1
                continue
            number = None if known_file is None else known_file[0]
            size, time = status.st_size, status.st_mtime_ns
            waiting.append(FoundFile(path, name, kind, size, time, number))
        counts["removed"] = len(known)
        total = sum(result.size for result in waiting)
        batch = ChunkBatch(self)
        batch.gone += [number for number, _, _ in known.values()]
        done_bytes = 0
        for result in waiting:

            def progress(n, name=result.name, before=done_bytes):
                if report is not None:
                    report(before + n, total, name)

            problem = batch.add_file(result, progress)
            done_bytes += result.size
            progress(0, result.name, done_bytes)
            if problem is not None:
                skipped.add(problem, result.name)
            else:
                counts["added" if result.former is None else "changed"] += 1
        batch.flush()
        return IndexReport(
            counts["added"],
            counts["changed"],
            counts["removed"],
            counts["unchanged"],
            len(self),
            batch.characters,
            dict(skipped.counts),
            skipped.files,
        )

    def _remove_unfinished(self):
        """Delete what an interrupted update left half done.

        That are files without a time, files some of whose chunks are gone from the
        words, and chunks in the words that are of no file.
        """
        query = "select id from files where time is null"
        unfinished = {number for (number,) in self.database.execute(query)}
        rows = self.database.execute("select number, file from chunks")
        pairs = np.fromiter(itertools.chain.from_iterable(rows), np.int64)
        numbers, files = pairs.reshape(-1, 2).T
        live = self.words.is_live
        is_lost = numbers >= len(live)
        is_lost[~is_lost] = ~live[numbers[~is_lost]]
        unfinished |= set(files[is_lost].tolist())
        self._remove_files(unfinished)
        self.database.commit()
        without_file = live.copy()
        without_file[numbers[~np.isin(files, list(unfinished))]] = False
        self.words.delete(np.flatnonzero(without_file))

    def _remove_files(self, numbers) -> np.ndarray:
        """Delete files from the database; the numbers of their chunks."""
        chunks = []
        for number in numbers:
            query = "select number from chunks where file = ?"
            chunks += self.database.execute(query, (number,)).fetchall()
            for table in ("chunks", "texts"):
                self.database.execute(f"delete from {table} where file = ?", (number,))
            self.database.execute("delete from files where id = ?", (number,))
        return np.array(chunks, dtype=np.int64).ravel()

    def _update_vectors(self):
        """Vectors of chunks that have none; all anew when there are twice as many.

        New vectors take the place of the former ones when they are complete.
        """
        k = self.settings.n_components
        if k == 0 or not len(self):
            return
        path = self.folder / "vectors"
        vectors = None
        if (path / "trained.json").is_file():
            trained_size = read_index_json(path / "trained.json")["size"]
            if self.words.size < 2 * trained_size:
                vectors = VectorIndex(path)
        if vectors is not None:
            self._append_vectors(vectors)
        else:
            draft = self.folder / "vectors-draft"
            vectors = self._new_vectors(draft, k)
            if vectors is None:
                return
            self._append_vectors(vectors)
            trained = json.dumps({"size": self.words.size})
            write_text_file(draft / "trained.json", trained)
            _replace_folder(draft, path)
        self.__dict__.pop("vectors", None)  # what is searched from now on

    def _append_vectors(self, vectors):
        while len(vectors) < self.words.size:
            first = len(vectors)
            numbers = range(first, min(first + VECTOR_BATCH, self.words.size))
            result = self._texts(list(numbers))
            vectors.append([result.get(n, "") for n in numbers])

    def _new_vectors(self, path, k):
        """Directions of meaning from a sample of chunks; None if there are no words."""
        live = np.flatnonzero(self.words.is_live)
        rng = np.random.default_rng(0)
        chosen = rng.permutation(live)[:SAMPLE]
        texts = list(self._texts(np.sort(chosen).tolist()).values())
        try:
            return VectorIndex.create(path, texts, k)
        except ValueError:  # no word of two letters
            return None

    def _texts(self, numbers) -> dict[int, str]:
        """Texts of chunks, with their headings, for vectors."""
        return {
            p.number: f"{p.heading} {p.text}" for p in self.passages(numbers).values()
        }

    # ---- searching

    @cached_property
    def vectors(self) -> VectorIndex | None:
        """Vectors of the chunks, if there are any."""
        path = self.folder / "vectors"
        return VectorIndex(path) if (path / "trained.json").is_file() else None

    def passages(self, numbers, scores=None) -> dict[int, Passage]:
        """Passages by their numbers; those that are not there are left out."""
        numbers = [int(n) for n in numbers]
        scores = dict(zip(numbers, scores)) if scores is not None else {}
        marks = ",".join("?" * len(numbers))
        rows = self.database.execute(
            "select number, file, start, end, line, heading, path, size, time, kind "
            "from chunks join files on files.id = chunks.file "
            f"where path is not null and number in ({marks}) order by file, start",
            numbers,
        ).fetchall()
        result = {}
        with contextlib.ExitStack() as opened:
            sources: dict[int, TextSource] = {}
            for number, file, start, end, line, heading, path, size, time, kind in rows:
                path = _name_from_store(path)
                if file not in sources:
                    opened.close()  # rows are sorted by file: one at a time is enough
                    source = self._open_text(file, path, size, time, kind)
                    opened.callback(source.close)
                    sources = {file: source}
                source = sources[file]
                result[number] = Passage(
                    number,
                    path,
                    line,
                    heading,
                    source.read(start, end),
                    float(scores.get(number, np.nan)),
                    source.is_stale,
                )
        return result

    def _open_text(self, file, path, size, time, kind) -> "TextSource":
        full = self.source / path
        try:
            status = full.stat()
            is_stale = time is not None and (status.st_size, status.st_mtime_ns) != (
                size, time,
            )  # fmt: skip
        except OSError:
            return TextSource(None, b"", True)
        if kind in EXTRACTED:
            query = "select content from texts where file = ?"
            row = self.database.execute(query, (file,)).fetchone()
            return TextSource(None, row[0] if row else b"", is_stale)
        try:
            return TextSource(open(full, "rb"), b"", is_stale)
        except OSError:
            return TextSource(None, b"", True)

    def search(self, query, k=10, *, by: SearchKind = "hybrid") -> list[Passage]:
        """The k passages that fit a query best.

        Parameters
        ----------
        query : str
            Words, and phrases in quotation marks. Passages must hold the phrases,
            unless they are ranked by meaning alone.
        k : int, default=10
        by : {"hybrid", "words", "meaning"}, default="hybrid"
            How passages are ranked; without vectors "hybrid" is "words".
        """
        if by not in ("hybrid", "words", "meaning"):
            raise ParameterError(
                f'by must be "hybrid", "words" or "meaning", got {by!r}.'
            )
        check_count("k", k)
        check_query(query)
        with damage_as_one_sentence(self.folder, sqlite3.Error):
            ranked = self.rank(query, k, by=by)
            numbers = ranked.documents[:k]
            result = self.passages(numbers, ranked.scores[:k])
            if len(result) < len(numbers):  # an update is under way, or was interrupted
                result = self.passages(ranked.documents, ranked.scores)
        return [result[n] for n in ranked.documents if n in result][:k]

    def rank(self, query, k=10, *, by: SearchKind = "hybrid"):
        """Numbers of chunks by rank, a `FusedRanking`; see `search`."""
        depth = max(k, FUSED)
        sizes = {"words": None, "prefixes": PREFIX}  # letters that are compared
        if by != "hybrid":
            del sizes["prefixes"]
        pairs = {}
        if by != "meaning":
            results = [
                self.words.search(query, depth, prefix=n, all_phrases=True)
                for n in sizes.values()
            ]
            documents_found = np.concatenate([r.documents[0] for r in results])
            # both scores of every chunk that either holds: a rare word may be in one
            # chunk of the many that share its first letters
            numbers = list(
                dict.fromkeys(documents_found[documents_found >= 0].tolist())
            )
            pairs = {
                name: (
                    np.array(numbers, dtype=np.int64),
                    self.words.scores(query, numbers, prefix=n, all_phrases=True),
                )
                for name, n in sizes.items()
            }
        vectors = None if by == "words" else self.vectors
        if by == "meaning" and vectors is None:
            raise ParameterError("the index has no vectors: use by='words'.")
        if vectors is not None and (by == "meaning" or not QUOTED.search(query)):
            pairs["meaning"] = self._rank_by_meaning(vectors, query, depth, pairs)
        return fuse_rankings(pairs)

    def _rank_by_meaning(self, vectors, query, depth, pairs):
        """(documents, cosines) of the nearest chunks and of those that were found."""
        live = self.words.is_live if self.words._has_deleted else None
        z = vectors.vector(query)
        nearest = vectors.nearest(z, depth, live)
        document_lists = [documents[documents >= 0] for documents, _ in pairs.values()]
        # np.unique would import masked arrays, which takes longer than all of this
        numbers = set(nearest.documents.tolist()).union(
            *(d.tolist() for d in document_lists)
        )
        candidates = np.array(sorted(numbers), dtype=np.int64)
        return candidates, vectors.cosines(z, candidates)


def fuse_rankings(pairs: dict, weights=None):
    """One `FusedRanking` of (documents, scores) by name: words, prefixes, meaning."""
    weights = FUSION_WEIGHTS if weights is None else weights
    return score_fusion(
        [(documents.tolist(), scores) for documents, scores in pairs.values()],
        weights=[weights[name] for name in pairs],
    )


class TextSource:
    """Bytes of the text of a file, from the file or from the index."""

    def __init__(self, file, data, is_stale):
        self.file = file
        self.data = data
        self.is_stale = is_stale

    def read(self, start, end) -> str:
        """The text between two bytes."""
        if self.file is None:
            return _shown_text(self.data[start:end])
        self.file.seek(start)
        return _shown_text(self.file.read(end - start))

    def close(self):
        if self.file is not None:
            self.file.close()


def open_database(folder) -> sqlite3.Connection:
    """The database of an index; waits while another process commits."""
    path = Path(folder) / "documents.sqlite"
    database = sqlite3.connect(path, timeout=60)
    try:
        database.execute("pragma schema_version")
    except sqlite3.DatabaseError as error:
        database.close()
        raise ValueError(f"{path} is damaged; make the index anew.") from error
    return database


def source_of_index(folder) -> Path:
    """The folder of documents that an index was made of, in this version or another."""
    content = read_index_json(Path(folder) / "settings.json")
    source = content.get("source")
    if not isinstance(source, str) or "n_components" not in content:
        raise ValueError(f"{folder} is not an index of a folder.")
    return Path(source)


def remove_index(folder) -> None:
    """Remove what an index holds from its folder, so that it can be made anew.

    Raises
    ------
    FileExistsError
        If there is anything else in it; nothing has been removed then.
    """
    folder = Path(folder)
    source_of_index(folder)
    with holding_folder(folder):
        _refuse_foreign_paths(folder, WITH_VECTORS)
        for name in VECTOR_FOLDERS:
            remove_own_files(folder / name, VECTOR_PATHS)
        (folder / "settings.json").unlink()  # no index from here on
        _remove_unfinished_index(folder)


def _remove_unfinished_index(folder) -> None:
    """Clear a folder in which the making of an index was interrupted.

    Raises
    ------
    FileExistsError
        If there is anything else in it; nothing has been removed then.
    """
    words = folder / "words"
    _refuse_foreign_paths(folder, OWN_PATHS)
    if not _is_word_index_or_empty(words):
        raise FileExistsError(foreign_sentence(folder, words))
    if not _is_document_database(folder / "documents.sqlite"):
        raise FileExistsError(foreign_sentence(folder, folder / "documents.sqlite"))
    remove_own_files(words, WORD_PATHS)
    for path in folder.glob("documents.sqlite*"):
        path.unlink()


def _refuse_foreign_paths(folder, pattern) -> None:
    """One sentence if a folder holds a file that is none of an index."""
    if (path := foreign_path(folder, pattern)) is not None:
        raise FileExistsError(foreign_sentence(folder, path))


def _is_word_index_or_empty(folder) -> bool:
    """Whether a folder is an index of words, or holds nothing yet."""
    path = folder / "index.json"
    if not path.is_file():
        return not folder.is_dir() or not any(map(Path.is_dir, folder.iterdir()))
    try:
        content = read_index_json(path)
    except (OSError, ValueError):
        return False
    return {"settings", "segments", "next_name"} <= content.keys()


def _is_document_database(path) -> bool:
    """Whether a file is a database of an index, or was about to become one."""
    if not path.exists() or path.stat().st_size == 0:
        return True
    database = sqlite3.connect(path, timeout=1)
    try:
        rows = database.execute("select name from sqlite_master where type = 'table'")
        return {name for (name,) in rows} <= {"files", "chunks", "texts"}
    except sqlite3.DatabaseError:
        return False
    finally:
        database.close()


def _replace_folder(draft, path) -> None:
    """Put the folder of new vectors in the place of the old ones, which go.

    What is not ours stays in `vectors-old`.
    """
    remove_own_files(path.with_name(f"{path.name}-old"), VECTOR_PATHS)
    names = numbered_names(path.with_name(f"{path.name}-old"))
    old = next(name for name in names if not os.path.lexists(name))
    if path.exists():
        path.rename(old)
    draft.rename(path)
    remove_own_files(old, VECTOR_PATHS)


def _examine_file(path, also):
    """(kind, why it is not read, status) of a file; the reason is in the plural."""
    kind = document_kind(path, also)
    if kind is None:
        return None, "of other kinds", None
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would be read for ever
            return kind, "of other kinds", None
        if kind != "pdf" and is_binary(path):
            return kind, "binary", None
        if kind in ("text", "markdown") and has_wide_characters(path):
            kind = f"wide {kind}"
    except OSError:
        return kind, "that cannot be read", None
    return kind, None, status


class ChunkBatch:
    """Chunks of files that wait to be added to an index."""

    def __init__(self, index: FolderIndex):
        self.index = index
        self.documents = []
        self.rows = []
        self.finished = []  # (time, name, number) of files
        self.gone = []  # numbers of files that are replaced or have vanished
        self.waiting = 0
        self.characters = 0

    def add_file(self, file: FoundFile, progress: Callable) -> str | None:
        """Add the chunks of a file; why it could not be read, or None."""
        name = _stored_name(file.name)
        # the name belongs to the former version until the new one is complete
        first_name = name if file.former is None else None
        cursor = self.index.database.execute(
            "insert into files(path, size, kind) values (?, ?, ?)",
            (first_name, file.size, file.kind),
        )
        number = cursor.lastrowid
        old_number = [] if file.former is None else [file.former]
        try:
            if file.kind in EXTRACTED:
                self._add_extracted(file, number)
            else:
                self._add_blocks(file, number, progress)
        except (OSError, ImportError, ValueError) as error:
            # its chunks are the last ones, but for those that were added already
            self.rows = [row for row in self.rows if row[0] != number]
            self.documents = self.documents[: len(self.rows)]
            self.gone += [number, *old_number]
            if isinstance(error, ImportError):
                return "of PDF, which need pypdf: pip install pansophy[pdf]"
            return "that cannot be read"
        self.finished.append((file.time, name, number))
        self.gone += old_number
        return None

    def _add_blocks(self, file, number, progress):
        """Chunks of a file of UTF-8, a block at a time."""
        settings = self.index.settings
        if file.kind == "text" and settings.by == "headings":
            settings = settings._replace(by="sentences")
        opened = []
        for block in read_text_blocks(file.path):
            progress(block.start)
            for chunk in _located_chunks(
                block.text, block.start, settings, block.line, opened
            ):
                self._add(number, chunk, file.path.stem)

    def _add_extracted(self, file, number):
        """Chunks of a file whose text is kept in the index."""
        path = file.path
        title = path.stem
        settings = self.index.settings
        line_at = None
        if file.kind == "pdf":
            page = read_pdf(path)
            text, title, line_at = page.text, page.title or title, page.line_at
        else:
            text = decode_text(path.read_bytes())
        if file.kind == "html":
            page = read_html(text)
            text, title, line_at = page.text, page.title or title, page.line_at
        if file.kind == "wide text" and settings.by == "headings":
            settings = settings._replace(by="sentences")
        content = text.encode("utf-8", "replace")
        self.index.database.execute(
            "insert into texts(file, content) values (?, ?)", (number, content)
        )
        for located in _located_chunks(content.decode("utf-8"), 0, settings):
            if line_at is not None:
                located = located._replace(
                    chunk=located.chunk._replace(line=line_at(located.chunk.start))
                )
            self._add(number, located, title)

    def _add(self, file, found: FileChunk, title):
        chunk = found.chunk
        heading = readable_text(" > ".join(chunk.headings))
        name = readable_text(title).replace("_", " ").replace("-", " ")
        text = readable_text(chunk.text)
        self.documents.append({"title": f"{name} {heading}", "text": text})
        self.rows.append((file, found.start, found.end, chunk.line, heading))
        self.waiting += len(chunk.text)
        self.characters += len(chunk.text)
        if self.waiting >= BATCH:
            self.flush()

    def flush(self):
        """Add what is waiting; then replaced and vanished files go."""
        numbers = range(0)
        if self.documents:
            numbers = self.index.words.add(self.documents, merge=False)
        database = self.index.database
        database.executemany(
            "insert into chunks(number, file, start, end, line, heading) "
            "values (?, ?, ?, ?, ?, ?)",
            ((n, *row) for n, row in zip(numbers, self.rows)),
        )
        gone = self.index._remove_files(self.gone)
        database.executemany(
            "update files set time = ?, path = ? where id = ?", self.finished
        )
        database.commit()
        words = self.index.words
        words.delete(gone[words.is_live[gone]])
        self.documents = []
        self.rows = []
        self.finished = []
        self.gone = []
        self.waiting = 0
