"""Generalised linear models and quantiles."""
