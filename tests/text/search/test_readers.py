"""Readers: blocks of text files, text of HTML with its lines, PDF by an extra."""

import sys

import pytest

from pansophy.text import read_html, read_pdf
from pansophy.text.search.readers import (
    decode_text,
    document_kind,
    has_wide_characters,
    is_binary,
    read_text_blocks,
)


@pytest.mark.parametrize("size", [1, 5, 16, 1000])
def test_blocks_are_the_file(size, tmp_path):
    data = "Ein Täxt.\n\nzweite\nZeile \n\n\nx" * 7 + "\n" + "y" * 50
    raw = data.encode() + b"\xff\xfe bad\n"
    path = tmp_path / "a.txt"
    path.write_bytes(raw)
    blocks = list(read_text_blocks(path, size))
    joined = b"".join(b.text.encode("utf-8", "surrogateescape") for b in blocks)
    assert joined == raw
    for block in blocks:
        assert block.line == 1 + raw[: block.start].count(b"\n")
        own = block.text.encode("utf-8", "surrogateescape")
        assert raw[block.start : block.start + len(own)] == own
    (tmp_path / "empty.txt").write_bytes(b"")
    assert list(read_text_blocks(tmp_path / "empty.txt")) == []


PAGE = """<!DOCTYPE html>
<html><head><title>A  page</title><style>p {color: red}</style>
<body>
<nav>menu</nav>
<h1>Fruit</h1>
<p>Cherries &amp;
limes<br>are <b>fruit</b>.
<script>var x = "<p>no</p>";</script>
<ul><li>one</li><li>two</li></ul>
<pre>a  b
  c</pre>
<h2>Last</h2><p>End.</p></body></html>"""


def test_html():
    found = read_html(PAGE)
    assert found.title == "A page"
    expected = (
        "# Fruit\n\nCherries & limes\nare fruit. \n- one\n- two\na  b\n  c\n\n"
        "## Last\n\nEnd.\n"
    )
    assert found.text == expected
    lines = PAGE.split("\n")
    for word in ("Fruit", "Cherries", "fruit", "one", "Last", "End"):
        assert word in lines[found.line_at(found.text.index(word)) - 1]
    assert read_html("").text == ""
    assert read_html("<p>open <b>tags").text == "open tags"


def test_kinds(tmp_path):
    assert document_kind("a.MD") == "markdown"
    assert document_kind("a.htm") == "html"
    assert document_kind("a.pdf") == "pdf"
    assert document_kind("a.py") is None
    assert document_kind("a.py", also=(".py",)) == "text"
    (tmp_path / "b").write_bytes(b"a\0b")
    assert is_binary(tmp_path / "b")


def test_pdf_needs_its_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(ImportError, match=r"pip install pansophy\[pdf\]"):
        read_pdf(tmp_path / "a.pdf")


def test_pdf(tmp_path):
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.add_blank_page(100, 100)
    writer.add_metadata({"/Title": "Blank"})
    writer.write(str(tmp_path / "a.pdf"))
    found = read_pdf(tmp_path / "a.pdf")
    assert found.title == "Blank"
    assert found.lines == [1, 2]


def test_damaged_pdf(tmp_path):
    pytest.importorskip("pypdf")
    (tmp_path / "cut.pdf").write_bytes(b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog")
    with pytest.raises(ValueError, match="cannot be read as PDF: it is damaged"):
        read_pdf(tmp_path / "cut.pdf")


def test_encodings(tmp_path):
    assert decode_text("Ä €".encode("utf-16")) == "Ä €"
    assert decode_text("Ä €".encode("utf-32")) == "Ä €"
    assert decode_text("Ä €".encode("utf-8-sig")) == "Ä €"
    assert decode_text("Ä €".encode("cp1252")) == "Ä €"
    # what is no character of Windows-1252 either
    assert decode_text(b"a\x81b") == "a\ufffdb"
    data = bytes(range(256))
    assert len(decode_text(data)) == 256
    for name, content in {"wide.txt": "ab".encode("utf-16"), "zero": b"a\0"}.items():
        (tmp_path / name).write_bytes(content)
    assert not is_binary(tmp_path / "wide.txt")
    assert has_wide_characters(tmp_path / "wide.txt")
    assert is_binary(tmp_path / "zero")


def test_lines_longer_than_a_block(tmp_path):
    path = tmp_path / "long.txt"
    for text in ("é日" * 500, "a" * 1000, "😀" * 300):
        path.write_text(text, "utf-8")
        blocks = list(read_text_blocks(path, 7))
        assert len(blocks) > 3
        assert "".join(b.text for b in blocks) == text  # no character is cut
        at = 0
        for block in blocks:
            assert block.start == at
            at += len(block.text.encode())
    path.write_bytes(b"\x80" * 100)  # no first byte of a character at all
    whole = "".join(b.text for b in read_text_blocks(path, 7))
    assert whole.encode("utf-8", "surrogateescape") == b"\x80" * 100


def test_markup_that_the_parser_refuses():
    with pytest.raises(ValueError, match="cannot be read as HTML"):
        read_html("<![x]> text")
