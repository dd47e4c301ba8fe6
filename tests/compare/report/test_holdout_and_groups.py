"""The test table and groups in the report."""

import pyarrow as pa

from pansophy.compare.evaluation.holdout_comparison import compare_on_test_set
from pansophy.compare.report.html import render_report
from tests.compare.comparisons import made
from tests.compare.report.pages import parsed


def test_a_test_table_and_groups_if_asked_for():
    c = made("classification", n=300)
    p = {t.method.name: t.predictions for t in c.trials if not t.failure}
    c.holdout = compare_on_test_set(c.data.y, p, "log loss", reference=c.winner)
    c.settings["by"] = "<town>"
    towns = pa.table({"<town>": ["u", "v", None] * 100})
    c.dataset = c.dataset._replace(table=towns)
    text = render_report(c)
    parsed(text)
    assert "On the 300 rows of the test table" in text and "McNemar" in text
    assert "Groups of &lt;town&gt;" in text and "true positive rate" in text
    assert c.to_dict()["holdout"]["n"] == 300
