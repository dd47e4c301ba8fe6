"""The page of the document."""


def test_docs_page_breaks_no_words():
    from pansophy.serve.docs_page import STYLE

    assert "anywhere" not in STYLE and "break-all" not in STYLE
