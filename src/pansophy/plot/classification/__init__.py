"""Figures of classifiers: curves, thresholds, regions."""
