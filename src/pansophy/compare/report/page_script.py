"""The one script of a report, and the hash by which policies of pages know it."""

import base64
import hashlib
from importlib import resources


def package_script() -> str:
    """The script that sorts tables; the page works without it."""
    templates = resources.files("pansophy.compare.report").joinpath("templates")
    return templates.joinpath("sort.js").read_text("utf-8").strip()


def script_hash(text) -> str:
    """By which the page's policy knows its one script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
