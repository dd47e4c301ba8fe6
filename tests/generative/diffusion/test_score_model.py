"""Score models: normal data recovered, annealed Langevin, densities."""

import numpy as np
import pytest
from scipy import stats

from pansophy.generative import ScoreModel, fisher_divergence

MEAN = np.array([1.0, -1.0])
COV = np.array([[2.0, 0.8], [0.8, 1.0]])


def rows(n=500):
    return np.random.default_rng(0).multivariate_normal(MEAN, COV, size=n)


@pytest.mark.parametrize("loss", ["implicit", "sliced"])
def test_linear_score_recovers_mean_and_covariance(loss):
    X = rows()
    model = ScoreModel(
        loss, hidden_layer_sizes=(), learning_rate_init=0.05, n_epochs=60,
        random_state=0, device="cpu", dtype="float64",
    ).fit(X)  # fmt: skip
    origin, e1, e2 = model.score_function([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    P = -np.stack([e1 - origin, e2 - origin], axis=1)
    mean = np.linalg.solve(P, origin)
    S = np.cov(X.T, ddof=0)
    np.testing.assert_allclose(mean, X.mean(0), atol=0.05)
    np.testing.assert_allclose(np.linalg.inv(P), S, atol=0.15)
    truth = lambda x: -(x - X.mean(0)) @ np.linalg.inv(S)
    assert fisher_divergence(truth, model.score_function, X) < 0.01
    made = model.sample(1500, random_state=1)
    np.testing.assert_allclose(made.mean(0), MEAN, atol=0.2)
    np.testing.assert_allclose(np.cov(made.T), COV, atol=0.4)
    # up to a constant, the log density
    gap = model.score_samples(X) - stats.multivariate_normal(X.mean(0), S).logpdf(X)
    assert gap.std() < 0.05


def test_denoising_model_samples_by_annealed_langevin():
    X = rows()
    model = ScoreModel(
        hidden_layer_sizes=(64, 64), n_epochs=60, random_state=0, device="cpu"
    ).fit(X)
    made = model.sample(600, random_state=0)
    np.testing.assert_allclose(made.mean(0), MEAN, atol=0.25)
    np.testing.assert_allclose(np.cov(made.T), COV, atol=0.5)
    wide = model.score_function(X, sigma=1.0)
    white = (X - X.mean(0)) / X.std(0)
    S = np.corrcoef(X.T) + np.eye(2)  # in standard units, with noise of 1
    truth = -white @ np.linalg.inv(S) / X.std(0)
    assert np.corrcoef(wide.ravel(), truth.ravel())[0, 1] > 0.97


def test_levels_belong_to_the_denoising_loss():
    model = ScoreModel("sliced", hidden_layer_sizes=(4,), n_epochs=1, device="cpu")
    with pytest.raises(ValueError, match="sigma is for"):
        model.fit(rows(40)).score_function(rows(2), sigma=1.0)
