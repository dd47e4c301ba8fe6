"""Colours of nodes: a hue per class, paler the less sure; by value for numbers."""

import colorsys

import numpy as np

BASE = (229, 129, 57)


def palette(n):
    """n colours of different hues, as RGB."""
    return [
        tuple(round(255 * v) for v in colorsys.hls_to_rgb(0.07 + k / n, 0.56, 0.77))
        for k in range(n)
    ]


def blend(color, strength) -> str:
    """A colour over white, as #rrggbb."""
    mix = [round(strength * c + (1 - strength) * 255) for c in color]
    return "#{:02x}{:02x}{:02x}".format(*mix)


def fills(model, most=1.0):
    """The colour of every node, of strength up to `most`."""
    value = model.tree_.value
    if not hasattr(model, "classes_"):
        v = value[:, 0, 0] if value.shape[1] == 1 else -model.tree_.impurity
        low, high = float(np.min(v)), float(np.max(v))
        scale = (v - low) / (high - low) if high > low else np.zeros(len(v))
        return [blend(BASE, most * float(s)) for s in scale]
    shares = value[:, 0]
    colors = palette(shares.shape[1])
    if shares.shape[1] == 1:
        return [blend(colors[0], most)] * len(shares)
    order = np.sort(shares, axis=1)
    first, second = order[:, -1], order[:, -2]
    sure = (first - second) / np.maximum(1.0 - second, 1e-12)
    best = shares.argmax(axis=1)
    return [
        blend(colors[k], most * float(np.clip(s, 0, 1))) for k, s in zip(best, sure)
    ]
