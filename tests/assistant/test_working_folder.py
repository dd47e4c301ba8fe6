"""Paths of the one folder: nothing outside, nothing odd, nothing too large."""

import os

import pytest

from pansophy.assistant.working_folder import OutsideError, WorkingFolder


def test_files_inside_are_found_and_others_refused(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "t.csv").write_text("a\n1\n")
    (tmp_path / "other.csv").write_text("b\n2\n")
    (inside / "link.csv").symlink_to(tmp_path / "other.csv")
    folder = WorkingFolder(inside)
    assert folder.file("t.csv") == (inside / "t.csv").resolve()
    assert folder.file(inside / "t.csv") == (inside / "t.csv").resolve()
    for path in ("../other.csv", "link.csv", tmp_path / "other.csv", "/etc/passwd"):
        with pytest.raises(OutsideError, match="leads out of the folder"):
            folder.file(path)
    for path in ("", " ", "a\x00b"):
        with pytest.raises(OutsideError, match="must be given"):
            folder.place(path)
    with pytest.raises(OutsideError, match=r"There is no file 'gone\.csv'"):
        folder.file("gone.csv")


def test_a_file_of_two_gigabytes_is_refused(tmp_path):
    with open(tmp_path / "large.csv", "wb") as file:
        file.truncate(2_000_000_000)  # takes no room on the disk
    with pytest.raises(OutsideError, match=r"has 2\.0 GB, more than the 1\.0 GB"):
        WorkingFolder(tmp_path).file("large.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_pipes_and_folders_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("pipe.csv", "."):
        with pytest.raises(OutsideError, match="is not a file"):
            WorkingFolder(tmp_path).file(name)


def test_results_need_a_folder_of_their_own(tmp_path):
    (tmp_path / "t.csv").write_text("a")
    folder = WorkingFolder(tmp_path)
    assert folder.new_folder("run") == tmp_path.resolve() / "run"
    with pytest.raises(OutsideError, match="folder of their own"):
        folder.new_folder(".")
    with pytest.raises(OutsideError, match="is a file"):
        folder.new_folder("t.csv")
