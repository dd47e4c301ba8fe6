"""The one script of a report, and the hash that lets it run."""

import base64
import hashlib

from pansophy.compare.report.html import load_template
from pansophy.compare.report.page_script import package_script, script_hash


def test_the_hash_is_that_of_the_text_in_the_page():
    text = package_script()
    kind, _, digest = script_hash(text).partition("-")
    assert kind == "sha256"
    assert base64.b64decode(digest) == hashlib.sha256(text.encode()).digest()
    known = load_template("page.html").globals
    assert known["script"] == text and known["script_hash"] == script_hash(text)
