"""Shapes of images that come as rows of numbers, or as arrays.

Channels come last: (height, width, channels).
"""

import math


def flat_image_shape(width, image_shape) -> tuple[int, int, int]:
    """Height, width and channels of images that come as rows of `width` numbers."""
    if image_shape is not None:
        h, w, channels = (*(int(n) for n in image_shape), 1)[:3]
        if h * w * channels != width:
            raise ValueError(
                f"image_shape is {tuple(image_shape)}, which makes {h * w * channels} "
                f"values, but the rows of X have {width}."
            )
        return h, w, channels
    side = math.isqrt(width)
    if side * side == width:
        return side, side, 1
    side = math.isqrt(width // 3)
    if width % 3 == 0 and side >= 8 and 3 * side * side == width:
        raise ValueError(
            f"rows of {width} values could be {side} x {side} images of three colours: "
            f"say image_shape=({side}, {side}, 3), or what they are."
        )
    return 1, width, 1


def refuse_channels_first(shape) -> None:
    """Refuse images (a, b, c) with 1, 3 or 4 rows, and as many columns as channels."""
    if len(shape) == 3 and shape[0] in (1, 3, 4) and shape[1] == shape[2] > 4:
        raise ValueError(
            f"images have the shape {tuple(shape)}, which looks like channels first; "
            "channels come last here: np.moveaxis(X, 1, 3). Images that do have "
            f"{shape[0]} rows of {shape[2]} channels come as flat rows with "
            "image_shape."
        )
