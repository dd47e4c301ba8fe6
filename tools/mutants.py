"""Mutants: draws small wrong edits of the package and tells which ones no test notices.

    python tools/mutants.py --count 20 --seed 7
    python tools/mutants.py --package linear_model --count 5
    python tools/mutants.py --file src/pansophy/tree/pruning/_pruning.py --line 40

One edit at a time is made in a copy of the tree: an operator replaced (+ -, * /, < <=,
== !=, and or), a sign dropped, a condition negated, a constant moved by one or doubled,
weights left out. Docstrings, messages, type hints, decorators, printed forms, plots and
the command line are left alone. Then tests run until one fails:

1. those of the module's name;
2. those that import the module, those of the modules that import it, and those of its
   package, files that mention the edited function or class first, then the nearest.

Each stage is cut when its time is over; an edit that no test has noticed by then has
*survived*. A survivor is a missing test, an edit that changes no answer, or one whose
tests had no time. Loops are compiled again for an edit of theirs. A test that fails
without the edit too kills nothing: at the end all that failed run once without edits.

Draws visit the packages in turn. The sites of a seed are a fixed sequence for a given
tree: `--start 60` goes on after the first 60. Exits with 0 whatever survives.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tools.import_graph import ImportGraph, is_test  # noqa: E402

SOURCE = "src/pansophy"
LEFT_ALONE = ("plot", "cli", "testing", "catalogue.py", "__main__.py")
SILENT_FUNCTIONS = ("__repr__", "__str__", "_repr_html_", "__sklearn_tags__")
SILENT_CALLS = ("warn", "print", "log", "debug", "info", "warning", "cast")
WEIGHTS = ("weights", "sample_weight", "sample_weights", "w")
OPERATORS = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
OWN_SECONDS = 240
NEAR_SECONDS = 180
NEAR_FILES = 25
CUT = "cut by time"


class Edit(NamedTuple):
    """Replaces the text from `start` to `stop`, offsets into the bytes of a file."""

    file: str
    line: int
    kind: str
    start: int
    stop: int
    new: str
    inside: tuple[str, ...]  # names of the functions and classes around it

    def apply(self, text):
        return text[: self.start] + self.new.encode() + text[self.stop :]

    def describe(self, text):
        """The line before and after, without its indentation."""
        first = text.rfind(b"\n", 0, self.start) + 1
        last = text.find(b"\n", self.stop)
        before = text[first:last].decode()
        after = text[first : self.start].decode() + self.new
        after += text[self.stop : last].decode()
        squeeze = lambda lines: " ".join(lines.split())
        return f"{squeeze(before)}  ->  {squeeze(after)}"


class Edits(ast.NodeVisitor):
    """Collects the edits of one file."""

    def __init__(self, file, text):
        self.file = file
        self.text = text
        self.found = []
        self.inside = ()
        self.line_starts = [0]
        for line in text.splitlines(keepends=True):
            self.line_starts.append(self.line_starts[-1] + len(line))

    def _start(self, node):
        return self.line_starts[node.lineno - 1] + node.col_offset

    def _stop(self, node):
        return self.line_starts[node.end_lineno - 1] + node.end_col_offset

    def _source(self, node):
        return self.text[self._start(node) : self._stop(node)].decode()

    def _add(self, kind, node, start, stop, new):
        edit = Edit(self.file, node.lineno, kind, start, stop, new, self.inside)
        self.found.append(edit)

    def _replace(self, kind, node, new):
        self._add(kind, node, self._start(node), self._stop(node), new)

    def _operator(self, kind, operator, left, right):
        """Replaces the operator in the gap between two expressions."""
        old, new = OPERATORS.get(type(operator), (None, None))
        start, stop = self._stop(left), self._start(right)
        gap = self.text[start:stop].decode()
        if old is None or "#" in gap or gap.count(old) != 1:
            return
        at = start + len(gap[: gap.index(old)].encode())
        self._add(kind, right, at, at + len(old), new)

    # -- what is left alone ------------------------------------------------------------

    def _scope(self, node):
        if node.name in SILENT_FUNCTIONS or node.name.startswith("plot"):
            return
        outside = self.inside
        self.inside = (*outside, node.name)
        if not isinstance(node, ast.ClassDef):
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self.inside = outside

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _scope

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Raise(self, node):
        pass

    visit_Import = visit_ImportFrom = visit_Assert = visit_JoinedStr = visit_Raise
    visit_Delete = visit_Global = visit_Raise

    # -- what is edited ----------------------------------------------------------------

    def visit_Call(self, node):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in SILENT_CALLS:
            return
        for argument in node.args:
            self._drop_weight(argument)
        for keyword in node.keywords:
            self._drop_weight(keyword.value)
        self.generic_visit(node)

    def _drop_weight(self, node):
        if isinstance(node, ast.Name) and node.id in WEIGHTS:
            self._replace("weight", node, "None")

    def visit_BinOp(self, node):
        texts = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict)
        sides = (node.left, node.right)
        text = [isinstance(side, ast.Constant) for side in sides]
        text = [
            one and isinstance(s.value, str) for one, s in zip(text, sides, strict=True)
        ]
        if not any(text) and not any(isinstance(side, texts) for side in sides):
            self._operator("operator", node.op, node.left, node.right)
        if isinstance(node.op, ast.Mult):
            for side, other in (sides, sides[::-1]):
                if isinstance(side, ast.Name) and side.id in WEIGHTS:
                    self._replace("weight", node, f"({self._source(other)})")
        self.generic_visit(node)

    def visit_Compare(self, node):
        sides = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            self._operator("comparison", operator, left, right)
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._operator("and/or", node.op, left, right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.USub):
            self._replace("sign", node, f"({self._source(node.operand)})")
        if isinstance(node.operand, ast.Constant):
            return  # the constant is edited with its sign, not a second time
        self.generic_visit(node)

    def _condition(self, node):
        self._replace("condition", node.test, f"not ({self._source(node.test)})")
        self.generic_visit(node)

    visit_If = visit_IfExp = visit_While = _condition

    def visit_Constant(self, node):
        value = node.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return
        if isinstance(value, int):
            self._replace("constant", node, str(value + 1))
        else:
            self._replace("constant", node, repr(2 * value if value else 1.0))


def edits_of(file, root=ROOT):
    """All edits of a file, in the order of the syntax tree; some may be unsound."""
    text = (Path(root) / file).read_bytes()
    visitor = Edits(file, text)
    visitor.visit(ast.parse(text))
    return visitor.found


def is_sound(edit, root=ROOT):
    """Whether the edit gives another syntax tree: a bracket may be in its way."""
    text = (Path(root) / edit.file).read_bytes()
    try:
        return ast.dump(ast.parse(edit.apply(text))) != ast.dump(ast.parse(text))
    except SyntaxError:
        return False


def package_of(file):
    """The first folder below the package, or the file's own name."""
    return Path(file).relative_to(SOURCE).parts[0]


def packages(root=ROOT):
    """{package: its files} of what may be edited."""
    found = defaultdict(list)
    for path in sorted((Path(root) / SOURCE).rglob("*.py")):
        file = path.relative_to(root).as_posix()
        name = package_of(file)
        is_kernel = path.stem.endswith("_triton")
        if name not in LEFT_ALONE and path.name != "__init__.py" and not is_kernel:
            found[name].append(file)
    return dict(found)


def draw_edits(seed, package=None, root=ROOT):
    """An endless sequence of edits, packages in turn, for a seed.

    Within a package a file is drawn by its size, then a kind of edit that it has, then
    one of the places: a uniform draw of places would give constants for the most part.
    """
    files = packages(root)
    names = [package] if package else sorted(files)
    rng = random.Random(seed)
    used = set()
    while True:
        rng.shuffle(names)
        for name in names:
            sizes = [(Path(root) / file).stat().st_size for file in files[name]]
            for _ in range(20):
                file = rng.choices(files[name], sizes)[0]
                by_kind = defaultdict(list)
                for edit in edits_of(file, root):
                    by_kind[edit.kind].append(edit)
                if not by_kind:
                    continue
                edit = rng.choice(by_kind[rng.choice(sorted(by_kind))])
                if edit not in used and is_sound(edit, root):
                    used.add(edit)
                    yield edit
                    break


class Result(NamedTuple):
    edit: Edit
    verdict: str  # "killed", "survived", or "endless": the tests did not end
    killer: str  # the test that failed, or what ended the run
    stage: str  # "own", "near" or "none"
    seconds: float
    text: str


class Copy:
    """A copy of the tree in which one file at a time is edited."""

    def __init__(self, folder, root=ROOT):
        self.folder = Path(folder)
        self.root = Path(root)
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        out = subprocess.run(
            command, cwd=root, capture_output=True, text=True, check=True
        )
        for name in out.stdout.splitlines():
            if (self.root / name).is_file():
                target = self.folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.root / name, target)
        self.fails_anyway = set()

    def write(self, file, content):
        path = self.folder / file
        path.write_bytes(content)
        # a cached .pyc is told by time (in seconds) and size, which an edit may keep
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            stale.unlink()

    def test(self, files, seconds):
        """(status, first failing test): pytest's status, or None if time was over."""
        skip = [f"--deselect={test}" for test in self.fails_anyway]
        limit = ["-p", "tools.time_limit", "--time-limit", str(round(seconds))]
        where = ["-m", "not slow and not gpu", "-p", "no:cacheprovider", "--tb=no"]
        command = [sys.executable, "-m", "pytest", "-x", "-rfE", *where, *limit, *skip]
        paths = [str(self.folder / "src"), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "OMP_NUM_THREADS": "1",
        }
        kept = self.folder / "pytest.out"
        with kept.open("w") as sink:
            process = subprocess.Popen(
                [*command, *files],
                cwd=self.folder,
                env=environment,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                # one test may begin just before its time is over; a loop that never
                # ends is killed
                status = process.wait(2 * seconds + 60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                return None, "the tests did not end"
        return status, last_word(status, kept.read_text(errors="replace"))

    def judge(self, edit, graph, own_seconds=OWN_SECONDS, near_seconds=NEAR_SECONDS):
        """Runs the tests of an edit, in stages, until one fails."""
        begun = time.monotonic()
        original = (self.root / edit.file).read_bytes()
        done = lambda *found: Result(
            edit, *found, time.monotonic() - begun, edit.describe(original)
        )
        own, near = stages_of(edit, graph)
        notes = []
        for stage, files, seconds in (
            ("own", own, own_seconds),
            ("near", near[:NEAR_FILES], near_seconds),
        ):
            if not files:
                continue
            self.write(edit.file, edit.apply(original))
            status, failure = self.test(files, seconds)
            self.write(edit.file, original)
            if status is None:
                return done("endless", failure, stage)
            if status not in (0, 5):  # all passed, or none was selected
                return done("killed", failure, stage)
            if failure == CUT:
                notes.append(f"{CUT}: {stage}")
        if len(near) > NEAR_FILES:
            notes.append(f"{len(near) - NEAR_FILES} files of tests left out")
        return done("survived", ", ".join(notes), "none")

    def failing_anyway(self, results):
        """Tests that are said to have killed an edit and fail without any."""
        killers = sorted({r.killer for r in results if "::" in r.killer})
        failing = set()
        while killers:
            status, failure = self.test(killers, OWN_SECONDS)
            if status in (0, 5) or failure not in killers:
                break
            failing.add(failure)
            killers.remove(failure)
        return failing


def last_word(status, output):
    """The test that failed, whether time was over before all had begun, or nothing."""
    if status in (0, 5):
        return CUT if "left out for lack of time" in output else ""
    for line in output.splitlines():
        for word in ("FAILED ", "ERROR "):
            if line.startswith(word):
                return line.removeprefix(word).split(" - ")[0].strip()
    return (output.strip().splitlines() or ["no output"])[-1]


def stages_of(edit, graph):
    """(test file of the name, other test files, nearest first) of an edit."""
    own = graph.own_test(edit.file)
    package = "/".join(Path(edit.file).parts[2:-1])
    near, reach = [], {}
    for distance, layer in enumerate(graph.by_distance([edit.file])[:4]):
        named = [graph.own_test(file) for file in layer]
        for test in [*filter(None, named), *filter(is_test, layer)]:
            reach.setdefault(test, distance)
    for test in graph.module_of:
        if package and is_test(test) and test.startswith(f"tests/{package}/"):
            reach.setdefault(test, 3)
    names = [name for name in edit.inside if len(name) > 3]
    texts = {test: (graph.root / test).read_text("utf-8") for test in reach}
    mentions = lambda test: sum(name in texts[test] for name in names)
    near = sorted(reach, key=lambda test: (-mentions(test), reach[test], test))
    return [own] if own else [], [test for test in near if test != own]


def report(results):
    """A table of the packages, then every survivor."""
    counts = defaultdict(Counter)
    for result in results:
        counts[package_of(result.edit.file)][result.verdict] += 1
        if result.verdict == "killed":
            counts[package_of(result.edit.file)][result.stage] += 1
    print(f"\n{'package':28s} killed  by own file  survived")
    for name, count in sorted(counts.items()):
        print(
            f"{name:28s} {count['killed']:6d} {count['own']:12d} {count['survived']:9d}"
        )
    killed = sum(result.verdict == "killed" for result in results)
    print(f"\n{killed} of {len(results)} killed. Survivors:")
    for result in results:
        if result.verdict == "survived":
            edit = result.edit
            print(f"{edit.file}:{edit.line} [{edit.kind}] {result.text}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=20, help="how many edits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="edits to pass over")
    parser.add_argument("--package", help="a folder below src/pansophy")
    parser.add_argument("--file", help="edits of one file")
    parser.add_argument("--line", type=int, help="edits of one line of --file")
    parser.add_argument("--own-seconds", type=float, default=OWN_SECONDS)
    parser.add_argument("--near-seconds", type=float, default=NEAR_SECONDS)
    parser.add_argument("--list", action="store_true", help="only print the edits")
    options = parser.parse_args(arguments)
    if options.file:
        found = edits_of(options.file)
        if options.line:
            found = [edit for edit in found if edit.line == options.line]
        else:
            random.Random(options.seed).shuffle(found)
        edits = filter(is_sound, found)
    else:
        edits = draw_edits(options.seed, options.package)
    chosen = [edit for edit, _ in zip(edits, range(options.start + options.count))]
    chosen = chosen[options.start :]
    if options.list:
        for edit in chosen:
            text = edit.describe((ROOT / edit.file).read_bytes())
            print(f"{edit.file}:{edit.line} [{edit.kind}] {text}")
        return 0
    graph = ImportGraph(ROOT)
    results = []
    limits = (options.own_seconds, options.near_seconds)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(folder)
        try:
            for number, edit in enumerate(chosen, options.start):
                result = copy.judge(edit, graph, *limits)
                results.append(result)
                print(
                    f"{number:4d} {result.verdict:8s} {result.stage:4s} "
                    f"{result.seconds:4.0f} s {edit.file}:{edit.line} [{edit.kind}] "
                    f"{result.text}  | {result.killer}",
                    flush=True,
                )
        except KeyboardInterrupt:
            pass
        copy.fails_anyway = copy.failing_anyway(results)
        for number, result in enumerate(results):
            if result.killer in copy.fails_anyway:
                print(f"again: {result.killer} fails without an edit too", flush=True)
                results[number] = copy.judge(result.edit, graph, *limits)
    report(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
