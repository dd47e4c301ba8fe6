"""The records of `results.json`: one row for each case and size, each with its stamp.

A row is stale if its case or size is gone, if the definition of the case has changed
since (`definition.py`), or if its stamp lacks something. Stale rows are never shown;
the test suite fails while there are any, and the next run drops them. Ratios of the
time before rows had stamps are listed apart, as what they are, until they are redone.
"""

import importlib.util
import json
import os
import re

from .definition import hash_case
from .runner import plain
from .stamp import is_busy, missing_fields

FORMAT = 2
UNSTAMPED = "unstamped (before 2026-11)"


class Records:
    """Rows by (case, size), and the ratios that have no stamp."""

    def __init__(self, rows=(), unstamped=()):
        self.rows = {key(row["case"], row["size"]): row for row in rows}
        self.unstamped = list(unstamped)

    @classmethod
    def load(cls, path):
        if not path.exists():
            return cls()
        content = json.loads(path.read_text("utf-8"))
        if content.get("format") == FORMAT:
            return cls(content["rows"], content[UNSTAMPED])
        return cls((), old_ratios(content["results"]))

    def save(self, path):
        """Whole or not at all, so that an interrupted run loses nothing."""
        lines = ",\n".join(json.dumps(row) for row in self.rows.values())
        old = ",\n".join(json.dumps(entry) for entry in self.unstamped)
        text = f'{{"format": {FORMAT},\n"rows": [\n{lines}\n],\n'
        text += f'"{UNSTAMPED}": [\n{old}\n]}}\n'
        partial = path.with_suffix(".partial")
        partial.write_text(text, "utf-8")
        os.replace(partial, path)

    def get(self, case, size):
        return self.rows.get(key(case.name, size))

    def put(self, row):
        """A new row; what was known of the case without a stamp is dropped."""
        self.rows[key(row["case"], row["size"])] = row
        self.unstamped = [u for u in self.unstamped if u["case"] != row["case"]]

    def stale(self, cases):
        """(case, size, reason) of every stale row."""
        known = {case.name: case for case in cases}
        hashes = {case.name: hash_case(case) for case in cases}
        found = []
        for row in self.rows.values():
            reason = stale_reason(row, known.get(row["case"]), hashes.get(row["case"]))
            if reason:
                found.append((row["case"], row["size"], reason))
        return found

    def drop_stale(self, cases):
        """Takes stale rows out, sorts the rest as the cases are; what was taken out."""
        stale = self.stale(cases)
        for name, size, _ in stale:
            del self.rows[key(name, size)]
        order = [key(case.name, size) for case in cases for size in case.sizes]
        self.rows = {k: self.rows[k] for k in order if k in self.rows}
        names = {case.name for case in cases}
        self.unstamped = [u for u in self.unstamped if u["case"] in names]
        return stale

    def wanting(self, cases):
        """(case, size, reason) of what should be run: missing rows, then busy ones."""
        missing, busy = [], []
        for case in cases:
            for size in case.sizes:
                row = self.get(case, size)
                if row is None:
                    missing.append((case, size, "missing"))
                elif "error" in row:
                    missing.append((case, size, "failed"))
                elif has_new_peer(row):
                    missing.append((case, size, "a peer was absent"))
                elif is_busy(row["stamp"]):
                    busy.append((case, size, "busy"))
        return missing + busy


def key(name, size):
    return name, json.dumps(plain(size))


def stale_reason(row, case, current_hash):
    """Why a row may not be shown; empty if it may."""
    if case is None:
        return "there is no such case any more"
    if row["size"] not in [plain(size) for size in case.sizes]:
        return "this size is not measured any more"
    if row.get("hash") != current_hash:
        return "the definition of the case has changed"
    lacks = missing_fields(row.get("stamp", {}))
    return f"the stamp lacks {', '.join(lacks)}" if lacks else ""


def has_new_peer(row):
    """Whether a peer whose module was absent could be measured now."""
    for peer in row["peers"].values():
        absent = re.search(r"No module named '([\w]+)", peer.get("error", ""))
        if absent and importlib.util.find_spec(absent[1]) is not None:
            return True
    return False


def old_ratios(results):
    """What the former format knew of the largest size: case, peers and ratios."""
    entries = []
    for case in results:
        peers = case["sizes"][-1].get("peers", {})
        ratios = {p: round(r["ratio"], 2) for p, r in peers.items() if "ratio" in r}
        entries.append({"case": case["case"], "ratios": ratios})
    return entries
