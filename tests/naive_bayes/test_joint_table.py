"""The joint table classifier."""

import numpy as np
import pytest

from pansophy.naive_bayes import (
    BernoulliNB,
    JointTableClassifier,
)


def close(a, b, tol=1e-9):
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


LETTERS = np.array([[0, 0, 1], [0, 1, 4], [2, 3, 1]])  # aab, ab., cdb


def test_each_training_document_gets_its_frequency():
    model = JointTableClassifier(alpha=0).fit(LETTERS, [1, 1, -1])
    joint = np.exp(model.predict_joint_log_proba(LETTERS))
    close([joint[0, 1], joint[1, 1], joint[2, 0]], np.full(3, 1 / 3))
    close(joint.sum(), 1)
    close(model.predict_proba([[0, 1, 1]])[0], [1 / 3, 2 / 3])  # never seen: the prior


def test_table_sums_to_one_and_marginalises(rng):
    X = rng.integers(0, 2, (60, 3))
    y = (X[:, 0] ^ X[:, 1]) * 2 + (rng.random(60) < 0.5)
    every = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
    for alpha in (0.0, 0.5):
        model = JointTableClassifier(alpha=alpha).fit(X, y)
        p = np.exp(model.predict_joint_log_proba(every))
        close(p.sum(), 1)
        H = every.astype(float)
        H[:, 2] = np.nan
        part = np.exp(model.predict_joint_log_proba(H))
        agree = (every[:, None, :2] == every[None, :, :2]).all(axis=2)
        close(part, agree @ p)
        nothing = model.predict_proba(np.full((1, 3), np.nan))[0]
        close(nothing, np.exp(model.class_log_prior_))
    S, z = model.sample(4000, random_state=0)
    again = JointTableClassifier(alpha=0).fit(S, z)
    np.testing.assert_allclose(
        np.exp(again.predict_joint_log_proba(every)), p, atol=0.03
    )


def test_exclusive_or_needs_the_table(rng):
    X = rng.integers(0, 2, (200, 2))
    y = X[:, 0] ^ X[:, 1]
    assert JointTableClassifier().fit(X, y).score(X, y) == 1.0
    assert BernoulliNB().fit(X, y).score(X, y) < 0.8


def test_large_tables_are_warned_of(rng):
    X = rng.integers(0, 2, (50, 30))
    y = np.arange(50) % 2
    with pytest.warns(UserWarning, match=r"2\.15e\+09 entries"):
        model = JointTableClassifier().fit(X, y)
    assert model.n_entries_ == 2.0**31
    assert len(model.cells_) <= 50 and model.score(X, y) == 1.0
    with pytest.raises(ValueError, match="not whole"):
        model.predict(X + 0.5)


def test_table_weights(rng):
    X, y = rng.integers(0, 3, (40, 2)), np.arange(40) % 2
    w = rng.integers(1, 4, 40)
    a = JointTableClassifier().fit(X, y, w)
    b = JointTableClassifier().fit(np.repeat(X, w, 0), np.repeat(y, w))
    close(a.predict_proba(X), b.predict_proba(X), 1e-13)
