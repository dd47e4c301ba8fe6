"""Levels with a natural order are recognised."""

from pansophy.tables.ordinal_levels import order_of


def test_orders():
    assert order_of(["b", "a"]) is None and order_of(["low"]) is None
    assert order_of(["1", "2", "3"]) is None and order_of(["10-20", "0-9", "x"]) is None
    assert order_of(["over 50", "10 to 50", "under 10"]) == [
        "under 10", "10 to 50", "over 50",
    ]  # fmt: skip
    assert order_of(["Strongly Agree", "neutral", "disagree"])[0] == "disagree"
