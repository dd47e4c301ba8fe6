"""Measures of how the code reads, for `tools/check.py`, which lets none get worse.

Each takes the parsed sources, {path: (text, tree)}, and answers with the places that
count against it (or a share), so that a breach can name them. The best values reached
are kept in `tools/ratchet.json`; `make ratchet` writes better ones.
"""

import ast
import builtins
import io
import keyword
import re
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]

FRAGMENTS = re.compile(r"(?:The same|Of|Its|Their|As above|Ditto|Likewise)\b")
MODULES_LIMIT = 25  # of a folder, before it is worth another look
DEPTH_LIMIT = 2  # abstract classes above an estimator
ESTIMATOR_ROOTS = {"Estimator", "BaseEstimator"}

# Names of other libraries, or parts of names, that texts mention in backticks.
FOREIGN_NAMES = frozenset(
    {
        "additive_chi2_kernel",
        "Axes",
        "documentation",
        "from_",
        "futimeDays",
        "literal_unroll",
        "literally",
        "ndcg_score",
        "NUMBA_CPU_NAME",
        "plot_tree",
        "potri",
        "scatter",
        "set_fit_request",
        "set_predict_request",
        "set_split_request",
        "SplineTransformer",
        "step__name",
        "studentized_range",
        "TreeExplainer",
    }
)

# English words without a meaning of their own. Words that name a thing as well
# (part, side, first, last, full, name, top, ...) are not among them.
WORDS = """
about above across after again against all almost alone along already also always
am among an and another any anyhow anyone anything anyway anywhere are around as at
be became because become been before beforehand behind being below beside besides
between beyond both but by can cannot could did do does done down during each either
else elsewhere enough even ever every everyone everything everywhere except few for
former formerly found from further get give given go had has have he hence her here
hereby herein hers herself him himself his how however if in indeed into is it its
itself keep latter least less made many may me meanwhile might more moreover most
mostly much must my myself neither never nevertheless no nobody none nor not nothing
now nowhere of off often on once one only onto or other others otherwise our ours
out over own per perhaps please put rather same see seem seemed seems several she
should since so some somehow someone something sometimes somewhere still such take
taken than that the their them themselves then there thereby therefore therein these
they this those though three through throughout thus to together too toward towards
two under until up upon us very via was we well were what whatever when whence
whenever where whereas whereby wherein wherever whether which while whither who
whoever whole whom whose why will with within without would yet you your yours
"""
STOP_WORDS = frozenset(WORDS.split())


def docstrings(tree):
    """Every docstring of a module with the node it belongs to."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield node, text


def docstring_fragments(sources):
    """Docstrings whose first line needs another docstring to be understood."""
    return [
        f"{path}:{getattr(node, 'lineno', 1)} {text.splitlines()[0][:60]}"
        for path, (_, tree) in sources.items()
        for node, text in docstrings(tree)
        if FRAGMENTS.match(text)
    ]


def stop_word_names(sources):
    """Assignments to English stop words, and the number of all assignments."""
    places = []
    total = 0
    for path, (_, tree) in sources.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                total += 1
                if node.id in STOP_WORDS:
                    places.append(f"{path}:{node.lineno} {node.id}")
    return places, total


def base_names(node):
    """Names of the classes that a class is derived from."""
    for base in node.bases:
        while isinstance(base, ast.Subscript):
            base = base.value
        yield base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


def deep_estimators(sources):
    """Estimators under more than `DEPTH_LIMIT` abstract classes."""
    homes = {}
    bases = {}
    for path, (_, tree) in sources.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, path)
                bases.setdefault(node.name, list(base_names(node)))

    def ancestors(name, seen):
        for base in bases.get(name, ()):
            if base not in seen:
                seen.append(base)
                ancestors(base, seen)
        return seen

    deep = []
    for name, path in homes.items():
        above = ancestors(name, [])
        abstract = [base for base in above if base.startswith("Abstract")]
        concrete = not name.startswith(("Abstract", "_"))
        if concrete and ESTIMATOR_ROOTS & set(above) and len(abstract) > DEPTH_LIMIT:
            deep.append(f"{path} {name}: {', '.join(abstract)}")
    return deep


def known_names(sources):
    """Every identifier, module, and word of a string that code (not text) holds."""
    names = set(dir(builtins)) | set(keyword.kwlist)
    for path, (_, tree) in sources.items():
        names.update(Path(path).with_suffix("").parts)
        texts = {id(node.body[0].value) for node, _ in docstrings(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, (ast.arg, ast.keyword)) and node.arg:
                names.add(node.arg)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.alias):
                names.update(node.name.split("."))
                names.add(node.asname or "")
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in texts
            ):
                names.update(re.findall(r"\w+", node.value))
    return names


def texts_of(text, tree):
    """Docstrings and comments of a module."""
    yield from (doc for _, doc in docstrings(tree))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def ghost_names(sources):
    """Dotted names or identifiers in single backticks that no code defines."""
    names = known_names(sources) | FOREIGN_NAMES
    ghosts = []
    for path, (text, tree) in sources.items():
        for prose in texts_of(text, tree):
            for match in re.finditer(r"(?<![`:])`([^`\n]+)`(?!`)", prose):
                word = re.sub(r"\(.*$", "", match[1]).strip().removesuffix(".py")
                if not re.fullmatch(r"[A-Za-z_][\w./]*", word):
                    continue
                parts = [part for part in re.split(r"[./]", word) if part]
                is_file = (ROOT / match[1]).exists()
                if not is_file and any(part not in names for part in parts):
                    ghosts.append(f"{path} `{match[1]}`")
    return ghosts


def section_names(doc, title):
    """Names that a numpydoc section lists."""
    lines = doc.splitlines()
    for i, line in enumerate(lines[:-1]):
        if line.strip() != title or set(lines[i + 1].strip()) != {"-"}:
            continue
        indent = len(line) - len(line.lstrip())
        names = []
        for row in lines[i + 2 :]:
            if not row.strip() or len(row) - len(row.lstrip()) != indent:
                continue
            if re.fullmatch(r"[A-Z][a-z]+( [A-Z][a-z]+)?", row.strip()):
                break
            if " : " in row or re.fullmatch(r"[\w*`, ]+", row.strip()):
                heads = row.split(" :")[0].split(",")
                names += [head.strip().strip("`*") for head in heads]
        return [name for name in names if re.fullmatch(r"\w+", name)]
    return []


def ghost_parameters(sources):
    """Parameters that a docstring lists and the function does not have."""
    ghosts = []
    for path, (_, tree) in sources.items():
        for node, doc in docstrings(tree):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            a = node.args
            if a.kwarg or a.vararg:
                continue
            given = {x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)}
            ghosts += [
                f"{path}:{node.lineno} {node.name}: {name}"
                for name in section_names(doc, "Parameters")
                if name not in given
            ]
    return ghosts


def names_used(tree):
    """Names that code reads or imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name.split(".")[-1]


def words_of_texts(tree):
    """Words of the texts in code: lazy tables list names in one text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from node.value.split()


def names_in_tests():
    """Names that tests and benchmarks use."""
    paths = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    trees = [ast.parse(path.read_text("utf-8")) for path in paths]
    return {name for tree in trees for name in names_used(tree)}


def unmarked_details(sources):
    """Functions that only their own file uses, without an underscore.

    What a test or a benchmark calls, or shows its use in an example, is a part.
    """
    users = defaultdict(set)
    for path, (_, tree) in sources.items():
        for name in (*names_used(tree), *words_of_texts(tree)):
            users[name].add(path)
    tested = names_in_tests()
    details = []
    total = 0
    for path, (_, tree) in sources.items():
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("__"):
                continue
            total += 1
            is_part = node.name in tested or ">>>" in (ast.get_docstring(node) or "")
            is_marked = node.name.startswith("_")
            if not is_marked and not is_part and users[node.name] <= {path}:
                details.append(f"{path}:{node.lineno} {node.name}")
    return details, total


def crowded_folders(sources):
    """Modules beyond `MODULES_LIMIT`, folder by folder."""
    counts = Counter(Path(path).parent for path in sources)
    return [
        f"{folder} ({count} modules)"
        for folder, count in counts.items()
        for _ in range(count - MODULES_LIMIT)
    ]


def format_skips(sources):
    """Lines that the formatter is told to leave alone."""
    return [
        f"{path}:{number}"
        for path, (text, _) in sources.items()
        for number, line in enumerate(text.splitlines(), 1)
        if "# fmt: skip" in line or "# fmt: off" in line
    ]


def measure(sources):
    """{measure: (value, places that count against it)}, less being better."""
    stop_words, n_assignments = stop_word_names(sources)
    details, n_functions = unmarked_details(sources)
    counted = {
        "estimators under three abstract classes": deep_estimators(sources),
        "names in backticks that do not exist": ghost_names(sources),
        "documented parameters that do not exist": ghost_parameters(sources),
        "docstrings that lean on another": docstring_fragments(sources),
        "modules beyond 25 in a folder": crowded_folders(sources),
        "lines kept from the formatter": format_skips(sources),
    }
    return {
        **{name: (len(places), places) for name, places in counted.items()},
        "stop words among 1,000 assigned names": (
            round(1000 * len(stop_words) / n_assignments, 1),
            stop_words,
        ),
        "details not marked, percent of functions": (
            round(100 * len(details) / n_functions, 1),
            details,
        ),
    }
