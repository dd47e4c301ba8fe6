"""A file is replaced whole or not at all, and a full disk is one sentence."""

import errno
import os

import pytest
from safetensors import SafetensorError

from pansophy.core.atomic_files import replacing_file, write_text_file


def test_the_new_content_takes_the_place_of_the_old(tmp_path):
    path = tmp_path / "a.txt"
    write_text_file(path, "one")
    path.chmod(0o640)
    write_text_file(path, "two")
    assert path.read_text() == "two" and path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        SafetensorError("Error: I/O error: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path, error):
    path = tmp_path / "model"
    path.write_text("old")
    with (
        pytest.raises(OSError, match=r"model cannot be written: No space left on d"),
        replacing_file(path) as draft,
    ):
        draft.write_text("half of the n")
        raise error
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model"]


def test_other_errors_keep_their_type(tmp_path):
    with pytest.raises(FileNotFoundError), replacing_file(tmp_path / "no" / "a"):
        pass
    with pytest.raises(KeyError), replacing_file(tmp_path / "a"):
        raise KeyError("b")
    assert not list(tmp_path.iterdir())
