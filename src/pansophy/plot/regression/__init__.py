"""Figures of regressors: residuals, dependence, paths of coefficients."""
