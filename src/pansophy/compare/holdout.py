"""The test set: rows that take no part in choosing, on which the ranking is checked.

The test set is read before anything is fitted, so that a misfit is reported at once.
The ranked methods are then fitted on all rows of the comparison, with their weights,
groups and times, exactly as the kept model is.
"""

import numpy as np
import pyarrow as pa

from ..tables import MixedFrame, TableError, known_rows, read_table
from ..tables.schema import some_weight
from .evaluation.holdout_comparison import HoldoutComparison, compare_on_test_set
from .execution.trials import run_trials
from .loading import repeat_rows
from .samples import Samples, fill_empty_labels
from .splits import Split, duplicate_groups


def load_holdout(schema, table, counted=False) -> Samples:
    """The rows of a test set whose target is known.

    `counted` says that weights count rows, which are then repeated.
    """
    table = read_table(table)
    lacking = [n for n in schema.targets if n not in table.column_names]
    if lacking:
        raise TableError(f"The test table lacks the target {lacking[0]!r}.")
    table = fill_empty_labels(table, schema)
    table = table.filter(pa.array(known_rows(table, schema.targets)))
    if table.num_rows < 2:
        raise TableError("The test table has fewer than two rows with a known target.")
    try:
        weight = None
        if counted and schema.weight in table.column_names:
            table = repeat_rows(table, some_weight(schema, table))
        elif schema.weight in table.column_names:
            weight = some_weight(schema, table)
        return Samples(schema.frame(table), schema.target_values(table), weight)
    except TableError as error:
        raise TableError(f"Of the test table: {error}") from error


def overlap_notes(data, holdout) -> list[str]:
    """A note if rows of the test set are among the rows compared as well."""
    joined = _concatenate_samples(data, holdout)
    y = joined.y if joined.y.ndim == 2 else joined.y[:, None]
    values = np.column_stack([joined.frame.values, y])
    code = duplicate_groups(MixedFrame(values, joined.frame.texts))
    if code is None:
        return []
    n = len(data)
    repeated = int(np.isin(code[n:], code[:n]).sum())
    if not repeated:
        return []
    return [
        f"{repeated:,} of {len(holdout):,} rows of the test table are also among the "
        "rows compared: they flatter whatever memorises."
    ]


def evaluate_on_holdout(comparison, holdout, progress=None) -> HoldoutComparison:
    """The ranked methods, fitted on all rows, compared on rows of `load_holdout`."""
    c = comparison
    n = len(c.data)
    joined = _concatenate_samples(c.data, holdout)
    fold = (np.arange(n), np.arange(n, n + len(holdout)))
    split = Split("test table", "as asked", [fold])
    methods = [c.trial(row.method).method for row in c.leaderboard]
    trials, _ = run_trials(
        methods, joined, c.schema, c.metrics, split, c.limits, None, progress
    )
    predictions = {
        t.method.name: t.predictions[n:]
        for t in trials
        if not t.failure and t.predictions is not None
    }
    if c.winner not in predictions:
        raise TableError(f"{c.winner} did not finish on the test table.")
    return compare_on_test_set(
        holdout.y,
        predictions,
        c.metrics[0],
        reference=c.winner,
        weights=holdout.weight,
        random_state=c.settings["seed"],
    )


def _concatenate_samples(a, b) -> Samples:
    """Rows of a, then rows of b; groups and times of b are blank."""
    texts = tuple(
        pa.concat_arrays([_combined_text(s), _combined_text(t)])
        for s, t in zip(a.frame.texts, b.frame.texts)
    )
    frame = MixedFrame(np.concatenate([a.frame.values, b.frame.values]), texts)
    extend = lambda v, blank: None if v is None else np.r_[v, np.full(len(b), blank)]
    weight = a.weight
    if weight is not None:
        weight = np.r_[weight, np.ones(len(b)) if b.weight is None else b.weight]
    y = np.concatenate([a.y, b.y])
    return Samples(frame, y, weight, extend(a.group, -1), extend(a.time, np.inf))


def _combined_text(texts):
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
