"""Figures of points in the plane: scores, ellipses, densities."""
