"""Regression that bears outliers: Huber, RANSAC, Theil-Sen."""
