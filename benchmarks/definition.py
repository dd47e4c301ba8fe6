"""The hash of what a case measures, so that a record of another definition is stale.

The rule: the hash covers the sizes, tolerance and number of rounds of the case, and the
syntax trees of `data`, `ours`, every peer and `quality`, together with all that these
read, directly or through others, in this package: functions, classes and values at the
top of a module (also those that a relative import brings) and what closures, defaults
and partial functions hold. Comments, docstrings, layout and line numbers do not count,
nor do texts (`what`, `notes`), the target, and which peers are written here. Of other
packages only the names count; their versions, and the commit of ours, are in the stamp.
`METHOD` counts too: it is raised when the way of measuring changes.
"""

import ast
import functools
import hashlib
import types
from pathlib import Path

METHOD = 3
HOME = Path(__file__).parent
SKIPPED = ("runner",)  # the way of measuring: METHOD stands for it


class ModuleSource:
    """The syntax of one module: its top-level bindings, functions and lambdas."""

    def __init__(self, name):
        path = HOME.joinpath(*name.split(".")[1:]).with_suffix(".py")
        self.name = name
        self.tree = ast.parse(path.read_text("utf-8"))
        self.bindings = {}  # name -> statements that bind it
        for statement in self.tree.body:
            for bound in bound_names(statement):
                self.bindings.setdefault(bound, []).append(statement)
        self.functions = {}  # first line -> nodes
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                decorators = getattr(node, "decorator_list", [])
                line = min([node.lineno, *(d.lineno for d in decorators)])
                self.functions.setdefault(line, []).append(node)


@functools.cache
def module_source(name):
    return ModuleSource(name)


def bound_names(statement):
    """The names that a statement at the top of a module binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [(a.asname or a.name).split(".")[0] for a in statement.names]
    return [
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def describe_tree(node):
    """A syntax tree as text that neither layout nor the version of Python changes."""
    if isinstance(node, ast.Constant):
        return f"{type(node.value).__name__} {node.value!r}"
    parts = []
    for name, value in ast.iter_fields(node):
        if name in ("ctx", "kind", "type_comment", "type_params", "lineno"):
            continue
        if name == "body" and isinstance(value, list):
            value = without_docstring(value)
        if isinstance(value, list):
            value = [v for v in value if v is not None]
            text = ",".join(
                describe_tree(v) if isinstance(v, ast.AST) else repr(v) for v in value
            )
        elif isinstance(value, ast.AST):
            text = describe_tree(value)
        else:
            text = "" if value is None else repr(value)
        if text:
            parts.append(f"{name}={text}")
    return f"{type(node).__name__}({';'.join(parts)})"


def without_docstring(body):
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return body[1:] if isinstance(first.value.value, str) else body
    return body


class Definition:
    """Collects the source of functions and of all that they read in this package."""

    def __init__(self):
        self.parts = {}  # key -> text, in the order in which they were met
        self.seen = set()

    def add(self, label, value):
        self.parts[label] = self.describe(value)

    def text(self):
        return "\n".join(f"{key}: {text}" for key, text in self.parts.items())

    def describe(self, value):
        """Text of a value; the functions that it holds are collected."""
        if isinstance(value, functools.partial):
            held = (value.func, value.args, value.keywords)
            return f"partial {self.describe(held)}"
        if isinstance(value, types.MethodType):
            return f"method {self.describe((value.__func__, value.__self__))}"
        if isinstance(value, types.FunctionType):
            return self.describe_function(value)
        if isinstance(value, type):
            if is_ours(value.__module__):
                self.follow(value.__module__, value.__name__)
            return f"class {value.__module__}.{value.__qualname__}"
        if isinstance(value, types.ModuleType):
            return f"module {value.__name__}"
        if isinstance(value, dict):
            pairs = (
                f"{self.describe(k)}: {self.describe(v)}" for k, v in value.items()
            )
            return "{" + ", ".join(pairs) + "}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(self.describe(v) for v in value)}]"
        if isinstance(value, set | frozenset):
            return f"set {sorted(map(self.describe, value))}"
        if isinstance(value, bool | int | float | complex | str | bytes | range):
            return repr(value)
        if value is None:
            return "None"
        kind = type(value)
        held = getattr(value, "__dict__", None)
        if is_ours(kind.__module__) and held is not None:
            return f"{self.describe(kind)} {self.describe(dict(held))}"
        name = getattr(value, "__qualname__", kind.__qualname__)
        return f"{getattr(value, '__module__', None) or kind.__module__}.{name}"

    def describe_function(self, function):
        """Name of a function; its source and what it holds become parts."""
        name = f"{function.__module__}.{function.__qualname__}"
        if not is_ours(function.__module__):
            return f"function {name}"
        held = [c.cell_contents for c in function.__closure__ or () if filled(c)]
        held += list(function.__defaults__ or ())
        held += list((function.__kwdefaults__ or {}).values())
        if id(function) in self.seen:
            return f"function {name}"
        self.seen.add(id(function))
        source = module_source(function.__module__)
        found = source.functions.get(function.__code__.co_firstlineno, [])
        wanted = function.__name__
        nodes = [n for n in found if getattr(n, "name", "<lambda>") == wanted]
        for node in nodes:
            self.add_tree(f"{name} {len(self.parts)}", node, source)
        return f"function {name} holds [{', '.join(map(self.describe, held))}]"

    def add_tree(self, key, node, source):
        """A tree as a part, and then all names of its module that it mentions."""
        self.parts[key] = describe_tree(node)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                self.follow(source.name, inner.id)
            elif isinstance(inner, ast.ImportFrom) and inner.level:
                self.follow_import(source.name, inner)

    def follow(self, module, name):
        """What binds a name at the top of a module of this package."""
        if (module, name) in self.seen:
            return
        self.seen.add((module, name))
        source = module_source(module)
        for statement in source.bindings.get(name, []):
            if isinstance(statement, ast.ImportFrom) and statement.level:
                only = [a for a in statement.names if (a.asname or a.name) == name]
                self.follow_import(module, statement, only)
            elif isinstance(statement, ast.Import | ast.ImportFrom):
                continue  # of another package: its name is in the tree that uses it
            else:
                self.add_tree(f"{module}.{name} {len(self.parts)}", statement, source)

    def follow_import(self, module, statement, names=None):
        parents = module.split(".")[: -statement.level]
        origin = ".".join([*parents, *([statement.module] if statement.module else [])])
        if statement.module in SKIPPED:
            return
        for alias in statement.names if names is None else names:
            self.follow(origin, alias.name)


def filled(cell):
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def is_ours(module):
    package = __name__.rpartition(".")[0]
    is_inside = str(module).startswith(f"{package}.")
    return is_inside and str(module).rpartition(".")[2] not in SKIPPED


def describe_case(case):
    """The whole definition as text: what the hash is of."""
    definition = Definition()
    for name in ("sizes", "tolerance", "rounds", "data", "ours", "peers", "quality"):
        definition.add(name, getattr(case, name))
    return f"method {METHOD}\ncase {case.name}\n{definition.text()}"


def hash_case(case):
    return hashlib.sha256(describe_case(case).encode()).hexdigest()[:16]
