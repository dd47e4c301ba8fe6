"""Pages of reports: parsed, and checked to be sound and closed in themselves."""

import base64
import hashlib
import re
from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """Tags that are opened and closed properly, and what must not be there."""

    def __init__(self):
        super().__init__()
        self.open, self.count, self.links, self.names = [], {}, [], []
        self.unnamed = 0

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.count[tag] = self.count.get(tag, 0) + 1
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href")]
        self.names += [v for k, v in attrs if k == "id"]
        if tag == "svg" and not (given.get("role") == "img" and given["aria-label"]):
            self.unnamed += 1
        assert not any(k.startswith("on") for k, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(text):
    """The page, once it is known to be sound, closed in itself and accessible."""
    page = Page()
    page.feed(text)
    assert page.open == [] and page.unnamed == 0
    assert not {"img", "iframe", "link", "object"} & set(page.count)
    check_script(text, page)
    assert all(x.startswith(("#", "data:image/png")) for x in page.links)
    inner = {x[1:] for x in page.links if x.startswith("#")}
    assert inner <= set(page.names)
    assert len(page.names) == len(set(page.names))
    assert not re.search(r"url\((?!#)", text) and "@import" not in text
    assert page.count["h1"] == 1 and page.count["main"] == 1
    return page


def check_script(text, page):
    """One script, ours, which the policy of the page knows by its hash."""
    assert page.count["script"] == 1
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    digest = hashlib.sha256(script.encode()).digest()
    known = base64.b64encode(digest).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert f"script-src &#39;sha256-{known}&#39;" in policy.replace("'", "&#39;")
    assert "default-src 'none'" in policy and "unsafe-eval" not in policy
    assert not re.search(r"fetch|XMLHttp|import\(|eval|innerHTML|cookie", script)
