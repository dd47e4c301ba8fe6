"""Elements of a page: a picture that cannot be drawn says why, in plain words."""

from pansophy.compare.report.elements import make_figure


def test_a_picture_that_is_drawn():
    found = make_figure("Title", "Caption.", lambda ax: ax.plot([1, 2]), "key")
    assert found.title == "Title" and found.caption == "Caption."
    assert found.svg.lstrip().startswith("<svg")


def test_a_picture_that_fails_says_why_in_one_line():
    def fails(ax):
        raise RuntimeError("no\nink \x1b[31mleft")

    found = make_figure("Title", "Caption.", fails, "key")
    assert found.svg == "" and "\n" not in found.caption and "\x1b" not in found.caption
    assert found.caption.startswith("This picture could not be drawn: no ink")
