"""Mixture: any family, mixed columns, equal to GaussianMixture for Normals."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pansophy.distributions import Binomial
from pansophy.mixture import GaussianMixture, Mixture
from pansophy.mixture import mixture as module
from pansophy.params import ParameterError


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def mixed(rng, n=200):
    """Counts, a number pair, yes or no, a symbol: two kinds of rows."""
    z = rng.integers(2, size=n)
    X = np.column_stack(
        [
            rng.poisson(np.array([2.0, 7.0])[z]),
            rng.normal(size=n) + 3 * z,
            rng.normal(size=n) - 3 * z,
            rng.random(n) < np.array([0.2, 0.8])[z],
            np.where(z == 0, rng.integers(0, 2, n), rng.integers(1, 4, n)),
        ]
    )
    return X.astype(float), z


MIXED = [([0], "poisson"), ([1, 2], "normal"), ([3], "bernoulli"), ([4], "categorical")]
EACH = {
    "normal": lambda rng: rng.normal(size=(60, 2)) * [1, 3],
    "bernoulli": lambda rng: rng.integers(2, size=(60, 4)),
    "poisson": lambda rng: rng.poisson(3, size=(60, 2)),
    "categorical": lambda rng: rng.integers(5, size=(60, 2)),
    "multinomial": lambda rng: rng.multinomial(9, np.ones(4) / 4, size=60),
    "gamma": lambda rng: rng.gamma(2.0, size=(60, 2)) + 0.01,
    "beta": lambda rng: rng.beta(2.0, 3.0, size=(60, 2)),
    "dirichlet": lambda rng: rng.dirichlet(np.ones(3), size=60),
}


@pytest.mark.parametrize("family", EACH)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), weighted=st.booleans())
def test_likelihood_never_falls(family, seed, weighted):
    """EM never lowers the likelihood, for any family."""
    rng = np.random.default_rng(seed)
    X = EACH[family](rng).astype(float)
    w = rng.uniform(0.5, 2, len(X)) if weighted else None
    how = {"init_params": "random", "random_state": seed, "max_iter": 12, "tol": 0.0}
    model = fit(Mixture(3, family=family, reg_covar=0.0, **how), X, sample_weight=w)
    trace = -model.history_["objective"]
    assert np.all(np.diff(trace) >= -1e-9 * np.abs(trace[1:]))
    assert model.weights_.sum() == pytest.approx(1)
    assert np.allclose(model.predict_proba(X).sum(1), 1)


def test_gaussian_components_equal_gaussian_mixture(rng):
    """From the same start, the same iterations."""
    X = rng.normal(size=(150, 2)) + 5 * rng.integers(2, size=(150, 1))
    model = Mixture(2, random_state=0, tol=0.0, max_iter=1)
    fit(model, X)
    part = model.components_[0][1]
    peer = GaussianMixture(
        2, weights_init=model.weights_, means_init=part.mean, tol=0.0, max_iter=6,
        precisions_init=np.linalg.inv(part.cov),
    )  # fmt: skip
    fit(peer, X)
    whole = fit(Mixture(2, random_state=0, tol=0.0, max_iter=7), X)
    assert np.allclose(whole.components_[0][1].mean, peer.means_, rtol=1e-8)
    assert np.allclose(whole.components_[0][1].cov, peer.covariances_, rtol=1e-7)
    assert np.allclose(whole.score_samples(X), peer.score_samples(X))
    assert whole.bic(X) == pytest.approx(peer.bic(X))
    assert whole.aic(X) == pytest.approx(peer.aic(X))


def test_mixed_columns_find_the_two_kinds(rng):
    X, z = mixed(rng, 500)
    model = fit(Mixture(2, family=MIXED, random_state=0, n_init=2), X)
    agree = (model.predict(X) == z).mean()
    assert max(agree, 1 - agree) > 0.97
    rates = np.sort(model.components_[0][1].rate[:, 0])
    assert np.allclose(rates, [2, 7], atol=0.5)
    # 2 rates, 2 x (2 + 3) of Normals, 2 of yes or no, 2 x 3 of symbols, 1 weight
    assert model._n_parameters() == 2 + 10 + 2 + 6 + 1
    draws, labels = model.sample(3000)
    assert np.allclose(draws.mean(0), X.mean(0), atol=0.4)
    assert np.allclose(np.bincount(labels) / 3000, model.weights_, atol=0.03)


def test_the_joint_is_the_product_over_groups(rng):
    X, _ = mixed(rng, 50)
    model = fit(Mixture(2, family=MIXED, random_state=0), X)
    total = np.log(model.weights_)
    for columns, part in model.components_:
        total = total + part.log_prob(X[:, columns])
    got = np.log(np.exp(total).sum(1))
    assert np.allclose(model.score_samples(X), got)


def test_weights_are_repetitions(rng):
    X, _ = mixed(rng, 80)
    w = rng.integers(0, 4, 80)
    how = {"family": MIXED, "random_state": 0, "max_iter": 10}
    X[w == 0, 4] = 0  # symbols are counted over all rows
    a = fit(Mixture(2, **how), X, sample_weight=w)
    b = fit(Mixture(2, **how), np.repeat(X, w, axis=0))
    assert a.lower_bound_ == pytest.approx(b.lower_bound_, rel=1e-9)
    assert np.allclose(a.weights_, b.weights_)


def test_columns_by_name_and_other_distributions(rng):
    pd = pytest.importorskip("pandas")
    X, _ = mixed(rng)
    frame = pd.DataFrame(X, columns=list("abcde"))
    by_name = [("a", "poisson"), (["b", "c"], "normal")]
    a = fit(Mixture(2, family=by_name, random_state=0), frame)
    b = fit(Mixture(2, family=MIXED[:2], random_state=0), X)
    assert np.allclose(a.score_samples(frame), b.score_samples(X))
    counts = rng.binomial(10, np.where(rng.random(300) < 0.5, 0.2, 0.8))[:, None]
    model = Mixture(2, family=Binomial(10, np.array([0.5])), random_state=0)
    prob = np.sort(fit(model, counts.astype(float)).components_[0][1].prob[:, 0])
    assert np.allclose(prob, [0.2, 0.8], atol=0.05)


def test_tensors_and_tables(rng, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    torch = pytest.importorskip("torch")
    X = rng.poisson(np.where(rng.random((2000, 1)) < 0.4, 2.0, 9.0), size=(2000, 2))
    X = X.astype(float)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(2)}), path)
    how = {"family": "poisson", "random_state": 0}
    a, b, c = (fit(Mixture(2, **how), Z) for Z in (X, path, torch.asarray(X)))
    assert np.allclose(a.score_samples(X), b.score_samples(path))
    scores = c.score_samples(torch.asarray(X))
    assert isinstance(scores, torch.Tensor)
    assert float(scores.mean()) == pytest.approx(a.score(X), rel=1e-3)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"family": "cauchy"}, "family"),
        ({"family": Binomial}, "family of Mixture must be"),
        ({"family": [([9], "normal")]}, "outside"),
        ({"family": [([0], "normal"), ([0], "poisson")]}, "more than once"),
        ({"family": [("x", "normal")]}, "column 'x'"),
        ({"n_components": 999}, "n_components = 999"),
    ],
)
def test_bad_parameters_are_named(params, match, rng):
    X, _ = mixed(rng, 40)
    with pytest.raises((ParameterError, ValueError), match=match):
        Mixture(**{"n_components": 2, **params}).fit(X)
    with pytest.raises(ValueError, match="n_samples"):
        fit(Mixture(2, family=MIXED), X).sample(0)
    assert module.column_positions(slice(0, 2), 3, None).tolist() == [0, 1]


def test_samples_of_a_model_fitted_to_a_frame(rng):
    import pandas as pd

    from pansophy.mixture import BayesianGaussianMixture

    X = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    for model in (GaussianMixture(), BayesianGaussianMixture(), Mixture()):
        model.fit(X)
        assert model.sample(3)[0].shape == (3, 2)
        for bad in (0, 2.5, "3"):
            with pytest.raises(ValueError, match="n_samples must be a whole number"):
                model.sample(bad)


@pytest.mark.parametrize(
    ("family", "bad", "needs"),
    [
        ("poisson", 4.5, "whole numbers of at least 0"),
        ("poisson", -1.0, "whole numbers of at least 0"),
        ("bernoulli", 2.0, "numbers from 0 to 1"),
        ("multinomial", -1.0, "counts of at least 0"),
        ("gamma", 0.0, "numbers above 0"),
        ("beta", 1.0, "between 0 and 1"),
        ("dirichlet", 0.4, "sum to 1"),
    ],
)
def test_a_value_outside_of_the_family_is_named(family, bad, needs):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, (30, 1))
    good = rng.integers(1, 4, (30, 2)).astype(float)
    if family in ("beta", "dirichlet", "bernoulli"):
        good = np.hstack([p, 1 - p])
    wrong = good.copy()
    wrong[7, 1] = bad
    model = fit(Mixture(1, family=family), good)
    for use in (Mixture(1, family=family).fit, model.predict, model.score_samples):
        with pytest.raises(ValueError, match=f"column . of X holds .*{needs}"):
            use(wrong)
    mixed_columns = Mixture(1, family=[([0], "normal"), ([1], family)])
    if family != "dirichlet":
        with pytest.raises(ValueError, match=f"column 1 of X holds {bad:g}, but the"):
            mixed_columns.fit(wrong)
