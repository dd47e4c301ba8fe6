"""Conditional random fields of chains and grids, and features of their tokens."""
