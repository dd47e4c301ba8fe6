"""A lock on a folder: one process writes to it at a time.

The lock is one of the operating system on the file `.lock`, which ends with the process
that holds it, however it ends; a file that a killed process left behind locks nothing.
Where the system or the file system has no such locks there is none. A part of a folder
has a lock of its own on a file of another name.
"""

import contextlib
import os
from pathlib import Path

LOCK_NAME = ".lock"


class FolderLockedError(OSError):
    """Another process holds the folder."""


def lock_folder(path, name: str = LOCK_NAME) -> int | None:
    """A descriptor that holds a folder as long as it is open.

    Parameters
    ----------
    path : path-like
    name : str
        Name of the file that is locked.

    Raises
    ------
    FolderLockedError
        If another process, or this one by another descriptor, holds the folder.
    """
    try:
        import fcntl
    except ImportError:
        return None
    fd = os.open(Path(path) / name, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise FolderLockedError(
            f"{path} is being written by another process."
        ) from None
    except OSError:  # a file system without locks
        os.close(fd)
        return None
    return fd


@contextlib.contextmanager
def holding_folder(path):
    """Holds a folder, which must exist, for a block.

    Examples
    --------
    >>> import tempfile
    >>> from pansophy.core.files.folder_lock import FolderLockedError, holding_folder
    >>> with tempfile.TemporaryDirectory() as folder, holding_folder(folder):
    ...     try:
    ...         with holding_folder(folder):
    ...             pass
    ...     except FolderLockedError:
    ...         print("held")
    held
    """
    fd = lock_folder(path)
    try:
        yield
    finally:
        if fd is not None:
            os.close(fd)
