"""The folder of a comparison of agents: finished runs are kept in it, to resume from.

    runs/<agent>-<i>.pansophy   the agent of run i
    runs/<agent>-<i>.json       its score, seconds and curve
    runs/settings.json          what all runs have in common

A run is kept when it has finished; its numbers are written last, so that a run whose
file of numbers is there is whole. One process writes to the folder at a time.
"""

import json
import os
import re
import tempfile
from pathlib import Path

import numpy as np

from ..core.files.atomic_files import write_text_file
from ..core.files.folder_lock import FolderLockedError, lock_folder
from ..core.files.previous_files import move_to_previous
from ..rl.experience.agent_comparison import AgentRun
from ..rl.experience.evaluation import ReturnCurve

RESULTS = ("agent.pansophy", "report.html", "results.json", "episode.gif")


class PlayFolder:
    """Finished runs on disk; held against other processes until it is closed.

    Parameters
    ----------
    folder : path
        Made if it is not there; a clear error if nothing can be written to it.
    settings : dict of str
        Environment, steps, seed and parameters of every agent.
    resume : bool
        Whether runs that are there count.
    overwrite : bool
        Whether runs that are there may be removed; otherwise a folder that has runs or
        results is refused. Results go to `previous/` when there are new ones.
    """

    def __init__(self, folder, settings, *, resume=False, overwrite=False):
        file = Path(folder) / "runs" / "settings.json"
        self.agents = _agents_of_settings(settings)
        if resume and not file.exists():
            raise ValueError(f"there are no runs to resume in {str(folder)!r}.")
        self.folder = writable_folder(folder)
        self.runs = file.parent
        self.runs.mkdir(exist_ok=True)
        is_ours = _is_settings_file(file)
        if not is_ours and resume:
            raise ValueError(f"{str(file)!r} cannot be read: do not resume.")
        if not is_ours:
            self._refuse_foreign_runs()
        try:
            self.lock = lock_folder(self.runs)
        except FolderLockedError:
            raise ValueError(f"another run is writing to {str(folder)!r}.") from None
        try:
            if resume:
                earlier = json.loads(file.read_text("utf-8"))
                _refuse_other_settings(earlier, settings, folder)
            elif overwrite:
                if is_ours:
                    self.agents |= _agents_of_settings(
                        json.loads(file.read_text("utf-8"))
                    )
                    self._remove_runs()
            else:
                self._refuse_earlier_results(is_ours)
            write_text_file(file, json.dumps(settings, indent=1) + "\n")
        except BaseException:
            self.close()
            raise

    def _refuse_foreign_runs(self):
        """Raise if the folder of runs holds files of something else."""
        strange = [p.name for p in self._kept_runs()]
        if (self.runs / "settings.json").exists():
            strange.append("settings.json")
        if strange:
            raise ValueError(
                f"{str(self.runs)!r} holds {min(strange)}, which is no run of "
                "`pansophy play`; choose another folder (--out)."
            )

    def move_results(self) -> Path | None:
        """Move the results that are there to `previous/`; that folder, or None."""
        return move_to_previous(self.folder, RESULTS)

    def _refuse_earlier_results(self, is_ours):
        """Raise if writing here would replace runs or results."""
        held = [name for name in RESULTS if (self.folder / name).exists()]
        if is_ours and any(self._kept_runs()):
            held = ["finished runs", *held]
        if held:
            raise ValueError(
                f"{str(self.folder)!r} holds {' and '.join(held[:2])} already: go on "
                "with them (--resume), replace them (--overwrite) or choose another "
                "folder (--out)."
            )

    def _kept_runs(self):
        names = "|".join(map(re.escape, self.agents))
        for old in self.runs.iterdir():
            if re.fullmatch(rf"({names})-\d+\.(pansophy|json)", old.name):
                yield old

    def _remove_runs(self):
        for old in list(self._kept_runs()):
            old.unlink()

    def close(self) -> None:
        """Let other processes write to the folder."""
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def get(self, name, seed) -> AgentRun | None:
        """A finished run; None if there is none, or its files are damaged."""
        from ..persist import load

        numbers = self.runs / f"{name}-{seed}.json"
        if not numbers.exists():
            return None
        try:
            result = json.loads(numbers.read_text("utf-8"))
            curve = ReturnCurve(np.array(result["steps"]), np.array(result["returns"]))
            agent = load(self.runs / f"{name}-{seed}.pansophy")
            return AgentRun(agent, curve, result["score"], result["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None  # seeds are fixed: to run it again gives the same run

    def put(self, name, seed, run: AgentRun) -> None:
        """Keep a finished run."""
        from ..persist import save

        save(run.agent, self.runs / f"{name}-{seed}.pansophy")
        numbers = {
            "score": run.score,
            "seconds": run.seconds,
            "steps": run.curve.steps.tolist(),
            "returns": run.curve.returns.tolist(),
        }
        text = json.dumps(numbers) + "\n"
        write_text_file(self.runs / f"{name}-{seed}.json", text)


def writable_folder(folder) -> Path:
    """A folder that is there and can be written to; the clear error otherwise."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(
            f"nothing can be written to the folder {str(folder)!r} "
            f"({error.strerror or error}); choose another with --out."
        ) from None
    return folder


def _agents_of_settings(settings) -> set[str]:
    """Names of the agents whose runs are in a folder."""
    start = "parameters of "
    return {k.removeprefix(start) for k in settings if k.startswith(start)}


def _is_settings_file(file) -> bool:
    """Whether a file holds settings of runs."""
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and {"environment", "steps"} <= content.keys()


def _refuse_other_settings(old, new, folder) -> None:
    """Raise if the runs in a folder were made with other settings."""
    changed_keys = [key for key in new if key in old and old[key] != new[key]]
    if changed_keys:
        raise ValueError(
            f"the runs in {str(folder)!r} were made with another "
            f"{changed_keys[0].replace('_', ' ')} ({old[changed_keys[0]]} instead of "
            f"{new[changed_keys[0]]}): choose another folder, or do not resume."
        )
