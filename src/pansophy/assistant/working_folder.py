"""The one folder that an assistant may read and write.

A path is taken relative to the folder, resolved with all its links, and refused if it
ends elsewhere, if it is no ordinary file, or if the file is larger than the limit.
"""

from pathlib import Path

MAX_BYTES = 1_000_000_000  # of a file that is read


class OutsideError(ValueError):
    """A path that leads out of the folder, or to what may not be read."""


class WorkingFolder:
    """A folder, with the paths below it that may be used.

    Examples
    --------
    >>> import tempfile
    >>> from pansophy.assistant.working_folder import WorkingFolder
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = WorkingFolder(place)
    ...     print(folder.place("run").name)
    ...     try:
    ...         folder.place("../other")
    ...     except ValueError as error:
    ...         print(error)
    run
    '../other' leads out of the folder that this server was started in.
    """

    def __init__(self, root, max_bytes=MAX_BYTES):
        self.root = Path(root).resolve(strict=True)
        if not self.root.is_dir():
            raise ValueError(f"{root} is not a folder.")
        self.max_bytes = max_bytes

    def place(self, path) -> Path:
        """Where something inside the folder is, or is to be written."""
        if not str(path).strip() or "\x00" in str(path):
            raise OutsideError("A path must be given.")
        resolved = (self.root / str(path)).resolve()
        if resolved != self.root and self.root not in resolved.parents:
            raise OutsideError(
                f"{str(path)!r} leads out of the folder that this server was started "
                "in."
            )
        return resolved

    def file(self, path) -> Path:
        """An ordinary file inside the folder that is not too large."""
        place = self.place(path)
        if not place.exists():
            raise OutsideError(f"There is no file {str(path)!r} in the folder.")
        if not place.is_file():
            raise OutsideError(f"{str(path)!r} is not a file.")
        size = place.stat().st_size
        if size > self.max_bytes:
            raise OutsideError(
                f"{str(path)!r} has {size / 1e9:.1f} GB, more than the "
                f"{self.max_bytes / 1e9:.1f} GB that are read here."
            )
        return place

    def new_folder(self, path) -> Path:
        """A folder inside that a command is to write into; not the folder itself."""
        place = self.place(path)
        if place == self.root:
            raise OutsideError("Results need a folder of their own, such as 'result'.")
        if place.exists() and not place.is_dir():
            raise OutsideError(f"{str(path)!r} is a file, not a folder.")
        return place
