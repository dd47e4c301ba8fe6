"""Quality of generated samples: closed forms, identical sets, symmetry, weights."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from scipy.spatial.distance import cdist
from scipy.stats import binom

from pansophy.distributions import Normal, kl_gaussian
from pansophy.generative import (
    bits_per_dimension,
    classifier_two_sample_accuracy,
    frechet_distance,
    mmd,
    mode_coverage,
    precision_recall,
    sample_quality,
)
from pansophy.linear_model import LogisticRegression
from pansophy.neural_network import ConvClassifier


def correlated_normal(rng, d):
    root = rng.normal(size=(d, d))
    return rng.normal(size=d), root @ root.T + 0.1 * np.eye(d)


def test_frechet_of_two_normals_is_the_closed_form(rng):
    m1, S1 = correlated_normal(rng, 4)
    m2, S2 = correlated_normal(rng, 4)
    root = scipy.linalg.sqrtm(S1 @ S2).real
    by_hand = np.sum((m1 - m2) ** 2) + np.trace(S1 + S2 - 2 * root)
    p, q = Normal(m1, S1), Normal(m2, S2)
    assert frechet_distance(p, q) == pytest.approx(by_hand, rel=1e-9)
    assert frechet_distance(q, p) == pytest.approx(by_hand, rel=1e-9)
    assert frechet_distance(p, p) == 0
    assert kl_gaussian(p, q) > 0  # another divergence of the same two


def test_frechet_of_samples_is_that_of_their_moments(rng):
    X, Z = rng.normal(size=(60, 3)), rng.normal(size=(50, 3)) + 1
    p = Normal(X.mean(0), np.cov(X.T))
    q = Normal(Z.mean(0), np.cov(Z.T))
    assert frechet_distance(X, Z) == pytest.approx(frechet_distance(p, q), rel=1e-9)
    shift = np.array([1.0, -2.0, 0.5])  # the same covariance: the squared shift
    assert frechet_distance(X, X + shift) == pytest.approx(shift @ shift, rel=1e-9)
    wide = rng.normal(size=(10, 40))  # singular covariances
    assert frechet_distance(wide, wide) == 0
    assert frechet_distance(wide, 2 * wide) > 0


@pytest.mark.parametrize("measure", ["frechet", "mmd", "precision", "c2st"])
def test_identical_sets_are_perfect_and_measures_symmetric(measure, rng):
    X = rng.normal(size=(120, 3))
    Z = rng.normal(size=(120, 3)) + 0.7
    same = sample_quality(X, X.copy())
    perfect = {"frechet": 0.0, "mmd": 0.0, "precision": 1.0, "c2st": 0.5}
    assert same[measure] == perfect[measure]
    there, back = sample_quality(X, Z), sample_quality(Z, X)
    if measure == "precision":
        assert there["precision"] == back["recall"]
        assert there["recall"] == back["precision"]
    elif measure == "c2st":
        assert there["c2st"] == pytest.approx(back["c2st"], abs=0.1)
    else:
        assert there[measure] == pytest.approx(back[measure], rel=1e-9)


def test_weights_equal_repeated_rows(rng):
    X, Z = rng.normal(size=(40, 2)), rng.normal(size=(30, 2)) + 0.5
    w, v = rng.integers(1, 4, 40), rng.integers(1, 4, 30)
    XX, ZZ = np.repeat(X, w, axis=0), np.repeat(Z, v, axis=0)
    weights = {"real_weight": w, "fake_weight": v}
    assert frechet_distance(X, Z, **weights) == pytest.approx(
        frechet_distance(XX, ZZ), rel=1e-10
    )
    options = {"permutations": 0, "rows": None}
    found = mmd(X, Z, weight_x=w, weight_z=v, **options)
    again = mmd(XX, ZZ, **options)
    assert found.value == pytest.approx(again.value, rel=1e-9)
    assert found.length_scale == pytest.approx(again.length_scale, rel=1e-12)
    assert math.isnan(found.p)
    log_prob = rng.normal(size=40)
    assert bits_per_dimension(log_prob, 2, sample_weight=w) == pytest.approx(
        bits_per_dimension(np.repeat(log_prob, w), 2)
    )
    shares = precision_recall(X, 2 * Z, k=2, **weights)
    far = cdist(2 * Z, X)
    inside = far <= np.sort(cdist(X, X), axis=1)[:, 2]
    assert 0 < inside.any(1).mean() < 1
    assert shares.precision == pytest.approx(np.average(inside.any(1), weights=v))
    assert shares.coverage == pytest.approx(np.average(inside.any(0), weights=w))


def test_precision_and_recall_by_all_pairs(rng):
    X, Z = rng.normal(size=(50, 2)), 0.4 * rng.normal(size=(60, 2))
    k = 3
    radius = np.sort(cdist(X, X), axis=1)[:, k]
    inside = cdist(Z, X) <= radius
    back = cdist(X, Z) <= np.sort(cdist(Z, Z), axis=1)[:, k]
    found = precision_recall(X, Z, k=k)
    assert found.precision == pytest.approx(inside.any(1).mean())
    assert found.recall == pytest.approx(back.any(1).mean())
    assert found.density == pytest.approx(inside.sum(1).mean() / k)
    assert found.coverage == pytest.approx(inside.any(0).mean())
    assert found.recall < 0.8 < found.precision  # a narrow copy misses the tails
    wide = precision_recall(X, 10 * Z, k=k)
    assert wide.precision < found.precision
    one = precision_recall([[0.0]], [[0.0]])
    assert one.precision == one.recall == 1


def test_classifier_two_sample_accuracy_has_the_right_level_and_power(rng):
    pvalues = [
        classifier_two_sample_accuracy(
            rng.normal(size=(80, 2)),
            rng.normal(size=(80, 2)),
            classifier=LogisticRegression(),
            random_state=seed,
        ).pvalue
        for seed in range(60)
    ]
    # 60 p-values under the null: more than these with a chance of 1e-9
    assert np.sum(np.array(pvalues) < 0.2) <= binom.isf(1e-9, 60, 0.2)
    assert np.sum(np.array(pvalues) < 0.5) <= binom.isf(1e-9, 60, 0.5)
    assert np.any(np.array(pvalues) < 0.5)
    X = rng.normal(size=(400, 2))
    Z = rng.multivariate_normal([0, 0], [[1, 0.95], [0.95, 1]], 400)
    told = classifier_two_sample_accuracy(X, Z)
    assert told.accuracy > 0.65 and told.pvalue < 1e-6
    # unequal sizes: chance stays 1/2
    few = classifier_two_sample_accuracy(X, rng.normal(size=(40, 2)))
    assert abs(few.accuracy - 0.5) < 0.12
    equal = classifier_two_sample_accuracy(np.ones((5, 2)), np.ones((7, 2)))
    assert equal.accuracy == 0.5


def test_features_of_our_own_classifier(rng):
    images = rng.random((60, 6, 6))
    y = np.arange(60) % 3
    images[y == 1, :3] += 1
    net = ConvClassifier((4,), hidden_layer_sizes=(8,), n_epochs=3, device="cpu")
    net.fit(images, y)
    assert frechet_distance(images, images, features=net) == 0
    near = frechet_distance(images[:30], images[30:], features=net)
    far = frechet_distance(images[:30], 3 * images[30:], features=net)
    assert near < far
    squares = sample_quality(images, images, features=lambda X: X.mean(axis=1) ** 2)
    assert squares["frechet"] == 0
    with pytest.raises(TypeError, match="features must be"):
        frechet_distance(images, images, features=3)


def test_bits_per_dimension_of_bytes():
    # a uniform density on [0, 256) takes 8 bits a byte, in whatever units
    assert bits_per_dimension(-3 * math.log(256), 3) == pytest.approx(8)
    assert bits_per_dimension(0.0, 3, bin_width=1 / 256) == pytest.approx(8)
    assert bits_per_dimension([0.0, 0.0], 3) == 0
    with pytest.raises(ValueError, match="bin_width"):
        bits_per_dimension(0.0, 3, bin_width=0)


def test_modes_are_counted():
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    samples = np.repeat(centres, [50, 45, 1], axis=0)
    found = mode_coverage(samples, centres, reach=0.5)
    assert found.covered == 2 and found.good_share == 1
    assert found.counts.tolist() == [50, 45, 1]
    assert mode_coverage(samples + 2, centres, reach=0.5).good_share == 0


def test_refusals(rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match="real has 2 values a row, but fake has 3"):
        frechet_distance(X, rng.normal(size=(20, 3)))
    with pytest.raises(ValueError, match="fake holds NaN"):
        sample_quality(X, np.full((20, 2), np.nan))
    with pytest.raises(ValueError, match="k must be a whole number"):
        precision_recall(X, X, k=0)
    with pytest.raises(ValueError, match="at least one row"):
        frechet_distance(np.empty((0, 2)), X)
    with pytest.raises(ValueError, match="fake_weight"):
        frechet_distance(X, X, fake_weight=-np.ones(20))


def mixed_table(n, rng, shift=0.0):
    x = rng.normal(size=n) + shift
    days = pd.to_timedelta(rng.integers(0, 99, n), unit="D")
    city = np.where(x + rng.normal(size=n) > 0, "Bern", "Rome")
    return pd.DataFrame(
        {"x": x, "city": city, "day": days + pd.Timestamp("2020-01-01")}
    )


def test_mixed_tables_are_compared():
    rng = np.random.default_rng(0)
    real, alike, other = (mixed_table(400, rng, s) for s in (0, 0, 1.5))
    good, bad = (sample_quality(real, t, permutations=200) for t in (alike, other))
    assert good["mmd_pvalue"] > 0.001 and bad["mmd_pvalue"] < 0.01
    assert good["c2st"] < 0.6 < bad["c2st"]
    assert good["frechet"] < bad["frechet"]
    assert good["recall"] > 0.8 and frechet_distance(real, real) < 1e-6
    # a set of tables against itself: the same category, another label for it
    swapped = real.assign(city=real["city"].map({"Bern": "Rome", "Rome": "Bern"}))
    assert classifier_two_sample_accuracy(real, swapped, random_state=0).accuracy > 0.6
    with pytest.raises(ValueError, match=r"values a row|columns"):
        frechet_distance(real, real[["x", "city"]])
