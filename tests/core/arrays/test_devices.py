"""`pansophy.device`: NumPy rows and frames are moved once, where the method can."""

import numpy as np
import pytest

import pansophy as ps

torch = pytest.importorskip("torch")

from pansophy.testing.stand_in_device import StandInDevice  # noqa: E402

X = np.random.default_rng(0).normal(size=(100, 3))
y = (X[:, 0] > 0).astype(int)


def test_rows_and_targets_are_moved_once():
    with StandInDevice() as counts, ps.device("standin"):
        model = ps.linear_model.LogisticRegression().fit(X, y)
        assert model.coef_.device.type == "standin"
        assert counts.n_bytes_in < 2 * (X.nbytes + y.nbytes)
        found = model.predict(X)
        assert found.device.type == "standin"
    here = ps.linear_model.LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_._numbers.numpy(), here.coef_, rtol=1e-6)
    np.testing.assert_array_equal(found._numbers.numpy(), here.predict(X))


def test_frames_keep_their_names_and_text_its_labels():
    frames = pytest.importorskip("pandas")
    table = frames.DataFrame(X, columns=["a", "b", "c"])
    words = np.array(["no", "yes"])[y]
    with StandInDevice(), ps.device("standin"):
        model = ps.linear_model.LogisticRegression().fit(table, words)
        assert model.coef_.device.type == "standin"
        assert set(model.predict(table)) == {"no", "yes"}
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["Lasso", "SGDRegressor", "QuantileRegressor"])
def test_methods_that_cannot_compute_there_stay_in_main_memory(name):
    with StandInDevice(), ps.device("standin"):
        linear = getattr(ps.linear_model, name)().fit(X, X[:, 0])
        forest = ps.ensemble.RandomForestRegressor(3).fit(X, X[:, 0])
        assert type(linear.coef_) is np.ndarray
        assert type(forest.predict(X)) is np.ndarray


def test_missing_values_stay_where_they_are_understood():
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    with StandInDevice(), ps.device("standin"):
        model = ps.mixture.GaussianMixture(2, random_state=0).fit(gaps)
    assert type(model.means_) is np.ndarray


def test_the_device_of_a_block_ends_with_it():
    with StandInDevice():
        with ps.device("standin"), ps.device(None):
            assert type(ps.linear_model.Ridge().fit(X, y).coef_) is np.ndarray
        assert type(ps.linear_model.Ridge().fit(X, y).coef_) is np.ndarray


def test_a_device_that_is_not_there_is_one_sentence():
    says = r"'nowhere' cannot be used .*pansophy doctor"
    with pytest.raises(ValueError, match=says), ps.device("nowhere"):
        pass
