"""Figures of graphs, grids of labels and matrices."""
