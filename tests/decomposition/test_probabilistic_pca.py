"""Probabilistic PCA: closed form, EM, and the limit without noise."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from pansophy.decomposition import (
    PCA,
    ProbabilisticPCA,
)
from tests.decomposition.factor_rows import factor_rows


def eigenvalues(values):
    """Rows whose covariance (divided by n) has these eigenvalues exactly."""
    root = np.diag(np.sqrt(len(values) * np.asarray(values)))
    return np.vstack([root, -root])


def test_worked_example():
    model = ProbabilisticPCA(1).fit(eigenvalues([4.0, 1.0, 0.5]))
    assert model.noise_variance_ == pytest.approx(0.75)
    assert np.linalg.norm(model.components_) == pytest.approx(1.802776, abs=1e-6)


@pytest.mark.parametrize("shape", [(400, 6), (20, 40)], ids=str)
def test_em_reaches_the_closed_form(shape):
    X = factor_rows(*shape)
    exact = ProbabilisticPCA(2).fit(X)
    turns = ProbabilisticPCA(2, method="em", tol=1e-13, max_iter=20_000, random_state=0)
    turns.fit(X)
    assert turns.noise_variance_ == pytest.approx(exact.noise_variance_, rel=1e-5)
    np.testing.assert_allclose(turns.components_, exact.components_, atol=1e-3)
    assert turns.loglike_ == pytest.approx(exact.loglike_, abs=1e-8)
    assert (np.diff(turns.history_["objective"]) <= 1e-10).all()


def test_closed_form_is_the_top_of_the_likelihood(rng):
    X = factor_rows()
    model = ProbabilisticPCA(2).fit(X)
    assert model.score(X) == pytest.approx(model.loglike_)
    right = multivariate_normal(model.mean_, model.get_covariance()).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), right)
    best = model.score(X)
    for _ in range(20):
        other = ProbabilisticPCA(2).fit(X)
        other.components_ = other.components_ + 0.05 * rng.standard_normal((2, 6))
        assert other.score(X) < best
    for factor in (0.9, 1.1):
        other = ProbabilisticPCA(2).fit(X)
        other.noise_variance_ *= factor
        assert other.score(X) < best
    np.testing.assert_allclose(
        model.get_precision() @ model.get_covariance(), np.eye(6), atol=1e-10
    )


def test_without_noise_it_is_pca():
    X = factor_rows(noise=np.full(6, 1e-5))
    model, pca = ProbabilisticPCA(2).fit(X), PCA(2).fit(X)
    assert model.noise_variance_ < 1e-9
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(back, pca.inverse_transform(pca.transform(X)), atol=1e-6)
    scale = np.sqrt(pca.explained_variance_ * 399 / 400)
    np.testing.assert_allclose(model.transform(X), pca.transform(X) / scale, atol=1e-5)


def test_probabilistic_pca_reads_a_table_on_disk(tmp_path, rng):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 6)) + 3
    X += 0.1 * rng.standard_normal(X.shape)
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({f"c{j}": X[:, j] for j in range(6)}), path)
    there, here = ProbabilisticPCA(2).fit(path), ProbabilisticPCA(2).fit(X)
    np.testing.assert_allclose(there.components_, here.components_, rtol=1e-8)
    assert there.noise_variance_ == pytest.approx(here.noise_variance_)
    np.testing.assert_allclose(there.transform(path), here.transform(X), atol=1e-8)
    assert there.score(path) == pytest.approx(here.score(X))
    with pytest.raises(TypeError, match="a table on disk"):
        ProbabilisticPCA(2, method="em").fit(path)
