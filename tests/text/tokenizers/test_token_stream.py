"""Packed token streams: documents behind separators, read from anywhere, once."""

import numpy as np
import pytest

from pansophy.text.tokenizers.token_stream import (
    FileDocuments,
    SpooledDocuments,
    TextDocuments,
    TokenWriter,
    document_blocks,
    token_type,
    write_token_streams,
)


def encode(text):
    return np.frombuffer(text.encode(), np.uint8)


def test_documents_stand_behind_separators(tmp_path):
    writer = TokenWriter(tmp_path / "stream", 256, 257)
    (stream,) = write_token_streams(TextDocuments(["ab", "", "c"]), encode, [writer])
    assert isinstance(stream, np.memmap)
    assert stream.dtype == np.uint16
    assert stream.tolist() == [256, 97, 98, 256, 256, 99]


def test_streams_are_chosen_by_document(tmp_path):
    writers = [TokenWriter(tmp_path / str(i), 256, 257) for i in range(2)]
    turns = iter([0, 1, 0])
    documents = TextDocuments(["a", "b", "c"])
    one, two = write_token_streams(documents, encode, writers, lambda: next(turns))
    assert one.tolist() == [256, 97, 256, 99]
    assert two.tolist() == [256, 98]


def test_large_vocabularies_take_four_bytes():
    assert token_type(1 << 16) == np.uint16
    assert token_type((1 << 16) + 1) == np.uint32


def test_an_iterator_is_kept_for_a_second_pass(tmp_path):
    texts = ["one", "zwei\nund", "日本", ""]
    spooled = SpooledDocuments(TextDocuments(iter(texts)), tmp_path / "texts")
    assert list(document_blocks(spooled)) == texts
    assert list(document_blocks(spooled)) == texts


def test_folders_and_files(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.txt").write_text("one", "utf-8")
    (tmp_path / "a" / "2.md").write_text("two", "utf-8")
    (tmp_path / "3.txt").write_text("three", "utf-8")
    assert list(document_blocks(FileDocuments(tmp_path))) == ["three", "one"]
    assert list(document_blocks(FileDocuments([tmp_path / "a" / "2.md"]))) == ["two"]
    assert list(document_blocks(FileDocuments(tmp_path, "*.md"))) == ["two"]
    with pytest.raises(ValueError, match=r"no file called \*\.rst"):
        FileDocuments(tmp_path, "*.rst")
    with pytest.raises(FileNotFoundError, match="no such file"):
        FileDocuments(tmp_path / "nowhere")


def test_texts_must_be_texts():
    with pytest.raises(ValueError, match="texts must be str, got 3"):
        list(document_blocks(TextDocuments(["a", 3])))
