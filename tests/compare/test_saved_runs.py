"""Runs that are opened again stay as they were."""

import json

import numpy as np
import pandas as pd
import pytest

from pansophy.compare import compare, infer_schema, reopen, rerun
from pansophy.compare.execution import race
from pansophy.tables import read_table
from tests.compare.comparisons import rows
from tests.compare.small_tables import table_of_numbers

QUICK = {"workers": 0, "repeats": 1, "folds": 3, "progress": False}


def test_what_is_opened_again_stays_as_it_was(tmp_path):
    table = pd.DataFrame(rows())
    table.to_csv(tmp_path / "t.csv", index=False)
    place, asked = tmp_path / "run", {"methods": ["naive Bayes"], **QUICK}
    schema = infer_schema(read_table(table), "y")
    asked |= {"schema": schema, "folds": np.int64(3), "max_fits": 6}
    compare(tmp_path / "t.csv", "y", folder=place, **asked)
    before = {p.name: p.read_bytes() for p in place.iterdir() if p.is_file()}
    again = reopen(place)
    assert again.folder == place and len(again.leaderboard) == 2
    after = {p.name: p.read_bytes() for p in place.iterdir() if p.is_file()}
    assert before == after
    assert rerun(place, workers=0, progress=False).same
    plan = json.loads(before["plan.json"])  # as another version would have left it
    plan["versions"] |= {"numpy": "1.0", "pansophy": "0.0.9"}
    plan |= {"schema_hash": "x", "methods": dict.fromkeys(plan["methods"], "y")}
    (place / "plan.json").write_text(json.dumps(plan))
    older = reopen(place)
    assert older.leaderboard[0].scores == again.leaderboard[0].scores
    note = older.notes[-1]
    assert note.startswith("The scores are those of the run as it was made; ")
    assert "numpy (1.0 before, " in note and "pansophy (0.0.9 before, " in note
    with pytest.raises(ValueError, match=r"cannot be resumed.* numpy \(1\.0 before, "):
        compare(tmp_path / "t.csv", "y", folder=place, resume=True, **asked)
    plan["data_hash"] = "z"
    (place / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(ValueError, match=r"cannot be shown.* the rows of the table"):
        reopen(place)


def test_a_blend_comes_out_of_a_run_folder_as_it_went_in(tmp_path):
    named = ["linear regression", "decision tree", "blend"]
    found = compare(table_of_numbers(), "y", methods=named, folder=tmp_path, **QUICK)
    assert "blend" in [r.method for r in found.leaderboard]
    assert reopen(tmp_path, table_of_numbers()).leaderboard == found.leaderboard
    assert rerun(tmp_path, table_of_numbers(), workers=0).same


def test_methods_that_were_stopped_are_in_a_run_opened_again(tmp_path, monkeypatch):
    monkeypatch.setattr(race, "RACE_SECONDS", 0.0)
    named = ["linear regression", "nearest neighbours", "decision tree"]
    asked = {"methods": named, "race": True, **QUICK, "repeats": 3}
    x = np.random.default_rng(0).normal(size=(2, 150))
    table = {"x": x[0], "y": 3 * x[0] + x[1]}
    found = compare(table, "y", folder=tmp_path, **asked)
    assert any(r.stopped for r in found.leaderboard)
    assert reopen(tmp_path, table).leaderboard == found.leaderboard
    assert rerun(tmp_path, table, workers=0).same
    lines = (tmp_path / "results.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "results.jsonl").write_bytes(b"".join(lines[:-1]))
    cut = reopen(tmp_path, table)  # nothing is fitted to fill the gap
    assert len(cut.leaderboard) == len(found.leaderboard) - 1
