"""Search in a folder of documents: by words, by meaning, and by both.

Files are read (`text/readers.py`) and cut into chunks (`text/chunks.py`). An index is a
folder with

    words/            the chunks, for BM25 (`text/bm25_index.py`), with their headings
    vectors/          their vectors (`text/vector_index.py`)
    documents.sqlite  files with size and time, and where each chunk is
    settings.json     what the index was made with

`update` looks at size and time of every file: chunks of new and changed files are
added, those of changed and vanished files are deleted. Work is committed a batch at a
time, so that memory is bounded and an interruption loses the last batch alone; a file
that was not finished is read again.

A query ranks chunks by its words, by the first letters of its words and by meaning; the
rankings are joined by reciprocal rank fusion (`text/rank_fusion.py`) with weights, that
of meaning small: it adds passages that share no word with the query. Texts of chunks
are read from the files themselves, those of HTML and PDF from the index.

Cost      see `text/bm25_index.py`; reading, memory of a batch
"""

import contextlib
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ..core.atomic_files import write_text_file
from ..params import ParameterError, check_count
from .bm25_index import BM25Index
from .chunks import Chunk, check_chunking, split_chunks
from .rank_fusion import reciprocal_rank_fusion
from .readers import document_kind, is_binary, read_html, read_pdf, read_text_blocks
from .snippets import Snippet, best_snippet
from .vector_index import VectorIndex

FORMAT = 1
BATCH = 24 << 20  # characters of chunks that are added at a time
SAMPLE = 8000  # chunks that directions of meaning are learned from
VECTOR_BATCH = 4000  # chunks that become vectors at a time
FUSED = 100  # best of each ranking that are fused
PREFIX = 5  # letters in which forms of a word agree
# of the rankings; meaning decides among passages that words do not tell apart
FUSION_WEIGHTS = {"words": 1.0, "prefixes": 1.0, "meaning": 0.02}
FIELDS = {"title": 2, "text": 1}
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
    """What an update did: numbers of files, and why files were left out."""

    added: int
    changed: int
    removed: int
    unchanged: int
    chunks: int
    characters: int
    skipped: dict[str, int]

    def __str__(self):
        words = [
            f"{n} {name}"
            for name in ("added", "changed", "removed", "unchanged")
            if (n := getattr(self, name))
        ]
        lines = [f"files: {', '.join(words) or 'none'}; {self.chunks} chunks"]
        lines += [f"left out: {n} {why}" for why, n in sorted(self.skipped.items())]
        return "\n".join(lines)


class FileChunk(NamedTuple):
    """A chunk with its place in a file, in bytes of its text."""

    chunk: Chunk
    start: int
    end: int


class FolderSettings(NamedTuple):
    """What an index of a folder was made with."""

    source: str
    by: str = "headings"
    size: int = 200
    overlap: int = 0
    also: tuple = ()
    n_components: int = 64
    positions: bool = True


def files_below(folder, hidden) -> list[Path]:
    """All files of a folder but hidden ones and those of an index, sorted."""
    found = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(
            d
            for d in folders
            if not d.startswith(".") and Path(root, d).resolve() != hidden
        )
        found += [Path(root, n) for n in sorted(names) if not n.startswith(".")]
    return found


def located_chunks(text, first_byte, settings, line=1, opened=None):
    """`FileChunk`s of a text that begins at a byte of its file."""
    at = 0
    place = first_byte
    for chunk in split_chunks(
        text,
        by=settings.by,
        size=settings.size,
        overlap=settings.overlap,
        line=line,
        opened=opened,
    ):
        if chunk.start >= at:
            place += byte_length_of(text[at : chunk.start])
        else:
            place -= byte_length_of(text[chunk.start : at])
        at = chunk.start
        yield FileChunk(chunk, place, place + byte_length_of(chunk.text))


def byte_length_of(text) -> int:
    """Bytes of a text in UTF-8, with those that were not UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def shown_text(data: bytes) -> str:
    """Bytes of a file as text that can be printed."""
    return data.decode("utf-8", "replace")


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
        content = json.loads(path.read_text("utf-8"))
        if content.pop("format", None) != FORMAT:
            raise ValueError(f"{path} is of another version; make the index anew.")
        content["also"] = tuple(content["also"])
        self.settings = FolderSettings(**content)
        self.source = Path(self.settings.source)
        self.words = BM25Index(self.folder / "words")
        self.database = sqlite3.connect(self.folder / "documents.sqlite")

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
            Further suffixes of plain text, such as ".py".
        n_components : int, default=64
            Numbers of a vector; 0: no search by meaning.
        positions : bool, default=True
            Whether to keep the order of words, for phrases in quotation marks.
        """
        made = FolderSettings(str(Path(source).resolve()), **settings)
        check_chunking(made.by, made.size, made.overlap)
        check_count("n_components", made.n_components, 0)
        if not Path(source).is_dir():
            raise NotADirectoryError(f"{source} is not a folder.")
        folder = Path(folder)
        BM25Index.create(
            folder / "words", field_weights=FIELDS, positions=made.positions
        )
        with contextlib.closing(
            sqlite3.connect(folder / "documents.sqlite")
        ) as database:
            database.executescript(TABLES)
        content = {"format": FORMAT, **made._asdict(), "also": list(made.also)}
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
        self._forget_unfinished()
        known = {
            path: (number, size, time)
            for number, path, size, time in self.database.execute(
                "select id, path, size, time from files"
            )
        }
        counts = Counter()
        skipped = Counter()
        waiting = []
        for path in files_below(self.source, self.folder.resolve()):
            name = path.relative_to(self.source).as_posix()
            kind = document_kind(path, self.settings.also)
            why = reason_to_skip(path, kind)
            if why is not None:
                skipped[why] += 1
                continue
            stat = path.stat()
            before = known.pop(name, None)
            if before is not None and before[1:] == (stat.st_size, stat.st_mtime_ns):
                counts["unchanged"] += 1
                continue
            if before is not None:
                self._remove_file(before[0])
            waiting.append((path, name, kind, stat, before is not None))
        for number, _, _ in known.values():
            self._remove_file(number)
            counts["removed"] += 1
        self.database.commit()
        made = Batch(self)
        total = sum(w[3].st_size for w in waiting)
        done = 0
        for path, name, kind, stat, was_known in waiting:
            problem = made.add_file(path, name, kind, stat)
            done += stat.st_size
            if problem is not None:
                skipped[problem] += 1
            else:
                counts["changed" if was_known else "added"] += 1
            if report is not None:
                report(done, total, name)
        made.flush()
        self.words.merge_segments()
        self._update_vectors()
        return IndexReport(
            counts["added"],
            counts["changed"],
            counts["removed"],
            counts["unchanged"],
            len(self),
            made.characters,
            dict(skipped),
        )

    def _forget_unfinished(self):
        """Delete what an interrupted update left: chunks without a file and rows."""
        query = "select id from files where time is null"
        for (number,) in self.database.execute(query).fetchall():
            self._remove_file(number)
        rows = self.database.execute("select number from chunks")
        known = np.fromiter((n for (n,) in rows), np.int64)
        live = np.flatnonzero(self.words.is_live)
        self.words.delete(np.setdiff1d(live, known))
        gone = np.setdiff1d(known, live)
        self.database.executemany(
            "delete from chunks where number = ?", ((int(n),) for n in gone)
        )
        self.database.commit()

    def _remove_file(self, number):
        rows = self.database.execute(
            "select number from chunks where file = ?", (number,)
        )
        chunks = np.array([n for (n,) in rows], dtype=np.int64)
        self.words.delete(chunks[self.words.is_live[chunks]])
        for table in ("chunks", "texts"):
            self.database.execute(f"delete from {table} where file = ?", (number,))
        self.database.execute("delete from files where id = ?", (number,))

    def _update_vectors(self):
        """Vectors of chunks that have none; all anew when there are twice as many."""
        k = self.settings.n_components
        if k == 0 or not len(self):
            return
        self.__dict__.pop("vectors", None)  # what is searched from now on
        path = self.folder / "vectors"
        trained = path / "trained.json"
        vectors = None
        if trained.is_file():
            before = json.loads(trained.read_text("utf-8"))["size"]
            if self.words.size < 2 * before:
                vectors = VectorIndex(path)
        if vectors is None:
            vectors = self._new_vectors(path, k)
            if vectors is None:
                return
            write_text_file(trained, json.dumps({"size": self.words.size}))
        while len(vectors) < self.words.size:
            first = len(vectors)
            numbers = range(first, min(first + VECTOR_BATCH, self.words.size))
            found = self._texts(list(numbers))
            vectors.append([found.get(n, "") for n in numbers])

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
            f"where number in ({marks}) order by file, start",
            numbers,
        ).fetchall()
        found = {}
        with contextlib.ExitStack() as opened:
            sources: dict[int, TextSource] = {}
            for number, file, start, end, line, heading, path, size, time, kind in rows:
                if file not in sources:
                    opened.close()  # rows are sorted by file: one at a time is enough
                    source = self._open_text(file, path, size, time, kind)
                    opened.callback(source.close)
                    sources = {file: source}
                source = sources[file]
                found[number] = Passage(
                    number,
                    path,
                    line,
                    heading,
                    source.read(start, end),
                    float(scores.get(number, np.nan)),
                    source.is_stale,
                )
        return found

    def _open_text(self, file, path, size, time, kind) -> "TextSource":
        full = self.source / path
        try:
            stat = full.stat()
            is_stale = time is not None and (stat.st_size, stat.st_mtime_ns) != (
                size, time,
            )  # fmt: skip
        except OSError:
            return TextSource(None, b"", True)
        if kind in ("html", "pdf"):
            query = "select content from texts where file = ?"
            row = self.database.execute(query, (file,)).fetchone()
            return TextSource(None, row[0] if row else b"", is_stale)
        return TextSource(open(full, "rb"), b"", is_stale)

    def search(self, query, k=10, *, by: SearchKind = "hybrid") -> list[Passage]:
        """The k passages that fit a query best.

        Parameters
        ----------
        query : str
            Words, and phrases in quotation marks. Passages must hold the phrases.
        k : int, default=10
        by : {"hybrid", "words", "meaning"}, default="hybrid"
            How passages are ranked; without vectors "hybrid" is "words".
        """
        if by not in ("hybrid", "words", "meaning"):
            raise ParameterError(
                f'by must be "hybrid", "words" or "meaning", got {by!r}.'
            )
        check_count("k", k)
        ranked = self.rank(query, k, by=by)
        numbers = ranked.documents[:k]
        found = self.passages(numbers, ranked.scores[:k])
        return [found[n] for n in numbers if n in found]

    def rank(self, query, k=10, *, by: SearchKind = "hybrid"):
        """Numbers of chunks by rank, a `FusedRanking`; see `search`."""
        depth = max(k, FUSED)
        rankings = []
        weights = []
        for name, prefix in (("words", None), ("prefixes", PREFIX)):
            if by == "words" and prefix is not None:
                continue
            if by != "meaning":
                found = self.words.search(query, depth, prefix=prefix).documents[0]
                rankings.append([int(d) for d in found if d >= 0])
                weights.append(FUSION_WEIGHTS[name])
        if by != "words" and '"' not in query:
            vectors = self.vectors
            if vectors is not None:
                live = self.words.is_live if self.words._has_deleted else None
                rankings.append(vectors.search(query, depth, live))
                weights.append(FUSION_WEIGHTS["meaning"])
            elif by == "meaning":
                raise ParameterError("the index has no vectors: use by='words'.")
        return reciprocal_rank_fusion(rankings, weights=weights)


class TextSource:
    """Bytes of the text of a file, from the file or from the index."""

    def __init__(self, file, data, is_stale):
        self.file = file
        self.data = data
        self.is_stale = is_stale

    def read(self, start, end) -> str:
        """The text between two bytes."""
        if self.file is None:
            return shown_text(self.data[start:end])
        self.file.seek(start)
        return shown_text(self.file.read(end - start))

    def close(self):
        if self.file is not None:
            self.file.close()


def reason_to_skip(path, kind) -> str | None:
    """Why a file is not read, in the plural; None if it is."""
    if kind is None:
        return "of other kinds"
    try:
        if kind != "pdf" and is_binary(path):
            return "binary"
    except OSError:
        return "that cannot be read"
    return None


class Batch:
    """Chunks of files that wait to be added to an index."""

    def __init__(self, index: FolderIndex):
        self.index = index
        self.documents = []
        self.rows = []
        self.finished = []
        self.waiting = 0
        self.characters = 0

    def add_file(self, path, name, kind, stat) -> str | None:
        """Add the chunks of a file; why it could not be read, or None."""
        database = self.index.database
        settings = self.index.settings
        cursor = database.execute(
            "insert into files(path, size, kind) values (?, ?, ?)",
            (name, stat.st_size, kind),
        )
        file = cursor.lastrowid
        try:
            if kind in ("html", "pdf"):
                self._add_extracted(path, file, kind)
            else:
                if kind == "text" and settings.by == "headings":
                    settings = settings._replace(by="sentences")
                opened = []
                for block in read_text_blocks(path):
                    for found in located_chunks(
                        block.text, block.start, settings, block.line, opened
                    ):
                        self._add(file, found, path.stem)
        except (OSError, ImportError, ValueError) as error:
            # its chunks are the last ones, but for those that were added already
            self.rows = [row for row in self.rows if row[0] != file]
            self.documents = self.documents[: len(self.rows)]
            self.index._remove_file(file)
            if isinstance(error, ImportError):
                return "of PDF, which need pypdf: pip install pansophy[pdf]"
            return "that cannot be read"
        self.finished.append((stat.st_mtime_ns, file))
        return None

    def _add_extracted(self, path, file, kind):
        if kind == "pdf":
            found = read_pdf(path)
        else:
            found = read_html(path.read_bytes().decode("utf-8", "replace"))
        text = found.text
        content = text.encode("utf-8", "replace")
        self.index.database.execute(
            "insert into texts(file, content) values (?, ?)", (file, content)
        )
        text = content.decode("utf-8")
        for at in located_chunks(text, 0, self.index.settings):
            chunk = at.chunk._replace(line=found.line_at(at.chunk.start))
            self._add(file, at._replace(chunk=chunk), found.title or path.stem)

    def _add(self, file, found: FileChunk, title):
        chunk = found.chunk
        heading = " > ".join(chunk.headings)
        name = title.replace("_", " ").replace("-", " ")
        self.documents.append({"title": f"{name} {heading}", "text": chunk.text})
        self.rows.append((file, found.start, found.end, chunk.line, heading))
        self.waiting += len(chunk.text)
        self.characters += len(chunk.text)
        if self.waiting >= BATCH:
            self.flush()

    def flush(self):
        """Add what is waiting, and say which files are done."""
        numbers = self.index.words.add(self.documents, merge=False)
        database = self.index.database
        database.executemany(
            "insert into chunks(number, file, start, end, line, heading) "
            "values (?, ?, ?, ?, ?, ?)",
            ((n, *row) for n, row in zip(numbers, self.rows)),
        )
        database.executemany("update files set time = ? where id = ?", self.finished)
        database.commit()
        self.documents = []
        self.rows = []
        self.finished = []
        self.waiting = 0
