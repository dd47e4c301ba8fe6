"""Standard errors, tests and tables of least squares."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.linear_model import LinearRegression, Summary
from pansophy.linear_model.summary import wald_table
from pansophy.params import ParameterError

KINDS = ["nonrobust", "HC0", "HC1", "HC2", "HC3"]


def problem(rng, n=80, d=3, t=None):
    X = rng.standard_normal((n, d)) + 2
    noise = rng.standard_normal((n, t or 1)) * (0.2 + np.abs(X[:, :1]))
    Y = X @ rng.standard_normal((d, t or 1)) + 1 + noise
    return X, (Y if t else Y[:, 0])


def columns(s):
    return np.concatenate([np.ravel(s[k]) for k in ("std error", "t", "p", "low")])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercept", [True, False])
def test_same_as_statsmodels(kind, intercept, rng):
    sm = pytest.importorskip("statsmodels.api")
    X, y = problem(rng)
    A = sm.add_constant(X) if intercept else X
    theirs = sm.OLS(y, A).fit(cov_type=kind, use_t=True)
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    s = model.summary(X, y, cov_type=kind)
    np.testing.assert_allclose(s["coef"], theirs.params, rtol=1e-11)
    np.testing.assert_allclose(s["std error"], theirs.bse, rtol=1e-11)
    np.testing.assert_allclose(s["t"], theirs.tvalues, rtol=1e-10)
    np.testing.assert_allclose(s["p"], theirs.pvalues, rtol=1e-8, atol=1e-14)
    both = np.column_stack([s["low"], s["high"]])
    np.testing.assert_allclose(both, theirs.conf_int(), rtol=1e-9)
    for name, right in {
        "R2": theirs.rsquared,
        "adjusted R2": theirs.rsquared_adj,
        "log-likelihood": theirs.llf,
        "AIC": theirs.aic,
        "BIC": theirs.bic,
        "F": float(np.squeeze(theirs.fvalue)),
        "sigma": np.sqrt(theirs.scale),
    }.items():
        assert s[name] == pytest.approx(right, rel=1e-10)
    assert s["p (F)"] == pytest.approx(float(theirs.f_pvalue), rel=1e-7)


def test_worked_example_of_noise_and_likelihood():
    x, t = np.array([[1.0], [2], [3], [4]]), np.array([2.0, 3, 5, 6])
    model = LinearRegression().fit(x, t)
    np.testing.assert_allclose([model.intercept_, *model.coef_], [0.5, 1.4])
    assert model.noise_variance_ == pytest.approx(0.05)
    assert model.log_likelihood() == pytest.approx(0.315710, abs=1e-6)
    assert model.log_likelihood(x, t) == pytest.approx(model.log_likelihood())
    other = LinearRegression().fit(x, 10 * t)  # beta changes, w / 10 does not
    np.testing.assert_allclose(other.coef_ / 10, model.coef_)
    both = LinearRegression().fit(x, np.column_stack([t, 2 * t]))
    np.testing.assert_allclose(both.noise_variance_, [0.05, 0.2])
    np.testing.assert_allclose(both.log_likelihood(x, np.column_stack([t, 2 * t]))[0],
                               model.log_likelihood())  # fmt: skip


def test_likelihood_is_the_largest(rng):
    from scipy import stats

    X, y = problem(rng)
    model = LinearRegression().fit(X, y)
    r = y - model.predict(X)
    scale = np.sqrt(model.noise_variance_)
    assert model.log_likelihood() == pytest.approx(stats.norm(0, scale).logpdf(r).sum())
    for off in (0.9, 1.1):
        assert model.log_likelihood() > stats.norm(0, off * scale).logpdf(r).sum()


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_weight_is_repetition(kind, seed):
    rng = np.random.default_rng(seed)
    X, y = problem(rng, 60)
    k = rng.integers(0, 4, 60)
    a = LinearRegression().fit(X, y, k).summary(X, y, k, cov_type=kind)
    X, y = np.repeat(X, k, axis=0), np.repeat(y, k)
    b = LinearRegression().fit(X, y).summary(X, y, cov_type=kind)
    np.testing.assert_allclose(columns(a), columns(b), rtol=1e-7, atol=1e-12)
    for name in ("R2", "AIC", "BIC", "F", "rows", "condition"):
        assert a[name] == pytest.approx(b[name], rel=1e-8)


def test_several_targets_are_separate_tables(rng):
    X, Y = problem(rng, t=2)
    model = LinearRegression().fit(X, Y)
    for kind in KINDS:
        s = model.summary(X, Y, cov_type=kind)
        for j in range(2):
            one = LinearRegression().fit(X, Y[:, j]).summary(X, Y[:, j], cov_type=kind)
            np.testing.assert_allclose(s["std error"][:, j], one["std error"])
            assert s["F"][j] == pytest.approx(one["F"])
    frame = s.to_frame()
    assert list(frame["target"]) == ["y0"] * 4 + ["y1"] * 4
    assert str(s).count("intercept") == 2 + 1  # two tables and the note


@pytest.mark.parametrize("how", ["sparse", "torch", "float32", "parquet", "many rows"])
def test_every_kind_of_rows(how, rng, tmp_path):
    n = 30_000 if how == "many rows" else 300
    X, y = problem(rng, n)
    right = LinearRegression().fit(X, y).summary(X, y, cov_type="HC3")
    A, b, rtol = X, y, 1e-8
    if how == "sparse":
        A = sp.csr_array(X)
    elif how == "float32":
        A, b, rtol = X.astype(np.float32), y.astype(np.float32), 1e-3
    elif how == "torch":
        torch = pytest.importorskip("torch")
        A, b = torch.tensor(X), torch.tensor(y)
    elif how == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        A = tmp_path / "x.parquet"
        pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(3)}), A)
    model = LinearRegression().fit(A, b)
    got = model.summary(A, b, cov_type="HC3")
    np.testing.assert_allclose(columns(got), columns(right), rtol=rtol, atol=1e-6)
    assert got.terms == ("intercept", "x0", "x1", "x2")
    plain = LinearRegression().fit(X, y).summary()
    np.testing.assert_allclose(
        columns(model.summary()), columns(plain), rtol=rtol, atol=1e-6
    )


def test_robust_errors_have_the_right_coverage_where_classical_do_not():
    rng = np.random.default_rng(3)
    inside = {"nonrobust": 0, "HC3": 0}
    for _ in range(120):
        x = rng.standard_normal((80, 1))
        y = 2 * x[:, 0] + rng.standard_normal(80) * x[:, 0] ** 2
        model = LinearRegression().fit(x, y)
        for kind in inside:
            s = model.summary(x, y, cov_type=kind)
            inside[kind] += s["low"][1] < 2 < s["high"][1]
    assert inside["nonrobust"] < 96 < 104 < inside["HC3"]


def test_it_refuses_where_theory_is_absent(rng):
    X, y = problem(rng)
    with pytest.raises(ValueError, match="no theory for positive=True"):
        LinearRegression(positive=True).fit(X, y).summary()
    with pytest.warns(np.exceptions.RankWarning):
        model = LinearRegression().fit(np.column_stack([X, X[:, 0]]), y)
    with pytest.raises(ValueError, match="rank 3 with 4 columns"):
        model.summary()
    with pytest.raises(ValueError, match="more rows than the 4 coefficients"):
        LinearRegression().fit(X[:4], y[:4]).summary()
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"call summary\(X, y, cov_type='HC1'\)"):
        model.summary(cov_type="HC1")
    with pytest.raises(ValueError, match="not those given to fit"):
        model.summary(X, y + X[:, 0] ** 2, cov_type="HC1")
    with pytest.raises(ParameterError, match="cov_type must be one of"):
        model.summary(cov_type="HC9")
    with pytest.raises(ParameterError, match="level must be between"):
        model.summary(level=95)
    alone = np.column_stack([X, np.eye(80)[:, 0]])
    with pytest.raises(ValueError, match="leverage 1"):
        LinearRegression().fit(alone, y).summary(alone, y, cov_type="HC3")
    wide = sp.random_array((1200, 1001), density=0.01, rng=rng, format="csr")
    with pytest.raises(ValueError, match="solved by iteration"):
        LinearRegression().fit(wide, np.ones(1200)).summary()


def test_it_prints_as_text_html_and_frames(rng):
    pd = pytest.importorskip("pandas")
    X, y = problem(rng)
    model = LinearRegression().fit(pd.DataFrame(X, columns=["a", "b", "<c>"]), y)
    s = model.summary(level=0.9)
    text = str(s)
    assert text == repr(s)
    assert all(word in text for word in ("a ", "<c>", "R2", "AIC", "90% interval"))
    assert max(map(len, text.splitlines())) < 90
    html = s._repr_html_()
    assert "&lt;c&gt;" in html and html.count("<table>") == 2
    frame = s.to_frame()
    assert list(frame["term"]) == ["intercept", "a", "b", "<c>"]
    np.testing.assert_array_equal(frame["coef"], s["coef"])
    pytest.importorskip("polars")
    assert s.to_frame("polars").shape == (4, 7)
    with pytest.raises(KeyError, match="there are coef"):
        s["nothing"]


def test_normal_quantiles_and_plain_tables():
    table = wald_table(np.array([1.0, 0.0]), np.array([0.5, 0.0]))
    assert table["z"][0] == 2 and np.isnan(table["z"][1])
    s = Summary("t", {"n": 3, "odd": 1.5, "last": "yes"}, ("a", "b"), {"p": [0.2, 0.0]})
    assert "<0.001" in str(s) and "yes" in str(s)


def test_save_and_load(rng, tmp_path):
    from pansophy.persist import load, save

    X, y = problem(rng)
    model = LinearRegression().fit(X, y)
    save(model, tmp_path / "m.pansophy")
    again = load(tmp_path / "m.pansophy")
    np.testing.assert_array_equal(
        again.summary()["std error"], model.summary()["std error"]
    )
