"""Tests, intervals and designs by formula give statsmodels' numbers."""

import numpy as np
import pytest

import pansophy
from pansophy.linear_model import (
    GammaRegressor,
    GeneralizedLinearModel,
    LinearRegression,
    LogisticRegression,
    NegativeBinomialRegressor,
    PoissonRegressor,
)

pandas = pytest.importorskip("pandas")
pytest.importorskip("formulaic")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    n = 200
    table = pandas.DataFrame(
        {
            "x": rng.normal(size=n),
            "z": rng.normal(size=n),
            "g": rng.choice(["a", "b", "c"], n),
            "k": rng.integers(0, 3, n),
            "t": rng.uniform(1, 5, n),
        }
    )
    table["y"] = 1 + 2 * table.x - (table.g == "b") * 3 + rng.normal(size=n)
    table["count"] = rng.poisson(table.t * np.exp(0.3 + 0.5 * table.x))
    table["yes"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-table.x))).astype(int)
    return table


def in_our_order(names, model):
    """Places of our coefficients in statsmodels' order of names."""
    ours = ["Intercept", *model.feature_names_in_]
    return [ours.index(name) for name in names]


def check_coefficients(model, peer, rtol=1e-6):
    order = in_our_order(peer.params.index, model)
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)
    close(model.bse[order], peer.bse)
    close(model.pvalues[order], peer.pvalues)
    close(model.conf_int(level=0.9)[order], peer.conf_int(alpha=0.1))
    close(model.cov_params()[np.ix_(order, order)], peer.cov_params())
    close(np.sort(model.summary()["p"]), np.sort(peer.pvalues))


@pytest.mark.parametrize(
    "formula", ["y ~ x + C(k) + x:z", "np.log(t) ~ x * g", "y ~ g + center(x)"]
)
def test_least_squares(frame, formula):
    api = pytest.importorskip("statsmodels.formula.api")
    model = LinearRegression().fit(formula, frame)
    peer = api.ols(formula, frame).fit()
    check_coefficients(model, peer)
    new = frame.iloc[:7]
    np.testing.assert_allclose(model.predict(new), peer.predict(new))
    mine = model.predict_interval(new, level=0.8)
    theirs = peer.get_prediction(new).summary_frame(alpha=0.2)
    np.testing.assert_allclose(np.column_stack(mine), theirs.to_numpy(), rtol=1e-8)


def test_equations_and_terms(frame):
    api = pytest.importorskip("statsmodels.formula.api")
    from statsmodels.stats.anova import anova_lm

    formula = "y ~ x + C(g) + x:z"
    model = LinearRegression().fit(formula, frame)
    peer = api.ols(formula, frame).fit()
    for text in ("x = 2, x:z = 0", "C(g)[T.b] - `C(g)[T.c]` = -3"):
        mine = model.wald_test(text)
        theirs = peer.f_test(text.replace("`", ""))
        assert mine.statistic == pytest.approx(float(theirs.statistic))
        assert mine.pvalue == pytest.approx(float(theirs.pvalue))
    R = np.zeros((1, 5))
    R[0, 1] = 1.0
    assert model.wald_test(R).pvalue == pytest.approx(model.pvalues[1])
    terms = model.anova()
    theirs = anova_lm(peer, typ=3)
    assert terms.terms == ("x", "C(g)", "x:z")
    np.testing.assert_allclose(terms["F"], theirs.loc[list(terms.terms), "F"])
    np.testing.assert_allclose(terms["p"], theirs.loc[list(terms.terms), "PR(>F)"])
    with pytest.raises(ValueError, match="cannot be read: write equations"):
        model.wald_test("w = 0")
    with pytest.raises(ValueError, match="depend on one another"):
        model.wald_test("x = 1, 2 * x = 2")
    with pytest.raises(ValueError, match="hypothesis has 2 columns"):
        model.wald_test([1.0, 0.0])


def test_generalised_linear_models_with_exposure(frame):
    sm = pytest.importorskip("statsmodels.api")
    formula = "count ~ x + g"
    families = {
        PoissonRegressor(alpha=0, tol=1e-10): sm.families.Poisson(),
        GeneralizedLinearModel("poisson"): sm.families.Poisson(),
        NegativeBinomialRegressor(overdispersion=0.5): (
            sm.families.NegativeBinomial(alpha=0.5)
        ),
    }
    new = frame.iloc[:6]
    for model, family in families.items():
        peer = sm.formula.glm(formula, frame, family=family, exposure=frame.t)
        peer = peer.fit(tol=1e-12, tol_criterion="params")
        model.fit(formula, frame, exposure=frame.t)
        check_coefficients(model, peer)
        assert model.deviance_ == pytest.approx(peer.deviance)
        assert model.log_likelihood_ == pytest.approx(peer.llf)
        np.testing.assert_allclose(
            model.predict(new, exposure=new.t), peer.predict(new, exposure=new.t)
        )
        mine = model.predict_interval(new, exposure=new.t)
        theirs = peer.get_prediction(new, exposure=new.t).summary_frame()
        np.testing.assert_allclose(np.column_stack(mine[:4]), theirs, rtol=1e-6)
        assert mine.new_low is None


def test_a_dispersion_that_is_estimated(frame):
    sm = pytest.importorskip("statsmodels.api")
    family = sm.families.Gamma(sm.families.links.Log())
    peer = sm.formula.glm("t ~ x + z", frame, family=family)
    peer = peer.fit(use_t=True, tol=1e-12, tol_criterion="params")
    check_coefficients(GammaRegressor(alpha=0, tol=1e-10).fit("t ~ x + z", frame), peer)


def test_logistic_regression(frame):
    api = pytest.importorskip("statsmodels.formula.api")
    peer = api.logit("yes ~ x + g", frame).fit(disp=0, method="newton", tol=1e-12)
    model = LogisticRegression(C=np.inf, tol=1e-10).fit("yes ~ x + g", frame)
    check_coefficients(model, peer)
    assert model.summary()["AIC"] == pytest.approx(peer.aic)
    mine = model.predict_interval(frame.iloc[:5])
    np.testing.assert_allclose(mine.mean, peer.predict(frame.iloc[:5]))
    np.testing.assert_allclose(mine.mean, model.predict_proba(frame.iloc[:5])[:, 1])
    frame = frame.assign(word=np.where(frame.yes == 1, "yes", "no"))
    words = LogisticRegression(C=np.inf).fit("word ~ x", frame)
    assert words.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="penalised coefficients"):
        _ = LogisticRegression().fit("yes ~ x", frame).pvalues
    three = LogisticRegression(C=np.inf).fit("k ~ x", frame)
    assert three.summary()["p"].shape == (2, 3)
    with pytest.raises(ValueError, match="are for two classes"):
        three.conf_int()


def test_arrays_have_the_same_tests(frame):
    """A design by hand and by formula are one model."""
    by_formula = LinearRegression().fit("y ~ x + z", frame)
    by_hand = LinearRegression().fit(frame[["x", "z"]].to_numpy(), frame.y)
    np.testing.assert_allclose(by_formula.cov_params(), by_hand.cov_params())
    none = LinearRegression(fit_intercept=False).fit("y ~ 0 + x + z", frame)
    assert none.cov_params().shape == (2, 2)
    w = np.random.default_rng(0).integers(1, 4, len(frame))
    weighted = LinearRegression().fit("y ~ x", frame, w)
    repeated = LinearRegression().fit("y ~ x", frame.loc[frame.index.repeat(w)])
    np.testing.assert_allclose(weighted.conf_int(), repeated.conf_int())


def test_what_cannot_be_is_said(frame):
    with pytest.raises(TypeError, match="needs a data frame in the place of y"):
        LinearRegression().fit("y ~ x", [1.0, 2.0])
    with pytest.raises(ValueError, match="has no intercept, but fit_intercept is True"):
        LinearRegression().fit("y ~ x - 1", frame)
    with pytest.raises(ValueError, match="has an intercept, but fit_intercept is Fal"):
        LinearRegression(fit_intercept=False).fit("y ~ x", frame)
    with pytest.raises(ValueError, match="cannot be read"):
        LinearRegression().fit("y ~ nowhere", frame)
    gaps = frame.assign(x=frame.x.where(frame.x > 0))
    with pytest.raises(ValueError, match="have missing values"):
        LinearRegression().fit("y ~ x", gaps)
    model = LinearRegression().fit("y ~ g", frame)
    with pytest.raises(ValueError, match="has the level 'd', which the training"):
        model.predict(frame.assign(g="d"))
    with pytest.raises(FileNotFoundError):
        LinearRegression().fit("nowhere.parquet", frame.y)
    with pytest.raises(ValueError, match="neither offset nor exposure"):
        model.predict_interval(frame, offset=frame.t)


def test_frames_of_polars_and_saved_models(frame, tmp_path):
    polars = pytest.importorskip("polars")
    model = LinearRegression().fit("y ~ x + C(k) + g", polars.from_pandas(frame))
    new = frame.iloc[:3]  # not every level occurs
    pansophy.save(model, tmp_path / "model")
    again = pansophy.load(tmp_path / "model")
    for rows in (new, polars.from_pandas(new)):
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.anova().terms == ("x", "C(k)", "g")
    assert not hasattr(model.fit(frame[["x"]], frame.y), "formula_")
