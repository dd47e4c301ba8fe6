"""The kept method on other folds: of shuffled rows, or of other units of a panel.

Where rows of one person stay together, or later rows are predicted from earlier ones,
the score is worse than that of shuffled folds, which test on rows of known people and
between known moments. Both numbers are shown, so that a reader sees what the design is
worth and can say which of the two questions is theirs. In a panel later rows are of the
same units or of new ones; the score of the other of these is shown as well.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..tables import TableError
from .evaluation.paired_tests import DUMMY
from .execution.trials import run_trials
from .splits import make_splits

TRIED = 3  # methods, where the dummy is kept


class ShuffledScore(NamedTuple):
    """Score of a method on folds of shuffled rows."""

    method: str
    score: float


def score_on_shuffled_rows(comparison) -> ShuffledScore | None:
    """The kept method on shuffled folds, or the best of the next if it is the dummy."""
    c = comparison
    data = replace(c.data, group=None, time=None)
    schema = replace(c.schema, group=None, time=None)
    split = make_splits(
        data, schema, folds=c.settings["folds"], seed=c.settings["seed"]
    )
    return _best_score(c, data, schema, split)


def score_on_other_units(comparison) -> ShuffledScore | None:
    """The kept method for later rows of new units, or of the same if they were new."""
    c = comparison
    options = {"folds": c.settings["folds"], "seed": c.settings["seed"]}
    other_units = "new" if c.split.units == "same" else "same"
    options["folds"] = len(np.unique([test.min() for _, test in c.split.folds]))
    try:
        split = make_splits(c.data, c.schema, units=other_units, **options)
    except TableError:
        return None
    return _best_score(c, c.data, c.schema, split)


def _best_score(c, data, schema, split) -> ShuffledScore | None:
    """The kept method on other folds; of a few others if the dummy is kept."""
    names = [c.winner]
    if c.winner == DUMMY:
        names = [r.method for r in c.leaderboard if r.method != DUMMY][:TRIED]
    methods = [c.trial(name).method for name in names]
    trials, _ = run_trials(
        methods, data, schema, c.metrics, split, c.limits, None, False
    )
    scores = [
        ShuffledScore(t.method.name, float(np.mean(t.scores[c.metric])))
        for t in trials
        if not t.failure
    ]
    sign = -1.0 if c.metrics[0].greater else 1.0
    return min(scores, key=lambda s: sign * s.score, default=None)
