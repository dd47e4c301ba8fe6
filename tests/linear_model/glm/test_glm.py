"""GLMs against statsmodels, scikit-learn, LogisticRegression and least squares."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy import links
from pansophy.linear_model import (
    GammaRegressor,
    GeneralizedLinearModel,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    TweedieRegressor,
)
from tests.linear_model.small_problems import targets_by_family

TIGHT = {"tol": 1e-10, "max_iter": 300}


@pytest.fixture
def data(rng):
    return targets_by_family(rng)


PAIRS = [
    ("gaussian", "identity", "Gaussian", "Identity"),
    ("poisson", "log", "Poisson", "Log"),
    ("poisson", "sqrt", "Poisson", "Sqrt"),
    ("gamma", "log", "Gamma", "Log"),
    ("gamma", "inverse", "Gamma", "InversePower"),
    ("inverse_gaussian", "log", "InverseGaussian", "Log"),
    ("bernoulli", "logit", "Binomial", "Logit"),
    ("bernoulli", "probit", "Binomial", "Probit"),
    ("bernoulli", "cloglog", "Binomial", "CLogLog"),
    ("bernoulli", "cauchit", "Binomial", "Cauchy"),
    ("negative_binomial", "log", "NegativeBinomial", "Log"),
    ("tweedie", "log", "Tweedie", "Log"),
]


@pytest.mark.filterwarnings("ignore")  # statsmodels warns about its own links
@pytest.mark.parametrize(("family", "link", "theirs", "their_link"), PAIRS)
def test_statsmodels_agrees(family, link, theirs, their_link, data):
    sm = pytest.importorskip("statsmodels.api")
    X, targets = data
    y = targets[family]
    options = {"Tweedie": {"var_power": 1.5}, "NegativeBinomial": {"alpha": 1.0}}
    make = getattr(sm.families, theirs)
    law = make(getattr(sm.families.links, their_link)(), **options.get(theirs, {}))
    result = sm.GLM(y, sm.add_constant(X), family=law).fit(tol=1e-13, maxiter=300)
    for solver in ("auto", "irls", "newton-cg", "lbfgs"):
        model = GeneralizedLinearModel(family, link=link, solver=solver, **TIGHT)
        model.fit(X, y)
        found = np.append(model.intercept_, model.coef_)
        np.testing.assert_allclose(found, result.params, atol=1e-6)
        assert model.deviance_ == pytest.approx(result.deviance, rel=1e-9)
        assert model.null_deviance_ == pytest.approx(result.null_deviance, rel=1e-9)
    table = model.summary()
    np.testing.assert_allclose(table["std error"], result.bse, rtol=1e-5)
    assert model.dispersion_ == pytest.approx(result.scale, rel=1e-5)
    if family != "tweedie":
        assert model.log_likelihood_ == pytest.approx(result.llf, rel=1e-6)
        assert table["AIC"] == pytest.approx(result.aic, rel=1e-6)


def test_logit_is_logistic_and_identity_is_least_squares(data):
    X, targets = data
    y = targets["bernoulli"]
    logistic = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    model = GeneralizedLinearModel("binomial", **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.coef_, logistic.coef_[0], atol=1e-8)
    line = LinearRegression().fit(X, targets["gaussian"])
    model = GeneralizedLinearModel("gaussian", **TIGHT).fit(X, targets["gaussian"])
    np.testing.assert_allclose(model.coef_, line.coef_, atol=1e-12)
    tanh = GeneralizedLinearModel("binomial", link="tanh", **TIGHT).fit(X, y)
    np.testing.assert_allclose(2 * tanh.coef_, logistic.coef_[0], atol=1e-7)


@pytest.mark.parametrize("name", ["probit", "tanh", "cloglog", "loglog", "cauchit"])
def test_risk_gradient_is_a_difference(name, data):
    from pansophy.linear_model.risk import Risk
    from pansophy.losses import get_family, glm_loss
    from pansophy.optim import check_gradient

    X, targets = data
    loss = glm_loss(get_family("binomial"), links.get_link(name))
    J = Risk(X, targets["bernoulli"], np.full(len(X), 1 / len(X)), loss)
    x = np.array([0.3, -0.2, 0.1, 0.4, 0.2])
    assert np.all(check_gradient(J, x) < 1e-6)


@pytest.mark.parametrize("family", ["poisson", "gamma", "bernoulli", "gaussian"])
def test_weights_are_repetitions(family, data, rng):
    X, targets = data
    y, w = targets[family], rng.integers(0, 4, size=len(X))
    a = GeneralizedLinearModel(family, **TIGHT).fit(X, y, sample_weight=w)
    b = GeneralizedLinearModel(family, **TIGHT).fit(
        np.repeat(X, w, axis=0), np.repeat(y, w)
    )
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-9)
    for name in ("deviance_", "null_deviance_", "dispersion_", "log_likelihood_"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-9)
    np.testing.assert_allclose(a.covariance_, b.covariance_, rtol=1e-7)


def test_trials_as_columns_or_weights(rng):
    X = rng.normal(size=(60, 2))
    trials = rng.integers(1, 12, size=60)
    hits = rng.binomial(trials, 1 / (1 + np.exp(-X[:, 0])))
    a = GeneralizedLinearModel("binomial").fit(
        X, np.column_stack([hits, trials - hits])
    )
    b = GeneralizedLinearModel("binomial").fit(X, hits / trials, sample_weight=trials)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-10)
    sm = pytest.importorskip("statsmodels.api")
    both = np.column_stack([hits, trials - hits])
    result = sm.GLM(both, sm.add_constant(X), family=sm.families.Binomial()).fit()
    # the peer stops at a change of 1e-8 in its deviance
    np.testing.assert_allclose(a.summary()["std error"], result.bse, rtol=1e-5)
    assert a.log_likelihood_ == pytest.approx(result.llf)
    assert a.aic_ == pytest.approx(result.aic)


def test_exposure_is_an_offset(data, rng):
    X, _ = data
    e = rng.uniform(0.5, 3.0, size=len(X))
    y = rng.poisson(e * np.exp(0.4 * X[:, 0] + 0.2))
    a = GeneralizedLinearModel("poisson", **TIGHT).fit(X, y, exposure=e)
    b = GeneralizedLinearModel("poisson", **TIGHT).fit(X, y, offset=np.log(e))
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-12)
    # rates weighted by exposure have the same optimum
    c = GeneralizedLinearModel("poisson", **TIGHT).fit(X, y / e, sample_weight=e)
    np.testing.assert_allclose(a.coef_, c.coef_, atol=1e-8)
    np.testing.assert_allclose(a.predict(X, exposure=e), e * a.predict(X))
    sm = pytest.importorskip("statsmodels.api")
    result = sm.GLM(
        y, sm.add_constant(X), family=sm.families.Poisson(), exposure=e
    ).fit()
    assert a.null_deviance_ == pytest.approx(result.null_deviance)
    share = 1 - result.deviance / result.null_deviance
    assert a.score(X, y, exposure=e) == pytest.approx(share)
    with pytest.raises(ValueError, match="log link"):
        GeneralizedLinearModel("gaussian").fit(X, y, exposure=e)
    with pytest.raises(ValueError, match="above 0"):
        GeneralizedLinearModel("poisson").fit(X, y, exposure=0 * e)
    with pytest.raises(ValueError, match="finite numbers"):
        GeneralizedLinearModel("poisson").fit(X, y, offset=e[:3])


def test_rows_may_be_anywhere(data, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, targets = data
    y = targets["poisson"]
    dense = PoissonRegressor(alpha=0.1, tol=1e-9).fit(X, y)
    Z = X * (np.abs(X) > 0.5)
    a = PoissonRegressor(alpha=0.1, tol=1e-9).fit(Z, y)
    b = PoissonRegressor(alpha=0.1, tol=1e-9).fit(sp.csr_matrix(Z), y)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-9)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(4)}), path)
    table = PoissonRegressor(alpha=0.1, tol=1e-9).fit(path, y)
    np.testing.assert_allclose(table.coef_, dense.coef_, atol=1e-12)
    np.testing.assert_allclose(table.predict(path), dense.predict(X), rtol=1e-10)
    glm = GeneralizedLinearModel("gamma", link="log").fit(path, targets["gamma"])
    again = GeneralizedLinearModel("gamma", link="log").fit(X, targets["gamma"])
    np.testing.assert_allclose(glm.covariance_, again.covariance_, rtol=1e-8)
    small = PoissonRegressor(alpha=0.1).fit(X.astype("f4"), y.astype("f4"))
    assert small.coef_.dtype == np.float32
    np.testing.assert_allclose(small.coef_, dense.coef_, atol=1e-3)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("link", ["log", "identity"])
def test_tensors_stay_tensors(library, link, data):
    xp = pytest.importorskip(library)
    X, targets = data
    X = np.abs(X)
    y = targets["gamma"] + X[:, 0]
    how = {"link": link, **TIGHT}
    ours = GeneralizedLinearModel("gamma", **how).fit(X, y)
    other = GeneralizedLinearModel("gamma", **how).fit(xp.asarray(X), xp.asarray(y))
    assert type(other.coef_) is type(xp.asarray(X))
    np.testing.assert_allclose(np.asarray(other.coef_), ours.coef_, atol=1e-8)
    mu = other.predict(xp.asarray(X))
    np.testing.assert_allclose(np.asarray(mu), ours.predict(X), rtol=1e-7)
    assert other.score(xp.asarray(X), xp.asarray(y)) == pytest.approx(
        ours.score(X, y), abs=1e-8
    )


def test_summary_refuses_where_theory_is_absent(data):
    X, targets = data
    model = GeneralizedLinearModel("poisson", alpha=0.1).fit(X, targets["poisson"])
    with pytest.raises(ValueError, match="penalised"):
        model.summary()
    twice = np.column_stack([X, X[:, 0]])
    model = GeneralizedLinearModel("poisson").fit(twice, targets["poisson"])
    with pytest.raises(ValueError, match="dependent"):
        model.summary()
    single = GeneralizedLinearModel("poisson").fit(X, targets["poisson"])
    np.testing.assert_allclose(model.predict(twice), single.predict(X), rtol=1e-6)
    assert "z" in single.summary().columns
    assert "t" in GeneralizedLinearModel().fit(X, targets["gaussian"]).summary().columns
    assert "intercept" in str(single.summary())


def test_bad_targets_and_parameters(data):
    X, _ = data
    y = -np.ones(len(X))
    for model, says in [
        (PoissonRegressor(), "at least 0"),
        (GammaRegressor(), "above 0"),
        (GeneralizedLinearModel("binomial"), "between 0 and 1"),
        (GeneralizedLinearModel("bernoulli"), "0 or 1"),
        (TweedieRegressor(power=0.5), "strictly between 0 and 1"),
        (GeneralizedLinearModel(link="cubic"), "no link is called"),
        (GeneralizedLinearModel("weibull"), "must be one of"),
        (PoissonRegressor(solver="sag"), "must be one of"),
    ]:
        with pytest.raises(ValueError, match=says):
            model.fit(X, y)


def test_no_intercept_and_warm_start(data):
    X, targets = data
    Z = np.abs(X) + 0.1
    model = GeneralizedLinearModel("gamma", fit_intercept=False, link="identity")
    model.fit(Z, Z @ [1.0, 2.0, 0.5, 1.0])
    np.testing.assert_allclose(model.coef_, [1, 2, 0.5, 1], atol=1e-5)
    assert model.intercept_ == 0
    warm = PoissonRegressor(warm_start=True, tol=1e-9).fit(X, targets["poisson"])
    steps = warm.n_iter_
    assert warm.fit(X, targets["poisson"]).n_iter_ < steps
