"""Files replaced in one step: whoever reads sees the old file or the new one, whole.

The new content is written to a draft beside the file, flushed to disk and put in its
place. Where writing fails (a full disk, an interruption) the draft is removed and the
old file stays.
"""

import contextlib
import errno
import os
import tempfile
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
    >>> from pansophy.core.atomic_files import replacing_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.txt"
    ...     with replacing_file(path) as draft:
    ...         _ = draft.write_text("all of it", "utf-8")
    ...     path.read_text("utf-8")
    'all of it'
    """
    path = Path(os.path.realpath(path))  # a link keeps pointing to its file
    with sentence_of_failed_write(path):
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"
        )
        os.close(handle)
        draft = Path(name)
        try:
            yield draft
            os.chmod(draft, mode_for(path))
            flush_to_disk(draft)
            os.replace(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        flush_to_disk(path.parent)


@contextlib.contextmanager
def sentence_of_failed_write(path):
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


def mode_for(path) -> int:
    """The permissions a plain `open(path, "w")` would leave."""
    with contextlib.suppress(FileNotFoundError):
        return os.stat(path).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def flush_to_disk(path) -> None:
    """Flush a file, or the entries of a folder."""
    if os.name == "nt" and os.path.isdir(path):
        return  # folders cannot be flushed there
    handle = os.open(path, os.O_RDWR if os.path.isfile(path) else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
