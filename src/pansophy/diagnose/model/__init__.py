"""Faults of a model: residuals, groups, curves of learning, dependence, imbalance."""
