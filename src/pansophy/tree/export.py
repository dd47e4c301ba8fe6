"""A tree in words: as an indented listing, or as one rule per leaf."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .structure import LEAF


def export_text(
    decision_tree,
    *,
    feature_names=None,
    class_names=None,
    max_depth=10,
    spacing=3,
    decimals=2,
    show_weights=False,
):
    """The splits of a fitted tree as an indented listing.

    Parameters
    ----------
    decision_tree : fitted decision tree
    feature_names : sequence of str, default=None
        Names of the columns; "feature_0", ... if None.
    class_names : sequence of str, default=None
        Names of the classes; `classes_` if None.
    max_depth : int, default=10
        Deeper branches are summed up in one line.
    spacing : int, default=3
        Width of an edge.
    decimals : int, default=2
    show_weights : bool, default=False
        Whether leaves show the weight of each class.

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
    check_is_fitted(decision_tree)
    tree = decision_tree.tree_
    names = name_features(tree, feature_names)
    leaf = leaf_writer(decision_tree, class_names, decimals, show_weights)
    depth = tree.places[0]
    bar, edge = "|" + " " * spacing, "|" + "-" * spacing
    lines, stack = [], [(0, "")]
    while stack:
        node, head = stack.pop()
        if head:
            lines.append(head)
        level = int(depth[node])
        left, right = tree.children_left[node], tree.children_right[node]
        lead = bar * level + edge
        if left == LEAF:
            lines.append(f"{lead} {leaf(node)}")
        elif level > max_depth:
            lines.append(f"{lead} truncated branch of depth {height(tree, node)}")
        else:
            name, v = names[tree.feature[node]], f"{tree.threshold[node]:.{decimals}f}"
            stack.append((right, f"{lead} {name} >  {v}"))
            stack.append((left, f"{lead} {name} <= {v}"))
    return "\n".join(lines) + "\n"


def name_features(tree, feature_names):
    if feature_names is None:
        return [f"feature_{i}" for i in range(tree.n_features)]
    if len(feature_names) != tree.n_features:
        raise ValueError(
            f"feature_names must contain {tree.n_features} elements, got "
            f"{len(feature_names)}"
        )
    return list(feature_names)


def height(tree, node):
    """Levels below and including a node."""
    levels, row = 0, [node]
    while row:
        levels += 1
        row = [
            c
            for t in row
            if tree.children_left[t] != LEAF
            for c in (tree.children_left[t], tree.children_right[t])
        ]
    return levels


def leaf_writer(model, class_names, decimals, show_weights):
    """A function that puts a leaf into words."""
    tree, classes = model.tree_, getattr(model, "classes_", None)
    named = class_names is not None and classes is not None
    if named and len(class_names) != len(classes):
        raise ValueError(
            f"class_names must contain {len(classes)} elements, got {len(class_names)}."
        )

    def write(node):
        value = tree.value[node]
        if classes is None or isinstance(classes, list):
            flat = value if classes is None else value.reshape(1, -1)
            numbers = ", ".join(f"{v:.{decimals}f}" for v in np.ravel(flat))
            return f"value: [{numbers}]"
        names = classes if class_names is None else class_names
        text = f"class: {names[np.argmax(value[0])]}"
        if not show_weights:
            return text
        sums = value[0] * tree.weighted_n_node_samples[node]
        return f"weights: [{', '.join(f'{v:.{decimals}f}' for v in sums)}] {text}"

    return write


def export_rules(decision_tree, *, feature_names=None, class_names=None, decimals=2):
    """One rule per leaf, from left to right: mutually exclusive and exhaustive.

    Several conditions on one feature are drawn together to the tightest.

    Examples
    --------
    >>> from pansophy.tree import DecisionTreeClassifier, export_rules
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["a", "a", "b"])
    >>> export_rules(model, feature_names=["size"])
    ['if size <= 2.50 then class: a', 'if size > 2.50 then class: b']
    """
    check_is_fitted(decision_tree)
    tree = decision_tree.tree_
    names = name_features(tree, feature_names)
    leaf = leaf_writer(decision_tree, class_names, decimals, False)
    rules, stack = [], [(0, {})]
    while stack:
        node, limits = stack.pop()
        if tree.children_left[node] == LEAF:
            tests = [
                f"{names[f]} {sign} {v:.{decimals}f}" for (f, sign), v in limits.items()
            ]
            rules.append(f"if {' and '.join(tests) or 'true'} then {leaf(node)}")
            continue
        f, v = int(tree.feature[node]), float(tree.threshold[node])
        upper = min(v, limits.get((f, "<="), np.inf))
        lower = max(v, limits.get((f, ">"), -np.inf))
        stack.append((tree.children_right[node], {**limits, (f, ">"): lower}))
        stack.append((tree.children_left[node], {**limits, (f, "<="): upper}))
    return rules
