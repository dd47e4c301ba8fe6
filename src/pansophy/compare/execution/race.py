"""The race: how many cross-validations each method gets, from the outcomes so far.

The rule is that of `evaluation.racing`. A method that races gets its first repeat; the
next one only when the methods before it have as many repeats, or are out, and when it
may still come first. What is decided depends on the losses of whole repeats alone, so
that it is the same in whatever order fits come back, and after a resume.

Baselines do not race, for they are what others are judged by; nor does a method whose
fits are predicted to take less than a second in all, which nobody would notice.
"""

import numpy as np

from ..evaluation.paired_tests import design_of
from ..evaluation.racing import (
    ALPHA,
    RaceStop,
    loss_reach,
    score_reach,
    stopping_p_value,
)
from ..evaluation.ranking import BASELINES
from ..methods.costs import fit_and_predict_seconds

RACE_SECONDS = 1.0  # of all fits of a method, from which it races


def racing_methods(work, split) -> list[int]:
    """Positions of the methods that race; none where there is one repeat."""
    if split.repeats < 2:
        return []
    n, tested = (np.mean([len(rows) for rows in part]) for part in zip(*work.folds))
    out = []
    for m, method in enumerate(work.methods):
        if method.name in BASELINES:
            continue
        # on the scale of the machine that was measured: the same everywhere
        seconds = fit_and_predict_seconds(method, work.schema, n, tested, factor=1.0)
        if seconds == 0 or seconds * len(work.folds) >= RACE_SECONDS:
            out.append(m)
    return out


class Race:
    """Decides on the methods that race; `update` after each outcome."""

    def __init__(self, work, split, racers):
        self.work, self.split = work, split
        self.racers = frozenset(racers)
        self.design = design_of(split, work.data)
        self.tests: dict[tuple[int, int, int], RaceStop] = {}  # (m, leader, r)
        self.stops: dict[int, RaceStop] = {}
        self.whole: list[int] = []  # repeats that each method has in whole
        self.means: dict[tuple[int, int], float] = {}  # (m, r)

    def update(self, aggregator, job_queue) -> None:
        """Decide what can be decided, and open or close the queue accordingly."""
        if not self.racers:
            return
        per_repeat = self.split.per_repeat
        self.stops = {}
        self.whole = [self.whole_repeats(done) for done in aggregator.done]
        for m in sorted(self.racers):
            repeats = 1
            while repeats < self.split.repeats and self.is_ready(
                aggregator, m, repeats
            ):
                stop = self.stop_after(aggregator, m, repeats)
                if stop is not None:
                    self.stops[m] = stop
                    break
                repeats += 1
            needed = repeats * per_repeat if m in self.stops else len(self.work.folds)
            job_queue.set_gate(m, repeats * per_repeat, needed)

    def whole_repeats(self, done) -> int:
        """The repeats, from the first on, of which every fold has scores."""
        f = 0
        while f in done and not done[f].failure:
            f += 1
        return f // self.split.per_repeat

    def is_ready(self, aggregator, m, repeats) -> bool:
        """Whether method m, and all before it that may lead, have so many repeats.

        A method that failed in a later repeat is ready as any other: it may be stopped
        before it would get there. Otherwise its gate opens up to the fold that failed,
        and the folds before that are done, so that nothing waits for ever.
        """
        if self.whole[m] < repeats:
            return False
        return all(
            self.whole[j] >= repeats or self.is_out(j, repeats) or aggregator.failure(j)
            for j in range(m)
        )

    def is_out(self, m, repeats) -> bool:
        """Whether method m was stopped before it had so many repeats."""
        return m in self.stops and self.stops[m].repeats < repeats

    def stop_after(self, aggregator, m, repeats) -> RaceStop | None:
        """The stop of method m after its first repeats, or None if it goes on."""
        rivals = [
            j
            for j in range(m)
            if not aggregator.failure(j) and not self.is_out(j, repeats)
        ]
        if not rivals:
            return None
        leader = min(rivals, key=lambda j: self.mean_loss(aggregator, j, repeats))
        key = m, leader, repeats
        if key not in self.tests:
            difference, error, df = self.reach(aggregator, *key)
            p = stopping_p_value(difference, error, df, len(self.work.methods))
            self.tests[key] = RaceStop(
                self.work.methods[leader].name,
                repeats,
                repeats * self.split.per_repeat,
                len(self.work.folds),
                difference,
                p,
            )
        test = self.tests[key]
        return test if test.p <= ALPHA / (self.split.repeats - 1) else None

    def mean_loss(self, aggregator, m, repeats) -> float:
        """Mean loss, or score with the sign of a loss, over the first repeats."""
        if (m, repeats) not in self.means:
            self.means[m, repeats] = self.compute_mean_loss(aggregator, m, repeats)
        return self.means[m, repeats]

    def compute_mean_loss(self, aggregator, m, repeats) -> float:
        if m not in aggregator.losses:
            return float(np.mean(self.fold_losses(aggregator, m, repeats)))
        losses = aggregator.losses[m][:repeats].mean(0)
        seen = np.isfinite(losses)
        weight = self.design.weight
        w = None if weight is None else np.asarray(weight)[seen]
        return float(np.average(losses[seen], weights=w))

    def fold_losses(self, aggregator, m, repeats) -> np.ndarray:
        """Scores of the first folds with the sign of a loss."""
        metric = self.work.metrics[0]
        folds = range(repeats * self.split.per_repeat)
        scores = [aggregator.done[m][f].scores[metric.name] for f in folds]
        return np.array(scores) * (-1.0 if metric.greater else 1.0)

    def reach(self, aggregator, m, leader, repeats) -> tuple[float, float, float]:
        """Difference from the leader, its error in eq. (2), and degrees of freedom."""
        total = self.split.repeats
        if m in aggregator.losses and leader in aggregator.losses:
            losses = aggregator.losses
            d = losses[m][:repeats] - losses[leader][:repeats]
            return loss_reach(d, total, self.design)
        d = self.fold_losses(aggregator, m, repeats)
        d = d - self.fold_losses(aggregator, leader, repeats)
        return score_reach(d, self.split.ratio, total, repeats)
