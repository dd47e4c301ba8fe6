"""Losses of families and links: deviances, expected curvature, refusals."""

import numpy as np
import pytest

from pansophy import losses
from pansophy.losses import get_family, glm_loss


@pytest.mark.parametrize("name", ["gaussian", "poisson", "gamma", "inverse_gaussian"])
def test_deviance_against_scikit_learn(name, rng):
    metrics = pytest.importorskip("sklearn.metrics")
    part = get_family(name)
    y, mu = rng.gamma(2.0, size=30) + 0.01, rng.gamma(2.0, size=30) + 0.01
    ours = part.deviance(y, mu).mean()
    theirs = metrics.mean_tweedie_deviance(y, mu, power=part.parameter)
    assert ours == pytest.approx(theirs, rel=1e-12)


def test_expected_curvature_is_the_mean_of_the_curvature(rng):
    part = get_family("gamma")
    f = np.full(200_000, 0.4)
    link = losses.gamma.link
    y = rng.gamma(2.0, link.inverse(f) / 2)
    fisher = glm_loss(part, link, expected=True)
    seen = losses.gamma.curvature(y, f).mean()
    assert seen == pytest.approx(fisher.curvature(y, f)[0], rel=0.01)


def test_families_refuse_what_does_not_exist():
    with pytest.raises(ValueError, match="no such distribution"):
        get_family("tweedie", 0.5)
    with pytest.raises(ValueError, match="no family"):
        get_family("normal")
    with pytest.raises(ValueError, match="no distribution"):
        losses.tweedie(0.5)
    assert losses.tweedie(1) is losses.poisson
    assert get_family("tweedie", 2.0).name == "gamma"
