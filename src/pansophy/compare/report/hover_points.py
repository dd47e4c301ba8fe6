"""Invisible points of a figure that show a text when the pointer is over them.

One artist draws all points of a figure, each in an SVG group of its own whose id is
"hover:" and the text (`plot.style.clean_svg` makes a title of it). The circle is
written once, and each point refers to it. As artists of matplotlib's own, points would
cost more time and space than what they describe.
"""

import numpy as np
from matplotlib.artist import Artist
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, IdentityTransform

ZORDER = 5  # above what they describe


class HoverPoints(Artist):
    """Points (n, 2) in data coordinates, with n texts.

    `size` is the area of a point as in `Axes.scatter`.
    """

    def __init__(self, points, texts, size):
        super().__init__()
        self.points = np.asarray(points, float)
        self.texts = texts
        self.size = size
        self.set_zorder(ZORDER)
        self.set_in_layout(False)  # nothing to see, nothing to measure

    def draw(self, renderer):
        """Write a group for each point."""
        gc = renderer.new_gc()
        gc.set_alpha(0)
        gc.set_linewidth(0)
        gc.set_clip_rectangle(self.axes.bbox)
        radius = renderer.points_to_pixels(np.sqrt(self.size) / 2)
        circle = Affine2D().scale(radius)
        positions = self.axes.transData.transform(self.points)
        for place, text in zip(positions, self.texts, strict=True):
            renderer.open_group("hover", gid=f"hover:{text}")
            point = Path(place[None])
            renderer.draw_markers(
                gc, Path.unit_circle(), circle, point, IdentityTransform(), (0, 0, 0)
            )
            renderer.close_group("hover")
        gc.restore()
        self.stale = False
