"""Comparisons saved in a run folder: repeated (`rerun`) or shown (`reopen`)."""

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .evaluation.paired_tests import DUMMY
from .execution.plan import recorded_versions
from .execution.run_folder import (
    RunFolderError,
    compare_runs,
    read_lines,
    read_plan,
)
from .methods.blending import BLEND
from .methods.method_choice import choose_methods, wants_blend
from .options import Options


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


def _recorded_options(folder, table=None) -> tuple:
    """The table and the options that a run folder was made with."""
    if not Path(folder).exists():
        raise RunFolderError(f"There is no folder {str(folder)!r}.")
    if not (Path(folder) / "plan.json").is_file():
        raise RunFolderError(
            f"{str(folder)!r} is not the folder of a comparison: it holds no plan.json."
        )
    recorded = dict(read_plan(folder)["settings"])
    source = recorded.pop("source")
    is_file = recorded.pop("file")
    if recorded.pop("own_methods", None):
        raise RunFolderError(
            f"The run in {folder} compared estimators of your own, which are not kept "
            "in it; call compare with them again."
        )
    if table is None:
        if not is_file:
            raise RunFolderError(
                f"The run in {folder} was made from {source}: name the table."
            )
        if not Path(source).exists():
            raise RunFolderError(f"{source} is no longer there: name the table.")
        table = source
    options = Options(**recorded)
    if options.schema is not None and not Path(options.schema).is_file():
        # it was no file, or has moved
        options = replace(options, schema=Path(folder) / "schema.toml")
    return table, options


def rerun(folder, table=None, *, workers=None, progress=None) -> Rerun:
    """Do the comparison of a run folder again and compare every number.

    Parameters
    ----------
    folder : path
        As given to `compare`.
    table : path, dataframe or None
        The table, if it was not a file or has moved.
    """
    from .run_comparison import run_comparison

    table, options = _recorded_options(folder, table)
    with tempfile.TemporaryDirectory() as place:
        options = replace(
            options, test=None, stop_after=None, folder=place, workers=workers
        )
        run_comparison(table, options, progress)
        differences = compare_runs(folder, place)
        fits = len(read_lines(place))
    return Rerun(not differences, fits, tuple(differences))


def reopen(folder, table=None):
    """The comparison saved in a run folder, with the methods that are complete.

    Nothing is fitted; what is not on record is left out. Methods that were stopped in
    the race are in it, for the race comes to the same stops. A run of other versions is
    shown as it was, and a note says what has changed since.
    """
    from .run_comparison import races, run_comparison

    table, options = _recorded_options(folder, table)
    requested = options.methods
    _check_dummy_complete(folder)
    if read_plan(folder)["versions"] != recorded_versions():
        # roles may be inferred in another way now
        options = replace(options, schema=Path(folder) / "schema.toml")
    with tempfile.TemporaryDirectory() as place:  # the run itself stays as it is
        for name in ("plan.json", "results.jsonl"):
            shutil.copy(Path(folder) / name, place)
        _link_folder(
            Path(folder).resolve() / "predictions", Path(place) / "predictions"
        )
        options = replace(
            options,
            methods=list(read_plan(folder)["methods"]),
            race=races(options),
            blend=wants_blend(options.blend, requested),
            test=None,
            max_fits=None,
            stop_after=None,
            folder=place,
            resume=True,
        )
        comparison = run_comparison(table, options, False, as_recorded=True)
    comparison.folder = folder
    if requested is None:  # nobody asked for the complete methods only
        _, skipped = choose_methods(
            comparison.schema,
            int(np.mean([len(train) for train, _ in comparison.split.folds])),
            None,
            comparison.limits,
            tune=options.tune,
            calibrate=options.calibrate,
            fits=len(comparison.split.folds),
        )
        of_blend = [s for s in comparison.skipped if s.name == BLEND]
        comparison.skipped = of_blend + skipped
    return comparison


def _check_dummy_complete(folder) -> None:
    """Refuse a run in which not even the dummy has all its fits on record."""
    split = read_plan(folder)["split"]
    lines = [k for k in read_lines(folder) if k["method"] == DUMMY]
    finished = [k for k in lines if not k["failure"]]
    if len(finished) < split["folds"] * split["repeats"]:
        raise RunFolderError(
            f"No method is complete in {folder}; resume the run first."
        )


def _link_folder(source, place):
    """A folder seen from another place, copied where there are no links."""
    try:
        place.symlink_to(source, target_is_directory=True)
    except OSError:
        shutil.copytree(source, place)
