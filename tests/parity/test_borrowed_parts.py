"""Parts that are scikit-learn's: they do what the curriculum says, with our models."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    LabelBinarizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)

from pansophy.linear_model import LinearRegression, LogisticRegression, Ridge


class TestTargetEncodings:
    def test_there_and_back(self):
        y = np.array(["b", "a", "c", "a"])
        hot = LabelBinarizer().fit(y)
        assert (hot.transform(y).sum(axis=1) == 1).all()
        np.testing.assert_array_equal(hot.inverse_transform(hot.transform(y)), y)
        signs = LabelBinarizer(neg_label=-1).fit_transform(y == "a")
        np.testing.assert_array_equal(signs[:, 0], [-1, 1, -1, 1])
        columns = OneHotEncoder(sparse_output=False).fit(y[:, None])
        again = columns.inverse_transform(columns.transform(y[:, None]))
        np.testing.assert_array_equal(again[:, 0], y)


class TestScaling:
    x = np.array([[2.0], [4.0], [6.0], [8.0]])

    def test_worked_numbers(self):
        low = MinMaxScaler().fit_transform(self.x)[:, 0]
        np.testing.assert_allclose(low, [0, 1 / 3, 2 / 3, 1])
        z = StandardScaler().fit_transform(self.x)[:, 0]
        want = [-1.341641, -0.447214, 0.447214, 1.341641]
        np.testing.assert_allclose(z, want, atol=1e-6)
        scaler = StandardScaler().fit(self.x)
        back = scaler.inverse_transform(scaler.transform(self.x))
        np.testing.assert_allclose(back, self.x)
        lengths = np.linalg.norm(Normalizer().fit_transform([[3.0, 4.0]]), axis=1)
        np.testing.assert_allclose(lengths, 1.0)

    def test_who_minds(self, rng):
        """Least squares does not mind the scale of columns; ridge does."""
        X = rng.normal(size=(40, 3)) * [1.0, 100.0, 0.01]
        y = X @ [1.0, 0.02, 50.0] + rng.normal(size=40)
        scaled = StandardScaler().fit_transform(X)
        predict = lambda model, A: model.fit(A, y).predict(A)
        a, b = (predict(LinearRegression(), A) for A in (X, scaled))
        np.testing.assert_allclose(a, b, rtol=1e-9)
        a, b = (predict(Ridge(10.0), A) for A in (X, scaled))
        assert np.abs(a - b).max() > 0.1

    def test_whitening(self, rng):
        X = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3))
        Z = PCA(whiten=True).fit_transform(X)
        np.testing.assert_allclose(np.cov(Z.T), np.eye(3), atol=1e-10)


class TestReductions:
    @pytest.mark.parametrize(
        ("reduce", "count"), [(OneVsRestClassifier, 10), (OneVsOneClassifier, 45)]
    )
    def test_how_many_models(self, reduce, count, rng):
        X = rng.normal(size=(200, 4)) + np.repeat(np.arange(10), 20)[:, None]
        y = np.repeat(np.arange(10), 20)
        model = reduce(LogisticRegression()).fit(X, y)
        assert len(model.estimators_) == count


class TestManyLabels:
    def test_one_label_each_is_classification(self, rng):
        X = rng.normal(size=(90, 3))
        y = np.argmax(X, axis=1)
        Y = np.eye(3, dtype=int)[y]
        single = OneVsRestClassifier(LogisticRegression()).fit(X, y)
        many = MultiOutputClassifier(LogisticRegression()).fit(X, Y)
        scores = np.column_stack([p[:, 1] for p in many.predict_proba(X)])
        np.testing.assert_array_equal(scores.argmax(axis=1), single.predict(X))

    def test_chain_uses_earlier_labels(self, rng):
        X = rng.normal(size=(300, 2))
        a = (X[:, 0] > 0).astype(int)
        Y = np.column_stack([a, a ^ (X[:, 1] > 0)])  # the second needs the first
        chain = make_pipeline(ClassifierChain(LogisticRegression())).fit(X, Y)
        apart = MultiOutputClassifier(LogisticRegression()).fit(X, Y)
        assert chain.predict(X).shape == Y.shape
        assert np.mean(apart.predict(X)[:, 0] == Y[:, 0]) > 0.95
