"""The commands of saved models: predict and plot."""

import csv
import io

from sklearn.linear_model import Ridge

import pansophy
from tests.cli.commands import call


def test_plot_writes_a_picture(folder, tmp_path):
    done = call("plot", folder, "scores", "--out", tmp_path / "s.svg")
    assert done.exit_code == 0, done.output
    assert "<svg" in (tmp_path / "s.svg").read_text()
    done = call("plot", folder, "odd")
    assert done.exit_code == 2 and "kind must be one of" in done.stderr


def test_predict_to_the_screen_and_to_a_file(folder, table, tmp_path):
    model = folder / "model.pansophy"
    done = call("predict", model, table)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 80 and set(rows[0]) == {"y", "p(no)", "p(yes)"}
    kept = pansophy.load(model)
    assert [r["y"] for r in rows] == kept.predict(table).tolist()
    new = tmp_path / "new.csv"
    new.write_text("c,extra,x\nnever,1,\nu,2,3.5\n")
    done = call("predict", model, new, "--out", tmp_path / "p.csv")
    assert done.exit_code == 0 and done.stdout == ""
    assert (
        "'extra' was not in training" in done.stderr and "2 predictions" in done.stderr
    )
    assert (tmp_path / "p.csv").read_text().splitlines()[2].startswith('"yes"')


def test_other_models_are_not_for_tables(table, tmp_path):
    pansophy.save(Ridge(), tmp_path / "r.pansophy")
    done = call("predict", tmp_path / "r.pansophy", table)
    assert done.exit_code == 2 and "holds a Ridge" in done.stderr


def test_plot_of_one_method(folder):
    out = folder.parent / "roc.svg"
    words = ("plot", folder, "roc", "--method", "Logistic-Regression", "--out", out)
    assert call(*words).exit_code == 0 and out.exists()
    done = call("plot", folder, "roc", "--method", "nobody")
    assert done.exit_code == 2 and "method must be one of" in done.stderr
    done = call("plot", folder, "scores", "--method", "dummy")
    assert done.exit_code == 2 and "picture of all methods" in done.stderr
