"""Augmentation and invariance: what stays, what strength 0 does, known maps."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402
from pansophy.linear_model import LogisticRegression  # noqa: E402
from pansophy.neural_network import ConvClassifier  # noqa: E402

STRENGTHS = {
    "shift": 2.0, "rotation": 20.0, "scale": 0.2, "flip": True, "brightness": 0.3,
    "noise": 0.1,
}  # fmt: skip


@pytest.mark.parametrize("shape", [(5, 8, 6), (5, 8, 6, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_shapes_and_types_stay_and_strength_zero_is_the_identity(shape, dtype, rng):
    images = (255 * rng.random(shape)).astype(dtype)
    assert np.array_equal(nn.augment(images, random_state=0), images)
    for name, strength in STRENGTHS.items():
        found = nn.augment(images, random_state=0, **{name: strength})
        assert found.shape == shape and found.dtype == dtype, name
        again = nn.augment(images, random_state=0, **{name: strength})
        assert np.array_equal(found, again)
        if name != "noise" or dtype != np.uint8:
            assert not np.array_equal(found, images), name


def test_a_flip_is_the_mirror_image_of_half_of_them(rng):
    images = rng.random((200, 4, 5))
    found = nn.augment(images, flip=True, random_state=1)
    mirrored = np.isclose(found, images[:, :, ::-1]).all((1, 2))
    same = np.isclose(found, images).all((1, 2))
    assert (mirrored | same).all() and 60 < mirrored.sum() < 140


def test_a_shift_is_within_its_bound(rng):
    images = np.zeros((300, 15, 15))
    images[:, 7, 7] = 1.0
    found = nn.augment(images, shift=3, random_state=0)
    rows, columns = np.indices((15, 15))
    total = found.sum((1, 2))
    at = np.stack([(found * rows).sum((1, 2)), (found * columns).sum((1, 2))]) / total
    assert np.abs(at - 7).max() <= 3.001
    assert np.abs(at - 7).max() > 2.5


def test_a_rotation_keeps_the_centre_and_a_disc_even_where_sides_differ():
    rows, columns = np.indices((21, 31))
    distance = np.hypot(rows - 10, columns - 15)
    disc = np.clip(8 - distance, 0, 1)[None]
    found = nn.augment(disc, rotation=90, random_state=3)
    assert np.abs(found - disc).max() < 0.3
    assert np.abs(found - disc).mean() < 0.02


def test_bad_strengths_are_refused():
    with pytest.raises(ValueError, match="scale of the augmentation is 1"):
        nn.augment(np.zeros((1, 3, 3)), scale=1)
    with pytest.raises(ValueError, match="images must have the shape"):
        nn.augment(np.zeros((3, 3)))


def test_invariance_score_of_an_invariant_and_of_a_plain_model(rng):
    images = rng.random((60, 8, 8)).round(2)
    turn = lambda X: np.roll(X.reshape(-1, 8, 8), 1, axis=2).reshape(X.shape)

    class Mean:
        """Sees the mean of an image only, which no shift changes."""

        def predict(self, X):
            return X.reshape(len(X), -1).mean(1).round(6) > 0.5

    assert nn.invariance_score(Mean(), images, turn) == 1.0
    flat = images.reshape(60, -1)
    plain = LogisticRegression().fit(flat, rng.integers(0, 2, 60))
    assert nn.invariance_score(plain, flat, turn) < 1.0
    with pytest.raises(ValueError, match="must keep the rows"):
        nn.invariance_score(Mean(), images, lambda X: X[1:])


def test_only_training_images_are_changed(rng):
    images = rng.random((40, 6, 6))
    y = np.arange(40) % 2
    options = {"n_filters": (4,), "n_epochs": 2, "random_state": 0, "device": "cpu"}
    plain = ConvClassifier(**options).fit(images, y)
    changed = ConvClassifier(augment=STRENGTHS, **options).fit(images, y)
    assert plain.history_["loss"][0] != changed.history_["loss"][0]
    twice = [changed.predict_proba(images) for _ in range(2)]
    assert np.array_equal(*twice)
