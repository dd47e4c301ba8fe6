"""The table of what each estimator can be fitted to is that of the code."""

from tools.scale_page import PAGE, page_text


def test_the_table_is_current():
    assert PAGE.read_text("utf-8") == page_text(), "run `make docs`"
