"""The trial of a blend: evaluated on every fold, without a fit of its own.

See `methods.blending` for the weights and for why the evaluation is honest.
"""

from functools import partial

import numpy as np

from ..evaluation.paired_tests import DUMMY
from ..methods.blending import BLEND, greedy_weights, make_blend
from ..methods.excluded import SkipKind, SkippedMethod
from ..methods.tuning import metric_loss
from .fit_fold import Workload, fit_context, score_predictions
from .trials import Trial, refit_first_fold

MIN_BLEND_ROWS = 1000  # rows; see `methods.blending` for why not fewer


def with_blend_trial(
    trials, data, schema, metrics, split, limits
) -> tuple[list, SkippedMethod | None]:
    """The trials and that of their blend; or the trials, and why there is none."""
    done = [
        t
        for t in trials
        if not t.failure and t.stopped is None and t.method.name != DUMMY
    ]
    skip = lambda reason, kind=SkipKind.UNSUITED: SkippedMethod(BLEND, reason, kind)
    if len(done) < 2:
        return trials, skip("takes two methods that finish")
    if len(data) < MIN_BLEND_ROWS:
        size = f"{MIN_BLEND_ROWS:,} rows"
        return trials, skip(f"under {size} its scores would be too good to be true")
    if any(t.all_predictions is None for t in done):
        reason = "takes more memory for predictions than there is"
        return trials, skip(reason, SkipKind.OVER_LIMITS)
    context = fit_context(
        schema, split.folds, limits, metrics[0].name, split.times(data)
    )
    work = Workload(data, schema, metrics, split.folds, [], context, limits.threads)
    loss = metric_loss(schema.task, metrics[0].name)
    overall = blend_weights(range(len(split.folds)), done, work, split, loss)
    if np.sum(overall > 0) < 2:
        alone = done[int(overall.argmax())].method.name
        return trials, skip(f"no average is better than {alone} alone")
    return [*trials, make_blend_trial(done, overall, work, split, loss)], None


def blend_weights(folds, done, work, split, loss) -> np.ndarray:
    """Greedy weights of the methods from their predictions for some folds."""
    folds = list(folds)
    if not folds:
        return np.full(len(done), 1 / len(done))
    rows = np.concatenate([work.folds[f][1] for f in folds])
    repeat = np.concatenate(
        [np.full(len(work.folds[f][1]), f // split.per_repeat) for f in folds]
    )
    w = None if work.data.weight is None else work.data.weight[rows]
    P = np.stack([t.all_predictions[repeat, rows] for t in done])
    return greedy_weights(P, work.data.y[rows], loss, w)


def weighting_folds(f, split) -> range | list[int]:
    """Folds of the same repeat that may decide the weights evaluated on fold f."""
    begin = f // split.per_repeat * split.per_repeat
    if split.kind == "time-ordered":
        return range(begin, f)
    return [g for g in range(begin, begin + split.per_repeat) if g != f]


def make_blend_trial(done, overall, work, split, loss) -> Trial:
    """The trial: each fold with weights from other folds, eq. (2) of `blending`."""
    task = work.schema.task
    first = work.metrics[0]
    members = [t.method for t in done]
    scores: dict[str, list[float]] = {m.name: [] for m in work.metrics}
    fit_seconds, predict_seconds = [], []
    answers = np.full_like(done[0].all_predictions, np.nan)
    losses = np.full(answers.shape[:2], np.nan)
    of_first = overall
    for f, (_, test) in enumerate(work.folds):
        a = blend_weights(weighting_folds(f, split), done, work, split, loss)
        of_first = a if f == 0 else of_first
        repeat = f // split.per_repeat
        p = np.einsum("m,m...->...", a, [t.all_predictions[repeat, test] for t in done])
        for name, value in score_predictions(work, f, p).items():
            scores[name].append(value)
        answers[repeat, test] = p
        if first.row_losses is not None:
            losses[repeat, test] = first.row_losses(work.data.y[test], p)
        members_used = [t for t, v in zip(done, a) if v > 0]
        fit_seconds.append(sum(t.fit_seconds[f] for t in members_used))
        predict_seconds.append(sum(t.predict_seconds[f] for t in members_used))
    method = make_blend(members, overall, task)
    return Trial(
        method,
        scores,
        fit_seconds,
        predict_seconds,
        losses=None if first.row_losses is None else losses.mean(0),
        repeat_losses=None if first.row_losses is None else losses,
        losses_metric=first.name,
        predictions=answers[0],
        all_predictions=answers,
        refit=partial(refit_first_fold, work, make_blend(members, of_first, task)),
    )
