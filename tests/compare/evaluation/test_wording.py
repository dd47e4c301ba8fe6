"""Verdicts in words."""

from pansophy.compare import (
    ComparisonProbabilities,
    default_rope,
    describe_probabilities,
)


def test_words():
    p = ComparisonProbabilities(0.97, 0.03, 0.0)
    assert describe_probabilities(p, "A", "B", 0.01, "accuracy") == (
        "A is almost certainly better than B (97 %), by more than 0.01 of accuracy."
    )
    p = ComparisonProbabilities(0.0, 0.2, 0.8)
    assert describe_probabilities(p, "A", "B", 0.01, "rmse", relative=True) == (
        "A is probably worse than B (80 %), by more than 1 % of rmse."
    )
    p = ComparisonProbabilities(0.45, 0.551, 0.002)
    text = describe_probabilities(p, "A", "B", 0.01, "accuracy")
    assert text.startswith("Whether A is better than B is open") and "under 1 %" in text
    assert default_rope("accuracy", 0.9) == 0.01
    assert default_rope("rmse", 250.0) == 2.5
    assert default_rope("log loss", 0.5) == 0.005
    assert default_rope("log loss", 1e-15) == 0.001  # both always right and sure
