"""A comparison done again, or opened again."""

import shutil
import tempfile
from dataclasses import dataclass
from inspect import signature
from pathlib import Path

import numpy as np

from .execution.plan import library_versions
from .execution.run_folder import RunFolderError, compare_runs, read_lines, read_plan
from .methods.blending import BLEND
from .methods.method import choose_methods, wants_blend


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


def recorded_options(folder, table=None) -> tuple:
    """The table and the settings that a run folder was made with."""
    asked = dict(read_plan(folder)["settings"])
    source, is_file = asked.pop("source"), asked.pop("file")
    if asked.pop("own_methods", None):
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
    if asked["schema"] is not None and not Path(asked["schema"]).is_file():
        asked["schema"] = Path(folder) / "schema.toml"  # it was no file, or has moved
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
    from .run_comparison import compare

    table, asked = recorded_options(folder, table)
    asked |= {"test": None, "stop_after": None}
    with tempfile.TemporaryDirectory() as place:
        compare(table, **asked, folder=place, workers=workers, progress=progress)
        found = compare_runs(folder, place)
        fits = len(read_lines(place))
    return Rerun(not found, fits, tuple(found))


def reopen(folder, table=None):
    """The comparison kept in a run folder, with the methods that are complete.

    Nothing is fitted; what is not on record is left out. A run of other versions is
    shown as it was, and a note says what has changed since.
    """
    from .run_comparison import compare, run_comparison

    table, asked = recorded_options(folder, table)
    plan, done = read_plan(folder), {}
    for line in read_lines(folder):
        if not line["failure"]:
            done[line["method"]] = done.get(line["method"], 0) + 1
    fits = plan["split"]["folds"] * plan["split"]["repeats"]
    whole = [name for name in plan["methods"] if done.get(name) == fits]
    if "dummy" not in whole:
        raise RunFolderError(
            f"No method is complete in {folder}; resume the run first."
        )
    usual = {k: v.default for k, v in signature(compare).parameters.items()}
    del usual["table"], usual["progress"]
    if plan["versions"] != library_versions():  # roles may be found in another way now
        asked["schema"] = Path(folder) / "schema.toml"
    named = asked["methods"]
    asked["blend"] = wants_blend(asked.get("blend"), named)
    asked |= {"methods": whole, "test": None, "max_fits": None, "stop_after": None}
    with tempfile.TemporaryDirectory() as place:  # the run itself stays as it is
        for name in ("plan.json", "results.jsonl"):
            shutil.copy(Path(folder) / name, place)
        link_folder(Path(folder).resolve() / "predictions", Path(place) / "predictions")
        asked = {**usual, **asked, "folder": place, "resume": True}
        result = run_comparison(table, asked, False, as_it_was=True)
    result.folder = folder
    if named is None:  # the reasons of then: nobody asked for the complete ones only
        rows = int(np.mean([len(train) for train, _ in result.split.folds]))
        how = {k: asked[k] for k in ("tune", "calibrate")}
        how["fits"] = len(result.split.folds)
        _, left = choose_methods(result.schema, rows, None, result.running, **how)
        result.not_run = [r for r in result.not_run if r[0] == BLEND] + left
    return result


def link_folder(source, place):
    """A folder seen from another place, copied where there are no links."""
    try:
        place.symlink_to(source, target_is_directory=True)
    except OSError:
        shutil.copytree(source, place)
