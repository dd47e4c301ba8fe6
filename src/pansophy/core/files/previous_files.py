"""Files that stand where a command is about to write go to `previous/`.

A command that writes several files into a folder under names of its own choice cannot
know who made the files of those names that are there already.
"""

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

FOLDER_NAME = "previous"


def move_to_previous(folder, names) -> Path | None:
    """Move what has one of these names to a new folder `previous` inside; that folder.

    Where there is a `previous` already, the new one is `previous-2`, `previous-3`, ...
    None if there is nothing to move.

    Examples
    --------
    >>> import tempfile
    >>> from pansophy.core.files.previous_files import move_to_previous
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.html"
    ...     for _ in range(2):
    ...         _ = path.write_text("mine")
    ...         print(move_to_previous(folder, ["report.html"]).name, path.exists())
    previous False
    previous-2 False
    """
    folder = Path(folder)
    present = [name for name in names if os.path.lexists(folder / name)]
    if not present:
        return None
    target = make_new_folder(folder / FOLDER_NAME)
    for name in present:
        os.rename(folder / name, target / name)
    return target


def make_new_folder(path) -> Path:
    """Make `path`, or `path-2`, `path-3`, ... if that is taken."""
    for candidate in numbered_names(path):
        with contextlib.suppress(FileExistsError):
            candidate.mkdir()
            return candidate
    raise AssertionError("the numbers do not end")


def numbered_names(path) -> Iterator[Path]:
    """`name.svg`, `name-2.svg`, `name-3.svg`, ... without end."""
    yield path
    for number in itertools.count(2):
        yield path.with_name(f"{path.stem}-{number}{path.suffix}")
