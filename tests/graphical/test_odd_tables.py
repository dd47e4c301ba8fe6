"""Networks fitted to tables as people have them, and refusals of what does not fit."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pansophy.graphical import (
    BayesianNetwork,
    ConditionalLinearGaussian,
    LinearGaussian,
    StructureSearch,
    TreeAugmentedNB,
    VariableSpace,
    fit_tables,
    fit_tables_em,
    from_rules,
    markov_equivalent,
    sprinkler_network,
)
from pansophy.params import ParameterError

EDGES = [("cat", "word"), ("word", "yes"), ("yes", "x"), ("cat", "maybe")]


def odd_frame(n=120):
    """Categories in their own order (one never seen), words, booleans, holes."""
    rng = np.random.default_rng(0)
    order = pd.CategoricalDtype(["c", "a", "b", "d"], ordered=True)
    return pd.DataFrame(
        {
            "cat": pd.Series(rng.choice(list("abc"), n), dtype=order),
            "word": rng.choice(["u", "v"], n),
            "yes": rng.random(n) < 0.5,
            "x": rng.normal(size=n).astype(np.float32),
            "maybe": pd.array(rng.choice([1, 2, None], n), dtype="Int64"),
        }
    ).set_index(np.arange(n) + 1000)


def test_frames_come_back_as_they_came():
    frame = odd_frame()
    network = BayesianNetwork(EDGES).fit(frame)
    states = (("a", "b", "c", "d"), ("u", "v"), (False, True), (), (1, 2))
    assert network.space.states == states  # (EM met an empty row of a table)
    assert np.isfinite(network.score(frame.iloc[::-1, ::-1]))
    holes = frame.head(5).copy()
    holes.loc[1000, "cat"], holes.loc[1001, "x"] = None, np.nan
    filled = network.predict(holes)
    assert (filled.dtypes == frame.dtypes).all() and filled.index.equals(holes.index)
    kept = ["word", "yes"]
    assert filled[kept].equals(holes[kept]) and not filled.isna().any(axis=None)
    lent = pl.from_pandas(holes)
    assert network.predict(lent).schema == lent.schema


def test_columns_with_numbers_as_names_are_names():
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (30, 2)), columns=[1, 0])
    network = BayesianNetwork([(1, 0)]).fit(X)
    assert network.space.names == ("1", "0") and network.parents == ((), (0,))
    assert network.query(1, {0: 1}).names == ("1",)
    assert list(network.predict(X).columns) == [1, 0]


def test_an_edge_by_name_and_by_number_is_one_edge():
    X = np.array([[0, 0], [0, 1], [1, 1]])
    assert BayesianNetwork([("x0", "x1"), (0, 1)]).fit(X).parents == ((), (0,))


def test_words_and_categories_are_states_even_if_they_look_like_numbers():
    words = {"a": ["1.5", "2", "3"], "b": pd.Categorical(np.arange(3) + 0.5)}
    assert BayesianNetwork().fit(pd.DataFrame(words)).space.sizes == (3, 3)


def test_weight_zero_leaves_categories_alone():
    frame = odd_frame()
    w = np.arange(len(frame)) % 3
    a = BayesianNetwork(EDGES[:2]).fit(frame, sample_weight=w)
    b = BayesianNetwork(EDGES[:2]).fit(frame.iloc[np.repeat(np.arange(len(w)), w)])
    assert a.space == b.space
    assert np.allclose(a.table("word"), b.table("word"))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"states": {"Word": ["u"]}}, "states names 'Word', which is no column"),
        ({"states": {"word": ["u", "u", "v"]}}, "each once"),
        ({"kinds": {"wrod": "discrete"}}, "kinds names 'wrod'"),
        ({"kinds": {"word": "gauss"}}, "got 'gauss' for 'word'"),
    ],
)
def test_nothing_told_about_columns_is_ignored(params, words):
    with pytest.raises((ValueError, ParameterError), match=words):
        BayesianNetwork(EDGES, **params).fit(odd_frame())


def test_columns_that_cannot_be_fitted():
    with pytest.raises(ValueError, match="missing in every row"):
        BayesianNetwork().fit(odd_frame().assign(word=None))
    with pytest.raises(ValueError, match="same number of rows"):
        BayesianNetwork().fit({"a": [0, 1, 1], "b": [0, 1]})
    with pytest.raises(ValueError, match="infinity"):
        BayesianNetwork().fit({"a": [0.0, 1.0, np.inf]})
    with pytest.raises(ValueError, match="40 variables would have"):
        X = np.random.default_rng(0).integers(0, 2, (9, 40))
        BayesianNetwork([(j, 39) for j in range(39)]).fit(X)


def test_parts_that_do_not_fit_are_refused():
    space = VariableSpace(("a", "b"), ((0, 1), (0, 1)))
    half, table = np.full(2, 0.5), np.full((2, 2), 0.5)
    make = BayesianNetwork.from_nodes
    assert make(space, [(), (0,)], [half, table]).query("b")[1] == 0.5
    for parents, nodes, words in [
        ([(), (0,)], [half, np.full((3, 2), 0.5)], "needs shape"),
        ([(), (0,)], [half + 0.1, table], "sums to"),
        ([(), (0,)], [half, LinearGaussian(0.0)], "array of numbers"),
        ([()], [half], "as many"),
        ([(), (7,)], [half, table], "by number"),
    ]:
        with pytest.raises(ValueError, match=words):
            make(space, parents, nodes)
    with pytest.raises(ValueError, match="two variables are called 'class'"):
        X = pd.DataFrame([[0, 1], [1, 0]], columns=["class", "b"])
        TreeAugmentedNB().fit(X, [0, 1]).network()
    with pytest.raises(ValueError, match="same parent twice"):
        BayesianNetwork.from_tables({"b": [0.5, 0.5], "a | b, b": np.full((2,) * 3, 1)})
    with pytest.raises(ValueError, match="two states of one"):
        from_rules({"b": 0.5, "a | b, not b": 0.3, "a": 0.1})


def test_codes_are_checked_before_the_loops_use_them():
    C = np.array([[0, 0], [1, 1]])
    for codes, parents, words in [
        (C * 5, [(), (0,)], "must be from -1"),
        (C * 0.5, [(), (0,)], "whole numbers"),
        (C[:, :1], [(), (0,)], "a column for each"),
        (C, [(1,), (0,)], "cycle"),
        (C, [(), (3,)], "column numbers"),
    ]:
        with pytest.raises(ValueError, match=words):
            fit_tables(codes, parents, (2, 2))
    with pytest.raises(ValueError, match="as many weights"):
        fit_tables(C, [(), (0,)], (2, 2), weights=[1.0])
    with pytest.raises(ValueError, match="need shapes"):
        fit_tables_em(C, [(), (0,)], (2, 2), tables=[np.ones(2)] * 2)


def test_contradiction_has_probability_zero():
    network = sprinkler_network()
    assert network.probability({"rain": True}, {"rain": False}) == 0.0
    with pytest.raises(TypeError, match="evidence must be a dict"):
        network.query("rain", ["wet"])


def test_values_without_noise_are_point_masses():
    nodes = {
        "k": [0.5, 0.5],
        "x | k": ConditionalLinearGaussian(
            [0.0, 5.0], np.zeros((2, 0)), [1.0, 0.0], (0,)
        ),
        "y | x": LinearGaussian(0.0, [2.0], 0.0),
    }
    network = BayesianNetwork.from_tables(nodes)
    assert network.query("k", {"x": 5.0})[1] == 1.0  # a mass outweighs a density
    assert network.query("k", {"y": 10.0})[1] == 1.0
    assert network.query("k", {"x": 4.0, "y": 8.0})[0] == 1.0
    found = network.query("x", {"y": 8.0})
    assert found.mean[0] == 4.0 and found.cov[0, 0] == 0.0
    with pytest.raises(ValueError, match="probability 0"):
        network.query("k", {"x": 4.0, "y": 9.0})
    rows = {"x": np.random.default_rng(0).normal(size=9), "one": np.full(9, 1.5)}
    fitted = BayesianNetwork([("one", "x")]).fit(rows)
    assert np.isclose(fitted.query("x", {"one": 1.5}).mean[0], rows["x"].mean())


@pytest.mark.parametrize("scoring", ["gaussian_bic", "gaussian_aic"])
def test_search_among_constant_and_equal_columns(scoring):
    x = np.random.default_rng(0).normal(size=(40, 2))
    X = np.column_stack([x, x[:, 0], np.ones(40)])
    joined = {frozenset(e) for e in StructureSearch(scoring).fit(X).edges_}
    assert frozenset(("x0", "x2")) in joined
    assert not any("x3" in pair for pair in joined)


def test_graphs_are_compared_by_name():
    assert not markov_equivalent([("a", "b")], [("b", "c")])
    chain = [("c", "b"), ("b", "a")]
    assert markov_equivalent([("a", "b"), ("b", "c")], chain)
    assert not markov_equivalent([("b", "a"), ("c", "a")], chain)
