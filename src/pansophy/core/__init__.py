"""Shared foundations: arrays, randomness, numerics, linear algebra, drivers, row sums.

Nothing in here knows an estimator. See `docs/design.md` for the order of layers.
"""
