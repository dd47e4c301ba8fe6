"""Association rules: frequent itemsets, and rules of the form "A, hence C".

Of n transactions (sets of items) let supp(I) be the share that holds all of I. A set is
frequent if supp(I) >= min_support. A part of a set is in at least as many
transactions,

    I in J  =>  supp(I) >= supp(J),                                              (1)

so only frequent sets need be extended. For a frequent set cut in two, A and C,

    confidence(A -> C) = supp(A u C) / supp(A)             estimates P(C | A)    (2)
    lift(A -> C) = confidence / supp(C)                    1 if independent      (3)
    leverage = supp(A u C) - supp(A) supp(C),  conviction = (1 - supp(C)) / (1 - conf)

and moving an item from A to C can only lower the confidence, by (1), so a rule that
fails need not be tried with a longer C.

Frequent sets are found depth first: every item is the set of transactions that hold
it, as bits; a set of items is their intersection, counted 64 at a time, and sets that
share a prefix are extended together. Items are taken from rare to common, which keeps
the intersections small. Threads take different first items.

Memory    n / 8 bytes for each item, and as much for each set on the current path
Refs      [Agrawal1994] (1); [Zaki2000] intersections
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..core.loops import threads
from ..params import Count, Fraction, NonNegative, check_params
from . import _association_rules as loops
from .name_codes import check_labels, encode_names, frame_columns
from .ratings import Ratings


class Itemset(NamedTuple):
    """A frequent set."""

    items: tuple
    support: float


class AssociationRule(NamedTuple):
    """antecedent -> consequent, and eq. (2), (3) about it."""

    antecedent: tuple
    consequent: tuple
    support: float
    confidence: float
    lift: float
    leverage: float
    conviction: float


def _transaction_matrix(X):
    """(CSR of transactions by items, names) from lists, a 0/1 table or ratings."""
    if isinstance(X, Ratings):
        return X.order, X.item_names
    if sp.issparse(X):
        C = sp.csr_array(X)
        C.sum_duplicates()
        C.eliminate_zeros()
        return C, np.arange(C.shape[1])
    if hasattr(X, "columns"):
        column_of, names = frame_columns(X)
        table = np.column_stack([np.asarray(column_of(c, "items")) for c in names])
        return _sparse_indicator(table), check_labels(names)
    if hasattr(X, "dtype"):
        table = np.asarray(X)
        return _sparse_indicator(table), np.arange(
            table.shape[1] if table.ndim == 2 else 0
        )
    sets = [sorted(set(basket)) for basket in X]
    sizes = [len(basket) for basket in sets]
    codes, names = encode_names([item for basket in sets for item in basket], "items")
    indptr = np.r_[0, np.cumsum(sizes)]
    shape = (len(sets), len(names))
    return sp.csr_array((np.ones(len(codes), bool), codes, indptr), shape), names


def _sparse_indicator(table):
    """A table of 0 and 1 (or False and True) as a sparse matrix."""
    if table.ndim != 2 or not np.isin(table, (0, 1)).all():
        raise ValueError("a table of transactions must hold 0 and 1 in 2 dimensions.")
    return sp.csr_array(table.astype(bool))


def _frequent_itemsets(C, least, longest=None) -> dict[tuple, int]:
    """Every set of columns that at least `least` rows hold, with its count."""
    counts = np.bincount(C.indices, minlength=C.shape[1])
    items = np.flatnonzero(counts >= least)
    items = items[np.argsort(counts[items], kind="stable")]  # rare ones first
    place = np.full(C.shape[1], len(items))
    place[items] = np.arange(len(items))
    kept = place[C.indices] < len(items)
    ends = np.r_[0, np.cumsum(kept)][C.indptr]
    bits = loops.pack_transactions(ends, place[C.indices[kept]], len(items))
    longest = len(items) if longest is None else longest

    def extend(prefix, items, bits, a, itemsets):
        """All sets that begin with prefix and items[a], depth first."""
        head = (*prefix, int(items[a]))
        if len(head) >= longest or a + 1 >= len(items):
            return itemsets
        rows, shared, extensions = loops.frequent_extensions(bits, a, least)
        tails = items[rows]
        for b, count in zip(tails.tolist(), shared.tolist()):
            itemsets.append(((*head, b), count))
        for b in range(len(tails)):
            extend(head, tails, extensions, b, itemsets)
        return itemsets

    tasks = [lambda a=a: extend((), items, bits, a, []) for a in range(len(items))]
    itemsets = {(int(i),): int(counts[i]) for i in items}
    for result in threads.run_tasks(tasks):
        itemsets.update((tuple(sorted(names)), count) for names, count in result)
    return itemsets


def _rules_from_itemsets(sets: dict[tuple, int], n, confidence, lift, name: Callable):
    """All rules with at least this confidence and lift."""
    rules = []
    for itemset, count in sets.items():
        if len(itemset) < 2:
            continue
        heads = [(i,) for i in itemset]
        while heads:
            good = set()
            for C in heads:
                A = tuple(i for i in itemset if i not in C)
                if count >= confidence * sets[A] * (1 - 1e-12):
                    good.add(C)
                    rule = _rule_measures(name(A), name(C), count, sets[A], sets[C], n)
                    if rule.lift >= lift:
                        rules.append(rule)
            size = len(heads[0]) + 1
            if size >= len(itemset):
                break
            heads = [  # longer consequents of which every part has passed
                C for C in combinations(itemset, size)
                if all(p in good for p in combinations(C, size - 1))
            ]  # fmt: skip
    return rules


def _rule_measures(A, C, both, a, c, n) -> AssociationRule:
    """Eq. (2) and (3) from counts."""
    support, conf, rate = both / n, both / a, c / n
    odds = np.inf if both == a else (1 - rate) / (1 - conf)
    return AssociationRule(
        A, C, support, conf, conf / rate, support - a / n * rate, odds
    )


@dataclass(eq=False, repr=False)
class AssociationRules(Estimator):
    """Frequent sets of items, and the rules they give.

    Parameters
    ----------
    min_support : float, default 0.1
        Least share of transactions that a set must be in.
    min_confidence : float
        Least confidence of a rule.
    min_lift : float
        Least lift of a rule.
    max_length : int or None
        Most items in a set; None is no limit.

    Attributes
    ----------
    itemsets_ : list of Itemset
        The frequent sets: shorter ones first, then by falling support.
    rules_ : list of Rule
        By falling confidence, then lift, then support.
    items_ : array
        The names of all items.
    n_transactions_ : int

    Examples
    --------
    >>> from pansophy.recommend import AssociationRules
    >>> baskets = [["bread", "milk"], ["bread", "beer"], ["bread", "milk", "beer"],
    ...            ["milk"]]
    >>> model = AssociationRules(0.5, min_confidence=0.6).fit(baskets)
    >>> for rule in model.rules_:
    ...     print(rule.antecedent, rule.consequent, round(rule.confidence, 3))
    ('beer',) ('bread',) 1.0
    ('bread',) ('beer',) 0.667
    ('bread',) ('milk',) 0.667
    ('milk',) ('bread',) 0.667
    >>> model.recommend(["beer"])
    ['bread']
    """

    min_support: Fraction = 0.1
    _: KW_ONLY
    min_confidence: Fraction = 0.5
    min_lift: NonNegative = 0.0
    max_length: Count | None = None

    def fit(self, X, y=None):
        """Find the sets and rules.

        Parameters
        ----------
        X : list of lists of items, table or sparse matrix of 0 and 1, or `Ratings`
            The transactions. Columns of a data frame give the items their names; the
            items a user has rated are a transaction.
        y : None
            Not used.
        """
        check_params(self)
        C, names = _transaction_matrix(X)
        n = C.shape[0]
        if n == 0:
            raise ValueError("AssociationRules needs at least one transaction (row).")
        min_count = max(1, ceil(self.min_support * n - 1e-9))
        sets = _frequent_itemsets(C, min_count, self.max_length)
        name = lambda codes: tuple(names[list(codes)].tolist())
        rules = _rules_from_itemsets(sets, n, self.min_confidence, self.min_lift, name)
        self.itemsets_ = [
            Itemset(name(s), count / n)
            for s, count in sorted(sets.items(), key=lambda p: (len(p[0]), -p[1], p[0]))
        ]
        self.rules_ = sorted(
            rules, key=lambda r: (-r.confidence, -r.lift, -r.support, r[:2])
        )
        self.items_, self.n_transactions_ = names, n
        return self

    def recommend(self, basket, n=10) -> list:
        """The items that rules about this basket lead to, most confident first."""
        check_is_fitted(self)
        owned = set(basket)
        recommended = []
        for rule in self.rules_:
            if owned.issuperset(rule.antecedent):
                recommended += [
                    i
                    for i in rule.consequent
                    if i not in owned and i not in recommended
                ]
        return recommended[:n]

    def to_frame(self, backend="pandas") -> Any:
        """The rules as a data frame of pandas, polars or pyarrow."""
        import narwhals as nw

        check_is_fitted(self)
        columns = {
            f: [getattr(r, f) for r in self.rules_] for f in AssociationRule._fields
        }
        for f in ("antecedent", "consequent"):
            columns[f] = [", ".join(map(str, items)) for items in columns[f]]
        return nw.from_dict(columns, backend=backend).to_native()
