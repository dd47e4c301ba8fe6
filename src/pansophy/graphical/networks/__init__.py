"""Bayesian networks: structure, distributions, files and what graphs imply."""
