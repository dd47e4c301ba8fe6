"""Comparison on a test table: worked numbers, ties among many, bad input."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pansophy.compare import METRICS, compare_on_test_set, mcnemar_test


def answers(rng, n=300):
    y = rng.integers(0, 2, n)
    shift = lambda s: 1 / (1 + np.exp(-(s * (y - 0.5) + rng.normal(size=n))))
    p = {"good": shift(3.0), "as good": shift(3.0), "bad": shift(0.0)}
    return y, {name: np.column_stack([1 - v, v]) for name, v in p.items()}


def test_compare_on_test(rng):
    y, p = answers(rng)
    for metric in (None, "accuracy", "roc_auc"):
        result = compare_on_test_set(y, p, metric, n_resamples=100, reference="good")
        verdicts = {r.method: r.verdict for r in result.rows}
        assert verdicts == {"good": "reference", "as good": "tied", "bad": "worse"}
        assert result.rows[-1].method == "bad" and "bad" in str(result)
        assert all(r.score.low <= r.score.mean <= r.score.high for r in result.rows)
    bad = next(r for r in result.rows if r.method == "bad")
    assert bad.score.mean == pytest.approx(roc_auc_score(y, p["bad"][:, 1]))
    right = {name: v.argmax(1) == y for name, v in p.items()}
    assert bad.mcnemar == mcnemar_test(right["bad"], right["good"])


def test_compare_on_test_numbers(rng):
    y = rng.normal(size=200)
    p = {"near": y + 0.1 * rng.normal(size=200), "far": y + rng.normal(size=200)}
    rmse = compare_on_test_set(y, p)
    assert (rmse.metric, rmse.best) == ("rmse", "near")
    assert rmse.rows[1].verdict == "worse" and rmse.rows[1].mcnemar is None
    metric = next(m for m in METRICS if m.name == "mae")
    assert compare_on_test_set(y, p, metric).best == "near"
    worst = lambda y, p: -np.abs(y - p).max()
    assert compare_on_test_set(y, p, worst, n_resamples=100).best == "near"
    alone = compare_on_test_set(y, {"near": p["near"]}, groups=np.arange(200) // 4)
    assert alone.rows[0].verdict == "reference"


def test_compare_on_test_bad_input(rng):
    y, p = answers(rng, 20)
    for wrong, words in [
        (lambda: compare_on_test_set(y, {}), "at least one method"),
        (lambda: compare_on_test_set(y[:3], p), "y has 3 rows"),
        (lambda: compare_on_test_set(y, {"a": p["good"] * np.nan}), "not all finite"),
        (lambda: compare_on_test_set(y, p, "rmse"), "metric must be one of"),
        (lambda: compare_on_test_set(y, p, reference="x"), "reference must be"),
        (lambda: compare_on_test_set(y[:1], {"a": p["bad"][:1]}), "two test rows"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()


def test_the_best_of_many_on_a_test_file_is_tied():
    """Ten equal methods: none is called worse than the one that happened to be best."""
    rng = np.random.default_rng(0)
    false = []
    for i in range(60):
        y = rng.normal(size=80)
        p = {str(k): y + rng.normal(size=80) for k in range(10)}
        found = compare_on_test_set(y, p, n_resamples=200, random_state=i)
        false.append(any(r.verdict == "worse" for r in found.rows))
    assert np.mean(false) <= 0.09
    far = compare_on_test_set(
        y, p | {"bad": y + 9 * rng.normal(size=80)}, n_resamples=300
    )
    assert [r.verdict for r in far.rows].count("worse") == 1
