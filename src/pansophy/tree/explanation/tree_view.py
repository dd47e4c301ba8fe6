"""One view of binary and multiway trees: children of nodes and conditions of edges.

A `Condition` is a test of one column, as it stands on the edge from a node to a child:
x <= v, x > v, or x among some codes (levels, or arcs of a circle). It knows whether a
missing value passes, can be put into words, and can be asked of rows of codes. A
`TreeView` lists the children of every node with the tests that lead to them, for the
binary trees of the engine and for multiway trees alike.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..multiway_tree import MultiwayTree
from ..storage.tree import LEAF
from .splits import unpack_code_set

MANY = 6  # levels named before the rest is only counted


class Condition(NamedTuple):
    """A condition on one column."""

    feature: int
    sign: str  # "<=", ">" or "in"
    value: float = np.nan  # the threshold
    codes: frozenset = frozenset()
    missing: bool = False  # whether a missing value passes

    def holds(self, X):
        """Mask of the rows of X (n, d), numbers and codes, that pass."""
        x = X[:, self.feature]
        if self.sign == "<=":
            mask = x <= self.value
        elif self.sign == ">":
            mask = x > self.value
        else:
            mask = np.isin(x, list(self.codes))
        return mask | np.isnan(x) if self.missing else mask

    def both(self, other):
        """One test for this and another of the same column and sign."""
        missing = self.missing and other.missing
        if self.sign == "in":
            return self._replace(codes=self.codes & other.codes, missing=missing)
        tight = min if self.sign == "<=" else max
        return self._replace(value=tight(self.value, other.value), missing=missing)

    def words(self, names, tables, decimals=2, *, pad="", missing=False):
        """The test as text; `pad` follows the sign >."""
        name = names[self.feature]
        end = " or missing" if missing and self.missing else ""
        if self.sign != "in":
            gap = pad if self.sign == ">" else ""
            return f"{name} {self.sign}{gap} {self.value:.{decimals}f}{end}"
        table = tables[self.feature] if tables else None
        if hasattr(table, "edges"):
            return f"{name} in {angle_interval(table, self.codes, decimals)}{end}"
        levels = [level_name(table, c) for c in sorted(self.codes)]
        if len(levels) == 1:
            return f"{name} = {levels[0]}{end}"
        if len(levels) > MANY:
            levels = [*levels[: MANY - 1], f"{len(levels) - MANY + 1} more"]
        return f"{name} in {{{', '.join(levels)}}}{end}"


def level_name(table, code) -> str:
    """The level of a code in words; a code that rare levels share is "other"."""
    if table is None:
        return f"code {code}"
    result = np.flatnonzero(table.codes == code)
    if len(result) != 1:
        return "other" if len(result) else f"code {code}"
    value = table.values[result[0]]
    return str(value) if isinstance(value, str) else f"{value:g}"


def angle_interval(table, codes, decimals) -> str:
    """Neighbouring arcs of a circle as one interval of angles."""
    k = len(table.edges)
    first = next((c for c in sorted(codes) if (c - 1) % k not in codes), 0)
    ends = [
        float(np.mod(table.edges[c % k], 1.0) * table.period)
        for c in (first, first + len(codes))
    ]
    return f"[{ends[0]:.{decimals}f}, {ends[1]:.{decimals}f})"


def count_codes(table) -> int:
    """Number of codes of a column."""
    if table is None:
        return 255
    edges = getattr(table, "edges", None)
    return int(table.codes.max(initial=-1)) + 1 if edges is None else len(edges)


class TreeView(NamedTuple):
    """A tree as lists: by node its children, and the test on the way to it."""

    children: list  # lists of node numbers, empty at leaves
    tests: list  # the Condition that leads to a node, None for the root
    depth: np.ndarray
    parent: np.ndarray
    names: list  # of columns
    tables: tuple  # by column CategoryCodes, AngleCodes or None; or empty

    @property
    def used(self) -> set:
        """Columns that some node asks."""
        return {t.feature for t in self.tests if t is not None}

    def leaves(self):
        """(leaf, tests from the root) of every leaf, from left to right."""
        stack: list = [(0, ())]
        while stack:
            node, way = stack.pop()
            below = self.children[node]
            if not below:
                yield node, way
            stack.extend((c, (*way, self.tests[c])) for c in reversed(below))


def view_tree(model, feature_names=None, prefix="feature_{}") -> TreeView:
    """The view of a fitted tree."""
    tree = fitted_tree(model)
    names = feature_names_of(model, feature_names, prefix)
    tables = tuple(getattr(input_encoder_of(model), "tables", ()))
    read = view_multiway_tree if isinstance(tree, MultiwayTree) else view_binary_tree
    children, tests = read(tree, tables)
    parent, depth = node_parents(tree)
    return TreeView(children, tests, depth, parent, names, tables)


def node_parents(tree):
    """Parent and depth of every node of either kind of tree."""
    if isinstance(tree, MultiwayTree):
        return tree.parent, tree.depth
    depth, parent = tree.places
    return parent, depth


def has_branch_per_level(seen: TreeView, node) -> bool:
    """Whether each branch of a node has one level to name."""
    tests = [seen.tests[c] for c in seen.children[node]]
    return all(t.sign == "in" and len(t.codes) == 1 for t in tests)


def fitted_tree(model):
    """The tree of a fitted model."""
    check_is_fitted(model)
    tree = getattr(model, "tree_", None)
    if tree is None:
        raise TypeError(
            f"{type(model).__name__} is not one tree: pass a fitted decision tree."
        )
    return tree


def input_encoder_of(model):
    """Encoder of the columns of a model, or None if they are plain numbers."""
    return getattr(model, "inputs_", None)


def rows_as_codes(model, X):
    """Rows as the tree of a model sees them: float32 numbers and codes."""
    if isinstance(fitted_tree(model), MultiwayTree):
        return model._codes(X)
    from ..abstract_decision_tree import validate_prediction_rows

    X = validate_prediction_rows(model, X)
    return X.toarray() if hasattr(X, "toarray") else X


def feature_names_of(model, feature_names, prefix="feature_{}"):
    """Names of the columns: those given, those of the training frame, or numbers."""
    d = fitted_tree(model).n_features
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    if feature_names is None:
        return [prefix.format(i) for i in range(d)]
    if len(feature_names) != d:
        raise ValueError(
            f"feature_names must contain {d} elements, got {len(feature_names)}"
        )
    return [str(name) for name in feature_names]


def class_names_of(model, class_names=None):
    """Names of the classes; None for numbers and for several outputs."""
    classes = getattr(model, "classes_", None)
    if classes is None or isinstance(classes, list):
        return None
    names = classes if class_names is None else class_names
    if len(names) != len(classes):
        raise ValueError(
            f"class_names must contain {len(classes)} elements, got {len(names)}."
        )
    return [str(name) for name in names]


def view_binary_tree(tree, tables):
    """Children and tests of a binary tree."""
    n = tree.node_count
    children = [[] for _ in range(n)]
    tests = [None] * n
    sides = zip(tree.children_left.tolist(), tree.children_right.tolist())
    sets = np.zeros((n, 4), np.uint64) if tree.sets is None else tree.sets
    by_set = sets.any(axis=1)
    for v, (left, right) in enumerate(sides):
        if left == LEAF:
            continue
        f = int(tree.feature[v])
        missing = bool(tree.missing_go_to_left[v])
        children[v] = [left, right]
        if by_set[v]:
            k = count_codes(tables[f] if tables else None)
            go = frozenset(np.flatnonzero(unpack_code_set(sets[v])).tolist())
            stay = frozenset(range(k)) - go
            tests[left] = Condition(f, "in", codes=go, missing=missing)
            tests[right] = Condition(f, "in", codes=stay, missing=not missing)
        else:
            t = float(tree.threshold[v])
            tests[left] = Condition(f, "<=", t, missing=missing)
            tests[right] = Condition(f, ">", t, missing=not missing)
    return children, tests


def view_multiway_tree(tree, tables):
    """View of a multiway tree. A missing value passes no test."""
    n = tree.node_count
    children = [tree.children(v).tolist() for v in range(n)]
    tests = [None] * n
    for v, below in enumerate(children):
        f = int(tree.feature[v])
        t = float(tree.threshold[v])
        for c in below:
            code = int(tree.level[c])
            if np.isnan(t):
                tests[c] = Condition(f, "in", codes=frozenset([code]))
            else:
                tests[c] = Condition(f, "<=" if code == 0 else ">", t)
    return children, tests
