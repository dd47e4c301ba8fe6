"""Markov chains: worked numbers, slow counting, limits, tests of the order."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

import pansophy
from pansophy import plot
from pansophy.params import ParameterError
from pansophy.state_space import (
    MarkovChain,
    choose_order,
    communicating_classes,
    mixing_time,
    second_eigenvalue,
    stationary_distribution,
)

WEATHER = np.array([[0.7, 0.3], [0.2, 0.8]])


REPAIRED = np.array([[0.3, 0.5, 0.2], [0.1, 0.2, 0.7], [0.4, 0.4, 0.2]])


def test_weather_chain():
    chain = MarkovChain.from_matrix(WEATHER)
    np.testing.assert_allclose(chain.n_step(2), [[0.55, 0.45], [0.3, 0.7]])
    np.testing.assert_allclose(chain.stationary(), [0.4, 0.6])
    np.testing.assert_allclose(chain.n_step(3, [1, 0]), [0.475, 0.525])
    assert second_eigenvalue(WEATHER) == pytest.approx(0.5)
    np.testing.assert_allclose(
        stationary_distribution(REPAIRED), [0.266667, 0.355556, 0.377778], atol=5e-7
    )


def test_states_are_given_in_any_order():
    chain = MarkovChain.from_matrix(
        WEATHER, start=[0.9, 0.1], states=["sunny", "rainy"]
    )
    assert chain.states_.tolist() == ["rainy", "sunny"]
    np.testing.assert_array_equal(chain.transmat_, WEATHER[::-1, ::-1])
    assert chain.log_prob(["sunny", "rainy"]) == pytest.approx(np.log(0.9 * 0.3))
    second = np.random.default_rng(0).dirichlet(np.ones(3), size=(3, 3))
    turned = MarkovChain.from_matrix(second, states=["c", "a", "b"])
    sorted_ = MarkovChain.from_matrix(
        second[np.ix_([1, 2, 0], [1, 2, 0], [1, 2, 0])], states=["a", "b", "c"]
    )
    assert turned.log_prob(list("abcab")) == sorted_.log_prob(list("abcab"))


def test_learned_from_letters():
    chain = MarkovChain(alpha=1).fit("AABAB")
    np.testing.assert_allclose(chain.transmat_, [[0.4, 0.6], [2 / 3, 1 / 3]])
    np.testing.assert_allclose(chain.stationary(), [0.526316, 0.473684], atol=5e-7)
    likeliest = MarkovChain().fit("AABAB")
    np.testing.assert_allclose(likeliest.transmat_, [[1 / 3, 2 / 3], [1, 0]])


def test_tables_that_do_not_sum_to_one_are_refused():
    with pytest.raises(ValueError, match=r"after 1 must.*sum to 1"):
        MarkovChain.from_matrix([[0.3, 0.5, 0.2], [0.1, 0.2, 0.1], [0, 0, 1]])
    with pytest.raises(ValueError, match=r"row 1 of transmat .* sum 0.4"):
        stationary_distribution([[0.3, 0.5, 0.2], [0.1, 0.2, 0.1], [0, 0, 1]])
    with pytest.raises(ValueError, match="square"):
        communicating_classes([[0.5, 0.5]])


def test_a_machine_is_a_chain_without_doubt():
    machine = MarkovChain.from_matrix(np.roll(np.eye(3), 1, axis=1), states=list("abc"))
    paths = {"".join(machine.sample(7, start="a", random_state=s)) for s in range(5)}
    assert paths == {"bcabcab"}


def slow_counts(sequences, p, states):
    N = dict.fromkeys(itertools.product(states, repeat=p + 1), 0)
    for x in sequences:
        for t in range(p, len(x)):
            if None not in (window := tuple(x[t - p : t + 1])):
                N[window] += 1
    shape = (len(states),) * (p + 1)
    return np.array(list(N.values()), dtype=float).reshape(shape)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_counting_is_as_slow_counting(p):
    rng = np.random.default_rng(p)
    words = ["x", "yy", "z", None]
    sequences = [
        list(rng.choice(words, n, p=[0.4, 0.3, 0.2, 0.1])) for n in (9, 1, 30, 2, 200)
    ]
    chain = MarkovChain(p, alpha=0.5).fit(sequences)
    N = slow_counts(sequences, p, ["x", "yy", "z"]) + 0.5
    np.testing.assert_allclose(chain.transmat_, N / N.sum(axis=-1, keepdims=True))


def test_every_form_of_sequences_says_the_same():
    rows = [list("abca"), list("bb"), list("cab")]
    flat = np.array([v for row in rows for v in row])
    frame = pd.DataFrame({"who": np.repeat([0, 1, 2], [4, 2, 3]), "what": flat})
    forms = [
        (rows, None),
        (flat, [4, 2, 3]),
        (flat[:, None], [4, 2, 3]),
        ([np.array(r) for r in rows], None),
        (frame.groupby("who"), None),
    ]
    chains = [MarkovChain(stop=True).fit(X, lengths) for X, lengths in forms]
    for chain in chains[1:]:
        np.testing.assert_array_equal(chain.transmat_, chains[0].transmat_)
    assert chains[0].stopprob_.tolist() == pytest.approx([1 / 3, 1 / 2, 0])


def test_paths_with_a_stop():
    chain = MarkovChain.from_matrix(
        [[0.5, 0.25], [0.25, 0.5]], stop=[0.25, 0.25], start=[1, 0], states=["a", "b"]
    )
    assert np.exp(chain.score(list("aab"))) == pytest.approx(0.5 * 0.25 * 0.25)
    np.testing.assert_allclose(chain.mean_length(), [4, 4])
    lengths = [len(chain.sample(random_state=s)) for s in range(2000)]
    assert np.mean(lengths) == pytest.approx(4, abs=5 * np.sqrt(12 / 2000))
    with pytest.raises(ValueError, match="stops"):
        chain.stationary()


def test_drawn_paths_go_back_to_the_matrix():
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(3), size=(3, 3))
    chain = MarkovChain.from_matrix(table)
    path = chain.sample(200_000, random_state=1)
    again = MarkovChain(2).fit(path)
    assert np.abs(again.transmat_ - table).max() < 0.02
    pi = chain.stationary().reshape(3, 3)
    np.testing.assert_allclose(pi.sum(axis=0), pi.sum(axis=1), atol=1e-12)
    assert choose_order(path).best == 2
    assert not MarkovChain(1).check_markov(path) and MarkovChain(2).check_markov(path)


def test_statistic_is_that_of_contingency_tables():
    x = MarkovChain.from_matrix(REPAIRED).sample(400, random_state=3)
    found = MarkovChain().check_markov(x)
    G = df = 0
    for middle in range(3):
        here = np.flatnonzero(x[1:-1] == middle) + 1
        N = np.zeros((3, 3))
        np.add.at(N, (x[here - 1], x[here + 1]), 1)
        one = chi2_contingency(N, correction=False, lambda_="log-likelihood")
        G, df = G + one.statistic, df + one.dof
    assert (found.statistic, found.degrees) == (pytest.approx(G), df)
    assert found


def test_level_of_the_markov_test():
    p = [MarkovChain().check_markov(chain_path(s)).p_value for s in range(200)]
    assert 0.01 <= np.mean(np.less(p, 0.05)) <= 0.1


def chain_path(seed):
    return MarkovChain.from_matrix(WEATHER).sample(500, random_state=seed)


def test_bad_input():
    chain = MarkovChain().fit([0, 1, 1, 0])
    with pytest.raises(ValueError, match="state 7"):
        chain.score([0, 7])
    with pytest.raises(ValueError, match=r"has no rows|empty"):
        chain.fit([[0, 1], []])
    with pytest.raises(ValueError, match="missing"):
        chain.fit([None, None])
    with pytest.raises(ValueError, match="one kind, got 1 and 'a'"):
        chain.fit([1, "a", 1])
    alone = MarkovChain().fit(["a", None, "a"])  # no step from a state to a state
    assert alone.score(["a"]) == 0.0
    with pytest.raises(ValueError, match="cells"):
        MarkovChain(9).fit(list(range(30)))
    with pytest.raises(ParameterError, match="order of MarkovChain"):
        MarkovChain(0).fit([0, 1])
    with pytest.raises(ValueError, match="start must be 1"):
        chain.sample(3, start=[0, 1])
    with pytest.raises(ValueError, match="does not stop"):
        chain.sample()
    with pytest.raises(ValueError, match="2 recurrent classes"):
        mixing_time(np.eye(2))


def test_saved_and_loaded(tmp_path):
    chain = MarkovChain(2, alpha=1, stop=True).fit([list("abcab"), list("ba")])
    pansophy.save(chain, tmp_path / "chain.pansophy")
    again = pansophy.load(tmp_path / "chain.pansophy")
    assert again.score("abab") == chain.score("abab")
    assert list(again.sample(5, random_state=0)) == list(
        chain.sample(5, random_state=0)
    )


def test_diagram_shows_every_transition():
    ax = plot.state_diagram(REPAIRED, states=list("abc"))
    texts = [t.get_text() for t in ax.texts]
    assert {"a", "b", "c"} <= set(texts) and texts.count("0.2") == 3
    with pytest.raises(ValueError, match="order 1"):
        plot.state_diagram(np.ones((2, 2, 2)) / 2)
