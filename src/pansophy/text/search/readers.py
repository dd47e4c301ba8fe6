"""Readers of documents: plain text, Markdown, HTML and PDF as text with line numbers.

Plain text and Markdown are read in blocks, so that a file may be larger than memory.
HTML becomes text with headings as in Markdown; scripts, styles and menus are left out,
and every part knows the line of the source that it came from. PDF needs the package
pypdf (`pip install pansophy[pdf]`); its lines are pages.
"""

import bisect
import codecs
import contextlib
import itertools
from codecs import BOM_UTF8
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from ...params import check_string

BLOCK_BYTES = 4 << 20
PLAIN = {".txt", ".text", ".rst", ".org", ".adoc", ".tex", ".log"}
MARKDOWN = {".md", ".markdown", ".mdx"}
HTML = {".html", ".htm", ".xhtml"}
PDF = {".pdf"}

HIDDEN_TAGS = {
    "head", "nav", "noscript", "script", "style", "svg", "template", "title",
}  # fmt: skip
BLOCK_TAGS = {
    "address", "article", "aside", "blockquote", "body", "br", "dd", "div", "dl", "dt",
    "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hr", "li", "main", "ol", "p", "pre", "section", "table", "td", "th",
    "tr", "ul",
}  # fmt: skip
HEADING_TAGS = {f"h{i}": i for i in range(1, 7)}
# UTF-32 first: its mark begins with that of UTF-16
WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
# surrogates of bytes that are not UTF-8, as characters of Windows-1252
WESTERN = {
    0xDC00 + i: bytes([i]).decode("cp1252", "replace") for i in range(0x80, 0x100)
}
VOID_TAGS = {"br", "hr", "img", "input", "link", "meta", "source", "wbr"}


class TextBlock(NamedTuple):
    """A part of a text file: where it begins in bytes, and its first line."""

    text: str
    start: int
    line: int


class ExtractedText(NamedTuple):
    """Text of a document in another form, and lines of the source by position."""

    text: str
    title: str
    positions: list[int]
    lines: list[int]

    def line_at(self, position) -> int:
        """The line (or page) of the source of a character."""
        index = bisect.bisect_right(self.positions, position) - 1
        return self.lines[max(index, 0)] if self.lines else 1


def document_kind(path, also=()) -> str | None:
    """ "text", "markdown", "html" or "pdf" by the name of a file; None: another kind.

    `also` are further suffixes of plain text; a file without a suffix goes by its
    name, as if that were one: ".readme" takes README.
    """
    path = Path(path)
    suffix = (path.suffix or f".{path.name}").lower()
    endings = {s.lower() for s in also}
    kinds = (
        ("markdown", MARKDOWN), ("html", HTML), ("pdf", PDF), ("text", PLAIN | endings),
    )  # fmt: skip
    return next((kind for kind, suffixes in kinds if suffix in suffixes), None)


def is_binary(path) -> bool:
    """Whether a file holds zero bytes near its beginning, and is not UTF-16 or 32."""
    with open(path, "rb") as file:
        data = file.read(8192)
    return b"\0" in data and _wide_encoding(data) is None


def _wide_encoding(data: bytes) -> str | None:
    """The encoding of text of two or four bytes a character, by its first bytes."""
    return next((name for mark, name in WIDE_MARKS if data.startswith(mark)), None)


def has_wide_characters(path) -> bool:
    """Whether a file is text in UTF-16 or UTF-32."""
    with open(path, "rb") as file:
        return _wide_encoding(file.read(4)) is not None


def readable_text(text: str) -> str:
    """A text whose bytes that were not UTF-8 are characters of Windows-1252.

    They came as surrogates; a text has as many characters as before.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.translate(WESTERN)
    return text


def decode_text(data: bytes) -> str:
    """Bytes as text: by their byte order mark, else UTF-8, else Windows-1252."""
    encoding = _wide_encoding(data)
    if encoding is not None:
        return data.decode(encoding, "replace")
    return readable_text(data.removeprefix(BOM_UTF8).decode("utf-8", "surrogateescape"))


def read_text_blocks(path, size=BLOCK_BYTES):
    """`TextBlock`s of a text file, cut at empty lines, else at ends of lines.

    Bytes that are not UTF-8 become surrogates, which encode to the same bytes again
    with `surrogateescape`.
    """
    start = 0
    line = 1
    rest = b""
    with open(path, "rb") as file:
        if file.read(len(BOM_UTF8)) == BOM_UTF8:
            start = len(BOM_UTF8)
        file.seek(start)
        while True:
            block = file.read(size)
            data = rest + block
            if block and len(data) >= size:
                cut = data.rfind(b"\n\n")
                cut = cut + 2 if cut > 0 else data.rfind(b"\n") + 1
                if cut == 0:  # a line longer than a block: at a blank
                    cut = data.rfind(b" ") + 1
                if cut == 0 and len(data) < 4 * size:
                    rest = data
                    continue
                cut = cut or _end_of_character(data)
            else:
                cut = len(data)
            part = data[:cut]
            rest = data[cut:]
            if part:
                yield TextBlock(part.decode("utf-8", "surrogateescape"), start, line)
            start += len(part)
            line += part.count(b"\n")
            if not block:
                return


def _end_of_character(data) -> int:
    """The last place near the end of bytes that is not inside a character of UTF-8."""
    for position in range(len(data) - 1, max(len(data) - 5, 0), -1):
        if data[position] & 0xC0 == 0xC0:  # the first byte of a character
            return position
        if data[position] < 0x80:
            break
    return len(data)


class TextOfHTML(HTMLParser):
    """Collects the text of a page."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.length = 0
        self.positions: list[int] = []
        self.lines: list[int] = []
        self.title = ""
        self.hidden: list[str] = []
        self.in_title = False
        self.in_pre = 0

    def _append(self, text):
        self.parts.append(text)
        self.length += len(text)

    def _ends_with_newline(self):
        return not self.parts or self.parts[-1].endswith("\n")

    def handle_starttag(self, tag, attrs):
        if tag == "title":
            self.in_title = True
        if tag == "body":
            self.hidden.clear()  # a head need not be closed
        if tag in HIDDEN_TAGS:
            self.hidden.append(tag)
        if self.hidden:
            return
        if tag in BLOCK_TAGS and not self._ends_with_newline():
            self._append("\n")
        if tag in HEADING_TAGS:
            if self.parts and not "".join(self.parts[-2:]).endswith("\n\n"):
                self._append("\n")
            self._append("#" * HEADING_TAGS[tag] + " ")
        elif tag == "p" and self.parts:
            self._append("\n")
        elif tag == "li":
            self._append("- ")
        self.in_pre += tag == "pre"

    def handle_endtag(self, tag):
        if tag == "title":
            self.in_title = False
        if tag in self.hidden:
            while self.hidden.pop() != tag:
                pass
            return
        if self.hidden:
            return
        if tag in BLOCK_TAGS - VOID_TAGS and not self._ends_with_newline():
            self._append("\n")
        self.in_pre = max(0, self.in_pre - (tag == "pre"))

    def handle_data(self, data):
        if self.in_title:
            self.title += data
        if self.hidden or (not self.in_pre and not data.strip()):
            if not self.hidden and self.parts and not self.parts[-1][-1:].isspace():
                self._append(" ")
            return
        first_line = self.getpos()[0] + data[: len(data) - len(data.lstrip())].count(
            "\n"
        )
        self.positions.append(self.length)
        self.lines.append(first_line)
        if self.in_pre:
            self._append(data)
            return
        words = " ".join(data.split())
        leading_space = (
            " " if data[0].isspace() and not self._ends_with_newline() else ""
        )
        self._append(leading_space + words + (" " if data[-1].isspace() else ""))


def read_html(source) -> ExtractedText:
    """The text of an HTML page, with headings as in Markdown.

    Parameters
    ----------
    source : str

    Raises
    ------
    ValueError
        If the markup cannot be parsed.

    Examples
    --------
    >>> from pansophy.text import read_html
    >>> page = "<title>Fruit</title><h1>Red</h1>\\n<p>Cherries &amp; <b>more</b>.</p>"
    >>> read_html(page).text
    '# Red\\n\\nCherries & more.\\n'
    """
    parser = TextOfHTML()
    try:
        parser.feed(check_string("source", source))
        parser.close()
    except AssertionError as error:  # of the standard library, for "<![x]>"
        raise ValueError(f"a page cannot be read as HTML: {error}.") from error
    title = " ".join(parser.title.split())
    return ExtractedText("".join(parser.parts), title, parser.positions, parser.lines)


@contextlib.contextmanager
def _silenced_logger(name):
    """No messages of a logger."""
    import logging

    logger = logging.getLogger(name)
    was_disabled = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = was_disabled


def read_pdf(path) -> ExtractedText:
    """The text of a PDF file; its lines are pages.

    Raises
    ------
    ImportError
        If the package pypdf is not installed.
    ValueError
        If the file is damaged.
    """
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise ImportError(
            f"{path} is a PDF file, which needs pypdf: pip install pansophy[pdf]."
        ) from error
    try:
        with _silenced_logger("pypdf"):  # it does not say which file it means
            reader = PdfReader(str(path))
            parts = [(page.extract_text() or "") + "\n\n" for page in reader.pages]
            meta = reader.metadata
            title = str(meta.title) if meta is not None and meta.title else ""
    except OSError:
        raise
    except Exception as error:  # damaged files raise errors of many kinds
        raise ValueError(
            f"{path} cannot be read as PDF: it is damaged, or only a part of a file."
        ) from error
    ends = list(itertools.accumulate(map(len, parts)))
    positions = [0, *ends[:-1]] if parts else []
    return ExtractedText(
        "".join(parts), title, positions, list(range(1, len(parts) + 1))
    )
