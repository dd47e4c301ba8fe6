"""Right and wrong answers of two classes, with intervals, against counts by hand."""

import numpy as np
import pyarrow as pa
import pytest

from pansophy.compare import compare
from pansophy.compare.model.kept_model import held_out_predictions
from pansophy.compare.report.decisions import positive_section
from pansophy.compare.report.sections import calibration_error_sentence


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = np.where(rng.random(200) < 1 / (1 + np.exp(-2 * x)), "ill", "well")
    table = pa.table({"x": x, "y": y})
    named = ["logistic regression"]
    return compare(table, "y", methods=named, repeats=1, workers=0, positive="ill")


def test_rates_are_those_of_the_held_out_rows(comparison):
    held_out = held_out_predictions(comparison)
    body = positive_section(comparison, held_out).table.body
    ill = held_out.y == 1
    said = held_out.p[:, 1] >= 0.5
    assert [row[0] for row in body] == [
        "sensitivity",
        "specificity",
        "positive predictive value",
        "negative predictive value",
    ]
    assert body[0][2] == f"{(ill & said).sum()} of {ill.sum()}"
    assert body[1][2] == f"{(~ill & ~said).sum()} of {(~ill).sum()}"
    assert body[2][2] == f"{(ill & said).sum()} of {said.sum()}"
    assert body[3][2] == f"{(~ill & ~said).sum()} of {(~said).sum()}"
    assert body[0][1] == "of the rows with 'ill', found"


def test_the_line_of_calibration_is_told(comparison):
    sentence = calibration_error_sentence(comparison)
    assert "True log odds against predicted ones have the slope" in sentence


def test_the_page_names_no_folder_of_this_machine(comparison, tmp_path):
    path = tmp_path / "secret" / "t.csv"
    path.parent.mkdir()
    path.write_text("x,y\n" + "".join(f"{i % 7}.5,{'ab'[i % 2]}\n" for i in range(60)))
    c = compare(path, "y", methods=["naive Bayes"], repeats=1, workers=0)
    text = c.report(tmp_path / "report.html").read_text()
    assert "pansophy compare t.csv --target y" in text
