"""Checks the pages of the site: no link leads nowhere, no page asks another host."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINK = re.compile(
    r"""<(a|link|script|img|source|iframe)\b[^>]*?\s(?:href|src)="([^"]*)\""""
)
ANCHOR = re.compile(r"""\s(?:id|name)="([^"]+)\"""")
FOREIGN_IN_CSS = re.compile(
    r"""url\(\s*['"]?(?:https?:)?//|@import\s+['"]?(?:https?:)?//"""
)
HOSTED = re.compile(r"^(?:[a-z]+:)?//|^[a-z]+:", re.IGNORECASE)


@cache
def anchors(path: Path) -> frozenset[str]:
    return frozenset(ANCHOR.findall(path.read_text("utf-8")))


def faults_of_page(path: Path, root: Path) -> list[str]:
    """Dead links and foreign requests of one page."""
    faults = []
    shown = path.relative_to(root)
    for tag, uri in set(LINK.findall(path.read_text("utf-8"))):
        uri = uri.replace("&amp;", "&")
        if uri.startswith("data:"):
            continue
        if HOSTED.match(uri):
            if tag != "a":
                faults.append(f"{shown}: <{tag}> asks for {uri}")
            continue
        parts = urlsplit(uri)
        place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if place.is_dir():
            place = place / "index.html"
        if not place.exists():
            faults.append(f"{shown}: {uri} leads nowhere")
        elif (
            parts.fragment
            and place.suffix == ".html"
            and unquote(parts.fragment) not in anchors(place)
        ):
            faults.append(f"{shown}: {uri}: no such anchor")
    return faults


def faults_of_site(root: Path) -> list[str]:
    """Dead links and foreign requests of all pages and style sheets below a folder."""
    root = root.resolve()
    faults = [f for p in sorted(root.rglob("*.html")) for f in faults_of_page(p, root)]
    for sheet in sorted(root.rglob("*.css")):
        if FOREIGN_IN_CSS.search(sheet.read_text("utf-8")):
            faults.append(f"{sheet.relative_to(root)}: asks another host")
    return faults
