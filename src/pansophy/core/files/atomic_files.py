"""Files replaced in one step: whoever reads sees the old file or the new one, whole.

The new content is written to a draft beside the file, flushed to disk and put in its
place. Where writing fails (a full disk, an interruption) the draft is removed and the
old file stays.
"""

import contextlib
import errno
import os
import secrets
from pathlib import Path

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}


@contextlib.contextmanager
def replacing_file(path):
    """The path of a draft, which takes the place of `path` at the end of the block.

    Raises
    ------
    OSError
        If there is no room; the sentence names the file.

    Examples
    --------
    >>> import tempfile
    >>> from pansophy.core.files.atomic_files import replacing_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.txt"
    ...     with replacing_file(path) as draft:
    ...         _ = draft.write_text("all of it", "utf-8")
    ...     path.read_text("utf-8")
    'all of it'
    """
    path = Path(os.path.realpath(path))  # a link keeps pointing to its file
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or a pipe"
        raise OSError(f"{path} cannot be written: it is {kind}.")
    with _sentence_of_failed_write(path):
        mode = _mode_of_file(path)
        draft = _make_draft(path, 0o666 if mode is None else mode)
        try:
            yield draft
            if mode is not None:
                os.chmod(draft, mode)
            flush_to_disk(draft)
            os.replace(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        flush_to_disk(path.parent)


@contextlib.contextmanager
def _sentence_of_failed_write(path):
    """Lets a full disk be told with the name of the file, by safetensors too."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise OSError(f"{path} cannot be written: {error.strerror}.") from error
    except Exception as error:
        if type(error).__name__ != "SafetensorError":
            raise
        reason = str(error).split("I/O error: ")[-1].split(" (os error")[0]
        raise OSError(f"{path} cannot be written: {reason}.") from error


def write_text_file(path, text) -> Path:
    """Replace the content of a text file in one step."""
    with replacing_file(path) as draft:
        draft.write_text(text, "utf-8")
    return Path(path)


def _mode_of_file(path) -> int | None:
    """The permissions of a file; None if it is not there."""
    with contextlib.suppress(FileNotFoundError):
        return os.stat(path).st_mode & 0o777
    return None


def _make_draft(path, mode) -> Path:
    """Make an empty file beside `path`; the system takes its umask off the mode.

    The umask cannot be read without setting it for all threads, so it is not asked for.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    while True:
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            os.close(os.open(draft, flags, mode | 0o600))
        except FileExistsError:
            continue
        except (FileNotFoundError, NotADirectoryError) as error:
            raise type(error)(
                f"{path} cannot be written: there is no folder {path.parent}."
            ) from None
        except OSError as error:  # the draft's name is not one that the user gave
            reason = error.strerror
            raise type(error)(f"{path} cannot be written: {reason}.") from None
        return draft


def flush_to_disk(path) -> None:
    """Flush a file, or the entries of a folder."""
    if os.name == "nt" and os.path.isdir(path):
        return  # folders cannot be flushed there
    handle = os.open(path, os.O_RDWR if os.path.isfile(path) else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
