"""Budgets that keep the code readable; exits 1 on a breach. Part of `make lint`.

Prints a table and then every breach. Nothing here counts lines: a file may be as long
as its idea, and gluing statements together gains nothing.

- statements and parameters of a function;
- functions of modules that share their name with a function of another module, and
  names of one bare word;
- parallel assignment of values that have nothing to do with each other;
- runs of lines that stand in two places;
- names of files of ours, in texts, that do not exist;
- the time of `import pansophy` and what it loads;
- the measures of `tools/house.py`, and the shares above: none may be worse than the
  best value reached, which `tools/ratchet.json` keeps. `--ratchet` writes better ones.
"""

import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import house

ROOT = Path(__file__).parents[1]
RATCHET = ROOT / "tools" / "ratchet.json"
SOURCE = ROOT / "src" / "pansophy"

STATEMENTS_LIMIT = 60  # of a function, with those of functions inside it
LOOP_STATEMENTS_LIMIT = 90  # of a compiled loop: each function called costs a compile
PARAMETERS_LIMIT = 12
PARALLEL_LIMIT = 0
REPEAT_RUN = 6  # lines
IMPORT_LIMIT = 0.2  # seconds of the processor
HEAVY = ("torch", "numba", "matplotlib", "sklearn", "scipy", "pyarrow")

# public functions that have a peer's signature, or all options of the main job
MANY_PARAMETERS = {
    "export_graphviz": "scikit-learn's signature",
    "enet_path": "scikit-learn's signature",
    "locally_linear_embedding": "scikit-learn's signature",
    "states_kernel": "a Triton kernel takes every pointer by itself",
    "output_kernel": "a Triton kernel takes every pointer by itself",
    "gradient_kernel": "a Triton kernel takes every pointer by itself",
    "silu_conv_kernel": "a Triton kernel takes every pointer by itself",
    "silu_conv_gradient_kernel": "a Triton kernel takes every pointer by itself",
    "gated_norm_gradient_kernel": "a Triton kernel takes every pointer by itself",
    "minimize": "what a problem may have: gradient, bounds, constraints, penalty, ...",
    "forecast_command": "the options of `pansophy forecast`",
    "explore": "what is known about a table: target, group, time, weight, ...",
}

# module-level functions that are part of a contract: the same meaning in every module
CONTRACT = {"__getattr__", "__dir__"}

FILE_NAME = re.compile(r"(?<![\w/.<{*-])((?:[a-z_0-9]+/)+_?[a-z0-9_]+\.(?:py|md))\b")


def functions(tree):
    """Every function definition of a module, methods and inner ones included."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def count_statements(function):
    return sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 1


def count_parameters(function):
    """Parameters by name, without self and cls."""
    a = function.args
    names = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    return len([n for n in names if n not in ("self", "cls")])


def expression_kind(node):
    """What kind of value an expression is, to tell whether two belong together."""
    if isinstance(node, ast.UnaryOp):
        return expression_kind(node.operand)
    if isinstance(node, ast.Call):
        return "call of " + ast.unparse(node.func).split(".")[-1]
    if isinstance(node, ast.Attribute):
        return "attribute of " + ast.unparse(node.value)
    return type(node).__name__


def parallel_assignments(tree):
    """Assignments `a, b = x, y` of values of different kinds; swaps are fine."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)):
            continue
        read = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
        written = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        kinds = {expression_kind(item) for item in value.elts}
        if len(kinds) > 1 and not read & written:
            yield node


def top_level_names(sources):
    """{name: modules} of the functions that stand at module level."""
    homes = defaultdict(list)
    for path, (_, tree) in sources.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name not in CONTRACT:
                homes[node.name].append(path)
    return homes


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


def repeated_lines(sources):
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
    return marked, lines


def dangling_references(sources):
    """Names of files in texts of the package and the docs that do not exist."""
    texts = {path: text for path, (text, _) in sources.items()}
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        texts[path.relative_to(ROOT)] = path.read_text("utf-8")
    bases = (ROOT, SOURCE, SOURCE.parent, ROOT / "tests")
    for path, text in texts.items():
        for match in FILE_NAME.finditer(text):
            name = match[1]
            near = (ROOT / path).parent
            if not any((base / name).exists() for base in (*bases, near)):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line} names {name}, which does not exist"


def import_cost():
    """Processor seconds of `import pansophy` (best of five), heavy modules it loads."""
    code = (
        "import sys, time; t = time.process_time(); import pansophy; "
        f"print(time.process_time() - t, *[m for m in {HEAVY} if m in sys.modules])"
    )
    best = float("inf")
    heavy = []
    for _ in range(5):
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        seconds, *heavy = out.stdout.split()
        best = min(best, float(seconds))
    return best, heavy


def ratchet_breaches(measures, write):
    """What got worse than the best values reached; `write` keeps better ones.

    Shares may be a tenth of a percent worse, for they move with the code around them.
    """
    best = json.loads(RATCHET.read_text("utf-8"))
    breaches = []
    for name, (value, places) in measures.items():
        limit = best.get(name, value)
        slack = 0.1 if isinstance(limit, float) else 0
        if value > limit + slack:
            breaches.append(
                f"{name}: {value}, {limit} before; {', '.join(places[:12])}"
            )
        print(f"{name:50} {value} (best {limit})")
    if write:
        kept = {name: min(v, best.get(name, v)) for name, (v, _) in measures.items()}
        RATCHET.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    return breaches


def main():
    breaches = []
    sources = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        sources[path.relative_to(ROOT)] = (text, ast.parse(text))

    sizes = []
    parameters = []
    parallel = []
    for path, (text, tree) in sources.items():
        for f in functions(tree):
            sizes.append((count_statements(f), f"{path}:{f.lineno} {f.name}"))
            if f.name not in MANY_PARAMETERS:
                parameters.append((count_parameters(f), f"{path}:{f.lineno} {f.name}"))
        parallel += [f"{path}:{node.lineno}" for node in parallel_assignments(tree)]
        if "raise NotImplementedError" in text:
            breaches.append(f"{path}: NotImplementedError on a path of the package")
    sizes.sort(reverse=True)
    parameters.sort(reverse=True)

    homes = top_level_names(sources)
    total = sum(map(len, homes.values()))
    shared = sum(len(paths) for paths in homes.values() if len(paths) > 1)
    one_word = sum(
        len(paths) for name, paths in homes.items() if "_" not in name.strip("_")
    )
    marked, rows = repeated_lines(sources)
    n_lines = sum(map(len, rows.values()))
    seconds, heavy = import_cost()

    print(f"files                                {len(sources)}")
    print(f"code lines                           {n_lines}")
    print(f"functions                            {len(sizes)}")
    print(f"most statements in a function        {sizes[0][0]} ({sizes[0][1]})")
    print(
        f"most parameters of a function        {parameters[0][0]} ({parameters[0][1]})"
    )
    print(f"top-level functions                  {total}")
    print(f"  name also in another module        {shared / total:.1%}")
    print(f"  name of one bare word              {one_word / total:.1%}")
    print(f"parallel assignments of unlike kinds {len(parallel)}")
    print(f"repeated lines                       {len(marked) / n_lines:.1%}")
    print(f"import pansophy                      {seconds * 1000:.0f} ms")

    several = sorted(homes.items(), key=lambda item: -len(item[1]))
    measures = {
        **house.measure(sources),
        "names in several modules, percent of functions": (
            round(100 * shared / total, 1),
            [f"{name} ({len(paths)})" for name, paths in several if len(paths) > 1],
        ),
        "names of one bare word, percent of functions": (
            round(100 * one_word / total, 1),
            [name for name in homes if "_" not in name.strip("_")],
        ),
        "repeated lines, percent": (
            round(100 * len(marked) / n_lines, 1),
            [f"{path}:{rows[path][i][0]}" for path, i in sorted(marked)],
        ),
    }

    breaches += [
        f"{where}: {n} statements, {STATEMENTS_LIMIT} allowed"
        for n, where in sizes
        if n > (LOOP_STATEMENTS_LIMIT if "/_" in where else STATEMENTS_LIMIT)
    ]
    breaches += [
        f"{where}: {n} parameters, {PARAMETERS_LIMIT} allowed"
        for n, where in parameters
        if n > PARAMETERS_LIMIT
    ]
    if len(parallel) > PARALLEL_LIMIT:
        breaches += [f"{where}: parallel assignment" for where in parallel[:40]]
    breaches += ratchet_breaches(measures, "--ratchet" in sys.argv[1:])
    breaches += dangling_references(sources)
    if seconds > IMPORT_LIMIT:
        breaches.append(f"import pansophy: {seconds:.2f} s, {IMPORT_LIMIT} allowed")
    if heavy:
        breaches.append(f"import pansophy loads {', '.join(heavy)}")

    for breach in breaches:
        print("BREACH", breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
