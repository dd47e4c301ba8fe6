"""Vector quantisation: distortion is the k-means objective, bits are counted."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.cluster import KMeans, VectorQuantizer, kmeans_objective, quantize_image


def test_distortion_is_the_k_means_objective_and_falls_with_k(rng):
    X = rng.normal(size=(300, 3))
    last = np.inf
    for k in (1, 2, 4, 8, 16, 64, 300):
        model = VectorQuantizer(k, random_state=0, n_init=3).fit(X)
        want = kmeans_objective(X, model.codebook_)
        assert model.distortion_ == pytest.approx(want, abs=1e-9)
        gap = X - model.inverse_transform(model.transform(X))
        assert model.distortion_ == pytest.approx((gap**2).sum(), abs=1e-9)
        assert -model.score(X) == pytest.approx(model.distortion_, abs=1e-9)
        assert model.distortion_ < last
        last = model.distortion_
    assert last == pytest.approx(0, abs=1e-12)


def test_codebook_is_that_of_k_means(rng):
    X = rng.normal(size=(100, 2))
    a = VectorQuantizer(5, random_state=0).fit(X)
    b = KMeans(5, random_state=0, n_init=1).fit(X).cluster_centers_
    np.testing.assert_allclose(a.codebook_, b[np.lexsort(b.T[::-1])])


def test_bit_rate():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]], [50, 25, 25], axis=0)
    rate = VectorQuantizer(3, random_state=0).fit(X).rate_
    assert rate.bits == 2
    assert rate.entropy == pytest.approx(1.5)
    assert rate.codebook_bits == 3 * 2 * 64
    assert rate.ratio == pytest.approx(100 * 128 / (100 * 2 + 384))


def test_fewer_distinct_rows_than_codes():
    X = np.repeat([[0.0], [1.0], [4.0]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\) found"):
        model = VectorQuantizer(16).fit(X)
    np.testing.assert_allclose(model.codebook_.ravel(), [0.0, 1.0, 4.0], atol=1e-12)
    assert model.distortion_ < 1e-20
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2], 10))
    one = VectorQuantizer(1).fit(X)
    assert one.rate_.bits == 0 and one.rate_.entropy == 0


def test_colours_of_an_image(rng):
    image = rng.integers(0, 256, size=(40, 30, 3)).astype(np.uint8)
    image[:20] = image[0, 0]
    last = np.inf
    for k in (2, 8, 32):
        p = quantize_image(image, k, random_state=0)
        assert p.image.shape == image.shape and p.image.dtype == np.uint8
        distinct = np.unique(p.image.reshape(-1, 3), axis=0)
        assert len(distinct) <= k
        np.testing.assert_array_equal(p.colors[p.codes], p.image)
        gap = image.astype(float) - p.image
        assert p.distortion == pytest.approx((gap**2).sum())
        assert p.distortion < last
        last = p.distortion
        assert p.rate.bits == int(np.log2(k))
    gray = quantize_image(rng.random((8, 9)), 4, random_state=0)
    assert gray.image.shape == (8, 9) and len(np.unique(gray.image)) <= 4


def test_bad_codes_and_images(rng):
    model = VectorQuantizer(2).fit(rng.normal(size=(9, 2)))
    for codes in ([0.5], [7], [[0, 1]]):
        with pytest.raises(ValueError, match="whole numbers below 2"):
            model.inverse_transform(codes)
    with pytest.raises(ValueError, match="two or three axes"):
        quantize_image(np.zeros(3))
