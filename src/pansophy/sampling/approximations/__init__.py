"""Variational and Laplace approximations."""
