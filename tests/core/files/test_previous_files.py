"""Files in the way are kept, under numbered names where one is taken."""

from pansophy.core.files.previous_files import make_new_folder, move_to_previous


def test_only_what_is_named_is_moved_and_nothing_is_lost(tmp_path):
    for i in range(3):
        (tmp_path / "report.html").write_text(f"{i}")
        (tmp_path / "notes.txt").write_text("mine")
        folder = move_to_previous(tmp_path, ["report.html", "model.pansophy"])
        assert (folder / "report.html").read_text() == f"{i}"
        assert (tmp_path / "notes.txt").read_text() == "mine"
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["notes.txt", "previous", "previous-2", "previous-3"]
    assert move_to_previous(tmp_path, ["report.html"]) is None


def test_a_broken_link_is_moved_too(tmp_path):
    (tmp_path / "plan.json").symlink_to(tmp_path / "nowhere")
    folder = move_to_previous(tmp_path, ["plan.json"])
    assert (folder / "plan.json").is_symlink()
    assert make_new_folder(tmp_path / "previous").name == "previous-2"
