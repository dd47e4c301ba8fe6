"""Leakage: columns that know the target, or the future, or scores too good."""
