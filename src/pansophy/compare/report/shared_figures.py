"""The figures of a report, drawn by two processes at once.

Drawing is most of the work of a report. The figures are listed as tasks. This process
takes tasks from the front of the list; a process in the background, if there can be
one, takes tasks from the back, until they meet. A task is claimed by creating a file
that must not exist yet, so that no figure is drawn twice. Who draws a figure does not
change it.
"""

import os
import shutil
import tempfile

from ..execution.background_call import call_in_background
from . import sections
from .elements import Figure

FigureTask = tuple[str, int]  # a key of `sections.FIGURE_MAKERS`, and a place in it


class SharedFigures:
    """Figures of a comparison; drawing them begins in the background at once."""

    def __init__(self, comparison):
        self.comparison = comparison
        self.tasks = sections.figure_tasks(comparison)
        self.claims = make_claims_folder()
        self.elsewhere = call_in_background(
            draw_unclaimed, comparison, self.tasks[::-1], self.claims
        )

    def drawn(self, tell=None) -> dict[FigureTask, list[Figure]]:
        """All figures by task; draws here what is not drawn elsewhere.

        `tell` is called with a step, the figures that were begun, and all of them.
        """
        result = draw_unclaimed(self.comparison, self.tasks, self.claims, tell)
        result |= self.elsewhere.result()
        lost = [task for task in self.tasks if task not in result]
        result |= {task: draw_task(self.comparison, task) for task in lost}
        _remove_claims_folder(self.claims)
        return {task: result[task] for task in self.tasks}


def draw_unclaimed(
    comparison, tasks, claims, tell=None
) -> dict[FigureTask, list[Figure]]:
    """Draw the tasks, in this order, that nobody has claimed."""
    result = {}
    for task in tasks:
        if claim_task(claims, task):
            if tell is not None:
                begun = len(os.listdir(claims)) - 1
                tell("drawing the figures of the report", begun, len(tasks))
            result[task] = draw_task(comparison, task)
    return result


def draw_task(comparison, task) -> list[Figure]:
    section, place = task
    return sections.FIGURE_MAKERS[section](comparison, place)


def make_claims_folder() -> str | None:
    """A new folder for claims; None where there can be none."""
    try:
        return tempfile.mkdtemp(prefix="pansophy-figures-")
    except OSError:
        return None


def claim_task(claims, task) -> bool:
    """Whether a task is ours now. Without a folder none is: `drawn` draws them all."""
    if claims is None:
        return False
    section, place = task
    try:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        os.close(os.open(os.path.join(claims, f"{section}-{place}"), flags))
    except OSError:
        return False
    return True


def _remove_claims_folder(claims) -> None:
    if claims is not None:
        shutil.rmtree(claims, ignore_errors=True)
