"""`compare`: try every suitable method on a table and rank them."""

import platform
import time
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from ..diagnose.findings import by_severity
from ..diagnose.leakage.suspicious_scores import too_good_score
from ..tables import TableError
from ..tables.targets import as_name_list
from .comparison import Comparison, dataframe_library
from .evaluation.paired_tests import DUMMY
from .evaluation.ranking import (
    choose_model,
    optimism_of_best,
    rank_methods,
    score_estimates,
)
from .execution.background_warm_up import background_warm_up
from .execution.blend_trial import MIN_BLEND_ROWS, with_blend_trial
from .execution.plan import ExecutionLimits, data_hash, make_plan, recorded_versions
from .execution.progress import StepDisplay
from .execution.run_folder import check_run_folder, open_run, refuse_own_input
from .execution.trials import make_workload, run_trials
from .holdout import evaluate_on_holdout, load_holdout, overlap_notes
from .loading import EXCLUDED_ROLES, load_dataset, table_and_target
from .methods.blending import BLEND
from .methods.excluded import SkipKind, SkippedMethod
from .methods.method_choice import choose_methods, wants_blend
from .metrics import metrics_for
from .options import Options, compare_signature, describe_source, parameters_section
from .shuffled_rows import score_on_other_units, score_on_shuffled_rows
from .splits import make_splits

# (largest number of rows, repeats of the cross-validation)
DEFAULT_REPEATS = [(300, 10), (20_000, 5), (100_000, 2), (float("inf"), 1)]
MEGABYTE = 1_000_000
clock = time.perf_counter


def compare(table, target, *, progress=None, **options) -> Comparison:
    table, target = table_and_target(table, target)
    return run_comparison(table, Options.checked(target=target, **options), progress)


compare.__signature__ = compare_signature(Comparison)  # pyrefly: ignore
compare.__doc__ = f"""Try every suitable method on the same folds and rank them.

    Parameters
    ----------
    table : path, dataframe, Arrow table, dict of columns, list of dicts or array
        CSV, TSV, Parquet, Feather, JSON lines, plain or compressed; see `read_table`.
        The inputs alone, X, if the target is given as an array y: `compare(X, y)`.
{parameters_section()}
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


def run_comparison(table, options, progress, *, as_recorded=False) -> Comparison:
    """The comparison that `options` ask for.

    `as_recorded` shows what a run folder holds, of other versions as well: nothing is
    fitted.
    """
    started = clock()
    if options.folder is not None:
        check_run_folder(options.folder, options.resume)
        refuse_own_input(options.folder, table)
        refuse_own_input(options.folder, options.test)
    dataset, split = _dataset_and_splits(table, options)
    data, schema = dataset.data, dataset.schema
    metrics = metrics_for(schema.task, options.metric, ordered=schema.ordered)
    options.check_against(dataset.table, schema)
    counted = dataset.cells is not None
    holdout = (
        None if options.test is None else load_holdout(schema, options.test, counted)
    )
    limits = _execution_limits(options)
    methods, skipped = choose_methods(
        replace(schema, weight=None) if counted else schema,
        int(np.mean([len(train) for train, _ in split.folds])),
        options.methods,
        limits,
        exclude=as_name_list(options.exclude or ()),
        tune=options.tune,
        calibrate=options.calibrate,
        fits=len(split.folds),
    )
    plan = make_plan(
        methods, data, schema, metrics, split, limits, options.recorded(table)
    )
    with _open_run_folder(options, plan, schema, as_recorded) as folder:
        work = make_workload(methods, data, schema, metrics, split, limits)
        with background_warm_up(work, limits):
            exploration = _explore_dataset(dataset, split, options.by)
        trials, finished = run_trials(
            methods,
            data,
            schema,
            metrics,
            split,
            limits,
            folder,
            progress,
            race=races(options),
            recorded_only=as_recorded,
        )
    if wants_blend(options.blend, options.methods, options.exclude):
        with StepDisplay(progress) as steps:
            if len(data) >= MIN_BLEND_ROWS:
                steps.tell("weighing the methods for a blend")
            trials, skip = with_blend_trial(
                trials, data, schema, metrics, split, limits
            )
        skipped = skipped if skip is None else [skip, *skipped]
    elif options.methods is None:
        skipped = [SkippedMethod(BLEND, "turned off", SkipKind.UNSUITED), *skipped]
    estimates = score_estimates(trials, metrics, split, data)
    leaderboard = rank_methods(trials, metrics, estimates)
    if not leaderboard:
        _stop_without_result(trials, finished, limits)
    kept = choose_model(
        leaderboard,
        [t.method.name for t in trials],
        options.keep,
    )
    suspicious = _suspicious_findings(leaderboard, schema, len(data), split)
    findings, notes = findings_and_notes(
        by_severity([*exploration.findings, *suspicious]), dataset
    )
    comparison = Comparison(
        dataset=dataset,
        split=split,
        leaderboard=leaderboard,
        winner=kept.method,
        keep_reason=kept.reason,
        estimates=estimates[metrics[0].name],
        selection_bias=optimism_of_best(estimates[metrics[0].name], metrics[0].greater),
        trials=trials,
        skipped=skipped,
        complete=finished and dummy_finished(trials),
        findings=findings,
        notes=[*notes, *split.notes, *_version_notes(folder), *_moved_notes(folder)],
        overview=exploration.overview,
        settings=_recorded_settings(options, table, dataset, metrics, split)
        | _provenance(started, data),
        limits=limits,
        folder=options.folder,
        library=dataframe_library(table),
    )
    if dataset.design is not None and (schema.group or schema.time):
        comparison.shuffled_score = score_on_shuffled_rows(comparison)
    if split.units:
        comparison.other_units_score = score_on_other_units(comparison)
    if holdout is not None:
        comparison.notes += overlap_notes(data, holdout)
        comparison.holdout = evaluate_on_holdout(comparison, holdout, progress)
    return comparison


def _dataset_and_splits(table, options):
    """The rows and their folds; a design that was found, but cannot be cut, is left."""
    dataset = load_dataset(table, options)
    try:
        return dataset, _splits_of(dataset, options)
    except TableError as error:
        if dataset.design is None:
            raise
        left = str(error)
    dataset = load_dataset(table, replace(options, independent=True))
    dataset.notes.append(f"Rows are taken as independent, since otherwise: {left}")
    return dataset, _splits_of(dataset, options)


def _splits_of(dataset, options):
    """The folds that the options ask for."""
    return make_splits(
        dataset.data,
        dataset.schema,
        folds=options.folds,
        repeats=options.repeats or default_repeats(len(dataset.data)),
        seed=options.random_state,
        together=options.together,
        gap=options.gap,
        units=options.units,
    )


def dummy_finished(trials) -> bool:
    """Whether there is a dummy to compare with; a run without one is not complete."""
    return any(t.method.name == DUMMY and not t.failure for t in trials)


def races(options) -> bool:
    """Whether methods race: unless some were named, or as was said."""
    return options.methods is None if options.race is None else options.race


def default_repeats(n) -> int:
    return next(repeats for limit, repeats in DEFAULT_REPEATS if n <= limit)


def _execution_limits(options) -> ExecutionLimits:
    """Execution limits from the options."""
    memory = options.memory_limit
    return ExecutionLimits(
        workers=options.workers,
        time_limit=options.time_limit,
        memory_limit=None if memory is None else memory * MEGABYTE,
        max_fits=options.max_fits,
        stop_after=options.stop_after,
        seed=options.random_state,
        cluster=options.cluster,
    )


def _open_run_folder(options, plan, schema, as_recorded=False):
    """The run folder with its plan and schema, or nothing, for `with`."""
    if options.folder is None:
        return nullcontext()
    folder = open_run(
        options.folder, plan, resume=options.resume, as_recorded=as_recorded
    )
    if not (folder.path / "schema.toml").exists():  # of a resumed run it is the same
        schema.write(folder.path / "schema.toml")
    return folder


def _explore_dataset(dataset, split, by):
    """Findings about the table, before anything is fitted."""
    from ..diagnose import explore

    if dataset.cells is not None:
        exploration = explore(dataset.cells, schema=dataset.schema, by=by)
        # cells with the same inputs differ by their answer and how often it is given
        kept = [f for f in exploration.findings if "duplicates" not in f.kind]
        return replace(exploration, findings=kept)
    return explore(
        dataset.table,
        schema=dataset.schema,
        splits=split.folds[: split.per_repeat],
        by=by,
    )


def _suspicious_findings(leaderboard, schema, rows, split) -> list:
    """A finding if the best score is too good to be taken on trust."""
    best = leaderboard[0]
    means = lambda row: {name: s.mean for name, s in row.scores.items()}
    errors = None
    if split.kind == "time-ordered":
        errors = {r.method: means(r).get("rmse", 0.0) for r in leaderboard}
    return too_good_score(
        means(best), method=best.method, task=schema.task, rows=rows, errors=errors
    )


def _stop_without_result(trials, finished, limits):
    """Raise, since no method has a result."""
    if not finished and limits.stop_after is None:
        raise KeyboardInterrupt
    failures = "; ".join(f"{t.method.name}: {t.failure}" for t in trials if t.failure)
    raise TableError(f"No method finished: {failures}")


def findings_and_notes(findings, dataset) -> tuple[list, list[str]]:
    """Findings, and notes on the table; that a column is excluded is said once.

    It is said by a finding about the column, if there is one that gives the reason, and
    otherwise by a note.
    """
    excluded = {
        c.name: c.why for c in dataset.schema.columns if c.role in EXCLUDED_ROLES
    }
    merged = []
    for f in findings:
        gives_reason = f.kind in ("constant", "empty", "other type")
        if gives_reason and f.column in excluded:
            del excluded[f.column]
            f = f._replace(text=f"{f.text} It is left out.")
        merged.append(f)
    notes = [f"{name!r} left out: {reason}." for name, reason in excluded.items()]
    return merged, [*dataset.notes, *notes]


def _version_notes(folder) -> list[str]:
    """Notes that the scores of a run folder were made with other versions."""
    changes = getattr(folder, "changes", ())
    if not changes:
        return []
    return [
        "The scores are those of the run as it was made; since then this has changed: "
        f"{'; '.join(map(str, changes))}. A model fitted now may differ a little."
    ]


def _moved_notes(folder) -> list[str]:
    """A note where the files of an earlier run went."""
    previous = getattr(folder, "previous", None)
    if previous is None:
        return []
    return [f"What an earlier run had left in {folder.path} is now in {previous}."]


def _recorded_settings(options, table, dataset, metrics, split) -> dict:
    """The settings of `results.json`."""
    return {
        "metric": metrics[0].name,
        "rows": len(dataset.data),
        "inputs": len(dataset.schema.used),
        "folds": split.per_repeat,
        "repeats": split.repeats,
        "split": split.kind,
        "seed": options.random_state,
        "time_limit": options.time_limit,
        "tune": options.tune,
        "source": describe_source(table),
        "sampled": dataset.sampled,
        "by": options.by,
        "costs": options.costs,
        "keep": options.keep,
        "options": options.changed(),
    }


def _provenance(started, data) -> dict:
    """Clock, data and versions: what is needed to repeat or doubt a result."""
    return {
        "seconds": round(clock() - started, 2),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_hash": data_hash(data),
        "versions": recorded_versions(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
