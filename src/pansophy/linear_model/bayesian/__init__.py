"""Bayesian linear regression: evidence, relevance, predictive distributions."""
