"""A model in two stages with a variable between them."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from pansophy.graphical import BayesianNetwork
from pansophy.naive_bayes import JointTableClassifier
from pansophy.teaching import TwoStage


def rows(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    A, B = rng.integers(0, 2, (n, 3)), rng.integers(0, 2, (n, 2))
    z = rng.binomial(2, 0.2 + 0.2 * A.sum(axis=1))
    y = rng.random(n) < 0.1 + 0.2 * z + 0.2 * B[:, 0]
    return A, B, np.array(["low", "mid", "top"])[z], y.astype(int)


def test_summing_out_the_intermediate_is_the_joint_table():
    A, B, z, y = rows()
    tables = JointTableClassifier(alpha=0.0)
    model = TwoStage(tables, tables).fit(A, B, z, y)
    names = ["a0", "a1", "a2", "b0", "b1", "z", "y"]
    frame = dict(zip(names, [*A.T, *B.T, z, y], strict=True))
    edges = [(a, "z") for a in names[:3]] + [(v, "y") for v in names[3:6]]
    network = BayesianNetwork(edges, kinds="discrete").fit(frame)
    seen = {v: frame[v][:40] for v in names[:5]}
    np.testing.assert_allclose(
        model.predict_proba(A[:40], B[:40]), network.predict_proba(seen, "y")
    )
    seen["z"] = z[:40]
    np.testing.assert_allclose(
        model.predict_proba(None, B[:40], z[:40]), network.predict_proba(seen, "y")
    )


def test_the_intermediate_may_be_missing_in_some_rows():
    A, B, z, y = rows(500)
    model = TwoStage().fit(A, B, z, y)
    part = np.array([None if i % 2 else v for i, v in enumerate(z)], dtype=object)
    p = model.predict_proba(A, B, part)
    np.testing.assert_allclose(p[::2], model.predict_proba(A, B, z)[::2])
    np.testing.assert_allclose(p[1::2], model.predict_proba(A, B)[1::2])
    assert model.score(A, B, y, z) > 0.6
    with pytest.raises(ValueError, match="need X_first"):
        model.predict_proba(None, B, part)


def test_stages_learn_from_different_tables():
    A, _, z, _ = rows(4000, seed=1)
    _, B, z2, y = rows(300, seed=2)
    model = TwoStage().fit_first(A, z).fit_second(B, z2, y)
    apart = JointTableClassifier().fit(A, z)
    np.testing.assert_allclose(model.predict_intermediate(A), apart.predict_proba(A))
    assert model.predict(A[:3], B[:3]).shape == (3,)


def test_other_kinds_of_stages():
    A, B, z, y = rows(800)
    soft = TwoStage(LogisticRegression(), LogisticRegression(), "one_hot")
    p = soft.fit(A, B, z, y).predict_proba(A, B)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    hard = TwoStage(LinearSVC(), JointTableClassifier()).fit(A, B, z, y)
    at = hard.first_.predict(A)
    np.testing.assert_allclose(
        hard.predict_proba(A, B), hard.predict_proba(None, B, at)
    )
    numbers = TwoStage(second=LinearRegression()).fit(A, B, z, y + 0.5)
    W = numbers.predict_intermediate(A)
    each = [numbers.predict(None, B, np.full(len(B), v)) for v in ("low", "mid", "top")]
    np.testing.assert_allclose(
        numbers.predict(A, B), (W * np.column_stack(each)).sum(axis=1)
    )


def test_bad_use_is_told():
    A, B, z, y = rows(60)
    with pytest.raises(NotFittedError):
        TwoStage().fit_second(B, z, y)
    with pytest.raises(NotFittedError):
        TwoStage().predict(A, B)
    with pytest.raises(ValueError, match="encoding must be"):
        TwoStage(encoding="text").fit(A, B, z, y)
    model = TwoStage().fit(A, B, z, y)
    with pytest.raises(ValueError, match="has not seen"):
        model.predict(A[:1], B[:1], ["huge"])
    with pytest.raises(ValueError, match="must be known"):
        model.fit_second(B[:2], np.array(["low", None], dtype=object), y[:2])
