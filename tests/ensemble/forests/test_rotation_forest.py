"""Rotation forests: orthogonal blocks, the literal version, plain bags."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import Ridge

from pansophy.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    RotationForestClassifier,
    RotationForestRegressor,
)
from pansophy.ensemble.forests.rotation_forest import (
    covariance_of_counts,
    draw_rows_of_group,
    principal_components,
    random_class_mask,
    random_column_groups,
)
from tests.oracles import ensemble as oracle


@pytest.fixture(scope="module")
def data():
    return make_classification(
        300, 7, n_informative=5, n_classes=3, flip_y=0.05, random_state=0
    )


@pytest.mark.parametrize("M", [1, 2, 3, 7, 20])
def test_rotations_are_orthogonal_blocks(M, data):
    X, y = data
    model = RotationForestClassifier(
        n_features_in_group=M, n_estimators=4, random_state=0
    ).fit(X, y)
    for turn in model.rotations_:
        R = turn.matrix
        np.testing.assert_allclose(R.T @ R, np.eye(7), atol=1e-12)
        group = np.empty(7, int)
        for g, columns in enumerate(turn.order):
            group[columns[columns >= 0]] = g
        assert np.all(R[group[:, None] != group] == 0)
        assert np.bincount(group).max() == min(M, 7)


def test_rotated_rows_are_the_product(data):
    X, y = data
    model = RotationForestClassifier(n_estimators=2, random_state=0).fit(X, y)
    for turn in model.rotations_:
        Z = X.astype(np.float32).astype(float) - turn.mean
        np.testing.assert_allclose(turn.apply(X), Z @ turn.matrix, atol=1e-5)
        few = turn.apply(X[:3])
        np.testing.assert_array_equal(few, turn.apply(X)[:3])


@pytest.mark.parametrize("weights", [False, True])
def test_the_literal_version_draws_the_same(weights, data):
    X, y = data
    X = X.astype(np.float32)
    w = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weights else None
    rng = np.random.default_rng(5)
    model = RotationForestClassifier(n_estimators=3, random_state=rng)
    model.fit(X, y, sample_weight=w)
    seeds = np.random.default_rng(5).integers(0, 2**31 - 1, size=3)
    for seed, turn, tree in zip(seeds, model.rotations_, model):
        rng = np.random.default_rng((int(seed), 2))
        order = rng.permutation(7)
        groups = [order[:3], order[3:6], order[6:]]
        draws = []
        for _ in groups:
            rows, counts = draw_rows_of_group(rng, y, 3, 0.75, w)
            draws.append(np.repeat(rows, counts))
        R = oracle.rotation(X, groups, draws)
        np.testing.assert_allclose(turn.matrix, R, atol=1e-8)
        state = tree.get_params()["random_state"]
        slow = type(tree)(random_state=state).fit(turn.apply(X), y, sample_weight=w)
        np.testing.assert_array_equal(slow.predict(turn.apply(X)), tree.predict(
            turn.apply(X)))  # fmt: skip


def test_identity_is_a_plain_bag(data):
    X, y = data
    options = {"random_state": 3, "n_estimators": 6}
    forest = RotationForestClassifier(rotation="identity", bootstrap=True, **options)
    bag = BaggingClassifier(**options)
    p, q = forest.fit(X, y).predict_proba(X), bag.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p, q, atol=1e-12)
    for turn in forest.rotations_:
        np.testing.assert_array_equal(turn.matrix, np.eye(7))
    forest = RotationForestRegressor(rotation="identity", bootstrap=True, **options)
    bag = BaggingRegressor(**options)
    p, q = forest.fit(X, X[:, 0]).predict(X), bag.fit(X, X[:, 0]).predict(X)
    np.testing.assert_allclose(p, q, atol=1e-9)


def test_parts():
    rng = np.random.default_rng(0)
    order = random_column_groups(rng, 7, 3)
    assert order.shape == (3, 3)
    assert sorted(order[order >= 0]) == list(range(7))
    assert all(random_class_mask(rng, 4).any() for _ in range(50))
    Z, c = rng.normal(size=(6, 2)), np.array([1, 3, 2, 1, 1, 2])
    np.testing.assert_allclose(
        covariance_of_counts(Z, c), np.cov(np.repeat(Z, c, 0).T, bias=True), atol=1e-12
    )
    C = covariance_of_counts(Z, c)[None]
    B = principal_components(C)[0]
    variances = np.diag(B.T @ C[0] @ B)
    assert variances[0] >= variances[1]
    assert np.all(B[np.argmax(np.abs(B), axis=0), [0, 1]] > 0)
    rows, counts = draw_rows_of_group(rng, np.array([0, 0, 1, 1, 1]), 2, 1.0, None)
    assert counts.min() > 0
    assert len(rows) <= 5


def test_oblique_boundaries_are_easier_than_for_a_bag():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = (X[:, 0] + X[:, 1] + X[:, 2] > 0).astype(int)
    scores = {}
    for cls in (RotationForestClassifier, BaggingClassifier):
        found = [
            cls(n_estimators=20, random_state=s).fit(X[:300], y[:300]) for s in range(3)
        ]
        scores[cls] = np.mean([m.score(X[300:], y[300:]) for m in found])
    assert scores[RotationForestClassifier] > scores[BaggingClassifier] - 0.01
    assert scores[RotationForestClassifier] > 0.85


def test_names_threads_and_other_members(data):
    X, y = data
    names = np.array(["a", "b", "c"])[y]
    fit = lambda jobs: RotationForestClassifier(random_state=0, n_jobs=jobs).fit(
        X, names
    )
    a, b = fit(1), fit(2)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    assert a.score(X, names) == 1.0
    assert len(a) == 10
    line = RotationForestRegressor(Ridge(1e-2), random_state=0).fit(X, X[:, 1])
    assert line.score(X, X[:, 1]) > 0.999
    np.testing.assert_allclose(
        np.exp(a.predict_log_proba(X)), a.predict_proba(X), atol=1e-12
    )


def test_bad_rows(data):
    X, y = data
    holes = X.copy()
    holes[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        RotationForestClassifier().fit(holes, y)
    same = np.ones((20, 4))
    model = RotationForestClassifier(random_state=0).fit(same, np.arange(20) % 2)
    assert np.isfinite(model.predict_proba(same)).all()
