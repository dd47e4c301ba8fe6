"""Pictures of worlds as arrays of pixels: a small rasteriser, and what it draws.

A `Canvas` is an array (height, width, 3) of bytes, on which shapes are painted by their
distance d to the centre of each pixel: the colour covers the pixel by

    alpha = clip(r + 1/2 - d, 0, 1)                                             (1)

for a disc or line of radius (half width) r, so that edges are smooth. Only pixels in
the bounding box of a shape are visited. `draw_observation` makes the picture of a world
from what is seen of it: the classic worlds by name, boards and grids as cells, any
other as bars.
"""

import math
from itertools import pairwise

import numpy as np

SIZE = (300, 200)  # width and height of a picture
WHITE, INK, PALE = (255, 255, 255), (48, 52, 59), (236, 238, 241)
BLUE, ORANGE, GREEN, RED = (31, 95, 153), (194, 87, 26), (46, 125, 50), (176, 42, 48)


class Canvas:
    """White pixels to paint on; x goes to the right, y down.

    Examples
    --------
    >>> from pansophy.rl.envs.pictures import Canvas
    >>> canvas = Canvas(8, 4)
    >>> canvas.rectangle(1, 1, 3, 3, (0, 0, 0))
    >>> (canvas.pixels[:, :, 0] == 0).astype(int)
    array([[0, 0, 0, 0, 0, 0, 0, 0],
           [0, 1, 1, 0, 0, 0, 0, 0],
           [0, 1, 1, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0, 0, 0, 0]])
    """

    def __init__(self, width=SIZE[0], height=SIZE[1]):
        self.width, self.height = int(width), int(height)
        self.pixels = np.full((self.height, self.width, 3), 255, np.uint8)

    def rectangle(self, left, top, right, bottom, color) -> None:
        """Fill the pixels from (left, top) up to, without, (right, bottom)."""
        x0, x1 = (min(max(round(x), 0), self.width) for x in (left, right))
        y0, y1 = (min(max(round(y), 0), self.height) for y in (top, bottom))
        self.pixels[y0:y1, x0:x1] = color

    def line(self, points, color, width=1.0) -> None:
        """A line through points (x, y), with round ends."""
        for (ax, ay), (bx, end_y) in pairwise(points):
            self._segment(ax, ay, bx, end_y, color, width / 2)

    def disc(self, x, y, radius, color) -> None:
        self._segment(x, y, x, y, color, radius)

    def _segment(self, ax, ay, bx, by, color, radius) -> None:
        """Eq. (1) with d the distance to a segment."""
        margin = radius + 1
        x0 = max(math.floor(min(ax, bx) - margin), 0)
        y0 = max(math.floor(min(ay, by) - margin), 0)
        x1 = min(math.ceil(max(ax, bx) + margin), self.width)
        y1 = min(math.ceil(max(ay, by) + margin), self.height)
        if x0 >= x1 or y0 >= y1:
            return
        x, y = np.arange(x0, x1) + 0.5 - ax, np.arange(y0, y1)[:, None] + 0.5 - ay
        dx, dy = bx - ax, by - ay
        length = dx * dx + dy * dy
        t = np.clip((x * dx + y * dy) / length, 0, 1) if length else 0.0
        d = np.hypot(x - t * dx, y - t * dy)
        alpha = np.clip(radius + 0.5 - d, 0, 1)[:, :, None]
        part = self.pixels[y0:y1, x0:x1]
        part[:] = np.rint(part * (1 - alpha) + alpha * np.array(color, float))


def _draw_cart_pole(x) -> np.ndarray:
    """Cart and pole from place and angle, x[0] and x[2]."""
    canvas = Canvas()
    middle = 150 + 50 * x[0]
    canvas.line([(0, 150), (300, 150)], PALE, 3)
    canvas.rectangle(middle - 20, 140, middle + 20, 160, INK)
    tip = (middle + 90 * math.sin(x[2]), 140 - 90 * math.cos(x[2]))
    canvas.line([(middle, 140), tip], ORANGE, 7)
    return canvas.pixels


def _draw_pendulum(x) -> np.ndarray:
    """The rod from cos and sin of its angle."""
    canvas = Canvas()
    canvas.line([(150, 100), (150 - 80 * x[1], 100 - 80 * x[0])], ORANGE, 9)
    canvas.disc(150, 100, 6, INK)
    return canvas.pixels


def _draw_mountain_car(x) -> np.ndarray:
    """The hill, the car at x[0] and the flag."""
    canvas = Canvas()
    place = lambda p: (20 + (p + 1.2) / 1.8 * 260, 150 - 50 * math.sin(3 * p))
    canvas.line([place(p) for p in np.linspace(-1.2, 0.6, 90)], INK, 2)
    a, b = place(x[0])
    canvas.disc(a, b - 7, 7, ORANGE)
    flag = place(0.5)
    canvas.line([flag, (flag[0], flag[1] - 30)], BLUE, 3)
    return canvas.pixels


def _draw_acrobot(x) -> np.ndarray:
    """Two rods from cos and sin of their angles, and the height to reach."""
    canvas = Canvas()
    angle = math.atan2(x[1], x[0])
    outer_angle = angle + math.atan2(x[3], x[2])
    joint = (150 + 45 * math.sin(angle), 100 + 45 * math.cos(angle))
    tip = (joint[0] + 45 * math.sin(outer_angle), joint[1] + 45 * math.cos(outer_angle))
    canvas.line([(0, 55), (300, 55)], PALE, 2)
    canvas.line([(150, 100), joint], BLUE, 7)
    canvas.line([joint, tip], ORANGE, 7)
    return canvas.pixels


def _draw_number_bars(x) -> np.ndarray:
    """Bars of up to 70 numbers, on a scale that any number fits."""
    canvas = Canvas()
    canvas.line([(0, 100), (300, 100)], PALE, 2)
    width = 280 / max(len(x), 1)
    for i, value in enumerate(x[:70]):
        height = 90 * math.tanh(value) if value == value else 0.0
        top, bottom = sorted((100 - height, 100.0))
        left = 10 + i * width
        canvas.rectangle(left, top, left + max(width - 3, 1), bottom, BLUE)
    return canvas.pixels


def draw_board(board) -> np.ndarray:
    """A matrix of numbers as cells, its largest number dark."""
    board = np.asarray(board, float)
    size = max(1, min(24, 240 // max(board.shape)))
    low = board.min()
    high = board.max()
    shade = (board - low) / (high - low) if high > low else np.zeros_like(board)
    pale, dark = np.array(PALE, float), np.array(INK, float)
    cells = np.rint(pale + shade[:, :, None] * (dark - pale)).astype(np.uint8)
    return cells.repeat(size, 0).repeat(size, 1)


CELL_COLORS = {"#": INK, "S": WHITE, ".": WHITE, "F": WHITE, " ": WHITE, "G": GREEN}


def draw_grid(rows, place=None, cell=24) -> np.ndarray:
    """A map of characters as cells, with a disc at the place (i, j).

    Walls are dark, goals G green, free cells white and all else (exits, holes) red.
    """
    canvas = Canvas(cell * len(rows[0]) + 1, cell * len(rows) + 1)
    canvas.rectangle(0, 0, canvas.width, canvas.height, PALE)  # shows as thin lines
    for i, row in enumerate(rows):
        for j, kind in enumerate(row):
            color = CELL_COLORS.get(kind, RED)
            canvas.rectangle(
                j * cell + 1, i * cell + 1, (j + 1) * cell, (i + 1) * cell, color
            )
    if place is not None:
        i, j = place
        canvas.disc((j + 0.5) * cell, (i + 0.5) * cell, cell * 0.3, BLUE)
    return canvas.pixels


DRAWINGS = {
    "Acrobot": _draw_acrobot,
    "CartPole": _draw_cart_pole,
    "MountainCar": _draw_mountain_car,
    "Pendulum": _draw_pendulum,
}


def draw_observation(name, observation) -> np.ndarray:
    """The picture of a world of this name (with or without "Env") from what is seen."""
    if isinstance(observation, dict):
        parts = observation.values()
        observation = np.concatenate([np.ravel(part).astype(float) for part in parts])
    seen = np.asarray(observation)
    if seen.dtype == np.uint8 and seen.ndim == 3 and seen.shape[2] in (1, 3):
        return seen.repeat(3 // seen.shape[2], 2)  # a picture already
    if seen.ndim == 2 and min(seen.shape) > 1:
        return draw_board(seen)
    draw = DRAWINGS.get(name.removesuffix("Env"), _draw_number_bars)
    return draw(np.ravel(seen).astype(float))
