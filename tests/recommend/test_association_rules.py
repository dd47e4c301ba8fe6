"""Association rules against brute force."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy import persist
from pansophy.recommend import AssociationRules, Ratings
from tests.oracles import recommend as slow

BASKETS = st.lists(st.sets(st.sampled_from("abcdefg"), max_size=6), min_size=1,
                   max_size=90)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(baskets=BASKETS, support=st.floats(0.02, 0.6), confidence=st.floats(0, 1))
def test_equals_brute_force(baskets, support, confidence):
    n = len(baskets)
    least = max(1, int(np.ceil(support * n - 1e-9)))
    model = AssociationRules(support, min_confidence=confidence)
    model.fit([sorted(b) for b in baskets])
    sets = slow.frequent_sets(baskets, least)
    assert {s.items: round(s.support * n) for s in model.itemsets_} == sets
    found = {r[:2]: r[2:5] for r in model.rules_}
    right = slow.all_rules(baskets, least, confidence)
    assert found.keys() == right.keys()
    for key, values in right.items():
        np.testing.assert_allclose(found[key], values, rtol=1e-12)
    support_of = {s.items: s.support for s in model.itemsets_}
    for items, value in support_of.items():  # anti-monotone
        for i in items:
            part = tuple(j for j in items if j != i)
            assert not part or support_of[part] >= value


TABLE = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 1], [0, 1, 0]])


@pytest.mark.parametrize(
    "form", ["array", "bool", "sparse", "pandas", "polars", "ratings"]
)
def test_every_form_of_transactions(form):
    names = ["bread", "milk", "tea"] if form in ("pandas", "polars") else [0, 1, 2]
    X = {"array": lambda: TABLE, "bool": lambda: TABLE.astype(bool),
         "sparse": lambda: sp.coo_array(TABLE),
         "pandas": lambda: pd.DataFrame(TABLE, columns=names),
         "polars": lambda: pl.DataFrame(TABLE, schema=names),
         "ratings": lambda: Ratings.from_matrix(np.where(TABLE, 1.0, np.nan)),
         }[form]()  # fmt: skip
    model = AssociationRules(0.5, min_confidence=0.7).fit(X)
    rules = {(r.antecedent, r.consequent): r for r in model.rules_}
    rule = rules[(names[2],), (names[0],)]
    assert rule.support == 0.5 and rule.confidence == 1.0
    assert rule.lift == pytest.approx(4 / 3)
    assert rule.leverage == pytest.approx(0.5 - 0.5 * 0.75)
    assert rule.conviction == np.inf
    assert model.recommend([names[2]]) == [names[0]]


def test_tables_out(tmp_path):
    model = AssociationRules(0.5).fit(TABLE)
    for backend in ("pandas", "polars", "pyarrow"):
        frame = model.to_frame(backend)
        assert len(frame) == len(model.rules_) > 0
    path = tmp_path / "m.pansophy"
    persist.save(model, path)
    assert persist.load(path).rules_ == model.rules_


def test_limits():
    model = AssociationRules(0.25, max_length=2).fit(TABLE)
    assert max(len(s.items) for s in model.itemsets_) == 2
    lifted = AssociationRules(0.25, min_confidence=0.0, min_lift=1.2).fit(TABLE)
    assert lifted.rules_ and all(r.lift >= 1.2 for r in lifted.rules_)
    assert AssociationRules(1.0).fit(TABLE).itemsets_ == []
    assert AssociationRules(0.5).fit([[], []]).rules_ == []
    with pytest.raises(ValueError, match="at least one transaction"):
        AssociationRules().fit([])
    with pytest.raises(ValueError, match="0 and 1"):
        AssociationRules().fit(np.full((2, 2), 3))
    with pytest.raises(ValueError, match="min_support of AssociationRules must be"):
        AssociationRules(2.0).fit(TABLE)


def test_many_transactions_cross_the_words():
    rng = np.random.default_rng(0)
    T = rng.random((1000, 12)) < 0.4
    model = AssociationRules(0.05).fit(T)
    for s in model.itemsets_:
        assert s.support == pytest.approx(T[:, list(s.items)].all(axis=1).mean())
    assert len(model.itemsets_) > 200
