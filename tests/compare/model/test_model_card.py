"""The model card: in the report and in the file, without paths and times."""

from pansophy import persist
from pansophy.compare import compare
from pansophy.compare.model.model_card import model_card
from pansophy.compare.report.html import render_report
from pansophy.diagnose import make_finding
from tests.compare.comparisons import TASKS, made, ready


def test_every_task_has_a_card():
    for task in TASKS:
        c = ready(task)
        card = model_card(c)
        assert card["method"] == c.winner
        assert f"{c.settings['rows']:,} rows" in card["data"]
        assert "95 % interval" in card["expected score"]
        assert ("classes" in card) == (task in ("classification", "multiclass"))
        assert card["made by"] in render_report(c)


def test_a_card_names_the_file_and_not_its_folder_and_the_alarms():
    c = made("regression")
    c.settings["source"] = "/home/somebody/secret/table.csv"
    c.findings = [make_finding("copy", "alarm", "A column copies the target.")]
    card = model_card(c)
    assert card["data"].startswith("table.csv: ") and "/home" not in str(card)
    assert card["limits"] == "A column copies the target."


def test_the_file_and_the_report_have_the_same_card(tmp_path):
    x = [i / 60 for i in range(60)]
    table = {"x": x, "y": [3 * v + (i % 7) / 7 for i, v in enumerate(x)]}
    c = compare(table, "y", methods=["ridge"], repeats=1, workers=0)
    c.save(tmp_path / "m.pansophy")
    card = persist.load(tmp_path / "m.pansophy").facts["card"]
    assert card == model_card(c)
    assert card["predicts"] == "'y' (regression)"
