"""Densities to sample from: written by users, compiled, transformed, conjugate."""
