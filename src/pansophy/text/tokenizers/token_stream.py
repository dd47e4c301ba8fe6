"""Token streams: documents of any size as one packed array of tokens on disk.

Documents stand end to end, each behind a separator,

    s d_1 s d_2 s ... s d_n                                                        (1)

so that no place is padding. The stream is written as it is read and then mapped into
memory (two bytes a token up to 65,536 tokens), so neither texts nor tokens need to fit
into memory. A document is read in blocks of about a million characters.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .abstract_byte_tokenizer import lines_of_files


class TextDocuments:
    """Texts as documents; each is read once for every pass over them."""

    def __init__(self, texts: Iterable[str]):
        self.texts = texts

    def __iter__(self) -> Iterator[Iterable[str]]:
        for text in self.texts:
            if not isinstance(text, str):
                raise ValueError(f"texts must be str, got {text!r}.")
            yield (text,)


class FileDocuments:
    """Text files as documents, read block by block.

    Parameters
    ----------
    paths : path or iterable of paths
        Files, or folders, of which all files are taken that fit the pattern.
    pattern : str
        Of the names of files in folders and their subfolders, such as "*.md".
    """

    def __init__(self, paths, pattern: str = "*.txt"):
        paths = [paths] if isinstance(paths, (str, Path)) else list(paths)
        self.files: list[Path] = []
        for path in map(Path, paths):
            if path.is_dir():
                self.files += sorted(p for p in path.rglob(pattern) if p.is_file())
            elif path.is_file():
                self.files.append(path)
            else:
                raise FileNotFoundError(f"no such file or folder: {path}")
        if not self.files:
            raise ValueError(
                f"no file called {pattern} in {', '.join(map(str, paths))}."
            )

    def __iter__(self) -> Iterator[Iterable[str]]:
        for path in self.files:
            yield lines_of_files([path])


class SpooledDocuments:
    """Documents that can be read only once, kept in a file to be read again.

    The first pass writes the file, later passes read it.
    """

    def __init__(self, documents: Iterable[Iterable[str]], path):
        self.documents = documents
        self.path = Path(path)

    def __iter__(self) -> Iterator[Iterable[str]]:
        if self.path.exists():
            with open(self.path, encoding="ascii") as file:
                for line in file:
                    yield json.loads(line)
            return
        with open(self.path, "w", encoding="ascii") as file:
            for document in self.documents:
                blocks = list(document)
                file.write(json.dumps(blocks) + "\n")
                yield blocks


def document_blocks(documents: Iterable[Iterable[str]]) -> Iterator[str]:
    """The texts of all documents, block by block."""
    for document in documents:
        yield from document


def token_type(vocabulary: int) -> np.dtype:
    """The smallest type that holds every token."""
    return np.dtype(np.uint16 if vocabulary <= 1 << 16 else np.uint32)


class TokenWriter:
    """Writes a token stream, document by document, eq. (1)."""

    def __init__(self, path, separator: int, vocabulary: int):
        self.path = Path(path)
        self.separator = separator
        self.dtype = token_type(vocabulary)
        self.file: Any = open(self.path, "wb")  # noqa: SIM115 (`close` closes it)
        self.size = 0

    def add(self, blocks: Iterable[np.ndarray]) -> None:
        """One more document, given as the tokens of its blocks."""
        self._write(np.array([self.separator]))
        for ids in blocks:
            self._write(ids)

    def _write(self, ids):
        self.file.write(np.asarray(ids).astype(self.dtype).tobytes())
        self.size += len(ids)

    def close(self) -> np.ndarray:
        """The stream, mapped into memory."""
        self.file.close()
        if not self.size:
            return np.zeros(0, self.dtype)
        return np.memmap(self.path, dtype=self.dtype, mode="r")


def write_token_streams(
    documents, encode, writers, choose=lambda: 0
) -> tuple[np.ndarray, ...]:
    """Encode documents, each into the stream that `choose()` gives the number of."""
    try:
        for document in documents:
            writers[choose()].add(encode(block) for block in document)
    finally:
        streams = tuple(writer.close() for writer in writers)
    return streams
