"""BasisFeatures: columns by formulas, and the size of polynomials."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from pansophy.feature_extraction import (
    BasisFeatures,
    polynomial_size,
)
from pansophy.linear_model import LinearRegression, LogisticRegression


class TestFormulas:
    def test_recovers_planted_weights(self, rng):
        x = rng.uniform(-3, 3, size=(60, 1))
        w = np.array([0.5, -1.0, 2.0, 3.0, -0.7])
        texts = ["1", "x", "x**2", "sin(x)", "x * cos(x)"]
        phi = BasisFeatures(texts).fit_transform(x)
        model = LinearRegression(fit_intercept=False).fit(phi, phi @ w)
        np.testing.assert_allclose(model.coef_, w, rtol=1e-9)

    def test_identity_changes_nothing(self, rng):
        X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
        plain = LinearRegression().fit(X, y)
        mapped = make_pipeline(BasisFeatures(), LinearRegression()).fit(X, y)
        np.testing.assert_array_equal(mapped.predict(X), plain.predict(X))

    def test_exclusive_or_is_linear_in_a_product(self, rng):
        X = rng.choice([-1.0, 1.0], size=(80, 2)) + 0.1 * rng.normal(size=(80, 2))
        y = X[:, 0] * X[:, 1] > 0
        plain = LogisticRegression().fit(X, y).score(X, y)
        mapped = make_pipeline(BasisFeatures(["x", "x0 * x1"]), LogisticRegression())
        assert plain < 0.8
        assert mapped.fit(X, y).score(X, y) == 1.0

    def test_names_of_a_table(self, rng):
        import pandas as pd

        table = pd.DataFrame({"age": [1.0, 2.0], "size m": [3.0, 4.0]})
        basis = BasisFeatures(["log(x)", "age * x1"], append=True).fit(table)
        want = ["age", "size m", "log(age)", "log(size m)", "age * x1"]
        assert basis.get_feature_names_out().tolist() == want
        np.testing.assert_allclose(basis.transform(table)[:, -1], [3.0, 8.0])

    def test_formulas_are_some_texts(self, rng):
        for formulas, says in (([], "must not be empty"), ((1,), "must be text")):
            with pytest.raises(ValueError, match="formulas of BasisFeatures " + says):
                BasisFeatures(formulas).fit(np.ones((3, 1)))

    def test_clear_errors(self):
        X = np.array([[1.0, -1.0]])
        with pytest.raises(ValueError, match="'weight', which is no column"):
            BasisFeatures(["weight**2"]).fit(X)
        with (
            np.errstate(invalid="ignore"),
            pytest.raises(ValueError, match=r"'log\(x1\)' is not finite"),
        ):
            BasisFeatures(["log(x)"]).fit(X).transform(X)

    def test_tensors_stay_tensors(self):
        torch = pytest.importorskip("torch")
        X = torch.ones(3, 2, dtype=torch.float64)
        Z = BasisFeatures(["x", "sin(x0)", "2"]).fit(X).transform(X)
        assert torch.is_tensor(Z) and Z.shape == (3, 4)

    def test_saved_as_text(self, rng, tmp_path):
        from pansophy import persist

        X = rng.normal(size=(5, 2))
        basis = BasisFeatures(["x", "x0 * x1"]).fit(X)
        persist.save(basis, tmp_path / "b.pansophy")
        again = persist.load(tmp_path / "b.pansophy")
        np.testing.assert_array_equal(again.transform(X), basis.transform(X))


def test_size_of_a_polynomial():
    from sklearn.preprocessing import PolynomialFeatures

    made = PolynomialFeatures(3).fit(np.zeros((1, 4))).n_output_features_
    assert polynomial_size(4, 3) == made
    with pytest.warns(UserWarning, match="50015001 terms"):
        assert polynomial_size(10_000, 2) == 50_015_001


def test_middle_against_outside():
    """1-D classes 'middle' and 'outside' separate after x -> (x, x^2)."""
    x = np.linspace(-3, 3, 61)[:, None]
    y = np.abs(x[:, 0]) < 1
    plain = LogisticRegression().fit(x, y).score(x, y)
    curved = make_pipeline(BasisFeatures(["x", "x**2"]), LogisticRegression(C=1e4))
    assert plain < 0.75
    assert curved.fit(x, y).score(x, y) == 1.0


def test_functions_as_well_as_formulas(rng):
    X = rng.normal(size=(50, 2))
    second = lambda X: X[:, 0] * X[:, 1]
    basis = BasisFeatures([lambda X: 1, "x", np.square, np.sin, second])
    Z = basis.fit_transform(X)
    expected = [np.ones(50), X, X**2, np.sin(X), X[:, 0] * X[:, 1]]
    np.testing.assert_allclose(Z, np.column_stack(expected))
    assert basis.get_feature_names_out().tolist() == [
        "<lambda>", "x0", "x1", "square_0", "square_1", "sin_0", "sin_1", "<lambda>"
    ]  # fmt: skip
    both = BasisFeatures(np.cos, append=True).fit_transform(X)
    np.testing.assert_allclose(both, np.column_stack([X, np.cos(X)]))
    for wrong, says in (
        ([lambda X: X[:3]], "one row for each"),
        ([3], "text or functions"),
        ([np.log], "not finite"),
    ):
        with pytest.raises(ValueError, match=says), np.errstate(invalid="ignore"):
            BasisFeatures(wrong).fit_transform(X)
    size = BasisFeatures([lambda X: X[:, : len(X)]]).fit(X)
    with pytest.raises(ValueError, match="at fit"):
        size.transform(X[:1])


def test_a_model_on_functions_recovers_planted_weights(rng):
    x = rng.uniform(-3, 3, (200, 1))
    w = np.array([0.5, -1.0, 2.0, 3.0, -0.7])
    functions = [lambda x: 1, lambda x: x, np.square, np.sin, lambda x: x * np.cos(x)]
    basis = BasisFeatures(functions)
    y = basis.fit_transform(x) @ w
    fitted = LinearRegression(fit_intercept=False).fit(basis.transform(x), y)
    np.testing.assert_allclose(fitted.coef_, w, atol=1e-10)
