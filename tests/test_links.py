"""Link functions: inverses, slopes, bends and tails in every array library, numbers."""

import numpy as np
import pytest

from pansophy import links


@pytest.mark.parametrize("link", links.LINKS, ids=lambda link: link.name)
@pytest.mark.parametrize("library", [None, "torch", "array_api_strict"])
def test_links(link, library, rng):
    xp = pytest.importorskip(library) if library else np
    f = rng.normal(size=(6, 4))
    f -= f.mean(axis=1, keepdims=True)
    f = np.abs(f) + 0.5 if link.positive else f
    g = xp.asarray(f)
    np.testing.assert_allclose(np.asarray(link(link.inverse(g))), f, atol=1e-12)
    h = 1e-6
    for c in range(4):
        step = np.zeros_like(f)
        step[:, c] = h
        up, down = (
            link.inverse(xp.asarray(f + step)),
            link.inverse(xp.asarray(f - step)),
        )
        slope = (np.asarray(up) - np.asarray(down))[:, c] / (2 * h)
        np.testing.assert_allclose(np.asarray(link.slope(g))[:, c], slope, atol=1e-8)
    if link.bend is not None:
        rise = np.asarray(link.slope(xp.asarray(f + h)))
        fall = np.asarray(link.slope(xp.asarray(f - h)))
        bend = (rise - fall) / (2 * h)
        np.testing.assert_allclose(np.asarray(link.bend(g)), bend, atol=1e-8)
    if link.upper is not None:
        both = np.asarray(link.inverse(g)) + np.asarray(link.upper(g))
        np.testing.assert_allclose(both, 1, rtol=1e-14)
        assert float(link.upper(xp.asarray(20.0))) < 0.02
        far = np.asarray(link.upper(xp.asarray([8.0])))
        assert far[0] > 0 or link is links.cloglog


def test_link_numbers():
    s = links.sigmoid(np.array([-0.5, 1.5, -1000.0, 1000.0]))
    np.testing.assert_allclose(s, [0.3775406688, 0.8175744762, 0, 1], atol=1e-10)
    assert links.logit.slope(np.array(0.0)) == 0.25
    p = links.softmax(np.array([1.0, 2, 3]) + 1e4)
    np.testing.assert_allclose(p, [0.090031, 0.244728, 0.665241], atol=1e-6)
