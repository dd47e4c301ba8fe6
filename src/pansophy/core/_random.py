"""Random numbers for compiled loops: the counter-based generator splitmix64.

A stream is an array of one uint64, its counter. Numbers depend on the counter only, so
a loop that is given a seed for each piece of work gives the same result whoever does
the work, and in what order.

Refs      [Steele2014] the mixing; [Marsaglia2000] the ziggurat
"""

import math

import numpy as np

from .loops.compiled import compiled

STRIDE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that a counter meets every number
LAYERS = 256
TAIL = 3.654152885361009  # where the tail of the normal begins, for 256 layers
AREA = 0.00492867323399  # of each layer


def _ziggurat_layers():
    """Edges x_0 > ... > x_256 = 0 of layers of equal area under exp(-x^2 / 2)."""
    x = np.zeros(LAYERS + 1)
    x[1] = TAIL
    x[0] = AREA / math.exp(-0.5 * TAIL * TAIL)  # the lowest layer with its tail
    for i in range(2, LAYERS):
        y = math.exp(-0.5 * x[i - 1] ** 2) + AREA / x[i - 1]
        x[i] = math.sqrt(-2 * math.log(min(y, 1.0)))
    return x, np.exp(-0.5 * x * x)


EDGES, HEIGHTS = _ziggurat_layers()


@compiled(inner=True, inline="always")
def splitmix64(key):
    """A well-mixed 64-bit number from another."""
    z = np.uint64(key) + STRIDE
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled(inner=True)
def random_bits(stream):
    """64 random bits."""
    key = stream[0]
    stream[0] = key + STRIDE
    return splitmix64(key)


@compiled(inner=True)
def random_uniform(stream):
    """A number of (0, 1), neither end included."""
    return (np.float64(random_bits(stream) >> np.uint64(12)) + 0.5) * 2.0**-52


@compiled(inner=True)
def random_normal(stream):
    """A standard normal number: a point under the curve by layers of equal area."""
    while True:
        b = random_bits(stream)
        layer = np.int64(b & np.uint64(255))
        sign = 1.0 if b & np.uint64(256) else -1.0
        x = np.float64(b >> np.uint64(11)) * 2.0**-53 * EDGES[layer]
        if x < EDGES[layer + 1]:
            return sign * x
        if layer == 0:  # beyond TAIL: exponential steps, thinned
            while True:
                t = -math.log(random_uniform(stream)) / TAIL
                if -2 * math.log(random_uniform(stream)) > t * t:
                    return sign * (TAIL + t)
        low, high = HEIGHTS[layer], HEIGHTS[layer + 1]
        if low + random_uniform(stream) * (high - low) < math.exp(-0.5 * x * x):
            return sign * x
