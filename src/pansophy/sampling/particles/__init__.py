"""Populations of particles: sequential Monte Carlo, nested sampling, resampling."""
