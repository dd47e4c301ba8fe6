"""Networks from probability rules."""

import numpy as np
import pytest

from pansophy.teaching import (
    from_rules,
)


def test_rules():
    network = from_rules(
        {
            "flu": 0.1,
            "cold": 0.2,
            "fever": 0.01,
            "fever | cold": 0.3,
            "fever | flu": 0.9,
            "fever | flu, cold": 0.95,
        }
    )
    want = [[0.01, 0.3], [0.9, 0.95]]
    table = network.query("fever", {"flu": True, "cold": False})
    assert np.isclose(table[True], 0.9)
    assert np.allclose(np.moveaxis(network.table("fever"), 0, 1)[..., 1], want)
    assert network.query("flu", {"fever": True})[True] > 0.1
    grade = from_rules(
        {"easy": 0.5, "grade=A | easy": 0.7, "grade=B | easy": 0.2,
         "grade=A | not easy": 0.1, "grade=B | not easy": 0.3},
        {"grade": ["A", "B", "C"]},
    )  # fmt: skip
    assert np.isclose(grade.query("grade", {"easy": True})["C"], 0.1)
    for rules, words in [
        ({"a": 1.5}, "probability from 0 to 1"),
        ({"b | a": 0.5}, "'a' in rule"),
        ({"a": 0.5, "b | a": 0.5}, "no rule says what 'b' is where a=False"),
        ({"a": 0.5, "c": 0.1, "b": 0, "b | a": 0.5, "b | c": 0.2}, "disagree"),
    ]:
        with pytest.raises(ValueError, match=words):
            from_rules(rules)
