"""Adversarial attacks on predictors, training against them, robustness."""
