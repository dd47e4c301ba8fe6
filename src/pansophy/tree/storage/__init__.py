"""Grown trees as arrays: one, many packed together, sums of them."""
