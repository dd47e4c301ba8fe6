"""Targets that are sums of columns, and scores that are too good."""

import numpy as np
import pytest

from pansophy.diagnose import explore, find_leaks
from pansophy.diagnose.data.exact_combinations import (
    find_exact_combination,
    find_exact_product,
    rounding_of,
)


def parts_of_a_total(n=200, seed=0, decimals=2):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(10, 3, size=(n, 5)), decimals)
    return X, rng


@pytest.mark.parametrize("weights", [(1, -1), (1, 1, 1), (0.5, 2)])
def test_a_sum_is_found_though_some_rows_were_corrected_by_hand(weights):
    X, _ = parts_of_a_total()
    y = np.round(X[:, : len(weights)] @ weights + 3, 2)
    y[[3, 50]] += 2.5
    found = find_exact_combination(X, y, list("abcde"))
    assert sorted(found.columns) == list("abcde")[: len(weights)]
    assert found.share == pytest.approx(0.99)
    at = [list("abcde").index(c) for c in found.columns]
    assert found.weights == pytest.approx([weights[j] for j in at], abs=1e-2)
    assert found.intercept == pytest.approx(3, abs=0.05)


def test_the_finding_states_evidence_and_names_the_columns():
    X, _ = parts_of_a_total()
    table = {"bill": X[:, 0], "real": X[:, 1], "other": X[:, 2]}
    table["infl"] = np.round(X[:, 0] - X[:, 1], 2)
    found = [f for f in find_leaks(table, "infl") if f.kind == "linear combination"]
    assert len(found) == 1 and found[0].severity == "alarm"
    assert found[0].text.startswith("On all rows the target 'infl' equals")
    assert "'bill'" in found[0].text and "'real'" in found[0].text
    assert "other" not in found[0].text and " If these columns" in found[0].text


def test_a_good_fit_is_no_sum():
    X, rng = parts_of_a_total()
    for noise in (0.1, 0.03):
        y = np.round(X[:, 0] - X[:, 1] + noise * rng.normal(size=200), 2)
        assert find_exact_combination(X, y, list("abcde")) is None
    coarse = np.round(X[:, 0] - X[:, 1]) // 4  # anything meets it by rounding
    assert find_exact_combination(X, coarse, list("abcde")) is None
    assert rounding_of(np.array([1.25, 3.5, 2.0])) == pytest.approx(0.01)


def test_rain_does_not_look_like_a_mean_of_the_answers():
    """The target is certain wherever it rained: that is a cause, not an encoding."""
    rng = np.random.default_rng(0)
    rain = np.where(rng.random(1400) < 0.5, 0, np.round(rng.gamma(1, 5, 1400), 1))
    dry = np.where(rng.random(1400) < 0.6, "sun", "fog")
    table = {
        "rain": rain,
        "t": rng.normal(size=1400),
        "y": np.where(rain > 0, "r", dry),
    }
    found = find_leaks(table, "y")
    assert not [f for f in found if f.kind == "target encoding"]
    assert not any("made from the answers" in f.text for f in found)


def test_means_of_the_target_are_still_found():
    rng = np.random.default_rng(0)
    g = rng.integers(0, 40, 1500)
    y = (rng.normal(size=1500) + 0.1 * g > 2) * 1
    encoded = np.array([y[g == k].mean() for k in range(40)])[g].round(2)
    table = {"encoded": encoded, "t": rng.normal(size=1500), "y": y}
    found = [f for f in find_leaks(table, "y") if f.kind == "target encoding"]
    assert found and "if it was" in found[0].text


def test_a_regression_is_not_told_about_right_rows():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 300)
    table = {"a": a, "b": rng.integers(0, 3, 300), "y": rng.integers(0, 12, 300) / 2}
    found = explore(table, target="y", task="regression").findings
    assert any(f.kind == "conflicting duplicates" for f in found)
    assert not any("right in" in f.text for f in found)


@pytest.mark.parametrize(
    ("exponents", "formula"),
    [
        ((1, 1), "'a' x 'b'"),
        ((1, -1), "'a' / 'b'"),
        ((1, -2), "'a' / 'b'^2"),  # a body mass index
        ((-1, -1, 0.5), "'c'^0.5 / 'a' / 'b'"),
    ],
)
@pytest.mark.parametrize("decimals", [None, 3])
def test_a_product_is_found(exponents, formula, decimals):
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(1, 9, size=(300, 6)), 2)
    y = 7 * np.prod(X[:, : len(exponents)] ** np.array(exponents), axis=1)
    y = y if decimals is None else np.round(y, decimals)
    y[[3, 50]] *= 1.5  # corrected by hand
    found = find_exact_product(X, y, list("abcdef"))
    assert found.formula == formula and found.share > 0.99
    assert found.factor == pytest.approx(7, rel=1e-2)
    table = {**dict(zip("abcdef", X.T, strict=True)), "y": y}
    alarms = [f for f in find_leaks(table, "y") if f.kind == "exact product"]
    assert len(alarms) == 1 and formula in str(alarms[0])


def test_what_is_nearly_a_product_is_none():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.round(rng.uniform(1, 9, size=(200, 6)), 2)
        y = X[:, 0] / X[:, 1] * np.exp(0.02 * rng.normal(size=200))
        assert find_exact_product(X, y, list("abcdef")) is None
        assert (
            find_exact_product(X, np.exp(rng.normal(size=200)), list("abcdef")) is None
        )
    assert find_exact_product(X, X[:, 0] ** 2, list("abcdef")) is None  # a copy
    assert find_exact_product(X - 5, X[:, 0] * X[:, 1], list("abcdef")) is None
    assert find_exact_product(X, X[:, 0] * X[:, 1] - 20, list("abcdef")) is None


def test_products_of_columns_with_signs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    for y, exponents in (
        (2 * X[:, 0] * X[:, 1], [1, 1]),
        (X[:, 0] / X[:, 1], [1, -1]),
        (-3 * X[:, 0] ** 2 / X[:, 1], [2, -1]),
    ):
        found = find_exact_product(X, y, list("abcdef"))
        assert found.columns == ["a", "b"] and found.exponents == exponents
    without_signs = np.abs(X[:, 0]) * X[:, 1]  # eq. (2) has the sign of both
    assert find_exact_product(X, without_signs, list("abcdef")) is None
    X[0, 2] = 0.0  # a column with a zero is no part of a product
    assert find_exact_product(X, X[:, 0] * X[:, 2], list("abcdef")) is None
