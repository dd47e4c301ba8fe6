"""Budgets that keep the house in order; exits 1 on a breach. Part of `make lint`.

Prints lines per file, the longest functions, the share of repeated lines and the time
of `import pansophy`, then every breach of the limits below.
"""

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "pansophy"

FILE_AIM, FILE_LIMIT = 250, 400  # lines
FUNCTION_AIM, FUNCTION_LIMIT = 40, 80  # lines without the docstring
REPEAT_RUN, REPEAT_LIMIT = 6, 0.05  # lines in a run; share of code lines
IMPORT_LIMIT = 0.2  # seconds
HEAVY = ("torch", "numba", "matplotlib", "sklearn", "scipy", "pyarrow")


def functions(tree):
    """(name, line, length without docstring) of every function."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1
            first = node.body[0]
            text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            if text:
                length -= first.end_lineno - first.lineno + 1
            yield node.name, node.lineno, length


def code_lines(text, tree):
    """Stripped lines with their numbers, less docstrings, comments and imports."""
    skip = set()
    for node in ast.walk(tree):
        text_only = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if text_only or isinstance(node, (ast.Import, ast.ImportFrom)):
            skip.update(range(node.lineno, node.end_lineno + 1))
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line and not line.startswith("#") and number not in skip:
            yield number, line


def repeats(sources):
    """Share of code lines inside a run of REPEAT_RUN lines found elsewhere too."""
    places = defaultdict(list)
    lines = {path: list(code_lines(*source)) for path, source in sources.items()}
    for path, rows in lines.items():
        for i in range(len(rows) - REPEAT_RUN + 1):
            run = tuple(line for _, line in rows[i : i + REPEAT_RUN])
            if sum(map(len, run)) > 60:  # brackets and keywords alone do not count
                places[run].append((path, i))
    marked = set()
    for found in places.values():
        if len(found) > 1:
            for path, i in found:
                marked.update((path, i + j) for j in range(REPEAT_RUN))
    return len(marked) / max(sum(map(len, lines.values())), 1), marked, lines


def import_cost():
    """Seconds of `import pansophy` (best of five), and heavy modules it pulls in."""
    code = (
        "import sys, time; t = time.perf_counter(); import pansophy; "
        f"print(time.perf_counter() - t, *[m for m in {HEAVY} if m in sys.modules])"
    )
    best, heavy = float("inf"), []
    for _ in range(5):
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        seconds, *heavy = out.stdout.split()
        best = min(best, float(seconds))
    return best, heavy


def main():
    breaches = []
    sources = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        sources[path.relative_to(ROOT)] = (text, ast.parse(text))

    sizes = sorted(((t.count("\n"), p) for p, (t, _) in sources.items()), reverse=True)
    print(f"{len(sizes)} files, {sum(n for n, _ in sizes)} lines; longest:")
    for n, path in sizes[:5]:
        print(f"  {n:4d} {path}")
    over = [(n, p) for n, p in sizes if n > FILE_LIMIT]
    breaches += [f"{p}: {n} lines, {FILE_LIMIT} allowed" for n, p in over]

    lengths = sorted(
        (
            (n, f"{path}:{line} {name}")
            for path, (_, tree) in sources.items()
            for name, line, n in functions(tree)
        ),
        reverse=True,
    )
    print(f"{len(lengths)} functions; longest:")
    for n, where in lengths[:5]:
        print(f"  {n:4d} {where}")
    breaches += [
        f"{where}: {n} lines, {FUNCTION_LIMIT} allowed"
        for n, where in lengths
        if n > FUNCTION_LIMIT
    ]

    share, marked, rows = repeats(sources)
    print(f"repeats: {share:.1%} of code lines")
    if share > REPEAT_LIMIT:
        breaches.append(f"repeats: {share:.1%}, {REPEAT_LIMIT:.0%} allowed")
        for path, i in sorted(marked)[:40]:
            print(f"  {path}:{rows[path][i][0]} {rows[path][i][1][:70]}")

    seconds, heavy = import_cost()
    print(f"import pansophy: {seconds * 1000:.0f} ms")
    if seconds > IMPORT_LIMIT:
        breaches.append(f"import pansophy: {seconds:.2f} s, {IMPORT_LIMIT} allowed")
    if heavy:
        breaches.append(f"import pansophy loads {', '.join(heavy)}")

    for text, _ in sources.values():
        if "NotImplementedError" in text:
            breaches.append("NotImplementedError on a path of the package")
    for breach in breaches:
        print("BREACH", breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
