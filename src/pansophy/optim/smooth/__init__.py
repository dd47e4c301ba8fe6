"""Smooth problems: gradient, Newton, quasi-Newton and least-squares methods."""
