"""Joint tables, Bayes' rule and independence."""

import itertools

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.distributions import (
    JointTable,
    bayes_rule,
    independent,
)

torch = pytest.importorskip("torch")
quick = settings(max_examples=25, deadline=None)

# axes cavity, toothache, catch
CAVITY = np.array([[[0.576, 0.144], [0.064, 0.016]], [[0.008, 0.072], [0.012, 0.108]]])
NAMES = ("cavity", "tooth", "catch")
PZ = [0.7, 0.3]
PX = [[0.56, 0.44], [0.38, 0.62]]


def cavity():
    return JointTable(CAVITY, NAMES)


def test_cavity_table():
    table = cavity()
    assert table.probability({"cavity": 1}, given={"tooth": 1}) == pytest.approx(0.6)
    both = {"tooth": 1, "catch": 1}
    assert table.probability({"cavity": 1}, given=both) == pytest.approx(
        0.870968, abs=5e-7
    )
    for given_ in ({"cavity": 1}, {"cavity": 1, "tooth": 1}):
        assert table.probability({"catch": 1}, given=given_) == pytest.approx(0.9)
    assert table.independent("catch", "tooth", given="cavity")
    assert not table.independent("catch", "tooth")
    assert table.mutual_information("catch", "tooth", "cavity") == pytest.approx(
        0, abs=1e-15
    )
    prior, tooth, catch = [0.8, 0.2], [0.1, 0.6], [0.2, 0.9]
    posterior = bayes_rule(prior, tooth, catch)
    assert posterior[1] == pytest.approx(0.870968, abs=5e-7)
    np.testing.assert_allclose(
        posterior, table.condition(tooth=1, catch=1).prob, atol=1e-12
    )


def test_factorised_joint_equals_the_full_one_iff_independent():
    table = cavity()
    factors = {
        "cavity": table.marginal("cavity").prob,
        "tooth | cavity": table.conditional("tooth", "cavity"),
        "catch | cavity": table.conditional("catch", "cavity"),
    }
    np.testing.assert_allclose(
        JointTable.from_factors(factors).prob, CAVITY, atol=1e-15
    )
    wrong = {"cavity": factors["cavity"], "tooth | cavity": factors["tooth | cavity"]}
    wrong["catch | tooth"] = table.conditional("catch", "tooth")
    assert abs(JointTable.from_factors(wrong).prob - CAVITY).max() > 0.01


@pytest.mark.parametrize("order", itertools.permutations(NAMES))
def test_chain_rule_in_any_order(order):
    again = JointTable.from_factors(cavity().chain(*order))
    assert again.names == order
    np.testing.assert_allclose(again.marginal(*NAMES).prob, CAVITY, atol=1e-15)


@pytest.mark.parametrize(
    ("row", "deviation", "information"),
    [([0.67, 0.33], 0.019656, 0.00309684), ([0.77, 0.23], 0.023436, 0.00452870)],
)
def test_common_cause(row, deviation, information):
    factors = {"Z": PZ, "X | Z": PX, "Y | Z": [row, [0.15, 0.85]]}
    table = JointTable.from_factors(factors)
    found = table.independent("X", "Y")
    assert not found
    assert found.deviation == pytest.approx(deviation, abs=5e-7)
    assert found.mutual_information == pytest.approx(information, abs=5e-9)
    assert table.independent("X", "Y", given="Z")


def test_tables_that_do_not_sum_to_one_are_refused():
    with pytest.raises(ValueError, match=r"P\(Y \| Z\) must sum to 1.* 0\.1"):
        JointTable.from_factors(
            {"Z": PZ, "X | Z": PX, "Y | Z": [[0.67, 0.23], [0.15, 0.85]]}
        )
    with pytest.raises(ValueError, match="joint table must sum to 1"):
        JointTable([[0.27974, 0.18706], [0.23426, 0.22894]])
    with pytest.raises(ValueError, match="Z must come before X"):
        JointTable.from_factors({"X | Z": PX, "Z": PZ})
    with pytest.raises(ValueError, match="needs 2 axes"):
        JointTable.from_factors({"Z": PZ, "X | Z": PZ})
    with pytest.raises(ValueError, match="different names"):
        JointTable(CAVITY, ("a", "a", "b"))
    with pytest.raises(ValueError, match="no variable gum"):
        cavity().marginal("gum")
    with pytest.raises(ValueError, match="probability 0"):
        JointTable([[0.5, 0.5], [0.0, 0.0]]).condition(x0=1)


def test_entropies_of_a_table():
    table = cavity()
    total = table.entropy(base=2)
    chain = table.entropy("cavity", base=2) + table.entropy(
        ("tooth", "catch"), "cavity", base=2
    )
    assert total == pytest.approx(chain)
    assert table.entropy(given="cavity", base=2) == pytest.approx(
        total - table.entropy("cavity", base=2)
    )


def test_samples_and_the_g_test(rng):
    table = JointTable.from_factors({"Z": PZ, "X | Z": PX})
    rows = table.sample(20_000, rng)
    counted = JointTable.from_samples(rows, names=("Z", "X"))
    assert abs(counted.prob - table.prob).max() < 0.02
    found = counted.independent("Z", "X")
    assert not found and found.p_value < 1e-6 and found.free == 1
    from scipy.stats import chi2_contingency

    peer = chi2_contingency(
        np.round(counted.prob * 20_000), correction=False, lambda_="log-likelihood"
    )
    assert found.statistic == pytest.approx(peer.statistic)
    assert found.p_value == pytest.approx(peer.pvalue)
    free = rng.integers(0, 3, (5000, 2))
    assert JointTable.from_samples(free).independent(0, 1, alpha=0.001)
    twice = JointTable.from_samples(rows[:50], weights=np.full(50, 2.0))
    again = JointTable.from_samples(np.repeat(rows[:50], 2, axis=0))
    np.testing.assert_array_equal(twice.prob, again.prob)
    assert twice.n == again.n == 100


@quick
@given(st.integers(0, 10**6))
def test_products_pass_and_order_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4))
    assert independent(np.outer(a, b)) and independent(np.outer(b, a))
    L = rng.random((3, 3))
    one = bayes_rule(bayes_rule(bayes_rule(a, L[0]), L[1]), L[2])
    np.testing.assert_allclose(bayes_rule(a, *L[::-1]), one, rtol=1e-9)
    np.testing.assert_allclose(bayes_rule(a, np.full(3, 0.3)), a, rtol=1e-9)


def test_bayes_rule_edges():
    many = bayes_rule([0.5, 0.5], *np.full((2000, 2), [1e-3, 2e-3]))
    np.testing.assert_allclose(many, [0, 1], atol=1e-12)  # no underflow
    with pytest.raises(ValueError, match="impossible under every cause"):
        bayes_rule([0.5, 0.5], [0.0, 0.0])
    with pytest.raises(ValueError, match="prior must sum"):
        bayes_rule([0.5, 0.2], [0.1, 0.2])
    cases = bayes_rule([0.5, 0.5], [[0.1, 0.3], [0.4, 0.4]])
    np.testing.assert_allclose(cases, [[0.25, 0.75], [0.5, 0.5]])


@pytest.mark.parametrize("library", [torch, strict], ids=["torch", "strict"])
def test_tables_of_other_libraries(library):
    put = lambda a: library.asarray(np.asarray(a, dtype=float))
    table = JointTable(put(CAVITY), NAMES)
    assert isinstance(table.marginal("cavity").prob, type(put(CAVITY)))
    posterior = bayes_rule(put([0.2, 0.8]), put([0.6, 0.1]))
    np.testing.assert_allclose(np.from_dlpack(posterior), [0.6, 0.4])
    tested = independent(table, "tooth", "catch", given="cavity", n=100)
    assert tested and tested.free == 2
    found = table.probability({"cavity": 1}, given={"tooth": 1})
    assert float(found) == pytest.approx(0.6)
    assert table.independent("catch", "tooth", given="cavity")
    again = JointTable.from_factors(table.chain()).prob
    np.testing.assert_allclose(np.from_dlpack(again), CAVITY, atol=1e-15)
