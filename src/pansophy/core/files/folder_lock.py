"""A lock on a folder: one process writes to it at a time.

The lock is one of the operating system on the file `.lock`, which ends with the process
that holds it, however it ends; a file that a killed process left behind locks nothing.
Where the system or the file system has no such locks there is none. A part of a folder
has a lock of its own on a file of another name.
"""

import contextlib
import os
import time
from pathlib import Path

LOCK_NAME = ".lock"
LOOK_SECONDS = 0.02  # after which a folder that was only looked at is free again


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
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # perhaps `is_folder_held` had a look just now
            time.sleep(LOOK_SECONDS)
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


def is_folder_held(path, name: str = LOCK_NAME) -> bool:
    """Whether a process holds a folder; nothing is made where there is no lock file.

    Examples
    --------
    >>> import tempfile
    >>> from pansophy.core.files.folder_lock import holding_folder, is_folder_held
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with holding_folder(folder):
    ...         held = is_folder_held(folder)
    ...     (held, is_folder_held(folder))
    (True, False)
    """
    try:
        import fcntl

        fd = os.open(Path(path) / name, os.O_RDONLY)
    except (ImportError, OSError):
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    else:
        return False
    finally:
        os.close(fd)


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
