"""Files of our own in folders that may hold files of others."""

from pansophy.core.files.own_files import (
    foreign_path,
    foreign_sentence,
    remove_own_files,
)

PATTERN = r"words/\d+\.bin"


def test_a_folder_with_our_files_alone_is_ours(tmp_path):
    (tmp_path / "words").mkdir()
    (tmp_path / "words/1.bin").touch()
    assert foreign_path(tmp_path, PATTERN) is None
    assert foreign_path(tmp_path / "none", PATTERN) is None
    remove_own_files(tmp_path, PATTERN)
    assert not tmp_path.exists()


def test_a_foreign_file_is_found_named_and_kept(tmp_path):
    (tmp_path / "words").mkdir()
    (tmp_path / "words/1.bin").touch()
    notes = tmp_path / "words/notes.txt"
    notes.touch()
    assert foreign_path(tmp_path, PATTERN) == notes
    assert "notes.txt" in foreign_sentence(tmp_path, notes)
    remove_own_files(tmp_path, PATTERN)
    assert notes.exists()
    assert not (tmp_path / "words/1.bin").exists()
