"""Log probabilities, marginals and means of rows against the whole joint."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings

from pansophy.graphical import (
    BayesianNetwork,
    ConditionalLinearGaussian,
    LinearGaussian,
)
from pansophy.graphical.inference.row_inference import (
    complete_row_log_prob,
    fill_missing,
    incomplete_columns,
    missing_row_patterns,
    normal_row_means,
    observed_rows,
    row_evidence,
    row_log_prob,
    row_marginals,
    row_means,
    row_probabilities,
)
from tests.graphical.small_networks import made, small_networks
from tests.oracles import networks as slow

NAN = np.nan


def random_rows(rng, sizes, n=12, missing=0.4):
    A = np.column_stack([rng.integers(0, s, n) for s in sizes]).astype(float)
    A[rng.random(A.shape) < missing] = NAN
    A[0] = NAN  # nothing is known
    A[1] = [rng.integers(0, s) for s in sizes]  # all is known
    return A


@settings(max_examples=10)
@given(small_networks())
def test_discrete_rows(network):
    rng, parents, sizes, tables = network
    model = made(parents, sizes, tables)
    joint = slow.joint(parents, tables, sizes)
    A = random_rows(rng, sizes)
    d = len(sizes)
    got = row_log_prob(model, model._engine(), A)
    marginals = row_marginals(model, model._engine(), A, list(range(d)))
    for r, row in enumerate(A):
        evidence = {j: int(row[j]) for j in range(d) if not np.isnan(row[j])}
        for j in range(d):
            table, total = slow.posterior(joint, [j], evidence)
            np.testing.assert_allclose(marginals[j][r], table, rtol=1e-9, atol=1e-12)
        assert got[r] == pytest.approx(np.log(total), rel=1e-9, abs=1e-9)


def test_complete_rows_are_a_sum_over_nodes():
    model = BayesianNetwork.from_tables(
        {"a": [0.3, 0.7], "b | a": [[0.9, 0.1], [0, 1]]}
    )
    A = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    with np.errstate(divide="ignore"):
        want = np.log([0.3 * 0.1, 0.7, 0.0])
    np.testing.assert_allclose(complete_row_log_prob(model, A), want, rtol=1e-12)
    got = row_log_prob(model, model._engine(), A)
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_patterns_share_their_rows():
    A = np.array([[1.0, NAN], [1.0, 2.0], [3.0, NAN], [NAN, NAN]])
    found = {tuple(m): rows.tolist() for m, rows in missing_row_patterns(A)}
    assert found == {(False, True): [0, 2], (False, False): [1], (True, True): [3]}
    assert incomplete_columns(A) == [0, 1] and incomplete_columns(A[1:2]) == []


CHAIN = BayesianNetwork.from_tables(
    {
        "rain": [0.8, 0.2],
        "wet | rain": [[0.9, 0.1], [0.0, 1.0]],
    },
    states={"rain": ["no", "yes"], "wet": ["dry", "wet"]},
)


def test_most_probable_states_fill_gaps():
    frame = pd.DataFrame({"rain": [None, None, "no"], "wet": ["dry", "wet", None]})
    filled = fill_missing(CHAIN, CHAIN._engine(), frame)
    assert isinstance(filled, pd.DataFrame)
    assert filled["rain"].tolist() == ["no", "yes", "no"]  # 0.2 against 0.08
    assert filled["wet"].tolist() == ["dry", "wet", "dry"]
    assert frame["rain"].isna().sum() == 2  # the table given stays


def test_probabilities_by_name():
    engine = CHAIN._engine()
    frame = {"rain": [None, "yes"], "wet": ["wet", "wet"]}
    got = row_probabilities(CHAIN, engine, frame)
    assert list(got) == ["rain"]  # only what is missing somewhere
    np.testing.assert_allclose(
        got["rain"], [[0.08 / 0.28, 0.2 / 0.28], [0, 1]], rtol=1e-12
    )
    asked = row_probabilities(CHAIN, engine, frame, ["wet"])
    np.testing.assert_allclose(asked["wet"], [[0, 1], [0, 1]], atol=1e-15)


def test_columns_that_are_not_evidence_are_hidden():
    model = BayesianNetwork.from_tables(
        {"a": [0.3, 0.7], "b | a": [[0.9, 0.1], [0.2, 0.8]]}, evidence=["b"]
    )
    A = observed_rows(model, {"a": [0, 1], "b": [1, 0]})
    assert np.isnan(A[:, 0]).all() and A[:, 1].tolist() == [1.0, 0.0]
    everything = BayesianNetwork.from_tables(
        {"a": [0.3, 0.7], "b | a": [[0.9, 0.1], [0.2, 0.8]]}
    )
    A = observed_rows(everything, {"a": [0, 1], "b": [1, None]})
    np.testing.assert_array_equal(A, [[0, 1], [1, NAN]])


def test_impossible_rows_are_named():
    model = BayesianNetwork.from_tables(
        {"a": [1.0, 0.0], "b | a": [[0.5, 0.5]] * 2, "c | a": [[0.5, 0.5]] * 2}
    )
    A = np.array([[0, NAN, 1], [0, NAN, 0], [1, NAN, 0]], float)
    with pytest.raises(ValueError, match="row 2 has probability 0"):
        row_marginals(model, model._engine(), A, [1])
    assert row_log_prob(model, model._engine(), A)[2] == -np.inf


GAUSSIAN = BayesianNetwork.from_tables(
    {
        "a": LinearGaussian(1.0, (), 2.0),
        "b | a": LinearGaussian(-1.0, [0.5], 1.0),
        "c | a, b": LinearGaussian(0.0, [2.0, -1.0], 0.5),
    }
)


def gaussian_joint():
    """Mean and covariance of a, b and c, by hand from their equations."""
    noise = np.diag([2.0, 1.0, 0.5])
    W = np.array([[0.0, 0, 0], [0.5, 0, 0], [2.0, -1.0, 0]])
    G = np.linalg.inv(np.eye(3) - W)
    return G @ np.array([1.0, -1.0, 0.0]), G @ noise @ G.T


def test_gaussian_rows():
    m, S = gaussian_joint()
    A = np.array([[0.3, NAN, 2.0], [NAN, 1.0, 0.0], [NAN, NAN, NAN], [1.0, NAN, 1.0]])
    engine = GAUSSIAN._engine()
    log_prob = row_log_prob(GAUSSIAN, engine, A)
    means = row_means(GAUSSIAN, engine, A, [0, 1, 2])
    for r, row in enumerate(A):
        o = np.flatnonzero(~np.isnan(row))
        want = m.copy()
        if len(o):
            gain = S[:, o] @ np.linalg.inv(S[np.ix_(o, o)])
            want = m + gain @ (row[o] - m[o])
            law = scipy.stats.multivariate_normal(m[o], S[np.ix_(o, o)])
            assert log_prob[r] == pytest.approx(law.logpdf(row[o]), rel=1e-9)
        else:
            assert log_prob[r] == pytest.approx(0.0, abs=1e-12)
        got = [means[j][r] for j in range(3)]
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)  # one mean is 0
    hidden = normal_row_means(GAUSSIAN, A[[0, 3]], [0, 2], (1,))
    np.testing.assert_allclose(hidden[:, 0], means[1][[0, 3]], rtol=1e-12)
    with pytest.raises(ValueError, match="'b' is continuous and has no states"):
        row_probabilities(GAUSSIAN, engine, {"a": [0.3], "c": [2.0]}, ["b"])


MIXED = BayesianNetwork.from_tables(
    {
        "k": [0.3, 0.7],
        "a": LinearGaussian(1.0, (), 2.0),
        "b | k, a": ConditionalLinearGaussian(
            [0.0, 1.0], [[1.0], [2.0]], [1.0, 2.0], (0,)
        ),
    }
)


def test_mixed_rows():
    """b given k is normal with mean i_k + s_k and variance v_k + 2 s_k^2."""
    A = np.array([[NAN, NAN, 4.0], [1.0, NAN, 4.0], [NAN, 0.5, 4.0]])
    engine = MIXED._engine()
    prior, i, s, v = np.array([[0.3, 0.7], [0, 1], [1, 2], [1, 2]])
    law = scipy.stats.norm(i + s, np.sqrt(v + 2 * s**2))
    density = prior * law.pdf(4.0)
    log_prob = row_log_prob(MIXED, engine, A)
    assert log_prob[0] == pytest.approx(np.log(density.sum()), rel=1e-9)
    assert log_prob[1] == pytest.approx(np.log(density[1]), rel=1e-9)
    weights = row_marginals(MIXED, engine, A, [0])[0]
    np.testing.assert_allclose(weights[0], density / density.sum(), rtol=1e-9)
    np.testing.assert_allclose(weights[1], [0, 1])
    given_a = prior * scipy.stats.norm(i + s * 0.5, np.sqrt(v)).pdf(4.0)
    np.testing.assert_allclose(weights[2], given_a / given_a.sum(), rtol=1e-9)
    means = row_means(MIXED, engine, A, [1])[1]
    each = 1 + 2 * s / (v + 2 * s**2) * (4.0 - i - s)  # E(a | b, k)
    assert means[0] == pytest.approx(weights[0] @ each, rel=1e-9)
    assert means[1] == pytest.approx(each[1], rel=1e-9) and means[2] == 0.5


def test_evidence_of_a_row():
    got = row_evidence(MIXED.space, np.array([1.0, NAN, 2.5]), [0, 2])
    assert got == {0: 1, 2: 2.5} and isinstance(got[0], int)
