"""Rules of a tree: one conjunction of conditions per leaf, and their pruning.

The way from the root to a leaf is a conjunction of tests; the tree is the disjunction
of its ways. Several tests of one column are drawn together to the tightest, so the
rules of a tree are short, mutually exclusive and exhaustive.

Rule post-pruning forgets the tree. With c right of n held-out rows that a rule covers
and K classes, its accuracy is estimated by

    a = (c + 1) / (n + K)                                                       (1)

(an unseen rule is a guess). Tests are dropped one at a time, each time the one whose
absence gives the highest a, while a does not fall. Rules then overlap, so they are
sorted by a and the first that covers a row answers; rules that are then never the
first are left out, and rows that none covers get the majority class. Dropping a test
can only let more rows in.

Refs      [Quinlan1987] rules of a tree and their pruning; [Mitchell1997] section 3.7
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays.weighted import check_sample_weight
from .export import leaf_writer
from .tree_view import class_names_of, fitted_tree, rows_as_codes, view_tree


class LeafRule(NamedTuple):
    """If all tests hold, then the value of a leaf."""

    tests: tuple
    value: np.ndarray  # (outputs, 1 or classes), as at the leaf
    rows: float  # training rows
    weight: float
    impurity: float
    confidence: float  # share of the class at the leaf, or the held-out estimate
    says: str  # the outcome in words

    def covers(self, X):
        """Mask of the rows of codes X that pass all tests."""
        mask = np.ones(len(X), bool)
        for test in self.tests:
            mask &= test.holds(X)
        return mask


@dataclass(eq=False)
class RuleList:
    """Rules in the order in which they are asked; the first that fits answers.

    Examples
    --------
    >>> from pansophy.tree import DecisionTreeClassifier, extract_rules
    >>> X, y = [[1, 0], [2, 0], [3, 0]], ["a", "a", "b"]
    >>> rules = extract_rules(DecisionTreeClassifier().fit(X, y))
    >>> print(rules)
    1. if feature_0 <= 2.50 then class: a (2 rows)
    2. if feature_0 > 2.50 then class: b (1 row)
    never used: feature_1
    >>> rules.table()["rows"]
    [2, 1]
    """

    model: Any
    rules: list
    names: list
    tables: tuple = ()
    default: Any = field(default=None, repr=False)  # value where no rule fits
    decimals: int = 2

    def __len__(self):
        return len(self.rules)

    def __iter__(self):
        return iter(self.rules)

    def __getitem__(self, i):
        return self.rules[i]

    @property
    def unused(self) -> list:
        """Names of the columns that no rule asks."""
        used = {t.feature for rule in self.rules for t in rule.tests}
        return [name for f, name in enumerate(self.names) if f not in used]

    def conditions(self, rule, missing=False) -> list:
        """The tests of a rule as texts."""
        options = {"decimals": self.decimals, "missing": missing}
        return [t.words(self.names, self.tables, **options) for t in rule.tests]

    def text(self, rule, missing=False) -> str:
        """A rule as one sentence."""
        tests = " and ".join(self.conditions(rule, missing)) or "true"
        return f"if {tests} then {rule.says}"

    def covers(self, X):
        """(n, rules) mask: which rules fit which rows."""
        codes = rows_as_codes(self.model, X)
        return np.stack([rule.covers(codes) for rule in self.rules], axis=1)

    def apply(self, X):
        """The number of the first rule that fits each row, -1 if none does."""
        return self.first(rows_as_codes(self.model, X))

    def first(self, codes):
        """First rule that fires on rows of codes; reads only rows still unanswered."""
        out = np.full(len(codes), -1)
        left = np.arange(len(codes))
        for i, rule in enumerate(self.rules):
            fits = rule.covers(codes[left])
            out[left[fits]] = i
            left = left[~fits]
        return out

    def predict(self, X):
        """Prediction of the first rule that fits."""
        values = np.stack([*(rule.value for rule in self.rules), self.default])
        return predictions_of_values(self.model, values)[self.apply(X)]

    def score(self, X, y, sample_weight=None):
        """Accuracy, or the coefficient of determination for numbers."""
        from sklearn.metrics import accuracy_score, r2_score

        measure = accuracy_score if hasattr(self.model, "classes_") else r2_score
        return measure(y, self.predict(X), sample_weight=sample_weight)

    def table(self) -> dict:
        """Columns by name, ready for a data frame."""
        classes = class_names_of(self.model)
        what = "value" if classes is None else "class"
        out = self.rules
        shown = predictions_of_values(
            self.model, np.stack([r.value for r in out])
        ).tolist()
        return {
            "conditions": [" and ".join(self.conditions(r)) for r in out],
            what: shown,
            "rows": [r.rows for r in out],
            "weight": [r.weight for r in out],
            "impurity": [r.impurity for r in out],
            "confidence": [r.confidence for r in out],
            "length": [len(r.tests) for r in out],
        }

    def __str__(self):
        count = lambda r: f"{r.rows:g} row{'s' if r.rows != 1 else ''}"
        lines = [
            f"{i}. {self.text(rule)} ({count(rule)})"
            for i, rule in enumerate(self.rules, 1)
        ]
        unused = self.unused
        return "\n".join(lines + ([f"never used: {', '.join(unused)}"] * bool(unused)))


def predictions_of_values(model, values):
    """Predictions of leaves that hold these values."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return values[:, 0, 0] if values.shape[1] == 1 else values[:, :, 0]
    best = values.argmax(axis=2)
    if not isinstance(classes, list):
        return classes[best[:, 0]]
    return np.stack([c[b] for c, b in zip(classes, best.T)], axis=1)


def merge_conditions(tests):
    """Tests of the same column and sign as one, in the order of the way."""
    merged = {}
    for test in tests:
        key = (test.feature, test.sign)
        merged[key] = merged[key].both(test) if key in merged else test
    return tuple(merged.values())


def extract_rules(
    decision_tree, *, feature_names=None, class_names=None, decimals=2
) -> RuleList:
    """One rule per leaf, from left to right: mutually exclusive and exhaustive.

    Parameters
    ----------
    decision_tree : fitted decision tree
    feature_names, class_names : sequence of str, default=None
    decimals : int, default=2
        Of thresholds in texts.

    Returns
    -------
    RuleList
    """
    seen = view_tree(decision_tree, feature_names)
    tree = fitted_tree(decision_tree)
    says = leaf_writer(decision_tree, class_names, decimals)
    weight, impurity, value = tree.weighted_n_node_samples, tree.impurity, tree.value
    rows = getattr(tree, "n_node_samples", weight)
    is_class = hasattr(decision_tree, "classes_")
    rules = [
        LeafRule(
            merge_conditions(way),
            value[leaf],
            rows[leaf].item(),
            float(weight[leaf]),
            float(impurity[leaf]),
            float(value[leaf, 0].max()) if is_class else float("nan"),
            says(leaf),
        )
        for leaf, way in seen.leaves()
    ]
    return RuleList(
        decision_tree, rules, seen.names, seen.tables, value[0], decimals=decimals
    )


def export_rules(
    decision_tree,
    *,
    feature_names=None,
    class_names=None,
    decimals=2,
    show_missing=False,
):
    """One rule per leaf as text, from left to right: mutually exclusive, exhaustive.

    `extract_rules` gives the same rules as objects that predict, as a table, and with
    the columns that are never used.

    Parameters
    ----------
    decision_tree : fitted decision tree
    feature_names, class_names : sequence of str, default=None
    decimals : int, default=2
    show_missing : bool, default=False
        Whether to say where missing values go.

    Examples
    --------
    >>> from pansophy.tree import DecisionTreeClassifier, export_rules
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["a", "a", "b"])
    >>> export_rules(model, feature_names=["size"])
    ['if size <= 2.50 then class: a', 'if size > 2.50 then class: b']
    """
    rules = extract_rules(
        decision_tree,
        feature_names=feature_names,
        class_names=class_names,
        decimals=decimals,
    )
    return [rules.text(rule, show_missing) for rule in rules]


def prune_rules(
    model, X_val, y_val, sample_weight=None, *, keep_all=False, **names
) -> RuleList:
    """The rules of a classification tree, shortened on held-out rows and sorted.

    Parameters
    ----------
    model : fitted decision tree for classes, or RuleList of one
    X_val, y_val : held-out rows and their classes
    sample_weight : array of shape (n,), default=None
    keep_all : bool, default=False
        Whether to keep rules that decide no held-out row.
    **names
        `feature_names`, `class_names` and `decimals` of `extract_rules`.

    Returns
    -------
    RuleList
        Sorted by the estimate (1), which `confidence` holds; `default` is the
        majority of the held-out rows that no rule covers, or of the training rows.

    Examples
    --------
    >>> from pansophy.tree import DecisionTreeClassifier, prune_rules
    >>> X, y = [[1, 3], [2, 1], [3, 2], [4, 1]], ["a", "a", "b", "b"]
    >>> model = DecisionTreeClassifier().fit(X, y)
    >>> print(prune_rules(model, X, y)[0].says)
    class: a
    """
    if isinstance(model, RuleList) and names:
        raise TypeError(f"a RuleList has its names already: drop {sorted(names)}.")
    rules = model if isinstance(model, RuleList) else extract_rules(model, **names)
    model = rules.model
    classes = getattr(model, "classes_", None)
    if classes is None or isinstance(classes, list):
        raise TypeError("prune_rules takes a classification tree with one output.")
    codes = rows_as_codes(model, X_val)
    y = np.asarray(y_val)
    w = check_sample_weight(sample_weight, len(codes))
    w = np.ones(len(codes)) if w is None else w
    codes, y, w = codes[w > 0], y[w > 0], w[w > 0]
    short = {}
    for rule in rules:
        right = w * (y == classes[int(rule.value[0].argmax())])
        new = shorten_rule(rule, codes, w, right, len(classes))
        key = (frozenset(new.tests), new.says)
        if key not in short or short[key].confidence < new.confidence:
            short[key] = new
    ordered = sorted(short.values(), key=lambda r: -r.confidence)  # stable
    pruned = RuleList(
        model, ordered, rules.names, rules.tables, rules.default, rules.decimals
    )
    first = pruned.first(codes)
    if not keep_all:
        pruned.rules = [rule for i, rule in enumerate(ordered) if np.any(first == i)]
    left = first < 0
    mass = np.array([w[left & (y == c)].sum() for c in classes])
    if mass.sum() > 0:
        pruned.default = (mass / mass.sum())[None, :]
    return pruned


def shorten_rule(rule, codes, w, right, K) -> LeafRule:
    """A rule without the tests whose absence does not lower its estimate, eq. (1)."""
    tests = list(rule.tests)
    fails = np.array([~t.holds(codes) for t in tests]).reshape(len(tests), len(codes))
    estimate = lambda m: (m @ right + 1.0) / (m @ w + K)
    missed = fails.sum(axis=0)
    best = estimate((missed == 0).astype(float))
    while tests:
        covered = (missed - fails == 0).astype(float)  # (tests, n): without each
        a = estimate(covered)
        k = int(np.argmax(a))
        if a[k] < best - 1e-12:
            break
        best = max(best, float(a[k]))
        missed = missed - fails[k]
        fails = np.delete(fails, k, axis=0)
        del tests[k]
    return rule._replace(tests=tuple(tests), confidence=float(best))
