"""A second opinion on the dummy: from single rows, where folds are too few to tell.

With J folds the corrected t of `statistics` has J - 1 degrees of freedom: three folds
need a difference of many standard errors, however many rows there are. Whether a model
beats the dummy is then asked of the held-out rows themselves, by the paired bootstrap
of `held_out`, for each of the m ranked methods beside the dummy, and

    p = min(1, m p_row)                                                          (1)

allows for any of them being the one that is looked at. It sees the luck of the test
rows, not that of the training rows; so it speaks only about the dummy, only where folds
are few, and ranking and ties stay what the folds say. Rows along time hang together:
there it is silent.
"""

from typing import NamedTuple

import numpy as np

from .row_tests import paired_bootstrap

FEW_FOLDS = 10  # folds in all, below which rows are asked as well
SIGNIFICANCE_LEVEL = 0.05
DUMMY = "dummy"


class RowLevelTest(NamedTuple):
    """What held-out rows say about the methods that folds cannot tell from the dummy.

    Examples
    --------
    >>> from pansophy.compare.evaluation.row_level import RowLevelTest
    >>> RowLevelTest(3, 600, 8, {"forest": 0.0004, "tree": 0.3}).sure("forest")
    True
    """

    folds: int  # in all
    rows: int
    ranked: int  # methods beside the dummy
    p: dict[str, float]  # of being no better than the dummy, eq. (1)

    def sure(self, name) -> bool:
        """Whether the method beats the dummy row by row."""
        return self.p.get(name, 1.0) < SIGNIFICANCE_LEVEL

    def test(self, name) -> str:
        """Which test spoke, in brackets."""
        p = self.p[name]
        told = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
        many = f" after allowing for {self.ranked} methods" if self.ranked > 1 else ""
        return f"(paired bootstrap of {self.rows:,} held-out rows, {told}{many})"


def row_level_test(
    trials, rows, metric, data=None, kind="", seed=0
) -> RowLevelTest | None:
    """Eq. (1) for methods tied with the best, if the dummy is among them.

    `kind` is that of the folds. None where nothing is to be asked: the dummy is not
    tied or is itself the best, there are folds enough, or the metric is not a mean
    over rows.
    """
    known = {t.method.name: t for t in trials if not t.failure}
    tied = [r.method for r in rows if r.verdict in ("best", "tied")]
    if DUMMY not in tied or rows[0].method == DUMMY or kind == "time-ordered":
        return None
    folds = len(known[DUMMY].scores[metric.name])
    losses = {name: known[name].losses for name in tied}
    asked = metric.rows is not None and all(v is not None for v in losses.values())
    if folds >= FEW_FOLDS or not asked:
        return None
    table = np.column_stack([np.asarray(v, dtype=float) for v in losses.values()])
    seen = np.isfinite(table).all(1)
    if seen.sum() < 2:
        return None
    pick = lambda a: None if a is None else np.asarray(a)[seen]
    told = {k: pick(getattr(data, k[:-1], None)) for k in ("weights", "groups")}
    ranked, found = len(rows) - 1, {}
    for name in tied:
        if name == DUMMY:
            continue
        a, b = (table[seen, tied.index(n)] for n in (name, DUMMY))
        d = paired_bootstrap(a, b, **told, n_resamples=2000, random_state=seed)
        found[name] = float(min(1.0, ranked * d.p)) if d.mean < 0 else 1.0
    return RowLevelTest(folds, int(seen.sum()), ranked, found)
