"""Names that do not exist, and the nearest that do."""

import pytest

from pansophy.core.suggestions import nearest_name, unknown_column_message


@pytest.mark.parametrize(("name", "near"), [
    ("prise", "price"), ("PRICE", "price"), ("Shop", "shop"), ("xyz", None), (3, None),
])  # fmt: skip
def test_nearest_name(name, near):
    assert nearest_name(name, ["price", "shop"]) == near


def test_message_of_an_unknown_column():
    assert unknown_column_message("prise", ["price", "shop"]) == (
        "There is no column 'prise'; did you mean 'price'?"
    )
    names = [f"column {i}" for i in range(20)]
    text = unknown_column_message("z", names)
    assert "column 11, ..." in text and "column 12" not in text
