"""A comparison done again, opened again, or taken to a test table."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..tables import Frame, TableError, known_rows, read_table
from .data import Data
from .folder import FolderError, compare_runs, read_lines, read_plan
from .on_test import OnTest, compare_on_test
from .run import run
from .splits import Split


@dataclass(frozen=True)
class Rerun:
    """Whether a comparison came out the same, and what differs if not."""

    same: bool
    fits: int
    differences: tuple[str, ...] = ()

    def to_dict(self) -> dict:
        return {
            "same": self.same,
            "fits": self.fits,
            "differences": list(self.differences),
        }

    def __str__(self):
        if self.same:
            return f"The same, bit for bit: all scores of {self.fits} fits."
        return "\n".join(["Not the same:", *(f"  {d}" for d in self.differences)])


def arguments(folder, table=None) -> tuple:
    """The table and the settings that a run folder was made with."""
    asked = dict(read_plan(folder)["settings"])
    source, is_file = asked.pop("source"), asked.pop("file")
    if asked.pop("own_methods", None):
        raise FolderError(
            f"The run in {folder} compared estimators of your own, which are not kept "
            "in it; call compare with them again."
        )
    if table is None:
        if not is_file:
            raise FolderError(
                f"The run in {folder} was made from {source}: name the table."
            )
        if not Path(source).exists():
            raise FolderError(f"{source} is no longer there: name the table.")
        table = source
    return table, asked


def rerun(folder, table=None, *, workers=None, progress=None) -> Rerun:
    """Do the comparison of a run folder again and compare every number.

    Parameters
    ----------
    folder : path
        As given to `compare`.
    table : path, dataframe or None
        The table, if it was not a file or has moved.
    """
    from .experiment import compare

    table, asked = arguments(folder, table)
    asked |= {"test": None, "stop_after": None}
    with tempfile.TemporaryDirectory() as place:
        compare(table, **asked, folder=place, workers=workers, progress=progress)
        found = compare_runs(folder, place)
        fits = len(read_lines(place))
    return Rerun(not found, fits, tuple(found))


def reopen(folder, table=None):
    """The comparison kept in a run folder, with the methods that are complete.

    Nothing is fitted; what is not on record is left out.
    """
    from .experiment import compare

    table, asked = arguments(folder, table)
    plan, done = read_plan(folder), {}
    for line in read_lines(folder):
        if not line["failure"]:
            done[line["method"]] = done.get(line["method"], 0) + 1
    fits = plan["split"]["folds"] * plan["split"]["repeats"]
    whole = [name for name in plan["methods"] if done.get(name) == fits]
    if "dummy" not in whole:
        raise FolderError(f"No method is complete in {folder}; resume the run first.")
    asked |= {"methods": whole, "test": None, "max_fits": None, "stop_after": None}
    return compare(table, **asked, folder=folder, resume=True, progress=False)


def on_test(comparison, table, progress=None) -> OnTest:
    """The ranked methods, fitted on all rows, compared on a table of other rows."""
    c = comparison
    table, schema = read_table(table), c.schema
    lacking = [n for n in schema.targets if n not in table.column_names]
    if lacking:
        raise TableError(f"The test table lacks the target {lacking[0]!r}.")
    table = table.filter(pa.array(known_rows(table, list(schema.targets))))
    if table.num_rows < 2:
        raise TableError("The test table has fewer than two rows with a known target.")
    rest = Data(
        schema.frame(table),
        schema.goal(table),
        schema.weights(table) if schema.weight in table.column_names else None,
    )
    both, n = joined(c.data, rest), len(c.data)
    fold = (np.arange(n), np.arange(n, n + len(rest)))
    split = Split("test table", "as asked", [fold])
    methods = [c.trial(row.method).method for row in c.leaderboard]
    trials, _ = run(methods, both, schema, c.metrics, split, c.running, None, progress)
    found = {
        t.method.name: t.predictions[n:] for t in trials
        if not t.failure and t.predictions is not None
    }  # fmt: skip
    if c.winner not in found:
        raise TableError(f"{c.winner} did not finish on the test table.")
    return compare_on_test(
        rest.y, found, c.metrics[0], reference=c.winner, weights=rest.weight,
        random_state=c.settings["seed"],
    )  # fmt: skip


def joined(a, b) -> Data:
    """Rows of a, then rows of b."""
    texts = tuple(
        pa.concat_arrays([whole(s), whole(t)])
        for s, t in zip(a.frame.texts, b.frame.texts)
    )
    frame = Frame(np.concatenate([a.frame.values, b.frame.values]), texts)
    weight = None
    if a.weight is not None:
        ones = np.ones(len(b)) if b.weight is None else b.weight
        weight = np.concatenate([a.weight, ones])
    return Data(frame, np.concatenate([a.y, b.y]), weight)


def whole(texts):
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
