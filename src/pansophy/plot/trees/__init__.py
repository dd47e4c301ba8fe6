"""Figures of trees: the tree, its growth, importances, Shapley values."""
