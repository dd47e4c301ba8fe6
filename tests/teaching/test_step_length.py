"""Judging the steps of a run."""

import numpy as np
import pytest

from pansophy import optim, teaching

X, y = np.array([[0.0, 1], [1, 1], [2, 1]]), np.array([1.0, 3, 5])
f = lambda w: (float((X @ w - y) @ (X @ w - y)), 2 * X.T @ (X @ w - y))


def run(eta, steps=400):
    how = {"rule": optim.constant_step(eta), "max_iter": steps, "tol": 0.0}
    return optim.minimize(f, [7.0, -3.0], "gradient", trajectory=True, **how)


def test_divergence_begins_at_two_over_the_largest_eigenvalue():
    top = np.linalg.eigvalsh(2 * X.T @ X)[-1]
    assert top == pytest.approx(14.324555, abs=1e-6)
    assert 2 / top == pytest.approx(0.139620, abs=1e-6)
    for eta in (0.13963, 0.1400, 0.2):
        report = teaching.step_report(run(eta))
        assert report.diverging and report.rate > 1, eta
    for eta in (0.13961, 0.1390, 0.05):
        report = teaching.step_report(run(eta, 60))
        assert not report.diverging and report.rate < 1, eta
    values = run(0.2, 30).history["objective"]
    assert teaching.step_report(values).diverging  # from the objective alone
    assert not teaching.step_report(run(0.1, 30).history["objective"]).diverging


def test_update_ratios_per_layer(rng):
    small, large = rng.normal(size=(3, 4)), rng.normal(size=5)
    layers = {
        "first": np.array([small * (1 + 1e-7) ** k for k in range(30)]),
        "last": np.array([large * 1.5**k for k in range(30)]),
    }
    report = teaching.step_report(np.exp(-np.arange(30.0)), layers)
    assert report.ratios["first"] == pytest.approx(1e-7, rel=1e-3)
    assert report.ratios["last"] == pytest.approx(0.5)
    assert "first" in report.advice and "update/weight" in str(report)
    double = {name: 8 * part for name, part in layers.items()}
    again = teaching.step_report(np.exp(-np.arange(30.0)), double)
    assert again.ratios["last"] == pytest.approx(report.ratios["last"])  # scale-free


def test_stall_and_convergence():
    assert teaching.step_report(np.full(40, 3.0)).verdict == "stalled"
    done = optim.minimize(f, [7.0, -3.0], "gradient", trajectory=True)
    assert teaching.step_report(done).verdict == "converged"
    assert teaching.step_report([1.0, np.nan]).verdict == "diverging"


def test_a_rate_near_one_is_not_called_right():
    quick = teaching.step_report(run(0.1, 30))
    assert not quick.slow
    limit = 2 / np.linalg.eigvalsh(2 * X.T @ X)[-1]
    # just below the limit the rate is 0.99975: the updates go back and forth
    near = teaching.step_report(run(limit * (1 - 1.25e-4), 200))
    assert near.rate == pytest.approx(0.99975, abs=1e-5)
    assert near.verdict == "falling" and near.slow and near.cosine < -0.9
    assert "shorten" in near.advice and "right" not in str(near)
    short = teaching.step_report(run(1e-4, 200))
    assert short.slow and short.cosine > 0.9 and "lengthen" in short.advice
    alone = teaching.step_report(run(1e-4, 200).history["objective"])
    assert alone.slow and "right" not in alone.advice
