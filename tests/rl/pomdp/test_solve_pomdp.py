"""One entry for all methods of solving a POMDP."""

import pytest

from pansophy.rl import solve_pomdp, tiger_problem


def test_one_entry_for_all_methods():
    tiger = tiger_problem()
    at = {
        method: solve_pomdp(tiger, 0.95, method=method).value([0.5, 0.5])
        for method in ("exact", "fib", "qmdp")
    }
    at["point-based"] = solve_pomdp(tiger, 0.95, random_state=0).value([0.5, 0.5])
    assert at["point-based"] <= at["exact"] + 1e-3 < at["fib"] < at["qmdp"]
    with pytest.raises(ValueError, match="method must be one of"):
        solve_pomdp(tiger, method="guess")
