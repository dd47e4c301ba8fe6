"""`compare`: a table in, an honest leaderboard out."""

import platform
import time
from contextlib import nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np

from ..tables import Schema, TableError
from .comparison import (
    Comparison,
    dataframe_library,
    decide,
    expected_best_score,
    paired_intervals,
    rank_methods,
)
from .evaluation.row_level import row_level_test
from .execution.blend_trial import with_blend_trial
from .execution.plan import ExecutionLimits, data_hash, library_versions, make_plan
from .execution.run_folder import check_run_folder, open_run
from .execution.trials import run_trials
from .holdout import evaluate_on_holdout, load_holdout, overlap_notes
from .loading import load_dataset
from .methods.blending import BLEND
from .methods.method import choose_methods, wants_blend
from .metrics import metrics_for
from .options import MAX_ROWS, beyond, check_questions, check_settings, named, recorded
from .splits import make_splits

REPEATS = [(300, 10), (20_000, 5), (100_000, 2), (float("inf"), 1)]
MEGABYTE = 1_000_000


def compare(
    table,
    target,
    *,
    task="auto",
    group=None,
    time=None,
    weight=None,
    ignore=None,
    roles=None,
    schema=None,
    test=None,
    max_rows=MAX_ROWS,
    methods=None,
    folds=5,
    repeats=None,
    together=False,
    gap=0,
    tune=0,
    blend=None,
    calibrate=False,
    metric=None,
    keep="simplest",
    by=None,
    costs=None,
    workers=None,
    time_limit=300.0,
    memory_limit=None,
    max_fits=None,
    stop_after=None,
    cluster=None,
    folder=None,
    resume=False,
    random_state=0,
    progress=None,
) -> Comparison:
    """Try every suitable method on the same folds and rank them honestly.

    Parameters
    ----------
    table : path, dataframe, Arrow table or dict of columns
        CSV, TSV, Parquet, Feather, JSON lines, plain or compressed; see `read_table`.
    target : str or list of str
        The column to predict, or several columns of yes and no. Rows in which it is
        missing are left out.
    task : {"auto", "classification", "regression", "count", "multilabel"}
        Read off the target by default.
    group : str or None
        Column whose rows stay in one fold.
    time : str or None
        Column along which folds are cut: models are tested on later rows only.
    weight : str or None
        Column that says how often a row counts.
    ignore : list of str or None
        Columns to leave out.
    roles : dict or None
        Column -> role, where the role found is wrong.
    schema : path, Schema or None
        Says all of the above, as an earlier run wrote it to `schema.toml`.
    test : path, dataframe or None
        Rows that take no part: the ranked methods, fitted on all other rows, are
        compared on them as well.
    max_rows : int or None
        A larger table is sampled for the comparison; the winner is then fitted on
        all rows where its method can read them piece by piece.
    methods : list of str, dict or None
        Names of methods, or estimators of your own by name; all that suit by default.
        The dummy is always run.
    folds : int
        Parts of one cross-validation.
    repeats : int or None
        Cross-validations with new folds; by default 10 under 300 rows, 5 up to
        20,000, 2 up to 100,000 and 1 beyond.
    together : bool
        Whether rows with the very same inputs stay in one fold.
    gap : int
        Rows left out between training and test rows along time.
    tune : int
        Settings that each method tries on inner folds, inside every fit.
    blend : bool or None
        Whether the average of the methods that finish, weighted by their answers for
        held-out rows and tested on others, is ranked as well; by default if all
        suitable methods are tried.
    calibrate : bool
        Whether each classifier is tried a second time with its probabilities mended
        on inner folds.
    metric : str or None
        What ranks; a proper score by default: log loss, rmse or poisson deviance.
    keep : {"simplest", "best"}
        Which of the methods that are tied with the best is fitted on all rows and
        kept: the simplest that is as good (the answer says what the top scorer would
        be expected to gain), or the top scorer itself.
    by : str or None
        Column whose groups are compared for fairness of the winner.
    costs : dict or None
        Class -> cost of not recognising it (two classes); decides the threshold of
        the kept model.
    workers : int or None
        Processes that fit, one for each core by default; 0 fits in this process,
        where a hanging or greedy method cannot always be stopped, and an estimator
        of your own may carry something from one fit to the next.
    time_limit : float or None
        Seconds one fit may take; a method predicted to need more than a fifth of it
        is run only if it is named in `methods`.
    memory_limit : float or None
        Megabytes one fit may take; by default a share of what is free.
    max_fits : int or None
        Fits in all; methods that do not fit in whole are not begun.
    stop_after : float or None
        Seconds after which the comparison stops, keeping what is done.
    cluster : str, dask Client or None
        Where to run the fits instead of here.
    folder : path or None
        Where results stream to while they come in.
    resume : bool
        Whether to go on with the run in `folder`.
    random_state : int
        Seeds folds and methods; the same seed gives the same leaderboard.
    progress : bool or None
        Whether to show what is going on; by default when standard error is a
        terminal.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from pansophy.compare import compare
    >>> from pansophy.datasets import load
    >>> data = load("iris")
    >>> result = compare(data.table, data.target, methods=["decision tree"],
    ...                  repeats=2, workers=0)
    >>> [row.method for row in result.leaderboard]
    ['decision tree', 'dummy']
    >>> result.winner
    'decision tree'
    """
    asked = {k: v for k, v in locals().items() if k not in ("table", "progress")}
    return run_comparison(table, asked, progress)


clock = time.perf_counter


def run_comparison(table, asked, progress, *, as_it_was=False) -> Comparison:
    """The comparison of `compare`, whose arguments are in `asked`.

    `as_it_was` takes finished fits of a run folder also from other versions.
    """
    a, begun = SimpleNamespace(**asked), clock()
    check_settings(asked)
    if a.folder is not None:
        check_run_folder(a.folder, a.resume)
    told = {k: asked[k] for k in ("task", "group", "time", "weight", "roles")}
    taken = load_dataset(
        table,
        a.target,
        schema=a.schema,
        max_rows=a.max_rows,
        seed=a.random_state,
        ignore=a.ignore or (),
        **told,
    )
    schema, data = taken.schema, taken.data
    metrics = metrics_for(schema.task, a.metric)
    check_questions(taken, asked)
    rest = None if a.test is None else load_holdout(schema, a.test)
    split = make_splits(
        data,
        schema,
        folds=a.folds,
        repeats=a.repeats or default_repeats(len(data)),
        seed=a.random_state,
        together=a.together,
        gap=a.gap,
    )
    memory = None if a.memory_limit is None else a.memory_limit * MEGABYTE
    running = ExecutionLimits(
        a.workers,
        1,
        a.time_limit,
        memory,
        a.max_fits,
        a.stop_after,
        a.random_state,
        a.cluster,
    )
    rows = int(np.mean([len(train) for train, _ in split.folds]))
    how = {k: asked[k] for k in ("tune", "calibrate")}
    how["fits"] = len(split.folds)
    chosen, not_run = choose_methods(schema, rows, a.methods, running, **how)
    job = chosen, data, schema, metrics, split, running
    plan = make_plan(*job, recorded(asked, table))
    with open_run_folder(a.folder, plan, schema, a.resume, as_it_was) as place:
        found = explore_dataset(taken, split, a.by)
        trials, complete = run_trials(*job, place, progress)
    trials, not_run = add_blend(trials, not_run, asked, job[1:])
    answer = evaluate_trials(
        taken, trials, metrics, split, not_run, complete, running, a.keep
    )
    answer.findings, answer.overview = (
        merge_notes_into_findings(found.findings, answer),
        found.overview,
    )
    answer.folder, answer.like = a.folder, dataframe_library(table)
    answer.notes += version_notes(place)
    answer.settings |= {
        "time_limit": a.time_limit,
        "tune": a.tune,
        "source": named(table),
        "sampled": taken.sampled,
        "by": a.by,
        "costs": a.costs,
        "keep": a.keep,
        "asked": beyond(asked),
        **provenance(begun, data),
    }
    if rest is not None:
        answer.notes += overlap_notes(data, rest)
        answer.on_test = evaluate_on_holdout(answer, rest, progress)
    return answer


def add_blend(trials, not_run, asked, job) -> tuple[list, list]:
    """The trials with that of their blend; if there is none, what is not run, too."""
    if not wants_blend(asked["blend"], asked["methods"]):
        off = [(BLEND, "turned off")] if asked["methods"] is None else []
        return trials, [*off, *not_run]
    trials, why = with_blend_trial(trials, *job)
    return trials, [(BLEND, why), *not_run] if why else not_run


def evaluate_trials(
    taken, trials, metrics, split, not_run, complete, running, keep="simplest"
):
    """The answer, from what became of every method."""
    schema, data, seed = taken.schema, taken.data, running.seed
    rows = rank_methods(trials, metrics, split.ratio, data, seed)
    failed = [(t.method.name, t.failure) for t in trials if t.failure]
    if not rows:
        if not complete and running.stop_after is None:
            raise KeyboardInterrupt
        raise TableError(
            "No method finished: " + "; ".join(": ".join(f) for f in failed)
        )
    second = row_level_test(trials, rows, metrics[0], data, split.kind, seed)
    winner, verdict = decide(
        rows,
        [t.method.name for t in trials],
        paired_intervals(trials, metrics[0], split.ratio),
        metrics[0].greater,
        keep,
        second,
    )
    settings = {
        "metric": metrics[0].name,
        "rows": len(data),
        "inputs": len(schema.used),
        "folds": split.per_repeat,
        "repeats": split.repeats,
        "split": split.kind,
        "seed": seed,
    }
    return Comparison(
        schema,
        settings,
        rows,
        failed,
        not_run,
        [*taken.notes, *split.notes],
        winner,
        verdict,
        complete,
        expected_best_score(trials, rows, metrics[0], seed, data),
        trials,
        data,
        split=split,
        running=running,
        taken=taken,
        second=second,
    )


def explore_dataset(taken, split, by):
    """What is suspicious about the table, looked at before anything is fitted."""
    from ..diagnose import explore

    return explore(
        taken.table, schema=taken.schema, splits=split.folds[: split.per_repeat], by=by
    )


def merge_notes_into_findings(findings, answer) -> list:
    """Findings; that a constant or nested column is left out is said there, once."""
    out = []
    for f in findings:
        again = [k for k in answer.notes if k.startswith(f"{f.column!r} left out")]
        if f.kind in ("constant", "empty", "other type") and again:
            answer.notes.remove(again[0])
            f = f._replace(text=f"{f.text} It is left out.")
        out.append(f)
    return out


def default_repeats(n) -> int:
    return next(r for limit, r in REPEATS if n <= limit)


def open_run_folder(folder, plan, schema: Schema, resume, as_it_was=False):
    """The run folder with its plan and schema, or nothing, for `with`."""
    if folder is None:
        return nullcontext()
    place = open_run(folder, plan, resume=resume, as_it_was=as_it_was)
    schema.write(place.path / "schema.toml")
    return place


def version_notes(place) -> list[str]:
    """That the scores of a run folder were made with something else than there is."""
    if not getattr(place, "changed", ()):
        return []
    return [
        "The scores are those of the run as it was made; since then this has changed: "
        f"{'; '.join(place.changed)}. A model fitted now may differ a little."
    ]


def provenance(begun, data) -> dict:
    """Clock, data and versions: what is needed to repeat or doubt a result."""
    return {
        "seconds": round(clock() - begun, 2),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_hash": data_hash(data),
        "versions": library_versions(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
