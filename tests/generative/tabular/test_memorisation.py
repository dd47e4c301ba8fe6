"""The memorisation report tells copies from fresh rows."""

import numpy as np
import pandas as pd
import pytest

from pansophy.generative import memorisation_report

RNG = np.random.default_rng(0)
TRAINING, HELD_OUT, FRESH = RNG.normal(size=(3, 400, 3))


def test_fresh_rows_are_no_copies():
    report = memorisation_report(TRAINING, FRESH, HELD_OUT, random_state=0)
    assert report.n_copies == 0 and report.expected_copies == 0
    assert report.distance_ratio == pytest.approx(1, abs=0.15)
    assert report.closer_share == pytest.approx(0.5, abs=0.08)
    assert report.membership_auc == pytest.approx(0.5, abs=0.06)
    assert not report.memorised and str(report).startswith(
        "no sign of copies: 0 of 400"
    )


def test_exact_copies_are_counted():
    mixed = np.concatenate([FRESH[:300], TRAINING[:100]])
    report = memorisation_report(TRAINING, mixed, HELD_OUT, random_state=0)
    assert report.n_copies == 100
    assert report.memorised and "training rows were copied: 100 of 400" in str(report)


def test_noisy_copies_are_found_by_the_membership_test():
    near = TRAINING + 0.02 * RNG.normal(size=TRAINING.shape)
    report = memorisation_report(TRAINING, near, HELD_OUT, random_state=0)
    assert report.n_copies == 0
    assert report.distance_ratio < 0.2
    assert report.closer_share > 0.95 and report.membership_auc > 0.95
    assert report.p_value < 1e-6 and report.memorised


def test_tables_in_which_rows_repeat_by_chance():
    """Three columns of few levels: held-out rows say how many copies are chance."""
    frames = [
        pd.DataFrame(RNG.choice(list("abc"), (300, 3)), columns=list("xyz"))
        for _ in range(3)
    ]
    report = memorisation_report(*frames, random_state=0)
    assert report.n_copies == pytest.approx(300, abs=5)
    assert report.expected_copies == pytest.approx(300, abs=5)
    assert not report.memorised


def test_clear_errors():
    with pytest.raises(ValueError, match="held_out at least 20"):
        memorisation_report(TRAINING, FRESH, HELD_OUT[:5])
    a = pd.DataFrame({"x": np.arange(30.0)})
    with pytest.raises(ValueError, match="different columns"):
        memorisation_report(a, a, a.rename(columns={"x": "y"}))


def test_images_are_rows_of_pixels():
    rng = np.random.default_rng(0)
    training, held_out = rng.integers(0, 17, (2, 60, 4, 4)).astype(float)
    report = memorisation_report(training, training[:9], held_out, random_state=0)
    flat = [a.reshape(len(a), -1) for a in (training, training[:9], held_out)]
    assert report == memorisation_report(*flat, random_state=0)
    assert report.n_copies == 9
