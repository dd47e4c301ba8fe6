"""Kalman filter: against dense Gaussian algebra, the driver, pykalman, statsmodels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core import hidden_chain, threads
from pansophy.core.filtering import Filter, bayes_filter, bayes_smoother
from pansophy.linear_model import RecursiveLeastSquares
from pansophy.linear_model.recursive import State
from pansophy.linear_model.recursive import update as rls
from pansophy.params import ParameterError
from pansophy.state_space import KalmanFilter
from pansophy.state_space.kalman_learning import (
    kalman_e_step,
    kalman_m_step,
    likelihood_gradient,
    transition_moments,
)
from pansophy.state_space.kalman_parameters import KalmanParameters
from pansophy.state_space.kalman_recursions import run_filter, run_smoother
from pansophy.state_space.linear_gaussian import (
    GaussianBelief,
    LinearGaussianFilter,
    simulate_linear_gaussian,
)
from tests.oracles import linear_gaussian as slow


def spd(rng, d):
    A = rng.normal(size=(d, d))
    return A @ A.T / d + 0.3 * np.eye(d)


def made(seed, k, p, n=None, *, start="known", inputs=0):
    """Random parameters; with n, matrices change with the row."""
    rng = np.random.default_rng(seed)

    def one():
        F = rng.normal(size=(k, k))
        F *= 0.95 / np.abs(np.linalg.eigvals(F)).max()
        R = spd(rng, p) if seed % 2 else np.diag(rng.uniform(0.2, 1, p))
        c, d = rng.normal(size=k), rng.normal(size=p)
        return F, spd(rng, k), rng.normal(size=(p, k)), R, c, d

    six = one() if n is None else [np.stack(a) for a in zip(*(one() for _ in range(n)))]
    B, D = rng.normal(size=(k, inputs)), rng.normal(size=(p, inputs))
    return KalmanParameters(*six, rng.normal(size=k), spd(rng, k), B, D, start)


def with_gaps(rng, n, p, gaps):
    X = rng.normal(size=(n, p))
    X[rng.random((n, p)) < gaps] = np.nan
    return X


@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 4),
    p=st.integers(1, 3),
    n=st.integers(1, 7),
    moves=st.booleans(),
    gaps=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_loops_equal_one_large_normal_and_the_driver(seed, k, p, n, moves, gaps):
    """K258, K271: means, covariances and likelihood of the joint Gaussian."""
    model = made(seed, k, p, n if moves else None).model(n)
    X = with_gaps(np.random.default_rng(seed), n, p, gaps)
    run = run_filter(model, X, np.array([n]))
    back = run_smoother(run, keep=not moves)
    mean, V, loglik = slow.condition(model, X)
    now, lag = slow.blocks(V, k)
    assert np.allclose(run.logliks.sum(), loglik)
    assert np.allclose(back.mean, mean)
    assert np.allclose(back.covs, now)
    t = n // 2
    mean, V, _ = slow.condition(model, X, upto=t)
    assert np.allclose(run.mean[t], mean[t])
    assert np.allclose(run.covs[t], slow.blocks(V, k)[0][t])
    if not moves:
        M = transition_moments(back, None)
        z = back.mean
        expected = lag.sum(axis=0) + z[1:].T @ z[:-1] if n > 1 else 0.0
        assert np.allclose(M.yw[:, :k], expected)
    assert isinstance(LinearGaussianFilter(model), Filter)
    plain = bayes_filter(
        LinearGaussianFilter(model), GaussianBelief(model.m, model.P), list(X)
    )
    assert np.allclose(plain.logliks, run.logliks)
    assert np.allclose([b.cov for b in plain.filtered], run.covs)
    smoothed = bayes_smoother(LinearGaussianFilter(model), plain)
    assert np.allclose([b.mean for b in smoothed], back.mean)
    assert np.allclose([b.cov for b in smoothed], back.covs)


def test_worked_numbers():
    """X8 of 002: F=1, Q=.1, R=.5, from (0, 1); K is P of the filter over R."""
    model = KalmanFilter(transition_covariance=0.1, observation_covariance=0.5)
    belief, found = (np.zeros(1), np.eye(1)), []
    for y in (1.0, 0.5, 0.8):
        belief = model.filter_update(*belief, y)
        found.append((belief.covs[0, 0] / 0.5, belief.means[0], belief.covs[0, 0]))
    wanted = [
        (0.6875, 0.6875, 0.34375),
        (0.470199, 0.599338, 0.235099),
        (0.401269, 0.679857, 0.200634),
    ]
    assert np.allclose(found, wanted, atol=1e-6)


def test_constant_state_is_recursive_least_squares(rng):
    n, d = 30, 3
    A, y = rng.normal(size=(n, d)), rng.normal(size=n)
    model = KalmanFilter(
        transition_covariance=np.zeros((d, d)),
        observation_matrices=A[:, None, :],
        observation_covariance=0.4,
        initial_state_covariance=5 * np.eye(d),
        n_dim_obs=1,
    )
    means, covs = model.filter(y[:, None])
    state = State(np.zeros(d), 5 * np.eye(d))
    for t in range(n):
        state = rls(state, A[t : t + 1], y[t : t + 1], 0.4)
        assert np.allclose(means[t], state.theta)
        assert np.allclose(covs[t], state.P)
    fitted = RecursiveLeastSquares(
        prior_variance=5.0, noise_variance=0.4, fit_intercept=False
    ).fit(A, y)
    assert np.allclose(means[-1], fitted.coef_)
    open_ = model.set_params(start="diffuse")
    exact = RecursiveLeastSquares(fit_intercept=False).fit(A, y)
    assert np.allclose(open_.filter(y[:, None]).means[-1], exact.coef_)


@pytest.mark.parametrize("gaps", [0.0, 0.002])
def test_settled_covariances_change_nothing(rng, gaps):
    """The steady state is that of the Riccati equation; sharing rows is exact."""
    model = made(3, 3, 2).model(2000)
    X = simulate_linear_gaussian(model, 2000, rng)[1]
    X[rng.random(X.shape) < gaps] = np.nan
    runs = [run_filter(model, X, np.array([2000]), steady=on) for on in (True, False)]
    assert runs[0].n_computed < 1000 < runs[1].n_computed
    backs = [run_smoother(run) for run in runs]
    for a, b in (runs, backs):
        assert np.allclose(a.mean, b.mean, rtol=1e-10, atol=1e-10)
        assert np.allclose(a.covs, b.covs, rtol=1e-10, atol=1e-12)
    assert np.allclose(runs[0].logliks, runs[1].logliks, rtol=1e-10, atol=1e-10)
    est = KalmanFilter(*(getattr(model, x) for x in "FHQR"))
    if not gaps:
        assert np.allclose(est.steady_state().filtered, runs[0].covs[-1], atol=1e-10)


def test_sequences_share_nothing_but_the_matrices(rng, monkeypatch):
    """Many sequences, whole and with gaps, on any number of threads, as one by one."""
    lengths = [5, 40, 40, 1, 60, 40, 7] * 6
    n, ends = sum(lengths), np.cumsum(lengths)
    params = made(4, 2, 2)
    X = rng.normal(size=(n, 2))
    X[rng.integers(n, size=20), 0] = np.nan
    monkeypatch.setattr(hidden_chain, "GROUP_STEPS", 300)
    for start in ("known", "diffuse"):
        model = params._replace(start=start).model(n)
        got = []
        for count in (1, 3):
            monkeypatch.setattr(threads, "count", lambda count=count: count)
            run = run_filter(model, X, ends)
            got.append((run, run_smoother(run, keep=True)))
        (run, back), (other, other_back) = got
        assert np.array_equal(run.mean, other.mean)
        assert np.array_equal(back.covs, other_back.covs)
        begins = ends - lengths
        for a, b in zip(begins[:14], ends[:14], strict=True):
            alone = run_filter(model, X[a:b], np.array([b - a]), steady=False)
            alone_back = run_smoother(alone, keep=True)
            assert np.allclose(run.covs[a:b], alone.covs)
            assert np.allclose(run.logliks[a:b], alone.logliks)
            assert np.allclose(back.mean[a:b], alone_back.mean)
            assert np.allclose(back.covs[a:b], alone_back.covs)
            assert np.allclose(back.N[back.slot[a:b]], alone_back.N[alone_back.slot])
            assert np.allclose(back.D[a:b], alone_back.D)


def test_diffuse_start_is_the_limit_of_a_wide_one(rng):
    """Level, slope and a gap: exact start against variances of 10^7."""
    F = np.array([[1.0, 1.0], [0.0, 1.0]])
    given = {"transition_matrices": F, "observation_matrices": np.array([[1.0, 0.0]])}
    X = np.cumsum(rng.normal(size=(30, 1)), axis=0)
    X[1] = np.nan
    exact = KalmanFilter(**given, start="diffuse")
    wide = KalmanFilter(**given, initial_state_covariance=1e7 * np.eye(2))
    for a, b in zip(exact.smooth(X), wide.smooth(X), strict=True):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-4)
    assert exact.score(X) - wide.score(X) == pytest.approx(np.log(1e7), abs=1e-4)
    assert np.isinf(exact.filter(X).covs[0, 1, 1])
    nothing = exact.smooth(np.full((3, 1), np.nan))
    assert np.isinf(nothing.covs[:, 0, 0]).all()


@given(
    seed=st.integers(0, 10_000),
    start=st.sampled_from(["known", "diffuse"]),
    gaps=st.sampled_from([0.0, 0.3]),
    inputs=st.integers(0, 2),
)
def test_gradient_and_em(seed, start, gaps, inputs):
    """The exact score against differences; a turn of EM never lowers log p."""
    rng = np.random.default_rng(seed)
    p = made(seed, 2, 2, start=start, inputs=inputs)
    n, ends = 24, np.array([10, 24])
    X = with_gaps(rng, n, 2, gaps)
    u = rng.normal(size=(n, inputs)) if inputs else None
    loglik = lambda q: kalman_e_step(q, X, ends, u)[1]
    stats, first = kalman_e_step(p, X, ends, u)
    g = likelihood_gradient(stats.back, X, u)
    for x in "FQHRcd" + ("mP" if start == "known" else "") + "BD" * (inputs > 0):
        a = getattr(p, x)
        step = rng.normal(size=a.shape)
        step = step + step.T if x in "QRP" else step
        h = 1e-5
        up, down = (loglik(p._replace(**{x: a + s * step})) for s in (h, -h))
        assert (getattr(g, x) * step).sum() == pytest.approx(
            (up - down) / (2 * h), rel=1e-5, abs=1e-6
        )
    for letters in ("QRmP" if start == "known" else "QR", "FQHRcd", "HR", "Fc"):
        letters += "BD" * (inputs > 0 and len(letters) == 6)
        q, before = p, first
        for _ in range(4):
            q = kalman_m_step(kalman_e_step(q, X, ends, u)[0], letters)
            after = loglik(q)
            assert after >= before - 1e-8 * abs(before)
            before = after
        assert all(np.isfinite(a).all() for a in q[:-1])


MATRICES = {
    "transition_matrices": np.array([[1.0, 1.0], [0.0, 0.9]]),
    "observation_matrices": np.array([[1.0, 0.0], [0.3, 1.0]]),
    "transition_covariance": np.array([[0.3, 0.1], [0.1, 0.2]]),
    "observation_covariance": np.array([[1.0, 0.2], [0.2, 0.5]]),
    "initial_state_mean": np.zeros(2),
    "initial_state_covariance": np.eye(2),
}


def test_parity_with_pykalman():
    pykalman = pytest.importorskip("pykalman")
    ours, theirs = KalmanFilter(**MATRICES), pykalman.KalmanFilter(**MATRICES)
    X = ours.sample(60, random_state=0)[1]
    for name in ("filter", "smooth"):
        for a, b in zip(getattr(ours, name)(X), getattr(theirs, name)(X), strict=True):
            assert np.allclose(a, b)
    assert ours.loglikelihood(X) == pytest.approx(theirs.loglikelihood(X))
    for names in (None, list(MATRICES)):
        more = {} if names is None else {"em_vars": names}
        ours.em(X, n_iter=3, **more)
        theirs.em(X, n_iter=3, **more)
        for name in MATRICES:
            assert np.allclose(getattr(ours, f"{name}_"), getattr(theirs, name))


def test_parity_with_statsmodels(rng):
    module = pytest.importorskip("statsmodels.tsa.statespace.kalman_smoother")
    model = made(7, 3, 2).model(200)
    X = simulate_linear_gaussian(model, 200, rng)[1]
    X[50:60, 0], X[80] = np.nan, np.nan
    peer = module.KalmanSmoother(k_endog=2, k_states=3)
    peer.bind(X.copy())
    peer["design"], peer["transition"], peer["selection"] = model.H, model.F, np.eye(3)
    peer["state_cov"], peer["obs_cov"] = model.Q, model.R
    peer["obs_intercept"], peer["state_intercept"] = model.d[:, None], model.c[:, None]
    peer.initialize_known(model.m, model.P)
    want, run = peer.smooth(), run_filter(model, X, np.array([200]))
    back = run_smoother(run)
    assert np.allclose(run.mean.T, want.filtered_state)
    assert np.allclose(back.mean.T, want.smoothed_state)
    assert np.allclose(back.covs.transpose(1, 2, 0), want.smoothed_state_cov)
    assert np.allclose(run.logliks, want.llf_obs)
    whole = ~np.isnan(X).any(axis=1)
    mine, theirs = run.standardized, want.standardized_forecasts_error.T
    assert np.allclose(mine[whole], theirs[whole])


def test_learning_recovers_the_noise():
    """EM and maximum likelihood reach the same top; the truth is not above it."""
    truth = KalmanFilter(**MATRICES)
    X = truth.sample(400, random_state=1)[1]
    given = {k: v for k, v in MATRICES.items() if "covariance" not in k or "ini" in k}
    names = ["transition_covariance", "observation_covariance"]
    ml = KalmanFilter(**given, em_vars=names, method="ml", tol=1e-6).fit(X)
    em = KalmanFilter(**given, em_vars=names, tol=1e-7, n_iter=3000).fit(X)
    assert np.all(np.diff(em.history_["objective"]) <= 1e-12)
    assert ml.log_likelihood_ >= truth.score(X)
    assert ml.log_likelihood_ == pytest.approx(em.log_likelihood_, abs=0.02)
    assert np.allclose(ml.observation_covariance_, MATRICES[names[1]], atol=0.25)
    z = ml.standardized_residuals(X)
    assert np.allclose(z.std(axis=0), 1, atol=0.1)
    free = KalmanFilter(
        transition_matrices=0.5, em_vars=["transition_matrices", *names],
        method="ml", start="stationary", n_dim_obs=2, n_iter=200,
    ).fit(X)  # fmt: skip
    assert free.log_likelihood_ > truth.score(X) - 10
    assert np.abs(np.linalg.eigvals(free.transition_matrices_)).max() < 1


def test_forecasts_and_one_step_at_a_time(rng):
    B, D = np.array([[0.5], [0.0]]), np.array([[0.0], [1.0]])
    model = KalmanFilter(
        **MATRICES, control_matrices=B, observation_control_matrices=D, method=None
    )
    u = rng.normal(size=(44, 1))
    Z, X = model.sample(44, random_state=0, control=u)
    assert Z.shape == X.shape == (44, 2)
    model.fit(X[:40], control=u[:40])
    ahead = model.forecast(4, control=u[40:], level=0.9)
    again = model.forecast(4, X[:40], control=u, level=0.9)
    for a, b in zip(ahead[:5], again[:5], strict=True):
        assert np.allclose(a, b)
    assert np.all((ahead.low < ahead.mean) & (ahead.mean < ahead.high))
    assert np.allclose((ahead.high - ahead.mean) / ahead.sd, 1.6448536269514722)
    belief = None
    for x, v in zip(X[:40], u[:40], strict=True):
        belief = model.update(belief, x, control=v)
    assert np.allclose(belief.mean, model.last_state_mean_)
    assert np.allclose(belief.cov, model.last_state_covariance_)
    assert np.allclose(model.update(belief, control=u[40]).mean, ahead.state_mean[0])


def test_sequences_of_every_kind(rng):
    X = rng.normal(size=(30, 2))
    both = KalmanFilter().filter_smooth(X)
    assert np.array_equal(both[0].means, KalmanFilter().filter(X).means)
    assert np.array_equal(both[1].covs, KalmanFilter().smooth(X).covs)
    a = KalmanFilter().fit(X, lengths=[10, 20])
    b = KalmanFilter().fit([X[:10], X[10:]])
    assert a.log_likelihood_ == b.log_likelihood_
    assert a.score(X, [10, 20]) == pytest.approx(a.log_likelihood_)
    short = np.concatenate([MATRICES["transition_matrices"][None]] * 29)
    one = KalmanFilter(**MATRICES | {"transition_matrices": short}).filter(X)
    assert np.allclose(one.means, KalmanFilter(**MATRICES).filter(X).means)


BAD = {
    "is not positive semi-definite": {"observation_covariance": np.diag([1.0, -1.0])},
    "is not symmetric": {"transition_covariance": np.array([[1.0, 0.5], [0.0, 1.0]])},
    "transition_matrices has shape": {"transition_matrices": np.ones((2, 3))},
    "initial_state_mean has shape": {
        "transition_matrices": np.eye(2),
        "initial_state_mean": np.zeros(3),
    },
    "X has 2 columns, but n_dim_obs": {"n_dim_obs": 3},
    "entries in time": {"transition_matrices": np.ones((5, 2, 2))},
    "contains NaN": {"observation_matrices": np.full((2, 2), np.nan)},
    "dimensions": {"initial_state_covariance": np.ones((3, 2, 2))},
    "inside the unit circle": {"start": "stationary"},
    "cannot be learned": {"transition_covariance": np.ones((20, 2, 2))},
    "leaves no initial_state": {"start": "diffuse", "em_vars": ["initial_state_mean"]},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_parameters_are_named(message):
    X = np.arange(40.0).reshape(20, 2)
    with pytest.raises(ValueError, match=message):
        KalmanFilter(**{"method": "ml"} | BAD[message]).fit(X)


def test_defined_answers():
    with pytest.raises(ParameterError, match="em_vars"):
        KalmanFilter(em_vars=["everything"]).fit(np.zeros((3, 1)))
    with pytest.raises(ValueError, match='use method="ml"'):
        KalmanFilter(transition_matrices=0.5, start="stationary").fit(np.zeros((3, 1)))
    unseen = KalmanFilter(
        transition_matrices=1e60, observation_matrices=[[0.0]], n_dim_obs=1
    )
    with pytest.raises(ValueError, match="overflows at row"):
        unseen.filter(np.zeros((40, 1)))
    grown = KalmanFilter(transition_matrices=3.0).smooth(np.zeros((500, 1)))
    assert np.isfinite(grown.covs).all()
    nothing = KalmanFilter().fit(np.full((4, 1), np.nan))
    assert nothing.log_likelihood_ == 0.0
    with pytest.raises(ValueError, match="level"):
        KalmanFilter(method=None).fit(np.zeros((4, 1))).forecast(2, level=2)
    with pytest.raises(ValueError, match="control must"):
        KalmanFilter().fit(np.zeros((4, 1)), control=np.zeros((3, 1)))
    exact = KalmanFilter(transition_covariance=0.0, observation_covariance=0.0)
    assert exact.score([[1.0], [1.0]]) > -np.inf  # the state is seen exactly
    assert exact.score([[1.0], [2.0]]) == -np.inf  # and then cannot move


def test_a_very_wide_start_loses_no_digits(rng):
    """Variances of 10^9 beside noise of 1: smoothed moments as from the exact start."""
    p = made(5, 3, 1)._replace(c=np.zeros(3), d=np.zeros(1), m=np.zeros(3))
    X, ends = rng.normal(size=(60, 1)), np.array([30, 60])
    wide = p._replace(P=1e9 * np.eye(3)).model(60)
    exact = p._replace(start="diffuse").model(60)
    a, b = (run_smoother(run_filter(m, X, ends), keep=True) for m in (wide, exact))
    assert len(a.lags) > 2
    assert np.linalg.eigvalsh(a.covs).min() > 0
    assert np.allclose(a.mean, b.mean, rtol=1e-5, atol=1e-5)
    assert np.allclose(a.covs, b.covs, rtol=1e-5, atol=1e-5)
    moments = [transition_moments(back, None).yw for back in (a, b)]
    assert np.allclose(*moments, rtol=1e-5, atol=1e-4)
