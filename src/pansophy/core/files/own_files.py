"""Files of our own, in folders that may hold files of others.

Names alone do not say who made a folder: a user may call one `words` or `vectors`, or
put notes into one of ours. So before anything is removed every file in it has to have
the path of one that we write.
"""

import contextlib
import os
import re
from pathlib import Path


def foreign_path(folder, pattern) -> Path | None:
    """A path below a folder that does not match; None if all of them do.

    Parameters
    ----------
    folder : path
        There need not be one.
    pattern : str
        Regular expression of the paths of our files, relative to the folder, with
        slashes. Folders match if they are empty or all that they hold does.
    """
    folder = Path(folder)
    if not os.path.lexists(folder):
        return None
    if folder.is_symlink() or not folder.is_dir():
        return folder
    for path in sorted(folder.rglob("*")):
        is_link = path.is_symlink()
        name = path.relative_to(folder).as_posix()
        if is_link or (not path.is_dir() and not re.fullmatch(pattern, name)):
            return path
    return None


def remove_own_files(folder, pattern) -> None:
    """Remove the files whose paths match, and the folders that are empty then.

    Examples
    --------
    >>> import tempfile
    >>> from pansophy.core.files.own_files import remove_own_files
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for name in ("terms.bin", "thesis.txt"):
    ...         _ = Path(place, name).write_text("mine")
    ...     remove_own_files(place, r"terms\\.bin")
    ...     os.listdir(place)
    ['thesis.txt']
    """
    folder = Path(folder)
    if folder.is_symlink() or not folder.is_dir():
        return
    paths = sorted(folder.rglob("*"), reverse=True)  # a folder after what it holds
    for path in [*paths, folder]:
        if path.is_dir() and not path.is_symlink():
            with contextlib.suppress(OSError):  # not empty
                path.rmdir()
        elif re.fullmatch(pattern, path.relative_to(folder).as_posix()):
            path.unlink(missing_ok=True)


def foreign_sentence(folder, path) -> str:
    """One sentence about a path in a folder that holds more than what is ours."""
    if Path(path) == Path(folder):
        return f"{folder} is no folder of pansophy's."
    return f"{folder} is not empty: it holds {Path(path).relative_to(folder)}."
