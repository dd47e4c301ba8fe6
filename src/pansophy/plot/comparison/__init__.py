"""Figures of comparisons: scores with intervals, quality against time."""
