"""Hierarchies of merges and divisions."""
