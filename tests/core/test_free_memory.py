"""Memory that could still be taken: from /proc where it is, within what there is."""

import psutil

from pansophy.core.free_memory import free_memory, read_number_file


def test_it_is_some_of_what_the_machine_has():
    free = free_memory()
    assert free is None or 0 <= free <= psutil.virtual_memory().total


def test_a_file_of_one_number(tmp_path):
    path = tmp_path / "memory.current"
    path.write_text("4096\n")
    assert read_number_file(path) == 4096.0
