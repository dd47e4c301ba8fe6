"""Conformal intervals and sets along time, adapted to how earlier ones fared.

Along time rows are not exchangeable: errors grow, levels shift, and the quantile of all
earlier scores (`conformal`, eq. (1)) may hold far fewer rows than it says. Adaptive
conformal inference corrects the level by what was missed before. Rows come in blocks
f = 1, 2, ... (the folds along time, then what is observed later), each predicted by a
model that knows the blocks before it. With level L, alpha = 1 - L, scores |y - m(x)|,
and Q_f the larger of their conformal quantiles over all blocks before f and over block
f - 1 alone, the interval of block f is

    m(x) +- exp(max(theta_f, -c_f)) Q_f,   c_f = max(0, f - 7) / 4               (1)
    theta_{f+1} = theta_f + eta_f (err_f - alpha),   theta_2 = 0,                (2)

err_f the share of block f outside m(x) +- exp(theta_f) Q_f, eta_f = 1.5 times the rows
of the block over those of the largest. Summing (2) over the blocks f = 2 .. F,

    | sum_f eta_f (err_f - alpha) | / sum_f eta_f = |theta_{F+1}| / sum_f eta_f,

so that in the long run the share of rows missed is alpha, whatever the series does, as
long as scores stay bounded: theta cannot run away, since a wide enough interval misses
nothing. Working on the logarithm of the reach, it can widen beyond the largest score
that was seen. The floor in (1) errs on the wide side as long as blocks are few. Scores
of classes lie between 0 and 1 and are not scaled; there the level itself moves,

    L_{f+1} = L_f + gamma_f (err_f - alpha),   gamma_f = eta_f / 3,              (3)

and the quantile of all blocks before at level max(L_f, L - c_f / 3) is used.

**What is promised.** The long run needs the answers of each block before the next is
predicted (`TableModel.update_intervals`). For a single block ahead nothing can be
promised: the future may be unlike anything seen. `backtest` tells what share of the
later blocks intervals made in this way have held. Blocks ahead are as long as those
seen; rows farther ahead are less sure.

Cost      O(F N log N) for F blocks of N scores in all, at most 400 kept of a block
Refs      [Gibbs2021] (3); [Angelopoulos2023] tracking the quantile, (2)
"""

from typing import NamedTuple

import numpy as np

from ...diagnose.data.row_counts import weights_as_counts
from .conformal import (
    PredictionSetRule,
    class_scores,
    prediction_sets,
    weighted_score_quantile,
)
from .residual_scale import never_negative
from .statistics import check_level

STEP = 1.5  # eta of a whole block
MAX_BLOCK_SCORES = 400
MAX_BLOCKS = 60
FEW_BLOCKS = 6  # so many folds are not enough to make intervals narrower
MOST_WIDENING = 7.0  # of theta: a factor of 1000


class AdaptiveReach(NamedTuple):
    """Quantile for the next block, and the coverage of the blocks so far."""

    quantile: float  # how far the next interval reaches, or the score of a set
    coverage: float  # share of the rows of the blocks predicted so far; NaN: none


class AdaptiveScores(NamedTuple):
    """Scores of rows in blocks along time, by models that did not know the block."""

    task: str
    scores: np.ndarray  # (N,) |y - p|, or of the true classes
    counts: np.ndarray  # (N,) rows that each stands for
    block: np.ndarray  # (N,) 0, 1, ... in order of time
    kind: str = "aps"  # of sets
    non_negative: bool = False  # no answer was below 0

    def reach(self, level) -> AdaptiveReach:
        """Eqs. (1)-(3): the quantile for the next block."""
        check_level(level)
        last = int(self.block.max()) + 1
        rows = np.bincount(self.block, self.counts, last)
        adapt = _level_step if self.task == "classification" else _reach_step
        state = 0.0
        covered = 0.0
        predicted = 0.0
        for f in range(1, last):
            in_block = self.block == f
            used, tracked = adapt(self, f, level, state)
            if not np.isfinite(tracked) and self.task != "classification":
                continue  # too few rows before it for the level
            covered += rows[f] * _held_share(self, in_block, used)
            predicted += rows[f]
            missed = 1 - _held_share(self, in_block, tracked)
            state += STEP * rows[f] / rows.max() * (missed - (1 - level))
        used, _ = adapt(self, last, level, state)
        return AdaptiveReach(used, covered / predicted if predicted else np.nan)

    def backtest(self, level) -> float:
        """The share of rows that intervals or sets made from earlier blocks held."""
        return self.reach(level).coverage

    def interval(self, p, level, frame=None) -> np.ndarray:
        """(n, 2) around predictions (n,); equally wide, whatever the frame."""
        q = self.reach(level).quantile
        ends = np.column_stack([p - q, p + q])
        bounded = self.non_negative or self.task == "count"
        return np.maximum(ends, 0.0) if bounded else ends

    def sets(self, p, level, frame=None) -> np.ndarray:
        """(n, K) of bool for probabilities (n, K) of the rows of a frame."""
        rule = PredictionSetRule(self.kind, level, (self.reach(level).quantile,))
        digits = None if frame is None or self.kind == "lac" else frame.digits()
        return prediction_sets(p, rule, digits)

    def extended(self, scores) -> "AdaptiveScores":
        """With the scores of rows observed since.

        They are a block of their own, once the last one has half the rows of the
        largest.
        """
        scores = np.asarray(scores, dtype=float)
        counts = np.ones(len(scores))
        rows = np.bincount(self.block, self.counts)
        last = len(rows) - 1
        kept = self.block >= max(last + 2 - MAX_BLOCKS, 0)
        if rows[-1] < rows.max() / 2:  # joins the last block
            in_last_block = self.block == last
            scores = np.concatenate([self.scores[in_last_block], scores])
            counts = np.concatenate([self.counts[in_last_block], counts])
            kept &= ~in_last_block
            last -= 1
        scores, counts = _thinned_scores(scores, counts)
        block = np.concatenate([self.block[kept], np.full(len(scores), last + 1)])
        return self._replace(
            scores=np.concatenate([self.scores[kept], scores]),
            counts=np.concatenate([self.counts[kept], counts]),
            block=block - block.min(),
        )


def _held_share(held_out, rows, q) -> float:
    """The share of some rows whose scores are at most q."""
    return float(np.average(held_out.scores[rows] <= q, weights=held_out.counts[rows]))


def _scores_quantile(held_out, blocks, level) -> float:
    """The conformal quantile of the scores of some blocks."""
    return weighted_score_quantile(
        held_out.scores[blocks], level, held_out.counts[blocks]
    )


def _reach_step(held_out, f, level, theta) -> tuple[float, float]:
    """Eq. (1) for block f: the reach that is used, and the one that is tracked."""
    base = _scores_quantile(held_out, held_out.block < f, level)
    latest = _scores_quantile(held_out, held_out.block == f - 1, level)
    if np.isfinite(latest):
        base = max(base, latest)
    theta = min(theta, MOST_WIDENING)
    used = max(theta, -_lowered_floor(f))
    return float(base * np.exp(used)), float(base * np.exp(theta))


def _level_step(held_out, f, level, shift) -> tuple[float, float]:
    """Eq. (3) for block f: the quantile that is used, and the one that is tracked."""
    is_earlier = held_out.block < f
    quantile_for = lambda s: (
        np.inf
        if level + s >= 1
        else _scores_quantile(held_out, is_earlier, max(level + s, 1e-3))
    )
    return quantile_for(max(shift, -_lowered_floor(f)) / 3), quantile_for(shift / 3)


def _lowered_floor(f) -> float:
    """c_f of eq. (1): intervals may become narrower once blocks are many."""
    return max(0, f - FEW_BLOCKS) / 4


def _thinned_scores(scores, counts=None) -> tuple[np.ndarray, np.ndarray]:
    """At most MAX_BLOCK_SCORES scores of a block, and the rows each stands for."""
    counts = np.ones(len(scores)) if counts is None else counts
    if len(scores) <= MAX_BLOCK_SCORES:
        return scores, counts
    order = np.argsort(scores, kind="stable")
    # the largest score of each of as many parts: never too small
    ends = np.linspace(0, len(scores), MAX_BLOCK_SCORES + 1).round().astype(int)
    sums = np.add.reduceat(counts[order], ends[:-1])
    return scores[order][ends[1:] - 1], sums


def set_kind(p) -> str:
    """The kind of sets for probabilities (n, K): of two classes never randomised."""
    return "lac" if p.shape[1] == 2 else "aps"


def true_class_scores(y, p, frame=None, kind="aps") -> np.ndarray:
    """Scores of the true classes; those of APS are randomised by the rows."""
    u = None if frame is None or kind == "lac" else frame.digits()
    return class_scores(p, kind, u)[np.arange(len(y)), y]


def fit_adaptive_scores(
    task, y, p, block, frame=None, weights=None
) -> AdaptiveScores | None:
    """From answers and predictions of blocks along time, if there are any.

    Parameters
    ----------
    y, p : arrays (n,) and (n,) or (n, K)
        Answers, and predictions by models that knew earlier rows only.
    block : array (n,)
        Which fold along time predicted each row; below 0: none.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare.evaluation.adaptive_conformal import fit_adaptive_scores
    >>> rng = np.random.default_rng(0)
    >>> block = np.repeat([0, 1, 2, 3], 50)
    >>> y = rng.normal(size=200) * (1 + block)  # errors that grow
    >>> held = fit_adaptive_scores("regression", y, np.zeros(200), block)
    >>> low, high = held.interval(np.zeros(1), 0.9)[0]
    >>> bool(np.quantile(abs(y), 0.9) < high), bool(held.backtest(0.9) > 0.8)
    (True, True)
    """
    p, y, block = np.asarray(p, dtype=float), np.asarray(y), np.asarray(block)
    known = np.isfinite(p.reshape(len(p), -1)).all(axis=1) & (block >= 0)
    known &= True if weights is None else np.asarray(weights) > 0
    if task == "multilabel" or not known.any():
        return None
    rows = np.flatnonzero(known)
    if task == "classification":
        part = None if frame is None else frame[rows]
        kind = set_kind(p)
        scores = true_class_scores(y[rows], p[rows], part, kind)
    else:
        kind = "aps"
        scores = np.abs(y[rows] - p[rows])
    counts = (
        np.ones(len(rows))
        if weights is None
        else weights_as_counts(np.asarray(weights, dtype=float)[rows])
    )
    codes = np.unique(block[rows], return_inverse=True)[1].ravel()
    parts = [
        _thinned_scores(scores[codes == f], counts[codes == f])
        for f in np.unique(codes)
    ]
    return AdaptiveScores(
        task,
        np.concatenate([s for s, _ in parts]),
        np.concatenate([c for _, c in parts]),
        np.repeat(np.arange(len(parts)), [len(s) for s, _ in parts]),
        kind,
        task != "classification" and never_negative(y[rows]),
    )
