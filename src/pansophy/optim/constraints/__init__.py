"""Constraints: duality, quadratic programs, sequential minimal optimisation."""
