"""A file is replaced whole or not at all, and a full disk is one sentence."""

import errno
import os

import pytest
from safetensors import SafetensorError

from pansophy.core.files.atomic_files import replacing_file, write_text_file


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
    with (  # noqa: PT012
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


def test_a_new_file_has_the_permissions_of_the_mask(tmp_path):
    before = os.umask(0o027)
    try:
        write_text_file(tmp_path / "a", "one")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
    (tmp_path / "secret").touch(0o600)
    write_text_file(tmp_path / "secret", "two")
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_the_mask_of_the_process_is_never_set(tmp_path, monkeypatch):
    # files that other threads make at that moment would be open to everybody
    monkeypatch.setattr(os, "umask", None)
    write_text_file(tmp_path / "a", "one")
    assert (tmp_path / "a").read_text() == "one"


def test_a_missing_folder_is_one_sentence_with_the_name_that_was_given(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_text_file(tmp_path / "no" / "a", "one")
    folder = tmp_path / "no"
    sentence = f"{folder / 'a'} cannot be written: there is no folder {folder}."
    assert str(caught.value) == sentence


def writers():
    """Functions of a path that write a file each."""
    import matplotlib.pyplot as plt
    from PIL import Image

    from pansophy.datasets import load
    from pansophy.play.episode_film import Film, save_film
    from pansophy.plot.style import save
    from pansophy.tables import infer_schema
    from pansophy.tree.explanation.tree_drawing import return_or_write

    frame = Image.new("RGB", (4, 4))
    _, axes = plt.subplots()
    return {
        "schema.toml": infer_schema(load("iris").table).write,
        "episode.gif": lambda path: save_film(Film([frame], 0.0, 1), path),
        "tree.svg": lambda path: return_or_write("<svg/>", path),
        "roc.svg": lambda path: save(axes, path),
    }


@pytest.mark.parametrize("name", ["schema.toml", "episode.gif", "tree.svg", "roc.svg"])
def test_all_writers_leave_the_old_file_where_there_is_no_room(
    tmp_path, monkeypatch, name
):
    write = writers()[name]
    path = tmp_path / name
    write(path)
    path.write_text("old")

    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pansophy.core.files.atomic_files.flush_to_disk", full)
    with pytest.raises(OSError, match=f"{name} cannot be written: No space"):
        write(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == [name]
