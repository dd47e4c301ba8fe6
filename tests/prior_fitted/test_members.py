"""Members: maps of columns, samples of rows, shares of columns, codes of classes."""

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import norm

from pansophy.prior_fitted.members import (
    average_classes,
    average_distributions,
    deal_columns,
    draw_groups,
    draw_view,
    excess_chi_squared,
    member_outputs,
    normal_scores,
    permuted_levels,
    read_training_rows,
    stratified_sample,
)
from pansophy.prior_fitted.pretrained import load_pretrained
from pansophy.prior_fitted.targets import encode_targets

from .tiny_network import write_random_network


def test_normal_scores_are_quantiles_of_mid_ranks():
    x = np.array([5.0, 1.0, 1.0, np.nan, 100.0])
    scores = normal_scores(x).apply(x)
    np.testing.assert_allclose(norm.cdf(scores[[1, 0, 4]]), [0.25, 0.625, 0.875])
    assert np.isnan(scores[3])
    many = np.random.default_rng(0).exponential(size=3000)
    mapping = normal_scores(many)
    assert len(mapping.values) < 300
    ranks = norm.cdf(mapping.apply(many))
    assert np.abs(np.sort(ranks) - (np.arange(3000) + 0.5) / 3000).max() < 0.005


def test_levels_are_permuted_and_missing_stays_missing():
    x = np.array([0.0, 3.0, 1.0, np.nan, 3.0])
    mapped = permuted_levels(x, np.random.default_rng(1)).apply(x)
    assert sorted({*mapped[~np.isnan(mapped)]}) == [0, 1, 3]
    assert mapped[1] == mapped[4]
    assert np.isnan(mapped[3])


def test_a_column_without_a_known_value_has_maps_too():
    x = np.full(4, np.nan)
    for mapping in normal_scores(x), permuted_levels(x, np.random.default_rng(0)):
        assert np.isnan(mapping.apply(x)).all()


def test_samples_have_every_stratum_and_follow_weights():
    rng = np.random.default_rng(0)
    strata = np.repeat([0, 1, 2], [60, 30, 10])
    drawn = stratified_sample(rng, strata, 20)
    np.testing.assert_array_equal(np.bincount(strata[drawn]), [12, 6, 2])
    assert len(set(drawn)) == 20
    w = np.r_[np.zeros(50), np.ones(40), np.full(10, 4.0)]
    counts = np.bincount(stratified_sample(rng, strata, 160, w), minlength=100)
    assert not counts[:50].any()
    assert (counts[50:90] == 2).all()
    assert (counts[90:] == 8).all()


def test_association_finds_what_depends():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    noise = rng.standard_normal(400)
    with_gaps = np.where(rng.random(400) < 0.4, np.nan, noise)
    codes = np.array([4.0, 0.0, 2.0])[y]
    assert abs(excess_chi_squared(noise, y, False)) < 60
    assert abs(excess_chi_squared(with_gaps, y, False)) < 60
    assert excess_chi_squared(y + noise / 2, y, False) > 200
    assert excess_chi_squared(codes, y, True) > 700
    missing_tells = np.where(y == 1, np.nan, noise)
    assert excess_chi_squared(missing_tells, y, False) > 200


def test_columns_are_dealt_so_that_all_are_read():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 20))
    y = (X[:, 7] > 0) * 1
    shares = deal_columns(rng, X, y, np.zeros(20, bool), 4, 8)
    assert all(len(share) == len(set(share)) == 8 for share in shares)
    assert all(7 in share for share in shares)
    assert set(np.concatenate(shares)) == set(range(20))
    few = deal_columns(rng, X, y, np.zeros(20, bool), 2, 20)
    np.testing.assert_array_equal(few, [np.arange(20)] * 2)


@pytest.mark.parametrize(("n_classes", "n_outputs"), [(3, 10), (26, 10), (7, 4)])
def test_probabilities_come_back_from_codes(n_classes, n_outputs):
    rng = np.random.default_rng(2)
    P = rng.dirichlet(np.full(n_classes, 0.5), 6)
    groups = [draw_groups(rng, n_classes, n_outputs) for _ in range(30)]
    for g in groups:
        assert np.ptp(np.bincount(g, minlength=min(n_classes, n_outputs))) <= 1
    logits = []
    for g in groups:
        q = np.zeros((6, n_outputs))
        np.add.at(q.T, g, P.T)
        logits.append(np.log(q + 1e-12))
    answer = average_classes(logits, groups, n_classes)
    np.testing.assert_allclose(answer.sum(axis=1), 1)
    if n_classes <= n_outputs:  # sharpened
        P = P ** (1 / 0.9)
        P /= P.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(answer, P, atol=0.02 if n_classes > n_outputs else 1e-5)


def test_classes_within_the_head_are_a_mean_of_logs():
    rng = np.random.default_rng(0)
    logits = [rng.standard_normal((2, 10)) for _ in range(2)]
    groups = [np.array([1, 0, 2]), np.array([2, 1, 0])]
    logs = [log_softmax(z[:, :3], axis=1)[:, g] for z, g in zip(logits, groups)]
    mean = np.exp(np.mean(logs, axis=0) / 0.9)
    expected = mean / mean.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(average_classes(logits, groups, 3), expected)


def test_distributions_on_different_grids_are_mixed():
    logits = [np.zeros((1, 3)), np.log([[0.2, 0.3, 0.5]])]
    grid, masses = average_distributions(logits, [np.arange(3.0), np.arange(3.0) + 10])
    np.testing.assert_allclose(grid, [0, 1, 2, 10, 11, 12])
    np.testing.assert_allclose(masses.sum(), 1)
    np.testing.assert_allclose(masses @ grid, [(1 + 11.3) / 2])
    grid, masses = average_distributions(logits, [np.arange(3.0)] * 2)
    np.testing.assert_allclose(masses, [[4 / 15, 19 / 60, 5 / 12]])


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "w.safetensors"
    write_random_network(path)
    return load_pretrained(path)


def test_torch_answers_as_numpy_does(network):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3)).astype(np.float32)
    targets, _, _ = encode_targets(rng.integers(0, 3, (1, 30)), 3)
    view = draw_view(rng, X, np.array([True, False, False]), np.arange(3), None, True)
    answers = [
        member_outputs(
            network,
            read_training_rows(network, view, X, targets, device=device),
            X,
            device,
        )
        for device in (None, "cpu")
    ]
    np.testing.assert_allclose(*answers, atol=2e-3)  # the memory is float16


def test_kept_rows_answer_as_their_memory_does(network):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 4)).astype(np.float32)
    targets, _, _ = encode_targets(rng.integers(0, 2, (1, 25)), 2)
    view = draw_view(rng, X, np.zeros(4, bool), np.array([0, 2]), None, False)
    members = [
        read_training_rows(network, view, X, targets, keep_rows=keep)
        for keep in (False, True)
    ]
    assert members[1].memory == ()
    answers = [member_outputs(network, member, X[:5]) for member in members]
    np.testing.assert_array_equal(*answers)
