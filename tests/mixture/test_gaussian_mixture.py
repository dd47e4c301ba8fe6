"""GaussianMixture: worked numbers, parity with scikit-learn, every kind of rows."""

import math
import os
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import sklearn.mixture
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pansophy.core.arrays.rows import as_rows
from pansophy.core.loops import threads
from pansophy.distributions import Normal, natural_parameters
from pansophy.mixture import DegenerateWarning, GaussianMixture, gaussian_em
from pansophy.params import ParameterError
from tests.oracles.mixture import em_turn

SHAPES = ["full", "tied", "diag", "spherical"]
each_shape = pytest.mark.parametrize("shape", SHAPES)


def blobs(rng, n=600, d=3, k=3, spread=3.0):
    C = rng.normal(size=(k, d)) * spread
    return C[rng.integers(k, size=n)] + rng.normal(size=(n, d)) @ rng.normal(
        size=(d, d)
    )


def given_start(X, k, shape):
    d = X.shape[1]
    P = {"full": np.stack([np.eye(d)] * k), "tied": np.eye(d),
         "diag": np.ones((k, d)), "spherical": np.ones(k)}[shape]  # fmt: skip
    return {
        "weights_init": np.full(k, 1 / k),
        "means_init": X[:k].copy(),
        "precisions_init": P / 4,
        "covariance_type": shape,
    }


def fit(model, *args, **kwargs):
    """fit, not minding that it may not have settled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


# -- worked numbers


def on_the_line(variance, means, **more):
    """Two components on a line: a variance each, or a number that they share."""
    shared = np.ndim(variance) == 0
    return GaussianMixture(
        2,
        weights_init=[0.5, 0.5],
        means_init=np.reshape(means, (2, 1)),
        precisions_init=np.full((1, 1), 1 / variance) if shared else 1 / variance,
        covariance_type="tied" if shared else "full",
        reg_covar=0.0,
        tol=0.0,
        **more,
    )


FOUR = np.array([[0.0], [1.0], [4.0], [5.0]])


def test_two_components_worked_by_hand():
    """Log-likelihood, responsibilities, means and BIC of four points on a line."""
    one = np.ones((2, 1, 1))
    start = fit(on_the_line(one, [1, 4], max_iter=0), FOUR)
    assert start.lower_bound_ * 4 == pytest.approx(-7.425142, abs=1e-6)
    gamma = [0.999447, 0.989013, 0.010987, 0.000553]
    assert np.allclose(start.predict_proba(FOUR)[:, 0], gamma, atol=1e-6)
    model = fit(on_the_line(one, [1, 4], max_iter=2), FOUR)
    numbers = [-5.735514, -5.675754]
    assert np.allclose(np.array(model.lower_bounds_) * 4, numbers, atol=1e-6)
    assert np.allclose(model.means_[:, 0], [0.5, 4.5], atol=1e-4)
    assert model.bic(FOUR) == pytest.approx(18.282980, abs=1e-3)
    start = fit(on_the_line(one, [0, 5], max_iter=0), FOUR)
    assert start.lower_bound_ * 4 == pytest.approx(-7.4472295, abs=1e-7)
    model = fit(on_the_line(one, [0, 5], max_iter=1), FOUR)
    assert model.lower_bound_ * 4 == pytest.approx(-5.6759364, abs=1e-7)
    assert np.allclose(model.means_[:, 0], [0.5008385, 4.4991615], atol=1e-7)
    assert np.allclose(model.covariances_, 0.2533532, atol=1e-7)


def test_shared_variance_worked_by_hand():
    """A shared variance; free numbers 2 means, 1 variance, 1 weight."""
    start = fit(on_the_line(4.25, [0.5, 4.5], max_iter=0), FOUR)
    assert start.lower_bound_ * 4 == pytest.approx(-8.8419542, abs=1e-7)
    gamma = [0.91316772, 0.80404413, 0.19595587, 0.08683228]
    assert np.allclose(start.predict_proba(FOUR)[:, 0], gamma, atol=1e-8)
    model = fit(on_the_line(4.25, [0.5, 4.5], max_iter=1), FOUR)
    assert model.lower_bound_ * 4 == pytest.approx(-8.1087405, abs=1e-7)
    assert np.allclose(model.means_[:, 0], [1.01101449, 3.98898551], atol=1e-8)
    assert model.covariances_[0, 0] == pytest.approx(2.03292214, abs=1e-8)
    best = fit(on_the_line(4.25, [0.5, 4.5], max_iter=200), FOUR)
    assert best.lower_bound_ * 4 == pytest.approx(-5.6757541, abs=1e-7)
    one = GaussianMixture(1, reg_covar=0.0).fit(FOUR)
    assert one.lower_bound_ * 4 == pytest.approx(-8.5695921, abs=1e-7)
    assert one.bic(FOUR) / -2 == pytest.approx(-9.9558865, abs=1e-7)


def test_free_parameters():
    """Numbers of free parameters by shape; three full components in the plane: 17."""
    X = np.random.default_rng(0).normal(size=(50, 4))
    for shape, free in zip(SHAPES, (30, 10, 12, 3), strict=True):
        model = fit(GaussianMixture(3, covariance_type=shape, random_state=0), X)
        assert model._n_parameters() == free + 12 + 2
    assert fit(GaussianMixture(3, random_state=0), X[:, :2])._n_parameters() == 17


def test_degenerate_component_is_held_up_and_reported(rng):
    """The likelihood of one point has no bound; reg_covar gives it one."""
    point = np.array([[1.0]])
    for s, value in [(1, 0.9189385), (0.1, -1.3836466), (0.001, -5.9888167)]:
        assert -Normal(1.0, s * s).log_prob(point)[0] == pytest.approx(value, abs=1e-7)
    X = np.concatenate([rng.normal(size=(30, 2)), [[50.0, 50.0]]])
    start = {"means_init": [[0.0, 0.0], [50.0, 50.0]], "max_iter": 5}
    with pytest.warns(DegenerateWarning, match=r"components \[1\]"):
        model = GaussianMixture(2, **start).fit(X)
    assert np.linalg.eigvalsh(model.covariances_).min() >= 1e-6 * (1 - 1e-9)
    # the first shapes are those of a k-means start, whose order is chance
    with pytest.raises(ValueError, match=r"component [01] is not positive definite"):
        fit(GaussianMixture(2, reg_covar=0.0, **start), X)


# -- one turn, and parity


@given(seed=st.integers(0, 1000))
def test_one_iteration_equals_the_oracle(seed):
    rng = np.random.default_rng(seed)
    X, w = blobs(rng, n=40, d=2), rng.uniform(0, 2, 40)
    model = GaussianMixture(3, max_iter=1, **given_start(X, 3, "full"))
    fit(model, X, sample_weight=w)
    loglik, W, M, C = em_turn(
        X, w, np.full(3, 1 / 3), X[:3], 4 * np.stack([np.eye(2)] * 3), 1e-6
    )
    assert np.allclose(model.weights_, W)
    assert np.allclose(model.means_, M)
    assert np.allclose(model.covariances_, C)
    start = GaussianMixture(3, max_iter=0, **given_start(X, 3, "full"))
    assert fit(start, X, sample_weight=w).lower_bound_ * w.sum() == pytest.approx(
        loglik
    )


@each_shape
def test_parity_with_scikit_learn(shape, rng):
    X = blobs(rng)
    # later iterations may pass a saddle, which makes any rounding grow
    how = {"max_iter": 5, "tol": 0.0, **given_start(X, 3, shape)}
    a = fit(GaussianMixture(3, **how), X)
    b = fit(sklearn.mixture.GaussianMixture(3, **how), X)
    for name in ("weights_", "means_", "covariances_", "precisions_",
                 "precisions_cholesky_"):  # fmt: skip
        x, y = getattr(a, name), getattr(b, name)
        assert x.shape == y.shape
        assert np.allclose(x, y, rtol=1e-8, atol=1e-8)
    assert np.allclose(a.lower_bounds_[:-1], b.lower_bounds_[1:], rtol=1e-9)
    assert np.allclose(a.score_samples(X), b.score_samples(X), rtol=1e-8)
    assert np.allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-8)
    assert np.array_equal(a.predict(X), b.predict(X))
    assert a.bic(X) == pytest.approx(b.bic(X), rel=1e-9)
    assert a.aic(X) == pytest.approx(b.aic(X), rel=1e-9)
    assert a.lower_bound_ == pytest.approx(a.score(X), rel=1e-10)


def test_parameters_and_attributes_are_scikit_learns(rng):
    ours, theirs = GaussianMixture(), sklearn.mixture.GaussianMixture()
    have = ours.get_params()
    assert {name: have[name] for name in theirs.get_params()} == theirs.get_params()
    X = blobs(rng, n=50)
    fitted = lambda m: {k for k in vars(fit(m, X)) if k.endswith("_")}
    assert fitted(theirs) <= fitted(ours)


@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data"])
@each_shape
def test_starts_find_the_blobs(init, shape):
    rng = np.random.default_rng(5)
    C = np.array([[0.0, 0], [12, 0], [0, 12]])
    X = C[np.arange(300) % 3] + rng.normal(size=(300, 2))
    model = GaussianMixture(
        3, covariance_type=shape, init_params=init, n_init=8, max_iter=300, tol=1e-6,
        random_state=1,
    )  # fmt: skip
    model = fit(model, X)
    if (init, shape) != ("random", "tied"):  # which stays on its symmetric plateau
        order = np.lexsort(model.means_.round().T)
        assert np.allclose(model.means_[order], C[np.lexsort(C.T)], atol=0.5)
    again = fit(GaussianMixture(**model.get_params()), X)
    assert np.array_equal(model.means_, again.means_)


@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random_from_data"])
def test_weights_are_repetitions(init, rng):
    X, w = blobs(rng, n=120), rng.integers(0, 4, 120)
    how = {"init_params": init, "random_state": 3, "max_iter": 30}
    a = fit(GaussianMixture(3, **how), X, sample_weight=w)
    b = fit(GaussianMixture(3, **how), np.repeat(X, w, axis=0))
    assert np.allclose(a.means_, b.means_, rtol=1e-9)
    assert np.allclose(a.covariances_, b.covariances_, rtol=1e-7)
    assert a.lower_bound_ == pytest.approx(b.lower_bound_, rel=1e-10)


# -- invariances


@given(seed=st.integers(0, 1000), shape=st.sampled_from(["full", "tied"]))
def test_affine_maps_move_the_model_along(seed, shape):
    rng = np.random.default_rng(seed)
    X, A = blobs(rng, n=80, d=2), rng.normal(size=(2, 2)) + 2 * np.eye(2)
    b = rng.normal(size=2) * 100
    how = {"covariance_type": shape, "reg_covar": 0.0, "max_iter": 3}
    M, P = X[:2], np.eye(2) / 4
    Q = np.linalg.inv(A).T @ P @ np.linalg.inv(A)
    stack = (lambda m: np.stack([m] * 2)) if shape == "full" else (lambda m: m)
    W = [0.5, 0.5]
    one = GaussianMixture(
        2, weights_init=W, means_init=M, precisions_init=stack(P), **how
    )
    two = GaussianMixture(
        2,
        weights_init=W,
        means_init=M @ A.T + b,
        precisions_init=stack((Q + Q.T) / 2),
        **how,
    )
    fit(one, X), fit(two, X @ A.T + b)
    assert np.allclose(one.means_ @ A.T + b, two.means_, rtol=1e-6, atol=1e-6)
    assert np.allclose(
        A @ one.covariances_ @ A.T, two.covariances_, rtol=1e-5, atol=1e-6
    )


def test_permuting_components_changes_nothing(rng):
    X = blobs(rng, n=100)
    model = fit(GaussianMixture(3, random_state=0), X)
    other = fit(GaussianMixture(3, random_state=0), X)
    p = [2, 0, 1]
    for name in ("weights_", "means_", "covariances_"):
        setattr(other, name, getattr(model, name)[p])
    assert np.allclose(model.score_samples(X), other.score_samples(X))
    assert np.allclose(model.predict_proba(X)[:, p], other.predict_proba(X))


def test_same_result_for_any_number_of_threads(rng, monkeypatch):
    X = blobs(rng, n=50_000, d=8)
    got = []
    for count in (1, 2, 3):
        monkeypatch.setattr(threads, "available_threads", lambda count=count: count)
        got.append(fit(GaussianMixture(3, max_iter=3, **given_start(X, 3, "full")), X))
    assert np.array_equal(got[0].means_, got[1].means_)
    assert np.array_equal(got[0].covariances_, got[2].covariances_)


@each_shape
def test_matrix_products_and_direct_e_steps_agree(shape, rng, monkeypatch):
    """The two ways of an E-step; the guard picks the careful one for tight clusters."""
    X, w = blobs(rng, n=700, d=4), rng.random(700)
    data = gaussian_em.em_data_from_rows(as_rows(X, w), shape, w.sum())
    p = fit(GaussianMixture(3, max_iter=2, **given_start(X, 3, shape)), X)._params()
    quick = gaussian_em.e_step(data, p)
    monkeypatch.setattr(natural_parameters, "ERROR", -1.0)
    careful = gaussian_em.e_step(data, p)
    assert quick[1] == pytest.approx(careful[1], rel=1e-12)
    for name in ("weight", "mean", "scatter"):
        a, b = getattr(quick[0], name), getattr(careful[0], name)
        assert np.allclose(a, b, rtol=1e-9, atol=1e-9)


def test_tight_clusters_far_apart_keep_their_digits(rng):
    """Clusters of size 1e-4 at distance 1e4: terms of 1e16 would leave nothing."""
    z = rng.integers(2, size=200)
    X = np.array([[0.0, 0], [1e4, 1e4]])[z] + 1e-4 * rng.normal(size=(200, 2))
    how = {"reg_covar": 0.0, "random_state": 0, "max_iter": 4}
    a = fit(GaussianMixture(2, **how), X)
    b = fit(sklearn.mixture.GaussianMixture(2, **how), X)
    assert a.score(X) == pytest.approx(b.score(X), rel=1e-8)


# -- other kinds of rows


@each_shape
def test_torch_tensors_stay_tensors(shape, rng):
    torch = pytest.importorskip("torch")
    X, w = blobs(rng, n=300), rng.random(300)
    how = {"max_iter": 5, **given_start(X, 3, shape)}
    a = fit(GaussianMixture(3, **how), X, sample_weight=w)
    T = torch.asarray(X)
    b = fit(GaussianMixture(3, **how), T, sample_weight=torch.asarray(w))
    assert isinstance(b.means_, torch.Tensor)
    assert np.allclose(a.means_, b.means_, rtol=1e-9)
    assert np.allclose(a.covariances_, b.covariances_, rtol=1e-9)
    assert isinstance(b.score_samples(T), torch.Tensor)
    assert np.allclose(a.score_samples(X), b.score_samples(T))
    assert np.array_equal(a.predict(X), b.predict(T))
    draws, z = b.sample(5)
    assert isinstance(draws, torch.Tensor)
    assert len(z) == 5
    c = fit(GaussianMixture(3, covariance_type=shape, random_state=0), T)
    assert c.score(T) > -math.inf
    tiny = T * 1e-4 + torch.arange(300)[:, None] % 2 * 1e4  # the careful way
    fit(
        GaussianMixture(2, covariance_type=shape, random_state=0, reg_covar=1e-12), tiny
    )


def test_float32_stays_float32(rng):
    X = blobs(rng).astype(np.float32)
    model = fit(GaussianMixture(3, random_state=0), X)
    assert model.means_.dtype == model.covariances_.dtype == np.float32
    assert model.predict_proba(X).dtype == np.float32
    double = fit(GaussianMixture(3, random_state=0), X.astype(float))
    assert np.allclose(model.means_, double.means_, atol=1e-4)


def write_parquet(path, X, **more):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})
    pq.write_table(table, path, **more)
    return path


@each_shape
def test_parquet_equals_array(shape, rng, tmp_path):
    X = blobs(rng, n=5000)
    path = write_parquet(tmp_path / "rows.parquet", X, row_group_size=700)
    how = {"covariance_type": shape, "random_state": 0, "max_iter": 20}
    a, b = fit(GaussianMixture(3, **how), X), fit(GaussianMixture(3, **how), str(path))
    assert np.allclose(a.means_, b.means_, rtol=1e-10)
    assert np.allclose(a.covariances_, b.covariances_, rtol=1e-10)
    assert np.allclose(a.score_samples(X), b.score_samples(path))
    assert np.array_equal(a.predict(X), b.predict(path))
    w = rng.random(5000)
    a, b = (fit(GaussianMixture(2, **how), Z, sample_weight=w) for Z in (X, path))
    assert np.allclose(a.means_, b.means_, rtol=1e-10)


LARGE = """
import resource, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
from pansophy.mixture import GaussianMixture
path, small, room = sys.argv[1:]
how = dict(random_state=0, max_iter=2, tol=0.0)
GaussianMixture(2, **how).fit(small)  # loads, compiles, starts the threads
def held(name):  # ru_maxrss would begin with what the parent held
    with open("/proc/self/status") as file:
        return 1024 * int(file.read().split(name)[1].split()[0])
before, data = held("VmHWM:"), held("VmData:")
resource.setrlimit(resource.RLIMIT_DATA, (data + int(room) * 2**20,) * 2)
model = GaussianMixture(2, **how).fit(path)
print(held("VmHWM:") - before, *model.means_[:, 0])
"""


def test_parquet_larger_than_the_memory_allowed(rng, tmp_path):
    """159 MB of rows, and 120 MB that the process may add to what it holds."""
    n, d = 520_000, 40
    C = rng.normal(size=(2, d)) * 3
    path = tmp_path / "large.parquet"
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(d)])
    with pq.ParquetWriter(
        path, schema, compression="none", use_dictionary=False
    ) as out:
        for start in range(0, n, 20_000):
            X = C[rng.integers(2, size=20_000)] + rng.normal(size=(20_000, d))
            if start == 0:
                small = write_parquet(tmp_path / "small.parquet", X)
            out.write_table(pa.table(list(X.T), schema=schema))
    assert path.stat().st_size > 155 * 2**20
    script = [sys.executable, "-c", textwrap.dedent(LARGE)]
    # the first run is there to compile, on few rows: LLVM is large
    for words in ((small, small, "4096"), (path, small, "120")):
        run = subprocess.run(
            [*script, *map(str, words)], capture_output=True, text=True, check=False,
            # stacks and heaps of threads count too, whoever made them
            env={**os.environ, "OMP_NUM_THREADS": "2", "MALLOC_ARENA_MAX": "2",
                 "ARROW_DEFAULT_MEMORY_POOL": "system"},
        )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    grown, *means = map(float, run.stdout.split())
    assert grown < 120 * 2**20
    assert np.allclose(sorted(means), sorted(C[:, 0]), atol=0.05)


# -- the rest of the interface


def test_warm_start_goes_on(rng):
    X = blobs(rng, n=200)
    how = {"tol": 0.0, "random_state": 0}
    whole = fit(GaussianMixture(3, max_iter=8, **how), X)
    model = GaussianMixture(3, max_iter=4, warm_start=True, **how)
    fit(fit(model, X) and model, X)
    assert np.allclose(model.means_, whole.means_, rtol=1e-9)


def test_sample(rng):
    X = blobs(rng, n=500)
    model = fit(GaussianMixture(3, random_state=0), X)
    draws, z = model.sample(20_000)
    assert np.all(np.diff(z) >= 0)
    assert np.allclose(np.bincount(z) / 20_000, model.weights_, atol=0.02)
    assert np.allclose(draws[z == 1].mean(0), model.means_[1], atol=0.2)
    assert np.allclose(
        np.cov(draws[z == 1].T), model.covariances_[1], rtol=0.2, atol=0.2
    )
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(0)


def test_verbose_two_prints_iterations(rng, capsys):
    X = blobs(rng, n=60)
    fit(GaussianMixture(2, verbose=2, verbose_interval=2, max_iter=4, tol=0.0), X)
    out = capsys.readouterr().out
    assert "iteration 2: mean log-likelihood" in out
    assert "iteration 3:" not in out


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"covariance_type": "round"}, "covariance_type"),
        ({"weights_init": [0.5, 0.4]}, "as weights_init"),
        ({"means_init": np.zeros((2, 5))}, r"shape of \(2, 3\)"),
        ({"precisions_init": -np.stack([np.eye(3)] * 2)}, "positive-definite"),
        ({"covariance_type": "diag", "precisions_init": np.zeros((2, 3))}, "positive"),
        ({"n_components": 99}, "n_components = 99"),
        ({"reg_covar": -1}, "reg_covar"),
    ],
)
def test_bad_parameters_are_named(params, match, rng):
    X = blobs(rng, n=30)
    with pytest.raises((ParameterError, ValueError), match=match):
        GaussianMixture(**{"n_components": 2, **params}).fit(X)


def test_fewer_distinct_rows_than_components():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 5, axis=0)
    model = fit(GaussianMixture(3, random_state=0), X)
    assert np.isfinite(model.score(X))


def test_lost_components_are_told():
    """Hard assignment can empty a component: no fit ends so without a word."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    lost = 0
    for seed in range(6):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            how = {"hard": True, "init_params": "random", "random_state": seed}
            model = GaussianMixture(8, **how).fit(X)
        empty = 8 - len(np.unique(model.predict(X)))
        said = any("have lost all rows" in str(w.message) for w in told)
        assert said == (empty > 0)
        lost += empty > 0
    assert lost


def test_columns_of_scales_far_apart():
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1e-160, 1.0, 1e100]
    model = GaussianMixture(2, random_state=0).fit(X)
    assert np.isfinite(model.score_samples(X)).all()


def test_what_a_mixture_says_of_its_fit(rng):
    X = blobs(rng, n=60)
    with pytest.warns(ConvergenceWarning, match="initialization did not converge"):
        GaussianMixture(3, max_iter=1, tol=0, random_state=0).fit(X)
    with pytest.raises(ValueError, match="ill-defined empirical covariance") as said:
        GaussianMixture(2, reg_covar=0).fit(np.ones((10, 2)))
    assert "component 0 is not positive definite" in str(said.value)
    model = fit(GaussianMixture(1), X)
    with pytest.raises(ParameterError, match="Invalid value for 'n_samples'"):
        model.sample(0)
