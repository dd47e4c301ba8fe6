"""What the survey says of estimators that keep the rule of devices or break it."""

import pytest

torch = pytest.importorskip("torch")

from pansophy.cluster import KMeans  # noqa: E402
from pansophy.ensemble import RandomForestClassifier  # noqa: E402
from pansophy.testing.device_survey import device_answer  # noqa: E402
from pansophy.testing.stand_in_device import StandInDevice  # noqa: E402


class SilentKMeans(KMeans):
    """One that fetches its rows without a word."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X.cpu())


class BrokenKMeans(KMeans):
    """One that fails with an error of torch."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X.numpy())


@pytest.mark.parametrize(
    ("cls", "outcome"),
    [
        (KMeans, "there"),
        (RandomForestClassifier, "refuses"),
        (SilentKMeans, "moves"),
        (BrokenKMeans, "fails"),
    ],
)
def test_each_outcome_is_told_from_the_others(cls, outcome):
    with StandInDevice() as counts:
        found = device_answer(cls, "standin", counts)
    assert found.outcome == outcome, found.detail
    assert (outcome == "there") == ("predict" in found.answers) or outcome == "moves"
