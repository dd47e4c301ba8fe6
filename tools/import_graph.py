"""Which files of this repository import which, read from their syntax trees.

An edge leads from a file to the module where an imported name is *defined*: `from
pansophy.linear_model import Ridge` is an import of
`linear_model/least_squares/ridge.py`, not of the package with everything in it.
`tests_near` lists the tests of a module, those of the modules that import it behind
them, nearest first.
"""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "pansophy"


class ImportGraph:
    """Files of `src` and `tests` below `root`, and what each of them imports.

    Files are given and returned as text relative to `root`, with forward slashes.
    """

    def __init__(self, root=ROOT):
        self.root = Path(root)
        self.file_of = {}  # file by the name of its module
        for folder in ("src", "tests"):
            for path in sorted((self.root / folder).rglob("*.py")):
                file = path.relative_to(self.root).as_posix()
                start = self.root / "src" if folder == "src" else self.root
                parts = path.relative_to(start).with_suffix("").parts
                if parts[-1] == "__init__":
                    parts = parts[:-1]
                self.file_of[".".join(parts)] = file
        self.module_of = {file: module for module, file in self.file_of.items()}
        self._names = {file: self._read(file) for file in self.module_of}
        self._exports = {}
        self.imports = {file: self._imports_of(file) for file in self.module_of}
        self.importers = defaultdict(set)
        for file, imported in self.imports.items():
            if not file.endswith("__init__.py"):
                for other in imported:
                    self.importers[other].add(file)

    def _read(self, file):
        """Imports and dotted names of a file, whose syntax tree is not kept.

        An import is (module, name, name here), where name is None for `import a.b`.
        """
        module = self.module_of[file].split(".")
        package = module if file.endswith("__init__.py") else module[:-1]
        imports, dotted = [], []
        for node in ast.walk(ast.parse((self.root / file).read_text("utf-8"))):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    here = alias.asname or alias.name.split(".")[0]
                    imports.append((alias.name, None, here))
            elif isinstance(node, ast.ImportFrom):
                above = package[: len(package) - node.level + 1] if node.level else []
                stem = ".".join([*above, *filter(None, [node.module])])
                for alias in node.names:
                    imports.append((stem, alias.name, alias.asname or alias.name))
            elif isinstance(node, ast.Attribute):
                names = attribute_chain(node)
                if names:
                    dotted.append(names)
        return imports, dotted

    def _home(self, module, name, depth=0):
        """The file that defines `module.name`, or None if it is not one of ours."""
        if f"{module}.{name}" in self.file_of:
            return self.file_of[f"{module}.{name}"]
        file = self.file_of.get(module)
        if file is None or not file.endswith("__init__.py") or depth > 5:
            return file
        if file not in self._exports:
            self._exports[file] = {
                here: (stem, told) for stem, told, here in self._names[file][0] if told
            }
        if name in self._exports[file]:
            return self._home(*self._exports[file][name], depth + 1) or file
        return file

    def _imports_of(self, file):
        found, packages = set(), {}
        for module, name, here in self._names[file][0]:
            home = self._home(module, name) if name else self.file_of.get(module)
            if home is None:
                continue
            if name is None and here == PACKAGE:  # its parts follow as attributes
                packages[here] = self.file_of[PACKAGE]
            elif home.endswith("__init__.py") and self.module_of[home] != PACKAGE:
                packages[here] = home
            else:
                found.add(home)
        if packages:
            found |= self._attributes(file, packages)
        return found - {file}

    def _attributes(self, file, packages):
        """Where `losses.squared` and `pansophy.losses.squared` are defined."""
        found = set(packages.values())
        for first, *others in self._names[file][1]:
            if first in packages:
                home = packages[first]
                for name in others:
                    home = self._home(self.module_of[home], name)
                    if not home.endswith("__init__.py"):
                        break
                found.add(home)
        return {file for file in found if not file.endswith("__init__.py")}

    def own_test(self, file):
        """The test file of a module's name, if there is one."""
        path = Path(file)
        if path.parts[:2] != ("src", PACKAGE):
            return None
        folder = Path("tests", *path.parts[2:-1])
        test = (folder / f"test_{path.stem.removeprefix('_')}.py").as_posix()
        return test if test in self.module_of else None

    def by_distance(self, files):
        """Lists of files: these, those that import them, those that import those."""
        seen, layers = set(files), [sorted(files)]
        while layers[-1]:
            nearer = {other for file in layers[-1] for other in self.importers[file]}
            layers.append(sorted(nearer - seen))
            seen |= nearer
        return layers[:-1]

    def tests_near(self, files):
        """Test files that concern some files, nearest first.

        First those of their names and the files among them that are tests, then tests
        that import them, then tests of the modules that import them, and so on.
        """
        found = {}
        for layer in self.by_distance(files):
            named = [self.own_test(file) for file in layer]
            for test in [*filter(None, named), *filter(is_test, layer)]:
                found[test] = None
        return list(found)


def attribute_chain(node):
    """`a.b.c` as ["a", "b", "c"]; None if it does not start from a name."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else None


def is_test(file):
    return file.startswith("tests/") and Path(file).name.startswith("test_")
