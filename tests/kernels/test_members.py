"""Kernels by their own formulas: worked numbers, parity, sequences, given ones."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from pansophy import kernels as K
from pansophy.kernels import RBF, Linear, check_psd, get_kernel


@pytest.fixture
def rows(rng):
    return rng.standard_normal((12, 3)), rng.standard_normal((9, 3))


# --- histograms -------------------------------------------------------------------


@pytest.mark.parametrize("k", K.HISTOGRAM_KERNELS, ids=str)
def test_histogram_kernels(k, rng):
    X, Z = rng.random((15, 4)), rng.random((8, 4))
    X[0] = 0
    Z[0] = 0
    gram = k(X)
    assert check_psd(gram).psd
    np.testing.assert_allclose(k.diag(X), np.diagonal(gram))
    np.testing.assert_allclose(k(X, X), gram, atol=1e-12)
    V = rng.standard_normal(8)
    np.testing.assert_allclose(k.matmul(X, Z, V), k(X, Z) @ V)
    for i in range(len(k.theta)):
        step = 1e-5 * np.eye(len(k.theta))[i]
        up, down = (k.with_theta(k.theta + s)(X, Z) for s in (step, -step))
        np.testing.assert_allclose(
            k.gradient(X, Z)[i], (up - down) / 2e-5, rtol=1e-6, atol=1e-9
        )
    with pytest.raises(ValueError, match="numbers of at least 0"):
        k(X - 1)


def test_chi_squared_is_scikit_learns(rng):
    X, Z = rng.random((10, 4)), rng.random((6, 4))
    Z[0] = X[0] = 0
    ours = K.ChiSquared(0.3)(X, Z)
    np.testing.assert_allclose(ours, pairwise.chi2_kernel(X, Z, gamma=0.3))
    np.testing.assert_allclose(
        K.AdditiveChiSquared()(X, Z), pairwise.additive_chi2_kernel(X, Z)
    )
    with pytest.warns(K.IndefiniteKernelWarning):
        K.AdditiveChiSquared()(X)


def test_tanimoto_is_jaccards_index(rng):
    X = rng.integers(0, 2, (10, 6))
    X[0] = 0
    same = 1 - pairwise.pairwise_distances(X.astype(bool), metric="jaccard")
    np.testing.assert_allclose(K.Tanimoto()(X), same)
    np.testing.assert_allclose(K.Tanimoto()(sparse.csr_array(X.astype(float))), same)


# --- sequences --------------------------------------------------------------------

WORDS = ["banana", "ananas", "pear", "a", "", "panama", "bandana"]


def shared_parts(x, z, p):
    parts = lambda s: [s[i : i + p] for i in range(len(s) - p + 1)]
    return sum(a == b for a in parts(x) for b in parts(z))


def shared_subsequences(x, z, p, decay):
    total = 0.0
    for i, j in product(combinations(range(len(x)), p), combinations(range(len(z)), p)):
        if all(x[a] == z[b] for a, b in zip(i, j, strict=True)):
            total += decay ** (i[-1] - i[0] + 1 + j[-1] - j[0] + 1)
    return total


@pytest.mark.parametrize("p", [1, 2, 3])
def test_string_kernels_count_by_hand(p):
    slow = [[shared_parts(x, z, p) for z in WORDS] for x in WORDS]
    np.testing.assert_allclose(K.Spectrum(p, normalized=False)(WORDS), slow)
    slow = [[shared_subsequences(x, z, p, 0.6) for z in WORDS] for x in WORDS]
    k = K.Subsequence(p, normalized=False, decay=0.6)
    np.testing.assert_allclose(k(WORDS), slow, rtol=1e-12)
    blended = K.Spectrum(p, normalized=False, blended=True)(WORDS, WORDS)
    total = sum(K.Spectrum(q, normalized=False)(WORDS) for q in range(1, p + 1))
    np.testing.assert_allclose(blended, total)


@pytest.mark.parametrize("k", K.STRING_KERNELS, ids=str)
def test_string_kernels_obey_the_contract(k, rng):
    gram = k(WORDS)
    assert check_psd(gram).psd and not k.requires_vector_input
    np.testing.assert_allclose(k.diag(WORDS), np.diagonal(gram))
    np.testing.assert_allclose(k(WORDS, WORDS[:3]), gram[:, :3])
    V = rng.standard_normal((7, 2))
    np.testing.assert_allclose(k.matmul(WORDS, None, V), gram @ V)
    np.testing.assert_allclose(k.matmul(WORDS[:2], WORDS, V), gram[:2] @ V)
    step = k.contract(WORDS, None, np.ones((7, 7)))
    np.testing.assert_allclose(step, k.gradient(WORDS).sum(axis=(1, 2)))


def test_sequences_of_words():
    texts = [["the", "cat", "sat"], ("the", "cat", "ran")]
    assert K.Spectrum(2, normalized=False)(texts)[0, 1] == 1
    with pytest.raises(ValueError, match="list of sequences"):
        K.Spectrum(2)("banana")


# --- sums, products and interactions of columns -----------------------------------


def test_all_subsets_is_its_map(rng):
    for d in (1, 4, 10):
        X, Z = rng.standard_normal((5, d)), rng.standard_normal((4, d))
        phi = K.AllSubsets().features(X)
        assert phi.shape == (5, 2**d)
        np.testing.assert_allclose(
            phi @ K.AllSubsets().features(Z).T, K.AllSubsets()(X, Z)
        )


def test_additive_functions_have_components(rows, rng):
    X, Z = rows
    V = rng.standard_normal(9)
    k = K.Additive([RBF(0.5), Linear(), K.Matern()])
    parts = k.components(X, Z, V)
    np.testing.assert_allclose(parts.sum(axis=1), k(X, Z) @ V)
    np.testing.assert_allclose(parts[:, 1], X[:, 1] * (Z[:, 1] @ V))
    moved = X.copy()
    moved[:, 0] += 1  # a component sees its own column only
    np.testing.assert_allclose(k.components(moved, Z, V)[:, 1:], parts[:, 1:])


def test_gaussians_on_blocks_are_one_gaussian(rows):
    X, Z = rows
    k = K.Blocks([RBF(0.7), RBF(0.7)], [[0, 2], [1]])
    np.testing.assert_allclose(k(X, Z), RBF(0.7)(X, Z))


def test_anova_sums_over_sets_of_columns(rows):
    X, Z = rows
    k = RBF(0.8)
    one = [k(X[:, [j]], Z[:, [j]]) for j in range(3)]
    for degree in (1, 2, 3):
        slow = sum(
            np.prod([one[j] for j in s], axis=0) for s in combinations(range(3), degree)
        )
        np.testing.assert_allclose(K.Anova(k, degree)(X, Z), slow)
    np.testing.assert_allclose(K.Anova(k, 4)(X, Z), 0)


# --- the classes of the inventories -----------------------------------------------


def test_sigmoid_warns_where_it_is_no_kernel():
    x = np.array([[1.0], [2.0]])
    with pytest.warns(K.IndefiniteKernelWarning, match="least eigenvalue"):
        gram = K.Sigmoid()(x)
    assert np.linalg.det(gram) == pytest.approx(-0.1682658, abs=5e-8)
    with pytest.warns(K.IndefiniteKernelWarning):
        (2.0 * K.Sigmoid())(x)
    verdict = check_psd(K.Sigmoid(), x)
    assert not verdict.psd and verdict.minor == (0, 1)
    u, v = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])
    assert K.Sigmoid(0.1)(u, v).item() == pytest.approx(0.099668, abs=5e-7)


def test_sigmoid_gradient(rows):
    X, Z = rows
    for k in (K.Sigmoid(0.3, 0.2), K.Sigmoid(0.3, -0.2)):
        for i in range(len(k.theta)):
            step = 1e-5 * np.eye(len(k.theta))[i]
            up, down = (k.with_theta(k.theta + s)(X, Z) for s in (step, -step))
            np.testing.assert_allclose(
                k.gradient(X, Z)[i], (up - down) / 2e-5, atol=1e-8
            )


def test_periodic_functions_repeat(rng):
    X, x = rng.random((8, 1)) * 5, rng.random((4, 1)) * 5
    k = K.Periodic(0.7, 2 * np.pi / 3)
    V = rng.standard_normal(8)
    np.testing.assert_allclose(
        k.matmul(x, X, V), k.matmul(x + 2 * np.pi / 3, X, V), rtol=1e-10
    )
    circle = lambda A: np.hstack([np.sin(3 * A), np.cos(3 * A)])
    np.testing.assert_allclose(k(x, X), RBF(0.7)(circle(x), circle(X)))
    # the form with the sine alone is a kernel after a change of input
    faithful = RBF(width=0.7).on(lambda A: np.sin(3 * A))
    np.testing.assert_allclose(faithful(x, X), faithful(x + 2 * np.pi / 3, X))


def test_semi_parametric_functions_are_linear_far_away(rng):
    X = rng.standard_normal((10, 1))
    k = 2.0 * RBF(0.5) + 0.3 * Linear()
    V = rng.standard_normal(10)
    far = np.array([[50.0], [51.0], [52.0]])
    a, b, c = k.matmul(far, X, V)
    assert c - b == pytest.approx(b - a)


def test_truncated_gaussian_converges_and_stays_psd(rows):
    X = rows[0]
    gaps = []
    for order in (0, 1, 2, 5, 40):
        part = K.truncated_rbf(X, order=order)
        assert check_psd(part).psd
        gaps.append(np.abs(part - RBF()(X)).max())
    assert gaps[-1] < 1e-12 and sorted(gaps, reverse=True) == gaps


def test_centring(rng):
    X, Z = rng.standard_normal((9, 3)), rng.standard_normal((4, 3))
    gram = K.gram("linear", X)
    centred = K.center(gram)
    assert np.abs(centred.sum(axis=0)).max() < 1e-12
    np.testing.assert_allclose(K.center(centred), centred, atol=1e-12)
    mean = X.mean(axis=0)
    np.testing.assert_allclose(centred, (X - mean) @ (X - mean).T, atol=1e-12)
    np.testing.assert_allclose(
        K.center(Z @ X.T, gram), (Z - mean) @ (X - mean).T, atol=1e-12
    )
    with pytest.raises(ValueError, match="square training matrix"):
        K.center(gram[:3])


# --- functions, matrices, asymmetry -----------------------------------------------


def test_functions_as_kernels(rows):
    X, Z = rows
    row = K.FunctionKernel(lambda x, z: x @ z)
    many = K.FunctionKernel(lambda A, B: A @ B.T)
    for k in (row, many):
        np.testing.assert_allclose(k(X, Z), X @ Z.T)
        np.testing.assert_allclose(k(X), X @ X.T)
        np.testing.assert_allclose(k.diag(X), (X * X).sum(axis=1))
    with pytest.raises(ValueError, match="not symmetric"):
        K.FunctionKernel(lambda x, z: x[0] - z[0])(X)
    power = K.FunctionKernel(lambda x, z, p: (x @ z) ** p, params={"p": 2})
    np.testing.assert_allclose(power(X, Z), (X @ Z.T) ** 2)


def test_precomputed_is_addressed_by_number(rows):
    X, _ = rows
    k = K.Precomputed(RBF()(X))
    np.testing.assert_allclose(k(np.arange(12)[:, None]), RBF()(X))
    np.testing.assert_allclose(
        k.matmul([[3], [1]], np.arange(12)[:, None], X[:, 0]),
        RBF().matmul(X[[3, 1]], X, X[:, 0]),
    )
    for bad, words in (
        (np.ones((2, 3)), "square"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "not symmetric"),
    ):
        with pytest.raises(ValueError, match=words):
            K.Precomputed(bad)
    with pytest.raises(ValueError, match="from 0 to 11"):
        k([[12]], [[0]])


def test_asymmetric_kernels_have_two_maps(rows):
    X, Z = rows
    k = K.Asymmetric(RBF(), X)
    np.testing.assert_allclose(k(Z, X).sum(axis=1), 1)
    assert not k.is_symmetric(X) and K.Asymmetric(RBF()).is_symmetric(X)
    with pytest.raises(ValueError, match="symmetric"):
        check_psd(k(X))
    source, target = k.maps(X)
    np.testing.assert_allclose(source @ target.T, k(X), atol=1e-12)
    graph = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]])
    edges = K.Asymmetric(graph)
    nodes = np.arange(3)[:, None]
    np.testing.assert_array_equal(edges(nodes), graph)
    assert not edges.is_symmetric(nodes)
    difference = K.Asymmetric(lambda x, z: np.exp(x[0] - z[0]))
    assert not difference.is_symmetric(X)


# --- by name, from scikit-learn, sparse -------------------------------------------


@pytest.mark.parametrize(
    "name", ["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"]
)
def test_names_are_scikit_learns(name, rows):
    X, Z = rows
    options = {"gamma": 0.4, "degree": 2, "coef0": 0.3}
    theirs = pairwise.pairwise_kernels(X, Z, metric=name, filter_params=True, **options)
    np.testing.assert_allclose(get_kernel(name, **options)(X, Z), theirs, rtol=1e-9)
    if name not in ("linear", "cosine"):
        theirs = pairwise.pairwise_kernels(
            X, Z, metric=name, filter_params=True, coef0=1
        )
        ours = get_kernel(name, n_features=3, coef0=1)
        np.testing.assert_allclose(ours(X, Z), theirs, rtol=1e-9)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid", "cosine"])
def test_sparse_rows(name, rows, rng):
    X, Z = (np.where(np.abs(A) < 0.5, 0, A) for A in rows)
    k = get_kernel(name, gamma=0.3, degree=2, coef0=0.5)
    A, B = sparse.csr_array(X), sparse.csc_array(Z)
    V = rng.standard_normal(9)
    np.testing.assert_allclose(k(A, B), k(X, Z), atol=1e-12)
    np.testing.assert_allclose(k(A, Z), k(X, Z), atol=1e-12)
    np.testing.assert_allclose(k.diag(A), k.diag(X), atol=1e-12)
    np.testing.assert_allclose(k.matmul(A, B, V), k(X, Z) @ V, atol=1e-12)
    W = rng.standard_normal((12, 9))
    np.testing.assert_allclose(k.contract(A, B, W), k.contract(X, Z, W), atol=1e-9)
    with pytest.raises(TypeError, match="sparse"):
        K.Laplacian()(A)


def test_sparse_rows_with_one_length_scale_each(rows):
    X, Z = (np.where(np.abs(A) < 0.5, 0, A) for A in rows)
    k = 2.0 * K.Matern([0.5, 1.0, 2.0], 2.5) + K.White(0.1)
    A, B = sparse.csr_array(X), sparse.csr_array(Z)
    np.testing.assert_allclose(k(A, B), k(X, Z), atol=1e-12)
    np.testing.assert_allclose(
        k.contract(A, None, np.ones((12, 12))), k.contract(X, None, np.ones((12, 12)))
    )


THEIRS = [
    gp.ConstantKernel(2.0) * gp.RBF([0.5, 1.0, 2.0]) + gp.WhiteKernel(0.3),
    gp.Matern(0.7, nu=0.5) + gp.Matern(0.7, nu=1.5) * gp.Matern(0.9, nu=2.5),
    gp.Matern([0.5, 1.0, 2.0], nu=0.8) + gp.Matern(0.4, nu=np.inf),
    gp.RationalQuadratic(0.6, 1.3) ** 2,
    gp.DotProduct(1.5) + gp.PairwiseKernel(gamma=0.2, metric="laplacian"),
]


@pytest.mark.parametrize("theirs", THEIRS, ids=str)
def test_kernel_objects_of_scikit_learn(theirs, rows):
    X, Z = rows
    ours = K.from_sklearn(theirs)
    np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.diag(X), theirs.diag(X))
    assert get_kernel(theirs) == ours


def test_gradients_are_scikit_learns(rows):
    X = rows[0]
    for theirs in THEIRS[:2]:
        ours = K.from_sklearn(theirs)
        np.testing.assert_allclose(ours.theta, theirs.theta)
        grad = np.moveaxis(theirs(X, eval_gradient=True)[1], 2, 0)
        np.testing.assert_allclose(ours.gradient(X), grad, atol=1e-9)
        W = np.random.default_rng(1).standard_normal((12, 12))
        right = (W * grad).sum(axis=(1, 2))
        np.testing.assert_allclose(ours.contract(X, None, W), right, rtol=1e-9)


def test_fixed_bounds_and_refusals(rows):
    held = gp.RationalQuadratic(0.6, 1.3, alpha_bounds="fixed")
    assert K.from_sklearn(held).theta_names == ("length_scale",)
    assert len(K.from_sklearn(gp.RBF(0.5, "fixed")).theta) == 0
    sine = gp.ExpSineSquared(0.7, 1.9)
    ours = get_kernel(sine, n_features=1)
    x = rows[0][:, :1]
    np.testing.assert_allclose(ours(x), sine(x))
    np.testing.assert_allclose(
        ours.gradient(x), np.moveaxis(sine(x, eval_gradient=True)[1], 2, 0), atol=1e-9
    )

    class Own(gp.RBF):
        pass

    for bad, words in (
        (sine, "one column"),
        (gp.RBF() ** 0.5, "whole"),
        (gp.CompoundKernel([gp.RBF()]), "CompoundKernel has no counterpart"),
        (Own(), "Own has no counterpart"),
    ):
        with pytest.raises(ValueError, match=words):
            get_kernel(bad)
    with pytest.raises(ValueError, match="no parameter 'width' to fix"):
        RBF().fixed("width")


# --- traps ------------------------------------------------------------------------


def test_empty_and_narrow_input():
    k = 2.0 * RBF() + K.White()
    assert k(np.empty((0, 2)), np.ones((3, 2))).shape == (0, 3)
    assert k.matmul(np.ones((3, 2)), np.empty((0, 2)), np.empty(0)).tolist() == [0] * 3
    none = np.empty((2, 0))
    for member in (RBF(), K.Matern(), K.Laplacian(), K.RationalQuadratic()):
        np.testing.assert_array_equal(member(none, none), np.ones((2, 2)))
    with pytest.raises(ValueError, match="V of matmul must have 3 rows"):
        RBF().matmul(np.ones((2, 1)), np.ones((3, 1)), np.ones(2))
    with pytest.raises(ValueError, match="W of contract must be of shape"):
        RBF().contract(np.ones((2, 1)), None, np.ones(2))
    with pytest.raises(ValueError, match="kernel on column 5"):
        RBF().on(5)(np.ones((2, 3)))


def test_matern_of_any_order_at_equal_and_close_points():
    x = np.array([[0.0], [0.0], [1e-9], [1e-3], [50.0], [2000.0]])
    for nu in (0.3, 1.0, 3.7):
        gram = K.Matern(nu=nu)(x)
        assert np.isfinite(gram).all() and gram[0, 1] == pytest.approx(1)
        assert np.isfinite(K.Matern(nu=nu).gradient(x)).all()
    for nu in (0.5, 1.5, 2.5):  # the general formula meets the special ones
        near = K.Matern(nu=nu * (1 + 1e-9))(x)
        np.testing.assert_allclose(near, K.Matern(nu=nu)(x), atol=1e-6)


def test_threads_do_not_change_products(rng, monkeypatch):
    from pansophy.core import threads
    from pansophy.kernels import base

    monkeypatch.setattr(base, "WIDE", 16)
    X, V = rng.standard_normal((100, 3)), rng.standard_normal((100, 2))
    many = RBF().matmul(X, None, V), RBF().contract(X, None, (V, V))
    with threads.limit_threads(1):
        one = RBF().matmul(X, None, V), RBF().contract(X, None, (V, V))
    for a, b in zip(many, one, strict=True):
        np.testing.assert_array_equal(a, b)
