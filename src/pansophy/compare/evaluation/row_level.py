"""Row-level test against the dummy, where folds are too few to tell.

With J folds the corrected t of `statistics` has J - 1 degrees of freedom: three folds
need a difference of many standard errors, however many rows there are. Whether a method
beats the dummy is then tested on the held-out rows themselves, by the paired bootstrap
of `row_tests`, for each of the m ranked methods beside the dummy, and

    p = min(1, m p_row)                                                          (1)

is Bonferroni's adjustment for looking at any of them. The test sees the variance due to
the test rows, not that due to the training rows. So it is used only about the dummy and
only where folds are few; ranking and ties stay those of the folds. Rows along time are
dependent: there it is not made.
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
    >>> RowLevelTest(3, 600, 8, {"forest": 0.0004, "tree": 0.3}).beats_dummy("forest")
    True
    """

    folds: int  # in all
    rows: int
    ranked: int  # methods beside the dummy
    p: dict[str, float]  # of being no better than the dummy, eq. (1)

    def beats_dummy(self, name) -> bool:
        """Whether the method is significantly better than the dummy, row by row."""
        return self.p.get(name, 1.0) < SIGNIFICANCE_LEVEL


def row_level_test(
    trials, rows, metric, data=None, kind="", seed=0
) -> RowLevelTest | None:
    """Eq. (1) for methods tied with the best, if the dummy is among them.

    `kind` is that of the folds. None where there is nothing to test: the dummy is not
    tied or is itself the best, there are folds enough, or the metric is not a mean
    over rows.
    """
    by_name = {t.method.name: t for t in trials if not t.failure}
    tied = [r.method for r in rows if r.standing in ("best", "tied")]
    if DUMMY not in tied or rows[0].method == DUMMY or kind == "time-ordered":
        return None
    folds = len(by_name[DUMMY].scores[metric.name])
    losses = [by_name[name].losses for name in tied]
    has_losses = metric.row_losses is not None and all(v is not None for v in losses)
    if folds >= FEW_FOLDS or not has_losses:
        return None
    table = np.column_stack([np.asarray(v, dtype=float) for v in losses])
    seen = np.isfinite(table).all(1)
    if seen.sum() < 2:
        return None
    select = lambda a: None if a is None else np.asarray(a)[seen]
    weights = select(getattr(data, "weight", None))
    groups = select(getattr(data, "group", None))
    ranked = len(rows) - 1
    p = {}
    of_dummy = table[seen, tied.index(DUMMY)]
    for j, name in enumerate(tied):
        if name == DUMMY:
            continue
        d = paired_bootstrap(
            table[seen, j],
            of_dummy,
            weights=weights,
            groups=groups,
            n_resamples=2000,
            random_state=seed,
        )
        p[name] = float(min(1.0, ranked * d.p)) if d.mean < 0 else 1.0
    return RowLevelTest(folds, int(seen.sum()), ranked, p)
