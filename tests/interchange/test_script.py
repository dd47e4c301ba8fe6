"""The script of a kept model runs, and scores as the kept model's kind does."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from pansophy.compare.methods.blending import Blend
from pansophy.datasets import path as table_path
from pansophy.interchange import ExportError, to_script
from pansophy.tables import read_table
from tests.compare.table_models import fitted, people

pytest.importorskip("pandas")


def run(text, table, tmp_path):
    (tmp_path / "script.py").write_text(text)
    words = [sys.executable, "-W", "ignore", "script.py", str(table)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_script_scores_as_the_kept_model(tmp_path):
    table = read_table(table_path()).drop_columns(["customer_id", "currency"])
    model = fitted(table, "left", "logistic regression")
    text = to_script(model, tmp_path / "kept.py")
    assert (tmp_path / "kept.py").read_text() == text
    assert "LogisticRegression(random_state=0)" in text and "TargetEncoder" in text
    printed = run(text, table_path(), tmp_path)
    assert printed.startswith("log_loss: ")
    assert 0.54 < float(printed.split()[1]) < 0.59  # 0.565 by `compare`


def test_dates_texts_and_a_number(tmp_path):
    from pyarrow import parquet

    table = people(120)
    model = fitted(table, "score", "ridge")
    parquet.write_table(table, tmp_path / "people.parquet")
    printed = run(to_script(model), tmp_path / "people.parquet", tmp_path)
    assert 0.3 < float(printed.split()[1]) < 1.6  # noise of deviation 1


def test_a_blend_is_a_vote_with_weights(tmp_path):
    from dataclasses import replace

    table = people(150)
    parts = [fitted(table, "yes", n) for n in ("naive Bayes", "logistic regression")]
    members = [(p.method, p.pipeline) for p in parts]
    blend = Blend(members, [0.3, 0.7], task="classification")
    blend.take([m for _, m in members], 2)
    model = replace(parts[0], pipeline=blend, method="blend")
    text = to_script(model)
    assert "VotingClassifier" in text and "weights=[0.3, 0.7]" in text
    space = {}
    exec(compile(text, "script", "exec"), space)
    frame = table.to_pandas()
    made = space["make_model"]().fit(frame, frame["yes"])
    kept = blend.predict_proba(model.schema.frame(table))[:, 1]
    assert np.corrcoef(made.predict_proba(frame)[:, 1], kept)[0, 1] > 0.97


def test_others_are_refused():
    with pytest.raises(ExportError, match="kept model"):
        to_script(Pipeline([]))
