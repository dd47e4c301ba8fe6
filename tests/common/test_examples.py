"""Generated examples are the same whatever ran before in the process."""

import importlib.util
import sys

from hypothesis import given, settings
from hypothesis import strategies as st


def drawn():
    found = []

    @settings(max_examples=25, database=None)
    @given(st.lists(st.integers(0, 10**6), min_size=20, max_size=20))
    def keep(x):
        found.append(x)

    keep()
    return found


def test_examples_do_not_depend_on_what_is_imported(tmp_path, monkeypatch):
    before = drawn()
    path = tmp_path / "odd.py"  # as a file of ours that another test has imported
    path.write_text(f"NUMBERS = {list(range(70_001, 70_400, 2))}\n")
    spec = importlib.util.spec_from_file_location("odd", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "odd", module)
    assert len(before) >= 25 and drawn() == before
