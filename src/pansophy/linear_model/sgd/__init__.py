"""Stochastic gradient descent for classifiers and regressors."""
