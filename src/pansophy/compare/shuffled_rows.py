"""The kept method on folds of shuffled rows, where its own folds respect a design.

Where rows of one person stay together, or later rows are predicted from earlier ones,
the score is worse than that of shuffled folds, which test on rows of known people and
between known moments. Both numbers are shown, so that a reader sees what the design is
worth and can say which of the two questions is theirs.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

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
