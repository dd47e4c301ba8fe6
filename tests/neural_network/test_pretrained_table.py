"""Pretrained classifier and regressor: tables, limits, weights, files, invariances.

Most tests need no good answer and take a small network of random weights.
"""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import pansophy as ps
from pansophy.neural_network import (
    PretrainedTableClassifier,
    PretrainedTableRegressor,
)
from pansophy.neural_network.pretrained_table import (
    median_and_deviation,
    merge_duplicates_by_weight,
    rows_by_weight,
)
from pansophy.prior_fitted.pretrained import VARIABLE, load_pretrained
from tests.prior_fitted.tiny_network import write_random_network


@pytest.fixture
def random_network(tmp_path, monkeypatch):
    path = tmp_path / "w.safetensors"
    write_random_network(path)
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def make_table(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + 0.1 * rng.standard_normal(n)
    return X, y


def classes_of(y):
    return np.array(["low", "high"])[(y > 0) * 1]


def test_answers_are_probabilities_and_distributions(random_network):
    X, y = make_table()
    model = PretrainedTableClassifier(random_state=0).fit(X, classes_of(y))
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert set(model.predict(X)) <= {"low", "high"}
    model = PretrainedTableRegressor(random_state=0).fit(X, y)
    Q = model.predict_quantiles(X, (0.01, 0.3, 0.5, 0.99))
    assert (np.diff(Q, axis=1) > 0).all()
    np.testing.assert_array_equal(model.predict_quantiles(X, 0.3), Q[:, 1])
    mean, variance = model.predict_dist(X)
    np.testing.assert_allclose(mean, model.predict(X))
    assert (variance > 0).all()
    assert ((Q[:, 0] < mean) & (mean < Q[:, -1])).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_quantiles(X, 1.5)


def test_same_bits_for_a_seed_for_any_number_of_threads_and_order_of_rows(
    random_network,
):
    X, y = make_table()
    order = np.random.default_rng(1).permutation(len(X))
    answers = [
        PretrainedTableRegressor(3, random_state=4, n_jobs=n_jobs)
        .fit(X[rows], y[rows])
        .predict(X)
        for n_jobs, rows in ((1, slice(None)), (2, slice(None)), (None, order))
    ]
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])
    other = PretrainedTableRegressor(3, random_state=5).fit(X, y).predict(X)
    assert (other != answers[0]).any()


def test_scale_and_shift_of_columns_and_targets_change_nothing(random_network):
    X, y = make_table()
    scale, shift = np.array([1e-6, 3.0, 1e8, 0.5]), np.array([5.0, -1e3, 1e9, 0.0])
    one = PretrainedTableRegressor(2, random_state=0).fit(X, y)
    two = PretrainedTableRegressor(2, random_state=0).fit(X * scale + shift, 50 * y - 7)
    np.testing.assert_allclose(
        50 * one.predict(X) - 7, two.predict(X * scale + shift), rtol=1e-3, atol=2e-2
    )


def test_names_of_classes_change_nothing(random_network):
    X, y = make_table()
    labels = (y > 0) * 1
    P = [
        PretrainedTableClassifier(2, random_state=0).fit(X, each).predict_proba(X)
        for each in (labels, np.array(["a", "z"])[labels])
    ]
    np.testing.assert_array_equal(*P)


def test_categories_and_constant_columns(random_network):
    X, y = make_table(60, 2)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(
        city=np.array(["Rome", "Oslo", None])[np.arange(60) % 3],
        same=1.0,
        empty=np.nan,
    )
    model = PretrainedTableClassifier(random_state=0).fit(frame, classes_of(y))
    assert len(model.columns_) == 3
    assert [m.view.maps[2] is None for m in model.members_] == [True, False] * 2
    new = frame.assign(city=np.array(["Rome", "Lima", None])[np.arange(60) % 3])
    P = model.predict_proba(new)
    gaps = model.predict_proba(new.assign(city=new.city.replace("Lima", None)))
    np.testing.assert_array_equal(P, gaps)  # a new level is a missing value
    assert (P[::3] != model.predict_proba(new.assign(city="Oslo"))[::3]).any()
    alone = PretrainedTableRegressor(1, random_state=0).fit(np.ones((9, 1)), y[:9])
    assert np.ptp(alone.predict(np.arange(3.0)[:, None])) < 1e-5


def test_one_class_is_certain(random_network):
    X, _ = make_table()
    model = PretrainedTableClassifier().fit(X, np.full(len(X), "only"))
    np.testing.assert_array_equal(model.predict_proba(X[:3]), np.ones((3, 1)))
    assert list(model.predict(X[:2])) == ["only", "only"]


def test_more_classes_columns_and_rows_than_trained_for_are_told(random_network):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((250, 15)), rng.integers(0, 14, 250)
    with pytest.warns(UserWarning, match="more than it reads at once") as told:
        model = PretrainedTableClassifier(2, random_state=0).fit(X, y)
    texts = " ".join(str(w.message) for w in told)
    assert "14 classes" in texts
    assert "250 training rows" in texts
    assert "15 columns" in texts
    assert all(w.filename == __file__ for w in told)
    assert len(model.members_) == 3  # codes of 14 classes in 10 groups
    for member in model.members_:
        assert len(member.view.columns) == 12
        assert member.statistics.ordered.shape[-1] == 200
    assert model.predict_proba(X).shape == (250, 14)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PretrainedTableRegressor(1).fit(X[:200, :12], y[:200] * 1.0)


def test_rule_of_weights():
    w = np.array([2.0, 0.0, 1.0])
    np.testing.assert_array_equal(rows_by_weight(w, 5), [0, 0, 2])
    assert rows_by_weight(w, 2) is None
    np.testing.assert_array_equal(rows_by_weight(np.full(3, 0.4), 5), [0, 1, 2])
    assert rows_by_weight(np.array([0.4, 0.5]), 5) is None
    X = np.array([[2.0], [np.nan], [2.0], [np.nan], [1.0]])
    rows, merged = merge_duplicates_by_weight(
        X, np.array([0, 0, 0, 1, 0]), np.arange(1.0, 6)
    )
    np.testing.assert_array_equal(rows, [4, 0, 1, 3])
    np.testing.assert_array_equal(merged, [5, 4, 2, 4])


def test_rows_of_fractional_weight_are_drawn(random_network):
    X, y = make_table(80)
    w = np.where(np.arange(80) < 40, 0.01, 1.7)
    model = PretrainedTableRegressor(1, random_state=0, keep_rows=True)
    seen = model.fit(X, y, sample_weight=w).members_[0].rows.seen[0]
    assert len(seen) == 80
    first = model._prepare((X[:40], np.zeros((40, 0))))[:, :1]
    heavy = ~np.isin(seen[:, :1], first[~np.isnan(first)]).ravel()
    assert heavy.mean() > 0.9


def test_a_column_is_measured_from_its_median():
    assert median_and_deviation(np.array([1.0, 2.0, 4.0, np.nan])) == (2.0, 1.0)
    assert median_and_deviation(np.array([0.0, 0.0, 0.0, 6.0])) == (0.0, 6.0)
    assert median_and_deviation(np.array([np.nan])) == (0.0, 1.0)
    assert median_and_deviation(np.array([-1e308, 1e308]))[1] > 1e307


@pytest.mark.parametrize("keep_rows", [False, True])
def test_saved_and_loaded_it_answers_the_same(random_network, tmp_path, keep_rows):
    X, y = make_table()
    model = PretrainedTableClassifier(2, random_state=0, keep_rows=keep_rows)
    model.fit(X, classes_of(y))
    ps.save(model, tmp_path / "m.model")
    loaded = ps.load(tmp_path / "m.model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert (model.members_[0].rows is not None) == keep_rows
    write_random_network(random_network, seed=9)
    with pytest.raises(ValueError, match=r"fitted with pretrained weights.*fit it ag"):
        loaded.predict(X)


def test_refusals(random_network):
    X, y = make_table()
    with pytest.raises(NotFittedError):
        PretrainedTableRegressor().predict_quantiles(X)
    with pytest.raises(ValueError, match="every sample_weight is zero"):
        PretrainedTableRegressor().fit(X, y, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="infinity"):
        PretrainedTableRegressor().fit(np.where(X > 1, np.inf, X), y)
    model = PretrainedTableRegressor(1).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])


def test_it_needs_no_torch(random_network):
    code = """
        import sys
        class Without:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == "torch":
                    raise ModuleNotFoundError(name, name="torch")
        sys.meta_path.insert(0, Without())
        from pansophy.neural_network import PretrainedTableClassifier
        X = [[float(i % 7), float(i % 5)] for i in range(20)]
        model = PretrainedTableClassifier(1).fit(X, [i % 2 for i in range(20)])
        print(model.predict_proba(X).shape, "torch" in sys.modules)
    """
    lines = "\n".join(line[8:] for line in code.splitlines())
    done = subprocess.run(
        [sys.executable, "-c", lines], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "(20, 2) False", done.stderr


def test_the_weights_of_the_package_answer_well():
    network = load_pretrained()
    assert network.limits["n_classes"] == 10
    X, y = load_iris(return_X_y=True)
    model = PretrainedTableClassifier(2, random_state=0).fit(X[::2], y[::2])
    P = model.predict_proba(X[1::2])
    assert -np.log(P[np.arange(75), y[1::2]]).mean() < 0.25
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (200, 3))
    y = 2 * X[:, 0] + np.abs(X[:, 1]) + 0.1 * rng.standard_normal(200)
    model = PretrainedTableRegressor(2, random_state=0).fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) > 0.9
    Q = model.predict_quantiles(X[100:], (0.1, 0.9))
    covered = ((Q[:, 0] < y[100:]) & (y[100:] < Q[:, 1])).mean()
    assert 0.6 < covered <= 1
