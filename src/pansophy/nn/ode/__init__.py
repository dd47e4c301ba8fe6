"""Ordinary differential equations: solvers, tableaus and gradients through them."""
