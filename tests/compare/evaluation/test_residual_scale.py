"""Residual scales: even coverage on simulated rows, folds, weights, saved models."""

import json

import numpy as np
import pytest

from pansophy.compare.evaluation.adaptive_conformal import fit_adaptive_scores
from pansophy.compare.evaluation.conformal_scores import (
    ConformalScores,
    fit_conformal_scores,
)
from pansophy.compare.evaluation.residual_scale import (
    ResidualScale,
    estimate_dispersion,
    fit_log_spread,
    fit_residual_scale,
    residual_bins,
)
from pansophy.persist import codec, load, save
from pansophy.tables import MixedFrame
from tests.persist.model_files import forge

NEW_ROWS = 2000
DRAWS = 8
COUNTS = {"poisson": (0.7, 0.8, None), "negative binomial": (1.0, 0.8, 1.5)}


def draw(kind, n, rng):
    """Columns, the true means as predictions, and answers."""
    X = rng.normal(size=(n, 4))
    X[:, 3] = np.where(rng.random(n) < 0.2, np.nan, X[:, 3])
    if kind == "noise":
        p = X[:, 0]
        y = p + rng.normal(size=n) * np.exp(0.8 * X[:, 1])
    elif kind == "lognormal":
        p = np.exp(1 + X[:, 0] + 0.245)
        y = np.exp(1 + X[:, 0] + 0.7 * rng.normal(size=n))
    else:
        a, b, shape = COUNTS[kind]
        p = np.exp(a + b * X[:, 0])
        factor = 1 if shape is None else rng.gamma(shape, 1 / shape, n)
        y = rng.poisson(p * factor).astype(float)
    return X, p, y


def shares_held(kind, n, rng):
    """Shares of new rows in 90 % intervals: all, tenths of p, sixths of column 1."""
    X, p, y = draw(kind, n, rng)
    task = "count" if kind in COUNTS else "regression"
    held = fit_conformal_scores(task, y, p, MixedFrame(X))
    X, p, y = draw(kind, NEW_ROWS, rng)
    ends = held.interval(p, 0.9, MixedFrame(X))
    if kind != "noise":
        assert ends.min() >= 0
    inside = (y >= ends[:, 0] - 1e-9) & (y <= ends[:, 1] + 1e-9)
    tenths = [inside[i].mean() for i in np.array_split(np.argsort(p), 10)]
    sixths = [inside[i].mean() for i in np.array_split(np.argsort(X[:, 1]), 6)]
    return np.array([inside.mean(), *tenths, *sixths])


# False-alarm rate below 1 in 1,000 for each case: the mean of 8 draws lies at least 3.5
# of its standard errors inside the bounds.
@pytest.mark.parametrize(("n", "low", "high"), [(250, 0.77, 1.01), (1000, 0.83, 0.97)])
@pytest.mark.parametrize("kind", ["noise", "lognormal", *COUNTS])
def test_coverage_is_even_over_predictions_and_noise(kind, n, low, high):
    rng = np.random.default_rng(n)
    found = np.mean([shares_held(kind, n, rng) for _ in range(DRAWS)], axis=0)
    assert 0.88 < found[0] < 0.94
    assert found[1:].min() > low and found[1:].max() < high


# Equally wide unless the spread is told by something: 40 draws of which each is wrong
# with probability about 0.02; more than 7 are so in fewer than 1 in 5,000 runs.
def test_noise_of_one_spread_is_left_as_it_is():
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(40):
        X = rng.normal(size=(200, 3))
        y = X[:, 0] + rng.standard_t(3, size=200)
        found = fit_residual_scale("regression", y, X[:, 0], MixedFrame(X))
        wrong += found.scale is not None
        if found.scale is None:
            assert (found.scores == y - X[:, 0]).all()
    assert wrong <= 7


def test_scores_are_those_of_steps_fitted_without_the_fold():
    """A residual does not change its own divisor, but for the number of steps."""
    rng = np.random.default_rng(1)
    X, p, y = draw("noise", 600, rng)
    frame = MixedFrame(X)
    _, _, _, before = fit_log_spread(y - p, p, frame, np.ones(600))
    scale, scores = fit_residual_scale("regression", y, p, frame)
    assert scores == pytest.approx((y - p) / np.exp(before))
    own = scale.spread(p, frame)
    assert np.corrcoef(own, np.exp(before))[0, 1] > 0.8  # alike, not the same
    assert (own != np.exp(before)).mean() > 0.9
    assert np.corrcoef(np.log(own), X[:, 1])[0, 1] > 0.8  # true: log u = 0.8 x
    groups = np.arange(600) // 300  # two groups: at most two folds are fitted
    *_, grouped = fit_log_spread(y - p, p, frame, np.ones(600), groups)
    assert (grouped != before).any()


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(2)
    X, p, y = draw("noise", 300, rng)
    k = rng.integers(0, 4, 300)
    for task, target, m in (
        ("regression", y, p),
        ("regression", np.exp(y / 3), np.exp(p / 3)),
        ("count", np.floor(np.exp(y / 3)), np.exp(p / 3)),
    ):
        a = fit_conformal_scores(task, target, m, MixedFrame(X), k)
        many = [np.repeat(v, k, axis=0) for v in (target, m, X)]
        b = fit_conformal_scores(task, *many[:2], MixedFrame(many[2]))
        ends = [one.interval(m, 0.8, MixedFrame(X)) for one in (a, b)]
        assert np.allclose(*ends, rtol=1e-9)
        assert a.scale.transform == b.scale.transform


def scale(transform, dispersion=0.0, non_negative=True):
    nothing = np.zeros(0, int), np.zeros((0, 11)), np.zeros((0, 13))
    return ResidualScale(transform, dispersion, 0.5, non_negative, *nothing)


@pytest.mark.parametrize(
    "one",
    [
        scale("identity"),
        scale("log"),
        scale("count"),
        scale("count", 0.7),
    ],
)
def test_units_go_there_and_back(one):
    v = np.array([0.5, 1.0, 3.0, 200.0])
    assert one.inverse(one.forward(v)) == pytest.approx(v)
    assert (np.diff(one.forward(v)) > 0).all()
    assert one.inverse(np.array([-1e3]))[0] == 0
    assert one.inverse(np.array([np.inf]))[0] == np.inf


def test_counts_have_the_dispersion_of_their_distribution():
    """Standard error of d = 0.5 by 20,000 rows about 0.02; a bound of five of them."""
    rng = np.random.default_rng(3)
    m = rng.uniform(1, 20, 20_000)
    y = rng.poisson(m * rng.gamma(2.0, 0.5, len(m)))
    assert estimate_dispersion(y, m) == pytest.approx(0.5, abs=0.1)
    assert estimate_dispersion(rng.poisson(m), m) == 0
    assert estimate_dispersion(np.zeros(3), np.zeros(3)) == 0


def test_missing_cells_have_a_bin_of_their_own():
    codes = residual_bins(np.array([-1.0, 0.0, 0.5, 2.0, np.nan]), np.array([0.0, 1.0]))
    assert codes.tolist() == [0, 0, 1, 2, 12]


def test_a_saved_scale_gives_the_same_intervals_and_asks_for_the_columns(tmp_path):
    rng = np.random.default_rng(4)
    for kind, task in (("noise", "regression"), ("poisson", "count")):
        X, p, y = draw(kind, 500, rng)
        held = fit_conformal_scores(task, y, p, MixedFrame(X))
        save(held, tmp_path / "held")
        again = load(tmp_path / "held").interval(p, 0.9, MixedFrame(X))
        assert (again == held.interval(p, 0.9, MixedFrame(X))).all()
        if kind == "noise":
            with pytest.raises(ValueError, match="give the rows as frame"):
                held.interval(p, 0.9)


NEWER = {"kind", "scale", "cuts", "ranges", "non_negative"}


def test_files_without_a_scale_answer_as_before(tmp_path):
    rng = np.random.default_rng(5)
    r = rng.normal(size=99)
    p = np.array([0.0, 2.0])
    probabilities = rng.dirichlet([1, 1], 99)
    y = (rng.random(99) < probabilities[:, 1]).astype(int)
    ranks = np.arange(1, 100)
    numbers = ConformalScores("regression", 99, ranks, np.sort(r))
    counts = numbers._replace(task="count")
    classes = ConformalScores("classification", 99, ranks, np.sort(rng.random(99)))
    times = fit_adaptive_scores("regression", r, np.zeros(99), ranks // 20)
    for held in (numbers, counts, classes, times):
        encoder = codec.Encoder()
        node = json.loads(json.dumps(encoder.encode(held)))
        node["v"] = {k: v for k, v in node["v"].items() if k not in NEWER}
        forge(tmp_path / "old", node, encoder.tensors)
        old = load(tmp_path / "old")
        assert old.kind == "aps"
        if held is classes:  # as before: randomised
            q = classes.upper(0.8)
            u = 1e4 * (probabilities @ np.sqrt([2.0, 3.0])) % 1.0
            own = probabilities[np.arange(99), y]
            first = probabilities.max(axis=1)
            score = np.where(own == first, u * own, first + u * own)
            sets = old.sets(probabilities, 0.8)
            kept = sets[np.arange(99), y]
            assert (kept == (score <= q))[sets.sum(1) != 1].all()
            continue
        ends = old.interval(p, 0.9)
        if held is times:
            q = old.reach(0.9).quantile
            assert ends.tolist() == [[-q, q], [2 - q, 2 + q]]
            continue
        low, high = np.sort(r)[[4, 94]]  # ranks 5 and 95 of 99
        expected = np.array([[low, high], [2 + low, 2 + high]])
        expected = np.maximum(expected, 0) if held is counts else expected
        assert ends.tolist() == expected.tolist()


def test_amounts_along_time_are_never_negative():
    rng = np.random.default_rng(6)
    y = rng.exponential(size=200)
    held = fit_adaptive_scores("regression", y, np.full(200, 1.0), np.arange(200) // 50)
    low, high = held.interval(np.array([0.1]), 0.9)[0]
    assert low == 0 and high > 1
    assert held.extended(np.ones(50)).non_negative
    other = fit_adaptive_scores("regression", y - 1, y * 0, np.arange(200) // 50)
    assert other.interval(np.array([0.1]), 0.9)[0, 0] < 0
