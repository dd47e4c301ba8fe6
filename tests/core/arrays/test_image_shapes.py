"""Shapes of images that come as rows."""

import pytest

from pansophy.core.arrays.image_shapes import flat_image_shape, refuse_channels_first


def test_square_images_are_recognised_by_their_length():
    assert flat_image_shape(64, None) == (8, 8, 1)
    assert flat_image_shape(10, None) == (1, 10, 1)
    assert flat_image_shape(24, (4, 2, 3)) == (4, 2, 3)


def test_a_shape_must_fill_the_row():
    with pytest.raises(ValueError, match="makes 12 values"):
        flat_image_shape(13, (4, 3))
    with pytest.raises(ValueError, match="three colours"):
        flat_image_shape(3 * 8 * 8, None)


def test_channels_come_last():
    refuse_channels_first((8, 8, 3))
    with pytest.raises(ValueError, match="channels first"):
        refuse_channels_first((3, 8, 8))
