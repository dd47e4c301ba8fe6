"""Parts of networks that do not fit."""

import numpy as np
import pandas as pd
import pytest

from pansophy.graphical import (
    BayesianNetwork,
    LinearGaussian,
    TreeAugmentedNB,
    VariableSpace,
)
from pansophy.teaching import from_rules


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
    X = pd.DataFrame([[0, 1], [1, 0]], columns=["class", "b"])
    with pytest.raises(ValueError, match="two variables are called 'class'"):
        TreeAugmentedNB().fit(X, [0, 1]).network()
    with pytest.raises(ValueError, match="same parent twice"):
        BayesianNetwork.from_tables({"b": [0.5, 0.5], "a | b, b": np.full((2,) * 3, 1)})
    with pytest.raises(ValueError, match="two states of one"):
        from_rules({"b": 0.5, "a | b, not b": 0.3, "a": 0.1})
