"""Least squares: ordinary, weighted, with ridge penalties, recursive."""
