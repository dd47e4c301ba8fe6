"""Fits of a comparison: one that is stopped by hand leaves no half-fitted model."""

import warnings

import numpy as np
import pytest

from pansophy.base import InterruptedFitWarning
from pansophy.compare import compare
from pansophy.compare.methods.pipelines import fit_pipeline
from pansophy.linear_model import LogisticRegression
from pansophy.tables import MixedFrame


class StoppedByHand:
    """Ctrl-C is pressed while it fits, and it keeps what it has."""

    def fit(self, X, y, **options):
        warnings.warn("stopped", InterruptedFitWarning, stacklevel=2)
        return self


def test_an_interrupted_fit_is_an_interruption():
    frame = MixedFrame(np.ones((3, 1)))
    with warnings.catch_warnings(action="ignore"), pytest.raises(KeyboardInterrupt):
        fit_pipeline(StoppedByHand(), frame, np.zeros(3))


def test_ctrl_c_while_the_winner_is_fitted_leaves_no_model(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=60)}
    table["y"] = np.where(table["a"] + rng.normal(size=60) > 0, "yes", "no")
    result = compare(
        table,
        "y",
        methods=["logistic regression"],
        repeats=1,
        workers=0,
        folder=tmp_path / "run",
    )

    monkeypatch.setattr(LogisticRegression, "fit", StoppedByHand.fit)
    with pytest.raises(KeyboardInterrupt):
        result.write()
    assert not list((tmp_path / "run").glob("*.pansophy"))
