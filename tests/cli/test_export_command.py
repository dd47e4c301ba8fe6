"""`pansophy export`: files, refusals, and what is told."""

import json

import pytest

from tests.cli.commands import call


def test_a_kept_model_becomes_onnx_and_a_script(folder, table, tmp_path):
    pytest.importorskip("onnxruntime")
    place = tmp_path / "model.onnx"
    done = call("export", folder, place, "--table", table)
    assert done.exit_code == 0 and place.stat().st_size > 500
    assert "compared on 80 rows" in done.stderr and done.stdout == ""
    done = call("export", folder, tmp_path / "again.onnx", "--json")
    told = json.loads(done.stdout)
    assert told["outputs"] == ["label", "probabilities"] and told["format"] == 1
    assert set(told["inputs"]) == {"x", "c"} and told["largest_difference"] < 1e-9
    done = call("export", folder / "model.pansophy", tmp_path / "model.py")
    assert "def make_model" in (tmp_path / "model.py").read_text()


def test_refusals_in_one_sentence(folder, tmp_path):
    there = tmp_path / "there.onnx"
    there.write_text("mine")
    for words, said in (
        ((folder, there), "is there already; --overwrite replaces it"),
        ((folder, tmp_path / "m.pkl"), "should end in .onnx or .py"),
        ((tmp_path / "none", tmp_path / "m.py"), "There is no file"),
    ):
        done = call("export", *words)
        assert done.exit_code == 2 and said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    assert there.read_text() == "mine"
