"""The blend of a comparison: judged on every fold, without a fit of its own.

See `methods.blending` for the weights and for why the test is an honest one.
"""

from functools import partial

import numpy as np

from ..judging.second import DUMMY
from ..methods.blending import blend_of, greedy_weights
from ..methods.tuning import loss_of
from .fold import Work, scored, setting_of
from .run import Trial, fitted_again

LEAST = 1000  # rows; see `methods.blending` for why not fewer


def with_blend(trials, data, schema, metrics, split, running) -> tuple[list, str]:
    """The trials and that of their blend; or the trials, and why there is none."""
    done = [t for t in trials if not t.failure and t.method.name != DUMMY]
    if len(done) < 2:
        return trials, "takes two methods that finish"
    if len(data) < LEAST:
        return trials, f"under {LEAST:,} rows its scores would be too good to be true"
    if any(t.answers is None for t in done):
        return trials, "takes more memory for predictions than there is"
    setting = setting_of(schema, split.folds, running, metrics[0].name)
    work = Work(data, schema, metrics, split.folds, [], setting, running.threads)
    loss = loss_of(schema.task, metrics[0].name)
    everywhere = weights_on(range(len(split.folds)), done, work, split, loss)
    if np.sum(everywhere > 0) < 2:
        alone = done[int(everywhere.argmax())].method.name
        return trials, f"no average is better than {alone} alone"
    found = judged(done, everywhere, work, split, loss)
    return [*trials, found], ""


def weights_on(folds, done, work, split, loss) -> np.ndarray:
    """Greedy weights of the methods by their answers for the rows of some folds."""
    folds = list(folds)
    if not folds:
        return np.full(len(done), 1 / len(done))
    rows = np.concatenate([work.folds[f][1] for f in folds])
    repeat = np.concatenate(
        [np.full(len(work.folds[f][1]), f // split.per_repeat) for f in folds]
    )
    w = None if work.data.weight is None else work.data.weight[rows]
    P = np.stack([t.answers[repeat, rows] for t in done])
    return greedy_weights(P, work.data.y[rows], loss, w)


def others(f, split) -> range | list[int]:
    """Folds of the repeat of f that may weigh what is judged on f."""
    begin = f // split.per_repeat * split.per_repeat
    if split.kind == "time-ordered":
        return range(begin, f)
    return [g for g in range(begin, begin + split.per_repeat) if g != f]


def judged(done, everywhere, work, split, loss) -> Trial:
    """The trial: each fold with weights from the others, eq. (2) of `blending`."""
    task, first = work.schema.task, work.metrics[0]
    members = [t.method for t in done]
    scores: dict[str, list[float]] = {m.name: [] for m in work.metrics}
    fits, asks = [], []
    answers = np.full_like(done[0].answers, np.nan)
    losses = np.full(answers.shape[:2], np.nan)
    of_first = everywhere
    for f, (_, test) in enumerate(work.folds):
        a = weights_on(others(f, split), done, work, split, loss)
        of_first = a if f == 0 else of_first
        repeat = f // split.per_repeat
        p = np.einsum("m,m...->...", a, [t.answers[repeat, test] for t in done])
        for name, value in scored(work, f, p).items():
            scores[name].append(value)
        answers[repeat, test] = p
        if first.rows is not None:
            losses[repeat, test] = first.rows(work.data.y[test], p)
        taken = [t for t, v in zip(done, a) if v > 0]
        fits.append(sum(t.fit_seconds[f] for t in taken))
        asks.append(sum(t.predict_seconds[f] for t in taken))
    method = blend_of(members, everywhere, task)
    return Trial(
        method, scores, fits, asks,
        losses=None if first.rows is None else losses.mean(0),
        predictions=answers[0], answers=answers, parts=told(method),
        again=partial(fitted_again, work, blend_of(members, of_first, task)),
    )  # fmt: skip


def told(method) -> str:
    """What a blend is made of, the heaviest first."""
    parts = sorted(zip(method.weights, method.members), key=lambda p: -p[0])
    return ", ".join(f"{100 * a:.0f} % {m.name}" for a, m in parts)
