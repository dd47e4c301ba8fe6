"""Export of trees: indented text, and DOT for Graphviz."""

import html
from typing import NamedTuple

import numpy as np

from ..multiway_tree import MultiwayTree
from .tree_drawing import node_colors, return_or_write
from .tree_view import class_names_of, fitted_tree, has_branch_per_level, view_tree


def export_text(
    decision_tree,
    *,
    feature_names=None,
    class_names=None,
    max_depth=10,
    spacing=3,
    decimals=2,
    show_weights=False,
    show_missing=False,
):
    """The splits of a fitted tree as an indented listing.

    Parameters
    ----------
    decision_tree : fitted decision tree
    feature_names : sequence of str, default=None
        Names of the columns; if None those of the training frame, or "feature_0", ...
    class_names : sequence of str, default=None
        Names of the classes; `classes_` if None.
    max_depth : int, default=10
        Deeper branches are summed up in one line.
    spacing : int, default=3
        Width of an edge.
    decimals : int, default=2
    show_weights : bool, default=False
        Whether leaves show the weight of each class.
    show_missing : bool, default=False
        Whether to say where missing values go.

    Examples
    --------
    >>> from pansophy.tree import DecisionTreeClassifier, export_text
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["a", "a", "b"])
    >>> print(export_text(model, feature_names=["size"]), end="")
    |--- size <= 2.50
    |   |--- class: a
    |--- size >  2.50
    |   |--- class: b
    """
    seen = view_tree(decision_tree, feature_names)
    leaf = leaf_writer(decision_tree, class_names, decimals, show_weights)
    options = {"decimals": decimals, "pad": " ", "missing": show_missing}
    bar, edge = "|" + " " * spacing, "|" + "-" * spacing
    lines, stack = [], [(0, "")]
    while stack:
        node, head = stack.pop()
        if head:
            lines.append(head)
        level = int(seen.depth[node])
        below = seen.children[node]
        lead = bar * level + edge
        if not below:
            lines.append(f"{lead} {leaf(node)}")
        elif level > max_depth:
            depth = subtree_height(seen.children, node)
            lines.append(f"{lead} truncated branch of depth {depth}")
        else:
            words = lambda c: seen.tests[c].words(seen.names, seen.tables, **options)
            stack.extend((c, f"{lead} {words(c)}") for c in reversed(below))
    return "\n".join(lines) + "\n"


def subtree_height(children, node):
    """Levels below and including a node."""
    levels = 0
    row = [node]
    while row:
        levels += 1
        row = [c for t in row for c in children[t]]
    return levels


def leaf_writer(model, class_names=None, decimals=2, show_weights=False):
    """A function that puts a leaf into words."""
    tree = fitted_tree(model)
    names = class_names_of(model, class_names)
    several = isinstance(getattr(model, "classes_", None), list)

    def write(node):
        value = tree.value[node]
        if names is None:
            flat = value.reshape(1, -1) if several else value
            numbers = ", ".join(f"{v:.{decimals}f}" for v in np.ravel(flat))
            return f"value: [{numbers}]"
        text = f"class: {names[np.argmax(value[0])]}"
        if not show_weights:
            return text
        sums = value[0] * tree.weighted_n_node_samples[node]
        return f"weights: [{', '.join(f'{v:.{decimals}f}' for v in sums)}] {text}"

    return write


class Dot(NamedTuple):
    """Format of nodes for Graphviz."""

    label: str = "all"
    impurity: bool = True
    node_ids: bool = False
    proportion: bool = False
    special: bool = False
    precision: int = 3

    def node(self, node, model, question, classes):
        """The label of a node."""
        tree = model.tree_
        titled = self.label == "all" or (self.label == "root" and node == 0)
        title = lambda word: f"{word} = " if titled else ""
        lines = [f"{'node ' if titled else ''}#{node}"] if self.node_ids else []
        lines += [question] if question else []
        if self.impurity:
            name = getattr(model, "criterion", "impurity")
            name = "entropy" if isinstance(tree, MultiwayTree) else name
            lines.append(title(name) + str(self.round(tree.impurity[node])))
        lines.append(title("samples") + self.size(tree, node))
        lines.append(title("value") + self.value(tree, node))
        if classes is not None:
            best = classes[int(np.argmax(tree.value[node][0]))]
            lines.append(title("class") + best)
        if not self.special:
            text = "\\n".join(line.replace('"', '\\"') for line in lines)
            return f'"{text}"'
        escaped = [html.escape(line).replace("#", "&#35;") for line in lines]
        return f"<{'<br/>'.join(escaped).replace('&lt;=', '&le;')}>"

    def round(self, value):
        return float(round(float(value), self.precision))

    def size(self, tree, node):
        n = getattr(tree, "n_node_samples", tree.weighted_n_node_samples)
        if self.proportion:
            return f"{100.0 * n[node] / n[0]:.1f}%"
        return f"{n[node]:g}" if n[node] < 1e6 else str(int(n[node]))

    def value(self, tree, node):
        """Shares, class weights or numbers."""
        value = tree.value[node]
        if value.shape[1] > 1:
            mass = 1.0 if self.proportion else tree.weighted_n_node_samples[node]
            value = value * mass
            near = np.rint(value)
            if not self.proportion and np.allclose(value, near, atol=1e-9):
                value = near.astype(int)
        rows = [[v.item() for v in row] for row in np.around(value, self.precision)]
        if len(rows) == 1:
            return str(rows[0]) if len(rows[0]) > 1 else str(rows[0][0])
        return "[" + "\\n".join(str(row) for row in rows) + "]"


def export_graphviz(
    decision_tree,
    out_file=None,
    *,
    max_depth=None,
    feature_names=None,
    class_names=None,
    label="all",
    filled=False,
    leaves_parallel=False,
    impurity=True,
    node_ids=False,
    proportion=False,
    rotate=False,
    rounded=False,
    special_characters=False,
    precision=3,
    fontname="helvetica",
):
    """A tree in Graphviz's language DOT.

    Parameters
    ----------
    decision_tree : fitted decision tree
    out_file : path, file or None, default=None
        Where to write; None returns the text.
    max_depth : int or None, default=None
        Deeper nodes are shown as (...).
    feature_names, class_names : sequence of str, default=None
        `class_names=True` shows classes as y[0], y[1], ...
    label : {"all", "root", "none"}, default="all"
        Which nodes name their numbers.
    filled : bool, default=False
        Colour nodes by their class or value.
    leaves_parallel, impurity, node_ids, proportion, rotate, rounded : bool
        Leaves at the bottom; show impurity; show numbers; show shares instead of
        counts; grow to the right; round corners.
    special_characters : bool, default=False
        Write HTML-like labels.
    precision : int, default=3
        Decimals.
    fontname : str, default="helvetica"

    Returns
    -------
    str, or None if written to a file

    Examples
    --------
    >>> from pansophy.tree import DecisionTreeClassifier, export_graphviz
    >>> model = DecisionTreeClassifier().fit([[1.0], [3.0]], ["a", "b"])
    >>> print(export_graphviz(model).splitlines()[3])
    0 [label="x[0] <= 2.0\\ngini = 0.5\\nsamples = 2\\nvalue = [1, 1]"] ;
    """
    if label not in ("all", "root", "none"):
        raise ValueError(f"label must be 'all', 'root' or 'none', got {label!r}.")
    seen = view_tree(decision_tree, feature_names, prefix="x[{}]")
    write = Dot(label, impurity, node_ids, proportion, special_characters, precision)
    if class_names is True:
        names = class_names_of(decision_tree) or []
        class_names = [f"y[{i}]" for i in range(len(names))]
    named = class_names is not None
    classes = class_names_of(decision_tree, class_names) if named else None
    colors = node_colors(decision_tree) if filled else []
    style = ", ".join(w for w, on in (("filled", filled), ("rounded", rounded)) if on)
    look = f', style="{style}", color="black"' if style else ""
    lines = [
        "digraph Tree {",
        f'node [shape=box{look}, fontname="{fontname}"] ;',
        *(["graph [ranksep=equally, splines=polyline] ;"] if leaves_parallel else []),
        f'edge [fontname="{fontname}"] ;',
        *(["rankdir=LR ;"] if rotate else []),
    ]
    ranks = {}
    stack = [(0, -1)]
    while stack:
        node, parent = stack.pop()
        below = seen.children[node]
        deep = int(seen.depth[node])
        cut = max_depth is not None and deep > max_depth
        question = node_question(seen, node, precision) if below else ""
        fill = f', fillcolor="{"#C0C0C0" if cut else colors[node]}"' if filled else ""
        text = '"(...)"' if cut else write.node(node, decision_tree, question, classes)
        lines.append(f"{node} [label={text}{fill}] ;")
        if parent >= 0:
            lines.append(
                f"{parent} -> {node}{edge_label(seen, parent, node, rotate)} ;"
            )
        last = cut or not below
        ranks.setdefault("leaves" if last else deep, []).append(node)
        stack.extend((c, node) for c in (() if cut else reversed(below)))
    if leaves_parallel:
        ends = ranks.pop("leaves")
        groups = [ranks[k] for k in sorted(ranks)] + [ends]
        lines += [f"{{rank=same ; {'; '.join(map(str, g))}}} ;" for g in groups]
    text = "\n".join([*lines, "}"])
    return return_or_write(text, out_file)


def node_question(seen, node, precision):
    """Question of a node: the test of its left side, or its column."""
    below = seen.children[node]
    test = seen.tests[below[0]]
    if has_branch_per_level(seen, node):
        return f"{seen.names[test.feature]}?"
    if test.sign == "in":
        return test.words(seen.names, seen.tables, precision)
    return f"{seen.names[test.feature]} <= {float(round(test.value, precision))}"


def edge_label(seen, parent, node, rotate):
    """Attributes of an edge: the level, or True and False below the root."""
    if has_branch_per_level(seen, parent):
        words = seen.tests[node].words(seen.names, seen.tables)
        level = words.partition(" = ")[2].replace('"', '\\"')
        return f' [label="{level}"]'
    if parent:
        return ""
    left = node == seen.children[parent][0]
    angle = 45 if left != rotate else -45
    return f' [labeldistance=2.5, labelangle={angle}, headlabel="{left}"]'
