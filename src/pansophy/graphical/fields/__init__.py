"""Markov random fields: grids, cuts, transfer matrices."""
