"""Pictures of the report: one that fails does not stop the page."""

from pansophy.compare.report.html import render_report
from tests.compare.comparisons import ready
from tests.compare.report.pages import parsed


def test_a_picture_that_fails_does_not_stop_the_page(monkeypatch):
    from pansophy.compare.report import plots

    def fails(*_, **how):
        raise RuntimeError("no <ink> left")

    monkeypatch.setattr(plots, "plot_roc", fails)
    text = render_report(ready("classification"))
    parsed(text)
    assert "could not be drawn: no &lt;ink&gt; left" in text
