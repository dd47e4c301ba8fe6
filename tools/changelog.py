"""CHANGELOG.md from the fragments in `changes/`. `make changelog`.

A fragment `<topic>.<feature|fix|speed|api>.md` is one or two sentences for users. The
section of the version of the package is made anew between its heading and the next;
sections of earlier versions stay as they are. `changes/SUMMARY.md` is what stands
first in the section.

    python tools/changelog.py            writes the section of this version
    python tools/changelog.py --release  the same with today's date, and removes the
                                         fragments
"""

import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FRAGMENTS = ROOT / "changes"
PAGE = ROOT / "CHANGELOG.md"
HEAD = """# Changes

What changed for users, version by version; [docs/stability.md](docs/stability.md) says
what a version number promises. Made by `make changelog` from the fragments in
[changes/](changes).
"""
KINDS = {
    "api": "Changed names and behaviour",
    "feature": "New",
    "fix": "Mended",
    "speed": "Faster",
}
NOT_FRAGMENTS = ("README.md", "SUMMARY.md")
NAME = re.compile(r"([\w-]+)\.(feature|fix|speed|api)\.md")


def read_version() -> str:
    """The version that the package states."""
    text = (ROOT / "src" / "pansophy" / "__init__.py").read_text("utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    assert found, "the package states no version"
    return found[1]


def read_fragments(folder=FRAGMENTS) -> dict[str, list[str]]:
    """Kind -> the texts of its fragments, by topic."""
    out: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in sorted(folder.glob("*.md")):
        if path.name in NOT_FRAGMENTS:
            continue
        name = NAME.fullmatch(path.name)
        if name is None:
            raise ValueError(
                f"{path.name}: call it TOPIC.feature.md, fix, speed or api"
            )
        text = " ".join(path.read_text("utf-8").split())
        if not text:
            raise ValueError(f"{path.name} is empty")
        out[name[2]].append(text)
    return out


def section(version, date, summary, fragments) -> str:
    """The section of a version."""
    lines = [f"## {version} ({date})", ""]
    if summary:
        lines += [summary.strip(), ""]
    for kind, title in KINDS.items():
        if fragments[kind]:
            lines += [f"### {title}", ""]
            lines += [f"- {text}" for text in fragments[kind]]
            lines.append("")
    return "\n".join(lines)


def with_section(page, version, text) -> str:
    """The page with the section of a version replaced, or put before all others."""
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    others = [p for p in parts[1:] if not p.startswith(f"## {version} ")]
    return HEAD + "\n" + "\n".join(p.strip("\n") + "\n" for p in [text, *others])


def page_now(date="not yet released") -> str:
    """The page as the fragments have it now."""
    summary = FRAGMENTS / "SUMMARY.md"
    page = PAGE.read_text("utf-8") if PAGE.exists() else HEAD
    return with_section(
        page,
        read_version(),
        section(
            read_version(),
            date,
            summary.read_text("utf-8") if summary.exists() else "",
            read_fragments(),
        ),
    )


def main(words) -> int:
    release = "--release" in words
    date = datetime.date.today().isoformat() if release else "not yet released"
    PAGE.write_text(page_now(date), "utf-8")
    if release:
        for path in FRAGMENTS.glob("*.md"):
            if path.name != "README.md":
                path.unlink()
    print(f"wrote {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
